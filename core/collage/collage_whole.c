#include "core/collage/collage_internal.h"

#include <string.h>

#include "core/base/hash.h"
#include "core/base/log.h"

// Models that take less are not worth timing plan by plan.
#define WHOLE_NS_AT_LEAST 20000.0
// Nor are backends alone whose parts, all measured, take this much more than may be expected of the best plan.
#define WHOLE_RATIO_AT_MOST 2.0

// ---- what is remembered ----

byoc_status_t byoc_collage_key(const byoc_collage_t *c, const char *what, uint64_t hash, byoc_arena_t *arena,
                               byoc_cost_key_t *out_key) {
  const byoc_cost_key_t *base = &c->options->key;
  byoc_hasher_t hasher;
  byoc_hasher_init(&hasher);
  byoc_hasher_update_text(&hasher, "byoc plan 1");
  byoc_hasher_update_text(&hasher, what);
  byoc_hasher_update(&hasher, &hash, sizeof(hash));
  const char *const texts[] = {base->target, base->plugin, base->compiler, base->machine};
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) byoc_hasher_update_text(&hasher, texts[i]);
  byoc_hasher_update(&hasher, &base->thread_count, sizeof(base->thread_count));
  byoc_content_hash_t id = byoc_hasher_finish(&hasher);
  char text[33];
  byoc_content_hash_format(id, text);
  *out_key = *base;
  out_key->operators = what;
  out_key->signature = byoc_arena_format(arena, "%016llx", (unsigned long long)hash);
  out_key->id = byoc_arena_copy_string(arena, text);
  bool ok = out_key->id != NULL && out_key->signature != NULL && (id.low != 0 || id.high != 0);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(c->diag);
}

uint64_t byoc_collage_hash(const byoc_collage_t *c) {
  uint64_t hash = 0;
  for (size_t i = 0; i < c->problems.items.count; ++i) hash = byoc_hash_combine(hash, c->problems.items.data[i].hash);
  return hash;
}

// Which nodes of which problem go where; what stays with the native target is the rest.
static uint64_t hash_rival(const byoc_collage_t *c, const byoc_collage_rival_t *rival) {
  uint64_t hash = byoc_collage_hash(c);
  for (size_t i = 0; i < c->problems.items.count; ++i) {
    const byoc_candidates_t *list = &c->problems.items.data[i].candidates;
    uint64_t sum = 0; // whatever the order
    for (size_t k = 0; k < rival->covers[i].choice.count; ++k) {
      const byoc_candidate_t *candidate = list->items.data[rival->covers[i].choice.data[k]];
      if (c->options->targets->targets.data[candidate->target]->kind->backend == NULL) continue;
      sum += byoc_hash_combine(byoc_index_set_hash(&candidate->nodes), candidate->target);
    }
    hash = byoc_hash_combine(hash, sum);
  }
  return hash;
}

bool byoc_collage_recall(const byoc_collage_t *c, const char *id, double *out_ns) {
  byoc_cost_record_t record;
  byoc_arena_t scratch;
  byoc_arena_init(&scratch, c->allocator);
  bool known = c->options->database != NULL && byoc_cost_database_get(c->options->database, id, &scratch, &record);
  if (known) *out_ns = record.cost_ns;
  byoc_arena_deinit(&scratch);
  return known;
}

void byoc_collage_remember(const byoc_collage_t *c, const byoc_cost_key_t *key, double ns) {
  const byoc_cost_record_t record = {.key = *key, .cost_ns = ns};
  if (c->options->database != NULL) byoc_cost_database_put(c->options->database, &record);
}

// ---- whole models ----

typedef struct entrant_t {
  byoc_collage_t *search;
  byoc_collage_rival_t *rival;
} entrant_t;

typedef struct contest_t {
  byoc_collage_t *collage; // the last search
  entrant_t entrants[16];
  size_t count;
} contest_t;

static byoc_status_t apply_entrant(void *context, size_t i, byoc_placement_t *placement, byoc_diag_t *diag) {
  const contest_t *contest = context;
  return byoc_collage_apply(contest->entrants[i].search, contest->entrants[i].rival, diag, placement);
}

static double least_expected(const byoc_collage_t *c) {
  double least = INFINITY;
  for (; c != NULL; c = c->plain) {
    for (size_t r = 0; r < c->rival_count; ++r) {
      if (c->rivals[r].expected_ns < least) least = c->rivals[r].expected_ns;
    }
  }
  return least;
}

// The plans that are worth timing, each once: equal ones share an id.
static byoc_status_t enter(contest_t *contest, byoc_collage_t *c) {
  double least = least_expected(contest->collage);
  for (size_t r = c->rival_count; r-- > 0;) {
    byoc_collage_rival_t *rival = &c->rivals[r];
    bool is_hopeless = !rival->is_possible || (rival->target != NULL && rival->sum_ns > least * WHOLE_RATIO_AT_MOST);
    if (is_hopeless) continue;
    byoc_cost_key_t key;
    BYOC_RETURN_IF_ERROR(byoc_collage_key(c, "whole model", hash_rival(c, rival), &c->arena, &key));
    rival->id = key.id;
    bool is_known = false;
    for (size_t e = 0; e < contest->count; ++e) {
      is_known = is_known || strcmp(contest->entrants[e].rival->id, key.id) == 0;
    }
    size_t room = sizeof(contest->entrants) / sizeof(contest->entrants[0]);
    if (!is_known && contest->count < room) contest->entrants[contest->count++] = (entrant_t){c, rival};
  }
  return BYOC_OK;
}

static byoc_status_t time_entrants(contest_t *contest) {
  byoc_collage_t *c = contest->collage;
  double times[16];
  bool is_known = true;
  for (size_t e = 0; e < contest->count; ++e) {
    is_known =
        is_known && byoc_collage_recall(c, contest->entrants[e].rival->id, &contest->entrants[e].rival->whole_ns);
  }
  if (is_known) return BYOC_OK;
  for (size_t e = 0; e < contest->count; ++e) times[e] = NAN;
  BYOC_RETURN_IF_ERROR(
      c->options->whole.price(c->options->whole.self, contest->count, apply_entrant, contest, c->diag, times));
  for (size_t e = 0; e < contest->count; ++e) {
    const entrant_t *entrant = &contest->entrants[e];
    byoc_cost_key_t key;
    entrant->rival->whole_ns = times[e];
    if (isnan(times[e])) continue;
    BYOC_RETURN_IF_ERROR(
        byoc_collage_key(c, "whole model", hash_rival(entrant->search, entrant->rival), &c->arena, &key));
    byoc_collage_remember(c, &key, times[e]);
  }
  return BYOC_OK;
}

// Times for those equal to an entrant, too.
static void share_times(const contest_t *contest, byoc_collage_t *c) {
  for (size_t r = 0; r < c->rival_count; ++r) {
    byoc_collage_rival_t *rival = &c->rivals[r];
    for (size_t e = 0; e < contest->count && rival->id != NULL; ++e) {
      const byoc_collage_rival_t *entrant = contest->entrants[e].rival;
      if (strcmp(rival->id, entrant->id) == 0) rival->whole_ns = entrant->whole_ns;
    }
    byoc_log(BYOC_LOG_INFO, "plan %s: parts %.1f us, whole %.1f us", rival->name, rival->sum_ns / 1e3,
             rival->whole_ns / 1e3);
  }
}

byoc_status_t byoc_collage_find_winner(byoc_collage_t *c, byoc_collage_t **out_search,
                                       byoc_collage_rival_t **out_winner) {
  *out_search = c;
  *out_winner = &c->rivals[c->rival_count - 1];
  byoc_collage_rival_t *plain = c->plain ? &c->plain->rivals[c->plain->rival_count - 1] : NULL;
  if (plain != NULL && plain->sum_ns <= (*out_winner)->sum_ns) {
    *out_search = c->plain;
    *out_winner = plain;
  }
  if (c->options->whole.price == NULL || !((*out_winner)->sum_ns >= WHOLE_NS_AT_LEAST)) return BYOC_OK;
  contest_t contest = {.collage = c};
  for (byoc_collage_t *search = c; search != NULL; search = search->plain) {
    BYOC_RETURN_IF_ERROR(enter(&contest, search));
  }
  if (contest.count > 1) BYOC_RETURN_IF_ERROR(time_entrants(&contest));
  for (byoc_collage_t *search = c; search != NULL; search = search->plain) share_times(&contest, search);
  for (size_t e = 0; e < contest.count; ++e) {
    byoc_collage_rival_t *rival = contest.entrants[e].rival;
    if (rival->whole_ns < (*out_winner)->whole_ns || (isnan((*out_winner)->whole_ns) && !isnan(rival->whole_ns))) {
      *out_search = contest.entrants[e].search;
      *out_winner = rival;
    }
  }
  return BYOC_OK;
}

#include "core/collage/collage_internal.h"

#include <string.h>

#include "core/base/hash.h"
#include "core/base/log.h"

// Models that take less are not worth timing plan by plan.
#define WHOLE_NS_AT_LEAST 20000.0
// Nor are backends alone whose parts, all measured, take this much more than may be expected of the best plan.
#define WHOLE_RATIO_AT_MOST 1.5
// Plans nearer than this are as good as equal.
#define EQUAL_RATIO 1.01

// ---- what is remembered ----

byoc_status_t byoc_collage_key(const byoc_collage_t *c, const char *what, uint64_t hash, byoc_arena_t *arena,
                               byoc_cost_key_t *out_key) {
  const byoc_cost_key_t *base = &c->options->key;
  byoc_hasher_t hasher;
  byoc_hasher_init(&hasher);
  byoc_hasher_update_text(&hasher, "byoc plan 2");
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

typedef struct contest_t {
  byoc_collage_t *collage;
  byoc_collage_rival_t *entrants[16];
  size_t count;
} contest_t;

static uint64_t hash_contest(const contest_t *contest) {
  uint64_t hash = contest->count;
  for (size_t e = 0; e < contest->count; ++e) {
    hash = byoc_hash_combine(hash, hash_rival(contest->collage, contest->entrants[e]));
  }
  return hash;
}

static byoc_status_t apply_entrant(void *context, size_t i, byoc_placement_t *placement, byoc_diag_t *diag) {
  contest_t *contest = context;
  BYOC_RETURN_IF_ERROR(byoc_collage_choose(contest->collage, contest->entrants[i]));
  return byoc_problems_apply(&contest->collage->problems, contest->collage->options->targets, diag, placement);
}

static bool is_entered(const contest_t *contest, const byoc_collage_rival_t *rival) {
  for (size_t e = 0; e < contest->count; ++e) {
    if (strcmp(contest->entrants[e]->id, rival->id) == 0) return true;
  }
  return false;
}

// Equal plans share an id, and enter once.
static byoc_status_t enter_one(contest_t *contest, byoc_collage_rival_t *rival) {
  byoc_collage_t *c = contest->collage;
  byoc_cost_key_t key;
  BYOC_RETURN_IF_ERROR(byoc_collage_key(c, "whole model", hash_rival(c, rival), &c->arena, &key));
  rival->id = key.id;
  size_t room = sizeof(contest->entrants) / sizeof(contest->entrants[0]);
  if (!is_entered(contest, rival) && contest->count < room) contest->entrants[contest->count++] = rival;
  return BYOC_OK;
}

// Of those that have not entered, the backend alone that is expected to be fastest; NULL where none is worth timing.
static byoc_collage_rival_t *next_alone(const byoc_collage_t *c, double least_ns) {
  byoc_collage_rival_t *best = NULL;
  for (size_t r = 1; r + 1 < c->rival_count; ++r) {
    byoc_collage_rival_t *rival = &c->rivals[r];
    bool is_hopeless = !rival->is_possible || rival->sum_ns > least_ns * WHOLE_RATIO_AT_MOST;
    if (rival->id != NULL || is_hopeless) continue;
    if (best == NULL || rival->expected_ns < best->expected_ns) best = rival;
  }
  return best;
}

// The plans that are worth timing, in the order in which they get the time: what was found, greedy placement, the
// backends alone.
static byoc_status_t enter(contest_t *contest) {
  byoc_collage_t *c = contest->collage;
  byoc_collage_rival_t *found = &c->rivals[c->rival_count - 1], *greedy = &c->rivals[0], *alone;
  double least_ns = INFINITY;
  for (size_t r = 0; r < c->rival_count; ++r) {
    if (c->rivals[r].expected_ns < least_ns) least_ns = c->rivals[r].expected_ns;
  }
  BYOC_RETURN_IF_ERROR(enter_one(contest, found));
  if (greedy->is_possible) BYOC_RETURN_IF_ERROR(enter_one(contest, greedy));
  while ((alone = next_alone(c, least_ns)) != NULL) BYOC_RETURN_IF_ERROR(enter_one(contest, alone));
  return BYOC_OK;
}

static bool all_known(const contest_t *contest) {
  bool is_known = true;
  for (size_t e = 0; e < contest->count; ++e) {
    is_known =
        byoc_collage_recall(contest->collage, contest->entrants[e]->id, &contest->entrants[e]->whole_ns) && is_known;
  }
  return is_known;
}

// What a budget left out in an earlier build stays out in this one, unless it has more time.
static byoc_status_t time_entrants(contest_t *contest) {
  byoc_collage_t *c = contest->collage;
  double times[16], spent_ns = 0;
  byoc_cost_key_t contest_key;
  if (all_known(contest)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_collage_key(c, "contest", hash_contest(contest), &c->arena, &contest_key));
  if (byoc_collage_recall(c, contest_key.id, &spent_ns) && spent_ns >= (double)c->budget_ns) return BYOC_OK;
  for (size_t e = 0; e < contest->count; ++e) times[e] = NAN;
  BYOC_RETURN_IF_ERROR(c->options->whole.price(c->options->whole.self, contest->count, apply_entrant, contest,
                                               c->measuring.budget_ns + c->measuring.reserve_ns, c->diag, times));
  for (size_t e = 0; e < contest->count; ++e) {
    byoc_collage_rival_t *rival = contest->entrants[e];
    byoc_cost_key_t key;
    rival->whole_ns = times[e];
    if (isnan(times[e])) continue;
    BYOC_RETURN_IF_ERROR(byoc_collage_key(c, "whole model", hash_rival(c, rival), &c->arena, &key));
    byoc_collage_remember(c, &key, times[e]);
  }
  byoc_collage_remember(c, &contest_key, (double)c->budget_ns);
  return BYOC_OK;
}

// In the order of the rivals, what was found last: a later one must be faster by more than chance.
static byoc_collage_rival_t *fastest(byoc_collage_t *c) {
  byoc_collage_rival_t *winner = NULL;
  for (size_t r = 0; r < c->rival_count; ++r) {
    byoc_collage_rival_t *rival = &c->rivals[r];
    if (isnan(rival->whole_ns)) continue;
    if (winner == NULL || rival->whole_ns * EQUAL_RATIO < winner->whole_ns) winner = rival;
  }
  byoc_collage_rival_t *found = &c->rivals[c->rival_count - 1];
  bool is_found = winner == NULL || (found->id != NULL && strcmp(winner->id, found->id) == 0);
  return is_found ? found : winner;
}

byoc_status_t byoc_collage_find_winner(byoc_collage_t *c, byoc_collage_rival_t **out_winner) {
  byoc_collage_rival_t *found = &c->rivals[c->rival_count - 1];
  *out_winner = found;
  if (c->options->whole.price == NULL || !(found->sum_ns >= WHOLE_NS_AT_LEAST)) return BYOC_OK;
  contest_t contest = {.collage = c};
  BYOC_RETURN_IF_ERROR(enter(&contest));
  if (contest.count > 1) BYOC_RETURN_IF_ERROR(time_entrants(&contest));
  for (size_t r = 0; r < c->rival_count; ++r) { // those equal to an entrant
    for (size_t e = 0; e < contest.count && c->rivals[r].id != NULL; ++e) {
      if (strcmp(c->rivals[r].id, contest.entrants[e]->id) == 0) c->rivals[r].whole_ns = contest.entrants[e]->whole_ns;
    }
    byoc_log(BYOC_LOG_INFO, "plan %s: parts %.1f us, whole %.1f us", c->rivals[r].name, c->rivals[r].sum_ns / 1e3,
             c->rivals[r].whole_ns / 1e3);
  }
  *out_winner = fastest(c);
  return BYOC_OK;
}

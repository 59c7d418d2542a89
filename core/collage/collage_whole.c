// SPDX-License-Identifier: Apache-2.0
// The contest of whole plans: each is built as an artifact and timed.
#include "core/collage/collage_internal.h"

#include <string.h>

#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/collage/constraint.h"

// Models that take less time are not timed plan by plan.
#define WHOLE_NS_AT_LEAST 20000.0
// Backends alone are not timed either if all their parts are measured and sum to this much more than the best plan's
// expected cost.
#define WHOLE_RATIO_AT_MOST 2.0
// The same for the native target alone, which competes with plans for devices.
#define NATIVE_RATIO_AT_MOST 100.0
// Plans that differ by less than this count as equal; noisy measuring widens the margin, up to a limit.
#define EQUAL_RATIO       1.01
#define EQUAL_RATIO_NOISY 1.05
// Of plans that count as equal the smallest wins; sizes are not noisy, but less than this is next to nothing.
#define EQUAL_MIB 1.0

// The costs of the parts and the time of the whole, warm and cold caches among the differences, are within this factor.
#define TRUSTED_RATIO 4.0

// Estimates count the cost of a change of layout, and not the gain of kernels on blocks. Measured with 27 convolutional
// networks of dynamic batch (cutlass, AVX-512): plans with blocked layouts took 0.60 to 1.17 of the time of others,
// 0.88 in the geometric mean, and the estimates were up to 1.17.
#define LAYOUT_RATIO 1.2

// ---- records ----

byoc_status_t byoc_collage_key(const byoc_collage_t *c, const char *what, uint64_t hash, byoc_arena_t *arena,
                               byoc_cost_key_t *out_key) {
  const byoc_cost_key_t *base = &c->options->key;
  byoc_hasher_t hasher;
  byoc_hasher_init(&hasher);
  byoc_hasher_update_string(&hasher, "byoc plan 2");
  byoc_hasher_update_string(&hasher, what);
  byoc_hasher_update(&hasher, &hash, sizeof(hash));
  const char *const texts[] = {base->target, base->plugin, base->compiler, base->machine};
  for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); ++i) byoc_hasher_update_string(&hasher, texts[i]);
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
  const byoc_target_list_t *targets = c->options->targets;
  uint64_t hash = 0;
  for (uint32_t t = 0; t < targets->targets.count; ++t) { // another device has other figures
    const bool is_on_device = byoc_target_device(targets->targets.data[t]) != kDLCPU || c->has_boundary[t];
    if (is_on_device) hash = byoc_hash_bytes(&c->devices[t], sizeof(c->devices[t]), hash);
  }
  for (size_t i = 0; i < c->problems.items.count; ++i) hash = byoc_hash_combine(hash, c->problems.items.data[i].hash);
  return hash;
}

// Hashes the targets of the nodes of each problem; all other nodes stay with the native target.
static uint64_t hash_alternative(const byoc_collage_t *c, const byoc_collage_alternative_t *alternative) {
  uint64_t hash = byoc_collage_hash(c);
  for (size_t i = 0; i < c->problems.items.count; ++i) {
    const byoc_candidates_t *list = &c->problems.items.data[i].candidates;
    uint64_t sum = 0; // independent of the order
    for (size_t k = 0; k < alternative->covers[i].choice.count; ++k) {
      const byoc_candidate_t *candidate = list->items.data[alternative->covers[i].choice.data[k]];
      if (c->options->targets->targets.data[candidate->target]->kind->backend == NULL) continue;
      sum += byoc_hash_combine(byoc_index_set_hash(&candidate->nodes), candidate->target);
    }
    hash = byoc_hash_combine(hash, sum);
  }
  return hash;
}

static bool recall(const byoc_collage_t *c, const char *id, double *out_ns) {
  byoc_cost_record_t record;
  byoc_arena_t scratch;
  byoc_arena_init(&scratch, c->allocator);
  bool known = c->options->database != NULL && byoc_cost_database_get(c->options->database, id, &scratch, &record);
  if (known) *out_ns = record.cost_ns;
  byoc_arena_deinit(&scratch);
  return known;
}

static void remember(const byoc_collage_t *c, const byoc_cost_key_t *key, double ns) {
  const byoc_cost_record_t record = {.key = *key, .cost_ns = ns};
  if (c->options->database != NULL) byoc_cost_database_put(c->options->database, &record);
}

bool byoc_collage_recall_note(const byoc_collage_t *c, const char *id, double *out_value) {
  return c->options->database != NULL && byoc_cost_database_get_note(c->options->database, id, out_value);
}

void byoc_collage_note(const byoc_collage_t *c, const char *id, double value) {
  if (c->options->database != NULL) byoc_cost_database_put_note(c->options->database, id, value);
}

// ---- whole models ----

// The largest number of plans that are timed.
enum { ENTRANTS_MAX = 16 };

typedef struct entrant_t {
  byoc_collage_t *search;
  byoc_collage_alternative_t *alternative;
} entrant_t;

typedef struct contest_t {
  byoc_collage_t *collage; // the last search
  entrant_t entrants[ENTRANTS_MAX];
  size_t count;
  double error;               // of the times against each other, as a share of them
  double least_ns, least_mib; // of those that were timed
} contest_t;

static byoc_status_t apply_entrant(void *context, size_t i, byoc_placement_t *placement, byoc_diag_t *diag) {
  const contest_t *contest = context;
  return byoc_collage_apply(contest->entrants[i].search, contest->entrants[i].alternative, diag, placement);
}

static double least_expected(const byoc_collage_t *c) {
  double least = INFINITY;
  for (; c != NULL; c = c->plain) {
    for (size_t r = 0; r < c->alternative_count; ++r) {
      if (c->alternatives[r].expected_ns < least) least = c->alternatives[r].expected_ns;
    }
  }
  return least;
}

static bool is_found(const entrant_t *entrant) {
  return entrant->alternative == &entrant->search->alternatives[entrant->search->alternative_count - 1];
}

// The plan that was found comes first, the others by expected time: if time runs out, the last ones are left out.
static bool comes_before(const entrant_t *a, const entrant_t *b) {
  if (is_found(a) != is_found(b)) return is_found(a);
  return a->alternative->expected_ns < b->alternative->expected_ns;
}

static void add_entrant(contest_t *contest, entrant_t entrant) {
  size_t at = contest->count;
  for (size_t e = 0; e < contest->count; ++e) {
    if (strcmp(contest->entrants[e].alternative->id, entrant.alternative->id) == 0) return; // equal ones share an id
  }
  if (contest->count == ENTRANTS_MAX) return;
  for (; at > 0 && comes_before(&entrant, &contest->entrants[at - 1]); --at) {
    contest->entrants[at] = contest->entrants[at - 1];
  }
  contest->entrants[at] = entrant;
  contest->count += 1;
}

// Has the plan parts whose costs a backend states? No machine here can time it.
static bool has_stated(const byoc_collage_t *c, const byoc_collage_alternative_t *alternative) {
  for (size_t i = 0; i < c->problems.items.count; ++i) {
    const byoc_price_list_t *prices = &c->prices[i];
    const byoc_choice_t *choice = &alternative->covers[i].choice;
    for (size_t k = 0; k < choice->count; ++k) {
      if (prices->prices.data[prices->price_of[choice->data[k]]].source == BYOC_COST_SOURCE_STATED) return true;
    }
  }
  return false;
}

// The plans that are worth timing, each once.
static byoc_status_t enter(contest_t *contest, byoc_collage_t *c) {
  double least = least_expected(contest->collage);
  for (size_t r = c->alternative_count; r-- > 0;) {
    byoc_collage_alternative_t *alternative = &c->alternatives[r];
    const bool is_native = alternative->target != NULL && alternative->target->kind->backend == NULL;
    const double most_ns = least * (is_native ? NATIVE_RATIO_AT_MOST : WHOLE_RATIO_AT_MOST);
    bool is_hopeless = !alternative->is_possible || (alternative->target != NULL && alternative->sum_ns > most_ns);
    if (is_hopeless || has_stated(c, alternative)) continue;
    byoc_cost_key_t key;
    BYOC_RETURN_IF_ERROR(byoc_collage_key(c, "whole model", hash_alternative(c, alternative), &c->arena, &key));
    alternative->id = key.id;
    add_entrant(contest, (entrant_t){c, alternative});
  }
  return BYOC_OK;
}

// The key of the note about the size of an entrant's artifact; "" when out of memory: no note has this key.
static const char *size_id(const contest_t *contest, size_t entrant) {
  const char *id = byoc_arena_format(&contest->collage->arena, "%s MiB", contest->entrants[entrant].alternative->id);
  return id != NULL ? id : "";
}

// Reads the times and sizes of an earlier build; false if one is missing.
static bool recall_times(contest_t *contest, const char *error_id) {
  bool is_known = true;
  (void)byoc_collage_recall_note(contest->collage, error_id, &contest->error);
  for (size_t e = 0; e < contest->count; ++e) {
    byoc_collage_alternative_t *alternative = contest->entrants[e].alternative;
    is_known = recall(contest->collage, alternative->id, &alternative->whole_ns) && is_known;
    is_known = byoc_collage_recall_note(contest->collage, size_id(contest, e), &alternative->whole_mib) && is_known;
  }
  return is_known;
}

// The time that the searches left over is added to the contest's.
static int64_t contest_budget(const byoc_collage_t *c) {
  int64_t budget_ns = c->whole_budget_ns;
  for (; c != NULL; c = c->plain) budget_ns += c->measuring.budget_ns;
  return budget_ns;
}

static uint64_t hash_contest(const contest_t *contest) {
  uint64_t hash = 0;
  for (size_t e = 0; e < contest->count; ++e) {
    hash += hash_alternative(contest->entrants[e].search, contest->entrants[e].alternative); // independent of the order
  }
  return hash;
}

// A plan that had no time in an earlier build gets none in this one, unless this one has more time. If no plan was
// timed although there was time left, a step failed, and the contest is tried again.
static byoc_status_t time_entrants(contest_t *contest) {
  byoc_collage_t *c = contest->collage;
  double times[ENTRANTS_MAX], sizes[ENTRANTS_MAX], spent_ns = 0, budget_ns = c->options->budget_s * 1e9;
  byoc_cost_key_t contest_key, error_key;
  BYOC_RETURN_IF_ERROR(byoc_collage_key(c, "contest by time and size", hash_contest(contest), &c->arena, &contest_key));
  BYOC_RETURN_IF_ERROR(byoc_collage_key(c, "contest error", hash_contest(contest), &c->arena, &error_key));
  if (recall_times(contest, error_key.id)) return BYOC_OK;
  if (byoc_collage_recall_note(c, contest_key.id, &spent_ns) && spent_ns >= budget_ns) return BYOC_OK;
  for (size_t e = 0; e < contest->count; ++e) times[e] = sizes[e] = NAN;
  int64_t limit_ns = contest_budget(c), start_ns = byoc_now_ns();
  BYOC_RETURN_IF_ERROR(c->options->whole.price(c->options->whole.self, contest->count, apply_entrant, contest, limit_ns,
                                               c->diag, times, sizes, &contest->error));
  bool is_over = byoc_now_ns() - start_ns >= limit_ns; // timed, or out of time
  for (size_t e = 0; e < contest->count; ++e) {
    const entrant_t *entrant = &contest->entrants[e];
    byoc_cost_key_t key;
    entrant->alternative->whole_ns = times[e];
    entrant->alternative->whole_mib = sizes[e];
    if (isnan(times[e])) continue;
    is_over = true;
    BYOC_RETURN_IF_ERROR(
        byoc_collage_key(c, "whole model", hash_alternative(entrant->search, entrant->alternative), &c->arena, &key));
    remember(c, &key, times[e]);
    if (!isnan(sizes[e])) byoc_collage_note(c, size_id(contest, e), sizes[e]);
  }
  if (!is_over) return BYOC_OK;
  byoc_collage_note(c, contest_key.id, budget_ns);
  byoc_collage_note(c, error_key.id, contest->error);
  return BYOC_OK;
}

static const char *print_time(double ns, char text[32]) {
  if (isnan(ns)) return "not timed";
  snprintf(text, 32, "%.1f us", ns / 1e3);
  return text;
}

// Copies times to alternative plans that equal an entrant.
static void share_times(const contest_t *contest, byoc_collage_t *c) {
  for (size_t r = 0; r < c->alternative_count; ++r) {
    byoc_collage_alternative_t *alternative = &c->alternatives[r];
    for (size_t e = 0; e < contest->count && alternative->id != NULL; ++e) {
      const byoc_collage_alternative_t *entrant = contest->entrants[e].alternative;
      if (strcmp(alternative->id, entrant->id) != 0) continue;
      alternative->whole_ns = entrant->whole_ns;
      alternative->whole_mib = entrant->whole_mib;
    }
    char parts[32], whole[32];
    byoc_log(BYOC_LOG_INFO, "plan %s: parts %s, whole %s", alternative->name, print_time(alternative->sum_ns, parts),
             print_time(alternative->whole_ns, whole));
  }
}

static void find_least(contest_t *contest) {
  contest->least_ns = contest->least_mib = INFINITY;
  for (size_t e = 0; e < contest->count; ++e) {
    const byoc_collage_alternative_t *alternative = contest->entrants[e].alternative;
    if (alternative->whole_ns < contest->least_ns) contest->least_ns = alternative->whole_ns; // no NaN is
    if (alternative->whole_mib < contest->least_mib) contest->least_mib = alternative->whole_mib;
  }
}

// Its time, and the cost of its size beyond that of the smallest plan.
static double weighed(const contest_t *contest, const byoc_collage_alternative_t *alternative) {
  const double more_mib = isnan(alternative->whole_mib) ? 0 : alternative->whole_mib - contest->least_mib;
  return alternative->whole_ns + byoc_collage_size_ns(contest->collage, more_mib, contest->least_ns);
}

static double least_weighed(const contest_t *contest) {
  double least = INFINITY;
  for (size_t e = 0; e < contest->count; ++e) {
    const double ns = weighed(contest, contest->entrants[e].alternative);
    if (ns < least) least = ns; // no NaN is
  }
  return least;
}

// The plans that are as good as the best one by time and size: noise may have made the difference of their times.
typedef struct equals_t {
  double limit_ns;  // weighed
  double limit_mib; // of the smallest of them, and a little
} equals_t;

static equals_t find_equals(const contest_t *contest) {
  const double margin = fmin(EQUAL_RATIO + contest->error, EQUAL_RATIO_NOISY) - 1; // of the time, not of the size
  equals_t equals = {.limit_ns = least_weighed(contest) + contest->least_ns * margin, .limit_mib = INFINITY};
  if (!(contest->collage->options->size_price > 0)) return equals;
  double least_mib = INFINITY;
  for (size_t e = 0; e < contest->count; ++e) {
    const byoc_collage_alternative_t *alternative = contest->entrants[e].alternative;
    if (weighed(contest, alternative) <= equals.limit_ns)
      least_mib = fmin(least_mib, alternative->whole_mib); // no NaN is
  }
  equals.limit_mib = least_mib + EQUAL_MIB;
  return equals;
}

static byoc_collage_alternative_t *first_of(const contest_t *contest, const equals_t *equals, const byoc_collage_t *c,
                                            bool alone) {
  byoc_collage_alternative_t *of_any_size = NULL;
  for (size_t r = 0; r < c->alternative_count; ++r) {
    byoc_collage_alternative_t *alternative = &c->alternatives[r];
    if (alone && alternative->target == NULL) continue;
    const bool is_larger = alternative->whole_mib > equals->limit_mib; // not if its size is not known
    if (is_larger || !(weighed(contest, alternative) <= equals->limit_ns)) continue;
    if (!alternative->is_of_any_size) return alternative;
    of_any_size = alternative;
  }
  return of_any_size;
}

// Of the plans that are as good as the best by time and size, the smallest wins, and of equally small ones the
// simplest: one with layout changes before one without, a backend alone before several, greedy partitioning before the
// result of the search, and a plan that was chosen for its size before the fastest. Chance alone makes no plan the
// winner.
static entrant_t find_best(contest_t *contest) {
  find_least(contest);
  const equals_t equals = find_equals(contest);
  if (contest->error > 0) byoc_log(BYOC_LOG_INFO, "whole plans: timed to %.1f %%", contest->error * 100);
  for (byoc_collage_t *c = contest->collage; c != NULL; c = c->plain) {
    byoc_collage_alternative_t *alone = first_of(contest, &equals, c, true);
    byoc_collage_alternative_t *any = first_of(contest, &equals, c, false);
    if (any != NULL) return (entrant_t){c, alone != NULL ? alone : any};
  }
  return (entrant_t){NULL, NULL};
}

// The sum of the estimated costs of a plan: candidates of dynamic shapes cannot be measured.
static double estimated_ns(const byoc_collage_t *c, const byoc_collage_alternative_t *alternative) {
  double sum_ns = 0;
  for (size_t i = 0; i < c->problems.items.count; ++i) {
    const byoc_price_list_t *prices = &c->prices[i];
    const byoc_choice_t *choice = &alternative->covers[i].choice;
    for (size_t k = 0; k < choice->count; ++k) {
      const byoc_price_t *price = &prices->prices.data[prices->price_of[choice->data[k]]];
      if (price->source == BYOC_COST_SOURCE_ESTIMATE) sum_ns += price->cost_ns;
    }
  }
  return sum_ns;
}

// Where no plan can be timed and most of the best one is estimated: one with layout changes, in the order of find_best,
// that is expected to be about as good.
static entrant_t find_untimed(byoc_collage_t *c, entrant_t found) {
  const double expected_ns = found.alternative->expected_ns;
  if (c->plain == NULL || !(estimated_ns(found.search, found.alternative) > expected_ns / 2)) return found;
  for (int pass = 0; pass < 2; ++pass) { // one backend alone; then any
    for (size_t r = 0; r < c->alternative_count; ++r) {
      byoc_collage_alternative_t *alternative = &c->alternatives[r];
      if (pass == 0 && alternative->target == NULL) continue;
      if (alternative->is_possible && alternative->expected_ns <= expected_ns * LAYOUT_RATIO)
        return (entrant_t){c, alternative};
    }
  }
  return found;
}

// ---- parts against the whole ----

static bool has_device(const byoc_collage_t *c, const byoc_collage_alternative_t *alternative) {
  for (size_t i = 0; i < c->problems.items.count; ++i) {
    const byoc_candidates_t *list = &c->problems.items.data[i].candidates;
    const byoc_choice_t *choice = &alternative->covers[i].choice;
    for (size_t k = 0; k < choice->count; ++k) {
      const uint32_t target = list->items.data[choice->data[k]]->target;
      if (byoc_target_device(c->options->targets->targets.data[target]) != kDLCPU) return true;
    }
  }
  return false;
}

// Are there plans to choose from, or one whose parts a device computes? Those may be measured wrongly by their own
// device's clock, so that even a plan without alternatives is timed as a whole.
static bool is_worth_timing(const contest_t *contest) {
  if (contest->count != 1) return contest->count > 1;
  return has_device(contest->entrants[0].search, contest->entrants[0].alternative);
}

// A plan that had no time in the contest, whose measured parts take much less than the best one took as a whole: what
// was measured of the best one's parts was wrong.
static entrant_t prefer_untimed(byoc_collage_t *c, entrant_t best) {
  double least_ns = best.alternative->whole_ns / TRUSTED_RATIO; // NaN: nothing is less
  for (; c != NULL; c = c->plain) {
    for (size_t r = 0; r < c->alternative_count; ++r) {
      byoc_collage_alternative_t *alternative = &c->alternatives[r];
      if (!alternative->is_possible || !isnan(alternative->whole_ns) || !(alternative->sum_ns < least_ns)) continue;
      least_ns = alternative->sum_ns;
      best = (entrant_t){c, alternative};
    }
  }
  return best;
}

// A case of a branch may not run (a plan of --fallback, a variant), and a loop's body runs several times: then the
// parts do not sum to the whole.
static bool has_nested_blocks(const byoc_collage_t *c) {
  for (size_t i = 0; i < c->problems.items.count; ++i) {
    if (c->problems.items.data[i].flow.block->owner != NULL) return true;
  }
  return false;
}

static void compare_with_parts(const byoc_collage_t *c, const byoc_collage_alternative_t *plan) {
  if (has_nested_blocks(c)) return;
  const double ratio = plan->whole_ns / plan->sum_ns; // NaN: it was not timed
  if (!(ratio > TRUSTED_RATIO || ratio < 1 / TRUSTED_RATIO)) return;
  byoc_log(BYOC_LOG_WARNING,
           "the plan '%s' takes %.1f us as a whole, and %.1f us by the costs of its parts: a backend or a device of it "
           "is measured wrongly; byoc explain shows the parts, and byoc profile their times in an artifact",
           plan->name, plan->whole_ns / 1e3, plan->sum_ns / 1e3);
}

// A search that ran out of time may have found less than an alternative whose parts it measured.
static void prefer_cheaper(byoc_collage_t *c, byoc_collage_t **search, byoc_collage_alternative_t **winner) {
  if (c->options->size_price > 0) return; // the sizes of alternatives were not weighed
  for (; c != NULL; c = c->plain) {
    for (size_t r = 0; r < c->alternative_count; ++r) {
      byoc_collage_alternative_t *alternative = &c->alternatives[r];
      if (!alternative->is_possible || !(alternative->sum_ns * EQUAL_RATIO < (*winner)->sum_ns)) continue;
      *search = c;
      *winner = alternative;
    }
  }
}

// A plan within the error budget, if the search's is not.
static void prefer_possible(byoc_collage_t *c, byoc_collage_t **search, byoc_collage_alternative_t **winner) {
  for (; c != NULL; c = c->plain) {
    for (size_t r = 0; r < c->alternative_count; ++r) {
      byoc_collage_alternative_t *alternative = &c->alternatives[r];
      const bool is_better = !(*winner)->is_possible || alternative->expected_ns < (*winner)->expected_ns;
      if (!alternative->is_possible || !is_better) continue;
      *search = c;
      *winner = alternative;
    }
  }
}

byoc_status_t byoc_collage_find_winner(byoc_collage_t *c, byoc_collage_t **out_search,
                                       byoc_collage_alternative_t **out_winner) {
  *out_search = c;
  *out_winner = &c->alternatives[c->alternative_count - 1];
  byoc_collage_alternative_t *plain = c->plain ? &c->plain->alternatives[c->plain->alternative_count - 1] : NULL;
  if (plain != NULL && plain->sum_ns + plain->size_ns <= (*out_winner)->sum_ns + (*out_winner)->size_ns) {
    *out_search = c->plain;
    *out_winner = plain;
  }
  if (!(*out_winner)->is_possible) prefer_possible(c, out_search, out_winner);
  prefer_cheaper(c, out_search, out_winner);
  if (has_stated(*out_search, *out_winner)) return BYOC_OK; // by the sums of parts
  const bool is_short = !((*out_winner)->sum_ns >= WHOLE_NS_AT_LEAST) && !has_device(*out_search, *out_winner);
  if (c->options->whole.price == NULL || is_short) return BYOC_OK;
  contest_t contest = {.collage = c};
  for (byoc_collage_t *search = c; search != NULL; search = search->plain) {
    BYOC_RETURN_IF_ERROR(enter(&contest, search));
  }
  if (is_worth_timing(&contest)) BYOC_RETURN_IF_ERROR(time_entrants(&contest));
  for (byoc_collage_t *search = c; search != NULL; search = search->plain) share_times(&contest, search);
  entrant_t best = find_best(&contest);
  if (best.alternative == NULL) best = find_untimed(c, (entrant_t){*out_search, *out_winner});
  best = prefer_untimed(c, best);
  compare_with_parts(*out_search, *out_winner);
  if (best.alternative != *out_winner) compare_with_parts(best.search, best.alternative);
  bool is_same = strcmp(best.alternative->id, (*out_winner)->id) == 0; // found, and equal to another plan
  if (is_same) return BYOC_OK;
  *out_search = best.search;
  *out_winner = best.alternative;
  return BYOC_OK;
}

#include "core/collage/place_collage.h"

#include <stdio.h>
#include <string.h>

#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/collage/lazy_search.h"
#include "core/collage/rules.h"
#include "core/collage/transition.h"

// Models that take less are not worth timing plan by plan.
#define WHOLE_NS_AT_LEAST 20000.0
// Nor are backends alone whose parts may be expected to take this much more than those of the best plan.
#define WHOLE_RATIO_AT_MOST 2.0

// One way to place the whole module: a choice for each problem.
typedef struct rival_t {
  const char *name;
  const byoc_target_t *target; // "T;c"; NULL: all of them
  byoc_choice_t *greedy;       // by problem: what greedy claims would make of these targets
  byoc_lazy_cover_t *covers;   // by problem: that, and the native target's best for the rest
  bool is_possible;
  double sum_ns, expected_ns, whole_ns; // the sum only where all parts are measured
  const char *id;                       // of its time in the database
} rival_t;

typedef struct collage_t {
  const byoc_collage_options_t *options;
  byoc_problems_t problems;
  byoc_price_list_t *prices;       // by problem
  byoc_transitions_t *transitions; // by problem
  size_t ready;                    // problems with both
  rival_t *rivals;                 // the last one: what was searched
  size_t rival_count;
  byoc_measuring_t measuring;
  int64_t budget_ns; // to begin with
  byoc_arena_t arena;
  byoc_allocator_t allocator;
  byoc_diag_t *diag;
} collage_t;

// ---- setting up ----

static byoc_status_t add_rival(collage_t *c, const char *name, const byoc_target_t *target) {
  rival_t *rival = &c->rivals[c->rival_count];
  size_t count = c->problems.items.count;
  *rival = (rival_t){.name = name, .target = target, .is_possible = true, .sum_ns = NAN, .whole_ns = NAN};
  rival->greedy = BYOC_ARENA_ARRAY(&c->arena, byoc_choice_t, count);
  rival->covers = BYOC_ARENA_ARRAY(&c->arena, byoc_lazy_cover_t, count);
  if (name == NULL || rival->greedy == NULL || rival->covers == NULL) return byoc_diag_out_of_memory(c->diag);
  c->rival_count += 1;
  return BYOC_OK;
}

static byoc_status_t make_rivals(collage_t *c) {
  const byoc_target_list_t *targets = c->options->targets;
  size_t backends = targets->targets.count - 1;
  const char *native = targets->targets.data[backends]->kind->name;
  c->rivals = BYOC_ARENA_ARRAY(&c->arena, rival_t, backends + 2);
  if (c->rivals == NULL) return byoc_diag_out_of_memory(c->diag);
  BYOC_RETURN_IF_ERROR(add_rival(c, "greedy", NULL));
  for (size_t t = 0; t < backends && backends > 1; ++t) {
    const byoc_target_t *target = targets->targets.data[t];
    const char *name = byoc_arena_format(&c->arena, "%s;%s", target->kind->name, native);
    BYOC_RETURN_IF_ERROR(add_rival(c, name, target));
  }
  return add_rival(c, "collage", NULL);
}

// Candidates of every target, and the regions of the rivals, which no enumeration may reach.
static byoc_status_t collect(collage_t *c, size_t index) {
  byoc_problem_t *problem = &c->problems.items.data[index];
  const byoc_target_list_t *targets = c->options->targets;
  BYOC_RETURN_IF_ERROR(byoc_candidates_collect(&problem->candidates, &problem->flow, targets, NULL, c->diag));
  for (size_t r = 0; r + 1 < c->rival_count; ++r) {
    rival_t *rival = &c->rivals[r];
    const byoc_target_t *const *first =
        rival->target ? &rival->target : (const byoc_target_t *const *)targets->targets.data;
    BYOC_RETURN_IF_ERROR(byoc_greedy_claim(&problem->flow, first, rival->target ? 1 : targets->targets.count,
                                           &problem->candidates, c->diag, &rival->greedy[index]));
  }
  return BYOC_OK;
}

static byoc_status_t prepare(collage_t *c, size_t index) {
  byoc_problem_t *problem = &c->problems.items.data[index];
  const byoc_collage_options_t *options = c->options;
  BYOC_RETURN_IF_ERROR(collect(c, index));
  BYOC_RETURN_IF_ERROR(byoc_transitions_init(&c->transitions[index], &problem->flow, options->targets,
                                             options->estimator, c->allocator, c->diag));
  byoc_status_t status =
      byoc_price_list_init(&c->prices[index], problem, options->targets, options->pricer, options->estimator, c->diag);
  if (status != BYOC_OK) {
    byoc_transitions_deinit(&c->transitions[index]);
    return status;
  }
  c->ready = index + 1;
  for (size_t r = 0; r + 1 < c->rival_count; ++r) {
    const byoc_choice_t *greedy = &c->rivals[r].greedy[index];
    for (size_t k = 0; k < greedy->count; ++k) byoc_price_list_trust(&c->prices[index], greedy->data[k]);
  }
  c->measuring.hits += c->prices[index].known;
  byoc_log(BYOC_LOG_INFO, "'%s': %zu nodes, %zu candidates of %zu kinds, %zu of them known", problem->name,
           (size_t)problem->flow.node_count, problem->candidates.items.count, c->prices[index].prices.count,
           c->prices[index].known);
  return BYOC_OK;
}

static void deinit(collage_t *c) {
  for (size_t i = 0; i < c->ready; ++i) {
    byoc_price_list_deinit(&c->prices[i]);
    byoc_transitions_deinit(&c->transitions[i]);
  }
  for (size_t r = 0; r < c->rival_count; ++r) {
    for (size_t i = 0; i < c->problems.items.count; ++i) {
      byoc_vector_deinit(&c->rivals[r].greedy[i], c->allocator);
      byoc_lazy_cover_deinit(&c->rivals[r].covers[i], c->allocator);
    }
  }
  byoc_problems_deinit(&c->problems);
  byoc_arena_deinit(&c->arena);
}

// ---- what is remembered ----

// A record that is about the whole: `what` it is, and what tells it from others.
static byoc_status_t make_key(const collage_t *c, const char *what, uint64_t hash, byoc_arena_t *arena,
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

static uint64_t hash_module(const collage_t *c) {
  uint64_t hash = 0;
  for (size_t i = 0; i < c->problems.items.count; ++i) hash = byoc_hash_combine(hash, c->problems.items.data[i].hash);
  return hash;
}

// Which nodes of which problem go where; what stays with the native target is the rest.
static uint64_t hash_rival(const collage_t *c, const rival_t *rival) {
  uint64_t hash = hash_module(c);
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

static bool recall(const collage_t *c, const char *id, double *out_ns) {
  byoc_cost_record_t record;
  byoc_arena_t scratch;
  byoc_arena_init(&scratch, c->allocator);
  bool known = c->options->database != NULL && byoc_cost_database_get(c->options->database, id, &scratch, &record);
  if (known) *out_ns = record.cost_ns;
  byoc_arena_deinit(&scratch);
  return known;
}

static void remember(const collage_t *c, const byoc_cost_key_t *key, double ns) {
  const byoc_cost_record_t record = {.key = *key, .cost_ns = ns};
  if (c->options->database != NULL) byoc_cost_database_put(c->options->database, &record);
}

// ---- searching ----

static bool is_usable(const collage_t *c, size_t index, uint32_t candidate) {
  const byoc_price_list_t *prices = &c->prices[index];
  return !isinf(prices->prices.data[prices->price_of[candidate]].cost_ns);
}

// A rival's regions, but for those that are known not to be usable, and the native target's candidates for the rest.
static size_t list_rival(const collage_t *c, const rival_t *rival, size_t index, bool *taken, uint32_t *subset) {
  const byoc_problem_t *problem = &c->problems.items.data[index];
  const byoc_candidates_t *list = &problem->candidates;
  size_t count = 0;
  memset(taken, 0, problem->flow.node_count * sizeof(*taken));
  for (size_t k = 0; k < rival->greedy[index].count; ++k) {
    uint32_t region = rival->greedy[index].data[k];
    const byoc_index_set_t *nodes = &list->items.data[region]->nodes;
    if (!is_usable(c, index, region)) continue;
    subset[count++] = region;
    for (uint32_t n = 0; n < nodes->count; ++n) taken[nodes->items[n]] = true;
  }
  for (size_t i = 0; i < list->items.count; ++i) {
    const byoc_candidate_t *candidate = list->items.data[i];
    bool is_free = c->options->targets->targets.data[candidate->target]->kind->backend == NULL;
    for (uint32_t n = 0; n < candidate->nodes.count; ++n) is_free = is_free && !taken[candidate->nodes.items[n]];
    if (is_free) subset[count++] = (uint32_t)i;
  }
  return count;
}

static size_t count_unusable(const collage_t *c, const rival_t *rival, size_t index) {
  size_t count = 0;
  for (size_t k = 0; k < rival->greedy[index].count; ++k) count += !is_usable(c, index, rival->greedy[index].data[k]);
  return count;
}

// As long as measuring finds regions that cannot be used, their nodes go to the native target, and it is tried again.
static byoc_status_t cover_rival(collage_t *c, rival_t *rival, size_t index) {
  const byoc_problem_t *problem = &c->problems.items.data[index];
  size_t most = problem->candidates.items.count + rival->greedy[index].count, unusable = 0;
  uint32_t *subset = byoc_allocate(c->allocator, most, sizeof(*subset));
  bool *taken = byoc_allocate(c->allocator, problem->flow.node_count, sizeof(*taken));
  byoc_diag_t why = {0};
  byoc_status_t status = subset && taken ? BYOC_OK : byoc_diag_out_of_memory(&why);
  byoc_cover_costs_t costs = byoc_transitions_costs(&c->transitions[index]);
  bool tries = status == BYOC_OK;
  while (tries) {
    byoc_diag_clear(&why);
    unusable = count_unusable(c, rival, index);
    size_t count = list_rival(c, rival, index, taken, subset);
    status =
        byoc_lazy_search_expected(&c->prices[index], subset, count, &costs, &c->measuring, &why, &rival->covers[index]);
    tries = status == BYOC_NOT_FOUND && count_unusable(c, rival, index) > unusable;
  }
  byoc_free(c->allocator, taken);
  byoc_free(c->allocator, subset);
  if (status == BYOC_NOT_FOUND) {
    byoc_log(BYOC_LOG_INFO, "%s is out of the question: %s", rival->name, why.message);
    rival->is_possible = false;
    return BYOC_OK;
  }
  return status == BYOC_OK ? BYOC_OK : byoc_diag_error(c->diag, status, "%s", why.message);
}

static byoc_status_t cover_all(collage_t *c, rival_t *rival) {
  bool is_measured = true;
  double sum = 0;
  for (size_t i = 0; i < c->problems.items.count && rival->is_possible; ++i) {
    BYOC_RETURN_IF_ERROR(cover_rival(c, rival, i));
    sum += rival->covers[i].cost_ns;
    is_measured = is_measured && rival->covers[i].is_measured;
  }
  rival->expected_ns = rival->is_possible ? sum : INFINITY;
  rival->sum_ns = !rival->is_possible || is_measured ? rival->expected_ns : NAN;
  return BYOC_OK;
}

// The search proper. What a budget left open in an earlier build stays open in this one, unless it has more time.
static byoc_status_t search(collage_t *c) {
  rival_t *found = &c->rivals[c->rival_count - 1];
  byoc_cost_key_t key;
  BYOC_RETURN_IF_ERROR(make_key(c, "search", hash_module(c), &c->arena, &key));
  double spent_ns = 0;
  if (recall(c, key.id, &spent_ns) && spent_ns >= (double)c->budget_ns) c->measuring.budget_ns = 0;
  BYOC_RETURN_IF_ERROR(cover_all(c, &c->rivals[0]));     // a good cover to begin with
  for (size_t i = 0; i < c->problems.items.count; ++i) { // what may be expected to be better
    byoc_cover_costs_t costs = byoc_transitions_costs(&c->transitions[i]);
    byoc_lazy_cover_t cover;
    BYOC_RETURN_IF_ERROR(byoc_lazy_search_expected(&c->prices[i], NULL, 0, &costs, &c->measuring, c->diag, &cover));
    byoc_lazy_cover_deinit(&cover, c->allocator);
  }
  for (size_t r = 1; r + 1 < c->rival_count; ++r) BYOC_RETURN_IF_ERROR(cover_all(c, &c->rivals[r]));
  found->sum_ns = 0;
  int64_t finding_ns = c->budget_ns - c->measuring.budget_ns, left_ns = c->measuring.budget_ns;
  bool is_limited = !c->options->spend_budget && finding_ns < left_ns;
  if (is_limited) c->measuring.budget_ns = finding_ns; // proving takes no more time than finding
  bool is_proven = true;
  for (size_t i = 0; i < c->problems.items.count; ++i) {
    byoc_cover_costs_t costs = byoc_transitions_costs(&c->transitions[i]);
    int64_t start_ns = byoc_now_ns();
    uint64_t measured = c->measuring.measured;
    BYOC_RETURN_IF_ERROR_IN(c->diag, byoc_lazy_search(&c->prices[i], &costs, &c->measuring, c->diag, &found->covers[i]),
                            "searching a plan for '%s'", c->problems.items.data[i].name);
    found->sum_ns += found->covers[i].cost_ns;
    found->expected_ns = found->sum_ns;
    is_proven = is_proven && found->covers[i].is_proven;
    byoc_log(BYOC_LOG_INFO, "'%s': searched for %.0f ms, %llu candidates measured on the way: %.1f us, %s %.1f us",
             c->problems.items.data[i].name, (double)(byoc_now_ns() - start_ns) / 1e6,
             (unsigned long long)(c->measuring.measured - measured), found->covers[i].cost_ns / 1e3,
             found->covers[i].is_proven ? "proven least," : "at least", found->covers[i].lower_bound_ns / 1e3);
  }
  if (!is_proven && c->measuring.measured > 0) remember(c, &key, (double)c->budget_ns);
  return BYOC_OK;
}

// ---- whole models ----

typedef struct contest_t {
  collage_t *collage;
  rival_t *entrants[16];
  size_t count;
} contest_t;

// Makes the rival's choices those of the problems.
static byoc_status_t choose(collage_t *c, const rival_t *rival) {
  for (size_t i = 0; i < c->problems.items.count; ++i) {
    byoc_choice_t *choice = &c->problems.items.data[i].choice;
    const byoc_choice_t *from = &rival->covers[i].choice;
    choice->count = 0;
    if (!byoc_vector_reserve(choice, c->allocator, from->count)) return byoc_diag_out_of_memory(c->diag);
    for (size_t k = 0; k < from->count; ++k) choice->data[choice->count++] = from->data[k];
  }
  return BYOC_OK;
}

static byoc_status_t apply_entrant(void *context, size_t i, byoc_placement_t *placement, byoc_diag_t *diag) {
  contest_t *contest = context;
  BYOC_RETURN_IF_ERROR(choose(contest->collage, contest->entrants[i]));
  return byoc_problems_apply(&contest->collage->problems, contest->collage->options->targets, diag, placement);
}

// The plans that are worth timing, each once: equal ones share an id.
static byoc_status_t enter(contest_t *contest) {
  collage_t *c = contest->collage;
  double least = INFINITY;
  for (size_t r = 0; r < c->rival_count; ++r) {
    if (c->rivals[r].expected_ns < least) least = c->rivals[r].expected_ns;
  }
  for (size_t r = c->rival_count; r-- > 0;) {
    rival_t *rival = &c->rivals[r];
    bool is_hopeless =
        !rival->is_possible || (rival->target != NULL && rival->expected_ns > least * WHOLE_RATIO_AT_MOST);
    if (is_hopeless) continue;
    byoc_cost_key_t key;
    BYOC_RETURN_IF_ERROR(make_key(c, "whole model", hash_rival(c, rival), &c->arena, &key));
    rival->id = key.id;
    bool is_known = false;
    for (size_t e = 0; e < contest->count; ++e) is_known = is_known || strcmp(contest->entrants[e]->id, key.id) == 0;
    size_t room = sizeof(contest->entrants) / sizeof(contest->entrants[0]);
    if (!is_known && contest->count < room) contest->entrants[contest->count++] = rival;
  }
  return BYOC_OK;
}

static byoc_status_t time_entrants(contest_t *contest) {
  collage_t *c = contest->collage;
  double times[16];
  bool is_known = true;
  for (size_t e = 0; e < contest->count; ++e) {
    is_known = is_known && recall(c, contest->entrants[e]->id, &contest->entrants[e]->whole_ns);
  }
  if (is_known) return BYOC_OK;
  for (size_t e = 0; e < contest->count; ++e) times[e] = NAN;
  BYOC_RETURN_IF_ERROR(
      c->options->whole.price(c->options->whole.self, contest->count, apply_entrant, contest, c->diag, times));
  for (size_t e = 0; e < contest->count; ++e) {
    rival_t *rival = contest->entrants[e];
    byoc_cost_key_t key;
    rival->whole_ns = times[e];
    if (isnan(times[e])) continue;
    BYOC_RETURN_IF_ERROR(make_key(c, "whole model", hash_rival(c, rival), &c->arena, &key));
    remember(c, &key, times[e]);
  }
  return BYOC_OK;
}

// The rival that is fastest as a whole; what was searched where nothing says otherwise.
static byoc_status_t find_winner(collage_t *c, rival_t **out_winner) {
  rival_t *found = &c->rivals[c->rival_count - 1];
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
  for (size_t e = 0; e < contest.count; ++e) {
    rival_t *rival = contest.entrants[e];
    if (rival->whole_ns < (*out_winner)->whole_ns || (isnan((*out_winner)->whole_ns) && !isnan(rival->whole_ns))) {
      *out_winner = rival;
    }
  }
  return BYOC_OK;
}

// ---- the plan ----

static byoc_status_t settle(collage_t *c, const rival_t *winner) {
  const rival_t *found = &c->rivals[c->rival_count - 1];
  BYOC_RETURN_IF_ERROR(choose(c, winner));
  for (size_t i = 0; i < c->problems.items.count; ++i) {
    byoc_problem_t *problem = &c->problems.items.data[i];
    BYOC_RETURN_IF_ERROR(byoc_price_list_settle(&c->prices[i], c->diag));
    problem->cost_ns = winner->covers[i].cost_ns;
    problem->transition_ns = winner->covers[i].transition_ns;
    problem->lower_bound_ns = found->covers[i].lower_bound_ns;
    problem->is_proven = found->covers[i].is_proven && problem->cost_ns <= found->covers[i].cost_ns;
  }
  return BYOC_OK;
}

static byoc_status_t record(const collage_t *c, const rival_t *winner, byoc_plan_t *plan) {
  if (plan == NULL) return BYOC_OK;
  plan->whole_ns = winner->whole_ns;
  for (size_t r = 0; r < c->rival_count; ++r) {
    const rival_t *rival = &c->rivals[r];
    if (r + 1 == c->rival_count && winner == rival) continue; // the plan itself
    byoc_plan_rival_t row = {.name = byoc_arena_copy_string(&plan->arena, rival->name),
                             .sum_ns = rival->sum_ns,
                             .whole_ns = rival->whole_ns};
    if (row.name == NULL || !byoc_vector_push(&plan->rivals, plan->arena.allocator, row)) {
      return byoc_diag_out_of_memory(c->diag);
    }
  }
  return BYOC_OK;
}

static byoc_status_t run(collage_t *c, byoc_placement_t *placement) {
  size_t count = c->problems.items.count;
  c->prices = BYOC_ARENA_ARRAY(&c->arena, byoc_price_list_t, count);
  c->transitions = BYOC_ARENA_ARRAY(&c->arena, byoc_transitions_t, count);
  if (c->prices == NULL || c->transitions == NULL) return byoc_diag_out_of_memory(c->diag);
  BYOC_RETURN_IF_ERROR(make_rivals(c));
  for (size_t i = 0; i < count; ++i) BYOC_RETURN_IF_ERROR(prepare(c, i));
  byoc_progress_begin(&c->measuring.progress, "measuring", 0);
  byoc_status_t status = search(c);
  byoc_progress_end(&c->measuring.progress);
  rival_t *winner = NULL;
  if (status == BYOC_OK) status = find_winner(c, &winner);
  if (status == BYOC_OK) status = settle(c, winner);
  if (status == BYOC_OK) status = record(c, winner, placement->plan);
  if (status == BYOC_OK) status = byoc_problems_apply(&c->problems, c->options->targets, c->diag, placement);
  return status;
}

byoc_status_t byoc_place_collage(byoc_graph_module_t *module, const byoc_collage_options_t *options, byoc_diag_t *diag,
                                 byoc_placement_t *placement) {
  // With the native target alone there is nothing to search.
  if (options->targets->targets.count < 2) return byoc_place_greedy(module, options->targets, diag, placement);
  collage_t c = {.options = options,
                 .budget_ns = (int64_t)(options->budget_s * 1e9),
                 .allocator = module->allocator,
                 .diag = diag};
  c.measuring.total_ns = c.measuring.budget_ns = c.budget_ns;
  BYOC_RETURN_IF_ERROR(byoc_problems_find(module, module->allocator, diag, &c.problems));
  byoc_arena_init(&c.arena, module->allocator);
  byoc_status_t status = run(&c, placement);
  deinit(&c);
  return status;
}

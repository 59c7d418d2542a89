// SPDX-License-Identifier: Apache-2.0
// Partitions a module at least measured cost: searches covers, times whole plans, and applies the winner.
#include "core/collage/place_collage.h"

#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/collage/coalesce.h"
#include "core/collage/collage_internal.h"
#include "core/collage/constraint.h"
#include "core/collage/outline_regions.h"
#include "core/pass/layouts.h"
#include "core/pass/pass.h"

// The share of the time for measuring that is kept for whole models.
#define WHOLE_SHARE 0.4

// Measures the costs of targets' devices, if this block has a candidate that brings the driver. A device that cannot be
// measured counts as a typical one.
static byoc_status_t measure_devices(byoc_collage_t *c, const byoc_problem_t *problem) {
  const byoc_function_pricer_t *pricer = &c->options->pricer;
  byoc_graph_module_t *module = c->module;
  for (size_t i = 0; i < problem->candidates.items.count && pricer->measure_device != NULL; ++i) {
    const byoc_candidate_t *candidate = problem->candidates.items.data[i];
    const byoc_target_t *target = c->options->targets->targets.data[candidate->target];
    if (byoc_target_device(target) == kDLCPU || c->is_device_known[candidate->target]) continue;
    if (c->has_boundary[candidate->target]) continue; // it may not be in this machine
    const uint64_t next_id = module->next_id;
    byoc_function_t *function = NULL;
    byoc_diag_t why = {0};
    c->is_device_known[candidate->target] = true;
    BYOC_RETURN_IF_ERROR(byoc_outline_candidate_copy(problem->flow.nodes, candidate, target, c->diag, &function));
    byoc_device_costs_t costs;
    const byoc_status_t status = pricer->measure_device(pricer->self, function, target, &why, &costs);
    byoc_erase_candidate(function);
    module->next_id = next_id;
    if (status == BYOC_OUT_OF_MEMORY) return byoc_diag_out_of_memory(c->diag);
    if (status == BYOC_OK) c->devices[candidate->target] = costs;
    if (status != BYOC_OK) {
      byoc_log(BYOC_LOG_WARNING, "the device of %s counts as a typical one: %s", target->kind->name, why.message);
    }
  }
  return BYOC_OK;
}

static byoc_status_t prepare(byoc_collage_t *c, size_t index) {
  byoc_problem_t *problem = &c->problems.items.data[index];
  const byoc_collage_options_t *options = c->options;
  BYOC_RETURN_IF_ERROR(byoc_collage_collect(c, index));
  BYOC_RETURN_IF_ERROR(measure_devices(c, problem));
  BYOC_RETURN_IF_ERROR(byoc_transitions_init(&c->transitions[index], &problem->flow, options->targets, &c->estimator,
                                             c->allocator, c->diag));
  byoc_status_t status =
      byoc_price_list_init(&c->prices[index], problem, options->targets, options->pricer, &c->estimator, c->diag);
  if (status != BYOC_OK) {
    byoc_transitions_deinit(&c->transitions[index]);
    return status;
  }
  c->ready = index + 1;
  for (size_t r = 0; r + 1 < c->alternative_count; ++r) {
    const byoc_choice_t *greedy = &c->alternatives[r].greedy[index];
    for (size_t k = 0; k < greedy->count; ++k) byoc_price_list_trust(&c->prices[index], greedy->data[k]);
  }
  c->measuring.hits += c->prices[index].known;
  byoc_log(BYOC_LOG_INFO, "'%s': %zu node%s, %zu candidate%s of %zu kind%s, %zu of them known", problem->name,
           (size_t)problem->flow.node_count, byoc_plural(problem->flow.node_count), problem->candidates.items.count,
           byoc_plural(problem->candidates.items.count), c->prices[index].prices.count,
           byoc_plural(c->prices[index].prices.count), c->prices[index].known);
  return BYOC_OK;
}

// A hook that states costs may have failed for a later block: then no block has costs that it stated.
static byoc_status_t prepare_all(byoc_collage_t *c) {
  for (size_t i = 0; i < c->problems.items.count; ++i) BYOC_RETURN_IF_ERROR(prepare(c, i));
  for (size_t i = 0; i < c->ready; ++i) BYOC_RETURN_IF_ERROR(byoc_price_list_drop_stated(&c->prices[i], c->diag));
  byoc_stated_seal(c->options->pricer.stated);
  return BYOC_OK;
}

static void deinit(byoc_collage_t *c) {
  for (size_t i = 0; i < c->ready; ++i) {
    byoc_price_list_deinit(&c->prices[i]);
    byoc_transitions_deinit(&c->transitions[i]);
  }
  for (size_t r = 0; r < c->alternative_count; ++r) {
    for (size_t i = 0; i < c->problems.items.count; ++i) {
      byoc_vector_deinit(&c->alternatives[r].greedy[i], c->allocator);
      byoc_lazy_cover_deinit(&c->alternatives[r].covers[i], c->allocator);
    }
  }
  byoc_error_budget_deinit(&c->own_errors.budget);
  byoc_problems_deinit(&c->problems);
  byoc_arena_deinit(&c->arena);
}

// ---- searching ----

// Rounds in which regions of the result are coalesced and the search runs again: each can double the nodes of a region.
enum { COALESCE_ROUNDS = 3 };

// Searches one block, by expected costs or until it is proven; then again with neighbouring regions of the result
// joined.
static byoc_status_t search_block(byoc_collage_t *c, size_t index, bool proves, byoc_lazy_cover_t *cover) {
  byoc_problem_t *problem = &c->problems.items.data[index];
  byoc_price_list_t *prices = &c->prices[index];
  byoc_cover_costs_t costs = byoc_transitions_costs(&c->transitions[index]);
  for (int round = 0;; ++round) {
    size_t added = 0;
    BYOC_RETURN_IF_ERROR(proves ? byoc_lazy_search(prices, &costs, &c->measuring, c->diag, cover)
                                : byoc_lazy_search_expected(prices, NULL, 0, &costs, &c->measuring, c->diag, cover));
    byoc_status_t status = BYOC_OK;
    if (round < COALESCE_ROUNDS) {
      status = byoc_coalesce(problem, c->options->targets, &cover->choice, c->diag, &added);
    }
    if (status == BYOC_OK && added > 0) status = byoc_price_list_extend(prices, c->diag);
    if (status == BYOC_OK && added == 0) return BYOC_OK;
    byoc_lazy_cover_deinit(cover, c->allocator);
    if (status != BYOC_OK) return status;
    byoc_collage_assign_errors(c, index);
    byoc_log(BYOC_LOG_INFO, "'%s': %zu more candidates, of neighbours as one", problem->name, added);
  }
}

// Searches every block until it is proven or the budget ends.
static byoc_status_t prove_all(byoc_collage_t *c, byoc_collage_alternative_t *found, bool *out_is_proven) {
  found->sum_ns = 0;
  *out_is_proven = true;
  for (size_t i = 0; i < c->problems.items.count; ++i) {
    int64_t start_ns = byoc_now_ns();
    uint64_t measured = c->measuring.measured;
    BYOC_RETURN_IF_ERROR_IN(c->diag, search_block(c, i, true, &found->covers[i]), "searching a plan for '%s'",
                            c->problems.items.data[i].name);
    found->sum_ns += found->covers[i].cost_ns;
    *out_is_proven = *out_is_proven && found->covers[i].is_proven;
    byoc_log(BYOC_LOG_INFO, "'%s': searched for %.0f ms, %llu candidates measured on the way: %.1f us, %s %.1f us",
             c->problems.items.data[i].name, (double)(byoc_now_ns() - start_ns) / 1e6,
             (unsigned long long)(c->measuring.measured - measured), found->covers[i].cost_ns / 1e3,
             found->covers[i].is_proven ? "proven least," : "at least", found->covers[i].lower_bound_ns / 1e3);
  }
  found->expected_ns = found->sum_ns;
  return BYOC_OK;
}

// ---- within an error budget ----

// Searches at most, each with another limit of the sum of squares; the last one allows no error.
enum { ERROR_ROUNDS = 6 };
// A plan that uses this share of the allowed error is good enough.
#define ERROR_SHARE 0.9
// Limits aim a little below the allowed error, and grow by a factor at most.
#define ERROR_AIM         0.97
#define ERROR_GROWTH_MOST 4.0

static void swap_covers(const byoc_collage_t *c, byoc_lazy_cover_t *a, byoc_lazy_cover_t *b) {
  for (size_t i = 0; i < c->problems.items.count; ++i) {
    const byoc_lazy_cover_t kept = a[i];
    a[i] = b[i];
    b[i] = kept;
  }
}

static void release_covers(const byoc_collage_t *c, byoc_lazy_cover_t *covers) {
  for (size_t i = 0; i < c->problems.items.count; ++i) {
    byoc_lazy_cover_deinit(&covers[i], c->allocator);
    covers[i] = (byoc_lazy_cover_t){0};
  }
}

// The next limit: as much more or less as the rule of squares was wrong about the plan at hand; NaN: it is good enough.
static double next_limit(const byoc_collage_t *c, const byoc_collage_alternative_t *found, bool is_first) {
  const double goal = c->errors->aim, sum = byoc_collage_error_sum(c, found);
  const double ratio = goal * ERROR_AIM / found->error;
  if (found->error > goal) return fmin(sum, c->errors->limit) * ratio * ratio;
  const bool is_bound = sum > 0 && sum > c->errors->limit * ERROR_SHARE * ERROR_SHARE; // the limit decided
  if (!is_bound || found->error > goal * ERROR_SHARE || !is_first) return NAN;
  return c->errors->limit * fmin(ratio, ERROR_GROWTH_MOST) * fmin(ratio, ERROR_GROWTH_MOST);
}

// Measures the plan that was found. If its error is too large, the limit of the search shrinks, which gives up what
// gains the least time for its error; if there is much left, it grows. The fastest plan within the budget stays.
static byoc_status_t settle_errors(byoc_collage_t *c, byoc_collage_alternative_t *found) {
  byoc_collage_alternative_t best = *found;
  bool has_best = false, is_proven = false;
  double last = NAN; // the error of the plan before
  best.covers = BYOC_ARENA_ARRAY(&c->arena, byoc_lazy_cover_t, c->problems.items.count);
  if (best.covers == NULL) return byoc_diag_out_of_memory(c->diag);
  byoc_status_t status = BYOC_OK;
  for (int round = 0; status == BYOC_OK; ++round) {
    found->is_possible = true;
    status = byoc_collage_measure_error(c, found);
    if (status != BYOC_OK) break;
    const bool is_best = found->is_possible && !(has_best && best.sum_ns <= found->sum_ns);
    found->is_possible = true;
    double limit = next_limit(c, found, !has_best);
    const bool is_same = fabs(found->error - last) <= 0;
    if (is_same) limit = has_best || is_best ? (double)NAN : 0;
    last = found->error;
    if (is_best) {
      byoc_lazy_cover_t *covers = best.covers;
      swap_covers(c, covers, found->covers);
      best = *found;
      best.covers = covers;
      has_best = true;
    }
    release_covers(c, found->covers);
    if (isnan(limit) || (has_best && round + 1 >= ERROR_ROUNDS)) break;
    if (round + 1 >= ERROR_ROUNDS) limit = 0;
    byoc_collage_limit_errors(c, limit);
    status = prove_all(c, found, &is_proven);
  }
  byoc_lazy_cover_t *covers = found->covers;
  if (status == BYOC_OK) {
    swap_covers(c, covers, best.covers);
    const double error = best.error;
    *found = best;
    found->error = error;
    found->covers = covers;
  }
  release_covers(c, best.covers);
  return status;
}

// The search proper. If the budget ended it in an earlier build, it is not continued unless this build has more time.
static byoc_status_t search(byoc_collage_t *c) {
  byoc_collage_alternative_t *found = &c->alternatives[c->alternative_count - 1];
  byoc_cost_key_t key;
  const byoc_collect_options_t limits = byoc_collect_limits(&c->options->collect);
  uint64_t hash = byoc_hash_combine(byoc_collage_hash(c), byoc_hash_combine(limits.max_nodes, limits.max_depth));
  if (c->errors != NULL) hash = byoc_hash_bytes(&c->errors->limit, sizeof(c->errors->limit), hash);
  BYOC_RETURN_IF_ERROR(byoc_collage_key(c, "search", hash, &c->arena, &key));
  double spent_ns = 0;
  if (byoc_collage_recall_note(c, key.id, &spent_ns) && spent_ns >= (double)c->budget_ns) c->measuring.budget_ns = 0;
  BYOC_RETURN_IF_ERROR(byoc_collage_cover_alternative(c, &c->alternatives[0])); // a good cover to begin with
  for (size_t i = 0; i < c->problems.items.count; ++i) { // then covers that are expected to be better
    byoc_lazy_cover_t cover;
    BYOC_RETURN_IF_ERROR(search_block(c, i, false, &cover));
    byoc_lazy_cover_deinit(&cover, c->allocator);
  }
  for (size_t r = 1; r + 1 < c->alternative_count; ++r)
    BYOC_RETURN_IF_ERROR(byoc_collage_cover_alternative(c, &c->alternatives[r]));
  int64_t finding_ns = c->budget_ns - c->measuring.budget_ns, left_ns = c->measuring.budget_ns;
  bool is_limited = !c->options->spend_budget && finding_ns < left_ns;
  if (is_limited) c->measuring.budget_ns = finding_ns; // proving takes no more time than finding
  int64_t saved_ns = is_limited ? left_ns - finding_ns : 0;
  bool is_proven = true;
  BYOC_RETURN_IF_ERROR(prove_all(c, found, &is_proven));
  if (c->errors != NULL) BYOC_RETURN_IF_ERROR(settle_errors(c, found));
  for (size_t r = 0; r + 1 < c->alternative_count && c->errors != NULL; ++r) {
    BYOC_RETURN_IF_ERROR(byoc_collage_measure_error(c, &c->alternatives[r]));
    if (!c->alternatives[r].is_possible) c->alternatives[r].sum_ns = c->alternatives[r].expected_ns = INFINITY;
  }
  c->measuring.budget_ns += saved_ns;
  // If a failure was not the fault of a candidate, the next build searches again.
  if (!is_proven && c->measuring.measured > 0 && c->measuring.passing == 0)
    byoc_collage_note(c, key.id, (double)c->budget_ns);
  return BYOC_OK;
}

// ---- the plan ----

static byoc_status_t settle(byoc_collage_t *c, const byoc_collage_alternative_t *winner) {
  const byoc_collage_alternative_t *found = &c->alternatives[c->alternative_count - 1];
  BYOC_RETURN_IF_ERROR(byoc_collage_choose(c, winner));
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

static byoc_status_t record(const byoc_collage_t *c, byoc_collage_t *search, const byoc_collage_alternative_t *winner,
                            byoc_plan_t *plan) {
  if (plan == NULL) return BYOC_OK;
  const byoc_collect_options_t limits = byoc_collect_limits(&c->options->collect);
  plan->max_nodes = limits.max_nodes;
  plan->max_depth = limits.max_depth;
  plan->whole_ns = winner->whole_ns;
  plan->whole_mib = winner->whole_mib;
  BYOC_RETURN_IF_ERROR(c->errors != NULL ? byoc_collage_record_errors(search, winner, plan)
                                         : byoc_collage_recall_gain(search, plan));
  for (; c != NULL; c = c->plain) {
    for (size_t r = 0; r < c->alternative_count; ++r) {
      const byoc_collage_alternative_t *alternative = &c->alternatives[r];
      if (r + 1 == c->alternative_count && winner == alternative) continue; // the plan itself
      const char *label = c->options->label;
      byoc_plan_alternative_t row = {.name = byoc_arena_format(&plan->arena, "%s%s%s", alternative->name,
                                                               label != NULL ? ", " : "", label != NULL ? label : ""),
                                     .sum_ns = alternative->sum_ns,
                                     .whole_ns = alternative->whole_ns,
                                     .whole_mib = alternative->whole_mib,
                                     .error = alternative->error > 0 ? alternative->error : 0};
      if (row.name == NULL || !byoc_vector_push(&plan->alternatives, plan->arena.allocator, row)) {
        return byoc_diag_out_of_memory(c->diag);
      }
    }
  }
  return BYOC_OK;
}

// ---- searches ----

static byoc_status_t find(byoc_collage_t *c) {
  size_t count = c->problems.items.count;
  c->prices = BYOC_ARENA_ARRAY(&c->arena, byoc_price_list_t, count);
  c->transitions = BYOC_ARENA_ARRAY(&c->arena, byoc_transitions_t, count);
  const size_t target_count = c->options->targets->targets.count;
  c->devices = BYOC_ARENA_ARRAY(&c->arena, byoc_device_costs_t, target_count);
  c->is_device_known = BYOC_ARENA_ARRAY(&c->arena, bool, target_count);
  c->has_boundary = BYOC_ARENA_ARRAY(&c->arena, bool, target_count);
  const bool ok = c->prices && c->transitions && c->devices && c->is_device_known && c->has_boundary;
  if (!ok) return byoc_diag_out_of_memory(c->diag);
  c->estimator = *c->options->estimator;
  for (uint32_t t = 0; t < target_count; ++t) {
    const byoc_device_costs_t *boundary = byoc_stated_boundary(c->options->pricer.stated, t);
    c->has_boundary[t] = boundary != NULL;
    c->devices[t] = boundary != NULL ? *boundary : *byoc_estimator_device(c->options->estimator, t);
  }
  c->estimator.devices = c->devices;
  c->estimator.boundaries = c->has_boundary;
  BYOC_RETURN_IF_ERROR(byoc_collage_make_alternatives(c));
  BYOC_RETURN_IF_ERROR(prepare_all(c));
  if (c->options->meter != NULL) {
    BYOC_RETURN_IF_ERROR(byoc_collage_open_errors(c, c->plain != NULL ? c->plain->errors : &c->own_errors));
  }
  byoc_progress_begin(&c->measuring.progress, "measuring", 0);
  byoc_status_t status = search(c);
  byoc_progress_end(&c->measuring.progress);
  if (status == BYOC_OK && c->errors == NULL) status = byoc_collage_weigh(c);
  return status;
}

// One search over the module as it is now, with this share of the time for parts.
static byoc_status_t begin(byoc_collage_t *c, byoc_graph_module_t *module, const byoc_collage_options_t *options,
                           double share, byoc_diag_t *diag) {
  double budget_ns = options->budget_s * 1e9, whole_ns = options->whole.price != NULL ? budget_ns * WHOLE_SHARE : 0;
  *c = (byoc_collage_t){.options = options,
                        .module = module,
                        .budget_ns = (int64_t)((budget_ns - whole_ns) * share),
                        .whole_budget_ns = (int64_t)whole_ns,
                        .allocator = module->allocator,
                        .diag = diag};
  c->measuring.total_ns = c->measuring.budget_ns = c->budget_ns;
  c->measuring.reserve_ns = c->whole_budget_ns;
  BYOC_RETURN_IF_ERROR(byoc_problems_find(module, module->allocator, diag, &c->problems));
  byoc_arena_init(&c->arena, module->allocator);
  return BYOC_OK;
}

// Plans that are built to be checked, beside those that competed already.
enum { CHECK_ROUNDS = 2 };

// The plan that the search found errs more than its switches say: searches again, with as much less to go for.
static byoc_status_t search_below(byoc_collage_t *c, double ratio) {
  byoc_collage_alternative_t *found = &c->alternatives[c->alternative_count - 1];
  bool is_proven = false;
  c->errors->aim = fmin(c->errors->aim, c->errors->goal / ratio) * ERROR_AIM;
  byoc_collage_limit_errors(c, c->errors->aim * c->errors->aim);
  release_covers(c, found->covers);
  found->is_possible = true;
  found->whole_ns = found->whole_mib = NAN;
  BYOC_RETURN_IF_ERROR(prove_all(c, found, &is_proven));
  return settle_errors(c, found);
}

// With an error budget, the winner is built and its error is measured; if that is too large, the search goes on below
// it, or the next best plan wins. Exact plans need no check, and one of them is always possible.
static byoc_status_t find_checked_winner(byoc_collage_t *c, byoc_collage_t **out_search,
                                         byoc_collage_alternative_t **out_winner) {
  for (int round = 0;; ++round) {
    BYOC_RETURN_IF_ERROR(byoc_collage_find_winner(c, out_search, out_winner));
    if (c->errors == NULL) return BYOC_OK;
    byoc_collage_alternative_t *winner = *out_winner;
    const double expected = winner->error;
    BYOC_RETURN_IF_ERROR(byoc_collage_check_error(*out_search, winner));
    if (winner->error <= c->errors->goal) return BYOC_OK;
    const bool is_found = winner == &(*out_search)->alternatives[(*out_search)->alternative_count - 1];
    const double ratio = winner->error / expected;
    winner->is_possible = false;
    winner->sum_ns = winner->expected_ns = INFINITY;
    if (is_found && round < CHECK_ROUNDS && isfinite(ratio)) {
      BYOC_RETURN_IF_ERROR(search_below(*out_search, ratio));
    }
  }
}

static byoc_status_t finish(byoc_collage_t *c, byoc_placement_t *placement) {
  byoc_collage_t *search = NULL;
  byoc_collage_alternative_t *winner = NULL;
  BYOC_RETURN_IF_ERROR(find_checked_winner(c, &search, &winner));
  BYOC_RETURN_IF_ERROR(record(c, search, winner, placement->plan));
  BYOC_RETURN_IF_ERROR(settle(search, winner));
  if (placement->plan != NULL) {
    BYOC_RETURN_IF_ERROR(byoc_problems_refuse_types(&search->problems, c->options->targets, false, c->diag));
  }
  return byoc_collage_apply(search, winner, c->diag, placement);
}

// The second search, with layout changes in the module; it gets half of the time for measuring.
static byoc_status_t place_with_layouts(byoc_collage_t *plain, byoc_placement_t *placement) {
  byoc_collage_t blocked;
  BYOC_RETURN_IF_ERROR(begin(&blocked, plain->module, plain->options, 0.5, plain->diag));
  blocked.plain = plain;
  plain->is_overlaid = true;
  byoc_status_t status = find(&blocked);
  if (status == BYOC_OK) status = finish(&blocked, placement);
  deinit(&blocked);
  return status;
}

byoc_status_t byoc_place_collage(byoc_graph_module_t *module, const byoc_collage_options_t *options, byoc_diag_t *diag,
                                 byoc_placement_t *placement) {
  // With the native target alone there is nothing to search.
  if (options->targets->targets.count < 2) return byoc_place_greedy(module, options->targets, diag, placement);
  bool may_block = !options->plain_layouts && byoc_targets_take_layouts(options->targets);
  byoc_collage_t plain;
  size_t changes = 0;
  BYOC_RETURN_IF_ERROR(begin(&plain, module, options, may_block ? 0.5 : 1, diag));
  byoc_status_t status = find(&plain);
  if (status == BYOC_OK && may_block) status = byoc_propose_layouts(module, options->targets, diag, &changes);
  if (status == BYOC_OK) status = changes > 0 ? place_with_layouts(&plain, placement) : finish(&plain, placement);
  deinit(&plain);
  return status;
}

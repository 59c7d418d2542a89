// SPDX-License-Identifier: Apache-2.0
// Keeps the costs of candidates, one for all equal ones.
#include "core/collage/price_list.h"

#include <string.h>

#include "byoc/call.h"
#include "core/collage/constraint.h"
#include "core/collage/outline_regions.h"
#include "core/collage/price_stated.h"
#include "core/ops/byoc/blocked.h"
#include "core/ops/byoc/storage.h"

// Unmeasured candidates are assumed to be a little better than expected, so that every possible best one is tried.
#define OPTIMISM 0.9

// ---- known costs ----

static bool is_native(const byoc_price_list_t *list, const byoc_candidate_t *candidate) {
  return list->targets->targets.data[candidate->target]->kind->backend == NULL;
}

// True if only the native target can compute it: then no choice depends on the cost.
static bool is_left_to_native(const byoc_price_list_t *list, const byoc_candidate_t *candidate) {
  if (!is_native(list, candidate)) return false;
  for (uint32_t i = 0; i < candidate->nodes.count; ++i) {
    const byoc_node_t *node = list->problem->flow.nodes[candidate->nodes.items[i]];
    if (node->block_count > 0 || node->callee != NULL) return true;
  }
  return false;
}

// A ToBlocked with the FromBlocked nodes that read it: the native target lets their readers use the tensor before it.
static bool is_layout_pair(const byoc_price_list_t *list, const byoc_candidate_t *candidate) {
  byoc_node_t *const *nodes = list->problem->flow.nodes;
  const byoc_node_t *to = nodes[candidate->nodes.items[0]];
  if (!is_native(list, candidate) || candidate->nodes.count < 2 || !byoc_is_to_blocked(to)) return false;
  for (uint32_t i = 1; i < candidate->nodes.count; ++i) {
    const byoc_node_t *from = nodes[candidate->nodes.items[i]];
    if (!byoc_is_from_blocked(from) || from->operands[0] != to->results[0]) return false;
  }
  return true;
}

// No other node reads the blocks, so nothing is left to compute.
static bool is_free_pair(const byoc_price_list_t *list, const byoc_candidate_t *candidate) {
  const byoc_node_t *first = list->problem->flow.nodes[candidate->nodes.items[0]];
  return is_layout_pair(list, candidate) && first->results[0]->uses.count + 1 == candidate->nodes.count;
}

// A Concat by itself whose operands lie in its result one after the other: their producers write them straight there
// (core/kernel/join.h).
static bool is_free_join(const byoc_price_list_t *list, const byoc_candidate_t *candidate) {
  const byoc_node_t *node = list->problem->flow.nodes[candidate->nodes.items[0]];
  if (!is_native(list, candidate) || candidate->nodes.count != 1 || !byoc_concat_joins(node)) return false;
  uint64_t offset_bytes = 0;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_value_t *operand = node->operands[i];
    if (operand->kind != BYOC_VALUE_RESULT || offset_bytes % BYOC_BUFFER_ALIGNMENT != 0) return false;
    for (uint32_t k = 0; k < i; ++k) {
      if (node->operands[k] == operand) return false;
    }
    offset_bytes += (uint64_t)byoc_type_size_bytes(operand->type);
  }
  return true;
}

// Why the native target may not have the candidate: a node of it is bound to another one. NULL: it may.
static byoc_status_t find_binding(byoc_price_list_t *list, const byoc_candidate_t *candidate, byoc_diag_t *diag,
                                  const char **out_reason) {
  *out_reason = NULL;
  if (!is_native(list, candidate)) return BYOC_OK;
  const byoc_target_t *native = list->targets->targets.data[candidate->target];
  for (uint32_t i = 0; i < candidate->nodes.count; ++i) {
    const byoc_node_t *node = list->problem->flow.nodes[candidate->nodes.items[i]];
    const char *target = byoc_node_bound_to(node);
    const int32_t device = byoc_node_bound_device(node);
    const bool is_elsewhere = target != NULL && strcmp(target, native->kind->name) != 0;
    if (!is_elsewhere && device == 0) continue;
    *out_reason = is_elsewhere
                      ? byoc_arena_format(&list->arena, "its value is bound to target '%s'", target)
                      : byoc_arena_format(&list->arena, "its value is bound to a device of type %d", (int)device);
    return *out_reason != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

static byoc_status_t look_up(byoc_price_list_t *list, const byoc_candidate_t *candidate,
                             const byoc_function_t *function, byoc_diag_t *diag, byoc_known_price_t *out_price) {
  const byoc_target_t *target = list->targets->targets.data[candidate->target];
  *out_price = (byoc_known_price_t){.cost_ns = NAN, .is_estimate = true};
  BYOC_RETURN_IF_ERROR(find_binding(list, candidate, diag, &out_price->reason));
  if (out_price->reason != NULL) {
    out_price->cost_ns = INFINITY;
    return BYOC_OK;
  }
  if (is_free_pair(list, candidate) || is_free_join(list, candidate)) {
    out_price->cost_ns = 0;
    return BYOC_OK;
  }
  if (is_left_to_native(list, candidate)) {
    out_price->cost_ns = byoc_estimate_ns(list->estimator, function, target);
    return BYOC_OK;
  }
  BYOC_RETURN_IF_ERROR(byoc_price_list_look_up_stated(list, candidate, function, diag, out_price));
  if (out_price->is_stated) return BYOC_OK;
  if (list->pricer.look_up != NULL) {
    return list->pricer.look_up(list->pricer.self, function, target, &list->arena, diag, out_price);
  }
  return list->pricer.price(list->pricer.self, function, target, diag, &out_price->cost_ns, &out_price->reason);
}

// The cost of the command that runs a candidate on a device; other costs are of its work alone.
static double command_ns(const byoc_price_list_t *list, uint32_t target) {
  if (byoc_target_device(list->targets->targets.data[target]) == kDLCPU) return 0;
  return byoc_estimator_device(list->estimator, target)->command_ns;
}

static byoc_status_t add_price(byoc_price_list_t *list, const byoc_candidate_t *candidate,
                               const byoc_function_t *function, byoc_diag_t *diag, uint32_t *out_price) {
  byoc_known_price_t known;
  BYOC_RETURN_IF_ERROR(look_up(list, candidate, function, diag, &known));
  uintptr_t number = known.id != NULL ? (uintptr_t)byoc_string_map_get(&list->ids, known.id) : 0;
  *out_price = (uint32_t)number - 1;
  if (number != 0) return BYOC_OK;
  byoc_work_t work = byoc_function_work(function);
  byoc_price_t price = {
      .cost_ns = known.cost_ns + (known.is_stated ? 0 : command_ns(list, candidate->target)),
      .is_fallback = known.is_fallback,
      .target = candidate->target,
      .has_products = work.product_flops > 0,
      .bound_ns = byoc_bound_ns(list->estimator, function, list->targets->targets.data[candidate->target]),
      .estimate_ns = byoc_estimate_ns(list->estimator, function, list->targets->targets.data[candidate->target])};
  if (known.is_stated) price.source = BYOC_COST_SOURCE_STATED;
  if (known.is_stated && known.id != NULL) {
    const byoc_stated_figures_t *figures = &list->figures[candidate->index];
    price.moved_bytes = isnan(figures->moved_bytes) ? 0 : figures->moved_bytes;
    price.energy_nj = isnan(figures->energy_nj) ? 0 : figures->energy_nj;
  }
  if (!known.is_stated && !isnan(known.cost_ns)) {
    price.source = known.is_estimate ? BYOC_COST_SOURCE_ESTIMATE : BYOC_COST_SOURCE_DATABASE;
    list->known += !known.is_estimate;
  }
  if (known.reason != NULL) price.reason = byoc_arena_copy_string(&list->problem->candidates.arena, known.reason);
  bool ok =
      (known.reason == NULL || price.reason != NULL) && byoc_vector_push(&list->prices, list->arena.allocator, price);
  *out_price = (uint32_t)list->prices.count - 1;
  if (ok && known.id != NULL) ok = byoc_string_map_put(&list->ids, known.id, (void *)list->prices.count);
  return ok ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// The candidate as a function of its own, as long as `use` runs. The module's counter is restored too, so that builds
// do not depend on measurements.
static byoc_status_t with_function(byoc_price_list_t *list, uint32_t index, byoc_diag_t *diag,
                                   byoc_status_t (*use)(byoc_price_list_t *, const byoc_candidate_t *,
                                                        const byoc_function_t *, byoc_diag_t *, uint32_t *),
                                   uint32_t *out) {
  const byoc_candidate_t *candidate = list->problem->candidates.items.data[index];
  byoc_graph_module_t *module = list->problem->function->module;
  uint64_t next_id = module->next_id;
  byoc_function_t *function = NULL;
  byoc_candidate_t work = *candidate; // for a pair: the ToBlocked alone
  if (is_layout_pair(list, candidate)) work.nodes.count = 1;
  BYOC_RETURN_IF_ERROR(byoc_outline_candidate_copy(list->problem->flow.nodes, &work,
                                                   list->targets->targets.data[candidate->target], diag, &function));
  byoc_status_t status = use(list, candidate, function, diag, out);
  byoc_erase_candidate(function);
  module->next_id = next_id;
  return status;
}

byoc_status_t byoc_price_list_extend(byoc_price_list_t *list, byoc_diag_t *diag) {
  size_t count = list->problem->candidates.items.count;
  uint32_t *price_of = BYOC_ARENA_ARRAY(&list->arena, uint32_t, count);
  if (price_of == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < list->priced; ++i) price_of[i] = list->price_of[i];
  list->price_of = price_of;
  BYOC_RETURN_IF_ERROR(byoc_price_list_ask_stated(list, count, diag));
  for (; list->priced < count; ++list->priced) {
    BYOC_RETURN_IF_ERROR(with_function(list, (uint32_t)list->priced, diag, add_price, &list->price_of[list->priced]));
  }
  return BYOC_OK;
}

byoc_status_t byoc_price_list_drop_stated(byoc_price_list_t *list, byoc_diag_t *diag) {
  for (size_t i = 0; i < list->priced; ++i) {
    const byoc_price_t before = list->prices.data[list->price_of[i]];
    const bool is_stated = before.source == BYOC_COST_SOURCE_STATED && !isinf(before.cost_ns);
    if (!is_stated || byoc_stated_answers(list->pricer.stated, before.target)) continue;
    BYOC_RETURN_IF_ERROR(with_function(list, (uint32_t)i, diag, add_price, &list->price_of[i]));
    list->prices.data[list->price_of[i]].is_trusted |= before.is_trusted;
  }
  return BYOC_OK;
}

byoc_status_t byoc_price_list_init(byoc_price_list_t *list, byoc_problem_t *problem, const byoc_target_list_t *targets,
                                   byoc_function_pricer_t pricer, const byoc_estimator_t *estimator,
                                   byoc_diag_t *diag) {
  *list = (byoc_price_list_t){.problem = problem, .targets = targets, .pricer = pricer, .estimator = estimator};
  byoc_arena_init(&list->arena, problem->candidates.arena.allocator);
  byoc_string_map_init(&list->ids, problem->candidates.arena.allocator);
  byoc_status_t status = byoc_price_list_extend(list, diag);
  if (status != BYOC_OK) byoc_price_list_deinit(list);
  return status;
}

void byoc_price_list_deinit(byoc_price_list_t *list) {
  byoc_vector_deinit(&list->prices, list->arena.allocator);
  byoc_map_deinit(&list->ids);
  byoc_arena_deinit(&list->arena);
}

// ---- measuring ----

bool byoc_price_list_knows(const byoc_price_list_t *list, uint32_t candidate) {
  return !isnan(list->prices.data[list->price_of[candidate]].cost_ns);
}

static byoc_status_t ask(byoc_price_list_t *list, byoc_price_request_t *requests, size_t count, byoc_diag_t *diag) {
  const byoc_function_pricer_t *pricer = &list->pricer;
  if (pricer->price_all != NULL) return pricer->price_all(pricer->self, requests, count, diag);
  for (size_t i = 0; i < count; ++i) {
    byoc_price_request_t *request = &requests[i];
    BYOC_RETURN_IF_ERROR(
        pricer->price(pricer->self, request->function, request->target, diag, &request->cost_ns, &request->reason));
  }
  return BYOC_OK;
}

static byoc_status_t take_answers(byoc_price_list_t *list, const byoc_price_request_t *requests,
                                  const uint32_t *numbers, size_t count, byoc_diag_t *diag) {
  for (size_t i = 0; i < count; ++i) {
    byoc_price_t *price = &list->prices.data[numbers[i]];
    price->cost_ns = requests[i].cost_ns + command_ns(list, price->target);
    price->is_fallback = requests[i].is_fallback;
    price->is_wrong = requests[i].is_wrong;
    price->source = BYOC_COST_SOURCE_MEASURED;
    list->measured += 1;
    list->passing += requests[i].is_passing;
    if (requests[i].reason == NULL) continue;
    price->reason = byoc_arena_copy_string(&list->problem->candidates.arena, requests[i].reason);
    if (price->reason == NULL) return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

static bool is_among(const uint32_t *numbers, size_t count, uint32_t number) {
  for (size_t i = 0; i < count; ++i) {
    if (numbers[i] == number) return true;
  }
  return false;
}

byoc_status_t byoc_price_list_measure(byoc_price_list_t *list, const uint32_t *candidates, size_t count,
                                      byoc_diag_t *diag) {
  const byoc_candidates_t *all = &list->problem->candidates;
  byoc_graph_module_t *module = list->problem->function->module;
  byoc_allocator_t allocator = list->arena.allocator;
  uint64_t next_id = module->next_id;
  size_t made = 0;
  byoc_price_request_t *requests = byoc_allocate(allocator, count + 1, sizeof(*requests));
  uint32_t *numbers = byoc_allocate(allocator, count + 1, sizeof(*numbers));
  byoc_status_t status = requests && numbers ? BYOC_OK : byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < count && status == BYOC_OK; ++i) {
    const byoc_candidate_t *candidate = all->items.data[candidates[i]];
    uint32_t number = list->price_of[candidates[i]];
    if (byoc_price_list_knows(list, candidates[i]) || is_among(numbers, made, number)) continue;
    const byoc_target_t *target = list->targets->targets.data[candidate->target];
    byoc_function_t *function = NULL;
    status = byoc_outline_candidate_copy(list->problem->flow.nodes, candidate, target, diag, &function);
    if (status != BYOC_OK) break;
    requests[made] = (byoc_price_request_t){.function = function, .target = target, .cost_ns = NAN};
    numbers[made++] = number;
  }
  if (status == BYOC_OK) status = ask(list, requests, made, diag);
  if (status == BYOC_OK) status = take_answers(list, requests, numbers, made, diag);
  // Erases the last one first: each one and its callees are the end of the module.
  for (size_t i = made; i-- > 0;) byoc_erase_candidate((byoc_function_t *)(uintptr_t)requests[i].function);
  module->next_id = next_id;
  byoc_free(allocator, numbers);
  byoc_free(allocator, requests);
  return status;
}

// ---- costs for the search ----

// How far estimates of a target are off: the geometric mean of measured / estimated, with one exact guess added.
static double correction(const byoc_price_list_t *list, const byoc_price_t *price) {
  double sum = 0, count = 1;
  for (size_t i = 0; i < list->prices.count; ++i) {
    const byoc_price_t *other = &list->prices.data[i];
    bool counts = other->target == price->target && other->has_products == price->has_products &&
                  isfinite(other->cost_ns) && other->source != BYOC_COST_SOURCE_ESTIMATE && other->cost_ns > 0 &&
                  other->estimate_ns > 0;
    if (!counts) continue;
    sum += log(other->cost_ns / other->estimate_ns);
    count += 1;
  }
  return exp(sum / count);
}

enum { MAX_CLASSES = 512 }; // two per target

typedef struct corrections_t {
  double by_class[MAX_CLASSES]; // 0: not computed yet
} corrections_t;

static double expected_ns(const byoc_price_list_t *list, const byoc_price_t *price, corrections_t *corrections) {
  uint32_t class = price->target * 2 + price->has_products;
  double factor = class < MAX_CLASSES ? corrections->by_class[class] : 0;
  if (factor == 0) factor = correction(list, price);
  if (class < MAX_CLASSES) corrections->by_class[class] = factor;
  double expected = price->estimate_ns * factor;
  return expected > price->bound_ns ? expected : price->bound_ns;
}

void byoc_price_list_trust(byoc_price_list_t *list, uint32_t candidate) {
  list->prices.data[list->price_of[candidate]].is_trusted = true;
}

bool byoc_price_list_trusts(const byoc_price_list_t *list, uint32_t candidate) {
  return list->prices.data[list->price_of[candidate]].is_trusted;
}

static bool may_be_guessed(const byoc_price_list_t *list, const byoc_candidate_t *candidate) {
  return is_native(list, candidate) || byoc_price_list_trusts(list, candidate->index);
}

void byoc_price_list_set_costs(byoc_price_list_t *list, byoc_price_mode_t mode) {
  corrections_t corrections = {0};
  for (size_t i = 0; i < list->priced; ++i) {
    byoc_candidate_t *candidate = list->problem->candidates.items.data[i];
    const byoc_price_t *price = &list->prices.data[list->price_of[i]];
    candidate->cost_ns = price->cost_ns;
    candidate->reason = price->reason;
    candidate->is_fallback = price->is_fallback;
    candidate->is_wrong = price->is_wrong;
    if (!isnan(price->cost_ns)) continue;
    switch (mode) {
    case BYOC_PRICE_BOUND:
      candidate->cost_ns = price->bound_ns;
      break;
    case BYOC_PRICE_EXPECTED:
      candidate->cost_ns = expected_ns(list, price, &corrections) * OPTIMISM;
      break;
    case BYOC_PRICE_KNOWN:
      candidate->cost_ns = may_be_guessed(list, candidate) ? expected_ns(list, price, &corrections) : INFINITY;
      if (!isfinite(candidate->cost_ns)) candidate->reason = "it was not measured: the time for measuring was over";
      break;
    }
  }
}

byoc_status_t byoc_price_list_settle(byoc_price_list_t *list, byoc_diag_t *diag) {
  byoc_problem_t *problem = list->problem;
  corrections_t corrections = {0};
  byoc_cost_source_t *sources = BYOC_ARENA_ARRAY(&problem->candidates.arena, byoc_cost_source_t, list->priced);
  if (sources == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < list->priced; ++i) {
    byoc_candidate_t *candidate = problem->candidates.items.data[i];
    const byoc_price_t *price = &list->prices.data[list->price_of[i]];
    bool is_known = !isnan(price->cost_ns), is_guess = !is_known && may_be_guessed(list, candidate);
    candidate->reason = price->reason;
    candidate->is_fallback = price->is_fallback;
    candidate->is_wrong = price->is_wrong;
    candidate->moved_bytes = price->moved_bytes;
    candidate->energy_nj = price->energy_nj;
    candidate->cost_ns = is_known ? price->cost_ns : price->bound_ns;
    sources[i] = is_known ? price->source : BYOC_COST_SOURCE_BOUND;
    for (size_t c = 0; is_guess && c < problem->choice.count; ++c) {
      if (problem->choice.data[c] != i) continue; // chosen because no better one is known
      candidate->cost_ns = expected_ns(list, price, &corrections);
      sources[i] = BYOC_COST_SOURCE_ESTIMATE;
    }
  }
  problem->sources = sources;
  return BYOC_OK;
}

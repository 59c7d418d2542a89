// SPDX-License-Identifier: Apache-2.0
// Asks backends for the costs of a problem's candidates.
#include "core/collage/price_stated.h"

#include "core/base/hash.h"
#include "core/collage/cost_key.h"
#include "core/collage/outline_regions.h"

// Functions in one question: they exist at the same time.
enum { BATCH = 64 };

// Equal ids have one cost.
static const char *make_id(byoc_price_list_t *list, const byoc_candidate_t *candidate,
                           const byoc_function_t *function) {
  uint64_t hash = byoc_cost_function_hash(function);
  if (candidate->composite != NULL) hash = byoc_hash_combine(hash, byoc_hash_string(candidate->composite));
  return byoc_arena_format(&list->arena, "stated %u %016llx", (unsigned)candidate->target, (unsigned long long)hash);
}

// The cost of being smaller than the target states as worth it, which has no id.
static byoc_status_t look_at_size(byoc_price_list_t *list, const byoc_candidate_t *candidate,
                                  const byoc_function_t *function, byoc_diag_t *diag, byoc_known_price_t *out_price) {
  byoc_stated_costs_t *stated = list->pricer.stated;
  if (!byoc_stated_has_least(stated, candidate->target)) return BYOC_OK;
  const byoc_work_t work = byoc_function_work(function);
  const char *reason = NULL;
  BYOC_RETURN_IF_ERROR(byoc_stated_check_size(stated, candidate->target, candidate->nodes.count,
                                              work.product_flops + work.other_flops, diag, &reason));
  if (reason == NULL) return BYOC_OK;
  *out_price = (byoc_known_price_t){.cost_ns = INFINITY, .reason = reason, .is_fallback = true, .is_stated = true};
  return BYOC_OK;
}

byoc_status_t byoc_price_list_look_up_stated(byoc_price_list_t *list, const byoc_candidate_t *candidate,
                                             const byoc_function_t *function, byoc_diag_t *diag,
                                             byoc_known_price_t *out_price) {
  BYOC_RETURN_IF_ERROR(look_at_size(list, candidate, function, diag, out_price));
  if (out_price->is_stated || !byoc_stated_answers(list->pricer.stated, candidate->target)) return BYOC_OK;
  const char *failure = list->failures[candidate->index];
  const byoc_stated_figures_t *figures = &list->figures[candidate->index];
  if (failure != NULL) {
    *out_price = (byoc_known_price_t){.cost_ns = INFINITY, .reason = failure, .is_stated = true};
    return BYOC_OK;
  }
  const char *id = make_id(list, candidate, function);
  if (id == NULL) return byoc_diag_out_of_memory(diag);
  const bool is_declined = figures->declined[0] != '\0';
  if (isnan(figures->time_ns) && !is_declined && byoc_string_map_get(&list->ids, id) == NULL) return BYOC_OK;
  *out_price = (byoc_known_price_t){
      .id = id, .cost_ns = is_declined ? INFINITY : figures->time_ns, .is_fallback = is_declined, .is_stated = true};
  if (is_declined) out_price->reason = figures->declined;
  return BYOC_OK;
}

// ---- asking ----

typedef struct question_t {
  byoc_map_t asked; // ids of this question and of those before it
  byoc_function_t *copies[BATCH], *regions[BATCH];
  uint32_t candidates[BATCH];
  uint32_t count;
} question_t;

// Adds the candidate to the question, unless an equal one has a cost or was asked for.
static byoc_status_t add(byoc_price_list_t *list, const byoc_candidate_t *candidate, byoc_diag_t *diag,
                         question_t *question) {
  const byoc_target_t *target = list->targets->targets.data[candidate->target];
  byoc_function_t *copy = NULL;
  BYOC_RETURN_IF_ERROR(byoc_outline_candidate_copy(list->problem->flow.nodes, candidate, target, diag, &copy));
  const char *id = make_id(list, candidate, copy);
  const bool is_asked =
      id != NULL && (byoc_string_map_get(&list->ids, id) || byoc_string_map_get(&question->asked, id));
  const bool ok = id != NULL && (is_asked || byoc_string_map_put(&question->asked, id, list));
  if (!ok || is_asked) {
    byoc_erase_candidate(copy);
    return ok ? BYOC_OK : byoc_diag_out_of_memory(diag);
  }
  const uint32_t i = question->count++;
  question->copies[i] = copy;
  question->regions[i] = byoc_candidate_region(copy);
  question->candidates[i] = candidate->index;
  return BYOC_OK;
}

// Asks, and erases the copies, the last one first: each one and its callees are the end of the module.
static byoc_status_t finish(byoc_price_list_t *list, uint32_t target, byoc_diag_t *diag, question_t *question) {
  byoc_stated_figures_t figures[BATCH];
  const char *failure = NULL;
  byoc_status_t status = BYOC_OK;
  if (question->count > 0) {
    status = byoc_stated_ask(list->pricer.stated, target, question->regions, question->count, diag, figures, &failure);
  }
  for (uint32_t i = 0; i < question->count && status == BYOC_OK; ++i) {
    list->figures[question->candidates[i]] = figures[i];
    list->failures[question->candidates[i]] = failure;
  }
  for (uint32_t i = question->count; i-- > 0;) byoc_erase_candidate(question->copies[i]);
  question->count = 0;
  return status;
}

static byoc_status_t ask_target(byoc_price_list_t *list, uint32_t target, size_t count, byoc_diag_t *diag) {
  const byoc_candidates_t *all = &list->problem->candidates;
  question_t question = {.count = 0};
  byoc_status_t status = BYOC_OK;
  byoc_string_map_init(&question.asked, list->arena.allocator);
  for (size_t i = list->priced; i < count && status == BYOC_OK; ++i) {
    if (all->items.data[i]->target != target) continue;
    status = add(list, all->items.data[i], diag, &question);
    if (status == BYOC_OK && question.count == BATCH) status = finish(list, target, diag, &question);
    if (!byoc_stated_answers(list->pricer.stated, target)) break;
  }
  byoc_diag_t other = {0}; // the first error counts
  const byoc_status_t last =
      status == BYOC_OK ? finish(list, target, diag, &question) : finish(list, target, &other, &question);
  byoc_map_deinit(&question.asked);
  return status == BYOC_OK ? last : status;
}

static byoc_status_t make_room(byoc_price_list_t *list, size_t count, byoc_diag_t *diag) {
  byoc_stated_figures_t *figures = BYOC_ARENA_ARRAY(&list->arena, byoc_stated_figures_t, count + 1);
  const char **failures = BYOC_ARENA_ARRAY(&list->arena, const char *, count + 1);
  if (figures == NULL || failures == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < count; ++i) {
    figures[i] = i < list->priced ? list->figures[i] : (byoc_stated_figures_t)BYOC_STATED_NOTHING;
    failures[i] = i < list->priced ? list->failures[i] : NULL;
  }
  list->figures = figures;
  list->failures = failures;
  return BYOC_OK;
}

byoc_status_t byoc_price_list_ask_stated(byoc_price_list_t *list, size_t count, byoc_diag_t *diag) {
  byoc_graph_module_t *module = list->problem->function->module;
  const uint64_t next_id = module->next_id;
  bool is_any = false;
  for (uint32_t t = 0; t < list->targets->targets.count; ++t) {
    is_any = is_any || byoc_stated_answers(list->pricer.stated, t);
  }
  byoc_status_t status = is_any ? make_room(list, count, diag) : BYOC_OK;
  for (uint32_t t = 0; t < list->targets->targets.count && status == BYOC_OK; ++t) {
    if (byoc_stated_answers(list->pricer.stated, t)) status = ask_target(list, t, count, diag);
  }
  module->next_id = next_id;
  return status;
}

// SPDX-License-Identifier: Apache-2.0
// Makes the alternative plans that a search by cost competes with, and finds their costs.
#include "core/collage/collage_internal.h"

#include <string.h>

#include "core/base/log.h"
#include "core/collage/constraint.h"
#include "core/collage/rules.h"
#include "core/pass/layouts.h"
#include "core/pass/pass.h"
#include "core/targets/precision.h"

byoc_status_t byoc_collage_add_alternative(byoc_collage_t *c, const char *name, const byoc_target_t *target) {
  byoc_collage_alternative_t *alternative = &c->alternatives[c->alternative_count];
  size_t count = c->problems.items.count;
  *alternative = (byoc_collage_alternative_t){.name = name,
                                              .target = target,
                                              .is_possible = true,
                                              .sum_ns = NAN,
                                              .whole_ns = NAN,
                                              .whole_mib = NAN,
                                              .error = NAN};
  alternative->greedy = BYOC_ARENA_ARRAY(&c->arena, byoc_choice_t, count);
  alternative->covers = BYOC_ARENA_ARRAY(&c->arena, byoc_lazy_cover_t, count);
  if (name == NULL || alternative->greedy == NULL || alternative->covers == NULL)
    return byoc_diag_out_of_memory(c->diag);
  c->alternative_count += 1;
  return BYOC_OK;
}

// The native target alone, where another one computes on a device, whose own clock is believed until a whole plan is
// timed.
static byoc_status_t add_native(byoc_collage_t *c, const byoc_target_t *native) {
  const byoc_target_list_t *targets = c->options->targets;
  bool has_device = false;
  for (size_t t = 0; t < targets->targets.count; ++t) {
    has_device = has_device || byoc_target_device(targets->targets.data[t]) != kDLCPU;
  }
  return has_device && c->plain == NULL ? byoc_collage_add_alternative(c, native->kind->name, native) : BYOC_OK;
}

byoc_status_t byoc_collage_make_alternatives(byoc_collage_t *c) {
  const byoc_target_list_t *targets = c->options->targets;
  size_t backends = targets->targets.count - 1;
  const char *native = targets->targets.data[backends]->kind->name;
  c->alternatives =
      BYOC_ARENA_ARRAY(&c->arena, byoc_collage_alternative_t, backends + 4); // with a plan that wins by its size
  if (c->alternatives == NULL) return byoc_diag_out_of_memory(c->diag);
  bool is_plain = c->plain == NULL;
  BYOC_RETURN_IF_ERROR(byoc_collage_add_alternative(c, is_plain ? "greedy" : "greedy, blocked", NULL));
  for (size_t t = 0; t < backends && backends > 1; ++t) {
    byoc_target_t *target = targets->targets.data[t];
    const byoc_target_list_t alone = {.targets = {.data = &target, .count = 1}};
    if (!is_plain && !byoc_targets_take_layouts(&alone)) continue; // it would equal the plain search's alternative
    const char *short_name = byoc_target_short_name(targets, target, &c->arena);
    if (short_name == NULL) return byoc_diag_out_of_memory(c->diag);
    const char *name = byoc_arena_format(&c->arena, "%s;%s%s", short_name, native, is_plain ? "" : ", blocked");
    BYOC_RETURN_IF_ERROR(byoc_collage_add_alternative(c, name, target));
  }
  BYOC_RETURN_IF_ERROR(add_native(c, targets->targets.data[backends]));
  return byoc_collage_add_alternative(c, is_plain ? "collage" : "collage, blocked", NULL);
}

// The targets whose claims make an alternative plan: its own one; or all of them, but exact ones if there is an error
// budget, so that one plan is always within it. Returns their number.
static size_t list_targets(const byoc_collage_t *c, const byoc_collage_alternative_t *alternative,
                           const byoc_target_t **out) {
  const byoc_target_list_t *targets = c->options->targets;
  size_t count = 0;
  for (size_t t = 0; t < targets->targets.count; ++t) {
    const byoc_target_t *target = targets->targets.data[t];
    const bool is_exact = c->options->meter == NULL || !(byoc_target_relative_error(target) > 0);
    if (alternative->target != NULL ? alternative->target == target : is_exact) out[count++] = target;
  }
  return count;
}

byoc_status_t byoc_collage_collect(byoc_collage_t *c, size_t index) {
  byoc_problem_t *problem = &c->problems.items.data[index];
  const byoc_target_list_t *targets = c->options->targets;
  const byoc_target_t **first = BYOC_ARENA_ARRAY(&c->arena, const byoc_target_t *, targets->targets.count);
  if (first == NULL) return byoc_diag_out_of_memory(c->diag);
  BYOC_RETURN_IF_ERROR(
      byoc_candidates_collect(&problem->candidates, &problem->flow, targets, &c->options->collect, c->diag));
  for (size_t r = 0; r + 1 < c->alternative_count; ++r) {
    byoc_collage_alternative_t *alternative = &c->alternatives[r];
    const size_t count = list_targets(c, alternative, first);
    BYOC_RETURN_IF_ERROR(
        byoc_greedy_claim(&problem->flow, first, count, &problem->candidates, c->diag, &alternative->greedy[index]));
  }
  return BYOC_OK;
}

static bool is_usable(const byoc_collage_t *c, size_t index, uint32_t candidate) {
  const byoc_price_list_t *prices = &c->prices[index];
  return !isinf(prices->prices.data[prices->price_of[candidate]].cost_ns);
}

// The regions of an alternative plan, except unusable ones, and the native target's candidates for the other nodes.
static size_t list_alternative(const byoc_collage_t *c, const byoc_collage_alternative_t *alternative, size_t index,
                               bool *claimed, uint32_t *subset) {
  const byoc_problem_t *problem = &c->problems.items.data[index];
  const byoc_candidates_t *list = &problem->candidates;
  size_t count = 0;
  memset(claimed, 0, problem->flow.node_count * sizeof(*claimed));
  for (size_t k = 0; k < alternative->greedy[index].count; ++k) {
    uint32_t region = alternative->greedy[index].data[k];
    const byoc_index_set_t *nodes = &list->items.data[region]->nodes;
    if (!is_usable(c, index, region)) continue;
    subset[count++] = region;
    for (uint32_t n = 0; n < nodes->count; ++n) claimed[nodes->items[n]] = true;
  }
  for (size_t i = 0; i < list->items.count; ++i) {
    const byoc_candidate_t *candidate = list->items.data[i];
    bool is_free = c->options->targets->targets.data[candidate->target]->kind->backend == NULL;
    for (uint32_t n = 0; n < candidate->nodes.count; ++n) is_free = is_free && !claimed[candidate->nodes.items[n]];
    if (is_free) subset[count++] = (uint32_t)i;
  }
  return count;
}

static size_t count_unusable(const byoc_collage_t *c, const byoc_collage_alternative_t *alternative, size_t index) {
  size_t count = 0;
  for (size_t k = 0; k < alternative->greedy[index].count; ++k)
    count += !is_usable(c, index, alternative->greedy[index].data[k]);
  return count;
}

// Is there a node that no target claims, or that no target computes correctly?
static bool is_impossible(byoc_status_t status) {
  return status == BYOC_NOT_FOUND || status == BYOC_MISMATCH;
}

// When measuring finds regions that cannot be used, their nodes go to the native target and the cover is tried again.
static byoc_status_t cover_alternative(byoc_collage_t *c, byoc_collage_alternative_t *alternative, size_t index) {
  const byoc_problem_t *problem = &c->problems.items.data[index];
  size_t most = problem->candidates.items.count + alternative->greedy[index].count, unusable = 0;
  uint32_t *subset = byoc_allocate(c->allocator, most, sizeof(*subset));
  bool *claimed = byoc_allocate(c->allocator, problem->flow.node_count, sizeof(*claimed));
  byoc_diag_t why = {0};
  byoc_status_t status = subset && claimed ? BYOC_OK : byoc_diag_out_of_memory(&why);
  byoc_cover_costs_t costs = byoc_transitions_costs(&c->transitions[index]);
  // Its error is measured later: the limit of the search is about sums.
  const bool limits_error = c->prices[index].limits_error;
  c->prices[index].limits_error = false;
  bool tries = status == BYOC_OK;
  while (tries) {
    byoc_diag_clear(&why);
    unusable = count_unusable(c, alternative, index);
    size_t count = list_alternative(c, alternative, index, claimed, subset);
    status = byoc_lazy_search_expected(&c->prices[index], subset, count, &costs, &c->measuring, &why,
                                       &alternative->covers[index]);
    tries = is_impossible(status) && count_unusable(c, alternative, index) > unusable;
  }
  c->prices[index].limits_error = limits_error;
  byoc_free(c->allocator, claimed);
  byoc_free(c->allocator, subset);
  if (is_impossible(status)) {
    byoc_log(BYOC_LOG_INFO, "%s is no alternative: %s", alternative->name, why.message);
    alternative->is_possible = false;
    return BYOC_OK;
  }
  return status == BYOC_OK ? BYOC_OK : byoc_diag_adopt(c->diag, &why);
}

byoc_status_t byoc_collage_cover_alternative(byoc_collage_t *c, byoc_collage_alternative_t *alternative) {
  bool is_measured = true;
  double sum = 0;
  for (size_t i = 0; i < c->problems.items.count && alternative->is_possible; ++i) {
    BYOC_RETURN_IF_ERROR(cover_alternative(c, alternative, i));
    sum += alternative->covers[i].cost_ns;
    is_measured = is_measured && alternative->covers[i].is_measured;
  }
  alternative->expected_ns = alternative->is_possible ? sum : INFINITY;
  alternative->sum_ns = !alternative->is_possible || is_measured ? alternative->expected_ns : NAN;
  return BYOC_OK;
}

byoc_status_t byoc_collage_choose(byoc_collage_t *c, const byoc_collage_alternative_t *alternative) {
  for (size_t i = 0; i < c->problems.items.count; ++i) {
    byoc_choice_t *choice = &c->problems.items.data[i].choice;
    const byoc_choice_t *from = &alternative->covers[i].choice;
    choice->count = 0;
    if (!byoc_vector_reserve(choice, c->allocator, from->count)) return byoc_diag_out_of_memory(c->diag);
    for (size_t k = 0; k < from->count; ++k) choice->data[choice->count++] = from->data[k];
  }
  return BYOC_OK;
}

byoc_status_t byoc_collage_apply(byoc_collage_t *c, const byoc_collage_alternative_t *alternative, byoc_diag_t *diag,
                                 byoc_placement_t *placement) {
  BYOC_RETURN_IF_ERROR(byoc_collage_choose(c, alternative));
  // All nodes of the plain search still exist.
  if (c->is_overlaid) {
    BYOC_RETURN_IF_ERROR(byoc_pass_run(byoc_pass_find("cancel-layouts"), c->module, NULL, diag, NULL));
  }
  return byoc_problems_apply(&c->problems, c->options->targets, diag, placement);
}

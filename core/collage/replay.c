// SPDX-License-Identifier: Apache-2.0
// Partitions by a saved plan, block by block, after comparing hashes.
#include "core/collage/replay.h"

#include <math.h>
#include <string.h>

#include "core/collage/constraint.h"
#include "core/collage/cover.h"
#include "core/collage/exact_region.h"
#include "core/collage/plan_json.h"
#include "core/collage/problem.h"
#include "core/collage/rules.h"
#include "core/ir/attribute_names.h"
#include "core/pass/layouts.h"

typedef struct replay_t {
  const byoc_target_list_t *targets;
  const byoc_plan_t *plan;
  const char *path;
  byoc_allocator_t allocator;
  byoc_diag_t *diag;
} replay_t;

// The build's target that the plan means: the one with the same text, otherwise the only one of the same kind, if it is
// the only one in the plan, too.
static const byoc_target_t *find_target(const replay_t *r, uint32_t index) {
  const char *text = r->plan->targets.data[index];
  const byoc_target_t *found = NULL;
  size_t kind_size = strcspn(text, " "), of_kind = 0, of_plan = 0;
  for (size_t t = 0; t < r->plan->targets.count; ++t) {
    const char *other = r->plan->targets.data[t];
    of_plan += strcspn(other, " ") == kind_size && strncmp(other, text, kind_size) == 0;
  }
  for (size_t t = 0; t < r->targets->targets.count; ++t) {
    const byoc_target_t *target = r->targets->targets.data[t];
    if (strcmp(target->text, text) == 0) return target;
    if (strlen(target->kind->name) != kind_size || strncmp(target->kind->name, text, kind_size) != 0) continue;
    found = target;
    of_kind += 1;
  }
  return of_kind == 1 && of_plan == 1 ? found : NULL;
}

static const byoc_plan_block_t *find_block(const replay_t *r, const byoc_problem_t *problem) {
  for (size_t b = 0; b < r->plan->blocks.count; ++b) {
    if (strcmp(r->plan->blocks.data[b].name, problem->name) == 0) return &r->plan->blocks.data[b];
  }
  return NULL;
}

// Candidates of every target, and the regions of greedy claims by all of them.
static byoc_status_t collect(const replay_t *r, byoc_problem_t *problem) {
  byoc_choice_t greedy;
  BYOC_RETURN_IF_ERROR(byoc_candidates_collect(&problem->candidates, &problem->flow, r->targets, NULL, r->diag));
  BYOC_RETURN_IF_ERROR(byoc_greedy_claim(&problem->flow, (const byoc_target_t *const *)r->targets->targets.data,
                                         r->targets->targets.count, &problem->candidates, r->diag, &greedy));
  byoc_vector_deinit(&greedy, r->allocator);
  return BYOC_OK;
}

static bool same_nodes(const byoc_index_set_t *set, const byoc_plan_region_t *region) {
  return set->count == region->node_count &&
         (set->count == 0 || memcmp(set->items, region->nodes, set->count * sizeof(*set->items)) == 0);
}

// "region 3 of 'main' (cutlass.conv, nodes 4 to 6)"
static const char *describe(byoc_problem_t *problem, const byoc_plan_region_t *region, size_t index) {
  const char *text =
      byoc_arena_format(&problem->candidates.arena, "region %zu of '%s' (%s, nodes %u to %u)", index, problem->name,
                        region->rule, region->nodes[0], region->nodes[region->node_count - 1]);
  return text != NULL ? text : problem->name;
}

// The reason that the target gave for these nodes; NULL if it gave none.
static const char *find_refusal(const byoc_problem_t *problem, const byoc_target_t *target,
                                const byoc_plan_region_t *region) {
  for (size_t i = 0; i < problem->candidates.refusals.count; ++i) {
    const byoc_refusal_t *refusal = &problem->candidates.refusals.data[i];
    if (refusal->target == target->index && same_nodes(&refusal->nodes, region)) return refusal->reason;
  }
  return NULL;
}

static byoc_status_t find_candidate(const replay_t *r, byoc_problem_t *problem, const byoc_plan_region_t *region,
                                    size_t index, uint32_t *out_candidate) {
  const char *text = describe(problem, region, index);
  const byoc_target_t *target = find_target(r, region->target);
  if (target == NULL) {
    byoc_diag_error(r->diag, BYOC_INVALID_DATA, "%s: %s is placed on '%s', which is not among the targets", r->path,
                    text, r->plan->targets.data[region->target]);
    const bool has_budget = r->plan->budget.allowed > 0;
    byoc_diag_hint(r->diag, has_budget ? "give the targets that the plan was made with, and --error"
                                       : "give the targets that the plan was made with");
    return BYOC_INVALID_DATA;
  }
  size_t rule_size = strcspn(region->rule, " "); // without "and 3 more"
  for (int pass = 0; pass < 2; ++pass) {         // first the same rule, then any
    for (size_t i = 0; i < problem->candidates.items.count; ++i) {
      const byoc_candidate_t *candidate = problem->candidates.items.data[i];
      if (candidate->target != target->index || !same_nodes(&candidate->nodes, region)) continue;
      bool same_rule = strlen(candidate->rule) == rule_size && strncmp(candidate->rule, region->rule, rule_size) == 0;
      if (pass == 0 && !same_rule) continue;
      *out_candidate = candidate->index;
      return BYOC_OK;
    }
  }
  // People split regions and join them: a region that the rules make of exactly these nodes is as good.
  byoc_candidate_t *made = NULL;
  const char *reason = NULL;
  const byoc_index_set_t nodes = {.items = region->nodes, .count = region->node_count};
  byoc_exact_regions_t regions;
  byoc_status_t status = byoc_exact_regions_init(&regions, &problem->candidates, &problem->flow, r->diag);
  if (status == BYOC_OK) status = byoc_exact_region(&regions, target, &nodes, &made, &reason);
  byoc_exact_regions_deinit(&regions);
  if (status != BYOC_OK) return status;
  if (made != NULL) {
    *out_candidate = made->index;
    return BYOC_OK;
  }
  const char *refusal = find_refusal(problem, target, region);
  byoc_diag_error(r->diag, BYOC_INVALID_DATA, "%s: %s cannot be a region of '%s': %s", r->path, text,
                  target->kind->name, refusal != NULL ? refusal : reason);
  byoc_diag_hint(r->diag, "byoc explain lists the candidates of each node");
  return BYOC_INVALID_DATA;
}

// Chooses the regions and, so that the check sees every node, the native target's nodes one by one.
static byoc_status_t check_cover(const replay_t *r, const byoc_problem_t *problem) {
  const byoc_candidates_t *list = &problem->candidates;
  uint32_t count = 0, node_count = problem->flow.node_count, native = byoc_target_list_native(r->targets)->index;
  uint32_t *chosen = byoc_allocate(r->allocator, (size_t)node_count + problem->choice.count, sizeof(*chosen));
  bool *claimed = byoc_allocate(r->allocator, node_count, sizeof(*claimed));
  byoc_status_t status = chosen && claimed ? BYOC_OK : byoc_diag_out_of_memory(r->diag);
  for (size_t i = 0; i < problem->choice.count && status == BYOC_OK; ++i) {
    const byoc_index_set_t *nodes = &list->items.data[problem->choice.data[i]]->nodes;
    for (uint32_t n = 0; n < nodes->count; ++n) claimed[nodes->items[n]] = true;
    chosen[count++] = problem->choice.data[i];
  }
  for (size_t i = 0; i < list->items.count && status == BYOC_OK; ++i) {
    const byoc_candidate_t *candidate = list->items.data[i];
    bool is_rest = candidate->target == native && candidate->nodes.count == 1 && !claimed[candidate->nodes.items[0]];
    if (!is_rest) continue;
    claimed[candidate->nodes.items[0]] = true;
    chosen[count++] = candidate->index;
  }
  double cost_ns = 0, transition_ns = 0;
  if (status == BYOC_OK) {
    status = byoc_cover_evaluate(&problem->flow, list->items.data, chosen, count, NULL, r->allocator, r->diag, &cost_ns,
                                 &transition_ns);
  }
  byoc_free(r->allocator, chosen);
  byoc_free(r->allocator, claimed);
  return status == BYOC_OK ? BYOC_OK : byoc_diag_context(r->diag, status, "%s: '%s'", r->path, problem->name);
}

// The rules are asked about these nodes again when others were written out.
static bool leave_open(const byoc_problem_t *problem, const byoc_plan_region_t *region) {
  for (uint32_t i = 0; i < region->node_count; ++i) {
    byoc_node_t *node = problem->flow.nodes[region->nodes[i]];
    if (!byoc_attributes_set_int(&node->attributes, BYOC_ATTRIBUTE_OPEN, 1)) return false;
  }
  return true;
}

// ---- what was given back ----

// Is the node in a region that this target keeps?
static bool is_kept(const byoc_plan_block_t *block, uint32_t target, uint32_t node) {
  for (size_t i = 0; i < block->regions.count; ++i) {
    const byoc_plan_region_t *region = &block->regions.data[i];
    for (uint32_t k = 0; region->target == target && !region->falls_back && k < region->node_count; ++k) {
      if (region->nodes[k] == node) return true;
    }
  }
  return false;
}

static bool add_decline(const replay_t *r, byoc_node_t *node, int64_t target) {
  size_t count = 0;
  const int64_t *known = byoc_attributes_ints(&node->attributes, BYOC_ATTRIBUTE_DECLINED_BY, &count);
  int64_t *targets = byoc_allocate(r->allocator, count + 1, sizeof(*targets));
  if (targets == NULL) return false;
  if (count > 0) memcpy(targets, known, count * sizeof(*targets));
  targets[count] = target;
  const bool ok = byoc_attributes_set_ints(&node->attributes, BYOC_ATTRIBUTE_DECLINED_BY, targets, count + 1);
  byoc_free(r->allocator, targets);
  return ok;
}

// A partition hook that was asked again claimed the rest of what it gave back. It claims the same now if it is told of
// the nodes at once.
static byoc_status_t tell_hooks(const replay_t *r, const byoc_problem_t *problem, const byoc_plan_block_t *block) {
  for (size_t i = 0; i < block->regions.count; ++i) {
    const byoc_plan_region_t *region = &block->regions.data[i];
    const byoc_target_t *target = region->falls_back ? find_target(r, region->target) : NULL;
    if (target == NULL || target->kind->backend == NULL || target->kind->backend->partition == NULL) continue;
    for (uint32_t k = 0; k < region->node_count; ++k) {
      byoc_node_t *node = problem->flow.nodes[region->nodes[k]];
      if (is_kept(block, region->target, region->nodes[k]) || !byoc_target_may_take(target, node)) continue;
      if (!add_decline(r, node, target->index)) return byoc_diag_out_of_memory(r->diag);
    }
  }
  return BYOC_OK;
}

// ---- choosing ----

static byoc_status_t choose(const replay_t *r, byoc_problem_t *problem) {
  const byoc_plan_block_t *block = find_block(r, problem);
  if (block == NULL || block->hash != problem->hash) {
    byoc_diag_error(r->diag, BYOC_INVALID_DATA, "%s is not a plan of this model: its block '%s' %s", r->path,
                    problem->name, block == NULL ? "is missing" : "has other nodes");
    byoc_diag_hint(r->diag, "make one with byoc explain MODEL --save-plan FILE");
    return BYOC_INVALID_DATA;
  }
  BYOC_RETURN_IF_ERROR(tell_hooks(r, problem, block));
  BYOC_RETURN_IF_ERROR(collect(r, problem));
  for (size_t i = 0; i < block->regions.count; ++i) {
    uint32_t candidate = 0;
    if (block->regions.data[i].falls_back) continue;
    if (block->regions.data[i].is_later) {
      if (!leave_open(problem, &block->regions.data[i])) return byoc_diag_out_of_memory(r->diag);
      continue;
    }
    BYOC_RETURN_IF_ERROR(find_candidate(r, problem, &block->regions.data[i], i, &candidate));
    if (!byoc_vector_push(&problem->choice, r->allocator, candidate)) return byoc_diag_out_of_memory(r->diag);
  }
  return check_cover(r, problem);
}

static bool fits(const replay_t *r, const byoc_problems_t *problems) {
  for (size_t i = 0; i < problems->items.count; ++i) {
    const byoc_plan_block_t *block = find_block(r, &problems->items.data[i]);
    if (block == NULL || block->hash != problems->items.data[i].hash) return false;
  }
  return true;
}

// Finds the problems of the module as it is, or with layout changes if the plan was made with them.
static byoc_status_t find_problems(const replay_t *r, byoc_graph_module_t *module, byoc_problems_t *problems) {
  size_t changes = 0;
  BYOC_RETURN_IF_ERROR(byoc_problems_find(module, r->allocator, r->diag, problems));
  if (fits(r, problems)) return BYOC_OK;
  byoc_problems_deinit(problems);
  BYOC_RETURN_IF_ERROR(byoc_propose_layouts(module, r->targets, r->diag, &changes));
  return byoc_problems_find(module, r->allocator, r->diag, problems);
}

byoc_status_t byoc_place_replay(byoc_graph_module_t *module, const byoc_target_list_t *targets, const char *path,
                                byoc_diag_t *diag, byoc_placement_t *placement) {
  byoc_plan_t plan;
  byoc_problems_t problems;
  BYOC_RETURN_IF_ERROR(byoc_plan_read(path, module->allocator, diag, &plan));
  const replay_t r = {.targets = targets, .plan = &plan, .path = path, .allocator = module->allocator, .diag = diag};
  byoc_status_t status = find_problems(&r, module, &problems);
  if (status != BYOC_OK) {
    byoc_plan_deinit(&plan);
    return status;
  }
  for (size_t i = 0; i < problems.items.count && status == BYOC_OK; ++i) status = choose(&r, &problems.items.data[i]);
  if (status == BYOC_OK) status = byoc_problems_apply(&problems, targets, diag, placement);
  byoc_problems_deinit(&problems);
  byoc_plan_deinit(&plan);
  return status;
}

// ---- within an error budget ----

typedef struct error_check_t {
  byoc_graph_module_t *module;
  const byoc_target_list_t *targets;
  const char *path;
  byoc_error_budget_t budget; // without sites
} error_check_t;

static byoc_status_t apply_exact(void *context, byoc_placement_t *placement, byoc_diag_t *diag) {
  const error_check_t *check = context;
  return byoc_error_budget_place(&check->budget, diag, placement);
}

static byoc_status_t apply_saved(void *context, byoc_placement_t *placement, byoc_diag_t *diag) {
  const error_check_t *check = context;
  return byoc_place_replay(check->module, check->targets, check->path, diag, placement);
}

// The function that is placed now.
static byoc_function_t *find_function(byoc_graph_module_t *module) {
  BYOC_FOR_EACH_FUNCTION(function, module) {
    if (module->scope != NULL && byoc_function_is_open(function)) return function;
  }
  return byoc_graph_module_main(module);
}

byoc_status_t byoc_replay_check_error(byoc_graph_module_t *module, const byoc_target_list_t *targets, const char *path,
                                      const byoc_error_meter_t *meter, double allowed, byoc_diag_t *diag,
                                      byoc_plan_t *record) {
  error_check_t check = {.module = module, .targets = targets, .path = path};
  double error = 0;
  BYOC_RETURN_IF_ERROR(byoc_error_budget_init(&check.budget, targets, module->allocator, diag));
  check.budget.function = find_function(module);
  byoc_status_t status = meter->open(meter->self, apply_exact, &check, 0, diag);
  if (status == BYOC_OK) status = meter->check(meter->self, apply_saved, &check, diag, &error);
  byoc_error_budget_deinit(&check.budget);
  if (status != BYOC_OK) return status;
  if (isnan(error)) {
    return byoc_diag_error(diag, BYOC_TOOL, "%s: the error of this plan is not known: its runs took too long", path);
  }
  const double promised = byoc_error_promise(meter, error);
  if (!(promised <= allowed)) {
    status = byoc_diag_error(
        diag, BYOC_INVALID_DATA,
        "%s: the outputs of this plan are off by %.2g on %zu sample%s of the inputs, which promises %.2g for "
        "others: more than the allowed %.2g",
        path, error, meter->sample_count, byoc_plural(meter->sample_count), promised, allowed);
    byoc_diag_hint(diag, "give regions with large errors to exact targets, or allow a larger error");
    return status;
  }
  if (record == NULL) return BYOC_OK;
  record->budget.allowed = allowed;
  record->budget.measured = fmax(record->budget.measured, error);
  record->budget.promised = fmax(record->budget.promised, promised);
  record->budget.sample_count = (uint32_t)meter->sample_count;
  record->budget.is_generated = meter->is_generated;
  return BYOC_OK;
}

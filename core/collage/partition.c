// SPDX-License-Identifier: Apache-2.0
// Runs the steps of a greedy partitioning as passes.
#include "core/collage/partition.h"

#include <stdio.h>
#include <string.h>

#include "core/collage/claim_rule.h"
#include "core/collage/composite.h"
#include "core/collage/constraint.h"
#include "core/collage/place.h"
#include "core/collage/rules_internal.h"
#include "core/ir/attribute_names.h"
#include "core/ir/outline.h"
#include "core/plugin/accept.h"
#include "core/plugin/accepted_match.h"

typedef struct partitioner_t {
  byoc_graph_module_t *module;
  const byoc_target_list_t *targets;
  byoc_claims_t claims;        // of the current block
  const byoc_target_t *target; // whose rules are being tried
  int64_t region_count;        // in this function
  byoc_diag_t *diag;
  size_t *changes;
} partitioner_t;

typedef byoc_status_t (*block_step_t)(partitioner_t *p);

// ---- walking ----

static byoc_status_t step_in_block(partitioner_t *p, byoc_block_t *block, block_step_t step) {
  BYOC_FOR_EACH_NODE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) BYOC_RETURN_IF_ERROR(step_in_block(p, node->blocks[b], step));
  }
  byoc_status_t status = byoc_claims_init(&p->claims, block, p->module->allocator, p->diag);
  if (status == BYOC_OK) status = step(p);
  byoc_claims_deinit(&p->claims);
  return status;
}

// Every block of the functions that are the host's so far.
static byoc_status_t run_step(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments, byoc_diag_t *diag,
                              size_t *changes, block_step_t step) {
  if (arguments->targets == NULL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "there are no targets; name some with --target");
  }
  partitioner_t p = {.module = module, .targets = arguments->targets, .diag = diag, .changes = changes};
  size_t function_count = module->functions.count; // outlined ones are added behind
  for (size_t f = 0; f < function_count; ++f) {
    byoc_function_t *function = module->functions.data[f];
    if (!byoc_function_is_open(function)) continue;
    p.region_count = 0;
    BYOC_RETURN_IF_ERROR_IN(diag, step_in_block(&p, function->body, step), "function '%s'", function->name);
  }
  return BYOC_OK;
}

// ---- rules ----

// Returns NULL behind the last rule. Rows were copied when the plugin was loaded, so the stride is ours.
static const byoc_rule_t *rule_at(const byoc_target_t *target, uint32_t index) {
  const byoc_backend_t *backend = target->kind->backend;
  return backend != NULL && index < backend->rule_count ? &backend->rules[index] : NULL;
}

static bool accepts(const byoc_target_t *target, const byoc_rule_t *rule, byoc_node_t *const *nodes, size_t node_count,
                    const byoc_region_binding_t *bindings, size_t binding_count) {
  if (rule->accept == NULL) return true;
  byoc_region_t region = {
      .target = target, .nodes = nodes, .node_count = node_count, .bindings = bindings, .binding_count = binding_count};
  return byoc_hook_accept(rule, &region);
}

// The rule by which a target claims a node: the one that made the composite it calls, otherwise the first group rule
// that accepts it. NULL if there is none.
static const byoc_rule_t *rule_for(const byoc_target_t *target, byoc_node_t *node) {
  const char *composite = NULL;
  if (node->callee != NULL) {
    composite = byoc_attributes_string(&node->callee->attributes, BYOC_ATTRIBUTE_COMPOSITE, NULL);
    if (composite == NULL) return NULL;
  } else if (!byoc_target_may_take(target, node)) {
    return NULL;
  }
  const byoc_rule_t *rule = NULL;
  for (uint32_t r = 0; (rule = rule_at(target, r)) != NULL; ++r) {
    if (composite != NULL) {
      if (rule->pattern != NULL && strcmp(rule->name, composite) == 0) return rule;
    } else if (rule->pattern == NULL && byoc_rule_lists(rule, node) && accepts(target, rule, &node, 1, NULL, 0)) {
      return rule;
    }
  }
  return NULL;
}

static unsigned outline_flags(const byoc_rule_t *rule) {
  return rule->flags & BYOC_RULE_PASS_CONSTANTS ? BYOC_OUTLINE_PASS_CONSTANTS : 0;
}

// ---- merge-composites ----

static byoc_status_t ask(void *self, const byoc_rule_t *rule, byoc_node_t *const *nodes, size_t node_count,
                         const byoc_region_binding_t *bindings, size_t binding_count, bool *out_accepted) {
  const partitioner_t *p = self;
  *out_accepted = accepts(p->target, rule, nodes, node_count, bindings, binding_count);
  return BYOC_OK;
}

static byoc_status_t outline_composite(partitioner_t *p, const byoc_claim_t *claim, byoc_node_t **nodes) {
  for (size_t i = 0; i < claim->nodes.count; ++i) nodes[i] = p->claims.nodes[claim->nodes.data[i]];
  byoc_function_t *function = NULL;
  byoc_node_t *call = NULL;
  const byoc_rule_t *rule = claim->rule;
  BYOC_RETURN_IF_ERROR(
      byoc_outline_nodes(nodes, claim->nodes.count, rule->name, outline_flags(rule), p->diag, &function, &call));
  if (!byoc_attributes_set_int(&function->attributes, BYOC_ATTRIBUTE_PRIMITIVE, 1) ||
      !byoc_attributes_set_string(&function->attributes, BYOC_ATTRIBUTE_COMPOSITE, rule->name) ||
      (claim->match_number > 0 &&
       !byoc_attributes_set_int(&function->attributes, BYOC_ATTRIBUTE_MATCH, claim->match_number))) {
    return byoc_diag_out_of_memory(p->diag);
  }
  *p->changes += 1;
  BYOC_RETURN_IF_ERROR(byoc_composite_note_passed(function, call, rule, p->diag));
  return byoc_composite_lift_constants(function, call, rule, p->diag);
}

static byoc_status_t merge_composites(partitioner_t *p) {
  for (size_t t = 0; t < p->targets->targets.count; ++t) {
    p->target = p->targets->targets.data[t];
    const byoc_rule_claimer_t claimer = {
        .claims = &p->claims, .target = p->target, .arena = &p->claims.arena, .diag = p->diag, .ask = ask, .self = p};
    const byoc_rule_t *rule = NULL;
    for (uint32_t r = 0; (rule = rule_at(p->target, r)) != NULL; ++r) {
      if (rule->pattern != NULL) BYOC_RETURN_IF_ERROR(byoc_claim_by_rule(&claimer, rule));
    }
  }
  byoc_node_t **nodes = BYOC_ARENA_ARRAY(&p->claims.arena, byoc_node_t *, p->claims.node_count);
  if (nodes == NULL) return byoc_diag_out_of_memory(p->diag);
  for (size_t c = 0; c < p->claims.claims.count; ++c) {
    BYOC_RETURN_IF_ERROR(outline_composite(p, p->claims.claims.data[c], nodes));
  }
  return BYOC_OK;
}

static byoc_status_t pass_merge_composites(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments,
                                           byoc_diag_t *diag, size_t *changes) {
  return run_step(module, arguments, diag, changes, merge_composites);
}

// ---- annotate-targets ----

static byoc_status_t annotate_node(partitioner_t *p, byoc_node_t *node) {
  size_t count = 0, known_count = 0;
  int64_t *able = BYOC_ARENA_ARRAY(&p->claims.arena, int64_t, p->targets->targets.count);
  if (able == NULL) return byoc_diag_out_of_memory(p->diag);
  for (size_t t = 0; t < p->targets->targets.count; ++t) {
    const byoc_target_t *target = p->targets->targets.data[t];
    if (rule_for(target, node) != NULL) able[count++] = target->index;
  }
  const int64_t *known = byoc_attributes_ints(&node->attributes, BYOC_ATTRIBUTE_TARGETS, &known_count);
  if (known_count == count && (count == 0 || memcmp(known, able, count * sizeof(able[0])) == 0)) return BYOC_OK;
  *p->changes += 1;
  if (count == 0) {
    byoc_attributes_remove(&node->attributes, BYOC_ATTRIBUTE_TARGETS);
    return BYOC_OK;
  }
  return byoc_attributes_set_ints(&node->attributes, BYOC_ATTRIBUTE_TARGETS, able, count)
             ? BYOC_OK
             : byoc_diag_out_of_memory(p->diag);
}

static byoc_status_t annotate(partitioner_t *p) {
  for (size_t n = 0; n < p->claims.node_count; ++n) BYOC_RETURN_IF_ERROR(annotate_node(p, p->claims.nodes[n]));
  return BYOC_OK;
}

static byoc_status_t pass_annotate_targets(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments,
                                           byoc_diag_t *diag, size_t *changes) {
  return run_step(module, arguments, diag, changes, annotate);
}

// ---- merge-regions ----

// The first target of those that the node is annotated with; NULL where it has none.
static const byoc_target_t *first_target(const partitioner_t *p, const byoc_node_t *node) {
  size_t count = 0;
  const int64_t *able = byoc_attributes_ints(&node->attributes, BYOC_ATTRIBUTE_TARGETS, &count);
  bool known = count > 0 && able[0] >= 0 && able[0] < (int64_t)p->targets->targets.count;
  return known ? p->targets->targets.data[able[0]] : NULL;
}

static byoc_status_t number_regions(partitioner_t *p) {
  int64_t *numbers = BYOC_ARENA_ARRAY(&p->claims.arena, int64_t, p->claims.node_count); // by a region's first node
  if (numbers == NULL) return byoc_diag_out_of_memory(p->diag);
  for (size_t n = 0; n < p->claims.node_count; ++n) {
    const byoc_claim_t *claim = byoc_claims_owner(&p->claims, n);
    if (claim == NULL) continue;
    uint32_t first = claim->nodes.data[0];
    if (first == n) numbers[n] = p->region_count++;
    byoc_attributes_t *attributes = &p->claims.nodes[n]->attributes;
    if (byoc_attributes_int(attributes, BYOC_ATTRIBUTE_REGION, -1) == numbers[first]) continue;
    if (!byoc_attributes_set_int(attributes, BYOC_ATTRIBUTE_REGION, numbers[first])) {
      return byoc_diag_out_of_memory(p->diag);
    }
    *p->changes += 1;
  }
  return BYOC_OK;
}

static byoc_status_t merge_regions(partitioner_t *p) {
  for (size_t n = 0; n < p->claims.node_count; ++n) {
    byoc_node_t *node = p->claims.nodes[n];
    const byoc_target_t *target = first_target(p, node);
    const byoc_rule_t *rule = target != NULL ? rule_for(target, node) : NULL;
    byoc_claim_t *claim = NULL;
    if (rule != NULL) BYOC_RETURN_IF_ERROR(byoc_claims_add(&p->claims, target, rule, &node, 1, p->diag, &claim));
  }
  BYOC_RETURN_IF_ERROR(byoc_claims_join_neighbours(&p->claims, NULL, p->diag));
  return number_regions(p);
}

static byoc_status_t pass_merge_regions(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments,
                                        byoc_diag_t *diag, size_t *changes) {
  return run_step(module, arguments, diag, changes, merge_regions);
}

// ---- partition ----

static bool forget_steps(void *self, byoc_node_t *node) {
  (void)self;
  byoc_attributes_remove(&node->attributes, BYOC_ATTRIBUTE_TARGETS);
  byoc_attributes_remove(&node->attributes, BYOC_ATTRIBUTE_REGION);
  return true;
}

typedef struct call_count_t {
  const byoc_function_t *callee;
  size_t count;
} call_count_t;

static bool count_call(void *self, byoc_node_t *node) {
  call_count_t *calls = self;
  calls->count += node->callee == calls->callee;
  return true;
}

// A composite that other nodes call too is not changed: they may stand in regions of their own.
static byoc_status_t separate(partitioner_t *p, byoc_node_t *call) {
  call_count_t calls = {.callee = call->callee};
  for (size_t f = 0; f < p->module->functions.count; ++f) {
    (void)byoc_block_walk(p->module->functions.data[f]->body, count_call, &calls);
  }
  if (calls.count < 2) return BYOC_OK;
  const char *unique = byoc_graph_module_unique_name(p->module, call->callee->name);
  byoc_function_t *copy = unique != NULL ? byoc_function_clone(call->callee, unique) : NULL;
  if (copy == NULL) return byoc_diag_out_of_memory(p->diag);
  call->callee = copy;
  return BYOC_OK;
}

// A composite that is a region by itself is the function; otherwise the nodes are outlined.
static byoc_status_t make_function(partitioner_t *p, const byoc_target_t *target, byoc_node_t **nodes, size_t count) {
  bool is_composite = count == 1 && nodes[0]->callee != NULL;
  if (is_composite) BYOC_RETURN_IF_ERROR(separate(p, nodes[0]));
  byoc_function_t *function = nodes[0]->callee;
  byoc_node_t *call = NULL;
  char name[96];
  snprintf(name, sizeof(name), "%s_0", target->kind->name);
  if (!is_composite) {
    const byoc_rule_t *rule = rule_for(target, nodes[0]);
    unsigned flags = rule != NULL ? outline_flags(rule) : 0;
    BYOC_RETURN_IF_ERROR(byoc_outline_nodes(nodes, count, name, flags, p->diag, &function, &call));
    byoc_block_walk(function->body, forget_steps, NULL);
  } else {
    forget_steps(NULL, nodes[0]);
    char identifier[96];
    byoc_make_identifier(name, identifier, sizeof(identifier));
    const char *unique = byoc_graph_module_unique_name(p->module, identifier);
    if (unique == NULL || !byoc_function_rename(function, unique)) return byoc_diag_out_of_memory(p->diag);
  }
  byoc_attributes_t *attributes = &function->attributes;
  bool ok = byoc_attributes_set_int(attributes, BYOC_ATTRIBUTE_PRIMITIVE, 1) &&
            byoc_attributes_set_string(attributes, BYOC_ATTRIBUTE_COMPILER, target->kind->name) &&
            byoc_attributes_set_int(attributes, BYOC_ATTRIBUTE_TARGET, target->index) &&
            byoc_attributes_set_string(attributes, BYOC_ATTRIBUTE_GLOBAL_SYMBOL, function->name);
  *p->changes += 1;
  return ok ? BYOC_OK : byoc_diag_out_of_memory(p->diag);
}

static byoc_status_t partition(partitioner_t *p) {
  byoc_node_t **nodes = BYOC_ARENA_ARRAY(&p->claims.arena, byoc_node_t *, p->claims.node_count);
  bool *done = BYOC_ARENA_ARRAY(&p->claims.arena, bool, p->claims.node_count);
  if (nodes == NULL || done == NULL) return byoc_diag_out_of_memory(p->diag);
  for (size_t n = 0; n < p->claims.node_count; ++n) {
    if (done[n]) continue;
    byoc_node_t *first = p->claims.nodes[n];
    int64_t region = byoc_attributes_int(&first->attributes, BYOC_ATTRIBUTE_REGION, -1);
    const byoc_target_t *target = first_target(p, first);
    if (region < 0 || target == NULL) {
      forget_steps(NULL, first);
      continue;
    }
    size_t count = 0;
    for (size_t m = n; m < p->claims.node_count; ++m) {
      if (done[m] || byoc_attributes_int(&p->claims.nodes[m]->attributes, BYOC_ATTRIBUTE_REGION, -1) != region)
        continue;
      nodes[count++] = p->claims.nodes[m];
      done[m] = true;
    }
    BYOC_RETURN_IF_ERROR(make_function(p, target, nodes, count));
  }
  return BYOC_OK;
}

static bool is_region(void *self, const byoc_function_t *function) {
  (void)self;
  return byoc_function_is_region(function);
}

static byoc_status_t pass_partition(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments,
                                    byoc_diag_t *diag, size_t *changes) {
  BYOC_RETURN_IF_ERROR(run_step(module, arguments, diag, changes, partition));
  size_t merged = 0; // equal regions are compiled once
  return byoc_merge_equal_functions(module, is_region, NULL, NULL, diag, &merged);
}

// ---- the table ----

static const byoc_pass_t rows[] = {
    {.name = "merge-composites",
     .summary = "make a composite function of each match of the targets' patterns",
     .stage = BYOC_PASS_MODULE,
     .run_with = pass_merge_composites},
    {.name = "annotate-targets",
     .summary = "note at each node all targets that could claim it",
     .stage = BYOC_PASS_MODULE,
     .run_with = pass_annotate_targets},
    {.name = "merge-regions",
     .summary = "number the regions of neighbours with one target",
     .stage = BYOC_PASS_MODULE,
     .run_with = pass_merge_regions},
    {.name = "partition",
     .summary = "make a function marked Compiler of each region",
     .stage = BYOC_PASS_MODULE,
     .run_with = pass_partition},
};
const byoc_passes_t byoc_partition_passes = {
    .rows = rows, .count = sizeof(rows) / sizeof(rows[0]), .below = &byoc_graph_passes};

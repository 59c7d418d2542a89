// SPDX-License-Identifier: Apache-2.0
// Finds operators that stand for several others and that no backend would take whole.
#include "core/collage/fused.h"

#include <stdio.h>

#include "core/collage/claim_rule.h"
#include "core/pass/kept_weights.h"
#include "core/pass/write_out.h"
#include "core/plugin/accept.h"

typedef struct asker_t {
  byoc_claims_t claims;
  const byoc_target_list_t *targets;
  const byoc_target_t *target;
  byoc_map_t claimed; // pointer map: nodes of regions that were accepted
  uint64_t kept;      // types of constants that rules read
  byoc_diag_t *diag;
} asker_t;

// Does the form of the node depend on the rules?
static bool is_open(const asker_t *asker, const byoc_node_t *node) {
  return byoc_node_is_fused(node) || byoc_node_is_kept_weight(node, asker->kept) ||
         byoc_node_is_open_unit(node, asker->targets);
}

// Notes the nodes of each region that the rule's hook accepts. Nothing is claimed, so that the rule goes on to its
// other matches.
static byoc_status_t ask(void *self, const byoc_rule_t *rule, byoc_node_t *const *nodes, size_t node_count,
                         const byoc_region_binding_t *bindings, size_t binding_count, bool *out_accepted) {
  asker_t *asker = self;
  *out_accepted = false;
  bool is_wanted = false;
  for (size_t i = 0; i < node_count; ++i) {
    is_wanted |= is_open(asker, nodes[i]) && byoc_pointer_map_find(&asker->claimed, nodes[i]) == NULL;
  }
  if (!is_wanted) return BYOC_OK;
  byoc_region_t region = {.target = asker->target,
                          .nodes = nodes,
                          .node_count = node_count,
                          .bindings = bindings,
                          .binding_count = binding_count};
  if (rule->accept != NULL && !byoc_hook_accept(rule, &region)) return BYOC_OK;
  for (size_t i = 0; i < node_count; ++i) {
    if (!byoc_pointer_map_put(&asker->claimed, nodes[i], nodes[i])) return byoc_diag_out_of_memory(asker->diag);
  }
  return BYOC_OK;
}

// Does the rule name the operator of a fused node of the block?
static bool concerns(const asker_t *asker, const byoc_rule_t *rule) {
  for (size_t n = 0; n < asker->claims.node_count; ++n) {
    const byoc_node_t *node = asker->claims.nodes[n];
    char name[160];
    if (!is_open(asker, node)) continue;
    snprintf(name, sizeof(name), "%s%s%s", node->domain, node->domain[0] ? "::" : "", node->op);
    if (byoc_rule_names(rule, name, 0)) return true;
  }
  return false;
}

static byoc_status_t ask_target(asker_t *asker, const byoc_target_t *target, byoc_arena_t *arena) {
  const byoc_backend_t *backend = target->kind->backend;
  const byoc_rule_claimer_t claimer = {
      .claims = &asker->claims, .target = target, .arena = arena, .diag = asker->diag, .ask = ask, .self = asker};
  asker->target = target;
  for (uint32_t r = 0; backend != NULL && r < backend->rule_count; ++r) {
    const byoc_rule_t *rule = &backend->rules[r];
    if (!concerns(asker, rule)) continue;
    BYOC_RETURN_IF_ERROR_IN(asker->diag, byoc_claim_by_rule(&claimer, rule), "target '%s', rule '%s'",
                            target->kind->name, rule->name ? rule->name : "");
  }
  return BYOC_OK;
}

// The nodes of one block.
static byoc_status_t find_refused(byoc_block_t *block, const byoc_target_list_t *targets, byoc_diag_t *diag,
                                  byoc_map_t *refused) {
  byoc_allocator_t allocator = block->function->module->allocator;
  byoc_arena_t arena;
  asker_t asker = {.targets = targets, .kept = byoc_kept_weights(targets), .diag = diag};
  byoc_arena_init(&arena, allocator);
  byoc_pointer_map_init(&asker.claimed, allocator);
  byoc_status_t status = byoc_claims_init(&asker.claims, block, allocator, diag);
  for (size_t t = 0; targets != NULL && t < targets->targets.count && status == BYOC_OK; ++t) {
    status = ask_target(&asker, targets->targets.data[t], &arena);
  }
  BYOC_FOR_EACH_NODE(node, block) {
    if (status != BYOC_OK || !is_open(&asker, node) || byoc_pointer_map_find(&asker.claimed, node) != NULL) continue;
    if (!byoc_pointer_map_put(refused, node, node)) status = byoc_diag_out_of_memory(diag);
  }
  byoc_claims_deinit(&asker.claims);
  byoc_map_deinit(&asker.claimed);
  byoc_arena_deinit(&arena);
  return status;
}

static byoc_status_t visit_blocks(byoc_block_t *block, const byoc_target_list_t *targets, byoc_diag_t *diag,
                                  byoc_map_t *refused) {
  const asker_t asker = {.targets = targets, .kept = byoc_kept_weights(targets)};
  bool has_fused = false;
  BYOC_FOR_EACH_NODE(node, block) {
    has_fused |= is_open(&asker, node);
    for (uint32_t b = 0; b < node->block_count; ++b) {
      BYOC_RETURN_IF_ERROR(visit_blocks(node->blocks[b], targets, diag, refused));
    }
  }
  return has_fused ? find_refused(block, targets, diag, refused) : BYOC_OK;
}

byoc_status_t byoc_fused_find_refused(byoc_graph_module_t *module, const byoc_target_list_t *targets, byoc_diag_t *diag,
                                      byoc_map_t *refused) {
  BYOC_FOR_EACH_FUNCTION(function, module) {
    if (!byoc_function_is_open(function)) continue;
    BYOC_RETURN_IF_ERROR(visit_blocks(function->body, targets, diag, refused));
  }
  return BYOC_OK;
}

// SPDX-License-Identifier: Apache-2.0
// Constants of integers that stay as they are until the rules were asked, because a rule of the build reads them.
#include "core/pass/kept_weights.h"

#include "core/ir/attribute_names.h"
#include "core/plugin/pattern.h"

static uint64_t of_rule(const byoc_rule_t *rule) {
  uint64_t types = 0;
  byoc_arena_t arena;
  const byoc_pattern_t *pattern = NULL;
  byoc_arena_init(&arena, byoc_allocator_system());
  if (rule->pattern != NULL && byoc_pattern_parse(rule->pattern, rule->name, &arena, NULL, &pattern) == BYOC_OK) {
    types = byoc_pattern_constant_types(pattern, "DequantizeLinear");
  }
  byoc_arena_deinit(&arena);
  return types;
}

uint64_t byoc_kept_weights(const byoc_target_list_t *targets) {
  uint64_t types = 0;
  for (size_t t = 0; targets != NULL && t < targets->targets.count; ++t) {
    const byoc_backend_t *backend = targets->targets.data[t]->kind->backend;
    for (uint32_t r = 0; backend != NULL && r < backend->rule_count; ++r) {
      if (byoc_rule_names(&backend->rules[r], "DequantizeLinear", 0)) types |= of_rule(&backend->rules[r]);
    }
  }
  return types;
}

bool byoc_node_is_kept_weight(const byoc_node_t *node, uint64_t kept) {
  if (kept == 0 || !byoc_node_is_onnx(node, "DequantizeLinear") || !byoc_value_is_constant(node->operands[0])) {
    return false;
  }
  return (kept >> node->operands[0]->type->dtype & 1) != 0 &&
         byoc_attributes_int(&node->attributes, BYOC_ATTRIBUTE_FOLDS, 0) == 0;
}

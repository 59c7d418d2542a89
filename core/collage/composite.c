// SPDX-License-Identifier: Apache-2.0
// Makes the constants that a rule names operands of a composite function.
#include "core/collage/composite.h"

#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/plugin/accepted_match.h"

static bool is_asked_for(const byoc_match_t *match, const byoc_value_t *constant) {
  for (size_t i = 0; i < match->constants.count; ++i) {
    if (match->constants.data[i] == constant) return true;
  }
  return false;
}

static bool add_operand(byoc_node_t *call, byoc_value_t *value, byoc_arena_t *scratch) {
  byoc_value_t **operands = BYOC_ARENA_ARRAY(scratch, byoc_value_t *, call->operand_count + 1);
  if (operands == NULL || value == NULL) return false;
  for (uint32_t i = 0; i < call->operand_count; ++i) operands[i] = call->operands[i];
  operands[call->operand_count] = value;
  return byoc_node_set_operands(call, operands, call->operand_count + 1);
}

// A constant inside becomes a parameter, and the constant moves outside.
static bool lift(byoc_function_t *composite, byoc_node_t *call, byoc_value_t *inside, byoc_arena_t *scratch) {
  byoc_value_t *parameter = byoc_block_add_parameter(composite->body, inside->constant->name, inside->type);
  if (parameter == NULL) return false;
  parameter->device = inside->device;
  return byoc_value_replace_uses(inside, parameter) &&
         add_operand(call, byoc_function_constant(call->function, inside->constant), scratch);
}

byoc_status_t byoc_composite_lift_constants(byoc_function_t *composite, byoc_node_t *call, const byoc_rule_t *rule,
                                            byoc_diag_t *diag) {
  if (composite->constants.count == 0 || composite->body->results.count == 0 || rule->pattern == NULL) return BYOC_OK;
  byoc_node_t *root = byoc_value_producer(composite->body->results.data[0]);
  if (root == NULL) return BYOC_OK;
  byoc_arena_t scratch;
  byoc_arena_init(&scratch, composite->module->allocator);
  byoc_match_t match;
  byoc_match_init(&match, composite->module->allocator);
  const byoc_pattern_t *pattern = NULL;
  bool failed = false, matched = false;
  byoc_status_t status = byoc_pattern_parse(rule->pattern, rule->name, &scratch, diag, &pattern);
  if (status == BYOC_OK) matched = byoc_pattern_match_accepted(pattern, composite, root, &match, &failed);
  for (size_t i = 0; i < composite->constants.count && matched && !failed; ++i) {
    byoc_value_t *inside = composite->constants.entries[i].value;
    if (inside->uses.count > 0 && !is_asked_for(&match, inside)) failed = !lift(composite, call, inside, &scratch);
  }
  byoc_match_deinit(&match);
  byoc_arena_deinit(&scratch);
  return status == BYOC_OK && failed ? byoc_diag_out_of_memory(diag) : status;
}

byoc_status_t byoc_composite_note_passed(byoc_function_t *function, const byoc_node_t *call, const byoc_rule_t *rule,
                                         byoc_diag_t *diag) {
  const bool passes = rule != NULL && (rule->flags & BYOC_RULE_PASS_CONSTANTS) != 0;
  if (!passes || rule->pattern == NULL || strchr(rule->pattern, '@') == NULL) return BYOC_OK;
  int64_t *passed = BYOC_ARENA_ARRAY(&function->module->arena, int64_t, call->operand_count);
  size_t count = 0;
  for (uint32_t i = 0; passed != NULL && i < call->operand_count; ++i) {
    if (call->operands[i] != NULL && byoc_value_is_constant(call->operands[i])) passed[count++] = i;
  }
  if (passed == NULL) return byoc_diag_out_of_memory(diag);
  return count == 0 || byoc_attributes_set_ints(&function->attributes, BYOC_ATTRIBUTE_PASSED, passed, count)
             ? BYOC_OK
             : byoc_diag_out_of_memory(diag);
}

// SPDX-License-Identifier: Apache-2.0
// Replaces nodes by simpler ones where the row of their operator has a function that writes these.
#include "core/op/expand.h"

// The value that a use reads.
static byoc_value_t *used_value(const byoc_use_t *use) {
  return use->node ? use->node->operands[use->index] : use->block->results.data[use->index];
}

// A value that replaces another keeps the constant dimensions that were declared for it.
static bool keep_constants(byoc_value_t *value, const byoc_type_t *before) {
  const byoc_type_t *now = value->type;
  bool fits = byoc_type_is_tensor(before) && byoc_type_is_tensor(now) && before->rank == now->rank &&
              before->rank > 0 && before->dtype == now->dtype && !byoc_type_is_static(now);
  if (!fits || value->kind != BYOC_VALUE_RESULT) return true;
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < now->rank; ++d) {
    dims[d] = byoc_dim_is_constant(before->dims[d]) ? before->dims[d] : now->dims[d];
  }
  const byoc_type_t *type = byoc_type_tensor(&value->function->module->arena, now->dtype, now->rank, dims);
  if (type) value->type = type;
  return type != NULL;
}

static byoc_status_t expand_node(byoc_node_t *node, const byoc_op_t *op, byoc_diag_t *diag, bool *expanded) {
  byoc_use_t *uses = BYOC_ARENA_ARRAY(&node->function->module->arena, byoc_use_t, node->result_count);
  if (!uses) return byoc_diag_out_of_memory(diag);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    uses[i] = node->results[i]->uses.count > 0 ? node->results[i]->uses.data[0] : (byoc_use_t){0};
  }
  BYOC_RETURN_IF_ERROR(op->expand(node, diag, expanded));
  for (uint32_t i = 0; i < node->result_count && *expanded; ++i) {
    if (!uses[i].node && !uses[i].block) continue;
    if (!keep_constants(used_value(&uses[i]), node->results[i]->type)) return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

// Definitions rely on known ranks, except those of operators that the host program runs.
static bool has_ranks(const byoc_node_t *node, const byoc_op_t *op) {
  if (op->traits & (BYOC_OP_CONTROL | BYOC_OP_HOST)) return true;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_type_t *type = node->operands[i] ? node->operands[i]->type : NULL;
    if (byoc_type_is_tensor(type) && type->rank < 0) return false;
  }
  return true;
}

byoc_status_t byoc_op_expand(byoc_node_t *node, byoc_diag_t *diag, bool *out_expanded) {
  *out_expanded = false;
  const byoc_op_t *op = byoc_op_of(node);
  if (!op || !op->expand || !has_ranks(node, op)) return BYOC_OK;
  char text[256];
  byoc_node_describe(node, text, sizeof(text));
  BYOC_RETURN_IF_ERROR_IN(diag, expand_node(node, op, diag, out_expanded), "expanding %s", text);
  return BYOC_OK;
}

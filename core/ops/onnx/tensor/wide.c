// SPDX-License-Identifier: Apache-2.0
// Operators of very many operands or results, as trees of narrower ones.
#include "core/ops/onnx/tensor/wide.h"

#include "core/op/util.h"
#include "core/op/write.h"

// The two levels are about equally wide; a node that is still too wide is expanded again.
static uint32_t part_width(uint32_t count) {
  uint32_t width = 2;
  while (width * width < count && width < BYOC_WIDE) ++width;
  return width;
}

static byoc_attribute_t axis_of(const byoc_node_t *node, int32_t rank) {
  return (byoc_attribute_t){.name = "axis", .kind = BYOC_ATTRIBUTE_INT, .i = byoc_node_axis(node, "axis", rank)};
}

byoc_status_t byoc_expand_wide_concat(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  if (node->operand_count <= BYOC_WIDE) return BYOC_OK;
  byoc_writer_t w = {.node = node, .diag = diag};
  const uint32_t width = part_width(node->operand_count), count = (node->operand_count + width - 1) / width;
  const byoc_attribute_t axis = axis_of(node, node->operands[0]->type->rank);
  byoc_value_t **parts = BYOC_ARENA_ARRAY(&node->function->module->arena, byoc_value_t *, count);
  if (parts == NULL) return byoc_diag_out_of_memory(diag);
  for (uint32_t p = 0; p < count; ++p) {
    const uint32_t first = p * width, rest = node->operand_count - first;
    const byoc_node_t *made =
        byoc_write_many(&w, "", "Concat", node->operands + first, rest < width ? rest : width, 1, &axis, 1);
    if (made == NULL) return byoc_diag_failure(diag);
    parts[p] = made->results[0];
  }
  const byoc_node_t *whole = byoc_write_many(&w, "", "Concat", parts, count, 1, &axis, 1);
  return byoc_write_end(&w, whole != NULL ? whole->results[0] : NULL, out_changed);
}

byoc_status_t byoc_expand_wide_fold(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  if (node->operand_count <= BYOC_WIDE) return BYOC_OK;
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *part[BYOC_WIDE], *whole = NULL;
  for (uint32_t at = 0; at < node->operand_count;) {
    uint32_t count = 0;
    if (whole != NULL) part[count++] = whole;
    while (count < BYOC_WIDE && at < node->operand_count) part[count++] = node->operands[at++];
    const byoc_node_t *made = byoc_write_many(&w, "", node->op, part, count, 1, NULL, 0);
    if (made == NULL) return byoc_diag_failure(diag);
    whole = made->results[0];
  }
  return byoc_write_end(&w, whole, out_changed);
}

// Splits `x` along the axis into parts of these lengths.
static byoc_node_t *split(byoc_writer_t *w, byoc_value_t *x, const byoc_attribute_t *axis, const int64_t *lengths,
                          uint32_t count) {
  byoc_value_t *operands[] = {x, byoc_write_vector(w, "split", BYOC_DTYPE_I64, count, lengths)};
  return byoc_write_many(w, "", "Split", operands, 2, count, axis, 1);
}

byoc_status_t byoc_expand_wide_split(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  if (node->result_count <= BYOC_WIDE) return BYOC_OK;
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_arena_t *arena = &node->function->module->arena;
  const byoc_attribute_t axis = axis_of(node, node->operands[0]->type->rank);
  const uint32_t width = part_width(node->result_count), count = (node->result_count + width - 1) / width;
  int64_t *lengths = BYOC_ARENA_ARRAY(arena, int64_t, node->result_count);
  int64_t *sums = BYOC_ARENA_ARRAY(arena, int64_t, count);
  if (lengths == NULL || sums == NULL) return byoc_diag_out_of_memory(diag);
  for (uint32_t r = 0; r < node->result_count; ++r) {
    const byoc_dim_t length = node->results[r]->type->dims[axis.i];
    if (!byoc_dim_is_constant(length)) return BYOC_OK;
    lengths[r] = length.constant;
    sums[r / width] += length.constant;
  }
  const byoc_node_t *whole = split(&w, node->operands[0], &axis, sums, count), *part = NULL;
  byoc_value_t *first = NULL;
  for (uint32_t r = 0; r < node->result_count && whole != NULL; ++r) {
    const uint32_t rest = node->result_count - r;
    if (r % width == 0) part = split(&w, whole->results[r / width], &axis, lengths + r, rest < width ? rest : width);
    if (part == NULL) break;
    if (r == 0) first = part->results[0];
    if (r > 0 && !byoc_value_replace_uses(node->results[r], part->results[r % width])) w.failed = true;
  }
  return byoc_write_end(&w, first, out_changed);
}

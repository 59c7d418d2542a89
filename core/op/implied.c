// SPDX-License-Identifier: Apache-2.0
// Lists that an operator takes for a missing attribute.
#include "core/op/implied.h"

#include <string.h>

#include "core/op/op.h"
#include "core/op/schema.h"

static int32_t rank_of(const byoc_node_t *node, uint32_t operand) {
  if (operand >= node->operand_count || node->operands[operand] == NULL) return -1;
  const byoc_type_t *type = node->operands[operand]->type;
  return byoc_type_is_tensor(type) ? type->rank : -1;
}

static size_t fill(int64_t *out, int32_t count, int64_t value) {
  for (int32_t i = 0; i < count; ++i) out[i] = value;
  return count > 0 ? (size_t)count : 0;
}

// The dimensions of the weights behind the first two.
static size_t kernel_shape(const byoc_node_t *node, int64_t *out) {
  if (strstr(node->op, "Conv") == NULL) return 0; // pools have to say it
  const uint32_t weights = strncmp(node->op, "QLinear", strlen("QLinear")) == 0 ? 3 : 1;
  const int32_t rank = rank_of(node, weights);
  for (int32_t d = 2; d < rank; ++d) {
    const byoc_dim_t dim = node->operands[weights]->type->dims[d];
    if (!byoc_dim_is_constant(dim)) return 0;
    out[d - 2] = dim.constant;
  }
  return rank > 2 ? (size_t)rank - 2 : 0;
}

// Does it move a window over all dimensions but two?
static bool has_window(const byoc_node_t *node) {
  return strstr(node->op, "Conv") != NULL || strstr(node->op, "Pool") != NULL;
}

// Padding that is computed depends on sizes.
static bool pads_itself(const byoc_node_t *node) {
  const byoc_attribute_t *way = byoc_node_value(node, "auto_pad");
  return way != NULL && way->kind == BYOC_ATTRIBUTE_STRING && strncmp(way->s, "SAME", 4) == 0;
}

size_t byoc_node_implied_ints(const byoc_node_t *node, const char *name, int64_t *out) {
  const byoc_op_t *op = byoc_op_of(node);
  const int32_t rank = rank_of(node, 0);
  if (op == NULL || byoc_op_attribute(op, name) == NULL || rank < 0) return 0;
  if (byoc_node_is(node, "", "Transpose")) {
    for (int32_t d = 0; d < rank; ++d) out[d] = rank - 1 - d;
    return (size_t)rank;
  }
  if (!has_window(node)) return 0;
  if (strcmp(name, "strides") == 0 || strcmp(name, "dilations") == 0) return fill(out, rank - 2, 1);
  if (strcmp(name, "pads") == 0) return pads_itself(node) ? 0 : fill(out, 2 * (rank - 2), 0);
  if (strcmp(name, "output_padding") == 0) return fill(out, rank - 2, 0);
  return strcmp(name, "kernel_shape") == 0 ? kernel_shape(node, out) : 0;
}

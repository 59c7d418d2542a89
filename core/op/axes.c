// SPDX-License-Identifier: Apache-2.0
// Finds the operands that are divided with a result: one function for each kind of operator, named in its rows.
#include "core/op/axes.h"

#include "core/op/util.h"

static int64_t size_of(const byoc_type_t *type, int32_t d) {
  return type->dims[d].constant;
}

// Divides operand `index`, which broadcasts to result 0.
static bool cut_broadcast(const byoc_node_t *node, uint32_t index, byoc_axis_t *axis) {
  const byoc_type_t *type = byoc_operand_type(node, index), *result = node->results[0]->type;
  if (type == NULL) return true;
  if (type->rank > result->rank) return false;
  const int32_t d = axis->dim - (result->rank - type->rank);
  if (d < 0 || size_of(type, d) == 1) return true;
  axis->operands[index] = d;
  return size_of(type, d) == size_of(result, axis->dim);
}

// ---- by trait ----

static bool elementwise(const byoc_node_t *node, byoc_axis_t *axis) {
  enum { FIRST_WITH_BROADCASTING = 7 };
  const byoc_type_t *result = node->results[0]->type;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_type_t *type = byoc_operand_type(node, i);
    // In older versions an attribute aligns the second operand's dimensions.
    if (type != NULL && node->since_version < FIRST_WITH_BROADCASTING && type->rank != result->rank) return false;
    if (!cut_broadcast(node, i, axis)) return false;
  }
  return true;
}

bool byoc_axes_broadcast(const byoc_node_t *node, byoc_axis_t *axis) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!cut_broadcast(node, i, axis)) return false;
  }
  return true;
}

bool byoc_axes_channelwise(const byoc_node_t *node, byoc_axis_t *axis) {
  axis->operands[0] = axis->dim;
  return axis->dim < 2 && node->result_count == 1; // a second result counts across channels
}

// A view keeps the order of elements. So a dimension corresponds to the one with as many elements before it: their
// parts are the same bytes, even if later dimensions are merged with it or split off.
static bool view(const byoc_node_t *node, byoc_axis_t *axis) {
  const byoc_type_t *from = byoc_operand_type(node, 0), *to = node->results[0]->type;
  int64_t before = 1, before_from = 1;
  if (byoc_type_element_count(from) != byoc_type_element_count(to)) return false; // it is a part
  for (int32_t d = 0; d < axis->dim; ++d) before *= size_of(to, d);
  for (int32_t d = 0; d < from->rank; ++d) {
    if (before_from == before && size_of(from, d) % axis->parts == 0) {
      axis->operands[0] = d;
      return true;
    }
    before_from *= size_of(from, d);
  }
  return false;
}

// ---- normalisations, reductions ----

bool byoc_axes_batch(const byoc_node_t *node, byoc_axis_t *axis) {
  (void)node;
  axis->operands[0] = 0;
  return axis->dim == 0;
}

static bool cut_first(byoc_axis_t *axis, bool is_free) {
  axis->operands[0] = axis->dim;
  return is_free;
}

bool byoc_axes_beside(const byoc_node_t *node, byoc_axis_t *axis) {
  return cut_first(axis, axis->dim != byoc_node_axis(node, "axis", byoc_operand_type(node, 0)->rank));
}

bool byoc_axes_before(const byoc_node_t *node, byoc_axis_t *axis) {
  for (uint32_t i = 1; i < node->operand_count; ++i) {
    if (!cut_broadcast(node, i, axis)) return false;
  }
  return cut_first(axis, axis->dim < byoc_node_axis(node, "axis", byoc_operand_type(node, 0)->rank));
}

bool byoc_axes_softmax(const byoc_node_t *node, byoc_axis_t *axis) {
  enum { FIRST_OF_ONE_DIMENSION = 13 };
  if (node->since_version >= FIRST_OF_ONE_DIMENSION) return byoc_axes_beside(node, axis);
  const int64_t rank = byoc_operand_type(node, 0)->rank, first = byoc_node_int(node, "axis");
  return cut_first(axis, axis->dim < (first < 0 ? first + rank : first));
}

bool byoc_axes_instance_norm(const byoc_node_t *node, byoc_axis_t *axis) {
  if (axis->dim == 1) axis->operands[1] = axis->operands[2] = 0;
  return byoc_axes_channelwise(node, axis);
}

bool byoc_axes_batch_norm(const byoc_node_t *node, byoc_axis_t *axis) {
  for (uint32_t i = 1; i < node->operand_count && axis->dim == 1; ++i) axis->operands[i] = 0;
  return cut_first(axis, node->result_count == 1);
}

bool byoc_axes_cumulate(const byoc_node_t *node, byoc_axis_t *axis) {
  byoc_ints_t along;
  int32_t d = 0;
  return byoc_read_ints(node, NULL, 1, &along) == BYOC_KNOWN_YES && along.count == 1 &&
         byoc_normalize_axis(along.values[0], byoc_operand_type(node, 0)->rank, &d) && cut_first(axis, d != axis->dim);
}

// The result has the dimensions that are not folded and, with keepdims, 1 for each folded one.
static bool cut_folded(const byoc_node_t *node, uint32_t over, byoc_axis_t *axis) {
  const int32_t rank = byoc_operand_type(node, 0)->rank;
  const bool keep = byoc_node_flag(node, "keepdims");
  int32_t at = 0;
  for (int32_t d = 0; d < rank; ++d) {
    const bool is_folded = (over >> d & 1) != 0;
    if (is_folded && !keep) continue;
    if (at == axis->dim) {
      axis->operands[0] = d;
      return !is_folded;
    }
    at += 1;
  }
  return false;
}

bool byoc_axes_reduce(const byoc_node_t *node, byoc_axis_t *axis) {
  byoc_ints_t axes;
  if (byoc_read_ints(node, "axes", 1, &axes) == BYOC_KNOWN_NO) return false;
  if (axes.count == 0) return byoc_node_flag(node, "noop_with_empty_axes") && cut_first(axis, true);
  uint32_t over = 0;
  for (size_t i = 0; i < axes.count; ++i) {
    int32_t d = 0;
    if (!byoc_normalize_axis(axes.values[i], byoc_operand_type(node, 0)->rank, &d)) return false;
    over |= (uint32_t)1 << d;
  }
  return cut_folded(node, over, axis);
}

bool byoc_axes_arg(const byoc_node_t *node, byoc_axis_t *axis) {
  return cut_folded(node, (uint32_t)1 << byoc_node_axis(node, "axis", byoc_operand_type(node, 0)->rank), axis);
}

// A scale is one number, or one for each index of a dimension, or one for each block.
bool byoc_axes_quantize(const byoc_node_t *node, byoc_axis_t *axis) {
  const byoc_type_t *x = byoc_operand_type(node, 0);
  for (uint32_t i = 1; i < node->operand_count; ++i) {
    const byoc_type_t *type = byoc_operand_type(node, i);
    if (type == NULL || byoc_type_element_count(type) == 1) continue;
    const bool is_along = axis->dim == byoc_node_axis(node, "axis", x->rank);
    if (type->rank > 1 && is_along) return false;
    if (type->rank > 1) axis->operands[i] = axis->dim;
    if (type->rank == 1 && is_along) axis->operands[i] = 0;
  }
  return cut_first(axis, true);
}

// ---- products ----

bool byoc_axes_product(const byoc_node_t *node, byoc_axis_t *axis) {
  const byoc_type_t *left = byoc_operand_type(node, 0), *right = byoc_operand_type(node, 1);
  const bool has_rows = left->rank > 1, has_columns = right->rank > 1;
  const int32_t batches = node->results[0]->type->rank - has_rows - has_columns;
  if (axis->dim < batches) {
    for (uint32_t i = 0; i < 2; ++i) {
      const byoc_type_t *type = byoc_operand_type(node, i);
      const int32_t d = axis->dim - (batches - (type->rank - 2));
      if (type->rank > 2 && d >= 0 && size_of(type, d) != 1) axis->operands[i] = d;
    }
  } else if (has_rows && axis->dim == batches) {
    axis->operands[0] = left->rank - 2;
  } else {
    axis->operands[1] = right->rank - 1;
  }
  return true;
}

bool byoc_axes_gemm(const byoc_node_t *node, byoc_axis_t *axis) {
  const bool is_row = axis->dim == 0;
  if (is_row) axis->operands[0] = byoc_node_flag(node, "transA");
  if (!is_row) axis->operands[1] = byoc_node_flag(node, "transB") ? 0 : 1;
  return cut_broadcast(node, 2, axis);
}

// Divides images, or output channels with their filters and biases. Each output channel needs all input channels. Other
// operands are scalars.
bool byoc_axes_conv(const byoc_node_t *node, byoc_axis_t *axis) {
  if (axis->dim == 0) axis->operands[0] = 0;
  if (axis->dim == 1) axis->operands[1] = 0;
  if (axis->dim == 1 && byoc_has_operand(node, 2)) axis->operands[2] = 0;
  return axis->dim == 0 || (axis->dim == 1 && byoc_node_int(node, "group") == 1);
}

bool byoc_axes_attention(const byoc_node_t *node, byoc_axis_t *axis) {
  enum { MASK = 3 };
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_type_t *type = byoc_operand_type(node, i);
    if (type != NULL && (i != MASK || (type->rank == 4 && size_of(type, 0) != 1))) axis->operands[i] = 0;
  }
  return axis->dim == 0;
}

// ---- data movement ----

bool byoc_axes_transpose(const byoc_node_t *node, byoc_axis_t *axis) {
  size_t count = 0;
  const int64_t *permutation = byoc_node_ints(node, "perm", &count);
  const int32_t rank = byoc_operand_type(node, 0)->rank;
  axis->operands[0] = permutation != NULL ? (int32_t)permutation[axis->dim] : rank - 1 - axis->dim;
  return true;
}

bool byoc_axes_expand(const byoc_node_t *node, byoc_axis_t *axis) {
  return cut_broadcast(node, 0, axis) && axis->operands[0] >= 0;
}

bool byoc_axes_concat(const byoc_node_t *node, byoc_axis_t *axis) {
  for (uint32_t i = 0; i < node->operand_count; ++i) axis->operands[i] = axis->dim;
  return axis->dim != byoc_node_axis(node, "axis", node->results[0]->type->rank);
}

bool byoc_axes_matrices(const byoc_node_t *node, byoc_axis_t *axis) {
  return cut_first(axis, axis->dim < node->results[0]->type->rank - 2);
}

bool byoc_axes_rows(const byoc_node_t *node, byoc_axis_t *axis) {
  return cut_first(axis, axis->dim < node->results[0]->type->rank - 1);
}

bool byoc_axes_slice(const byoc_node_t *node, byoc_axis_t *axis) {
  const int32_t rank = byoc_operand_type(node, 0)->rank;
  byoc_ints_t starts, axes;
  const byoc_known_t known = byoc_read_ints(node, "axes", 3, &axes);
  if (known == BYOC_KNOWN_NO || byoc_read_ints(node, "starts", 1, &starts) != BYOC_KNOWN_YES) return false;
  for (size_t i = 0; i < starts.count; ++i) {
    int32_t d = (int32_t)i;
    if (known == BYOC_KNOWN_YES && (i >= axes.count || !byoc_normalize_axis(axes.values[i], rank, &d))) return false;
    if (d == axis->dim) return false;
  }
  return cut_first(axis, true);
}

bool byoc_axes_pad(const byoc_node_t *node, byoc_axis_t *axis) {
  const size_t rank = (size_t)byoc_operand_type(node, 0)->rank, d = (size_t)axis->dim;
  byoc_ints_t pads;
  return !byoc_has_operand(node, 3) && byoc_read_ints(node, "pads", 1, &pads) == BYOC_KNOWN_YES &&
         pads.count == 2 * rank && pads.values[d] == 0 && pads.values[rank + d] == 0 && cut_first(axis, true);
}

bool byoc_axes_gather(const byoc_node_t *node, byoc_axis_t *axis) {
  const byoc_type_t *data = byoc_operand_type(node, 0), *indices = byoc_operand_type(node, 1);
  const int32_t along = byoc_node_axis(node, "axis", data->rank);
  if (axis->dim < along) {
    axis->operands[0] = axis->dim;
  } else if (axis->dim < along + indices->rank) {
    axis->operands[1] = axis->dim - along;
  } else {
    axis->operands[0] = axis->dim - indices->rank + 1;
  }
  return true;
}

bool byoc_axes_gather_elements(const byoc_node_t *node, byoc_axis_t *axis) {
  const byoc_type_t *data = byoc_operand_type(node, 0), *indices = byoc_operand_type(node, 1);
  const bool is_along = axis->dim == byoc_node_axis(node, "axis", data->rank);
  axis->operands[1] = axis->dim;
  if (!is_along) axis->operands[0] = axis->dim;
  return is_along || size_of(data, axis->dim) == size_of(indices, axis->dim);
}

// Divides images and channels, if the operator keeps their numbers.
bool byoc_axes_resize(const byoc_node_t *node, byoc_axis_t *axis) {
  return axis->dim < 2 &&
         size_of(byoc_operand_type(node, 0), axis->dim) == size_of(node->results[0]->type, axis->dim) &&
         cut_first(axis, true);
}

// ---- any node ----

static bool is_known(const byoc_value_t *value) {
  return byoc_type_is_tensor(value->type) && byoc_type_is_static(value->type);
}

static bool divides(const byoc_value_t *value, int32_t d, int64_t parts) {
  return d >= 0 && d < value->type->rank && byoc_type_element_count(value->type) > 0 &&
         size_of(value->type, d) % parts == 0;
}

static bool cut(const byoc_op_t *op, const byoc_node_t *node, byoc_axis_t *axis) {
  if ((op->traits & (BYOC_OP_RANDOM | BYOC_OP_CONTROL | BYOC_OP_HOST)) != 0) return false;
  if (op->axes != NULL) return op->axes(node, axis);
  if (op->is_view) return view(node, axis);
  if ((op->traits & BYOC_OP_CHANNELWISE) != 0) return byoc_axes_channelwise(node, axis);
  return (op->traits & BYOC_OP_ELEMENTWISE) != 0 && elementwise(node, axis);
}

bool byoc_node_cut(const byoc_node_t *node, int32_t dim, byoc_axis_t *axis) {
  const byoc_op_t *op = node->callee == NULL ? byoc_op_of(node) : NULL;
  if (op == NULL || node->result_count == 0) return false;
  axis->dim = dim;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (node->operands[i] != NULL && !is_known(node->operands[i])) return false;
    axis->operands[i] = -1;
  }
  for (uint32_t r = 0; r < node->result_count; ++r) {
    if (!is_known(node->results[r])) return false;
    axis->results[r] = dim;
  }
  if (!divides(node->results[0], dim, axis->parts) || !cut(op, node, axis)) return false;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (axis->operands[i] < 0) continue;
    if (node->operands[i] == NULL || !divides(node->operands[i], axis->operands[i], axis->parts)) return false;
  }
  for (uint32_t r = 0; r < node->result_count; ++r) {
    if (!divides(node->results[r], axis->results[r], axis->parts)) return false;
  }
  return true;
}

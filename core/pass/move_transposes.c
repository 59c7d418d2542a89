// SPDX-License-Identifier: Apache-2.0
// move-transposes: transposes move across elementwise operators, meet, and become one or none. A transpose moves only
// if that removes a transpose.
#include "core/ir/virtual_device.h"
#include "core/op/op.h"
#include "core/op/util.h"
#include "core/pass/pass.h"
#include "core/pass/rewrite.h"

// Elementwise operators between two transposes are few.
enum { MAX_CHAIN = 16 };

typedef struct permutation_t {
  int32_t rank;
  int64_t axes[BYOC_MAX_RANK]; // result axis → operand axis
} permutation_t;

static bool read_transpose(const byoc_node_t *node, permutation_t *out_permutation) {
  if (node == NULL || !byoc_node_is_onnx(node, "Transpose") || !byoc_is_ranked(node->operands[0]->type)) return false;
  size_t count = 0;
  const int64_t *axes = byoc_node_ints(node, "perm", &count);
  out_permutation->rank = node->operands[0]->type->rank;
  if (axes != NULL && count != (size_t)out_permutation->rank) return false;
  for (int32_t d = 0; d < out_permutation->rank; ++d) {
    out_permutation->axes[d] = axes != NULL ? axes[d] : out_permutation->rank - 1 - d;
  }
  return true;
}

static bool same_permutation(const permutation_t *a, const permutation_t *b) {
  for (int32_t d = 0; a->rank == b->rank && d < a->rank; ++d) {
    if (a->axes[d] != b->axes[d]) return false;
  }
  return a->rank == b->rank;
}

static byoc_node_t *create_transpose(byoc_node_t *before, byoc_value_t *x, const permutation_t *permutation) {
  const byoc_attribute_t perm = {
      .name = "perm", .kind = BYOC_ATTRIBUTE_INTS, .ints = permutation->axes, .count = (size_t)permutation->rank};
  return byoc_op_create_with(before->block, before, "", "Transpose", &x, 1, 1, &perm, 1, NULL);
}

// Transpose(Transpose(x, p), q) → Transpose(x, p after q)
static byoc_status_t merge(byoc_node_t *outer, byoc_diag_t *diag, size_t *changes) {
  permutation_t second, first, both;
  const byoc_node_t *inner = byoc_value_open_producer(outer->operands[0]);
  if (!read_transpose(outer, &second) || !read_transpose(inner, &first) || outer->results[0]->uses.count == 0) {
    return BYOC_OK;
  }
  both.rank = second.rank;
  for (int32_t d = 0; d < both.rank; ++d) both.axes[d] = first.axes[second.axes[d]];
  byoc_node_t *merged = create_transpose(outer, inner->operands[0], &both);
  if (merged == NULL || !byoc_node_set_name(merged, outer->name)) return byoc_diag_out_of_memory(diag);
  return byoc_pass_replace(outer, merged->results[0], diag, changes);
}

// ---- elementwise operators ----

static bool is_single(const byoc_value_t *value) {
  return byoc_value_is_constant(value) && byoc_type_is_static(value->type) &&
         byoc_type_element_count(value->type) == 1 && value->type->rank <= 1;
}

static bool is_elementwise(const byoc_node_t *node) {
  if (!byoc_node_has_trait(node, BYOC_OP_ELEMENTWISE) || node->result_count != 1 || node->block_count > 0) return false;
  if (byoc_attributes_find(&node->attributes, "axis") != NULL) return false;
  if (byoc_node_is_onnx(node, "PRelu") && node->since_version < 7) return is_single(node->operands[1]);
  if (byoc_node_has_trait(node, BYOC_OP_BROADCASTS))
    return node->operand_count <= 2; // excludes broadcasting along one axis only
  return node->operand_count == 1 || byoc_node_is_onnx(node, "Clip");
}

// Is the operand available without the transpose: is its producer one, or is it a constant?
static bool can_put_back(const byoc_node_t *node, uint32_t index, const permutation_t *permutation) {
  const byoc_value_t *value = node->operands[index];
  permutation_t other;
  if (value == NULL || is_single(value)) return true;
  if (byoc_value_is_constant(value)) {
    return byoc_node_has_trait(node, BYOC_OP_BROADCASTS) && byoc_type_is_static(value->type) &&
           value->type->rank <= permutation->rank && value->type->dtype != BYOC_DTYPE_STRING;
  }
  return value->uses.count == 1 && read_transpose(byoc_value_open_producer(value), &other) &&
         same_permutation(&other, permutation) && value->type->rank == permutation->rank;
}

// A constant as the operator would see it before the transpose: leading ones are added, then the axes are put back.
static byoc_value_t *put_back_constant(byoc_node_t *node, const byoc_value_t *value, const permutation_t *permutation) {
  byoc_graph_module_t *module = node->function->module;
  int64_t dims[BYOC_MAX_RANK];
  int32_t missing = permutation->rank - value->type->rank;
  for (int32_t d = 0; d < permutation->rank; ++d) dims[d] = d < missing ? 1 : value->type->dims[d - missing].constant;
  const byoc_type_t *type = byoc_type_tensor_static(&module->arena, value->type->dtype, permutation->rank, dims);
  byoc_constant_t *wide = type ? byoc_constant_wrap(module, value->constant->name, type, value->constant->data) : NULL;
  byoc_value_t *operand = wide ? byoc_function_constant(node->function, wide) : NULL;
  if (operand != NULL) operand->device = value->device;
  permutation_t inverse = {.rank = permutation->rank};
  for (int32_t d = 0; d < permutation->rank; ++d) inverse.axes[permutation->axes[d]] = d;
  byoc_node_t *transpose = operand ? create_transpose(node, operand, &inverse) : NULL;
  return transpose ? transpose->results[0] : NULL; // folded later
}

static byoc_value_t *put_back(byoc_node_t *node, byoc_value_t *value, const permutation_t *permutation) {
  if (value == NULL || is_single(value)) return value;
  if (byoc_value_is_constant(value)) return put_back_constant(node, value, permutation);
  return byoc_value_open_producer(value)->operands[0];
}

// Does only a transpose read the value, perhaps through elementwise operators?
static bool leads_to_transpose(const byoc_value_t *value, const permutation_t *permutation, int length) {
  if (value->uses.count != 1 || value->uses.data[0].node == NULL || length > MAX_CHAIN) return false;
  const byoc_node_t *reader = value->uses.data[0].node;
  if (byoc_node_is_onnx(reader, "Transpose")) return true;
  if (!is_elementwise(reader)) return false;
  for (uint32_t i = 0; i < reader->operand_count; ++i) {
    if (reader->operands[i] != value && !can_put_back(reader, i, permutation)) return false;
  }
  return byoc_is_ranked(reader->results[0]->type) && reader->results[0]->type->rank == permutation->rank &&
         leads_to_transpose(reader->results[0], permutation, length + 1);
}

// f(Transpose(x), ...) → Transpose(f(x, ...)), if that leaves one transpose fewer: two operands have the same one, or
// the result goes into another one.
static byoc_status_t push_through(byoc_node_t *node, byoc_diag_t *diag, size_t *changes) {
  permutation_t permutation = {0};
  size_t transposed = 0;
  if (node->operand_count > 4) return BYOC_OK;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    permutation_t found;
    if (!read_transpose(byoc_value_open_producer(node->operands[i]), &found)) continue;
    if (transposed++ == 0) permutation = found;
  }
  if (transposed == 0 || !byoc_is_ranked(node->results[0]->type) || node->results[0]->type->rank != permutation.rank) {
    return BYOC_OK;
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!can_put_back(node, i, &permutation)) return BYOC_OK;
  }
  if (transposed < 2 && !leads_to_transpose(node->results[0], &permutation, 0)) return BYOC_OK;

  byoc_value_t *operands[4];
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    operands[i] = put_back(node, node->operands[i], &permutation);
    if (operands[i] == NULL && node->operands[i] != NULL) return byoc_diag_out_of_memory(diag);
  }
  byoc_node_t *moved = byoc_node_create(node->block, node, node->domain, node->op, node->since_version, operands,
                                        node->operand_count, 1);
  if (moved == NULL || !byoc_attributes_copy(&moved->attributes, &node->attributes) ||
      !byoc_node_set_name(moved, node->name)) {
    return byoc_diag_out_of_memory(diag);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_node(moved, diag));
  moved->results[0]->device = node->results[0]->device;
  byoc_node_t *transpose = create_transpose(node, moved->results[0], &permutation);
  if (transpose == NULL) return byoc_diag_out_of_memory(diag);
  return byoc_pass_replace(node, transpose->results[0], diag, changes);
}

static byoc_status_t move(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes) {
  (void)self;
  if (byoc_node_is_onnx(node, "Transpose")) return merge(node, diag, changes);
  return is_elementwise(node) ? push_through(node, diag, changes) : BYOC_OK;
}

byoc_status_t byoc_pass_move_transposes(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  return byoc_pass_visit_module(module, move, NULL, diag, changes);
}

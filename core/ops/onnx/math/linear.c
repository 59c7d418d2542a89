// SPDX-License-Identifier: Apache-2.0
// Matrix products: MatMul with broadcast batches, and Gemm. Both are one product over strided operands.
#include <string.h>

#include "core/op/axes.h"
#include "core/op/write.h"
#include "core/ops/onnx/math/product.h"

// ---- MatMul ----
byoc_status_t byoc_infer_product(const byoc_infer_t *infer, uint32_t second, byoc_dtype_t dtype) {
  const byoc_type_t *a = byoc_operand_type(infer->node, 0), *c = byoc_operand_type(infer->node, second);
  if (!byoc_is_ranked(a) || !byoc_is_ranked(c)) return byoc_infer_set_unranked(infer, 0, dtype);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, BYOC_MAX_RANK));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, second, 1, BYOC_MAX_RANK));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, second, c->rank == 1 ? 0 : c->rank - 2, a->dims[a->rank - 1]));
  byoc_dim_t dims[BYOC_MAX_RANK + 2];
  bool failed = false;
  int32_t left = a->rank > 2 ? a->rank - 2 : 0, right = c->rank > 2 ? c->rank - 2 : 0;
  int32_t rank = left > right ? left : right;
  for (int32_t d = 0; d < rank; ++d) {
    int32_t i = d - (rank - left), j = d - (rank - right);
    byoc_side_t x = i >= 0 ? byoc_side_of(infer, 0, i) : byoc_side_number(1);
    byoc_side_t y = j >= 0 ? byoc_side_of(infer, second, j) : byoc_side_number(1);
    if (byoc_broadcast_dim(infer, x, y, &dims[d], &failed)) continue;
    char x_text[BYOC_TYPE_TEXT_SIZE], y_text[BYOC_TYPE_TEXT_SIZE];
    return byoc_infer_error(infer, "batches of %s and %s do not broadcast", byoc_type_text(a, x_text),
                            byoc_type_text(c, y_text));
  }
  if (a->rank > 1) dims[rank++] = a->dims[a->rank - 2];
  if (c->rank > 1) dims[rank++] = c->dims[c->rank - 1];
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, dtype, rank, dims);
}

static byoc_status_t infer_matmul(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_number, "a numeric tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_number, "a numeric tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, 1));
  return byoc_infer_product(infer, 1, byoc_operand_type(infer->node, 0)->dtype);
}

// byoc::MatMul is for products of quantised matrices: products of bytes, signed on one side, are summed in i32.
static byoc_status_t infer_matmul_bytes(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_byte, "a tensor of bytes"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_byte, "a tensor of bytes"));
  if (byoc_operand_type(infer->node, 0)->dtype == byoc_operand_type(infer->node, 1)->dtype) {
    return byoc_infer_error(infer, "expected signed bytes on one side and unsigned ones on the other");
  }
  return byoc_infer_product(infer, 1, BYOC_DTYPE_I32);
}

static byoc_status_t loops_matmul(byoc_lower_t *lower, const byoc_node_t *node) {
  const byoc_type_t *a = node->operands[0]->type, *c = node->operands[1]->type;
  byoc_product_t p = byoc_product_of(lower, node);
  byoc_loop_builder_t *b = p.b;
  const byoc_loop_expr_t *one = byoc_loop_int(b, 1);
  p.depth = byoc_emit_dim(b, a, a->rank - 1);
  p.left_row = p.depth, p.left_k = one;
  p.has_columns = c->rank > 1;
  p.columns = p.has_columns ? byoc_emit_dim(b, c, c->rank - 1) : one;
  p.right_k = p.columns, p.right_column = one;
  p.row_end = p.type->rank - (p.has_columns ? 1 : 0);
  p.row_begin = p.row_end - (a->rank > 1 ? 1 : 0);
  // With one matrix on the right for all batches, the batches are rows of one taller matrix.
  if (c->rank <= 2) p.row_begin = 0;
  p.batch_rank = p.row_begin;
  p.rows = byoc_emit_extent(b, p.type, p.row_begin, p.row_end);
  return byoc_product_lower(&p);
}

// ---- Gemm ----
byoc_status_t byoc_infer_gemm(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_number, "a numeric tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_number, "a numeric tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, 1));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, 2));
  const byoc_type_t *a = byoc_operand_type(node, 0), *c = byoc_operand_type(node, 1);
  if (!byoc_is_ranked(a) || !byoc_is_ranked(c)) return byoc_infer_set_unranked(infer, 0, a->dtype);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 2, 2));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 1, 2, 2));
  int32_t left = byoc_node_flag(node, "transA");
  int32_t right = byoc_node_flag(node, "transB");
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 1, right, a->dims[1 - left]));
  byoc_dim_t dims[] = {a->dims[left], c->dims[1 - right]};
  BYOC_RETURN_IF_ERROR(byoc_infer_need_broadcast(infer, 2, 2, dims));
  return byoc_infer_set(infer, 0, a->dtype, 2, dims);
}

static byoc_status_t loops_gemm(byoc_lower_t *lower, const byoc_node_t *node) {
  const byoc_type_t *a = node->operands[0]->type, *c = node->operands[1]->type;
  byoc_product_t p = byoc_product_of(lower, node);
  byoc_loop_builder_t *b = p.b;
  const byoc_loop_expr_t *one = byoc_loop_int(b, 1);
  bool left = byoc_node_flag(node, "transA");
  bool right = byoc_node_flag(node, "transB");
  p.rows = byoc_emit_dim(b, p.type, 0), p.columns = byoc_emit_dim(b, p.type, 1);
  p.depth = byoc_emit_dim(b, a, left ? 0 : 1);
  p.left_row = left ? one : p.depth, p.left_k = left ? p.rows : one;
  p.right_k = right ? one : byoc_emit_dim(b, c, 1), p.right_column = right ? byoc_emit_dim(b, c, 1) : one;
  p.row_begin = 0, p.row_end = 1;
  return byoc_product_lower(&p);
}

// x with its two dimensions swapped; x is a constant.
static byoc_value_t *transposed(byoc_node_t *node, const byoc_value_t *x) {
  byoc_graph_module_t *module = node->function->module;
  const byoc_type_t *from = x->type;
  const int64_t rows = from->dims[0].constant, columns = from->dims[1].constant;
  const byoc_type_t *type = byoc_type_tensor_static(&module->arena, from->dtype, 2, (const int64_t[]){columns, rows});
  void *data = NULL;
  byoc_constant_t *constant = type ? byoc_constant_allocate(module, x->constant->name, type, &data) : NULL;
  if (!constant) return NULL;
  size_t size = byoc_dtype_bits(from->dtype) / 8;
  const char *source = x->constant->data;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) {
      memcpy((char *)data + (size_t)(j * rows + i) * size, source + (size_t)(i * columns + j) * size, size);
    }
  }
  return byoc_function_constant(node->function, constant);
}

// Gemm(a, constant, transB=1) → Gemm(a, transposed constant): panels are then packed along its lines. Products of few
// rows read columns as they are in memory.
static byoc_status_t expand_gemm(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  enum { FEW_ROWS = 4 };
  *out_changed = false;
  const byoc_value_t *right = node->operands[1];
  const byoc_dim_t rows = node->results[0]->type->dims[0];
  if (!byoc_node_flag(node, "transB") || !byoc_value_is_constant(right)) return BYOC_OK;
  if (byoc_dtype_bits(right->type->dtype) < 8 || (byoc_dim_is_constant(rows) && rows.constant < FEW_ROWS)) {
    return BYOC_OK;
  }
  byoc_value_t *turned = transposed(node, right);
  if (!turned) return byoc_diag_out_of_memory(diag);
  byoc_value_t *operands[] = {node->operands[0], turned, byoc_has_operand(node, 2) ? node->operands[2] : NULL};
  const byoc_attribute_t attributes[] = {
      {.name = "alpha", .kind = BYOC_ATTRIBUTE_FLOAT, .f = byoc_node_float(node, "alpha")},
      {.name = "beta", .kind = BYOC_ATTRIBUTE_FLOAT, .f = byoc_node_float(node, "beta")},
      {.name = "transA", .kind = BYOC_ATTRIBUTE_INT, .i = byoc_node_int(node, "transA")}};
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_node_t *made = byoc_write_many(&w, "", "Gemm", operands, operands[2] ? 3 : 2, 1, attributes,
                                      sizeof attributes / sizeof *attributes);
  return byoc_write_end(&w, made ? made->results[0] : NULL, out_changed);
}

static const byoc_op_attribute_t gemm_attributes[] = {
    {BYOC_ATTR_FLOAT("alpha", 1.0)},
    {BYOC_ATTR_FLOAT("beta", 1.0)},
    {BYOC_ATTR_INT("transA", 0)},
    {BYOC_ATTR_INT("transB", 0)},
    {BYOC_ATTR_INT("broadcast", 0), .until = 7},
    BYOC_ATTR_END,
};

#define HEAD(op_name, version, least, most)                                                                            \
  .domain = "", .name = #op_name, .since_version = version, .min_inputs = least, .max_inputs = most, .min_outputs = 1, \
  .max_outputs = 1, .traits = BYOC_OP_HEAVY
#define MATMUL(version)                                                                                                \
  { HEAD(MatMul, version, 2, 2), .infer = infer_matmul, .loops = loops_matmul, .axes = byoc_axes_product }
#define GEMM(version, least)                                                                                           \
  {                                                                                                                    \
    HEAD(Gemm, version, least, 3), .attributes = gemm_attributes, .infer = byoc_infer_gemm, .loops = loops_gemm,       \
                                   .expand = expand_gemm, .axes = byoc_axes_gemm                                       \
  }

const byoc_op_t byoc_ops_linear[] = {
    MATMUL(1),
    MATMUL(9),
    MATMUL(13),
    GEMM(6, 3),
    GEMM(7, 3),
    GEMM(9, 3),
    GEMM(11, 2),
    GEMM(13, 2),
    {.domain = "byoc",
     .name = "MatMul",
     .since_version = 1,
     .min_inputs = 2,
     .max_inputs = 2,
     .min_outputs = 1,
     .max_outputs = 1,
     .traits = BYOC_OP_HEAVY,
     .infer = infer_matmul_bytes,
     .loops = loops_matmul,
     .axes = byoc_axes_product},
};
const size_t byoc_ops_linear_count = sizeof byoc_ops_linear / sizeof *byoc_ops_linear;

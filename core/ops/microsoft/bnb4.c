// SPDX-License-Identifier: Apache-2.0
// com.microsoft: MatMulBnb4, products by weights of four bits as the library bitsandbytes stores them. The 16 numbers
// that four bits stand for have no common step, so that the weights, which are constants, become floats.
#include "core/ops/microsoft/common.h"

enum { A, B, SCALES };
enum { FP4, NF4, LEAST_BLOCK = 16, MOST_BLOCK = 1 << 20 };

// The numbers of bitsandbytes: floats of four bits, and the quantiles of a normal distribution.
static const float numbers[][16] = {
    {0.0f, 5.208333333e-03f, 0.66666667f, 1.0f, 0.33333333f, 0.5f, 0.16666667f, 0.25f, -0.0f, -5.208333333e-03f,
     -0.66666667f, -1.0f, -0.33333333f, -0.5f, -0.16666667f, -0.25f},
    {-1.0f, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f, -0.28444138169288635f,
     -0.18477343022823334f, -0.09105003625154495f, 0.0f, 0.07958029955625534f, 0.16093020141124725f,
     0.24611230194568634f, 0.33791524171829224f, 0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1.0f},
};

typedef struct sizes_t {
  int64_t depth, columns, block, kind; // the weights are [columns, depth]
  bool is_transposed;
} sizes_t;

static sizes_t sizes_of(const byoc_node_t *node) {
  return (sizes_t){byoc_node_int(node, "K"), byoc_node_int(node, "N"), byoc_node_int(node, "block_size"),
                   byoc_node_int(node, "quant_type"), byoc_node_flag(node, "transB")};
}

static bool is_u8(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_U8;
}

static byoc_status_t infer_bnb4(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  const sizes_t s = sizes_of(node);
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, A, 1, BYOC_MAX_RANK));
  if (s.depth < 1 || s.depth > INT32_MAX || s.columns < 1 || s.columns > INT32_MAX) {
    return byoc_infer_error(infer, "weights of %lld x %lld", (long long)s.columns, (long long)s.depth);
  }
  if (s.block < LEAST_BLOCK || s.block > MOST_BLOCK || (s.block & (s.block - 1)) != 0) {
    return byoc_infer_error(infer, "attribute 'block_size': expected a power of two from %d on, got %lld", LEAST_BLOCK,
                            (long long)s.block);
  }
  if (s.kind != FP4 && s.kind != NF4) {
    return byoc_infer_error(infer, "attribute 'quant_type': expected 0 or 1, got %lld", (long long)s.kind);
  }
  const int64_t count = s.depth * s.columns;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, B, is_u8, "bytes"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_count(infer, B, byoc_side_number((count + 1) / 2)));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, SCALES));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_count(infer, SCALES, byoc_side_number((count + s.block - 1) / s.block)));
  for (uint32_t i = B; i <= SCALES; ++i) {
    if (!byoc_value_is_constant(node->operands[i])) {
      return byoc_infer_unsupported(infer, "operand %u must be a constant", i);
    }
  }
  const byoc_type_t *a = byoc_operand_type(node, A);
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < a->rank; ++d) dims[d] = a->dims[d];
  const int64_t taken = s.is_transposed ? s.depth : s.columns;
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, A, a->rank - 1, byoc_dim_constant(taken)));
  dims[a->rank - 1] = byoc_dim_constant(s.is_transposed ? s.columns : s.depth);
  return byoc_infer_set(infer, 0, a->dtype, a->rank, dims);
}

// The weights as the right-hand side of the product. Of the two in a byte, the first one has the high bits.
static byoc_value_t *write_weights(byoc_writer_t *w, const sizes_t *s) {
  const byoc_node_t *node = w->node;
  const int64_t count = s->depth * s->columns;
  const int64_t dims[] = {s->is_transposed ? s->depth : s->columns, s->is_transposed ? s->columns : s->depth};
  const uint8_t *bytes = node->operands[B]->constant->data;
  float *weights = byoc_allocate(byoc_allocator_system(), (size_t)count, sizeof(*weights));
  w->failed |= !weights;
  for (int64_t i = 0; i < count && weights; ++i) {
    const int bits = i % 2 == 0 ? bytes[i / 2] >> 4 : bytes[i / 2] & 15;
    const double scale = byoc_constant_element_f64(node->operands[SCALES]->constant, (size_t)(i / s->block));
    const int64_t to = s->is_transposed ? i % s->depth * s->columns + i / s->depth : i;
    weights[to] = numbers[s->kind][bits] * (float)scale;
  }
  byoc_value_t *made = w->failed ? NULL : byoc_write_vector(w, "weights", BYOC_DTYPE_F32, count, weights);
  byoc_free(byoc_allocator_system(), weights);
  return byoc_write_cast(w, byoc_write_reshape(w, made, dims, 2), node->operands[A]->type->dtype);
}

static byoc_status_t expand_bnb4(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const sizes_t s = sizes_of(node);
  return byoc_write_end(&w, byoc_write_plain(&w, "MatMul", node->operands[A], write_weights(&w, &s)), out_changed);
}

static const byoc_op_attribute_t bnb4_attributes[] = {{BYOC_ATTR_REQUIRED(INT, "K")},
                                                      {BYOC_ATTR_REQUIRED(INT, "N")},
                                                      {BYOC_ATTR_REQUIRED(INT, "block_size")},
                                                      {BYOC_ATTR_REQUIRED(INT, "quant_type")},
                                                      {BYOC_ATTR_INT("training_mode", 0)},
                                                      {BYOC_ATTR_INT("transB", 1)},
                                                      BYOC_ATTR_END};

const byoc_op_t byoc_ops_microsoft_bnb4[] = {
    BYOC_MICROSOFT_ROW("MatMulBnb4", 3, 3, 1, bnb4_attributes, bnb4),
};
const size_t byoc_ops_microsoft_bnb4_count = sizeof byoc_ops_microsoft_bnb4 / sizeof *byoc_ops_microsoft_bnb4;

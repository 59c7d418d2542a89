// SPDX-License-Identifier: Apache-2.0
// keep-packed-weights: a product by dequantised weights of few bits keeps them packed.
//
//   MatMul(x, DequantizeLinear(w, scale, zero point))        →  MatMulNBits(x, w, scale, zero point)
//   Gemm(x, DequantizeLinear(w, scale, zero point), c)       →  MatMulNBits(x, w, scale, zero point) + c
//
// with or without a Transpose behind the DequantizeLinear. A table is looked up before it is dequantised:
//
//   Gather(DequantizeLinear(w, scale), i)                    →  DequantizeLinear(Gather(w, i), Gather(scale, i))
//
// It runs before constants are folded, which would make f32 of the
// weights: eight times the bytes of weights of four bits, all of which a product of one row reads.
//
// Weights of bytes with one scale for each column or for all are left to fold-quantised and to the folding: products in
// f32 that backends prepare for are faster with many rows.
#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/ir/virtual_device.h"
#include "core/op/write.h"
#include "core/pass/pass.h"
#include "core/pass/rewrite.h"

enum { LEAST_BLOCK = 16, WHOLE_BLOCK = 128, MOST_BLOCK = 1 << 20 };

// Weights [depth, columns]. Element (k, n) is element k * k_step + n * n_step of `values`. Its scale and zero point are
// those of column n and, if scales are by block or by k, of block k / block.
typedef struct packed_t {
  const byoc_constant_t *values, *scales, *zeros; // zeros may be NULL: 0
  int64_t depth, columns, k_step, n_step;
  int64_t block;                  // of MatMulNBits
  int64_t scale_step, scale_unit; // scale's place: k / scale_unit * scale_step + n * scale_column
  int64_t scale_column;
  int64_t bits, least; // the least value of the type: it becomes 0
} packed_t;

static byoc_node_t *producer_in(byoc_value_t *value, const byoc_block_t *block, const char *op) {
  byoc_node_t *node = byoc_value_open_producer(value);
  return node && node->block == block && byoc_node_is_onnx(node, op) ? node : NULL;
}

static const byoc_constant_t *constant_of(const byoc_node_t *node, uint32_t operand) {
  const byoc_value_t *value = operand < node->operand_count ? node->operands[operand] : NULL;
  return value && byoc_value_is_constant(value) ? value->constant : NULL;
}

// DequantizeLinear takes one zero point for all beside scales by block.
static bool match_scales(const byoc_constant_t *zeros, const byoc_constant_t *scales) {
  if (!zeros) return true;
  bool match = zeros->type->rank == scales->type->rank;
  for (int32_t d = 0; match && d < zeros->type->rank; ++d) {
    match = byoc_dim_equal(zeros->type->dims[d], scales->type->dims[d]);
  }
  return match;
}

static bool is_power_of_two(int64_t n) {
  return (n & (n - 1)) == 0;
}

// How scales lie: one for all, one for each index of `axis`, or one for each block along it. `turned` says that the
// weights are [columns, depth] in memory.
static bool read_scales(packed_t *p, const byoc_node_t *dequantise, bool turned) {
  const byoc_type_t *scale = p->scales->type;
  const int64_t block = byoc_node_int(dequantise, "block_size"), count = byoc_type_element_count(scale);
  int64_t axis = byoc_node_int(dequantise, "axis");
  if (axis < 0) axis += 2;
  if (axis != 0 && axis != 1) return false;
  const bool along_depth = axis == (turned ? 1 : 0);
  p->scale_unit = 1;
  if (count == 1) {
    p->block = WHOLE_BLOCK;
  } else if (scale->rank == 1) {
    if (along_depth) return false;
    p->block = WHOLE_BLOCK;
    p->scale_column = 1;
  } else {
    if (!along_depth || block < LEAST_BLOCK || block > MOST_BLOCK || !is_power_of_two(block)) return false;
    const int64_t blocks = (p->depth + block - 1) / block;
    p->block = p->scale_unit = block;
    p->scale_step = turned ? 1 : p->columns;
    p->scale_column = turned ? blocks : 1;
  }
  // A block that is longer than the depth of the weights would hold padding.
  while (p->block > LEAST_BLOCK && p->block / 2 >= p->depth) p->block /= 2;
  return p->bits <= 4 || p->scale_unit > 1;
}

static bool read_weights(byoc_value_t *value, const byoc_block_t *block, bool turned, packed_t *p) {
  const byoc_node_t *transpose = producer_in(value, block, "Transpose");
  if (transpose) turned = !turned; // of two dimensions: it swaps them, unless `perm` says that it does nothing
  if (transpose) {
    size_t count = 0;
    const int64_t *perm = byoc_node_ints(transpose, "perm", &count);
    if (count == 2 && perm[0] == 0) turned = !turned;
    value = transpose->operands[0];
  }
  const byoc_node_t *dequantise = producer_in(value, block, "DequantizeLinear");
  if (!dequantise) return false;
  *p = (packed_t){
      .values = constant_of(dequantise, 0), .scales = constant_of(dequantise, 1), .zeros = constant_of(dequantise, 2)};
  const bool has_zeros = dequantise->operand_count > 2 && dequantise->operands[2];
  if (!p->values || !p->scales || (has_zeros && !p->zeros) || p->values->type->rank != 2) return false;
  if (!match_scales(p->zeros, p->scales)) return false;
  const byoc_dtype_t dtype = p->values->type->dtype, scale = p->scales->type->dtype;
  if (scale != BYOC_DTYPE_F32 && scale != BYOC_DTYPE_F16 && scale != BYOC_DTYPE_BF16) return false;
  const bool is_signed = dtype == BYOC_DTYPE_I2 || dtype == BYOC_DTYPE_I4 || dtype == BYOC_DTYPE_I8;
  if (!is_signed && dtype != BYOC_DTYPE_U2 && dtype != BYOC_DTYPE_U4 && dtype != BYOC_DTYPE_U8) return false;
  p->bits = byoc_dtype_bits(dtype);
  p->least = is_signed ? -(INT64_C(1) << (p->bits - 1)) : 0;
  const byoc_dim_t *dims = p->values->type->dims;
  p->depth = dims[turned ? 1 : 0].constant, p->columns = dims[turned ? 0 : 1].constant;
  p->k_step = turned ? 1 : p->columns, p->n_step = turned ? p->depth : 1;
  return p->depth > 0 && p->columns > 0 && p->depth <= INT32_MAX && p->columns <= INT32_MAX &&
         read_scales(p, dequantise, turned);
}

// ---- writing ----

static void *write_constant(byoc_writer_t *w, const char *name, byoc_dtype_t dtype, int32_t rank, const int64_t *dims,
                            byoc_value_t **out_value) {
  byoc_graph_module_t *module = w->node->function->module;
  const byoc_type_t *type = byoc_type_tensor_static(&module->arena, dtype, rank, dims);
  void *data = NULL;
  byoc_constant_t *constant = type ? byoc_constant_allocate(module, name, type, &data) : NULL;
  *out_value = constant ? byoc_function_constant(w->node->function, constant) : NULL;
  if (!*out_value) w->failed = true;
  if (*out_value) memset(data, 0, (size_t)byoc_type_size_bytes(type));
  return *out_value ? data : NULL;
}

// Elements of 2, 4 or 8 bits, lowest first.
static void put(uint8_t *bytes, int64_t index, const packed_t *p, int64_t value) {
  value -= p->least;
  bytes[index * p->bits / 8] |= (uint8_t)(value << index * p->bits % 8);
}

static byoc_value_t *write_product(byoc_writer_t *w, const packed_t *p) {
  const int64_t blocks = (p->depth + p->block - 1) / p->block, block_bytes = p->block * p->bits / 8;
  const int64_t zero_bytes = (blocks * p->bits + 7) / 8;
  const bool has_zeros = p->zeros || p->least == 0; // without, they would be in the middle
  byoc_value_t *operands[] = {w->node->operands[0], NULL, NULL, NULL};
  uint8_t *values = write_constant(w, p->values->name, BYOC_DTYPE_U8, 3,
                                   (const int64_t[]){p->columns, blocks, block_bytes}, &operands[1]);
  float *scales =
      write_constant(w, p->scales->name, BYOC_DTYPE_F32, 2, (const int64_t[]){p->columns, blocks}, &operands[2]);
  uint8_t *zeros =
      has_zeros ? write_constant(w, "zeros", BYOC_DTYPE_U8, 2, (const int64_t[]){p->columns, zero_bytes}, &operands[3])
                : NULL;
  if (w->failed) return NULL;
  for (int64_t n = 0; n < p->columns; ++n) {
    for (int64_t k = 0; k < p->depth; ++k) {
      put(values + (n * blocks + k / p->block) * block_bytes, k % p->block, p,
          byoc_constant_element_i64(p->values, k * p->k_step + n * p->n_step));
    }
    for (int64_t block = 0; block < blocks; ++block) {
      const int64_t at = block * p->block / p->scale_unit * p->scale_step + n * p->scale_column;
      scales[n * blocks + block] = (float)byoc_constant_element_f64(p->scales, at);
      if (zeros) put(zeros + n * zero_bytes, block, p, p->zeros ? byoc_constant_element_i64(p->zeros, at) : 0);
    }
  }
  const byoc_attribute_t attributes[] = {{.name = "K", .kind = BYOC_ATTRIBUTE_INT, .i = p->depth},
                                         {.name = "N", .kind = BYOC_ATTRIBUTE_INT, .i = p->columns},
                                         {.name = "bits", .kind = BYOC_ATTRIBUTE_INT, .i = p->bits},
                                         {.name = "block_size", .kind = BYOC_ATTRIBUTE_INT, .i = p->block}};
  byoc_node_t *made = byoc_write_many(w, "com.microsoft", "MatMulNBits", operands, has_zeros ? 4 : 3, 1, attributes,
                                      sizeof attributes / sizeof *attributes);
  if (made && !byoc_node_set_name(made, w->node->name)) w->failed = true;
  return made ? made->results[0] : NULL;
}

// ---- the pass ----

static bool takes(const byoc_node_t *node, bool *out_is_gemm, bool *out_turned) {
  *out_is_gemm = byoc_node_is_onnx(node, "Gemm");
  *out_turned = *out_is_gemm && byoc_node_flag(node, "transB");
  if (!*out_is_gemm && !byoc_node_is_onnx(node, "MatMul")) return false;
  if (*out_is_gemm && (byoc_node_flag(node, "transA") || byoc_node_float(node, "alpha") != 1)) return false;
  if (*out_is_gemm && node->operand_count > 2 && byoc_node_float(node, "beta") != 1) return false;
  const byoc_type_t *x = node->operands[0] ? node->operands[0]->type : NULL;
  if (!byoc_type_is_tensor(x) || x->rank < 1) return false;
  return x->dtype == BYOC_DTYPE_F32 || x->dtype == BYOC_DTYPE_F16 || x->dtype == BYOC_DTYPE_BF16;
}

// Messages about indices use the name of the present look-up, or of the operator that it was written for.
static bool stand_for(byoc_node_t *made, const byoc_node_t *gather) {
  const bool is_written = byoc_attributes_int(&gather->attributes, BYOC_ATTRIBUTE_WRITTEN, 0) != 0;
  made->name = gather->name;
  return !is_written || byoc_attributes_set_int(&made->attributes, BYOC_ATTRIBUTE_WRITTEN, 1);
}

// Gather(DequantizeLinear(w, scale, zero point), i) → DequantizeLinear(Gather(w, i), Gather(scale, i), Gather(zero
// point, i)), where lines are looked up and blocks lie along them
static byoc_status_t look_up_first(byoc_node_t *gather, byoc_diag_t *diag, size_t *changes) {
  if (!byoc_node_is_onnx(gather, "Gather") || !gather->operands[0] || !gather->operands[1]) return BYOC_OK;
  const byoc_node_t *dequantise = producer_in(gather->operands[0], gather->block, "DequantizeLinear");
  const byoc_type_t *type = gather->operands[1]->type;
  if (!dequantise || !byoc_type_is_tensor(type) || type->rank < 0 || type->rank >= BYOC_MAX_RANK) return BYOC_OK;
  const byoc_constant_t *values = constant_of(dequantise, 0), *scales = constant_of(dequantise, 1);
  if (!values || !scales || values->type->rank != 2 || scales->type->rank != 2) return BYOC_OK;
  const bool has_zeros = dequantise->operand_count > 2 && dequantise->operands[2];
  const byoc_constant_t *zeros = constant_of(dequantise, 2);
  if ((has_zeros && !zeros) || !match_scales(zeros, scales)) return BYOC_OK;
  const int64_t axis = byoc_node_int(dequantise, "axis"), along = byoc_node_int(gather, "axis");
  if ((axis != 1 && axis != -1) || (along != 0 && along != -2) || byoc_node_int(dequantise, "block_size") < 1) {
    return BYOC_OK;
  }
  byoc_writer_t w = {.node = gather, .diag = diag};
  byoc_value_t *operands[3] = {NULL};
  uint32_t count = 0;
  for (uint32_t i = 0; i < dequantise->operand_count && i < 3; ++i) {
    if (!dequantise->operands[i]) continue;
    operands[i] = byoc_write_node(&w, "", "Gather", dequantise->operands[i], gather->operands[1], NULL, NULL, 0);
    if (operands[i] && !stand_for(operands[i]->node, gather)) return byoc_diag_out_of_memory(diag);
    count = i + 1;
  }
  byoc_attribute_t attributes[] = {
      {.name = "axis", .kind = BYOC_ATTRIBUTE_INT, .i = type->rank},
      {.name = "block_size", .kind = BYOC_ATTRIBUTE_INT, .i = byoc_node_int(dequantise, "block_size")},
      {.name = "output_dtype", .kind = BYOC_ATTRIBUTE_INT, .i = gather->results[0]->type->dtype},
  };
  byoc_node_t *made = byoc_write_many(&w, "", "DequantizeLinear", operands, count, 1, attributes, 3);
  return byoc_pass_replace(gather, made ? made->results[0] : NULL, diag, changes);
}

static byoc_status_t keep_packed(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes) {
  (void)self;
  if (byoc_node_is_onnx(node, "Gather")) return look_up_first(node, diag, changes);
  bool is_gemm = false, turned = false;
  packed_t packed;
  if (!takes(node, &is_gemm, &turned) || !read_weights(node->operands[1], node->block, turned, &packed)) return BYOC_OK;
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *y = write_product(&w, &packed);
  if (is_gemm && node->operand_count > 2 && node->operands[2]) {
    y = byoc_write_node(&w, "", "Add", y, node->operands[2], NULL, NULL, 0);
  }
  byoc_node_t *transpose = producer_in(node->operands[1], node->block, "Transpose");
  BYOC_RETURN_IF_ERROR(byoc_pass_replace(node, w.failed ? NULL : y, diag, changes));
  if (transpose && byoc_pass_is_unused(transpose)) byoc_node_erase(transpose);
  return BYOC_OK;
}

byoc_status_t byoc_pass_keep_packed_weights(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  BYOC_FOR_EACH_FUNCTION(function, module) {
    if (function->kind != BYOC_FUNCTION_GRAPH || !byoc_function_is_in_scope(function)) continue;
    BYOC_RETURN_IF_ERROR(byoc_pass_visit_block(function->body, keep_packed, NULL, diag, changes));
  }
  return BYOC_OK;
}

// SPDX-License-Identifier: Apache-2.0
// flush-subnormals: weights too small for a normal number become zero where that is lost in the rounding anyway.
//
// Processors take up to a hundred times as long for a product by a subnormal number. Training leaves some: weights that
// a regulariser let decay. A weight is flushed if the sum that it is a term of has a weight W of at least n * 2^-102,
// for n weights in the tensor (n * 2^-969 for f64). The error of such a sum is then below 2^-24 * W * max|x|: half a
// unit in the last place of the product of W and the largest datum.
#include <math.h>
#include <string.h>

#include "core/base/log.h"
#include "core/ir/element.h"
#include "core/op/op.h"
#include "core/pass/pass.h"
#include "core/pass/rewrite.h"

// Weights as [outer, terms, inner]: those with the same outer and inner index are multiplied for the same sum.
typedef struct {
  int64_t outer, terms, inner;
} sums_t;

static int64_t extent(const byoc_type_t *type, int32_t first, int32_t end) {
  int64_t count = 1;
  for (int32_t d = first; d < end; ++d) count *= type->dims[d].constant;
  return count;
}

// A matrix, or several, whose columns (or rows) are the terms.
static sums_t sums_of_matrix(const byoc_type_t *type, bool terms_are_last) {
  const int32_t rank = type->rank;
  if (rank == 1) return (sums_t){1, extent(type, 0, 1), 1};
  if (terms_are_last) return (sums_t){extent(type, 0, rank - 1), extent(type, rank - 1, rank), 1};
  return (sums_t){extent(type, 0, rank - 2), extent(type, rank - 2, rank - 1), extent(type, rank - 1, rank)};
}

// Is the operand only multiplied and summed up?
static bool read_sums(const byoc_node_t *node, uint32_t operand, sums_t *out_sums) {
  const byoc_type_t *type = node->operands[operand]->type;
  if (byoc_node_is_onnx(node, "MatMul") && operand < 2) {
    if (type->rank < 1) return false;
    *out_sums = sums_of_matrix(type, operand == 0);
    return true;
  }
  if (byoc_node_is_onnx(node, "Gemm") && operand < 2) {
    if (type->rank != 2) return false;
    const bool is_transposed = byoc_node_flag(node, operand == 0 ? "transA" : "transB");
    *out_sums = sums_of_matrix(type, (operand == 0) != is_transposed);
    return true;
  }
  if (operand != 1 || type->rank < 3) return false;
  if (byoc_node_is_onnx(node, "Conv")) {
    *out_sums = (sums_t){type->dims[0].constant, extent(type, 1, type->rank), 1};
    return true;
  }
  if (!byoc_node_is_onnx(node, "ConvTranspose")) return false;
  const int64_t groups = byoc_node_int(node, "group");
  if (groups < 1 || type->dims[0].constant % groups != 0) return false;
  *out_sums = (sums_t){groups, type->dims[0].constant / groups, extent(type, 1, type->rank)};
  return true;
}

// Do all readers of the constant use it as weights of these sums?
static bool is_only_weights(const byoc_constant_t *constant, const sums_t *sums) {
  const byoc_graph_module_t *module = constant->module;
  for (size_t f = 0; f < module->functions.count; ++f) {
    const byoc_value_t *value = byoc_pointer_map_get(&module->functions.data[f]->constants, constant);
    for (size_t i = 0; value != NULL && i < value->uses.count; ++i) {
      const byoc_use_t use = value->uses.data[i];
      sums_t own;
      if (use.node == NULL || !read_sums(use.node, use.index, &own)) return false;
      if (own.outer != sums->outer || own.terms != sums->terms || own.inner != sums->inner) return false;
    }
  }
  return !constant->is_read;
}

// Limits of a type of weights: the least normal number, and the factor by which W has to be larger.
static bool read_type(byoc_dtype_t dtype, double *out_least, double *out_ratio) {
  *out_least = dtype == BYOC_DTYPE_F64 ? 0x1p-1022 : 0x1p-126;
  *out_ratio = dtype == BYOC_DTYPE_F64 ? 0x1p53 : 0x1p24;
  return dtype == BYOC_DTYPE_F32 || dtype == BYOC_DTYPE_BF16 || dtype == BYOC_DTYPE_F64;
}

static bool has_subnormal_f32(const float *data, int64_t count) {
  uint32_t found = 0;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t bits;
    memcpy(&bits, &data[i], sizeof(bits));
    found |= (bits & 0x7fffffffu) - 1u < 0x7fffffu;
  }
  return found != 0;
}

static bool is_subnormal(double x, double least) {
  return x != 0 && fabs(x) < least;
}

static bool has_subnormal(const byoc_constant_t *constant, int64_t count, double least) {
  if (constant->type->dtype == BYOC_DTYPE_F32) return has_subnormal_f32(constant->data, count);
  for (int64_t i = 0; i < count; ++i)
    if (is_subnormal(byoc_element_f64(constant->type->dtype, constant->data, (size_t)i), least)) return true;
  return false;
}

// Flushes the terms of one sum that are lost beside its largest. Returns their number.
static int64_t flush_sum(byoc_dtype_t dtype, void *data, int64_t first, const sums_t *sums, double least,
                         double enough) {
  double most = 0;
  int64_t flushed = 0;
  for (int64_t k = 0; k < sums->terms; ++k)
    most = fmax(most, fabs(byoc_element_f64(dtype, data, (size_t)(first + k * sums->inner))));
  if (!(most >= enough)) return 0;
  for (int64_t k = 0; k < sums->terms; ++k) {
    const size_t at = (size_t)(first + k * sums->inner);
    const double x = byoc_element_f64(dtype, data, at);
    if (!is_subnormal(x, least)) continue;
    byoc_element_set_f64(dtype, data, at, copysign(0.0, x));
    flushed += 1;
  }
  return flushed;
}

static int64_t flush(byoc_dtype_t dtype, void *data, const sums_t *sums, double least, double enough) {
  int64_t flushed = 0;
  for (int64_t o = 0; o < sums->outer; ++o)
    for (int64_t i = 0; i < sums->inner; ++i)
      flushed += flush_sum(dtype, data, o * sums->terms * sums->inner + i, sums, least, enough);
  return flushed;
}

static byoc_status_t flush_constant(byoc_constant_t *constant, const sums_t *sums, byoc_diag_t *diag, size_t *changes) {
  byoc_graph_module_t *module = constant->module;
  const int64_t count = sums->outer * sums->terms * sums->inner;
  double least = 0, ratio = 0;
  if (constant->is_flushed || !read_type(constant->type->dtype, &least, &ratio)) return BYOC_OK;
  constant->is_flushed = true;
  byoc_graph_module_touched(module, constant->size_bytes);
  if (!has_subnormal(constant, count, least) || !is_only_weights(constant, sums)) return BYOC_OK;
  void *data = byoc_constant_change(constant);
  if (data == NULL) return byoc_diag_out_of_memory(diag);
  const int64_t flushed = flush(constant->type->dtype, data, sums, least, (double)count * least * ratio);
  if (flushed == 0) return BYOC_OK;
  constant->flushed_count = flushed;
  byoc_log(BYOC_LOG_INFO, "%lld of the %lld weights '%s' are too small for a normal number, and 0 now",
           (long long)flushed, (long long)count, constant->name);
  *changes += 1;
  return BYOC_OK;
}

static byoc_status_t flush_node(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes) {
  (void)self;
  for (uint32_t i = 0; i < 2 && i < node->operand_count; ++i) {
    sums_t sums;
    const byoc_value_t *operand = node->operands[i];
    if (operand == NULL || !byoc_value_is_constant(operand) || !read_sums(node, i, &sums)) continue;
    BYOC_RETURN_IF_ERROR(flush_constant(operand->constant, &sums, diag, changes));
  }
  return BYOC_OK;
}

byoc_status_t byoc_pass_flush_subnormals(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  return byoc_pass_visit_module(module, flush_node, NULL, diag, changes);
}

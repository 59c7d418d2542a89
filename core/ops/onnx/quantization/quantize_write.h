// SPDX-License-Identifier: Apache-2.0
// What the products of quantised tensors have in common (core/ops/onnx/quantization/quantize_write.c).
#ifndef BYOC_CORE_OPS_ONNX_QUANTIZATION_QUANTIZE_WRITE_H_
#define BYOC_CORE_OPS_ONNX_QUANTIZATION_QUANTIZE_WRITE_H_

#include "core/op/util.h"
#include "core/op/write.h"

// A row of the table that is written as other operators.
#define BYOC_QUANTISED_ROW(in_domain, op_name, version, least, most, schema, infer_name, function, kind, at)           \
  {                                                                                                                    \
    .domain = in_domain, .name = op_name, .since_version = version, .min_inputs = least, .max_inputs = most,           \
    .min_outputs = 1, .max_outputs = 1, .work = BYOC_WORK_##kind, .factor = at, .attributes = schema,                  \
    .infer = infer_name, .expand = expand_##function                                                                   \
  }

static inline byoc_value_t *byoc_quantised_operand(const byoc_node_t *node, uint32_t index) {
  return byoc_has_operand(node, index) ? node->operands[index] : NULL;
}

// ---- units that are not all of bytes ----

// The types of the operands of byoc::QLinearConv, QLinearConvTranspose and QLinearMatMul, and that there is one scale
// and zero point for the data and for the result.
byoc_status_t byoc_infer_unit_types(const byoc_infer_t *infer);
// Replaces such a unit: by one with filters of bytes, by products of bytes, or by an operator on floats.
byoc_status_t byoc_expand_wide(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed);

// ---- bytes of either sign ----

// A tensor of bytes and the zero point to be subtracted from each.
typedef struct byoc_bytes_side_t {
  byoc_value_t *bytes, *zero; // zero: of the bytes' type; NULL: 0
} byoc_bytes_side_t;
// The same numbers under the other byte type: x ± 128, and the zero point moves along.
void byoc_write_flipped(byoc_writer_t *w, byoc_bytes_side_t *side);

// ---- floats that hold integers ----

// Sums of f32 are exact as long as they stay below this.
#define BYOC_EXACT_F32 (INT64_C(1) << 24)

// The least and the largest value of an element minus its zero point.
typedef struct byoc_span_t {
  int64_t least, most;
} byoc_span_t;
byoc_span_t byoc_bytes_span(const byoc_bytes_side_t *side);
// True if products of these bytes are computed with floats where these are exact: target `c` has no instruction for
// them (byoc_graph_module_t.bytes_as_floats).
bool byoc_bytes_are_floats(const byoc_writer_t *w);

// One side of a product whose terms are summed: matrix[term][sum] for constants, or any bytes.
typedef struct byoc_terms_t {
  byoc_bytes_side_t x, weights;
  const byoc_constant_t *constant, *zeros; // of the weights; NULL: not constant
  int64_t sums, steps, taps;               // number of sums; of steps along which they may be divided; terms of a step
  int64_t sum_stride, step_stride;         // between elements of the constant; taps are neighbours
  int64_t limit;                           // for the magnitude of each sum
} byoc_terms_t;
// The first step behind `begin` up to which all sums stay within the limit, whatever their order; `begin` if there is
// none, or if memory ran out.
int64_t byoc_terms_end(byoc_writer_t *w, const byoc_terms_t *terms, int64_t begin);
// x[begin:end] along the axis
byoc_value_t *byoc_write_part(byoc_writer_t *w, byoc_value_t *x, int64_t axis, int64_t begin, int64_t end);

// ---- writing ----

// A vector per slice as a tensor with `trailing` trailing dimensions of 1, so that it broadcasts; a scalar stays a
// scalar. NULL stays NULL.
byoc_value_t *byoc_write_trailing(byoc_writer_t *w, byoc_value_t *x, int32_t trailing);
// x minus its zero point, in that type.
byoc_value_t *byoc_write_centred(byoc_writer_t *w, byoc_value_t *x, byoc_value_t *zero, int32_t trailing,
                                 byoc_dtype_t dtype);
// from - sums * zero point, in i32
byoc_value_t *byoc_write_less(byoc_writer_t *w, byoc_value_t *from, byoc_value_t *sums, byoc_value_t *zero);
// sum of products → quantised: f32(sum) * scales, then QuantizeLinear
byoc_value_t *byoc_write_requantised(byoc_writer_t *w, byoc_value_t *sum, byoc_value_t *x_scale, byoc_value_t *w_scale,
                                     byoc_value_t *y_scale, byoc_value_t *y_zero);

#endif // BYOC_CORE_OPS_ONNX_QUANTIZATION_QUANTIZE_WRITE_H_

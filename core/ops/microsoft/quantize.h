// SPDX-License-Identifier: Apache-2.0
// Shared by the operators of com.microsoft on bytes.
#ifndef BYOC_CORE_OPS_MICROSOFT_QUANTIZE_H_
#define BYOC_CORE_OPS_MICROSOFT_QUANTIZE_H_

#include "core/ops/microsoft/common.h"

// The bytes at `index`, with one scale and perhaps one zero point after them; in the domain byoc integers of 16 bits.
byoc_status_t byoc_microsoft_need_integers(const byoc_infer_t *infer, uint32_t index);
// The scale at `index` and perhaps the zero point after it, of results of the type of the integers at `like`.
byoc_status_t byoc_microsoft_need_scale(const byoc_infer_t *infer, uint32_t index, uint32_t like);
// The integers at `index` as floats, by the scale and the zero point after them.
byoc_value_t *byoc_microsoft_floats(byoc_writer_t *w, uint32_t index);
// The result of the node: y quantised to `dtype` by the scale at `index`.
byoc_value_t *byoc_microsoft_quantised(byoc_writer_t *w, byoc_value_t *y, uint32_t index, byoc_dtype_t dtype);
// y, which is scaled already, plus the zero point at `zero`, rounded to `dtype`.
byoc_value_t *byoc_microsoft_rounded(byoc_writer_t *w, byoc_value_t *y, uint32_t zero, byoc_dtype_t dtype);

// The matrix of bytes at `index` has scales and zero points of their own for each column.
byoc_status_t byoc_microsoft_need_weights(const byoc_infer_t *infer, uint32_t index, uint32_t scale, uint32_t zero);
typedef struct byoc_bytes_product_t {
  byoc_value_t *a, *a_scale, *a_zero, *b, *b_scale, *b_zero;
} byoc_bytes_product_t;
// sum of (a - zero point) * (b - zero point) in i32
byoc_value_t *byoc_microsoft_sums(byoc_writer_t *w, const byoc_bytes_product_t *p);
// The sums in f32, by the scales of both.
byoc_value_t *byoc_microsoft_scaled(byoc_writer_t *w, byoc_value_t *sums, const byoc_bytes_product_t *p);

#endif // BYOC_CORE_OPS_MICROSOFT_QUANTIZE_H_

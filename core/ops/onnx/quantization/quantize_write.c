// SPDX-License-Identifier: Apache-2.0
// What the products of quantised tensors have in common: bytes of either sign, and floats that hold integers.
#include "core/ops/onnx/quantization/quantize_write.h"

// ---- writing ----

byoc_value_t *byoc_write_trailing(byoc_writer_t *w, byoc_value_t *x, int32_t trailing) {
  if (!x || trailing == 0 || x->type->rank != 1 || byoc_type_element_count(x->type) == 1) return x;
  int64_t axes[BYOC_MAX_RANK];
  for (int32_t i = 0; i < trailing; ++i) axes[i] = i + 1;
  byoc_value_t *value = byoc_write_vector(w, "axes", BYOC_DTYPE_I64, trailing, axes);
  return byoc_write_node(w, "", "Unsqueeze", x, value, NULL, NULL, 0);
}

byoc_value_t *byoc_write_centred(byoc_writer_t *w, byoc_value_t *x, byoc_value_t *zero, int32_t trailing,
                                 byoc_dtype_t dtype) {
  x = byoc_write_cast(w, x, dtype);
  if (!zero || byoc_all_are(zero, 0)) return x;
  return byoc_write_plain(w, "Sub", x, byoc_write_cast(w, byoc_write_trailing(w, zero, trailing), dtype));
}

byoc_value_t *byoc_write_less(byoc_writer_t *w, byoc_value_t *from, byoc_value_t *sums, byoc_value_t *zero) {
  byoc_value_t *term = byoc_write_node(w, "", "Mul", sums, byoc_write_cast(w, zero, BYOC_DTYPE_I32), NULL, NULL, 0);
  return byoc_write_node(w, "", "Sub", from, term, NULL, NULL, 0);
}

byoc_value_t *byoc_write_requantised(byoc_writer_t *w, byoc_value_t *sum, byoc_value_t *x_scale, byoc_value_t *w_scale,
                                     byoc_value_t *y_scale, byoc_value_t *y_zero) {
  byoc_value_t *scale = byoc_write_node(w, "", "Mul", byoc_write_cast(w, x_scale, BYOC_DTYPE_F32),
                                        byoc_write_cast(w, w_scale, BYOC_DTYPE_F32), NULL, NULL, 0);
  sum = byoc_write_node(w, "", "Mul", byoc_write_cast(w, sum, BYOC_DTYPE_F32), scale, NULL, NULL, 0);
  return byoc_write_node(w, "", "QuantizeLinear", sum, byoc_write_cast(w, y_scale, BYOC_DTYPE_F32), y_zero, NULL, 0);
}

byoc_value_t *byoc_write_part(byoc_writer_t *w, byoc_value_t *x, int64_t axis, int64_t begin, int64_t end) {
  byoc_value_t *operands[] = {x, byoc_write_vector(w, "begin", BYOC_DTYPE_I64, 1, &begin),
                              byoc_write_vector(w, "end", BYOC_DTYPE_I64, 1, &end),
                              byoc_write_vector(w, "axis", BYOC_DTYPE_I64, 1, &axis)};
  if (!x) w->failed = true;
  byoc_node_t *made = byoc_write_many(w, "", "Slice", operands, 4, 1, NULL, 0);
  return made ? made->results[0] : NULL;
}

// ---- bytes of either sign ----

static byoc_dtype_t other_sign(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_U8 ? BYOC_DTYPE_I8 : BYOC_DTYPE_U8;
}

// x ± 128 under the other type: flips the highest bit.
static byoc_value_t *flipped(byoc_writer_t *w, byoc_value_t *x) {
  byoc_dtype_t to = other_sign(x->type->dtype);
  byoc_graph_module_t *module = w->node->function->module;
  if (byoc_value_is_constant(x)) {
    const byoc_type_t *type = byoc_type_tensor(&module->arena, to, x->type->rank, x->type->dims);
    void *data = NULL;
    byoc_constant_t *constant = type ? byoc_constant_allocate(module, x->constant->name, type, &data) : NULL;
    byoc_value_t *value = constant ? byoc_function_constant(w->node->function, constant) : NULL;
    if (!value) w->failed = true;
    const uint8_t *from = x->constant->data;
    for (int64_t i = 0; value && i < byoc_type_element_count(type); ++i) ((uint8_t *)data)[i] = from[i] ^ 128;
    return value;
  }
  const uint8_t bit = 128;
  byoc_value_t *mask = byoc_write_vector(w, "bit", BYOC_DTYPE_U8, 1, &bit);
  byoc_value_t *bytes = byoc_write_cast(w, x, BYOC_DTYPE_U8);
  bytes = byoc_write_node(w, "", "BitwiseXor", bytes, mask, NULL, NULL, 0);
  return byoc_write_cast(w, bytes, to);
}

void byoc_write_flipped(byoc_writer_t *w, byoc_bytes_side_t *side) {
  byoc_value_t *zero = side->zero;
  if (!zero) {
    const int8_t none = 0;
    zero = byoc_write_vector(w, "zero", side->bytes->type->dtype, 1, &none);
  }
  side->zero = zero ? flipped(w, zero) : NULL;
  side->bytes = flipped(w, side->bytes);
}

// ---- floats that hold integers ----

bool byoc_bytes_are_floats(const byoc_writer_t *w) {
  return w->node->function->module->bytes_as_floats;
}

byoc_span_t byoc_bytes_span(const byoc_bytes_side_t *side) {
  const int64_t least = side->bytes->type->dtype == BYOC_DTYPE_U8 ? 0 : -128, most = least + 255;
  if (!side->zero) return (byoc_span_t){least, most};
  if (!byoc_value_is_constant(side->zero)) return (byoc_span_t){least - most, most - least};
  byoc_span_t span = {0, 0};
  for (int64_t i = 0; i < byoc_type_element_count(side->zero->type); ++i) {
    const int64_t zero = byoc_constant_element_i64(side->zero->constant, i);
    if (least - zero < span.least) span.least = least - zero;
    if (most - zero > span.most) span.most = most - zero;
  }
  return span;
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

// Weights that are not constant: each may be the worst.
static int64_t worst_end(const byoc_terms_t *t, int64_t begin) {
  const byoc_span_t x = byoc_bytes_span(&t->x), w = byoc_bytes_span(&t->weights);
  const int64_t step = t->taps * larger(x.most, -x.least) * larger(w.most, -w.least);
  if (step <= 0) return t->steps;
  const int64_t count = (t->limit - 1) / step;
  return count >= t->steps - begin ? t->steps : begin + count;
}

int64_t byoc_terms_end(byoc_writer_t *w, const byoc_terms_t *t, int64_t begin) {
  if (!t->constant) return worst_end(t, begin);
  // What positive and what negative terms may add to each sum: a part of a sum is never beyond either.
  int64_t *ends = BYOC_ARENA_ARRAY(&w->node->function->module->arena, int64_t, 2 * (size_t)t->sums + 1);
  if (!ends) w->failed = true;
  const byoc_span_t x = byoc_bytes_span(&t->x);
  const bool one_zero = t->zeros && byoc_type_element_count(t->zeros->type) == 1;
  for (int64_t i = 0; ends && i < 2 * t->sums; ++i) ends[i] = 0;
  for (int64_t step = begin; ends && step < t->steps; ++step) {
    for (int64_t i = 0; i < t->sums; ++i) {
      const int64_t zero = t->zeros ? byoc_constant_element_i64(t->zeros, one_zero ? 0 : i) : 0;
      for (int64_t tap = 0; tap < t->taps; ++tap) {
        const int64_t at = i * t->sum_stride + step * t->step_stride + tap;
        const int64_t weight = byoc_constant_element_i64(t->constant, at) - zero;
        ends[2 * i] += larger(weight * x.most, weight * x.least);
        ends[2 * i + 1] += larger(-weight * x.most, -weight * x.least);
      }
      if (larger(ends[2 * i], ends[2 * i + 1]) >= t->limit) return step;
    }
  }
  return ends ? t->steps : begin;
}

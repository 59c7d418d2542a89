// SPDX-License-Identifier: Apache-2.0
// Convolutions of quantised tensors: ConvInteger, QLinearConv and byoc::QLinearConvTranspose.
//
// Three ways lead to the same sums (byoc::Conv):
// - bytes of both signs, for which processors have instructions: weights around 0, and groups that are packed. If x and
//   the weights have the same sign, one of them is flipped.
// - floats that hold integers: depthwise convolutions, weights with zero points, and processors without instructions
//   for bytes. Sums are exact below 2^24; larger ones are computed in parts of the input channels.
// - i32, if there are no such parts.
#include "core/ops/loops/window.h"
#include "core/ops/onnx/quantization/quantize_write.h"

typedef struct {
  byoc_bytes_side_t x, weights;
  byoc_value_t *bias; // of i32; NULL: none
} conv_t;

// ---- bytes ----

// bias - zero point * sums of each output channel's weights; a constant if all of these are known.
static byoc_value_t *write_bias(byoc_writer_t *w, const byoc_bytes_side_t *x, byoc_value_t *weights,
                                byoc_value_t *bias) {
  if (byoc_all_are(x->zero, 0)) return bias;
  byoc_graph_module_t *module = w->node->function->module;
  if (byoc_value_is_constant(weights) && byoc_value_is_constant(x->zero) && (!bias || byoc_value_is_constant(bias))) {
    int64_t channels = weights->type->dims[0].constant, zero = byoc_constant_element_i64(x->zero->constant, 0);
    int64_t row = channels > 0 ? byoc_type_element_count(weights->type) / channels : 0;
    void *data = NULL;
    const byoc_type_t *type = byoc_type_tensor_static(&module->arena, BYOC_DTYPE_I32, 1, &channels);
    byoc_constant_t *constant = type ? byoc_constant_allocate(module, "bias", type, &data) : NULL;
    byoc_value_t *value = constant ? byoc_function_constant(w->node->function, constant) : NULL;
    if (!value) w->failed = true;
    for (int64_t m = 0; value && m < channels; ++m) {
      uint32_t sum = 0;
      for (int64_t i = 0; i < row; ++i) sum += (uint32_t)byoc_constant_element_i64(weights->constant, m * row + i);
      uint32_t own = bias ? (uint32_t)byoc_constant_element_i64(bias->constant, m) : 0;
      ((int32_t *)data)[m] = (int32_t)(own - (uint32_t)zero * sum);
    }
    return value;
  }
  int64_t axes[BYOC_MAX_RANK];
  for (int32_t d = 1; d < weights->type->rank; ++d) axes[d - 1] = d;
  const byoc_attribute_t keep = {.name = "keepdims", .kind = BYOC_ATTRIBUTE_INT, .i = 0};
  byoc_value_t *over = byoc_write_vector(w, "axes", BYOC_DTYPE_I64, weights->type->rank - 1, axes);
  byoc_value_t *sums =
      byoc_write_node(w, "", "ReduceSum", byoc_write_cast(w, weights, BYOC_DTYPE_I32), over, NULL, &keep, 1);
  const int32_t none = 0;
  if (!bias) bias = byoc_write_vector(w, "none", BYOC_DTYPE_I32, 1, &none);
  return byoc_write_less(w, bias, sums, x->zero);
}

// Are the weights around 0, or around the middle, which flipping makes 0?
static bool is_symmetric(const conv_t *conv, bool *out_flips) {
  const byoc_dtype_t dtype = conv->weights.bytes->type->dtype;
  const bool is_same = conv->x.bytes->type->dtype == dtype;
  *out_flips = is_same && byoc_all_are(conv->weights.zero, dtype == BYOC_DTYPE_U8 ? 128 : -128);
  return *out_flips || byoc_all_are(conv->weights.zero, 0);
}

static byoc_value_t *write_bytes(byoc_writer_t *w, const conv_t *conv, bool flips_weights) {
  byoc_bytes_side_t x = conv->x, k = conv->weights;
  if (x.bytes->type->dtype == k.bytes->type->dtype) byoc_write_flipped(w, flips_weights ? &k : &x);
  const int8_t none = 0;
  if (!w->failed && !x.zero) x.zero = byoc_write_vector(w, "zero", x.bytes->type->dtype, 1, &none);
  if (w->failed) return NULL;
  const byoc_attributes_t *attributes = &w->node->attributes;
  byoc_value_t *operands[] = {x.bytes, k.bytes, write_bias(w, &x, k.bytes, conv->bias), x.zero};
  byoc_node_t *made = byoc_write_many(w, "byoc", "Conv", operands, 4, 1, attributes->items, attributes->count);
  return made ? made->results[0] : NULL;
}

// ---- floats that hold integers, and i32 ----

// A constant bias of small numbers takes part in the sums of floats.
static int64_t largest(const byoc_value_t *bias) {
  if (!bias) return 0;
  if (!byoc_value_is_constant(bias)) return INT64_MAX;
  int64_t most = 0;
  for (int64_t i = 0; i < byoc_type_element_count(bias->type); ++i) {
    const int64_t term = byoc_constant_element_i64(bias->constant, i);
    if (most < (term < 0 ? -term : term)) most = term < 0 ? -term : term;
  }
  return most;
}

// The sums that a convolution makes, of which the input channels of a group are the steps.
static bool read_terms(const conv_t *conv, byoc_terms_t *terms) {
  const byoc_type_t *type = conv->weights.bytes->type;
  if (!byoc_type_is_static(type)) return false;
  *terms = (byoc_terms_t){.x = conv->x, .weights = conv->weights, .limit = BYOC_EXACT_F32, .taps = 1};
  terms->sums = type->dims[0].constant, terms->steps = type->dims[1].constant;
  for (int32_t d = 2; d < type->rank; ++d) terms->taps *= type->dims[d].constant;
  terms->step_stride = terms->taps, terms->sum_stride = terms->taps * terms->steps;
  const byoc_value_t *zero = conv->weights.zero;
  if (byoc_value_is_constant(conv->weights.bytes) && (!zero || byoc_value_is_constant(zero))) {
    terms->constant = conv->weights.bytes->constant;
    terms->zeros = zero ? zero->constant : NULL;
  }
  return true;
}

// byoc::Conv of x minus its zero point, with sums of that type.
static byoc_value_t *write_centred_conv(byoc_writer_t *w, const conv_t *conv, byoc_value_t *x, byoc_value_t *weights,
                                        byoc_value_t *bias, byoc_dtype_t dtype) {
  const byoc_attributes_t *attributes = &w->node->attributes;
  byoc_value_t *zero = conv->x.zero;
  const int8_t none = 0;
  if (!zero) zero = byoc_write_vector(w, "zero", conv->x.bytes->type->dtype, 1, &none);
  if (!x || !weights) w->failed = true;
  byoc_value_t *operands[] = {x, weights, bias ? byoc_write_cast(w, bias, dtype) : NULL, zero};
  byoc_node_t *made = byoc_write_many(w, "byoc", "Conv", operands, 4, 1, attributes->items, attributes->count);
  return made ? made->results[0] : NULL;
}

// sum + bias, in i32
static byoc_value_t *write_sum(byoc_writer_t *w, byoc_value_t *sum, byoc_value_t *bias, int32_t spatial) {
  if (!bias) return sum;
  return byoc_write_plain(w, "Add", byoc_write_cast(w, sum, BYOC_DTYPE_I32), byoc_write_trailing(w, bias, spatial));
}

// NULL with *out_fits = false if there are no parts whose sums are exact.
static byoc_value_t *write_floats(byoc_writer_t *w, const conv_t *conv, bool *out_fits) {
  enum { MOST_PARTS = 16, MOST_BIAS = 1 << 22 };
  const int32_t spatial = conv->weights.bytes->type->rank - 2;
  byoc_terms_t terms;
  int64_t ends[MOST_PARTS], count = 0;
  *out_fits = read_terms(conv, &terms);
  const int64_t most_bias = largest(conv->bias);
  const bool takes_bias = most_bias <= MOST_BIAS;
  if (takes_bias) terms.limit -= most_bias;
  for (int64_t begin = 0; *out_fits && (begin < terms.steps || count == 0); begin = ends[count++]) {
    const int64_t end = byoc_terms_end(w, &terms, begin);
    *out_fits = count < MOST_PARTS && (end > begin || end == terms.steps);
    if (*out_fits) ends[count] = end;
  }
  if (count > 1 && byoc_node_int(w->node, "group") != 1) *out_fits = false;
  if (!*out_fits || w->failed) return NULL;
  byoc_value_t *weights = byoc_write_centred(w, conv->weights.bytes, conv->weights.zero, spatial + 1, BYOC_DTYPE_F32);
  byoc_value_t *inner = takes_bias ? conv->bias : NULL, *outer = takes_bias ? NULL : conv->bias, *sum = NULL;
  for (int64_t part = 0; part < count; ++part) {
    const int64_t begin = part == 0 ? 0 : ends[part - 1];
    byoc_value_t *x = count == 1 ? conv->x.bytes : byoc_write_part(w, conv->x.bytes, 1, begin, ends[part]);
    byoc_value_t *k = count == 1 ? weights : byoc_write_part(w, weights, 1, begin, ends[part]);
    byoc_value_t *term = write_centred_conv(w, conv, x, k, part == 0 ? inner : NULL, BYOC_DTYPE_F32);
    if (count > 1) term = byoc_write_cast(w, term, BYOC_DTYPE_I32);
    sum = sum ? byoc_write_plain(w, "Add", sum, term) : term;
  }
  return write_sum(w, sum, outer, spatial);
}

static byoc_value_t *write_integers(byoc_writer_t *w, const conv_t *conv) {
  byoc_value_t *weights = byoc_write_centred(w, conv->weights.bytes, conv->weights.zero,
                                             conv->weights.bytes->type->rank - 1, BYOC_DTYPE_I32);
  return write_centred_conv(w, conv, conv->x.bytes, weights, conv->bias, BYOC_DTYPE_I32);
}

// sum of (x - zero point) * (w - zero point) + bias, in i32, or exactly in f32; padded with the value that stands for
// 0.
static byoc_value_t *write_conv(byoc_writer_t *w, const conv_t *conv) {
  bool flips = false, is_float = true;
  const bool suits_bytes =
      is_symmetric(conv, &flips) && byoc_conv_is_packed(conv->weights.bytes->type, byoc_node_int(w->node, "group"));
  if (suits_bytes && !byoc_bytes_are_floats(w)) return write_bytes(w, conv, flips);
  byoc_value_t *sum = write_floats(w, conv, &is_float);
  if (is_float || w->failed) return sum;
  return suits_bytes ? write_bytes(w, conv, flips) : write_integers(w, conv);
}

// ConvInteger(x, w, zero points) → byoc::Conv
static byoc_status_t expand_conv_integer(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *const *in = node->operands;
  const conv_t conv = {.x = {in[0], byoc_quantised_operand(node, 2)},
                       .weights = {in[1], byoc_quantised_operand(node, 3)}};
  byoc_value_t *sum = write_conv(&w, &conv);
  return byoc_write_end(&w, sum ? byoc_write_cast(&w, sum, BYOC_DTYPE_I32) : NULL, out_changed);
}

// QLinearConv → byoc::Conv with its bias, scaled per channel, then QuantizeLinear
static byoc_status_t expand_qlinear_conv(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *const *in = node->operands;
  const conv_t conv = {.x = {in[0], in[2]}, .weights = {in[3], in[5]}, .bias = byoc_quantised_operand(node, 8)};
  byoc_value_t *sum = write_conv(&w, &conv);
  byoc_value_t *scale = byoc_write_trailing(&w, in[4], in[3]->type->rank - 2);
  return byoc_write_end(&w, byoc_write_requantised(&w, sum, in[1], scale, in[6], in[7]), out_changed);
}

// ---- transposed convolutions ----

// Sums of f64 are exact below 2^53, where those of f32 may not be.
static byoc_dtype_t transposed_dtype(const conv_t *conv, int64_t groups) {
  const byoc_type_t *type = conv->weights.bytes->type;
  const byoc_span_t x = byoc_bytes_span(&conv->x), w = byoc_bytes_span(&conv->weights);
  int64_t sum = (x.most > -x.least ? x.most : -x.least) * (w.most > -w.least ? w.most : -w.least);
  for (int32_t d = 0; d < type->rank; ++d) {
    if (d == 1) continue;
    const int64_t extent = byoc_dim_is_constant(type->dims[d]) ? type->dims[d].constant : INT64_MAX;
    if (extent > 0 && sum > INT64_MAX / extent) return BYOC_DTYPE_F64;
    sum *= extent;
  }
  const int64_t bias = largest(conv->bias);
  return bias < BYOC_EXACT_F32 && sum / groups + bias < BYOC_EXACT_F32 ? BYOC_DTYPE_F32 : BYOC_DTYPE_F64;
}

// QLinearConvTranspose → ConvTranspose of floats that hold integers, scaled per channel, then QuantizeLinear
static byoc_status_t expand_qlinear_transposed(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *const *in = node->operands;
  if (!byoc_dtype_is_byte(in[0]->type->dtype) || !byoc_dtype_is_byte(in[3]->type->dtype)) {
    return byoc_expand_wide(node, diag, out_changed);
  }
  const conv_t conv = {.x = {in[0], in[2]}, .weights = {in[3], in[5]}, .bias = byoc_quantised_operand(node, 8)};
  const byoc_dtype_t dtype = transposed_dtype(&conv, byoc_node_int(node, "group"));
  const int32_t spatial = in[3]->type->rank - 2;
  byoc_value_t *operands[] = {byoc_write_centred(&w, in[0], in[2], 0, dtype),
                              byoc_write_centred(&w, in[3], in[5], spatial, dtype),
                              conv.bias ? byoc_write_cast(&w, conv.bias, dtype) : NULL};
  if (!operands[0] || !operands[1]) w.failed = true;
  byoc_node_t *made = byoc_write_many(&w, "", "ConvTranspose", operands, conv.bias ? 3 : 2, 1, node->attributes.items,
                                      node->attributes.count);
  byoc_value_t *scale = byoc_write_trailing(&w, in[4], spatial);
  byoc_value_t *sum = made ? made->results[0] : NULL;
  return byoc_write_end(&w, byoc_write_requantised(&w, sum, in[1], scale, in[6], in[7]), out_changed);
}

const byoc_op_t byoc_ops_quantize_conv[] = {
    BYOC_QUANTISED_ROW("", "ConvInteger", 10, 2, 4, byoc_conv_attributes, byoc_infer_quantised_conv, conv_integer,
                       CONVOLUTION, 1),
    BYOC_QUANTISED_ROW("", "QLinearConv", 10, 8, 9, byoc_conv_attributes, byoc_infer_quantised_conv, qlinear_conv,
                       CONVOLUTION, 3),
    BYOC_QUANTISED_ROW("byoc", "QLinearConvTranspose", 1, 8, 9, byoc_conv_transpose_attributes,
                       byoc_infer_quantised_transposed, qlinear_transposed, TRANSPOSED_CONVOLUTION, 3),
};
const size_t byoc_ops_quantize_conv_count = sizeof byoc_ops_quantize_conv / sizeof *byoc_ops_quantize_conv;

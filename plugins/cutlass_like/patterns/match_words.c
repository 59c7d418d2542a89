// SPDX-License-Identifier: Apache-2.0
// From nodes on bytes to a problem of words.
#include "patterns/match_words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool refuse(byoc_cutlass_match_t *match, const char *reason) {
  match->reason = reason;
  return false;
}

static bool is_byte(uint32_t dtype) {
  return dtype == BYOC_DTYPE_I8 || dtype == BYOC_DTYPE_U8;
}

static bool read_constant(const byoc_graph_api_t *graph, const byoc_value_t *value, byoc_tensor_data_t *data) {
  *data = (byoc_tensor_data_t){.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  return value && graph->value_constant(value, data);
}

static int32_t byte_at(const byoc_tensor_data_t *data, int64_t at) {
  return data->dtype == BYOC_DTYPE_I8 ? ((const int8_t *)data->data)[at] : ((const uint8_t *)data->data)[at];
}

// Operands left out are NULL.
static byoc_value_t *operand(const byoc_graph_api_t *graph, const byoc_node_t *node, uint64_t index) {
  return index < graph->operand_count(node) ? graph->operand(node, index) : NULL;
}

static bool read_scalar(const byoc_graph_api_t *graph, const byoc_value_t *value, float *out_scalar) {
  byoc_tensor_data_t data;
  if (!read_constant(graph, value, &data) || data.dtype != BYOC_DTYPE_F32 || byoc_cutlass_match_elements(&data) != 1)
    return false;
  *out_scalar = *(const float *)data.data;
  return true;
}

// The data's zero point: a constant, or one byte that is computed.
static bool read_zero(const byoc_graph_api_t *graph, byoc_value_t *zero, byoc_cutlass_match_t *match) {
  byoc_tensor_data_t data;
  if (!zero) return true;
  if (graph->value_element_count(zero) != 1) return refuse(match, "the data has a zero point for each row");
  if (read_constant(graph, zero, &data)) {
    match->problem.words.zero = byte_at(&data, 0);
    return true;
  }
  match->zero = zero;
  match->problem.words.reads_zero = true;
  return true;
}

// The weights minus their zero points, of which there is one for all or one per channel. `turned`: a matrix whose rows
// are the channels.
static bool read_weights(const byoc_graph_api_t *graph, byoc_value_t *weights, byoc_value_t *zero, bool turned,
                         byoc_cutlass_match_t *match) {
  byoc_tensor_data_t data, zeros = {0};
  if (!read_constant(graph, weights, &data) || !is_byte(data.dtype))
    return refuse(match, "the weights are not constant");
  int64_t count = byoc_cutlass_match_elements(&data), zero_count = 1;
  if (zero) {
    if (!read_constant(graph, zero, &zeros)) return refuse(match, "the weights' zero point is not constant");
    zero_count = byoc_cutlass_match_elements(&zeros);
    if (zero_count != 1 && (zero_count != match->channels || zeros.rank != 1))
      return refuse(match, "the weights have neither one zero point nor one per channel");
  }
  match->bytes = malloc((size_t)(count > 0 ? count : 1) * sizeof *match->bytes);
  if (!match->bytes) return byoc_cutlass_match_out_of_memory(match);
  // The distance between two channels in elements, and the number of channels after which they repeat.
  int64_t depth = count / match->channels, step = match->problem.kind == BYOC_CUTLASS_CONV || turned ? depth : 1;
  for (int64_t i = 0; i < count; ++i) {
    int64_t channel = i / step % match->channels;
    int32_t value = byte_at(&data, i) - (zero ? byte_at(&zeros, zero_count == 1 ? 0 : channel) : 0);
    match->bytes[turned ? i % depth * match->channels + channel : i] = (int16_t)value;
    match->wide = match->wide || value < -128 || value > 127;
    match->has_negative = match->has_negative || value < 0;
  }
  return true;
}

static bool read_summand(const byoc_graph_api_t *graph, const byoc_value_t *summand, byoc_cutlass_match_t *match) {
  byoc_tensor_data_t data;
  if (!read_constant(graph, summand, &data) || data.dtype != BYOC_DTYPE_I32)
    return refuse(match, "the bias is not constant");
  int64_t count = byoc_cutlass_match_elements(&data);
  if (count != 1 && count != match->channels) return refuse(match, "the bias is not one value per channel");
  if (!match->summand) match->summand = calloc((size_t)match->channels, sizeof *match->summand);
  if (!match->summand) return byoc_cutlass_match_out_of_memory(match);
  for (int64_t i = 0; i < match->channels; ++i) {
    uint32_t value = (uint32_t)((const int32_t *)data.data)[count == 1 ? 0 : i];
    match->summand[i] = (int32_t)((uint32_t)match->summand[i] + value);
  }
  return true;
}

// Scales of data and weights → the factor of each channel, as one product of f32.
static bool read_scales(const byoc_graph_api_t *graph, const byoc_value_t *data_scale, const byoc_value_t *weight_scale,
                        byoc_cutlass_match_t *match) {
  byoc_tensor_data_t scales;
  float scale;
  if (!read_scalar(graph, data_scale, &scale)) return refuse(match, "the data's scale is not one constant of f32");
  if (!read_constant(graph, weight_scale, &scales) || scales.dtype != BYOC_DTYPE_F32)
    return refuse(match, "the weights' scale is not constant f32");
  int64_t count = byoc_cutlass_match_elements(&scales);
  if (count != 1 && (count != match->channels || scales.rank != 1))
    return refuse(match, "the weights have neither one scale nor one per channel");
  for (int64_t i = 0; i < match->channels; ++i)
    match->scale[i] = scale * ((const float *)scales.data)[count == 1 ? 0 : i];
  return true;
}

// The scale and the zero point of the result.
static bool read_result(const byoc_graph_api_t *graph, const byoc_value_t *scale, const byoc_value_t *zero,
                        byoc_cutlass_match_t *match) {
  byoc_cutlass_words_t *words = &match->problem.words;
  byoc_tensor_data_t data;
  if (!read_scalar(graph, scale, &words->result_scale) || !(words->result_scale > 1e-30f))
    return refuse(match, "the result's scale is not one constant of f32");
  if (!read_constant(graph, zero, &data) || !is_byte(data.dtype) || byoc_cutlass_match_elements(&data) != 1)
    return refuse(match, "the result's zero point is not a constant byte");
  words->result = data.dtype;
  words->result_zero = (float)byte_at(&data, 0);
  words->low = data.dtype == BYOC_DTYPE_I8 ? -128.0f : 0.0f;
  words->high = words->low + 255.0f;
  return true;
}

// Only the number of images, which is the same in both, is that of each call.
static bool open_batch(const byoc_graph_api_t *graph, const byoc_value_t *x, const byoc_value_t *y,
                       byoc_cutlass_match_t *match) {
  for (int32_t i = 1; i < graph->value_rank(x); ++i)
    if (graph->value_dim(x, i) < 0 || graph->value_dim(y, i) < 0)
      return refuse(match, "a size other than the number of images is dynamic");
  if (!graph->value_dims_equal(x, 0, y, 0)) return refuse(match, "the result has another number of images");
  match->problem.conv.batch = 1;
  match->problem.conv.open_batch = true;
  return true;
}

// Only the number of rows is that of each call.
static bool open_rows(byoc_cutlass_match_t *match) {
  byoc_cutlass_gemm_t *gemm = &match->problem.gemm;
  if (gemm->n < 0 || gemm->k < 0) return refuse(match, "a size other than the number of rows is dynamic");
  gemm->m = BYOC_CUTLASS_OPEN_ROWS;
  gemm->open_rows = true;
  return true;
}

bool byoc_cutlass_is_words_product(const char *op) {
  return strcmp(op, "QLinearConv") == 0 || strcmp(op, "QLinearMatMul") == 0 || strcmp(op, "ConvInteger") == 0 ||
         strcmp(op, "MatMulInteger") == 0 || strcmp(op, "QGemm") == 0;
}

bool byoc_cutlass_read_words_product(const byoc_graph_api_t *graph, byoc_node_t *node, byoc_cutlass_match_t *match) {
  const char *op = graph->node_operator(node);
  bool gemm = strcmp(op, "QGemm") == 0, linear = gemm || strncmp(op, "QLinear", 7) == 0;
  bool conv = strstr(op, "Conv") != NULL;
  byoc_value_t *x = operand(graph, node, 0), *w = operand(graph, node, linear ? 3 : 1);
  byoc_value_t *x_zero = operand(graph, node, 2), *w_zero = operand(graph, node, linear ? 5 : 3);
  byoc_value_t *y = graph->node_result(node, 0);
  bool is_open = false;
  if (graph->value_element_count(w) <= 0 || !byoc_cutlass_match_known(graph, x, &is_open) ||
      !byoc_cutlass_match_known(graph, y, &is_open))
    return refuse(match, "only weights of a known shape are supported");
  if (!is_byte(graph->value_dtype(x)) || !is_byte(graph->value_dtype(w)))
    return refuse(match, "only bytes are supported");
  match->problem.words =
      (byoc_cutlass_words_t){.dot = BYOC_CUTLASS_DOT_I16X2, .data = graph->value_dtype(x), .result = BYOC_DTYPE_I32};
  match->data = x;
  match->weights = w;
  if (conv) {
    if (!byoc_cutlass_match_conv_shape(graph, node, x, w, y, match)) return false;
    const byoc_cutlass_conv_t *c = &match->problem.conv;
    if (c->groups > 1 && (c->in == 2 || c->in == 3)) return refuse(match, "too few channels per group to fill words");
    if (is_open && !open_batch(graph, x, y, match)) return false;
  } else {
    if (gemm && (graph->node_int(node, "transA") || graph->node_float(node, "alpha") != 1.0))
      return refuse(match, "a factor of the product, or a transposed matrix of data");
    if (gemm && !operand(graph, node, 7)) return refuse(match, "the product has no scale");
    if (!byoc_cutlass_match_matmul_shape(graph, x, w, y, match)) return false;
    if (match->problem.gemm.batch_rank > 0) return refuse(match, "several matrices of weights");
    if (is_open && !open_rows(match)) return false;
    match->problem.gemm.constant_b = true;
  }
  int64_t channels = conv ? match->problem.conv.groups * match->problem.conv.out : match->problem.gemm.n;
  if (!byoc_cutlass_match_start(match, channels)) return false;
  bool turned = gemm && graph->node_int(node, "transB");
  if (!read_zero(graph, x_zero, match) || !read_weights(graph, w, w_zero, turned, match)) return false;
  if (!linear) return true;
  uint64_t result = gemm ? 7 : 6;
  byoc_value_t *bias = conv ? operand(graph, node, 8) : gemm ? operand(graph, node, 6) : NULL;
  if (bias && !read_summand(graph, bias, match)) return false;
  return read_scales(graph, operand(graph, node, 1), operand(graph, node, 4), match) &&
         read_result(graph, operand(graph, node, result), operand(graph, node, result + 1), match);
}

// ---- behind the product ----

static byoc_value_t *other_operand(const byoc_graph_api_t *graph, const byoc_node_t *node, const byoc_value_t *value) {
  return graph->operand(node, graph->operand(node, 0) == value ? 1 : 0);
}

bool byoc_cutlass_read_words_side(const byoc_graph_api_t *graph, byoc_node_t *node, const byoc_value_t *value,
                                  byoc_cutlass_match_t *match) {
  if (match->side || strcmp(graph->node_operator(node), "DequantizeLinear") != 0) return false;
  byoc_value_t *bytes = graph->operand(node, 0);
  if (bytes == value || !is_byte(graph->value_dtype(bytes))) return false;
  match->side = node;
  return true;
}

// A scale, which is the operand at `index`, and the zero point after it, of one value each; no zero point is 0.
static bool read_affine(const byoc_graph_api_t *graph, const byoc_node_t *node, uint64_t index, float *out_scale,
                        float *out_zero) {
  byoc_tensor_data_t data;
  byoc_value_t *zero = operand(graph, node, index + 1);
  *out_zero = 0.0f;
  if (!read_scalar(graph, graph->operand(node, index), out_scale) || !(*out_scale > 1e-30f)) return false;
  if (!zero) return true;
  if (!read_constant(graph, zero, &data) || !is_byte(data.dtype) || byoc_cutlass_match_elements(&data) != 1)
    return false;
  *out_zero = (float)byte_at(&data, 0);
  return true;
}

// Bytes of the shape of `value` that are added to it. Their scale is the operand of the node at `index`.
static bool read_residual(const byoc_graph_api_t *graph, const byoc_node_t *node, uint64_t index, byoc_value_t *bytes,
                          const byoc_value_t *value, byoc_cutlass_match_t *match) {
  byoc_cutlass_words_t *words = &match->problem.words;
  if (!is_byte(graph->value_dtype(bytes))) return refuse(match, "a summand that is not made of bytes");
  if (graph->value_rank(bytes) != graph->value_rank(value)) return refuse(match, "a summand that is broadcast");
  for (int32_t i = 0; i < graph->value_rank(bytes); ++i)
    if (!graph->value_dims_equal(bytes, i, value, i)) return refuse(match, "a summand that is broadcast");
  if (!read_affine(graph, node, index, &words->other_scale, &words->other_zero))
    return refuse(match, "a scale that is not one constant");
  match->residual = bytes;
  match->problem.epilogue.has_residual = true;
  words->residual = graph->value_dtype(bytes);
  return true;
}

// QLinearAdd(bytes, other bytes), in either order. It divides the scales, and adds the zero point before it rounds:
// round((own - own_zero) * (own_scale / joined_scale) + ... + joined_zero)
static bool read_sum(const byoc_graph_api_t *graph, byoc_node_t *node, const byoc_value_t *value,
                     byoc_cutlass_match_t *match) {
  byoc_cutlass_words_t *words = &match->problem.words;
  uint64_t own = graph->operand(node, 0) == value ? 0 : 3, other = 3 - own;
  uint32_t made = graph->value_dtype(graph->node_result(node, 0));
  if (match->residual) return refuse(match, "two summands behind a product");
  if (graph->operand(node, own) != value || graph->operand(node, other) == value)
    return refuse(match, "the operators are not a chain");
  words->joins = true;
  words->joined_low = made == BYOC_DTYPE_I8 ? -128.0f : 0.0f;
  words->joined_high = words->joined_low + 255.0f;
  if (!read_affine(graph, node, own + 1, &words->own_scale, &words->own_zero) ||
      !read_affine(graph, node, 6, &words->joined_scale, &words->joined_zero))
    return refuse(match, "a scale that is not one constant");
  if (!read_residual(graph, node, other + 1, graph->operand(node, other), value, match)) return false;
  if (words->joined_scale == 0.0f) return refuse(match, "a scale that is zero");
  words->own_scale /= words->joined_scale;
  words->other_scale /= words->joined_scale;
  words->joined_shift = words->joined_zero;
  words->joined_scale = 1.0f;
  words->joined_zero = 0.0f;
  return true;
}

// Relu, Clip and Max of bytes: the ends of the range of a result or a sum.
static bool read_cut(const byoc_graph_api_t *graph, byoc_node_t *node, const byoc_value_t *value, float *low,
                     float *high, byoc_cutlass_match_t *match) {
  const char *op = graph->node_operator(node);
  byoc_tensor_data_t data;
  float ends[2] = {0.0f, *high};
  bool is_max = strcmp(op, "Max") == 0;
  for (uint64_t i = 0; i < 2 && strcmp(op, "Relu") != 0 && !(is_max && i == 1); ++i) {
    byoc_value_t *end = is_max ? other_operand(graph, node, value) : operand(graph, node, 1 + i);
    if (!end) return refuse(match, "a Clip of bytes without one of its ends");
    if (!read_constant(graph, end, &data) || data.dtype != graph->value_dtype(value) ||
        byoc_cutlass_match_elements(&data) != 1)
      return refuse(match, "an end of a range that is not constant");
    ends[i] = (float)byte_at(&data, 0);
  }
  // As Clip defines it, the upper end wins.
  if (*low < ends[0]) *low = ends[0];
  if (*high > ends[1]) *high = ends[1];
  if (*low > *high) *low = *high;
  return true;
}

static bool is_cut(const char *op) {
  return strcmp(op, "Relu") == 0 || strcmp(op, "Clip") == 0 || strcmp(op, "Max") == 0;
}

// The steps of QuantizeLinear(Relu?(Add(DequantizeLinear(bytes), DequantizeLinear(other bytes)))).
static bool read_join(const byoc_graph_api_t *graph, byoc_node_t *node, const byoc_value_t *value,
                      byoc_cutlass_match_t *match) {
  const char *op = graph->node_operator(node);
  byoc_cutlass_words_t *words = &match->problem.words;
  if (strcmp(op, "DequantizeLinear") == 0 && !words->joins) {
    words->joins = true;
    return read_affine(graph, node, 1, &words->own_scale, &words->own_zero) ||
           refuse(match, "a scale that is not one constant");
  }
  if (!words->joins) return refuse(match, "an operator on bytes that is not supported behind a product");
  if (strcmp(op, "Add") == 0 && match->side && !match->residual) {
    byoc_value_t *bytes = graph->operand(match->side, 0);
    if (other_operand(graph, node, value) != graph->node_result(match->side, 0))
      return refuse(match, "a summand that is not made of bytes");
    return read_residual(graph, match->side, 1, bytes, value, match);
  }
  if (strcmp(op, "Relu") == 0 && match->residual) {
    words->joins_relu = true;
    return true;
  }
  uint32_t made = graph->value_dtype(graph->node_result(node, 0));
  if (strcmp(op, "QuantizeLinear") == 0 && match->residual && is_byte(made)) {
    words->joined_low = made == BYOC_DTYPE_I8 ? -128.0f : 0.0f;
    words->joined_high = words->joined_low + 255.0f;
    return read_affine(graph, node, 1, &words->joined_scale, &words->joined_zero) ||
           refuse(match, "a scale that is not one constant");
  }
  return refuse(match, "an operator on bytes that is not supported behind a product");
}

bool byoc_cutlass_is_words_step(const byoc_graph_api_t *graph, byoc_node_t *node, const byoc_value_t *value,
                                const byoc_cutlass_match_t *match) {
  byoc_tensor_data_t data;
  if (graph->value_dtype(value) != BYOC_DTYPE_F32 || match->problem.words.joins) return true;
  // A factor that is computed may follow as long as the sums are only scaled.
  if (strcmp(graph->node_operator(node), "Mul") != 0 || match->factor || match->residual ||
      match->problem.epilogue.activation != BYOC_CUTLASS_ACT_NONE)
    return false;
  byoc_value_t *other = other_operand(graph, node, value);
  return graph->value_dtype(other) == BYOC_DTYPE_F32 && graph->value_element_count(other) == 1 &&
         !read_constant(graph, other, &data);
}

// DequantizeLinear(sum, scale) → sum * scale
static bool read_dequantise(const byoc_graph_api_t *graph, byoc_node_t *node, const byoc_value_t *value,
                            byoc_cutlass_match_t *match) {
  byoc_tensor_data_t scale, zero;
  int32_t rank = graph->value_rank(value);
  if (!read_constant(graph, graph->operand(node, 1), &scale) || scale.dtype != BYOC_DTYPE_F32)
    return refuse(match, "a scale that is not constant");
  int64_t count = byoc_cutlass_match_elements(&scale), axis = graph->node_int(node, "axis");
  if (axis < 0) axis += rank;
  if (count != 1 && (count != match->channels || scale.rank != 1 ||
                     axis != (match->problem.kind == BYOC_CUTLASS_CONV ? 1 : rank - 1)))
    return refuse(match, "a scale that is not one value per channel");
  byoc_value_t *zero_value = operand(graph, node, 2);
  if (zero_value) {
    if (!read_constant(graph, zero_value, &zero) || zero.dtype != BYOC_DTYPE_I32)
      return refuse(match, "the sums have a zero point");
    for (int64_t i = 0; i < byoc_cutlass_match_elements(&zero); ++i)
      if (((const int32_t *)zero.data)[i] != 0) return refuse(match, "the sums have a zero point");
  }
  for (int64_t i = 0; i < match->channels; ++i) match->scale[i] *= ((const float *)scale.data)[count == 1 ? 0 : i];
  return true;
}

bool byoc_cutlass_read_words_step(const byoc_graph_api_t *graph, byoc_node_t *node, const byoc_value_t *value,
                                  byoc_cutlass_match_t *match) {
  const char *op = graph->node_operator(node);
  uint32_t dtype = graph->value_dtype(value), made = graph->value_dtype(graph->node_result(node, 0));
  byoc_cutlass_words_t *words = &match->problem.words;
  byoc_tensor_data_t data;
  if (is_byte(dtype) && is_cut(op)) {
    const bool joined = words->joins;
    return read_cut(graph, node, value, joined ? &words->joined_low : &words->low,
                    joined ? &words->joined_high : &words->high, match);
  }
  if (is_byte(dtype) && !words->joins && strcmp(op, "QLinearAdd") == 0) return read_sum(graph, node, value, match);
  if (words->joins || (is_byte(dtype) && strcmp(op, "DequantizeLinear") == 0))
    return read_join(graph, node, value, match);
  if (dtype == BYOC_DTYPE_F32) {
    for (int64_t i = 0; i < match->channels; ++i)
      if (match->shift[i] != 0.0) return refuse(match, "a factor comes after a bias");
    match->factor = other_operand(graph, node, value);
    words->reads_factor = true;
    return true;
  }
  if (dtype == BYOC_DTYPE_I32 && strcmp(op, "Add") == 0) {
    byoc_value_t *other = other_operand(graph, node, value);
    if (!read_constant(graph, other, &data) || !byoc_cutlass_match_spread(graph, match, value, &data))
      return refuse(match, "a summand that is not one constant per channel");
    return read_summand(graph, other, match);
  }
  if (dtype == BYOC_DTYPE_I32 && made == BYOC_DTYPE_F32) {
    if (strcmp(op, "Cast") == 0) return true;
    if (strcmp(op, "DequantizeLinear") == 0) return read_dequantise(graph, node, value, match);
  }
  return refuse(match, "an operator on integers that is not supported behind a product");
}

bool byoc_cutlass_settle_words(const byoc_graph_api_t *graph, const byoc_value_t *value, byoc_cutlass_match_t *match) {
  if (match->side && match->problem.words.residual == 0) return refuse(match, "dequantised bytes that are not added");
  if (match->problem.words.joins && match->problem.words.joined_scale == 0.0f)
    return refuse(match, "dequantised bytes that are not quantised again");
  match->problem.words.result = graph->value_dtype(value);
  // The tables hold factors and biases of floats; if they are 1 and 0 they cost nothing.
  match->problem.epilogue.has_bias = true;
  return true;
}

// SPDX-License-Identifier: Apache-2.0
// Convolution in any number of spatial dimensions, grouped, strided, dilated and padded.
//
// Most convolutions are matrix products over packed pixels. If a group has few output channels (depthwise), packing
// would cost as much as computing, so pixels are summed in place.
#include <string.h>

#include "core/op/axes.h"
#include "core/ops/onnx/nn/conv.h"

// The result of convolving operand 0 with the weights and the bias at these operands.
static byoc_status_t infer_shape(const byoc_infer_t *infer, uint32_t weights, uint32_t bias, byoc_dtype_t dtype) {
  const byoc_node_t *node = infer->node;
  const byoc_type_t *x = byoc_operand_type(node, 0), *w = byoc_operand_type(node, weights);
  if (!byoc_is_ranked(x) || !byoc_is_ranked(w)) return byoc_infer_set_unranked(infer, 0, dtype);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 3, BYOC_MAX_SPATIAL + 2));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, weights, x->rank, x->rank));
  byoc_window_t window;
  BYOC_RETURN_IF_ERROR(byoc_window_read(infer, x, w->dims + 2, &window));
  if (window.is_open && (strcmp(node->op, "Conv") != 0 || byoc_has_operand(node, 3))) {
    return byoc_infer_unsupported(infer, "a kernel of bytes and of symbolic size is not supported");
  }
  int64_t group = byoc_node_int(node, "group");
  if (group < 1 || group > INT32_MAX) {
    return byoc_infer_error(infer, "attribute 'group': expected 1 or more, got %lld", (long long)group);
  }
  byoc_dim_t m = w->dims[0], c = x->dims[1];
  if (byoc_dim_is_constant(c) && c.constant % group != 0) {
    return byoc_infer_error(infer, "operand 0: %lld input channels do not divide into %lld groups",
                            (long long)c.constant, (long long)group);
  }
  if (byoc_dim_is_constant(c) && byoc_dim_is_constant(w->dims[1]) && c.constant != w->dims[1].constant * group) {
    return byoc_infer_error(infer, "operand %u: expected %lld input channel%s (%lld in %lld group%s), got %lld",
                            weights, (long long)(c.constant / group), byoc_plural((uint64_t)(c.constant / group)),
                            (long long)c.constant, (long long)group, byoc_plural((uint64_t)group),
                            (long long)w->dims[1].constant);
  }
  if (!byoc_dim_is_constant(c) || !byoc_dim_is_constant(w->dims[1])) {
    bool failed = false;
    byoc_dim_t taken = byoc_infer_dim(infer, BYOC_DIM_MUL, w->dims[1], byoc_dim_constant(group), &failed);
    BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
    BYOC_RETURN_IF_ERROR(byoc_infer_relate(infer, BYOC_RELATION_EQUAL, byoc_side_of(infer, 0, 1),
                                           byoc_side(taken, "the number of channels that the weights take")));
  }
  if (!byoc_dim_is_constant(m)) {
    BYOC_RETURN_IF_ERROR(
        byoc_infer_relate(infer, BYOC_RELATION_MULTIPLE, byoc_side_of(infer, weights, 0), byoc_side_number(group)));
  }
  if (byoc_dim_is_constant(m) && m.constant % group != 0) {
    return byoc_infer_error(infer, "operand %u: %lld output channels do not divide into %lld groups", weights,
                            (long long)m.constant, (long long)group);
  }
  if (byoc_has_operand(node, bias)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, bias, 1, 1));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, bias, 0, m));
  }
  byoc_dim_t dims[BYOC_MAX_SPATIAL + 2] = {x->dims[0], m};
  for (int32_t d = 0; d < window.spatial; ++d) dims[2 + d] = window.out[d];
  return byoc_infer_set(infer, 0, dtype, x->rank, dims);
}

static bool is_weight(byoc_dtype_t dtype) {
  return byoc_dtype_is_byte(dtype) || dtype == BYOC_DTYPE_I32 || dtype == BYOC_DTYPE_F32;
}

// x of bytes, whose fourth operand is the number that stands for 0. Weights of bytes: the other sign, sums of i32;
// others: the sums have their type.
static byoc_status_t infer_conv_bytes(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_byte, "a tensor of bytes"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, is_weight, "a tensor of bytes, of i32 or of f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, 3));
  const byoc_dtype_t weights = byoc_operand_type(infer->node, 1)->dtype;
  if (!byoc_dtype_is_byte(weights)) {
    if (byoc_has_operand(infer->node, 2) && byoc_operand_type(infer->node, 2)->dtype != weights) {
      return byoc_infer_error(infer, "operand 2: expected the type of operand 1");
    }
    return infer_shape(infer, 1, 2, weights);
  }
  if (byoc_operand_type(infer->node, 0)->dtype == byoc_operand_type(infer->node, 1)->dtype) {
    return byoc_infer_error(infer, "expected signed bytes on one side and unsigned ones on the other");
  }
  return infer_shape(infer, 1, 2, BYOC_DTYPE_I32);
}

byoc_status_t byoc_infer_conv(byoc_infer_t *infer) {
  // Quantised convolutions become byoc::Conv: sums of products of i32. If there is a fourth operand (the value of x
  // that stands for 0), x holds bytes. If the weights are bytes, too, it only pads x; otherwise it is subtracted from
  // x.
  bool quantised = strcmp(infer->node->domain, "byoc") == 0;
  if (quantised && byoc_has_operand(infer->node, 3)) return infer_conv_bytes(infer);
  for (uint32_t i = 0; i < 2; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, quantised ? byoc_dtype_is_integer : byoc_dtype_is_float,
                                         quantised ? "a tensor of integers" : "a float tensor"));
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, 1));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, 2));
  return infer_shape(infer, 1, 2, byoc_operand_type(infer->node, 0)->dtype);
}

// One scale or zero point for all weights, or one per output channel.
static byoc_status_t need_one_a_channel(const byoc_infer_t *infer, uint32_t index, uint32_t weights) {
  const byoc_type_t *type = byoc_operand_type(infer->node, index), *w = byoc_operand_type(infer->node, weights);
  if (!byoc_is_ranked(type) || !byoc_is_ranked(w) || w->rank < 1) return BYOC_OK;
  if (type->rank <= 1 && byoc_type_element_count(type) == 1) return BYOC_OK;
  return byoc_infer_need_dims(infer, index, 1, w->dims);
}

byoc_status_t byoc_infer_quantised_conv(byoc_infer_t *infer) {
  bool requantised = strcmp(infer->node->op, "QLinearConv") == 0;
  uint32_t weights = requantised ? 3 : 1;
  static const uint32_t single[] = {2, 1, 6, 7}; // ConvInteger has the first one only
  for (size_t i = 0; i < (requantised ? 4 : 1); ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, single[i]));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, single[i], 0, 1));
  }
  BYOC_RETURN_IF_ERROR(need_one_a_channel(infer, requantised ? 5 : 3, weights));
  if (requantised) BYOC_RETURN_IF_ERROR(need_one_a_channel(infer, 4, weights));
  const bool is_ours = strcmp(infer->node->domain, "byoc") == 0; // its types are tested elsewhere
  if (is_ours) return infer_shape(infer, weights, 8, byoc_operand_type(infer->node, 7)->dtype);
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_byte, "a tensor of bytes"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, weights, byoc_dtype_is_byte, "a tensor of bytes"));
  if (!requantised) return infer_shape(infer, weights, UINT32_MAX, BYOC_DTYPE_I32);
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 7, byoc_dtype_is_byte, "a zero point"));
  return infer_shape(infer, weights, 8, byoc_operand_type(infer->node, 7)->dtype);
}

void byoc_conv_line_at(const byoc_conv_t *conv, const byoc_loop_expr_t *line, const byoc_loop_expr_t **out) {
  const byoc_loop_expr_t *at[BYOC_MAX_RANK];
  byoc_emit_unravel(conv->b, conv->y_type, 2, 2 + conv->last, line, at);
  for (int32_t d = 0; d < conv->last; ++d) out[d] = byoc_loop_let(conv->b, "at", at[2 + d]);
}

const byoc_loop_expr_t *byoc_conv_number(const byoc_conv_t *conv, const byoc_loop_expr_t *element) {
  const byoc_loop_expr_t *x = byoc_emit_as(conv->b, conv->dtype, element);
  return conv->centre ? BYOC_LSUB(conv->b, x, conv->centre) : x;
}

const byoc_loop_expr_t *byoc_conv_load(const byoc_conv_t *conv, const byoc_loop_expr_t *index) {
  return byoc_conv_number(conv, byoc_loop_load(conv->b, conv->x, index));
}

const byoc_loop_expr_t *byoc_conv_input_line(const byoc_conv_t *conv, const byoc_loop_expr_t *channel,
                                             const byoc_loop_expr_t *const *coordinates) {
  const byoc_loop_expr_t *indices[BYOC_MAX_RANK] = {conv->n, channel};
  for (int32_t d = 0; d < conv->last; ++d) indices[2 + d] = coordinates[d];
  indices[2 + conv->last] = conv->zero;
  return byoc_loop_linear_index(conv->b, conv->x_type->rank, conv->x_type->dims, indices);
}

const byoc_loop_expr_t *byoc_conv_open_taps(const byoc_conv_t *conv, int32_t count, const byoc_loop_expr_t **taps) {
  byoc_loop_builder_t *b = conv->b;
  const byoc_loop_expr_t *linear = conv->zero;
  for (int32_t d = 0; d < count; ++d) {
    const byoc_loop_expr_t *size = byoc_loop_dim(b, conv->window.size[d]);
    taps[d] = conv->window.kernel[d] == 1 ? conv->zero : byoc_loop_for(b, BYOC_LOOP_SERIAL, "tap", conv->zero, size);
    linear = BYOC_LADD(b, BYOC_LMUL(b, linear, size), taps[d]);
  }
  return linear;
}

void byoc_conv_close_taps(const byoc_conv_t *conv, int32_t count) {
  for (int32_t d = 0; d < count; ++d) {
    if (conv->window.kernel[d] != 1) byoc_loop_end(conv->b);
  }
}

const byoc_loop_expr_t *byoc_conv_outer_input(const byoc_conv_t *conv, const byoc_loop_expr_t *const *at,
                                              const byoc_loop_expr_t *const *taps, const byoc_loop_expr_t **out) {
  byoc_loop_builder_t *b = conv->b;
  const byoc_loop_expr_t *inside = NULL;
  for (int32_t d = 0; d < conv->last; ++d) {
    out[d] = byoc_loop_let(b, "in", byoc_window_input(b, &conv->window, d, at[d], taps[d]));
    if (!conv->window.has_pads) continue;
    const byoc_loop_expr_t *fits = byoc_emit_within(b, out[d], conv->zero, byoc_emit_dim(b, conv->x_type, 2 + d));
    inside = inside ? byoc_loop_binary(b, BYOC_LOOP_OP_AND, inside, fits) : fits;
  }
  return inside;
}

const byoc_loop_expr_t *byoc_conv_bias_of(const byoc_conv_t *conv, const byoc_loop_expr_t *row) {
  return byoc_has_operand(conv->node, 2)
             ? byoc_loop_let(conv->b, "bias", byoc_emit_load(conv->lower, conv->node, 2, &row))
             : NULL;
}

void byoc_conv_store_pixel(const byoc_conv_t *conv, const byoc_loop_expr_t *row, const byoc_loop_expr_t *const *at,
                           const byoc_loop_expr_t *i, const byoc_loop_expr_t *value) {
  const byoc_loop_expr_t *indices[BYOC_MAX_RANK] = {conv->n, row};
  for (int32_t d = 0; d < conv->last; ++d) indices[2 + d] = at[d];
  indices[2 + conv->last] = i;
  byoc_emit_store(conv->lower, conv->node, 0, indices, value);
}

// The elements of a line that the taps of a stretch read, as numbers, if x holds bytes: several taps read each of them.
// `from` is the start of the line. NULL if there are too many.
static const byoc_loop_buffer_t *convert_stretch(const byoc_conv_t *conv, const byoc_loop_expr_t *from,
                                                 const byoc_loop_expr_t *low, const byoc_loop_expr_t *high,
                                                 int64_t stretch) {
  enum { MOST_NUMBERS = 512 };
  byoc_loop_builder_t *b = conv->b;
  const byoc_window_t *w = &conv->window;
  const int64_t taps = w->kernel[conv->last], stride = w->stride[conv->last], dilation = w->dilation[conv->last];
  if (!conv->centre || taps < 2 || taps > MOST_NUMBERS || stride > MOST_NUMBERS || dilation > MOST_NUMBERS) return NULL;
  const int64_t size = (stretch - 1) * stride + (taps - 1) * dilation + 1;
  if (size > MOST_NUMBERS) return NULL;
  const byoc_loop_buffer_t *numbers = byoc_loop_allocate(b, "numbers", conv->dtype, size);
  const byoc_loop_expr_t *one = byoc_loop_int(b, 1), *last_tap = byoc_loop_int(b, taps - 1);
  const byoc_loop_expr_t *begin = byoc_window_input(b, w, conv->last, low, conv->zero);
  const byoc_loop_expr_t *end = byoc_window_input(b, w, conv->last, BYOC_LSUB(b, high, one), last_tap);
  begin = byoc_loop_let(b, "begin", begin);
  end = BYOC_LMIN(b, BYOC_LADD(b, end, one), byoc_emit_dim(b, conv->x_type, 2 + conv->last));
  const byoc_loop_expr_t *i =
      byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", BYOC_LMAX(b, begin, conv->zero), byoc_loop_let(b, "end", end));
  byoc_loop_store(b, numbers, BYOC_LSUB(b, i, begin), byoc_conv_load(conv, BYOC_LADD(b, from, i)));
  byoc_loop_end(b);
  return numbers;
}

// The place of a tap of pixel `slot` of the stretch among these numbers.
static const byoc_loop_expr_t *stretch_at(const byoc_conv_t *conv, const byoc_loop_expr_t *slot,
                                          const byoc_loop_expr_t *tap) {
  byoc_loop_builder_t *b = conv->b;
  const byoc_window_t *w = &conv->window;
  return BYOC_LADD(b, BYOC_LMUL(b, slot, byoc_loop_int(b, w->stride[conv->last])),
                   BYOC_LMUL(b, tap, byoc_loop_int(b, w->dilation[conv->last])));
}

// For few output channels per group, or very large kernels: sums one stretch of a line at a time, tap by tap.
static void conv_in_place(byoc_conv_t *conv) {
  enum { STRETCH = 64, MOST_WRITTEN_OUT = 16 };
  byoc_loop_builder_t *b = conv->b;
  const byoc_loop_expr_t *lines = byoc_emit_extent(b, conv->y_type, 2, 2 + conv->last);
  const byoc_loop_expr_t *rows = byoc_emit_dim(b, conv->y_type, 1);
  const byoc_loop_expr_t *all = BYOC_LMUL(b, byoc_emit_dim(b, conv->x_type, 0), rows);
  const byoc_loop_expr_t *t = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", conv->zero, all);
  const byoc_loop_expr_t *row = byoc_loop_let(b, "m", BYOC_LMOD(b, t, rows));
  conv->n = byoc_loop_let(b, "n", BYOC_LDIV(b, t, rows));
  conv->channel0 =
      byoc_loop_let(b, "channel0", BYOC_LMUL(b, BYOC_LDIV(b, row, conv->group_rows), conv->group_channels));
  const byoc_loop_expr_t *bias = byoc_conv_bias_of(conv, row);
  int64_t stretch = STRETCH, known = 0;
  if (byoc_loop_is_int(conv->width, &known) && known >= 1 && known < stretch) stretch = known;
  const byoc_loop_buffer_t *sums = byoc_loop_allocate(b, "sums", conv->dtype, stretch);

  const byoc_loop_expr_t *at[BYOC_MAX_SPATIAL], *taps[BYOC_MAX_SPATIAL], *in[BYOC_MAX_SPATIAL];
  const byoc_loop_expr_t *line = byoc_loop_for(b, BYOC_LOOP_SERIAL, "line", conv->zero, lines);
  byoc_conv_line_at(conv, line, at);
  const byoc_loop_expr_t *part =
      byoc_loop_for(b, BYOC_LOOP_SERIAL, "part", conv->zero, byoc_tile_count(b, conv->width, stretch));
  const byoc_loop_expr_t *low = byoc_loop_let(b, "low", BYOC_LMUL(b, part, byoc_loop_int(b, stretch)));
  const byoc_loop_expr_t *used = byoc_tile_used(b, conv->width, low, stretch);
  const byoc_loop_expr_t *high = byoc_loop_let(b, "high", BYOC_LADD(b, low, used));
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", conv->zero, byoc_loop_int(b, stretch));
  byoc_loop_store(b, sums, i, bias ? bias : byoc_loop_const(b, conv->dtype, 0.0));
  byoc_loop_end(b);

  const byoc_loop_expr_t *channel = byoc_loop_for(b, BYOC_LOOP_SERIAL, "channel", conv->zero, conv->group_channels);
  const byoc_loop_expr_t *source = byoc_loop_let(b, "source", BYOC_LADD(b, conv->channel0, channel));
  const byoc_loop_expr_t *outer_tap = byoc_conv_open_taps(conv, conv->last, taps);
  const byoc_loop_expr_t *inside = byoc_conv_outer_input(conv, at, taps, in);
  if (inside) byoc_loop_if(b, inside);
  const byoc_loop_expr_t *from = byoc_loop_let(b, "from", byoc_conv_input_line(conv, source, in));
  const byoc_loop_expr_t *size = byoc_loop_dim(b, conv->window.size[conv->last]);
  const byoc_loop_expr_t *weights = BYOC_LADD(b, BYOC_LMUL(b, row, conv->group_channels), channel);
  weights = BYOC_LMUL(b, weights, byoc_emit_extent(b, conv->w_type, 2, conv->w_type->rank));
  weights = byoc_loop_let(b, "weights", BYOC_LADD(b, weights, BYOC_LMUL(b, outer_tap, size)));
  const byoc_loop_buffer_t *numbers = convert_stretch(conv, from, low, high, stretch);
  // If the last dimension has few taps, they are written out: each has its own part of the line.
  int64_t turns = conv->window.kernel[conv->last], written = turns >= 1 && turns <= MOST_WRITTEN_OUT ? turns : 1;
  for (int64_t k = 0; k < written; ++k) {
    const byoc_loop_expr_t *tap =
        written == turns ? byoc_loop_int(b, k) : byoc_loop_for(b, BYOC_LOOP_SERIAL, "tap", conv->zero, size);
    const byoc_loop_expr_t *begin = low, *end = high;
    if (conv->window.has_pads) {
      byoc_window_inside(b, &conv->window, conv->last, tap, byoc_emit_dim(b, conv->x_type, 2 + conv->last), low, high,
                         &begin, &end);
    }
    const byoc_loop_expr_t *weight =
        byoc_loop_let(b, "a", byoc_emit_as(b, conv->dtype, byoc_loop_load(b, conv->w, BYOC_LADD(b, weights, tap))));
    i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", begin, end);
    const byoc_loop_expr_t *slot = BYOC_LSUB(b, i, low);
    const byoc_loop_expr_t *x =
        numbers ? byoc_loop_load(b, numbers, stretch_at(conv, slot, tap))
                : byoc_conv_load(conv, BYOC_LADD(b, from, byoc_window_input(b, &conv->window, conv->last, i, tap)));
    byoc_loop_store(b, sums, slot, BYOC_LADD(b, byoc_loop_load(b, sums, slot), BYOC_LMUL(b, weight, x)));
    byoc_loop_end(b);
    if (written != turns) byoc_loop_end(b);
  }
  if (inside) byoc_loop_end(b);
  byoc_conv_close_taps(conv, conv->last);
  byoc_loop_end(b);

  i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", low, high);
  byoc_conv_store_pixel(conv, row, at, i, byoc_loop_load(b, sums, BYOC_LSUB(b, i, low)));
  byoc_loop_end(b);
  byoc_loop_end(b);
  byoc_loop_end(b);
  byoc_loop_end(b);
}

static bool has_few_rows(const byoc_type_t *weights, int64_t groups) {
  enum { FEW_ROWS = 4 };
  return groups > 1 && byoc_dim_is_constant(weights->dims[0]) && weights->dims[0].constant / groups < FEW_ROWS;
}

bool byoc_conv_is_packed(const byoc_type_t *weights, int64_t groups) {
  // A panel holds all taps of a channel. It must fit on the stack; only kernels larger than any in use do not.
  enum { MOST_PACKED_TAPS = 1024 };
  int64_t taps = 1;
  for (int32_t d = 2; d < weights->rank; ++d) {
    if (!byoc_dim_is_constant(weights->dims[d]) || weights->dims[d].constant > MOST_PACKED_TAPS) return false;
    taps *= weights->dims[d].constant;
    if (taps > MOST_PACKED_TAPS) return false;
  }
  return !has_few_rows(weights, groups);
}

static byoc_status_t loops_conv(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  byoc_conv_t conv = {.lower = lower, .b = b, .node = node};
  conv.x_type = node->operands[0]->type, conv.w_type = node->operands[1]->type, conv.y_type = node->results[0]->type;
  conv.x = byoc_lower_operand_buffer(lower, node, 0), conv.w = byoc_lower_operand_buffer(lower, node, 1);
  BYOC_RETURN_IF_ERROR(byoc_window_of(node, conv.x_type, conv.w_type->dims + 2, &conv.window));
  conv.last = conv.window.spatial - 1;
  conv.dtype = byoc_compute_dtype(conv.y_type->dtype);
  conv.is_bytes = byoc_has_operand(node, 3) && byoc_dtype_is_byte(conv.w_type->dtype);
  if (byoc_has_operand(node, 3) && !conv.is_bytes) {
    conv.centre = byoc_loop_let(b, "centre", byoc_emit_as(b, conv.dtype, byoc_emit_scalar(lower, node, 3)));
  }
  int64_t groups = byoc_node_int(node, "group");
  conv.zero = byoc_loop_int(b, 0);
  conv.group_channels = byoc_emit_dim(b, conv.w_type, 1);
  conv.group_rows = BYOC_LDIV(b, byoc_emit_dim(b, conv.w_type, 0), byoc_loop_int(b, groups));
  conv.width = byoc_emit_dim(b, conv.y_type, 2 + conv.last);
  byoc_tile_t tile;
  const byoc_loop_expr_t *pixels = byoc_emit_extent(b, conv.y_type, 2, conv.y_type->rank);
  if (conv.is_bytes) {
    byoc_tile_choose_bytes(&tile, lower, conv.group_rows, pixels);
  } else {
    byoc_tile_choose(&tile, lower, conv.dtype, conv.group_rows, pixels);
  }
  bool few = has_few_rows(conv.w_type, groups);
  if (few && !conv.window.is_open && byoc_conv_plane(&conv)) return BYOC_OK;
  if (!byoc_conv_is_packed(conv.w_type, groups)) {
    conv_in_place(&conv);
  } else {
    byoc_conv_product(&conv, &tile);
  }
  return BYOC_OK;
}

const byoc_op_attribute_t byoc_conv_attributes[] = {
    {BYOC_ATTR(INTS, "kernel_shape")}, BYOC_WINDOW_ATTRIBUTES, BYOC_AUTO_PAD_ATTRIBUTE,
    {BYOC_ATTR_INT("group", 1)},       BYOC_ATTR_END,
};

#define CONV(domain_name, version, most)                                                                               \
  {                                                                                                                    \
    .domain = domain_name, .name = "Conv", .since_version = version, .min_inputs = 2, .max_inputs = most,              \
    .min_outputs = 1, .max_outputs = 1, .traits = BYOC_OP_HEAVY, .work = BYOC_WORK_CONVOLUTION,                        \
    .attributes = byoc_conv_attributes, .infer = byoc_infer_conv, .loops = loops_conv, .axes = byoc_axes_conv          \
  }

const byoc_op_t byoc_ops_conv[] = {CONV("", 1, 3), CONV("", 11, 3), CONV("", 22, 3), CONV("byoc", 1, 4)};
const size_t byoc_ops_conv_count = sizeof byoc_ops_conv / sizeof *byoc_ops_conv;

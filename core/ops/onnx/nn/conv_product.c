// SPDX-License-Identifier: Apache-2.0
// Convolutions as matrix products: rows are a group's output channels, columns are output pixels (all spatial
// dimensions flattened), depth runs over input channels and kernel taps. Each parallel iteration packs the pixels it
// needs, block by block of input channels, and runs a block of output channels over them.
#include "core/ops/onnx/nn/conv.h"

// The output pixels of the current parallel iteration: [first, first + used) of the flattened pixels, in result lines
// [line_begin, line_end).
typedef struct {
  const byoc_loop_expr_t *first, *used, *line_begin, *line_end;
} pixels_t;

static bool is_pointwise(const byoc_window_t *window) {
  for (int32_t d = 0; d < window->spatial; ++d) {
    if (window->kernel[d] != 1 || window->stride[d] != 1) return false;
  }
  return !window->has_pads;
}

// Can one line hold all columns of a tile?
static bool may_fill(const byoc_conv_t *conv, const byoc_tile_t *tile) {
  int64_t width = 0;
  return !byoc_loop_is_int(conv->width, &width) || width >= tile->columns;
}

// Opens a loop over the result lines that the pixels touch; *out_low and *out_high are the covered part of the line.
static const byoc_loop_expr_t *open_lines(const byoc_conv_t *conv, const pixels_t *pixels,
                                          const byoc_loop_expr_t **out_low, const byoc_loop_expr_t **out_high) {
  byoc_loop_builder_t *b = conv->b;
  const byoc_loop_expr_t *line = byoc_loop_for(b, BYOC_LOOP_SERIAL, "line", pixels->line_begin, pixels->line_end);
  const byoc_loop_expr_t *from = byoc_loop_let(b, "from", BYOC_LSUB(b, pixels->first, BYOC_LMUL(b, line, conv->width)));
  *out_low = byoc_loop_let(b, "low", BYOC_LMAX(b, from, conv->zero));
  *out_high = byoc_loop_let(b, "high", BYOC_LMIN(b, BYOC_LADD(b, from, pixels->used), conv->width));
  return line;
}

// ---- packing ----

static void pack_value(const byoc_conv_t *conv, const byoc_tile_t *tile, const byoc_loop_expr_t *at,
                       const byoc_loop_expr_t *value) {
  byoc_loop_builder_t *b = conv->b;
  if (conv->bytes) {
    byoc_loop_store(b, conv->bytes, at, value);
  } else {
    byoc_loop_store(b, tile->panel, at, byoc_emit_as(b, tile->dtype, value));
  }
}

static void pack_pads(const byoc_conv_t *conv, const byoc_tile_t *tile, const byoc_loop_expr_t *offset,
                      const byoc_loop_expr_t *low, const byoc_loop_expr_t *high) {
  byoc_loop_builder_t *b = conv->b;
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", low, high);
  pack_value(conv, tile, BYOC_LADD(b, offset, i), conv->pad);
  byoc_loop_end(b);
}

// ---- bytes as numbers ----

// How bytes that are numbers less a centre get into the panel. Vectors of bytes are longer than most stretches of a
// line that one tap reads, so compilers convert these one by one.
typedef enum {
  AT_EACH_TAP,  // as they are packed
  LINE_BY_LINE, // first all input lines of the tile, which are neighbours in memory
  PANEL_AT_ONCE // after they are packed as bytes
} conversion_t;

// The most input lines that a tile reads.
static int64_t most_lines(const byoc_conv_t *conv, const byoc_tile_t *tile) {
  const byoc_window_t *w = &conv->window;
  const int64_t width = w->out[1].constant, height = conv->x_type->dims[2].constant;
  int64_t lines = (tile->columns + width - 2) / width + 1;
  if (lines > w->out[0].constant) lines = w->out[0].constant;
  lines = (lines - 1) * w->stride[0] + (w->kernel[0] - 1) * w->dilation[0] + 1;
  return lines < height ? lines : height;
}

// Lines that are needed for few taps are not worth their conversion, unless taps read every other element.
static conversion_t choose_conversion(byoc_conv_t *conv, const byoc_tile_t *tile, int64_t block) {
  enum { MOST_NUMBERS = 16384 }; // 64 KiB of f32, in the second-level cache
  const byoc_window_t *w = &conv->window;
  if (!conv->centre || w->taps == 1) return AT_EACH_TAP;
  const bool is_dense = w->stride[conv->last] == 1;
  bool fits = w->spatial == 2;
  for (int32_t d = 0; fits && d < 2; ++d) {
    const byoc_dim_t size = conv->x_type->dims[2 + d];
    fits = byoc_dim_is_constant(size) && size.constant <= MOST_NUMBERS && byoc_dim_is_constant(w->out[d]) &&
           w->out[d].constant >= 1 && w->stride[d] <= MOST_NUMBERS && w->dilation[d] <= MOST_NUMBERS;
  }
  conv->line_span = fits ? most_lines(conv, tile) * conv->x_type->dims[3].constant : 0;
  fits = fits && conv->line_span * block <= MOST_NUMBERS;
  if (fits && (!is_dense || conv->line_span <= w->taps * tile->columns)) return LINE_BY_LINE;
  return is_dense ? PANEL_AT_ONCE : AT_EACH_TAP;
}

static void convert(const byoc_conv_t *conv, const byoc_loop_expr_t *to, const byoc_loop_expr_t *from,
                    const byoc_loop_expr_t *count) {
  byoc_loop_builder_t *b = conv->b;
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", conv->zero, count);
  byoc_loop_store(b, conv->lines, BYOC_LADD(b, to, i), byoc_conv_load(conv, BYOC_LADD(b, from, i)));
  byoc_loop_end(b);
}

// lines[channel] = the input lines that the pixels need, as numbers; planes without a gap are converted together.
static void convert_lines(byoc_conv_t *conv, const byoc_loop_expr_t *channels, const pixels_t *pixels) {
  byoc_loop_builder_t *b = conv->b;
  const byoc_window_t *w = &conv->window;
  const byoc_loop_expr_t *height = byoc_emit_dim(b, conv->x_type, 2), *columns = byoc_emit_dim(b, conv->x_type, 3);
  const byoc_loop_expr_t *span = byoc_loop_int(b, conv->line_span);
  conv->line0 = conv->zero;
  if (conv->line_span == conv->x_type->dims[2].constant * conv->x_type->dims[3].constant) {
    const byoc_loop_expr_t *from = byoc_loop_let(b, "from", byoc_conv_input_line(conv, conv->channel0, &conv->zero));
    convert(conv, conv->zero, from, byoc_loop_let(b, "count", BYOC_LMUL(b, channels, span)));
    return;
  }
  const byoc_loop_expr_t *last = BYOC_LSUB(b, pixels->line_end, byoc_loop_int(b, 1));
  const byoc_loop_expr_t *last_tap = byoc_loop_int(b, w->kernel[0] - 1);
  const byoc_loop_expr_t *begin = byoc_window_input(b, w, 0, pixels->line_begin, conv->zero);
  const byoc_loop_expr_t *end = BYOC_LADD(b, byoc_window_input(b, w, 0, last, last_tap), byoc_loop_int(b, 1));
  conv->line0 = byoc_loop_let(b, "line0", BYOC_LMAX(b, begin, conv->zero));
  const byoc_loop_expr_t *count = BYOC_LSUB(b, BYOC_LMIN(b, end, height), conv->line0);
  count = byoc_loop_let(b, "count", BYOC_LMUL(b, count, columns));
  const byoc_loop_expr_t *channel = byoc_loop_for(b, BYOC_LOOP_SERIAL, "channel", conv->zero, channels);
  const byoc_loop_expr_t *source = BYOC_LADD(b, conv->channel0, channel);
  const byoc_loop_expr_t *from = byoc_loop_let(b, "from", byoc_conv_input_line(conv, source, &conv->line0));
  convert(conv, BYOC_LMUL(b, channel, span), from, count);
  byoc_loop_end(b);
}

static void clear_bytes(const byoc_conv_t *conv, const byoc_loop_expr_t *begin, const byoc_loop_expr_t *end) {
  byoc_loop_builder_t *b = conv->b;
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", begin, end);
  byoc_loop_store(b, conv->bytes, i, byoc_loop_const_int(b, conv->x_type->dtype, 0));
  byoc_loop_end(b);
}

// panel[word][j] = bytes[4 * word .. + 3][j], with zeros after the last line.
static void pack_words(const byoc_conv_t *conv, const byoc_tile_t *tile, const byoc_loop_expr_t *depth) {
  byoc_loop_builder_t *b = conv->b;
  const byoc_loop_expr_t *columns = byoc_loop_int(b, tile->columns), *four = byoc_loop_int(b, 4), *value = NULL;
  const byoc_loop_expr_t *words = byoc_loop_let(b, "words", byoc_tile_count(b, depth, 4));
  clear_bytes(conv, BYOC_LMUL(b, depth, columns), BYOC_LMUL(b, BYOC_LMUL(b, words, four), columns));
  const byoc_loop_expr_t *word = byoc_loop_for(b, BYOC_LOOP_SERIAL, "word", conv->zero, words);
  const byoc_loop_expr_t *line = byoc_loop_let(b, "line", BYOC_LMUL(b, word, columns));
  const byoc_loop_expr_t *j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", conv->zero, columns);
  const byoc_loop_expr_t *first = BYOC_LADD(b, BYOC_LMUL(b, line, four), j);
  for (int64_t q = 0; q < 4; ++q) {
    const byoc_loop_expr_t *x =
        byoc_loop_load(b, conv->bytes, BYOC_LADD(b, first, byoc_loop_int(b, q * tile->columns)));
    x = byoc_tile_byte(b, x, q);
    value = value ? byoc_loop_binary(b, BYOC_LOOP_OP_OR, value, x) : x;
  }
  byoc_loop_store(b, tile->panel, BYOC_LADD(b, line, j), value);
  byoc_loop_end(b);
  byoc_loop_end(b);
}

// panel = bytes - centre, for all of it at once: the stretches of a line that a tap reads may be too short for vectors.
static void pack_numbers(const byoc_conv_t *conv, const byoc_tile_t *tile, const byoc_loop_expr_t *depth) {
  byoc_loop_builder_t *b = conv->b;
  const byoc_loop_expr_t *end = byoc_loop_let(b, "end", BYOC_LMUL(b, depth, byoc_loop_int(b, tile->columns)));
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", conv->zero, end);
  byoc_loop_store(b, tile->panel, i, byoc_conv_number(conv, byoc_loop_load(b, conv->bytes, i)));
  byoc_loop_end(b);
}

// The element of x, or of its converted lines, as it is packed.
static const byoc_loop_expr_t *load_pixel(const byoc_conv_t *conv, const byoc_loop_expr_t *index) {
  if (conv->lines) return byoc_loop_load(conv->b, conv->lines, index);
  return conv->bytes ? byoc_loop_load(conv->b, conv->x, index) : byoc_conv_load(conv, index);
}

// Where the line of these outer coordinates begins.
static const byoc_loop_expr_t *line_of(const byoc_conv_t *conv, const byoc_loop_expr_t *channel,
                                       const byoc_loop_expr_t *source, const byoc_loop_expr_t *const *coordinates) {
  byoc_loop_builder_t *b = conv->b;
  if (!conv->lines) return byoc_conv_input_line(conv, source, coordinates);
  const byoc_loop_expr_t *line = BYOC_LSUB(b, coordinates[0], conv->line0);
  return BYOC_LADD(b, BYOC_LMUL(b, channel, byoc_loop_int(b, conv->line_span)),
                   BYOC_LMUL(b, line, byoc_emit_dim(b, conv->x_type, 3)));
}

// Opens a loop over the channels of the block. *out_from is the start of x's line at these outer coordinates; *out_to
// is the start of the panel's line of the linear tap.
static void open_channels(const byoc_conv_t *conv, const byoc_tile_t *tile, const byoc_loop_expr_t *channels,
                          const byoc_loop_expr_t *const *coordinates, const byoc_loop_expr_t *tap,
                          const byoc_loop_expr_t **out_from, const byoc_loop_expr_t **out_to) {
  byoc_loop_builder_t *b = conv->b;
  const byoc_loop_expr_t *channel = byoc_loop_for(b, BYOC_LOOP_SERIAL, "channel", conv->zero, channels);
  const byoc_loop_expr_t *source = BYOC_LADD(b, conv->channel0, channel);
  if (coordinates) *out_from = byoc_loop_let(b, "from", line_of(conv, channel, source, coordinates));
  const byoc_loop_expr_t *k = BYOC_LADD(b, BYOC_LMUL(b, channel, byoc_loop_int(b, conv->window.taps)), tap);
  *out_to = byoc_loop_let(b, "to", BYOC_LMUL(b, k, byoc_loop_int(b, tile->columns)));
}

// Kernels of one tap: pixels are packed in the order in memory.
static void pack_pointwise(const byoc_conv_t *conv, const byoc_tile_t *tile, const byoc_loop_expr_t *channels,
                           const pixels_t *pixels) {
  byoc_loop_builder_t *b = conv->b;
  const byoc_loop_expr_t *zeros[BYOC_MAX_SPATIAL], *columns = byoc_loop_int(b, tile->columns);
  for (int32_t d = 0; d < conv->last; ++d) zeros[d] = conv->zero;
  int64_t known = 0;
  bool is_known = byoc_loop_is_int(pixels->used, &known);
  if (!is_known) byoc_loop_if(b, byoc_loop_binary(b, BYOC_LOOP_OP_EQ, pixels->used, columns));
  for (int turn = is_known; turn < 2; ++turn) {
    const byoc_loop_expr_t *from = NULL, *to = NULL, *end = turn == 0 ? columns : pixels->used;
    if (!is_known && turn == 1) byoc_loop_else(b);
    open_channels(conv, tile, channels, zeros, conv->zero, &from, &to);
    const byoc_loop_expr_t *j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", conv->zero, end);
    const byoc_loop_expr_t *at = BYOC_LADD(b, BYOC_LADD(b, from, pixels->first), j);
    pack_value(conv, tile, BYOC_LADD(b, to, j), load_pixel(conv, at));
    byoc_loop_end(b);
    byoc_loop_end(b);
  }
  if (!is_known) byoc_loop_end(b);
}

// The part [low, high) of a result line for one tap; all of it is inside x in the outer dimensions.
static void pack_line(const byoc_conv_t *conv, const byoc_tile_t *tile, const byoc_loop_expr_t *channels,
                      const byoc_loop_expr_t *const *in, const byoc_loop_expr_t *tap, const byoc_loop_expr_t *last_tap,
                      const byoc_loop_expr_t *offset, const byoc_loop_expr_t *low, const byoc_loop_expr_t *high) {
  byoc_loop_builder_t *b = conv->b;
  const byoc_window_t *w = &conv->window;
  const byoc_loop_expr_t *begin = low, *end = high, *from = NULL, *to = NULL,
                         *columns = byoc_loop_int(b, tile->columns);
  if (w->has_pads) {
    byoc_window_inside(b, w, conv->last, last_tap, byoc_emit_dim(b, conv->x_type, 2 + conv->last), low, high, &begin,
                       &end);
  }
  // Whole lines of the panel have a loop of known length.
  bool may = may_fill(conv, tile);
  if (may) {
    byoc_loop_if(b, byoc_loop_binary(b, BYOC_LOOP_OP_EQ, BYOC_LSUB(b, end, begin), columns));
    open_channels(conv, tile, channels, in, tap, &from, &to);
    const byoc_loop_expr_t *j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", conv->zero, columns);
    const byoc_loop_expr_t *at =
        BYOC_LADD(b, from, byoc_window_input(b, w, conv->last, BYOC_LADD(b, begin, j), last_tap));
    pack_value(conv, tile, BYOC_LADD(b, to, j), load_pixel(conv, at));
    byoc_loop_end(b);
    byoc_loop_end(b);
    byoc_loop_else(b);
  }
  open_channels(conv, tile, channels, in, tap, &from, &to);
  to = byoc_loop_let(b, "to", BYOC_LADD(b, to, offset));
  if (w->has_pads) pack_pads(conv, tile, to, low, begin);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", begin, end);
  const byoc_loop_expr_t *at = BYOC_LADD(b, from, byoc_window_input(b, w, conv->last, i, last_tap));
  pack_value(conv, tile, BYOC_LADD(b, to, i), load_pixel(conv, at));
  byoc_loop_end(b);
  if (w->has_pads) pack_pads(conv, tile, to, end, high);
  byoc_loop_end(b);
  if (may) byoc_loop_end(b);
}

// panel[(channel, tap)][pixel - first] = x of channels [channel0, channel0 + channels), if the tap is inside. Values
// that depend only on the line and the tap are computed outside of the loop over channels.
static void pack(const byoc_conv_t *conv, const byoc_tile_t *tile, const byoc_loop_expr_t *channels,
                 const pixels_t *pixels) {
  byoc_loop_builder_t *b = conv->b;
  if (is_pointwise(&conv->window)) {
    pack_pointwise(conv, tile, channels, pixels);
    return;
  }
  const byoc_loop_expr_t *taps[BYOC_MAX_SPATIAL], *at[BYOC_MAX_SPATIAL], *in[BYOC_MAX_SPATIAL], *low, *high;
  const byoc_loop_expr_t *line = open_lines(conv, pixels, &low, &high);
  const byoc_loop_expr_t *offset =
      byoc_loop_let(b, "offset", BYOC_LSUB(b, BYOC_LMUL(b, line, conv->width), pixels->first));
  byoc_conv_line_at(conv, line, at);
  const byoc_loop_expr_t *outer_tap = byoc_conv_open_taps(conv, conv->last, taps);
  const byoc_loop_expr_t *inside = byoc_conv_outer_input(conv, at, taps, in);
  const byoc_loop_expr_t *size = byoc_loop_int(b, conv->window.kernel[conv->last]);
  for (int is_inside = 1; is_inside >= (inside ? 0 : 1); --is_inside) {
    if (inside && is_inside) byoc_loop_if(b, inside);
    if (!is_inside) byoc_loop_else(b);
    const byoc_loop_expr_t *last_tap = conv->zero, *to = NULL;
    bool has_taps = conv->window.kernel[conv->last] != 1;
    if (has_taps) last_tap = byoc_loop_for(b, BYOC_LOOP_SERIAL, "tap", conv->zero, size);
    const byoc_loop_expr_t *tap = BYOC_LADD(b, BYOC_LMUL(b, outer_tap, size), last_tap);
    if (is_inside) {
      pack_line(conv, tile, channels, in, tap, last_tap, offset, low, high);
    } else {
      open_channels(conv, tile, channels, NULL, tap, NULL, &to);
      pack_pads(conv, tile, byoc_loop_let(b, "to", BYOC_LADD(b, to, offset)), low, high);
      byoc_loop_end(b);
    }
    if (has_taps) byoc_loop_end(b);
  }
  if (inside) byoc_loop_end(b);
  byoc_conv_close_taps(conv, conv->last);
  byoc_loop_end(b);
}

// ---- the product ----

static const byoc_loop_expr_t *weight_row(const void *self, const byoc_loop_expr_t *row) {
  const byoc_conv_t *conv = self;
  byoc_loop_builder_t *b = conv->b;
  // ((group * rows + row) * channels + channel0 of the block) * taps
  const byoc_loop_expr_t *channel = BYOC_LSUB(b, conv->channel0, BYOC_LMUL(b, conv->group, conv->group_channels));
  const byoc_loop_expr_t *base =
      BYOC_LADD(b, BYOC_LMUL(b, BYOC_LADD(b, conv->row0, row), conv->group_channels), channel);
  return BYOC_LMUL(b, base, byoc_loop_int(b, conv->window.taps));
}

// Stores the sums of rows [0, rows).
static void store(const byoc_conv_t *conv, const byoc_tile_t *tile, const byoc_loop_expr_t *rows,
                  const pixels_t *pixels) {
  byoc_loop_builder_t *b = conv->b;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *low = NULL, *high = NULL, *line = NULL;
  // Pixels of lines of constant length are stored contiguously, and the compiler can see that.
  int64_t width = 0;
  bool is_flat = byoc_loop_is_int(conv->width, &width);
  if (!is_flat) {
    line = open_lines(conv, pixels, &low, &high);
    byoc_conv_line_at(conv, line, at);
  }
  const byoc_loop_expr_t *r = byoc_loop_for(b, BYOC_LOOP_SERIAL, "r", conv->zero, rows);
  const byoc_loop_expr_t *row = byoc_loop_let(b, "m", BYOC_LADD(b, conv->row0, r)), *i = NULL, *column = NULL;
  const byoc_loop_expr_t *bias = byoc_conv_bias_of(conv, row);
  if (is_flat) {
    const byoc_loop_expr_t *pixel[BYOC_MAX_RANK];
    column = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", conv->zero, pixels->used);
    byoc_emit_unravel(b, conv->y_type, 2, conv->y_type->rank, BYOC_LADD(b, pixels->first, column), pixel);
    for (int32_t d = 0; d < conv->last; ++d) at[d] = pixel[2 + d];
    i = pixel[2 + conv->last];
  } else {
    const byoc_loop_expr_t *offset = BYOC_LSUB(b, BYOC_LMUL(b, line, conv->width), pixels->first);
    offset = byoc_loop_let(b, "offset", offset);
    i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", low, high);
    column = BYOC_LADD(b, offset, i);
  }
  const byoc_loop_expr_t *value = byoc_tile_sum(tile, r, column);
  byoc_conv_store_pixel(conv, row, at, i, bias ? BYOC_LADD(b, value, bias) : value);
  byoc_loop_end(b);
  byoc_loop_end(b);
  if (!is_flat) byoc_loop_end(b);
}

void byoc_conv_product(byoc_conv_t *conv, byoc_tile_t *tile) {
  byoc_loop_builder_t *b = conv->b;
  const byoc_loop_expr_t *pixels = byoc_emit_extent(b, conv->y_type, 2, conv->y_type->rank);
  // As many input channels per panel as its depth holds, at least one.
  int64_t block = tile->depth / conv->window.taps;
  int64_t known = 0;
  if (byoc_loop_is_int(conv->group_channels, &known) && known >= 1 && known < block) block = known;
  if (block < 1) block = 1;
  if (tile->is_bytes && block > 4) block -= block % 4; // whole words, except in the last block
  tile->depth = (int32_t)(block * conv->window.taps);
  const conversion_t conversion = choose_conversion(conv, tile, block);
  const bool packs_bytes = tile->is_bytes || conversion == PANEL_AT_ONCE;
  conv->pad = packs_bytes ? byoc_loop_let(b, "pad", byoc_emit_scalar(conv->lower, conv->node, 3))
                          : byoc_loop_const(b, tile->dtype, 0.0);

  const byoc_loop_expr_t *tiles = byoc_tile_count(b, pixels, tile->columns);
  const byoc_loop_expr_t *row_blocks = byoc_tile_count(b, conv->group_rows, tile->row_block);
  const byoc_loop_expr_t *groups = byoc_loop_int(b, byoc_node_int(conv->node, "group"));
  const byoc_loop_expr_t *all =
      BYOC_LMUL(b, BYOC_LMUL(b, byoc_emit_dim(b, conv->x_type, 0), groups), BYOC_LMUL(b, row_blocks, tiles));
  const byoc_loop_expr_t *t = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", conv->zero, all);
  const byoc_loop_expr_t *outer = byoc_loop_let(b, "outer", BYOC_LDIV(b, t, tiles));
  const byoc_loop_expr_t *outermost = byoc_loop_let(b, "outermost", BYOC_LDIV(b, outer, row_blocks));
  conv->group = byoc_loop_let(b, "g", BYOC_LMOD(b, outermost, groups));
  conv->n = byoc_loop_let(b, "n", BYOC_LDIV(b, outermost, groups));
  const byoc_loop_expr_t *first =
      byoc_loop_let(b, "first", BYOC_LMUL(b, BYOC_LMOD(b, t, tiles), byoc_loop_int(b, tile->columns)));
  const byoc_loop_expr_t *row_begin =
      byoc_loop_let(b, "row", BYOC_LMUL(b, BYOC_LMOD(b, outer, row_blocks), byoc_loop_int(b, tile->row_block)));
  const byoc_loop_expr_t *used = byoc_loop_let(b, "used", byoc_tile_used(b, pixels, first, tile->columns));
  const byoc_loop_expr_t *rows =
      byoc_loop_let(b, "rows", byoc_tile_used(b, conv->group_rows, row_begin, tile->row_block));
  conv->row0 = byoc_loop_let(b, "row0", BYOC_LADD(b, BYOC_LMUL(b, conv->group, conv->group_rows), row_begin));
  const byoc_loop_expr_t *end = BYOC_LSUB(b, BYOC_LADD(b, first, used), byoc_loop_int(b, 1));
  const pixels_t part = {
      .first = first,
      .used = used,
      .line_begin = byoc_loop_let(b, "line0", BYOC_LDIV(b, first, conv->width)),
      .line_end = byoc_loop_let(b, "line1", BYOC_LADD(b, BYOC_LDIV(b, end, conv->width), byoc_loop_int(b, 1)))};
  byoc_tile_begin(tile, used);
  if (conversion == LINE_BY_LINE) conv->lines = byoc_loop_allocate(b, "lines", conv->dtype, conv->line_span * block);
  if (packs_bytes) {
    int64_t size = ((int64_t)tile->depth + 3) / 4 * 4 * tile->columns;
    conv->bytes = byoc_loop_allocate(b, "bytes", conv->x_type->dtype, size);
    clear_bytes(conv, conv->zero, byoc_loop_int(b, size));
  }

  byoc_loop_comment(b, "pack %d values of each pixel, then multiply", (int)tile->depth);
  const byoc_loop_expr_t *step =
      byoc_loop_for(b, BYOC_LOOP_SERIAL, "step", conv->zero, byoc_tile_count(b, conv->group_channels, block));
  const byoc_loop_expr_t *channel = byoc_loop_let(b, "c", BYOC_LMUL(b, step, byoc_loop_int(b, block)));
  const byoc_loop_expr_t *channels =
      byoc_loop_let(b, "channels", byoc_tile_used(b, conv->group_channels, channel, block));
  conv->channel0 = byoc_loop_let(b, "channel0", BYOC_LADD(b, BYOC_LMUL(b, conv->group, conv->group_channels), channel));
  if (conv->lines) convert_lines(conv, channels, &part);
  pack(conv, tile, channels, &part);
  const byoc_loop_expr_t *depth = BYOC_LMUL(b, channels, byoc_loop_int(b, conv->window.taps));
  if (tile->is_bytes) {
    pack_words(conv, tile, depth);
  } else if (conv->bytes) {
    pack_numbers(conv, tile, depth);
  }
  byoc_tile_multiply(tile, rows, depth, conv->w, weight_row, conv, byoc_loop_int(b, 1));
  byoc_loop_end(b);

  store(conv, tile, rows, &part);
  byoc_loop_end(b);
}

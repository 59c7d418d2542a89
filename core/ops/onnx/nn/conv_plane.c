// SPDX-License-Identifier: Apache-2.0
// Convolutions with one input channel per group (depthwise) and a small kernel: computes bands of result lines from a
// padded copy of the input lines that they need.
#include "core/ops/onnx/nn/conv.h"

// The most taps whose weights fit into registers; elements of a band, which fit into the first-level cache; result
// lines that are computed together, so that each loaded element is used several times; columns of a part.
enum { MOST_TAPS = 32, MOST_BAND = 6144, ROWS = 4, COLUMNS = 16 };

typedef struct {
  byoc_conv_t *conv;
  int64_t lines, bands;        // result lines of a band, and bands of a plane
  int64_t padded_lines, pitch; // of the copy
  int64_t phases, phase_width; // of the copy: columns with the same place within the stride are neighbours
  int64_t top, left;           // padding
  const byoc_loop_expr_t *weight[MOST_TAPS];
  const byoc_loop_buffer_t *padded;
  const byoc_loop_buffer_t *plain; // the lines of x as numbers, without padding; NULL: they are those of x
  const byoc_loop_expr_t *first;   // line of `plain`
  const byoc_loop_buffer_t *band;  // sums of the band, line after line; NULL: they are stored at once
  const byoc_loop_expr_t *line0;   // of the band
} plane_t;

static bool plan(byoc_conv_t *conv, plane_t *plane) {
  const byoc_window_t *w = &conv->window;
  int64_t channels = 0, size[2];
  if (w->spatial != 2 || w->taps > MOST_TAPS) return false;
  if (!byoc_loop_is_int(conv->group_channels, &channels) || channels != 1) return false;
  for (int32_t d = 0; d < 2; ++d) {
    bool is_static = byoc_dim_is_constant(w->pad_begin[d]) && byoc_dim_is_constant(w->out[d]) &&
                     byoc_dim_is_constant(conv->x_type->dims[2 + d]);
    if (!is_static || w->pad_begin[d].constant < 0 || w->out[d].constant < 1) return false;
    size[d] = (w->out[d].constant - 1) * w->stride[d] + (w->kernel[d] - 1) * w->dilation[d] + 1;
    if (size[d] < 1 || size[d] > INT32_MAX || w->pad_begin[d].constant >= size[d]) return false;
  }
  int64_t reach = (w->kernel[0] - 1) * w->dilation[0] + 1, height = w->out[0].constant;
  *plane = (plane_t){.conv = conv, .phases = w->stride[1], .top = w->pad_begin[0].constant};
  plane->left = w->pad_begin[1].constant;
  plane->phase_width = (size[1] + plane->phases - 1) / plane->phases;
  plane->pitch = plane->phase_width * plane->phases;
  int64_t room = MOST_BAND / plane->pitch - reach;
  if (room < 0) return false;
  int64_t most = room / w->stride[0] + 1;
  if (most >= ROWS) most -= most % ROWS;
  plane->lines = most < height ? most : height;
  plane->bands = (height + plane->lines - 1) / plane->lines;
  plane->padded_lines = (plane->lines - 1) * w->stride[0] + reach;
  return true;
}

// ---- the copy ----

static void clear(const plane_t *plane, const byoc_loop_expr_t *base, int64_t begin, int64_t end) {
  byoc_loop_builder_t *b = plane->conv->b;
  if (begin >= end) return;
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", byoc_loop_int(b, begin), byoc_loop_int(b, end));
  byoc_loop_store(b, plane->padded, BYOC_LADD(b, base, i), byoc_loop_const(b, plane->conv->dtype, 0.0));
  byoc_loop_end(b);
}

static void copy_line(const plane_t *plane, const byoc_loop_expr_t *line, const byoc_loop_expr_t *to) {
  const byoc_conv_t *conv = plane->conv;
  byoc_loop_builder_t *b = conv->b;
  int64_t columns = conv->x_type->dims[3].constant;
  const byoc_loop_expr_t *from = plane->plain
                                     ? BYOC_LMUL(b, BYOC_LSUB(b, line, plane->first), byoc_loop_int(b, columns))
                                     : byoc_conv_input_line(conv, conv->channel0, &line);
  from = byoc_loop_let(b, "from", from);
  for (int64_t phase = 0; phase < plane->phases; ++phase) {
    int64_t first = ((phase - plane->left) % plane->phases + plane->phases) % plane->phases;
    int64_t place = (plane->left + first) / plane->phases, end = plane->phase_width;
    int64_t count = columns > first ? (columns - first + plane->phases - 1) / plane->phases : 0;
    if (count > end - place) count = end > place ? end - place : 0;
    const byoc_loop_expr_t *base = BYOC_LADD(b, to, byoc_loop_int(b, phase * plane->phase_width));
    clear(plane, base, 0, place < end ? place : end);
    const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", conv->zero, byoc_loop_int(b, count));
    const byoc_loop_expr_t *at =
        BYOC_LADD(b, BYOC_LMUL(b, i, byoc_loop_int(b, plane->phases)), byoc_loop_int(b, first));
    const byoc_loop_expr_t *index = BYOC_LADD(b, from, at);
    byoc_loop_store(b, plane->padded, BYOC_LADD(b, BYOC_LADD(b, base, byoc_loop_int(b, place)), i),
                    plane->plain ? byoc_loop_load(b, plane->plain, index) : byoc_conv_load(conv, index));
    byoc_loop_end(b);
    clear(plane, base, place + count, end);
  }
}

// Makes numbers of the bytes of all lines at once. They are neighbours, and one line may be too short for vectors.
static void convert_lines(plane_t *plane) {
  const byoc_conv_t *conv = plane->conv;
  byoc_loop_builder_t *b = conv->b;
  const byoc_loop_expr_t *columns = byoc_emit_dim(b, conv->x_type, 3), *height = byoc_emit_dim(b, conv->x_type, 2);
  const byoc_loop_expr_t *begin = BYOC_LMUL(b, plane->line0, byoc_loop_int(b, conv->window.stride[0]));
  begin = byoc_loop_let(b, "begin", BYOC_LSUB(b, begin, byoc_loop_int(b, plane->top)));
  plane->first = byoc_loop_let(b, "first", BYOC_LMAX(b, begin, conv->zero));
  const byoc_loop_expr_t *end = BYOC_LMIN(b, BYOC_LADD(b, begin, byoc_loop_int(b, plane->padded_lines)), height);
  const byoc_loop_expr_t *count = BYOC_LMUL(b, BYOC_LSUB(b, end, plane->first), columns);
  const byoc_loop_expr_t *from = byoc_loop_let(b, "from", byoc_conv_input_line(conv, conv->channel0, &plane->first));
  plane->plain = byoc_loop_allocate(b, "plain", conv->dtype, plane->padded_lines * conv->x_type->dims[3].constant);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", conv->zero, byoc_loop_let(b, "count", count));
  byoc_loop_store(b, plane->plain, i, byoc_conv_load(conv, BYOC_LADD(b, from, i)));
  byoc_loop_end(b);
}

// Copies the band's lines with their padding. Columns after the last line are read but not stored.
static void copy_band(plane_t *plane) {
  const byoc_conv_t *conv = plane->conv;
  byoc_loop_builder_t *b = conv->b;
  int64_t size = plane->padded_lines * plane->pitch;
  plane->padded = byoc_loop_allocate(b, "padded", conv->dtype, size + COLUMNS);
  const byoc_loop_expr_t *line =
      byoc_loop_for(b, BYOC_LOOP_SERIAL, "y", conv->zero, byoc_loop_int(b, plane->padded_lines));
  const byoc_loop_expr_t *from = BYOC_LMUL(b, plane->line0, byoc_loop_int(b, conv->window.stride[0]));
  from = byoc_loop_let(b, "in", BYOC_LSUB(b, BYOC_LADD(b, from, line), byoc_loop_int(b, plane->top)));
  const byoc_loop_expr_t *to = byoc_loop_let(b, "to", BYOC_LMUL(b, line, byoc_loop_int(b, plane->pitch)));
  byoc_loop_if(b, byoc_emit_within(b, from, conv->zero, byoc_emit_dim(b, conv->x_type, 2)));
  copy_line(plane, from, to);
  byoc_loop_else(b);
  clear(plane, to, 0, plane->pitch);
  byoc_loop_end(b);
  byoc_loop_end(b);
  clear(plane, conv->zero, size, size + COLUMNS);
}

// ---- the sums ----

// Computes columns [first, first + count) of `rows` result lines from `line` of the band on. Each element of the copy
// is loaded once for all lines that need it.
static void sum_part(const plane_t *plane, const byoc_loop_expr_t *row, const byoc_loop_expr_t *bias, int64_t rows,
                     const byoc_loop_expr_t *line, const byoc_loop_expr_t *first, int64_t count) {
  const byoc_conv_t *conv = plane->conv;
  byoc_loop_builder_t *b = conv->b;
  const byoc_window_t *w = &conv->window;
  const byoc_loop_buffer_t *sums[ROWS];
  bool has_sum[ROWS] = {false};
  for (int64_t r = 0; r < rows; ++r) sums[r] = byoc_loop_allocate(b, "sums", conv->dtype, COLUMNS);
  const byoc_loop_expr_t *base = BYOC_LMUL(b, line, byoc_loop_int(b, w->stride[0] * plane->pitch));
  base = byoc_loop_let(b, "base", BYOC_LADD(b, base, first));
  const byoc_loop_expr_t *j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", conv->zero, byoc_loop_int(b, COLUMNS));
  int64_t padded_lines = (rows - 1) * w->stride[0] + (w->kernel[0] - 1) * w->dilation[0] + 1;
  for (int64_t y = 0; y < padded_lines; ++y) {
    for (int64_t kx = 0; kx < w->kernel[1]; ++kx) {
      const byoc_loop_expr_t *x = NULL;
      int64_t column = kx * w->dilation[1];
      int64_t offset = y * plane->pitch + column % plane->phases * plane->phase_width + column / plane->phases;
      for (int64_t r = 0; r < rows; ++r) {
        int64_t tap = y - r * w->stride[0], ky = tap / w->dilation[0];
        if (tap < 0 || tap % w->dilation[0] != 0 || ky >= w->kernel[0]) continue;
        if (!x) {
          const byoc_loop_expr_t *at = BYOC_LADD(b, BYOC_LADD(b, base, byoc_loop_int(b, offset)), j);
          x = byoc_loop_let(b, "x", byoc_loop_load(b, plane->padded, at));
        }
        const byoc_loop_expr_t *product = BYOC_LMUL(b, x, plane->weight[ky * w->kernel[1] + kx]);
        const byoc_loop_expr_t *sum = has_sum[r] ? byoc_loop_load(b, sums[r], j) : bias;
        byoc_loop_store(b, sums[r], j, sum ? BYOC_LADD(b, sum, product) : product);
        has_sum[r] = true;
      }
    }
  }
  byoc_loop_end(b);
  for (int64_t r = 0; r < rows; ++r) {
    const byoc_loop_expr_t *in_band = BYOC_LADD(b, line, byoc_loop_int(b, r));
    const byoc_loop_expr_t *at = BYOC_LADD(b, plane->line0, in_band);
    j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", conv->zero, byoc_loop_int(b, count));
    const byoc_loop_expr_t *i = BYOC_LADD(b, first, j), *sum = byoc_loop_load(b, sums[r], j);
    if (plane->band) {
      const byoc_loop_expr_t *start = BYOC_LMUL(b, in_band, byoc_loop_int(b, conv->window.out[1].constant));
      byoc_loop_store(b, plane->band, BYOC_LADD(b, start, i), sum);
    } else {
      byoc_conv_store_pixel(conv, row, &at, i, sum);
    }
    byoc_loop_end(b);
  }
}

static void sum_lines(const plane_t *plane, const byoc_loop_expr_t *row, const byoc_loop_expr_t *bias, int64_t rows,
                      const byoc_loop_expr_t *line) {
  byoc_loop_builder_t *b = plane->conv->b;
  int64_t width = plane->conv->window.out[1].constant, whole = width / COLUMNS, rest = width % COLUMNS;
  if (whole > 0) {
    const byoc_loop_expr_t *part =
        byoc_loop_for(b, BYOC_LOOP_SERIAL, "part", plane->conv->zero, byoc_loop_int(b, whole));
    const byoc_loop_expr_t *first = byoc_loop_let(b, "first", BYOC_LMUL(b, part, byoc_loop_int(b, COLUMNS)));
    sum_part(plane, row, bias, rows, line, first, COLUMNS);
    byoc_loop_end(b);
  }
  if (rest > 0) sum_part(plane, row, bias, rows, line, byoc_loop_int(b, whole * COLUMNS), rest);
}

// Stores the sums of the band's lines, which are neighbours in the result: lines are often too short for the vectors of
// bytes that they become.
static void store_band(const plane_t *plane, const byoc_loop_expr_t *row, const byoc_loop_expr_t *lines) {
  const byoc_conv_t *conv = plane->conv;
  byoc_loop_builder_t *b = conv->b;
  const byoc_loop_expr_t *width = byoc_loop_int(b, conv->window.out[1].constant), *pixel[BYOC_MAX_RANK];
  const byoc_loop_expr_t *start = byoc_loop_let(b, "start", BYOC_LMUL(b, plane->line0, width));
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", conv->zero, BYOC_LMUL(b, lines, width));
  byoc_emit_unravel(b, conv->y_type, 2, 4, BYOC_LADD(b, start, i), pixel);
  byoc_conv_store_pixel(conv, row, &pixel[2], pixel[3], byoc_loop_load(b, plane->band, i));
  byoc_loop_end(b);
}

bool byoc_conv_plane(byoc_conv_t *conv) {
  plane_t plane;
  if (!plan(conv, &plane)) return false;
  byoc_loop_builder_t *b = conv->b;
  const byoc_window_t *w = &conv->window;
  const byoc_loop_expr_t *rows = byoc_emit_dim(b, conv->y_type, 1), *bands = byoc_loop_int(b, plane.bands);
  const byoc_loop_expr_t *all = BYOC_LMUL(b, BYOC_LMUL(b, byoc_emit_dim(b, conv->x_type, 0), rows), bands);
  const byoc_loop_expr_t *t = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", conv->zero, all);
  const byoc_loop_expr_t *outer = byoc_loop_let(b, "outer", BYOC_LDIV(b, t, bands));
  const byoc_loop_expr_t *row = byoc_loop_let(b, "m", BYOC_LMOD(b, outer, rows));
  conv->n = byoc_loop_let(b, "n", BYOC_LDIV(b, outer, rows));
  conv->channel0 = byoc_loop_let(b, "channel", BYOC_LDIV(b, row, conv->group_rows));
  plane.line0 = byoc_loop_let(b, "line0", BYOC_LMUL(b, BYOC_LMOD(b, t, bands), byoc_loop_int(b, plane.lines)));
  const byoc_loop_expr_t *bias = byoc_conv_bias_of(conv, row);
  for (int64_t k = 0; k < w->taps; ++k) {
    const byoc_loop_expr_t *at = BYOC_LADD(b, BYOC_LMUL(b, row, byoc_loop_int(b, w->taps)), byoc_loop_int(b, k));
    plane.weight[k] = byoc_loop_let(b, "a", byoc_emit_as(b, conv->dtype, byoc_loop_load(b, conv->w, at)));
  }
  if (conv->centre) convert_lines(&plane);
  copy_band(&plane);
  if (conv->centre) plane.band = byoc_loop_allocate(b, "band", conv->dtype, plane.lines * w->out[1].constant);
  const byoc_loop_expr_t *lines =
      byoc_loop_let(b, "lines", byoc_tile_used(b, byoc_emit_dim(b, conv->y_type, 2), plane.line0, plane.lines));
  const byoc_loop_expr_t *four = byoc_loop_int(b, ROWS),
                         *blocks = byoc_loop_let(b, "blocks", BYOC_LDIV(b, lines, four));
  int64_t height = w->out[0].constant;
  if (plane.lines >= ROWS) {
    const byoc_loop_expr_t *block = byoc_loop_for(b, BYOC_LOOP_SERIAL, "block", conv->zero, blocks);
    sum_lines(&plane, row, bias, ROWS, byoc_loop_let(b, "line", BYOC_LMUL(b, block, four)));
    byoc_loop_end(b);
  }
  if (plane.lines % ROWS != 0 || height % plane.lines % ROWS != 0) {
    const byoc_loop_expr_t *line = byoc_loop_for(b, BYOC_LOOP_SERIAL, "line", BYOC_LMUL(b, blocks, four), lines);
    sum_lines(&plane, row, bias, 1, line);
    byoc_loop_end(b);
  }
  if (plane.band) store_band(&plane, row, lines);
  byoc_loop_end(b);
  return true;
}

// SPDX-License-Identifier: Apache-2.0
// Computes sliding windows in two steps: first folds the lines of the windows into one line, element by element, then
// folds the elements of that line that make one result. Both steps walk along memory, and border tests stay outside of
// the inner loops.
//
// Dimensions after the last spatial one ([N,C/16,H,W,16]) are part of a line: each of its columns is then as many
// elements wide.
#include <math.h>

#include "core/ops/onnx/nn/pool.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

// The most taps that are unrolled, and the most elements of a column; the elements of a line that are computed
// together, roughly and at most.
enum { MOST_WRITTEN_OUT = 16, MOST_INNER = 64, STRETCH = 1024, MOST_LINE = 16384 };

typedef struct {
  const byoc_pool_t *pool;
  int32_t last;          // the last spatial dimension that windows extend in
  int64_t inner;         // elements of a column
  int64_t stretch, size; // columns of the result that are computed together, and those of x for them
  int64_t outer_taps;    // in the dimensions before the last
  const byoc_loop_expr_t *zero, *width, *x_width, *wide; // width: of the result; wide: inner
  const byoc_loop_buffer_t *line;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK]; // of the result's line
  const byoc_loop_expr_t *low, *high;        // the columns of the result that are computed
} lines_t;

static const byoc_loop_expr_t *neutral(const byoc_pool_t *pool) {
  return pool->kind == BYOC_POOL_MAX ? byoc_emit_lowest(pool->b, pool->dtype)
                                     : byoc_loop_const(pool->b, pool->dtype, 0.0);
}

static const byoc_loop_expr_t *fold(const byoc_pool_t *pool, const byoc_loop_expr_t *sum, const byoc_loop_expr_t *x) {
  byoc_loop_builder_t *b = pool->b;
  return pool->kind == BYOC_POOL_MAX ? byoc_pool_larger(b, sum, byoc_loop_let(b, "x", x)) : BYOC_LADD(b, sum, x);
}

// A fold that is unrolled. Each step of a maximum is a selection, which is one instruction and passes on a NaN of the
// first term. NaNs of the other terms are found for two terms with one instruction, and inserted at the end.
typedef struct {
  const byoc_pool_t *pool;
  const byoc_loop_expr_t *sum;
  const byoc_loop_expr_t *lone;   // a term that was not tested yet
  const byoc_loop_expr_t *is_nan; // was one of the tested terms a NaN?
} terms_t;

static void look_at(terms_t *terms, const byoc_loop_expr_t *x, const byoc_loop_expr_t *y) {
  byoc_loop_builder_t *b = terms->pool->b;
  const byoc_loop_expr_t *found =
      BIN(OR, byoc_loop_unary(b, BYOC_LOOP_OP_ISNAN, x), byoc_loop_unary(b, BYOC_LOOP_OP_ISNAN, y));
  terms->is_nan = terms->is_nan ? BIN(OR, terms->is_nan, found) : found;
  terms->lone = NULL;
}

static void take(terms_t *terms, const byoc_loop_expr_t *x) {
  byoc_loop_builder_t *b = terms->pool->b;
  if (!terms->sum || terms->pool->kind != BYOC_POOL_MAX) {
    terms->sum = !terms->sum ? x : BYOC_LADD(b, terms->sum, x);
    return;
  }
  x = byoc_loop_let(b, "x", x);
  terms->sum = byoc_loop_let(b, "most", byoc_loop_select(b, BIN(LT, terms->sum, x), x, terms->sum));
  if (!byoc_dtype_is_float(terms->pool->dtype)) return;
  if (terms->lone)
    look_at(terms, terms->lone, x);
  else
    terms->lone = x;
}

static const byoc_loop_expr_t *finish(terms_t *terms) {
  byoc_loop_builder_t *b = terms->pool->b;
  if (terms->lone) look_at(terms, terms->lone, terms->lone);
  if (!terms->is_nan) return terms->sum;
  return byoc_loop_select(b, terms->is_nan, byoc_loop_const(b, terms->pool->dtype, (double)NAN), terms->sum);
}

static lines_t plan(const byoc_pool_t *pool) {
  byoc_loop_builder_t *b = pool->b;
  const byoc_window_t *w = &pool->window;
  lines_t lines = {.pool = pool, .last = w->spatial - 1, .inner = 1, .outer_taps = 1, .zero = byoc_loop_int(b, 0)};
  for (; lines.last > 0; --lines.last) {
    int32_t d = lines.last;
    byoc_dim_t extent = pool->x_type->dims[2 + d], none = byoc_dim_constant(0);
    bool is_window = w->kernel[d] != 1 || w->stride[d] != 1 || !byoc_dim_equal(w->pad_begin[d], none) ||
                     !byoc_dim_equal(w->pad_end[d], none);
    if (is_window || !byoc_dim_is_constant(extent) || extent.constant < 1) break;
    if (extent.constant > MOST_INNER / lines.inner) break;
    lines.inner *= extent.constant;
  }
  for (int32_t d = 0; d < lines.last; ++d) lines.outer_taps *= w->kernel[d];
  int64_t stride = w->stride[lines.last], reach = (w->kernel[lines.last] - 1) * w->dilation[lines.last] + 1, known = 0;
  lines.width = byoc_emit_dim(b, pool->y_type, 2 + lines.last);
  lines.x_width = byoc_emit_dim(b, pool->x_type, 2 + lines.last);
  lines.wide = byoc_loop_int(b, lines.inner);
  lines.stretch = STRETCH / lines.inner / stride;
  if (lines.stretch < 1) lines.stretch = 1;
  if (byoc_loop_is_int(lines.width, &known) && known >= 1 && known < lines.stretch) lines.stretch = known;
  lines.size = (lines.stretch - 1) * stride + reach;
  return lines;
}

// x at these outer coordinates and element `i` of its line, as a term of the fold.
static const byoc_loop_expr_t *term(const lines_t *lines, const byoc_loop_expr_t *const *outer,
                                    const byoc_loop_expr_t *i) {
  const byoc_pool_t *pool = lines->pool;
  const byoc_loop_expr_t *in[BYOC_MAX_RANK];
  byoc_emit_unravel(pool->b, pool->x_type, 2 + lines->last, pool->x_type->rank, i, in);
  for (int32_t d = 0; d < 2; ++d) in[d] = lines->at[d];
  for (int32_t d = 0; d < lines->last; ++d) in[2 + d] = outer[d];
  const byoc_loop_expr_t *x = byoc_emit_load(pool->lower, pool->node, 0, in);
  return x && pool->kind == BYOC_POOL_LP ? byoc_pool_power(pool->b, x, byoc_pool_norm(pool->node)) : x;
}

static void fill(const lines_t *lines, const byoc_loop_expr_t *begin, const byoc_loop_expr_t *end) {
  byoc_loop_builder_t *b = lines->pool->b;
  const byoc_loop_expr_t *i =
      byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", BYOC_LMUL(b, begin, lines->wide), BYOC_LMUL(b, end, lines->wide));
  byoc_loop_store(b, lines->line, i, neutral(lines->pool));
  byoc_loop_end(b);
}

// All outer taps are inside: line[i] = x[first tap][i] + x[second tap][i] + ... for columns [begin, end) from
// `column0`.
static void fold_written_out(const lines_t *lines, const byoc_loop_expr_t *column0, const byoc_loop_expr_t *begin,
                             const byoc_loop_expr_t *end) {
  const byoc_pool_t *pool = lines->pool;
  byoc_loop_builder_t *b = pool->b;
  const byoc_loop_expr_t *outer[BYOC_MAX_SPATIAL];
  terms_t terms = {.pool = pool};
  const byoc_loop_expr_t *i =
      byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", BYOC_LMUL(b, begin, lines->wide), BYOC_LMUL(b, end, lines->wide));
  for (int64_t tap = 0; tap < lines->outer_taps; ++tap) {
    int64_t rest = tap;
    for (int32_t d = lines->last - 1; d >= 0; --d) {
      int64_t k = pool->window.kernel[d];
      outer[d] = byoc_window_input(b, &pool->window, d, lines->at[2 + d], byoc_loop_int(b, rest % k));
      rest /= k;
    }
    take(&terms, term(lines, outer, BYOC_LADD(b, BYOC_LMUL(b, column0, lines->wide), i)));
  }
  byoc_loop_store(b, lines->line, i, finish(&terms));
  byoc_loop_end(b);
}

static void fold_by_loops(const lines_t *lines, const byoc_loop_expr_t *column0, const byoc_loop_expr_t *begin,
                          const byoc_loop_expr_t *end) {
  const byoc_pool_t *pool = lines->pool;
  byoc_loop_builder_t *b = pool->b;
  const byoc_window_t *w = &pool->window;
  const byoc_loop_expr_t *outer[BYOC_MAX_SPATIAL], *inside = NULL;
  fill(lines, begin, end);
  for (int32_t d = 0; d < lines->last; ++d) {
    const byoc_loop_expr_t *tap =
        byoc_loop_for(b, BYOC_LOOP_SERIAL, "tap", lines->zero, byoc_loop_int(b, w->kernel[d]));
    outer[d] = byoc_loop_let(b, "in", byoc_window_input(b, w, d, lines->at[2 + d], tap));
    const byoc_loop_expr_t *fits = byoc_emit_within(b, outer[d], lines->zero, byoc_emit_dim(b, pool->x_type, 2 + d));
    inside = inside ? BIN(AND, inside, fits) : fits;
  }
  if (inside) byoc_loop_if(b, inside);
  const byoc_loop_expr_t *i =
      byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", BYOC_LMUL(b, begin, lines->wide), BYOC_LMUL(b, end, lines->wide));
  const byoc_loop_expr_t *x = term(lines, outer, BYOC_LADD(b, BYOC_LMUL(b, column0, lines->wide), i));
  byoc_loop_store(b, lines->line, i, fold(pool, byoc_loop_load(b, lines->line, i), x));
  byoc_loop_end(b);
  if (inside) byoc_loop_end(b);
  for (int32_t d = 0; d < lines->last; ++d) byoc_loop_end(b);
}

// The line of x that the current columns need, folded over the outer taps, with neutral elements in place of padding.
static void fold_lines(const lines_t *lines) {
  const byoc_pool_t *pool = lines->pool;
  byoc_loop_builder_t *b = pool->b;
  const byoc_window_t *w = &pool->window;
  int32_t last = lines->last;
  const byoc_loop_expr_t *column0 = byoc_loop_let(b, "column0", byoc_window_input(b, w, last, lines->low, lines->zero));
  const byoc_loop_expr_t *count = BYOC_LSUB(b, BYOC_LSUB(b, lines->high, lines->low), byoc_loop_int(b, 1));
  int64_t reach = (w->kernel[last] - 1) * w->dilation[last] + 1;
  count = BYOC_LADD(b, BYOC_LMUL(b, count, byoc_loop_int(b, w->stride[last])), byoc_loop_int(b, reach));
  const byoc_loop_expr_t *begin = lines->zero, *end = byoc_loop_let(b, "count", count);
  if (w->has_pads || w->ceil_mode) {
    count = end;
    begin = BYOC_LMIN(b, count, BYOC_LMAX(b, lines->zero, BYOC_LSUB(b, lines->zero, column0)));
    begin = byoc_loop_let(b, "begin", begin);
    end = BYOC_LMAX(b, begin, BYOC_LMIN(b, count, BYOC_LSUB(b, lines->x_width, column0)));
    end = byoc_loop_let(b, "end", end);
    fill(lines, lines->zero, begin);
    fill(lines, end, count);
  }
  const byoc_loop_expr_t *all = NULL;
  for (int32_t d = 0; d < last && (w->has_pads || w->ceil_mode); ++d) {
    const byoc_loop_expr_t *first = byoc_window_input(b, w, d, lines->at[2 + d], lines->zero);
    const byoc_loop_expr_t *past = BYOC_LADD(b, first, byoc_loop_int(b, (w->kernel[d] - 1) * w->dilation[d]));
    const byoc_loop_expr_t *fits =
        BIN(AND, BIN(LE, lines->zero, first), BIN(LT, past, byoc_emit_dim(b, pool->x_type, 2 + d)));
    all = all ? BIN(AND, all, fits) : fits;
  }
  bool written_out = lines->outer_taps <= MOST_WRITTEN_OUT;
  if (!written_out) {
    fold_by_loops(lines, column0, begin, end);
    return;
  }
  if (all) byoc_loop_if(b, all);
  fold_written_out(lines, column0, begin, end);
  if (!all) return;
  byoc_loop_else(b);
  fold_by_loops(lines, column0, begin, end);
  byoc_loop_end(b);
}

// The number of elements in the mean of each column of a stretch, without the outer dimensions. NULL if it is the same
// for all columns; then *out_same holds it.
static const byoc_loop_buffer_t *column_counts(const lines_t *lines, const byoc_loop_expr_t **out_same) {
  const byoc_pool_t *pool = lines->pool;
  byoc_loop_builder_t *b = pool->b;
  const byoc_window_t *w = &pool->window;
  bool with_pads = byoc_node_flag(pool->node, "count_include_pad");
  if ((!w->has_pads && !w->ceil_mode) || (with_pads && !w->ceil_mode)) {
    *out_same = byoc_loop_const(b, pool->dtype, (double)w->taps);
    return NULL;
  }
  const byoc_loop_buffer_t *counts = byoc_loop_allocate(b, "counts", pool->dtype, lines->stretch);
  const byoc_loop_expr_t *outer = byoc_loop_int(b, 1);
  for (int32_t d = 0; d < lines->last; ++d)
    outer = BYOC_LMUL(b, outer, byoc_pool_tap_count(pool, d, lines->at[2 + d], with_pads));
  outer = byoc_loop_let(b, "outer", outer);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", lines->low, lines->high);
  const byoc_loop_expr_t *count = BYOC_LMUL(b, outer, byoc_pool_tap_count(pool, lines->last, i, with_pads));
  byoc_loop_store(b, counts, BYOC_LSUB(b, i, lines->low), byoc_emit_as(b, pool->dtype, count));
  byoc_loop_end(b);
  return counts;
}

// Element `element` of the results from `column` (of the stretch) on, from its fold.
static void store(const lines_t *lines, const byoc_loop_expr_t *column, const byoc_loop_expr_t *element,
                  const byoc_loop_expr_t *value, const byoc_loop_buffer_t *counts, const byoc_loop_expr_t *same) {
  const byoc_pool_t *pool = lines->pool;
  byoc_loop_builder_t *b = pool->b;
  if (pool->kind == BYOC_POOL_AVERAGE) value = BIN(DIV, value, counts ? byoc_loop_load(b, counts, column) : same);
  if (pool->kind == BYOC_POOL_LP) value = byoc_pool_root(b, value, byoc_pool_norm(pool->node));
  const byoc_loop_expr_t *indices[BYOC_MAX_RANK];
  const byoc_loop_expr_t *at = BYOC_LADD(b, BYOC_LMUL(b, lines->low, lines->wide), element);
  byoc_emit_unravel(b, pool->y_type, 2 + lines->last, pool->y_type->rank, at, indices);
  for (int32_t d = 0; d < 2 + lines->last; ++d) indices[d] = lines->at[d];
  byoc_emit_store(pool->lower, pool->node, 0, indices, value);
}

// The stretch's results from the folded line.
static void fold_columns(const lines_t *lines) {
  const byoc_pool_t *pool = lines->pool;
  byoc_loop_builder_t *b = pool->b;
  int64_t kernel = pool->window.kernel[lines->last], step = pool->window.stride[lines->last] * lines->inner;
  const byoc_loop_expr_t *used = BYOC_LSUB(b, lines->high, lines->low), *column = NULL, *lane = lines->zero,
                         *sum = NULL;
  const byoc_loop_expr_t *same = NULL;
  const byoc_loop_buffer_t *counts = pool->kind == BYOC_POOL_AVERAGE ? column_counts(lines, &same) : NULL;
  column = byoc_loop_for(b, lines->inner > 1 ? BYOC_LOOP_SERIAL : BYOC_LOOP_VECTOR, "column", lines->zero, used);
  bool written_out = kernel <= MOST_WRITTEN_OUT;
  const byoc_loop_expr_t *tap_step = byoc_loop_int(b, pool->window.dilation[lines->last] * lines->inner);
  if (lines->inner > 1) lane = byoc_loop_for(b, BYOC_LOOP_VECTOR, "lane", lines->zero, lines->wide);
  const byoc_loop_expr_t *first = BYOC_LADD(b, BYOC_LMUL(b, column, byoc_loop_int(b, step)), lane);
  if (written_out) {
    terms_t terms = {.pool = pool};
    for (int64_t k = 0; k < kernel; ++k) {
      const byoc_loop_expr_t *at = BYOC_LADD(b, first, BYOC_LMUL(b, tap_step, byoc_loop_int(b, k)));
      take(&terms, byoc_loop_load(b, lines->line, at));
    }
    sum = finish(&terms);
  } else {
    sum = byoc_loop_mutable(b, "sum", neutral(pool));
    const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "tap", lines->zero, byoc_loop_int(b, kernel));
    const byoc_loop_expr_t *at = BYOC_LADD(b, first, BYOC_LMUL(b, tap_step, k));
    byoc_loop_assign(b, sum, fold(pool, sum, byoc_loop_load(b, lines->line, at)));
    byoc_loop_end(b);
  }
  store(lines, column, BYOC_LADD(b, BYOC_LMUL(b, column, lines->wide), lane), sum, counts, same);
  if (lines->inner > 1) byoc_loop_end(b);
  byoc_loop_end(b);
}

// The order of the result's lines: that of memory. For one image in blocks of channels ([1,C/16,H,W,16]) it is row by
// row through all channels, as convolutions divide them: a thread then reads mostly lines that it wrote itself, which
// are not in another core's cache. If windows read a row several times, the order of memory is used, because only then
// the row is in the nearest cache.
static void order_lines(lines_t *lines, int32_t outer, const byoc_loop_expr_t *t) {
  byoc_loop_builder_t *b = lines->pool->b;
  const byoc_type_t *type = lines->pool->y_type;
  const byoc_window_t *w = &lines->pool->window;
  const bool is_image = lines->last > 0 && byoc_dim_equal(type->dims[0], byoc_dim_constant(1));
  if (lines->inner == 1 || !is_image || w->kernel[0] >= 2 * w->stride[0]) {
    byoc_emit_unravel(b, type, 0, outer, t, lines->at);
    return;
  }
  const byoc_loop_expr_t *channels = byoc_emit_dim(b, type, 1);
  lines->at[0] = lines->zero;
  lines->at[1] = BIN(MOD, t, channels);
  byoc_emit_unravel(b, type, 2, outer, BIN(FLOORDIV, t, channels), lines->at);
}

bool byoc_pool_lines(const byoc_pool_t *pool) {
  byoc_loop_builder_t *b = pool->b;
  lines_t lines = plan(pool);
  if (lines.size > MOST_LINE / lines.inner) return false;
  int32_t outer = 2 + lines.last;
  const byoc_loop_expr_t *all = byoc_emit_extent(b, pool->y_type, 0, outer), *step = byoc_loop_int(b, lines.stretch);
  const byoc_loop_expr_t *t = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", lines.zero, all);
  order_lines(&lines, outer, t);
  for (int32_t d = 0; d < outer; ++d) lines.at[d] = byoc_loop_let(b, d == 0 ? "n" : d == 1 ? "c" : "at", lines.at[d]);
  lines.line = byoc_loop_allocate(b, "line", pool->dtype, lines.size * lines.inner);
  const byoc_loop_expr_t *parts = BYOC_LDIV(b, BYOC_LADD(b, lines.width, byoc_loop_int(b, lines.stretch - 1)), step);
  const byoc_loop_expr_t *part = byoc_loop_for(b, BYOC_LOOP_SERIAL, "part", lines.zero, parts);
  lines.low = byoc_loop_let(b, "low", BYOC_LMUL(b, part, step));
  lines.high = byoc_loop_let(b, "high", BYOC_LMIN(b, BYOC_LADD(b, lines.low, step), lines.width));
  fold_lines(&lines);
  fold_columns(&lines);
  byoc_loop_end(b);
  byoc_loop_end(b);
  return true;
}

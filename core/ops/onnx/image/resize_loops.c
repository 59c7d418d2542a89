// SPDX-License-Identifier: Apache-2.0
// The loops of Resize: over tables of neighbours, over repeated elements, or element by element.
#include <math.h>

#include "core/ops/onnx/image/resize.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

// The weighted sum of all neighbours over dimensions [d, rank).
static const byoc_loop_expr_t *emit_sum(byoc_lower_t *lower, const byoc_resize_t *r, const byoc_resize_taps_t *taps,
                                        int32_t d, const byoc_loop_expr_t **at, byoc_dtype_t dtype) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  if (d == r->x->rank) {
    const byoc_loop_expr_t *x = byoc_lower_load(lower, r->node, 0, at);
    return dtype == BYOC_DTYPE_NONE ? x : byoc_emit_as(b, dtype, x);
  }
  const byoc_loop_expr_t *sum = NULL;
  for (int32_t t = 0; t < taps[d].count; ++t) {
    at[d] = taps[d].index[t];
    const byoc_loop_expr_t *part = emit_sum(lower, r, taps, d + 1, at, dtype);
    if (taps[d].weight[t]) part = BYOC_LMUL(b, part, byoc_emit_as(b, dtype, taps[d].weight[t]));
    sum = sum ? BYOC_LADD(b, sum, part) : part;
  }
  return sum;
}

// Neighbours along the last dimension are the same for every line. Tables hold them for this many lines at a time: for
// whole lines of known length if these fit into a table, else for stripes. An element that is repeated at most this
// often is stored that many times at once.
enum { LINES = 16, TABLE = 4096, STRIPE = 512, MOST_REPEATS = 4 };

typedef struct {
  byoc_lower_t *lower;
  byoc_loop_builder_t *b;
  byoc_resize_t r;
  byoc_dtype_t dtype; // NONE: nearest, elements move as they are
  int32_t inner;
  byoc_resize_taps_t taps[BYOC_MAX_RANK];
  const byoc_loop_expr_t *indices[BYOC_MAX_RANK];
  // tables, and the line summed over the other dimensions
  const byoc_loop_buffer_t *places, *weights, *line;
  int64_t width, line_width; // of a stripe, of the operand's line; 0: lines are not summed
  int32_t tap_count;
} resize_loops_t;

// Are the last dimension's neighbours put into tables? It must be resized, and to more than a few elements if its sizes
// are known.
static bool has_tables(resize_loops_t *loops) {
  const byoc_resize_t *r = &loops->r;
  byoc_dim_t in = r->x->dims[loops->inner], out = r->node->results[0]->type->dims[loops->inner];
  int32_t first = 0;
  double shrink = 1.0, scale = 1.0;
  if (r->coordinates == BYOC_RESIZE_TF_CROP_AND_RESIZE || r->place[loops->inner] < 0) return false;
  if (byoc_dim_is_constant(in) && in.constant < 2) return false;
  if (byoc_dim_is_constant(out) && out.constant < LINES) return false;
  if (r->sizes < 0 ? byoc_resize_known_scale(r, loops->inner, &scale) && scale == 1.0 : byoc_dim_equal(in, out))
    return false;
  if (!byoc_resize_choose_taps(r, loops->inner, &first, &loops->tap_count, &shrink)) return false;
  const int64_t most = TABLE / loops->tap_count; // elements of a line that fit into a table
  bool is_whole = byoc_dim_is_constant(out) && out.constant <= most;
  loops->width = is_whole ? out.constant : most < STRIPE ? most : STRIPE;
  loops->line_width = is_whole && byoc_dim_is_constant(in) && in.constant <= TABLE ? in.constant : 0;
  return true;
}

static const byoc_loop_expr_t *entry(const resize_loops_t *loops, int32_t tap, const byoc_loop_expr_t *at) {
  return BYOC_LADD(loops->b, byoc_loop_int(loops->b, tap * loops->width), at);
}

// For the `count` elements of a stripe that begins at `begin`.
static bool fill_tables(resize_loops_t *loops, const byoc_loop_expr_t *begin, const byoc_loop_expr_t *count) {
  byoc_loop_builder_t *b = loops->b;
  byoc_resize_taps_t *taps = &loops->taps[loops->inner];
  loops->places = byoc_loop_allocate(b, "places", BYOC_DTYPE_I32, loops->tap_count * loops->width);
  if (loops->dtype != BYOC_DTYPE_NONE)
    loops->weights = byoc_loop_allocate(b, "weights", loops->dtype, loops->tap_count * loops->width);
  const byoc_loop_expr_t *at = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", byoc_loop_int(b, 0), count);
  if (!byoc_resize_emit_taps(loops->lower, &loops->r, loops->inner, BYOC_LADD(b, begin, at), taps)) return false;
  for (int32_t t = 0; t < taps->count; ++t) {
    byoc_loop_store(b, loops->places, entry(loops, t, at), byoc_emit_as(b, BYOC_DTYPE_I32, taps->index[t]));
    if (taps->weight[t])
      byoc_loop_store(b, loops->weights, entry(loops, t, at), byoc_emit_as(b, loops->dtype, taps->weight[t]));
  }
  byoc_loop_end(b);
  return true;
}

// The sum over all neighbours; NULL if they are too many.
static const byoc_loop_expr_t *emit_value(resize_loops_t *loops) {
  const byoc_loop_expr_t *at[BYOC_MAX_RANK];
  int64_t neighbours = 1;
  for (int32_t d = 0; d <= loops->inner; ++d) neighbours *= loops->taps[d].count;
  return neighbours > BYOC_RESIZE_MOST_NEIGHBOURS ? NULL
                                                  : emit_sum(loops->lower, &loops->r, loops->taps, 0, at, loops->dtype);
}

// The line summed over the other dimensions, if it is not much longer than the result's line.
static bool sum_line(resize_loops_t *loops) {
  byoc_loop_builder_t *b = loops->b;
  byoc_resize_taps_t *taps = &loops->taps[loops->inner];
  if (loops->dtype == BYOC_DTYPE_NONE || loops->line_width == 0 || loops->line_width > 2 * loops->width) return true;
  loops->line = byoc_loop_allocate(b, "line", loops->dtype, loops->line_width);
  const byoc_loop_expr_t *j =
      byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", byoc_loop_int(b, 0), byoc_loop_int(b, loops->line_width));
  *taps = (byoc_resize_taps_t){.count = 1, .index = {j}};
  const byoc_loop_expr_t *value = emit_value(loops);
  if (!value) return false;
  byoc_loop_store(b, loops->line, j, value);
  byoc_loop_end(b);
  return true;
}

static const byoc_loop_expr_t *tabled_value(resize_loops_t *loops, const byoc_loop_expr_t *i) {
  byoc_loop_builder_t *b = loops->b;
  const byoc_loop_expr_t *sum = NULL;
  byoc_resize_taps_t *taps = &loops->taps[loops->inner];
  *taps = (byoc_resize_taps_t){.count = loops->tap_count};
  for (int32_t t = 0; t < taps->count; ++t) {
    const byoc_loop_expr_t *place = byoc_loop_load(b, loops->places, entry(loops, t, i));
    taps->index[t] = byoc_emit_as(b, BYOC_DTYPE_I64, place);
    if (loops->weights) taps->weight[t] = byoc_loop_load(b, loops->weights, entry(loops, t, i));
    if (!loops->line) continue;
    const byoc_loop_expr_t *part = BYOC_LMUL(b, byoc_loop_load(b, loops->line, taps->index[t]), taps->weight[t]);
    sum = sum ? BYOC_LADD(b, sum, part) : part;
  }
  return loops->line ? sum : emit_value(loops);
}

// Is one of the two true? NULL is never true.
static const byoc_loop_expr_t *either(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, const byoc_loop_expr_t *y) {
  return x && y ? BIN(OR, x, y) : x ? x : y;
}

// The value, if the point is inside of the operand.
static const byoc_loop_expr_t *unless_outside(const resize_loops_t *loops, const byoc_loop_expr_t *outside,
                                              const byoc_loop_expr_t *value) {
  if (!outside) return value;
  double extrapolation = byoc_node_float(loops->r.node, "extrapolation_value");
  return byoc_loop_select(loops->b, outside, byoc_emit_number_like(loops->b, value, extrapolation), value);
}

// The neighbours along all dimensions except the last, and whether the point is outside along one of them.
static bool emit_outer_taps(resize_loops_t *loops, const byoc_loop_expr_t **out_outside) {
  byoc_loop_builder_t *b = loops->b;
  for (int32_t d = 0; d < loops->inner; ++d) {
    loops->indices[d] = byoc_loop_let(b, "i", loops->indices[d]);
    if (!byoc_resize_emit_taps(loops->lower, &loops->r, d, loops->indices[d], &loops->taps[d])) return false;
    *out_outside = either(b, *out_outside, loops->taps[d].outside);
  }
  return true;
}

static bool lower_tabled(resize_loops_t *loops) {
  byoc_loop_builder_t *b = loops->b;
  const byoc_type_t *y = loops->r.node->results[0]->type;
  const byoc_loop_expr_t *lines = byoc_emit_extent(b, y, 0, loops->inner), *each = byoc_loop_int(b, LINES);
  const byoc_loop_expr_t *groups = BYOC_LDIV(b, BYOC_LADD(b, lines, byoc_loop_int(b, LINES - 1)), each);
  const byoc_loop_expr_t *group = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "group", byoc_loop_int(b, 0), groups);
  const byoc_loop_expr_t *length = byoc_emit_dim(b, y, loops->inner), *width = byoc_loop_int(b, loops->width);
  const byoc_loop_expr_t *stripes = BYOC_LDIV(b, BYOC_LADD(b, length, byoc_loop_int(b, loops->width - 1)), width);
  const byoc_loop_expr_t *stripe = byoc_loop_for(b, BYOC_LOOP_SERIAL, "stripe", byoc_loop_int(b, 0), stripes);
  const byoc_loop_expr_t *begin = byoc_loop_let(b, "begin", BYOC_LMUL(b, stripe, width));
  const byoc_loop_expr_t *count = byoc_loop_let(b, "count", BYOC_LMIN(b, BYOC_LSUB(b, length, begin), width));
  if (!fill_tables(loops, begin, count)) return false;
  const byoc_loop_expr_t *first = byoc_loop_let(b, "first", BYOC_LMUL(b, group, each)), *outside = NULL;
  const byoc_loop_expr_t *line =
      byoc_loop_for(b, BYOC_LOOP_SERIAL, "line", first, BYOC_LMIN(b, BYOC_LADD(b, first, each), lines));
  byoc_emit_unravel(b, y, 0, loops->inner, line, loops->indices);
  if (!emit_outer_taps(loops, &outside)) return false;
  if (!sum_line(loops)) return false;
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", byoc_loop_int(b, 0), count);
  loops->indices[loops->inner] = BYOC_LADD(b, begin, i);
  const byoc_loop_expr_t *value = tabled_value(loops, i);
  if (!value) return false;
  byoc_emit_store(loops->lower, loops->r.node, 0, loops->indices, value);
  byoc_emit_close(b, 4);
  return true;
}

// The number of times that each element of a line is repeated, if Resize only repeats them; else 0.
static int64_t repeats(const resize_loops_t *loops) {
  const byoc_resize_t *r = &loops->r;
  byoc_dim_t in = r->x->dims[loops->inner], out = r->node->results[0]->type->dims[loops->inner];
  bool floors = r->coordinates == BYOC_RESIZE_ASYMMETRIC && r->rounding == BYOC_RESIZE_FLOOR;
  bool centred = r->coordinates == BYOC_RESIZE_HALF_PIXEL && r->rounding == BYOC_RESIZE_ROUND_PREFER_FLOOR;
  if (r->mode != BYOC_RESIZE_NEAREST || r->place[loops->inner] < 0 || (!floors && !centred)) return 0;
  double times = 0; // an integer scale makes a dynamic length a multiple of itself
  if (!byoc_dim_is_constant(in) && r->sizes < 0 && byoc_resize_known_scale(r, loops->inner, &times)) {
    return times >= 1 && times <= MOST_REPEATS && times == floor(times) ? (int64_t)times : 0;
  }
  if (!byoc_dim_is_constant(in) || !byoc_dim_is_constant(out) || in.constant < 1 || out.constant > INT16_MAX) return 0;
  double scale = (double)out.constant / (double)in.constant;
  if (r->sizes < 0 && !byoc_resize_known_scale(r, loops->inner, &scale)) return 0;
  return scale * (double)in.constant == (double)out.constant && out.constant % in.constant == 0 && scale <= MOST_REPEATS
             ? out.constant / in.constant
             : 0;
}

static bool lower_repeated(resize_loops_t *loops, int64_t count) {
  byoc_loop_builder_t *b = loops->b;
  const byoc_type_t *y = loops->r.node->results[0]->type;
  const byoc_loop_expr_t *outside = NULL;
  int32_t inner = loops->inner;
  const byoc_loop_expr_t *line =
      byoc_loop_for(b, BYOC_LOOP_PARALLEL, "line", byoc_loop_int(b, 0), byoc_emit_extent(b, y, 0, inner));
  byoc_emit_unravel(b, y, 0, inner, line, loops->indices);
  if (!emit_outer_taps(loops, &outside)) return false;
  const byoc_loop_expr_t *i =
      byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", byoc_loop_int(b, 0), byoc_emit_dim(b, loops->r.x, inner));
  loops->taps[inner] = (byoc_resize_taps_t){.count = 1, .index = {i}};
  const byoc_loop_expr_t *value = byoc_loop_let(b, "x", emit_value(loops));
  for (int64_t k = 0; k < count; ++k) {
    loops->indices[inner] = BYOC_LADD(b, BYOC_LMUL(b, i, byoc_loop_int(b, count)), byoc_loop_int(b, k));
    byoc_emit_store(loops->lower, loops->r.node, 0, loops->indices, value);
  }
  byoc_loop_end(b);
  byoc_loop_end(b);
  return true;
}

static bool lower_plain(resize_loops_t *loops) {
  byoc_loop_builder_t *b = loops->b;
  const byoc_node_t *node = loops->r.node;
  const byoc_type_t *y = node->results[0]->type;
  int32_t inner = loops->inner;
  const byoc_loop_expr_t *outside = NULL;
  const byoc_loop_expr_t *line =
      byoc_loop_for(b, BYOC_LOOP_PARALLEL, "line", byoc_loop_int(b, 0), byoc_emit_extent(b, y, 0, inner));
  byoc_emit_unravel(b, y, 0, inner, line, loops->indices);
  if (!emit_outer_taps(loops, &outside)) return false;
  if (inner >= 0) {
    loops->indices[inner] = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", byoc_loop_int(b, 0), byoc_emit_dim(b, y, inner));
    if (!byoc_resize_emit_taps(loops->lower, &loops->r, inner, loops->indices[inner], &loops->taps[inner]))
      return false;
    outside = either(b, outside, loops->taps[inner].outside);
  }
  const byoc_loop_expr_t *value = emit_value(loops);
  if (!value) return false;
  byoc_emit_store(loops->lower, node, 0, loops->indices, unless_outside(loops, outside, value));
  if (inner >= 0) byoc_loop_end(b);
  byoc_loop_end(b);
  return true;
}

// Must loops visit the neighbours?
static bool has_wide_filters(const resize_loops_t *loops) {
  int64_t neighbours = 1;
  for (int32_t d = 0; d < loops->r.x->rank && loops->r.antialias; ++d) {
    int32_t first = 0, count = 1;
    double shrink = 1.0;
    if (loops->r.place[d] < 0 || byoc_resize_known_ratio(&loops->r, d) == 1.0) continue;
    if (!byoc_resize_choose_taps(&loops->r, d, &first, &count, &shrink)) return true;
    neighbours *= count;
  }
  return neighbours > BYOC_RESIZE_MOST_NEIGHBOURS;
}

// For antialiased filters whose widths are known only at run time, or that have too many neighbours to unroll them. The
// result is divided by the product of each dimension's sum of weights.
static byoc_status_t lower_windows(resize_loops_t *loops) {
  byoc_loop_builder_t *b = loops->b;
  const byoc_type_t *y = loops->r.node->results[0]->type;
  byoc_resize_window_t windows[BYOC_MAX_RANK];
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *weight = byoc_loop_const(b, loops->dtype, 1.0), *outside = NULL;
  const int32_t opened = byoc_emit_open(b, y, 0, y->rank, true, loops->indices);
  for (int32_t d = 0; d < y->rank; ++d) {
    at[d] = loops->indices[d];
    if (loops->r.place[d] < 0) continue;
    byoc_resize_emit_window(loops->lower, &loops->r, d, at[d], &windows[d]);
    outside = either(b, outside, windows[d].outside);
  }
  const byoc_loop_expr_t *sum = byoc_loop_mutable(b, "sum", byoc_loop_const(b, loops->dtype, 0.0));
  const byoc_loop_expr_t *weights = byoc_loop_mutable(b, "weights", byoc_loop_const(b, loops->dtype, 0.0));
  int32_t windows_opened = 0;
  for (int32_t d = 0; d < y->rank; ++d) {
    const byoc_loop_expr_t *each = NULL;
    if (loops->r.place[d] < 0) continue;
    const byoc_loop_expr_t *t = byoc_loop_for(b, BYOC_LOOP_SERIAL, "t", windows[d].begin, windows[d].end);
    at[d] = byoc_resize_emit_tap(loops->lower, &loops->r, d, &windows[d], t, &each);
    weight = byoc_loop_let(b, "w", BYOC_LMUL(b, weight, byoc_emit_as(b, loops->dtype, each)));
    windows_opened += 1;
  }
  const byoc_loop_expr_t *x = byoc_emit_as(b, loops->dtype, byoc_lower_load(loops->lower, loops->r.node, 0, at));
  byoc_loop_assign(b, sum, BYOC_LADD(b, sum, BYOC_LMUL(b, weight, x)));
  byoc_loop_assign(b, weights, BYOC_LADD(b, weights, weight));
  byoc_emit_close(b, windows_opened);
  byoc_emit_store(loops->lower, loops->r.node, 0, loops->indices,
                  unless_outside(loops, outside, BIN(DIV, sum, weights)));
  byoc_emit_close(b, opened);
  return BYOC_OK;
}

byoc_status_t byoc_resize_loops(byoc_lower_t *lower, const byoc_node_t *node) {
  const byoc_infer_t infer = {.node = (byoc_node_t *)(uintptr_t)node, .opset = node->since_version};
  resize_loops_t loops = {.lower = lower, .b = byoc_lower_builder(lower)};
  BYOC_RETURN_IF_ERROR(byoc_resize_read(&infer, &loops.r));
  const byoc_type_t *y = node->results[0]->type;
  if (loops.r.mode != BYOC_RESIZE_NEAREST) loops.dtype = y->dtype == BYOC_DTYPE_F64 ? BYOC_DTYPE_F64 : BYOC_DTYPE_F32;
  if (has_wide_filters(&loops)) return lower_windows(&loops);
  loops.inner = y->rank - 1;
  int64_t repeated = loops.inner > 0 ? repeats(&loops) : 0;
  bool fine = repeated > 1                            ? lower_repeated(&loops, repeated)
              : loops.inner > 0 && has_tables(&loops) ? lower_tabled(&loops)
                                                      : lower_plain(&loops);
  return fine ? BYOC_OK : byoc_lower_unsupported(lower, "antialiasing needs known scales that are not too small");
}

// SPDX-License-Identifier: Apache-2.0
// Computes sliding windows tap by tap over stretches of a line: for MaxPool with its second result (the indices of the
// maxima), and for windows that are too long for the other ways.
#include "core/ops/onnx/nn/pool.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

typedef struct {
  const byoc_pool_t *pool;
  byoc_loop_builder_t *b;
  int32_t last;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK]; // of the result
  const byoc_loop_buffer_t *sums, *places;
} taps_t;

static const byoc_loop_expr_t *average_divisor(const taps_t *taps) {
  const byoc_pool_t *pool = taps->pool;
  byoc_loop_builder_t *b = taps->b;
  bool with_pads = byoc_node_flag(pool->node, "count_include_pad");
  if (!pool->window.has_pads || (with_pads && !pool->window.ceil_mode)) {
    return byoc_loop_const(b, pool->dtype, (double)pool->window.taps);
  }
  const byoc_loop_expr_t *count = byoc_loop_int(b, 1);
  for (int32_t d = 0; d < pool->window.spatial; ++d) {
    count = BYOC_LMUL(b, count, byoc_pool_tap_count(pool, d, taps->at[2 + d], with_pads));
  }
  return byoc_emit_as(b, pool->dtype, count);
}

// Position of an input element for MaxPool's second result: within the whole tensor, row- or column-major in the plane.
static const byoc_loop_expr_t *place_of(const taps_t *taps, const byoc_loop_expr_t *const *in) {
  const byoc_pool_t *pool = taps->pool;
  byoc_loop_builder_t *b = taps->b;
  if (!byoc_node_flag(pool->node, "storage_order")) {
    return byoc_loop_linear_index(b, pool->x_type->rank, pool->x_type->dims, in);
  }
  const byoc_loop_expr_t *plane = BYOC_LADD(b, BYOC_LMUL(b, in[0], byoc_emit_dim(b, pool->x_type, 1)), in[1]);
  for (int32_t d = pool->x_type->rank - 1; d >= 2; --d) {
    plane = BYOC_LADD(b, BYOC_LMUL(b, plane, byoc_emit_dim(b, pool->x_type, d)), in[d]);
  }
  return plane;
}

static void fold_element(const taps_t *taps, const byoc_loop_expr_t *const *in, const byoc_loop_expr_t *slot) {
  const byoc_pool_t *pool = taps->pool;
  byoc_loop_builder_t *b = taps->b;
  const byoc_loop_expr_t *x = byoc_emit_load(pool->lower, pool->node, 0, in);
  const byoc_loop_expr_t *sum = byoc_loop_load(b, taps->sums, slot);
  if (pool->kind != BYOC_POOL_MAX) {
    if (pool->kind == BYOC_POOL_LP) x = byoc_pool_power(b, x, byoc_pool_norm(pool->node));
    byoc_loop_store(b, taps->sums, slot, BYOC_LADD(b, sum, x));
    return;
  }
  if (!taps->places) {
    byoc_loop_store(b, taps->sums, slot, byoc_pool_larger(b, sum, byoc_loop_let(b, "x", x)));
    return;
  }
  // The first of equal elements counts, even if all have the lowest value; the first NaN is larger than all numbers.
  x = byoc_loop_let(b, "x", x);
  const byoc_loop_expr_t *place = byoc_loop_load(b, taps->places, slot);
  const byoc_loop_expr_t *better = BIN(OR, BIN(LT, place, byoc_loop_int(b, 0)), BIN(LT, sum, x));
  if (x && byoc_dtype_is_float(x->dtype)) {
    const byoc_loop_expr_t *is_number =
        byoc_loop_unary(b, BYOC_LOOP_OP_NOT, byoc_loop_unary(b, BYOC_LOOP_OP_ISNAN, sum));
    better = BIN(OR, better, BIN(AND, byoc_loop_unary(b, BYOC_LOOP_OP_ISNAN, x), is_number));
  }
  better = byoc_loop_let(b, "better", better);
  byoc_loop_store(b, taps->places, slot, byoc_loop_select(b, better, place_of(taps, in), place));
  byoc_loop_store(b, taps->sums, slot, byoc_loop_select(b, better, x, sum));
}

void byoc_pool_taps(const byoc_pool_t *pool) {
  enum { STRETCH = 64 };
  byoc_loop_builder_t *b = pool->b;
  taps_t taps = {.pool = pool, .b = b, .last = pool->window.spatial - 1};
  const byoc_window_t *w = &pool->window;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *width = byoc_emit_dim(b, pool->y_type, 2 + taps.last);
  int64_t stretch = STRETCH, known = 0;
  if (byoc_loop_is_int(width, &known) && known >= 1 && known < stretch) stretch = known;
  const byoc_loop_expr_t *step = byoc_loop_int(b, stretch);

  const byoc_loop_expr_t *t = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", zero, byoc_emit_extent(b, pool->y_type, 0, 2));
  byoc_emit_unravel(b, pool->y_type, 0, 2, t, taps.at);
  for (int32_t d = 0; d < 2; ++d) taps.at[d] = byoc_loop_let(b, d == 0 ? "n" : "c", taps.at[d]);
  taps.sums = byoc_loop_allocate(b, "sums", pool->dtype, stretch);
  if (byoc_has_result(pool->node, 1)) taps.places = byoc_loop_allocate(b, "places", BYOC_DTYPE_I64, stretch);
  for (int32_t d = 0; d < taps.last; ++d) {
    taps.at[2 + d] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "at", zero, byoc_emit_dim(b, pool->y_type, 2 + d));
  }
  const byoc_loop_expr_t *parts = BYOC_LDIV(b, BYOC_LADD(b, width, byoc_loop_int(b, stretch - 1)), step);
  const byoc_loop_expr_t *part = byoc_loop_for(b, BYOC_LOOP_SERIAL, "part", zero, parts);
  const byoc_loop_expr_t *low = byoc_loop_let(b, "low", BYOC_LMUL(b, part, step));
  const byoc_loop_expr_t *high = byoc_loop_let(b, "high", BYOC_LMIN(b, BYOC_LADD(b, low, step), width));

  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", zero, step);
  byoc_loop_store(b, taps.sums, i,
                  pool->kind == BYOC_POOL_MAX ? byoc_emit_lowest(b, pool->dtype)
                                              : byoc_loop_const(b, pool->dtype, 0.0));
  if (taps.places) byoc_loop_store(b, taps.places, i, byoc_loop_int(b, -1));
  byoc_loop_end(b);

  // In the outer dimensions: the taps that are inside. In the last dimension: the part of the line that its tap covers.
  const byoc_loop_expr_t *in[BYOC_MAX_RANK] = {taps.at[0], taps.at[1]}, *inside = NULL;
  for (int32_t d = 0; d < taps.last; ++d) {
    const byoc_loop_expr_t *tap = byoc_loop_for(b, BYOC_LOOP_SERIAL, "tap", zero, byoc_loop_int(b, w->kernel[d]));
    in[2 + d] = byoc_loop_let(b, "in", byoc_window_input(b, w, d, taps.at[2 + d], tap));
    if (!w->has_pads) continue;
    const byoc_loop_expr_t *fits = byoc_emit_within(b, in[2 + d], zero, byoc_emit_dim(b, pool->x_type, 2 + d));
    inside = inside ? BIN(AND, inside, fits) : fits;
  }
  if (inside) byoc_loop_if(b, inside);
  const byoc_loop_expr_t *tap = byoc_loop_for(b, BYOC_LOOP_SERIAL, "tap", zero, byoc_loop_int(b, w->kernel[taps.last]));
  const byoc_loop_expr_t *begin = low, *end = high;
  if (w->has_pads) {
    byoc_window_inside(b, w, taps.last, tap, byoc_emit_dim(b, pool->x_type, 2 + taps.last), low, high, &begin, &end);
  }
  i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", begin, end);
  in[2 + taps.last] = byoc_window_input(b, w, taps.last, i, tap);
  fold_element(&taps, in, BYOC_LSUB(b, i, low));
  byoc_loop_end(b);
  byoc_loop_end(b);
  if (inside) byoc_loop_end(b);
  for (int32_t d = 0; d < taps.last; ++d) byoc_loop_end(b);

  i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", low, high);
  taps.at[2 + taps.last] = i;
  const byoc_loop_expr_t *value = byoc_loop_load(b, taps.sums, BYOC_LSUB(b, i, low));
  if (pool->kind == BYOC_POOL_AVERAGE) value = BIN(DIV, value, average_divisor(&taps));
  if (pool->kind == BYOC_POOL_LP) value = byoc_pool_root(b, value, byoc_pool_norm(pool->node));
  byoc_emit_store(pool->lower, pool->node, 0, taps.at, value);
  if (taps.places)
    byoc_emit_store(pool->lower, pool->node, 1, taps.at, byoc_loop_load(b, taps.places, BYOC_LSUB(b, i, low)));
  byoc_loop_end(b);
  byoc_loop_end(b);
  for (int32_t d = 0; d < taps.last; ++d) byoc_loop_end(b);
  byoc_loop_end(b);
}

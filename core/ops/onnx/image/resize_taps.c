// SPDX-License-Identifier: Apache-2.0
// Maps a coordinate of Resize's result to a point in the operand, and finds the neighbours of that point and their
// weights.
#include <math.h>

#include "core/ops/onnx/image/resize.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))
#define UN(op, x)     byoc_loop_unary(b, BYOC_LOOP_OP_##op, (x))
#define F32(value)    byoc_loop_const(b, BYOC_DTYPE_F32, (value))
#define ONE           byoc_loop_int(b, 1)

// A coordinate as an integer. If regions or scales are data, it may be any number, so it is clamped to a range in which
// neighbours can be counted.
static const byoc_loop_expr_t *whole_place(byoc_loop_builder_t *b, const byoc_resize_t *r, int32_t d,
                                           const byoc_loop_expr_t *place) {
  const int64_t farthest = INT64_C(1) << 35;
  const byoc_loop_expr_t *whole = byoc_emit_as(b, BYOC_DTYPE_I64, place);
  if (byoc_resize_known_ratio(r, d) > 0 && r->coordinates != BYOC_RESIZE_TF_CROP_AND_RESIZE) return whole;
  return BYOC_LMAX(b, byoc_loop_int(b, -farthest), BYOC_LMIN(b, whole, byoc_loop_int(b, farthest)));
}

static const byoc_loop_expr_t *as_f32(byoc_loop_builder_t *b, const byoc_loop_expr_t *x) {
  return byoc_emit_as(b, BYOC_DTYPE_F32, x);
}

const byoc_loop_expr_t *byoc_resize_emit_kept_scale(byoc_lower_t *lower, const byoc_resize_t *r) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const bool smaller = r->policy == BYOC_RESIZE_NOT_LARGER;
  const byoc_loop_expr_t *scale = NULL;
  for (int32_t d = 0; d < r->x->rank; ++d) {
    if (r->place[d] < 0) continue;
    const byoc_loop_expr_t *size = byoc_emit_int(lower, r->node, (uint32_t)r->sizes, r->place[d]);
    const byoc_loop_expr_t *each =
        BIN(DIV, byoc_emit_as(b, BYOC_DTYPE_F64, size), byoc_emit_as(b, BYOC_DTYPE_F64, byoc_emit_dim(b, r->x, d)));
    scale = !scale ? each : smaller ? BYOC_LMIN(b, scale, each) : BYOC_LMAX(b, scale, each);
  }
  return scale;
}

const byoc_loop_expr_t *byoc_resize_emit_scale(byoc_lower_t *lower, const byoc_resize_t *r, int32_t d) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  double scale = 1.0;
  if (r->sizes < 0) {
    if (byoc_resize_known_scale(r, d, &scale)) return F32((double)(float)scale);
    return as_f32(b, byoc_lower_load_flat(lower, r->node, (uint32_t)r->scales, byoc_loop_int(b, r->place[d])));
  }
  if (byoc_resize_keeps_proportions(r)) return as_f32(b, byoc_resize_emit_kept_scale(lower, r));
  const byoc_type_t *y = r->node->results[0]->type;
  return BIN(DIV, as_f32(b, byoc_emit_dim(b, y, d)), as_f32(b, byoc_emit_dim(b, r->x, d)));
}

// The point in the operand for result coordinate `at`, by the node's coordinate transformation.
static const byoc_loop_expr_t *emit_place(byoc_lower_t *lower, const byoc_resize_t *r, int32_t d,
                                          const byoc_loop_expr_t *at, const byoc_loop_expr_t *scale) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *in = as_f32(b, byoc_emit_dim(b, r->x, d)), *half = F32(0.5), *one = F32(1.0);
  // The result's length before it was cut to a whole number, as the operator's definition has it.
  const byoc_loop_expr_t *out = as_f32(b, byoc_emit_dim(b, r->node->results[0]->type, d)), *whole = out;
  if (r->sizes < 0 || byoc_resize_keeps_proportions(r)) out = BYOC_LMUL(b, in, scale);
  const byoc_loop_expr_t *several = BIN(LT, one, out);
  at = as_f32(b, at);
  const byoc_loop_expr_t *centre = BYOC_LSUB(b, BIN(DIV, BYOC_LADD(b, at, half), scale), half);
  if (r->coordinates == BYOC_RESIZE_ASYMMETRIC) return BIN(DIV, at, scale);
  if (r->coordinates == BYOC_RESIZE_PYTORCH_HALF_PIXEL) return byoc_loop_select(b, several, centre, F32(0.0));
  if (r->coordinates == BYOC_RESIZE_TF_HALF_PIXEL_FOR_NN) return BIN(DIV, BYOC_LADD(b, at, half), scale);
  const byoc_loop_expr_t *last = BYOC_LSUB(b, in, one), *steps = BYOC_LSUB(b, out, one);
  if (r->coordinates == BYOC_RESIZE_ALIGN_CORNERS) {
    return byoc_loop_select(b, several, BIN(DIV, BYOC_LMUL(b, at, last), steps), F32(0.0));
  }
  if (r->coordinates == BYOC_RESIZE_HALF_PIXEL_SYMMETRIC) {
    // The result, at its unrounded size, is centred over the operand.
    const byoc_loop_expr_t *adjustment = BIN(DIV, whole, BYOC_LMUL(b, in, scale));
    const byoc_loop_expr_t *shift = BYOC_LMUL(b, BYOC_LMUL(b, in, half), BYOC_LSUB(b, one, adjustment));
    return BYOC_LADD(b, shift, centre);
  }
  if (r->coordinates == BYOC_RESIZE_TF_CROP_AND_RESIZE && r->roi >= 0) {
    uint32_t roi = (uint32_t)r->roi;
    const byoc_loop_expr_t *begin = as_f32(b, byoc_lower_load_flat(lower, r->node, roi, byoc_loop_int(b, r->place[d])));
    const byoc_loop_expr_t *end =
        as_f32(b, byoc_lower_load_flat(lower, r->node, roi, byoc_loop_int(b, r->axis_count + r->place[d])));
    const byoc_loop_expr_t *span = BYOC_LMUL(b, BYOC_LSUB(b, end, begin), last);
    const byoc_loop_expr_t *inner = BYOC_LADD(b, BYOC_LMUL(b, begin, last), BIN(DIV, BYOC_LMUL(b, at, span), steps));
    const byoc_loop_expr_t *middle = BYOC_LMUL(b, BYOC_LMUL(b, half, BYOC_LADD(b, begin, end)), last);
    return byoc_loop_select(b, several, inner, middle);
  }
  return centre;
}

static const byoc_loop_expr_t *emit_nearest(byoc_loop_builder_t *b, const byoc_resize_t *r,
                                            const byoc_loop_expr_t *place) {
  if (r->rounding == BYOC_RESIZE_FLOOR) return UN(FLOOR, place);
  if (r->rounding == BYOC_RESIZE_CEIL) return UN(CEIL, place);
  if (r->rounding == BYOC_RESIZE_ROUND_PREFER_CEIL) return UN(FLOOR, BYOC_LADD(b, place, F32(0.5)));
  return UN(CEIL, BYOC_LSUB(b, place, F32(0.5)));
}

// The cubic filter at any distance.
static const byoc_loop_expr_t *emit_whole_cubic(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, double a) {
  const byoc_loop_expr_t *far = byoc_loop_select(b, BIN(LT, x, F32(2.0)), byoc_emit_cubic(b, x, a, false), F32(0.0));
  return byoc_loop_select(b, BIN(LE, x, F32(1.0)), byoc_emit_cubic(b, x, a, true), far);
}

double byoc_resize_known_ratio(const byoc_resize_t *r, int32_t d) {
  double scale = 0.0;
  if (r->sizes < 0) return byoc_resize_known_scale(r, d, &scale) ? scale : 0.0;
  if (byoc_resize_keeps_proportions(r)) {
    byoc_dim_t sizes[BYOC_MAX_RANK];
    int32_t count = 0;
    const byoc_value_t *operand = r->node->operands[r->sizes];
    const bool known = byoc_shape_value(operand, &r->node->function->module->arena, &count, sizes);
    return known && count == r->axis_count ? byoc_resize_kept_scale(r, sizes) : 0.0;
  }
  const byoc_dim_t in = r->x->dims[d], out = r->node->results[0]->type->dims[d];
  return byoc_dim_is_constant(in) && byoc_dim_is_constant(out) ? (double)out.constant / (double)in.constant : 0.0;
}

bool byoc_resize_choose_taps(const byoc_resize_t *r, int32_t d, int32_t *first, int32_t *count, double *shrink) {
  *shrink = 1.0;
  *first = r->mode == BYOC_RESIZE_CUBIC ? -1 : 0;
  *count = r->mode == BYOC_RESIZE_CUBIC ? 4 : r->mode == BYOC_RESIZE_LINEAR ? 2 : 1;
  if (!r->antialias) return true;
  double scale = byoc_resize_known_ratio(r, d);
  if (!(scale > 0)) return false;
  if (scale > 1.0) scale = 1.0;
  *shrink = scale;
  double start = floor((r->mode == BYOC_RESIZE_CUBIC ? -2.0 : -1.0) / scale) + 1;
  if (start < -BYOC_RESIZE_MOST_TAPS) return false;
  *first = (int32_t)start;
  *count = 2 - 2 * *first;
  return *count <= BYOC_RESIZE_MOST_TAPS;
}

// Only crops leave the operand; other modes stay at its border.
static const byoc_loop_expr_t *emit_outside(byoc_loop_builder_t *b, const byoc_resize_t *r,
                                            const byoc_loop_expr_t *place, const byoc_loop_expr_t *last) {
  if (r->coordinates != BYOC_RESIZE_TF_CROP_AND_RESIZE) return NULL;
  return byoc_loop_let(b, "outside", BIN(OR, BIN(LT, place, F32(0.0)), BIN(LT, as_f32(b, last), place)));
}

bool byoc_resize_emit_taps(byoc_lower_t *lower, const byoc_resize_t *r, int32_t d, const byoc_loop_expr_t *at,
                           byoc_resize_taps_t *taps) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *extent = byoc_emit_dim(b, r->x, d);
  const byoc_loop_expr_t *last = BYOC_LSUB(b, extent, byoc_loop_int(b, 1));
  bool crops = r->coordinates == BYOC_RESIZE_TF_CROP_AND_RESIZE;
  int64_t known = 0;
  taps->outside = NULL;
  taps->count = 1;
  taps->weight[0] = NULL;
  // One element, or a dimension that is not resized. A dimension that keeps its size with a scale near 1 is resized.
  if (!crops && byoc_loop_is_int(extent, &known) && known == 1) {
    taps->index[0] = zero;
    return true;
  }
  const bool same = r->sizes >= 0 && !byoc_resize_keeps_proportions(r) &&
                    byoc_dim_equal(r->x->dims[d], r->node->results[0]->type->dims[d]);
  if (r->place[d] < 0 || (!crops && (same || byoc_resize_known_ratio(r, d) == 1.0))) {
    taps->index[0] = at;
    return true;
  }
  const byoc_loop_expr_t *place =
      byoc_loop_let(b, "place", emit_place(lower, r, d, at, byoc_resize_emit_scale(lower, r, d)));
  taps->outside = emit_outside(b, r, place, last);
  if (r->mode == BYOC_RESIZE_NEAREST) {
    const byoc_loop_expr_t *index = byoc_emit_as(b, BYOC_DTYPE_I64, emit_nearest(b, r, place));
    taps->index[0] = byoc_loop_let(b, "at", BYOC_LMAX(b, zero, BYOC_LMIN(b, index, last)));
    return true;
  }
  int32_t first = 0;
  double shrink = 1.0;
  if (!byoc_resize_choose_taps(r, d, &first, &taps->count, &shrink)) return false;
  const byoc_loop_expr_t *floor = byoc_loop_let(b, "floor", UN(FLOOR, place));
  const byoc_loop_expr_t *fraction = byoc_loop_let(b, "f", BYOC_LSUB(b, place, floor));
  const byoc_loop_expr_t *base = byoc_loop_let(b, "base", whole_place(b, r, d, floor)), *sum = NULL;
  for (int32_t t = 0; t < taps->count; ++t) {
    const byoc_loop_expr_t *index = BYOC_LADD(b, base, byoc_loop_int(b, first + t));
    const byoc_loop_expr_t *distance = UN(ABS, BYOC_LSUB(b, F32(first + t), fraction)), *weight = NULL;
    if (shrink != 1.0) distance = BYOC_LMUL(b, distance, F32(shrink));
    if (r->mode == BYOC_RESIZE_CUBIC) {
      weight = shrink == 1.0 ? byoc_emit_cubic(b, distance, r->a, first + t == 0 || first + t == 1)
                             : emit_whole_cubic(b, distance, r->a);
    } else {
      weight = BYOC_LMAX(b, F32(0.0), BYOC_LSUB(b, F32(1.0), distance));
    }
    if (r->exclude_outside) weight = byoc_loop_select(b, byoc_emit_within(b, index, zero, extent), weight, F32(0.0));
    taps->weight[t] = byoc_loop_let(b, "w", weight);
    taps->index[t] = byoc_loop_let(b, "at", BYOC_LMAX(b, zero, BYOC_LMIN(b, index, last)));
    sum = sum ? BYOC_LADD(b, sum, taps->weight[t]) : taps->weight[t];
  }
  if (!r->exclude_outside && !r->antialias) return true;
  sum = byoc_loop_let(b, "sum", sum);
  for (int32_t t = 0; t < taps->count; ++t) {
    taps->weight[t] = byoc_loop_let(b, "w", BIN(DIV, taps->weight[t], sum));
  }
  return true;
}

void byoc_resize_emit_window(byoc_lower_t *lower, const byoc_resize_t *r, int32_t d, const byoc_loop_expr_t *at,
                             byoc_resize_window_t *window) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *scale = byoc_loop_let(b, "scale", byoc_resize_emit_scale(lower, r, d));
  const byoc_loop_expr_t *place = byoc_loop_let(b, "place", emit_place(lower, r, d, at, scale));
  const byoc_loop_expr_t *floor = byoc_loop_let(b, "floor", UN(FLOOR, place));
  window->outside = emit_outside(b, r, place, BYOC_LSUB(b, byoc_emit_dim(b, r->x, d), ONE));
  window->base = byoc_loop_let(b, "base", whole_place(b, r, d, floor));
  window->fraction = byoc_loop_let(b, "f", BYOC_LSUB(b, place, floor));
  window->shrink = byoc_loop_let(b, "shrink", BYOC_LMIN(b, scale, F32(1.0)));
  const byoc_loop_expr_t *radius = BIN(DIV, F32(r->mode == BYOC_RESIZE_CUBIC ? 2.0 : 1.0), window->shrink);
  window->end = byoc_loop_let(b, "reach", BYOC_LADD(b, whole_place(b, r, d, UN(CEIL, radius)), ONE));
  window->begin = BYOC_LSUB(b, ONE, window->end);
}

const byoc_loop_expr_t *byoc_resize_emit_tap(byoc_lower_t *lower, const byoc_resize_t *r, int32_t d,
                                             const byoc_resize_window_t *window, const byoc_loop_expr_t *t,
                                             const byoc_loop_expr_t **out_weight) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *extent = byoc_emit_dim(b, r->x, d);
  const byoc_loop_expr_t *index = byoc_loop_let(b, "at", BYOC_LADD(b, window->base, t));
  const byoc_loop_expr_t *distance = UN(ABS, BYOC_LSUB(b, as_f32(b, t), window->fraction));
  distance = byoc_loop_let(b, "distance", BYOC_LMUL(b, distance, window->shrink));
  const byoc_loop_expr_t *weight = r->mode == BYOC_RESIZE_CUBIC
                                       ? emit_whole_cubic(b, distance, r->a)
                                       : BYOC_LMAX(b, F32(0.0), BYOC_LSUB(b, F32(1.0), distance));
  if (r->exclude_outside) weight = byoc_loop_select(b, byoc_emit_within(b, index, zero, extent), weight, F32(0.0));
  *out_weight = byoc_loop_let(b, "w", weight);
  return BYOC_LMAX(b, zero, BYOC_LMIN(b, index, BYOC_LSUB(b, extent, ONE)));
}

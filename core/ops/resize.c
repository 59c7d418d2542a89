// Resize and Upsample: each result coordinate maps to a place in the operand; its neighbours there are weighted along
// every dimension that is resized.
#include <math.h>
#include <string.h>

#include "core/ops/util.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))
#define UN(op, x)     byoc_loop_unary(b, BYOC_LOOP_OP_##op, (x))
#define F32(value)    byoc_loop_const(b, BYOC_DTYPE_F32, (value))

// More neighbours of one element than this are refused: they are written out in the kernel.
enum { MOST_TAPS = 64, MOST_NEIGHBOURS = 1024 };

typedef enum { NEAREST, LINEAR, CUBIC } filter_t;

typedef struct {
  const byoc_node_t *node;
  const byoc_type_t *x;
  filter_t mode;
  const char *coordinates, *rounding, *policy;
  bool antialias, exclude_outside;
  double a;                     // of the cubic filter
  int32_t roi, scales, sizes;   // operands; -1: none
  int32_t place[BYOC_MAX_RANK]; // of a dimension among `axes`; -1: not resized
  int32_t axis_count;
} resize_t;

static bool text_is(const char *a, const char *expected) {
  return strcmp(a, expected) == 0;
}

static byoc_status_t read_resize(const byoc_infer_t *infer, resize_t *r) {
  const byoc_node_t *node = infer->node;
  const byoc_attributes_t *attributes = &node->attributes;
  bool upsample = text_is(node->op, "Upsample"), old = upsample || node->since_version < 11;
  *r = (resize_t){.node = node, .x = byoc_operand_type(node, 0), .roi = -1, .scales = -1, .sizes = -1};
  const char *mode = byoc_attributes_string(attributes, "mode", "nearest");
  r->mode = text_is(mode, "nearest") ? NEAREST : text_is(mode, "cubic") ? CUBIC : LINEAR;
  if (r->mode == LINEAR && !text_is(mode, "linear") && !text_is(mode, "bilinear")) {
    return byoc_infer_error(infer, "attribute 'mode': expected nearest, linear or cubic, got \"%s\"", mode);
  }
  r->coordinates =
      byoc_attributes_string(attributes, "coordinate_transformation_mode", old ? "asymmetric" : "half_pixel");
  r->rounding = byoc_attributes_string(attributes, "nearest_mode", old ? "floor" : "round_prefer_floor");
  r->policy = byoc_attributes_string(attributes, "keep_aspect_ratio_policy", "stretch");
  r->antialias = byoc_attributes_int(attributes, "antialias", 0) != 0 && r->mode != NEAREST;
  r->exclude_outside = byoc_attributes_int(attributes, "exclude_outside", 0) != 0;
  r->a = byoc_attributes_float(attributes, "cubic_coeff_a", -0.75);
  if (old) {
    r->scales = byoc_has_operand(node, 1) ? 1 : -1;
  } else {
    // An operand left out may also be given as an empty tensor.
    for (int32_t i = 1; i <= 3; ++i) {
      bool given = byoc_has_operand(node, (uint32_t)i) && byoc_type_element_count(node->operands[i]->type) != 0;
      int32_t *slot = i == 1 ? &r->roi : i == 2 ? &r->scales : &r->sizes;
      if (given) *slot = i;
    }
  }
  if (!byoc_is_ranked(r->x)) return BYOC_OK;
  size_t count = 0;
  const int64_t *axes = byoc_attributes_ints(attributes, "axes", &count);
  for (int32_t d = 0; d < r->x->rank; ++d) r->place[d] = axes ? -1 : d;
  r->axis_count = axes ? (int32_t)count : r->x->rank;
  for (size_t i = 0; i < count; ++i) {
    int32_t axis = 0;
    if (!byoc_normalize_axis(axes[i], r->x->rank, &axis)) {
      return byoc_infer_error(infer, "attribute 'axes': expected values in [%d, %d], got %lld", -r->x->rank,
                              r->x->rank - 1, (long long)axes[i]);
    }
    r->place[axis] = (int32_t)i;
  }
  return BYOC_OK;
}

// The scale along dimension d where it is known when compiling.
static bool known_scale(const resize_t *r, int32_t d, double *out_scale) {
  const byoc_node_t *node = r->node;
  *out_scale = 1.0;
  if (r->place[d] < 0) return true;
  size_t count = 0;
  const double *scales = byoc_attributes_floats(&node->attributes, "scales", &count);
  if (scales) {
    if ((size_t)r->place[d] >= count) return false;
    *out_scale = scales[r->place[d]];
    return true;
  }
  if (r->scales < 0 || !byoc_value_is_constant(node->operands[r->scales])) return false;
  const byoc_constant_t *constant = node->operands[r->scales]->constant;
  if (r->place[d] >= byoc_type_element_count(constant->type)) return false;
  *out_scale = byoc_constant_element_f64(constant, r->place[d]);
  return true;
}

// ---- result shape ----
static byoc_status_t sizes_to_dims(const byoc_infer_t *infer, const resize_t *r, byoc_dim_t *dims, bool *out_known) {
  byoc_dim_t sizes[BYOC_MAX_RANK];
  int32_t count = 0;
  *out_known = byoc_shape_value(infer->node->operands[r->sizes], infer->arena, &count, sizes);
  if (!*out_known) return BYOC_OK;
  if (count != r->axis_count) return byoc_infer_error(infer, "%d sizes for %d dimensions", count, r->axis_count);
  bool smaller = text_is(r->policy, "not_larger"), keep = smaller || text_is(r->policy, "not_smaller");
  double scale = smaller ? INFINITY : 0.0;
  for (int32_t d = 0; d < r->x->rank; ++d) {
    if (r->place[d] < 0) continue;
    dims[d] = sizes[r->place[d]];
    if (!keep) continue;
    if (!byoc_dim_is_constant(dims[d]) || !byoc_dim_is_constant(r->x->dims[d]) || r->x->dims[d].constant == 0) {
      *out_known = false;
      return BYOC_OK;
    }
    double each = (double)dims[d].constant / (double)r->x->dims[d].constant;
    scale = smaller ? fmin(scale, each) : fmax(scale, each);
  }
  for (int32_t d = 0; d < r->x->rank && keep; ++d) {
    if (r->place[d] >= 0) dims[d] = byoc_dim_constant((int64_t)floor(scale * (double)r->x->dims[d].constant + 0.5));
  }
  return BYOC_OK;
}

static byoc_status_t infer_resize(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_value, "a tensor of numbers or bools"));
  for (uint32_t i = 1; i < infer->node->operand_count; ++i) {
    if (byoc_has_operand(infer->node, i))
      BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, byoc_dtype_is_number, "a list"));
  }
  resize_t r;
  BYOC_RETURN_IF_ERROR(read_resize(infer, &r));
  if (!byoc_is_ranked(r.x)) return byoc_infer_set_unranked(infer, 0, r.x->dtype);
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < r.x->rank; ++d) dims[d] = r.x->dims[d];
  bool known = true, failed = false;
  if (r.sizes >= 0) {
    BYOC_RETURN_IF_ERROR(sizes_to_dims(infer, &r, dims, &known));
  } else {
    for (int32_t d = 0; d < r.x->rank && known; ++d) {
      double scale = 1.0;
      known = known_scale(&r, d, &scale) && (scale == 1.0 || byoc_dim_is_constant(dims[d]));
      if (!known && r.place[d] >= 0 && known_scale(&r, d, &scale) && scale == floor(scale) && scale > 0) {
        dims[d] = byoc_infer_dim(infer, BYOC_DIM_MUL, dims[d], byoc_dim_constant((int64_t)scale), &failed);
        known = true;
      } else if (known && scale != 1.0) {
        double size = floor((double)dims[d].constant * scale);
        if (!(scale > 0) || !(size < 9e15)) return byoc_infer_error(infer, "a scale of %g in dimension %d", scale, d);
        dims[d] = byoc_dim_constant((int64_t)size);
      }
    }
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  if (!known) return byoc_infer_set_unknown(infer, 0, r.x->dtype, r.x->rank);
  return byoc_infer_set(infer, 0, r.x->dtype, r.x->rank, dims);
}

// ---- lowering ----
// Neighbours along one dimension: indices, weights, and whether the place lies outside (NULL: never asked).
typedef struct {
  int32_t count;
  const byoc_loop_expr_t *index[MOST_TAPS], *weight[MOST_TAPS];
  const byoc_loop_expr_t *outside;
} taps_t;

static const byoc_loop_expr_t *as_f32(byoc_loop_builder_t *b, const byoc_loop_expr_t *x) {
  return byoc_emit_as(b, BYOC_DTYPE_F32, x);
}

static const byoc_loop_expr_t *emit_scale(byoc_lower_t *lower, const resize_t *r, int32_t d) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  double scale = 1.0;
  if (r->sizes < 0) {
    if (known_scale(r, d, &scale)) return F32((double)(float)scale);
    return as_f32(b, byoc_lower_load_flat(lower, r->node, (uint32_t)r->scales, byoc_loop_int(b, r->place[d])));
  }
  const byoc_type_t *y = r->node->results[0]->type;
  bool smaller = text_is(r->policy, "not_larger");
  if (!smaller && !text_is(r->policy, "not_smaller")) {
    return BIN(DIV, as_f32(b, byoc_emit_dim(b, y, d)), as_f32(b, byoc_emit_dim(b, r->x, d)));
  }
  const byoc_loop_expr_t *least = NULL;
  for (int32_t k = 0; k < r->x->rank; ++k) {
    if (r->place[k] < 0) continue;
    const byoc_loop_expr_t *size = byoc_emit_int(lower, r->node, (uint32_t)r->sizes, r->place[k]);
    const byoc_loop_expr_t *each = BIN(DIV, as_f32(b, size), as_f32(b, byoc_emit_dim(b, r->x, k)));
    least = !least ? each : smaller ? BYOC_LMIN(b, least, each) : BYOC_LMAX(b, least, each);
  }
  return least;
}

// The place in the operand of result coordinate `at`, by the node's coordinate transformation.
static const byoc_loop_expr_t *emit_place(byoc_lower_t *lower, const resize_t *r, int32_t d, const byoc_loop_expr_t *at,
                                          const byoc_loop_expr_t *scale) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *in = as_f32(b, byoc_emit_dim(b, r->x, d)), *half = F32(0.5), *one = F32(1.0);
  // The result's length before it was cut to a whole number, as the operator's definition has it.
  const byoc_loop_expr_t *out = as_f32(b, byoc_emit_dim(b, r->node->results[0]->type, d)), *whole = out;
  if (r->sizes < 0) out = BYOC_LMUL(b, in, scale);
  const byoc_loop_expr_t *several = BIN(LT, one, out);
  at = as_f32(b, at);
  const byoc_loop_expr_t *centre = BYOC_LSUB(b, BIN(DIV, BYOC_LADD(b, at, half), scale), half);
  if (text_is(r->coordinates, "asymmetric")) return BIN(DIV, at, scale);
  if (text_is(r->coordinates, "pytorch_half_pixel")) return byoc_loop_select(b, several, centre, F32(0.0));
  if (text_is(r->coordinates, "tf_half_pixel_for_nn")) return BIN(DIV, BYOC_LADD(b, at, half), scale);
  const byoc_loop_expr_t *last = BYOC_LSUB(b, in, one), *steps = BYOC_LSUB(b, out, one);
  if (text_is(r->coordinates, "align_corners")) {
    return byoc_loop_select(b, several, BIN(DIV, BYOC_LMUL(b, at, last), steps), F32(0.0));
  }
  if (text_is(r->coordinates, "half_pixel_symmetric")) {
    // The result as it would be, unrounded, lies centred over the operand.
    const byoc_loop_expr_t *adjustment = BIN(DIV, whole, BYOC_LMUL(b, in, scale));
    const byoc_loop_expr_t *shift = BYOC_LMUL(b, BYOC_LMUL(b, in, half), BYOC_LSUB(b, one, adjustment));
    return BYOC_LADD(b, shift, centre);
  }
  if (text_is(r->coordinates, "tf_crop_and_resize") && r->roi >= 0) {
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

static const byoc_loop_expr_t *emit_nearest(byoc_loop_builder_t *b, const resize_t *r, const byoc_loop_expr_t *place) {
  if (text_is(r->rounding, "floor")) return UN(FLOOR, place);
  if (text_is(r->rounding, "ceil")) return UN(CEIL, place);
  if (text_is(r->rounding, "round_prefer_ceil")) return UN(FLOOR, BYOC_LADD(b, place, F32(0.5)));
  return UN(CEIL, BYOC_LSUB(b, place, F32(0.5)));
}

// The cubic filter at any distance.
static const byoc_loop_expr_t *emit_whole_cubic(byoc_loop_builder_t *b, const byoc_loop_expr_t *x, double a) {
  const byoc_loop_expr_t *far = byoc_loop_select(b, BIN(LT, x, F32(2.0)), byoc_emit_cubic(b, x, a, false), F32(0.0));
  return byoc_loop_select(b, BIN(LE, x, F32(1.0)), byoc_emit_cubic(b, x, a, true), far);
}

// The first neighbour relative to floor(place) and how many there are. Antialiased filters widen as the scale shrinks.
static bool choose_taps(const resize_t *r, int32_t d, int32_t *first, int32_t *count, double *shrink) {
  *shrink = 1.0;
  *first = r->mode == CUBIC ? -1 : 0;
  *count = r->mode == CUBIC ? 4 : r->mode == LINEAR ? 2 : 1;
  if (!r->antialias) return true;
  double scale = 1.0;
  if (r->sizes >= 0) {
    const byoc_type_t *y = r->node->results[0]->type;
    if (!byoc_dim_is_constant(y->dims[d]) || !byoc_dim_is_constant(r->x->dims[d])) return false;
    scale = (double)y->dims[d].constant / (double)r->x->dims[d].constant;
  } else if (!known_scale(r, d, &scale)) {
    return false;
  }
  if (!(scale > 0)) return false;
  if (scale > 1.0) scale = 1.0;
  *shrink = scale;
  double start = floor((r->mode == CUBIC ? -2.0 : -1.0) / scale) + 1;
  if (start < -MOST_TAPS) return false;
  *first = (int32_t)start;
  *count = 2 - 2 * *first;
  return *count <= MOST_TAPS;
}

static bool emit_taps(byoc_lower_t *lower, const resize_t *r, int32_t d, const byoc_loop_expr_t *at, taps_t *taps) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *extent = byoc_emit_dim(b, r->x, d);
  const byoc_loop_expr_t *last = BYOC_LSUB(b, extent, byoc_loop_int(b, 1));
  bool crops = text_is(r->coordinates, "tf_crop_and_resize");
  int64_t known = 0;
  double scale = 1.0;
  taps->outside = NULL;
  taps->count = 1;
  taps->weight[0] = NULL;
  // One element, or a dimension that stays as it is.
  if (!crops && byoc_loop_is_int(extent, &known) && known == 1) {
    taps->index[0] = zero;
    return true;
  }
  if (r->place[d] < 0 || (!crops && r->sizes < 0 && known_scale(r, d, &scale) && scale == 1.0) ||
      (!crops && r->sizes >= 0 && byoc_dim_equal(r->x->dims[d], r->node->results[0]->type->dims[d]))) {
    taps->index[0] = at;
    return true;
  }
  const byoc_loop_expr_t *place = byoc_loop_let(b, "place", emit_place(lower, r, d, at, emit_scale(lower, r, d)));
  if (crops) {
    taps->outside = byoc_loop_let(b, "outside", BIN(OR, BIN(LT, place, F32(0.0)), BIN(LT, as_f32(b, last), place)));
  }
  if (r->mode == NEAREST) {
    const byoc_loop_expr_t *index = byoc_emit_as(b, BYOC_DTYPE_I64, emit_nearest(b, r, place));
    taps->index[0] = byoc_loop_let(b, "at", BYOC_LMAX(b, zero, BYOC_LMIN(b, index, last)));
    return true;
  }
  int32_t first = 0;
  double shrink = 1.0;
  if (!choose_taps(r, d, &first, &taps->count, &shrink)) return false;
  const byoc_loop_expr_t *floor = byoc_loop_let(b, "floor", UN(FLOOR, place));
  const byoc_loop_expr_t *fraction = byoc_loop_let(b, "f", BYOC_LSUB(b, place, floor));
  const byoc_loop_expr_t *base = byoc_loop_let(b, "base", byoc_emit_as(b, BYOC_DTYPE_I64, floor)), *sum = NULL;
  for (int32_t t = 0; t < taps->count; ++t) {
    const byoc_loop_expr_t *index = BYOC_LADD(b, base, byoc_loop_int(b, first + t));
    const byoc_loop_expr_t *distance = UN(ABS, BYOC_LSUB(b, F32(first + t), fraction)), *weight = NULL;
    if (shrink != 1.0) distance = BYOC_LMUL(b, distance, F32(shrink));
    if (r->mode == CUBIC) {
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

// The weighted sum of all neighbours over dimensions [d, rank).
static const byoc_loop_expr_t *emit_sum(byoc_lower_t *lower, const resize_t *r, const taps_t *taps, int32_t d,
                                        const byoc_loop_expr_t **at, byoc_dtype_t dtype) {
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

// ---- loops ----
// Neighbours along the last dimension are the same for every line: tables hold them for so many lines at a time.
// An element that is repeated so often at most is stored so many times at once.
enum { LINES = 16, TABLE = 4096, MOST_REPEATS = 4 };

typedef struct {
  byoc_lower_t *lower;
  byoc_loop_builder_t *b;
  resize_t r;
  byoc_dtype_t dtype; // NONE: nearest, elements move as they are
  int32_t inner;
  taps_t taps[BYOC_MAX_RANK];
  const byoc_loop_expr_t *indices[BYOC_MAX_RANK];
  // tables, and the line that the other dimensions have been summed over
  const byoc_loop_buffer_t *places, *weights, *line;
  int64_t width, line_width;
  int32_t tap_count;
} resize_loops_t;

// May the last dimension's neighbours be held in tables? Its sizes must be known for that, and it must be resized.
static bool has_tables(resize_loops_t *loops) {
  const resize_t *r = &loops->r;
  byoc_dim_t in = r->x->dims[loops->inner], out = r->node->results[0]->type->dims[loops->inner];
  int32_t first = 0;
  double shrink = 1.0, scale = 1.0;
  if (text_is(r->coordinates, "tf_crop_and_resize") || r->place[loops->inner] < 0) return false;
  if (!byoc_dim_is_constant(in) || !byoc_dim_is_constant(out) || in.constant < 2 || in.constant > TABLE) return false;
  if (r->sizes < 0 ? known_scale(r, loops->inner, &scale) && scale == 1.0 : byoc_dim_equal(in, out)) return false;
  if (!choose_taps(r, loops->inner, &first, &loops->tap_count, &shrink)) return false;
  loops->width = out.constant;
  loops->line_width = in.constant;
  return out.constant >= LINES && out.constant <= TABLE / loops->tap_count;
}

static const byoc_loop_expr_t *entry(const resize_loops_t *loops, int32_t tap, const byoc_loop_expr_t *at) {
  return BYOC_LADD(loops->b, byoc_loop_int(loops->b, tap * loops->width), at);
}

static bool fill_tables(resize_loops_t *loops) {
  byoc_loop_builder_t *b = loops->b;
  taps_t *taps = &loops->taps[loops->inner];
  loops->places = byoc_loop_allocate(b, "places", BYOC_DTYPE_I32, loops->tap_count * loops->width);
  if (loops->dtype != BYOC_DTYPE_NONE)
    loops->weights = byoc_loop_allocate(b, "weights", loops->dtype, loops->tap_count * loops->width);
  const byoc_loop_expr_t *at =
      byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", byoc_loop_int(b, 0), byoc_loop_int(b, loops->width));
  if (!emit_taps(loops->lower, &loops->r, loops->inner, at, taps)) return false;
  for (int32_t t = 0; t < taps->count; ++t) {
    byoc_loop_store(b, loops->places, entry(loops, t, at), byoc_emit_as(b, BYOC_DTYPE_I32, taps->index[t]));
    if (taps->weight[t])
      byoc_loop_store(b, loops->weights, entry(loops, t, at), byoc_emit_as(b, loops->dtype, taps->weight[t]));
  }
  byoc_loop_end(b);
  return true;
}

// The sum over all neighbours; NULL where they are too many.
static const byoc_loop_expr_t *emit_value(resize_loops_t *loops) {
  const byoc_loop_expr_t *at[BYOC_MAX_RANK];
  int64_t neighbours = 1;
  for (int32_t d = 0; d <= loops->inner; ++d) neighbours *= loops->taps[d].count;
  return neighbours > MOST_NEIGHBOURS ? NULL : emit_sum(loops->lower, &loops->r, loops->taps, 0, at, loops->dtype);
}

// The line summed over the other dimensions, where it is not much longer than the result's.
static bool sum_line(resize_loops_t *loops) {
  byoc_loop_builder_t *b = loops->b;
  taps_t *taps = &loops->taps[loops->inner];
  if (loops->dtype == BYOC_DTYPE_NONE || loops->line_width > 2 * loops->width) return true;
  loops->line = byoc_loop_allocate(b, "line", loops->dtype, loops->line_width);
  const byoc_loop_expr_t *j =
      byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", byoc_loop_int(b, 0), byoc_loop_int(b, loops->line_width));
  *taps = (taps_t){.count = 1, .index = {j}};
  const byoc_loop_expr_t *value = emit_value(loops);
  if (!value) return false;
  byoc_loop_store(b, loops->line, j, value);
  byoc_loop_end(b);
  return true;
}

static const byoc_loop_expr_t *tabled_value(resize_loops_t *loops, const byoc_loop_expr_t *i) {
  byoc_loop_builder_t *b = loops->b;
  const byoc_loop_expr_t *sum = NULL;
  taps_t *taps = &loops->taps[loops->inner];
  *taps = (taps_t){.count = loops->tap_count};
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

// The neighbours along all dimensions but the last, and whether the place lies outside along one of them.
static bool emit_outer_taps(resize_loops_t *loops, const byoc_loop_expr_t **out_outside) {
  byoc_loop_builder_t *b = loops->b;
  for (int32_t d = 0; d < loops->inner; ++d) {
    loops->indices[d] = byoc_loop_let(b, "i", loops->indices[d]);
    if (!emit_taps(loops->lower, &loops->r, d, loops->indices[d], &loops->taps[d])) return false;
    const byoc_loop_expr_t *outside = loops->taps[d].outside;
    if (outside) *out_outside = *out_outside ? BIN(OR, *out_outside, outside) : outside;
  }
  return true;
}

static bool lower_tabled(resize_loops_t *loops) {
  byoc_loop_builder_t *b = loops->b;
  const byoc_type_t *y = loops->r.node->results[0]->type;
  const byoc_loop_expr_t *lines = byoc_emit_extent(b, y, 0, loops->inner), *each = byoc_loop_int(b, LINES);
  const byoc_loop_expr_t *groups = BYOC_LDIV(b, BYOC_LADD(b, lines, byoc_loop_int(b, LINES - 1)), each);
  const byoc_loop_expr_t *group = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "group", byoc_loop_int(b, 0), groups);
  if (!fill_tables(loops)) return false;
  const byoc_loop_expr_t *first = byoc_loop_let(b, "first", BYOC_LMUL(b, group, each)), *outside = NULL;
  const byoc_loop_expr_t *line =
      byoc_loop_for(b, BYOC_LOOP_SERIAL, "line", first, BYOC_LMIN(b, BYOC_LADD(b, first, each), lines));
  byoc_emit_unravel(b, y, 0, loops->inner, line, loops->indices);
  if (!emit_outer_taps(loops, &outside)) return false;
  if (!sum_line(loops)) return false;
  const byoc_loop_expr_t *i =
      byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", byoc_loop_int(b, 0), byoc_loop_int(b, loops->width));
  loops->indices[loops->inner] = i;
  const byoc_loop_expr_t *value = tabled_value(loops, i);
  if (!value) return false;
  byoc_emit_store(loops->lower, loops->r.node, 0, loops->indices, value);
  byoc_loop_end(b);
  byoc_loop_end(b);
  byoc_loop_end(b);
  return true;
}

// How often each element of a line is repeated, where that is all there is to it; else 0.
static int64_t repeats(const resize_loops_t *loops) {
  const resize_t *r = &loops->r;
  byoc_dim_t in = r->x->dims[loops->inner], out = r->node->results[0]->type->dims[loops->inner];
  bool floors = text_is(r->coordinates, "asymmetric") && text_is(r->rounding, "floor");
  bool centred = text_is(r->coordinates, "half_pixel") && text_is(r->rounding, "round_prefer_floor");
  if (r->mode != NEAREST || r->place[loops->inner] < 0 || (!floors && !centred)) return 0;
  if (!byoc_dim_is_constant(in) || !byoc_dim_is_constant(out) || in.constant < 1 || out.constant > INT16_MAX) return 0;
  double scale = (double)out.constant / (double)in.constant;
  if (r->sizes < 0 && !known_scale(r, loops->inner, &scale)) return 0;
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
  loops->taps[inner] = (taps_t){.count = 1, .index = {i}};
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
    if (!emit_taps(loops->lower, &loops->r, inner, loops->indices[inner], &loops->taps[inner])) return false;
    const byoc_loop_expr_t *beyond = loops->taps[inner].outside;
    if (beyond) outside = outside ? BIN(OR, outside, beyond) : beyond;
  }
  const byoc_loop_expr_t *value = emit_value(loops);
  if (!value) return false;
  if (outside) {
    double extrapolation = byoc_attributes_float(&node->attributes, "extrapolation_value", 0.0);
    value = byoc_loop_select(b, outside, byoc_loop_const(b, value->dtype, extrapolation), value);
  }
  byoc_emit_store(loops->lower, node, 0, loops->indices, value);
  if (inner >= 0) byoc_loop_end(b);
  byoc_loop_end(b);
  return true;
}

static byoc_status_t loops_resize(byoc_lower_t *lower, const byoc_node_t *node) {
  const byoc_infer_t infer = {.node = (byoc_node_t *)(uintptr_t)node, .opset = node->since_version};
  resize_loops_t loops = {.lower = lower, .b = byoc_lower_builder(lower)};
  BYOC_RETURN_IF_ERROR(read_resize(&infer, &loops.r));
  const byoc_type_t *y = node->results[0]->type;
  if (loops.r.mode != NEAREST) loops.dtype = y->dtype == BYOC_DTYPE_F64 ? BYOC_DTYPE_F64 : BYOC_DTYPE_F32;
  loops.inner = y->rank - 1;
  int64_t repeated = loops.inner > 0 ? repeats(&loops) : 0;
  bool fine = repeated > 1                            ? lower_repeated(&loops, repeated)
              : loops.inner > 0 && has_tables(&loops) ? lower_tabled(&loops)
                                                      : lower_plain(&loops);
  return fine ? BYOC_OK : BYOC_UNSUPPORTED;
}

static const byoc_loop_expr_t *shape_resize(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  (void)result;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  byoc_graph_module_t *module = node->function->module;
  const byoc_infer_t infer = {
      (byoc_node_t *)(uintptr_t)node, &module->arena, node->since_version, NULL, &module->next_id, NULL};
  resize_t r;
  if (read_resize(&infer, &r) != BYOC_OK) return NULL;
  const byoc_loop_expr_t *size = byoc_emit_dim(b, r.x, d);
  if (r.place[d] < 0) return size;
  bool keeps = text_is(r.policy, "not_larger") || text_is(r.policy, "not_smaller");
  if (r.sizes >= 0 && !keeps) return byoc_emit_int(lower, node, (uint32_t)r.sizes, r.place[d]);
  const byoc_loop_expr_t *scale = emit_scale(lower, &r, d);
  size = BYOC_LMUL(b, byoc_emit_as(b, BYOC_DTYPE_F64, size), byoc_emit_as(b, BYOC_DTYPE_F64, scale));
  if (r.sizes >= 0) size = BYOC_LADD(b, size, byoc_loop_const(b, BYOC_DTYPE_F64, 0.5));
  return byoc_emit_as(b, BYOC_DTYPE_I64, byoc_loop_unary(b, BYOC_LOOP_OP_FLOOR, size));
}

// tf_half_pixel_for_nn went with version 13; models that say so anyway are understood.
#define COORDINATES(...)                                                                                               \
  BYOC_ATTR_CHOICE("coordinate_transformation_mode", "half_pixel", "asymmetric", "pytorch_half_pixel",                 \
                   "tf_half_pixel_for_nn", "align_corners", "tf_crop_and_resize", __VA_ARGS__)
static const byoc_op_attribute_t upsample_attributes[] = {
    {BYOC_ATTR_CHOICE("mode", "nearest", "linear", "bilinear")},
    {BYOC_ATTR_REQUIRED(FLOATS, "scales"), .until = 9},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t resize_attributes[] = {
    {BYOC_ATTR_CHOICE("mode", "nearest", "linear"), .until = 11},
    {BYOC_ATTR_CHOICE("mode", "nearest", "linear", "cubic"), .since = 11},
    {COORDINATES(NULL), .since = 11, .until = 19},
    {COORDINATES("half_pixel_symmetric"), .since = 19},
    {BYOC_ATTR_CHOICE("nearest_mode", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"), .since = 11},
    {BYOC_ATTR_FLOAT("cubic_coeff_a", -0.75), .since = 11},
    {BYOC_ATTR_INT("exclude_outside", 0), .since = 11},
    {BYOC_ATTR_FLOAT("extrapolation_value", 0.0), .since = 11},
    {BYOC_ATTR_INT("antialias", 0), .since = 18},
    {BYOC_ATTR(INTS, "axes"), .since = 18},
    {BYOC_ATTR_CHOICE("keep_aspect_ratio_policy", "stretch", "not_larger", "not_smaller"), .since = 18},
    BYOC_ATTR_END,
};

#define ROW(table, op_name, version, least, most, mask)                                                                \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = least, .max_inputs = most,                 \
    .min_outputs = 1, .max_outputs = 1, .attributes = table, .infer = infer_resize, .loops = loops_resize,             \
    .shape_operands = mask, .shape_elements = mask, .shape = shape_resize                                              \
  }

const byoc_op_t byoc_ops_resize[] = {
    ROW(upsample_attributes, Upsample, 7, 1, 1, 0), ROW(upsample_attributes, Upsample, 9, 2, 2, 0x2),
    ROW(resize_attributes, Resize, 10, 2, 2, 0x2),  ROW(resize_attributes, Resize, 11, 3, 4, 0xe),
    ROW(resize_attributes, Resize, 13, 1, 4, 0xe),  ROW(resize_attributes, Resize, 18, 1, 4, 0xe),
    ROW(resize_attributes, Resize, 19, 1, 4, 0xe),
};
const size_t byoc_ops_resize_count = sizeof byoc_ops_resize / sizeof *byoc_ops_resize;

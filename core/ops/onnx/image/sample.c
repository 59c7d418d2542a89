// SPDX-License-Identifier: Apache-2.0
// Sampling at points that are data: GridSample, AffineGrid, RoiAlign, MaxRoiPool.
#include <string.h>

#include "core/op/util.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))
#define UN(op, x)     byoc_loop_unary(b, BYOC_LOOP_OP_##op, (x))
#define NUM(value)    byoc_loop_const(b, dtype, (value))

// ---- GridSample ----
typedef enum { PAD_ZEROS, PAD_BORDER, PAD_REFLECTION } padding_t;

static byoc_status_t infer_grid_sample(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_float, "a float grid"));
  const byoc_type_t *x = byoc_operand_type(node, 0), *grid = byoc_operand_type(node, 1);
  if (!byoc_is_ranked(x) || !byoc_is_ranked(grid)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 3, 5));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 1, x->rank, x->rank));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 1, 0, x->dims[0]));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 1, x->rank - 1, byoc_dim_constant(x->rank - 2)));
  byoc_dim_t dims[BYOC_MAX_RANK] = {x->dims[0], x->dims[1]};
  bool failed = false;
  byoc_dim_t places = byoc_infer_count(infer, grid, &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  for (int32_t d = 2; d < x->rank; ++d) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_some(infer, 0, d, places));
    dims[d] = grid->dims[d - 1];
  }
  return byoc_infer_set(infer, 0, x->dtype, x->rank, dims);
}

// x reflected at low and high until it is between them.
static const byoc_loop_expr_t *emit_reflected(byoc_loop_builder_t *b, const byoc_loop_expr_t *x,
                                              const byoc_loop_expr_t *low, const byoc_loop_expr_t *high) {
  if (!x) return NULL;
  byoc_dtype_t dtype = x->dtype;
  const byoc_loop_expr_t *range = BYOC_LMAX(b, BYOC_LSUB(b, high, low), NUM(1e-6));
  const byoc_loop_expr_t *distance = UN(ABS, BYOC_LSUB(b, x, low)), *twice = BYOC_LMUL(b, range, NUM(2.0));
  // A period goes from low to high and back; a remainder beyond high is on the way back.
  const byoc_loop_expr_t *turns = UN(FLOOR, BIN(DIV, distance, twice));
  const byoc_loop_expr_t *rest = BYOC_LSUB(b, distance, BYOC_LMUL(b, turns, twice));
  rest = byoc_loop_select(b, BIN(LT, range, rest), BYOC_LSUB(b, twice, rest), rest);
  return BYOC_LADD(b, low, rest);
}

typedef struct {
  byoc_lower_t *lower;
  const byoc_node_t *node;
  const byoc_type_t *x;
  byoc_dtype_t dtype; // of coordinates and weights
  padding_t padding;
  bool align;
  int32_t taps; // per dimension: 1, 2 or 4
} grid_t;

typedef struct {
  const byoc_loop_expr_t *index[4], *weight[4], *inside[4];
} grid_taps_t;

// An integer coordinate as an index: the padding keeps it inside, or it is marked as outside.
static void grid_tap(const grid_t *g, int32_t d, const byoc_loop_expr_t *at, const byoc_loop_expr_t *low,
                     const byoc_loop_expr_t *high, grid_taps_t *taps, int32_t t) {
  byoc_loop_builder_t *b = byoc_lower_builder(g->lower);
  const byoc_loop_expr_t *extent = byoc_emit_dim(b, g->x, d), *zero = byoc_loop_int(b, 0);
  if (g->padding == PAD_REFLECTION) {
    const byoc_loop_expr_t *within = BIN(AND, BIN(LE, low, at), BIN(LE, at, high));
    at = byoc_loop_select(b, within, at, emit_reflected(b, at, low, high));
  }
  const byoc_loop_expr_t *index = byoc_loop_let(b, "at", byoc_emit_as(b, BYOC_DTYPE_I64, at));
  const byoc_loop_expr_t *last = BYOC_LSUB(b, extent, byoc_loop_int(b, 1));
  taps->inside[t] =
      g->padding == PAD_ZEROS ? byoc_loop_let(b, "inside", byoc_emit_within(b, index, zero, extent)) : NULL;
  taps->index[t] = byoc_loop_let(b, "at", BYOC_LMAX(b, zero, BYOC_LMIN(b, index, last)));
}

// Neighbours and weights along dimension d for grid coordinate `place`, which runs from -1 to 1.
static void grid_taps(const grid_t *g, int32_t d, const byoc_loop_expr_t *place, grid_taps_t *taps) {
  byoc_loop_builder_t *b = byoc_lower_builder(g->lower);
  byoc_dtype_t dtype = g->dtype;
  const byoc_loop_expr_t *size = byoc_emit_as(b, dtype, byoc_emit_dim(b, g->x, d)), *one = NUM(1.0), *half = NUM(0.5);
  const byoc_loop_expr_t *last = BYOC_LSUB(b, size, one), *zero = NUM(0.0);
  const byoc_loop_expr_t *low = g->align ? zero : NUM(-0.5), *high = g->align ? last : BYOC_LSUB(b, size, half);
  place = BYOC_LMUL(b, BYOC_LADD(b, place, one), half);
  place = g->align ? BYOC_LMUL(b, place, last) : BYOC_LSUB(b, BYOC_LMUL(b, place, size), half);
  if (g->taps == 1) place = UN(ROUND, place);
  place = byoc_loop_let(b, "place", place);
  if (g->padding == PAD_BORDER && g->taps < 4) { // a cubic keeps its point, and each neighbour is clamped
    place = byoc_loop_let(b, "place", BYOC_LMAX(b, zero, BYOC_LMIN(b, place, last)));
  } else if (g->padding == PAD_REFLECTION) {
    const byoc_loop_expr_t *within = BIN(AND, BIN(LE, low, place), BIN(LE, place, high));
    place = byoc_loop_let(b, "place", byoc_loop_select(b, within, place, emit_reflected(b, place, low, high)));
  }
  if (g->taps == 1) {
    taps->weight[0] = NULL;
    grid_tap(g, d, place, low, high, taps, 0);
    return;
  }
  const byoc_loop_expr_t *floor = byoc_loop_let(b, "floor", UN(FLOOR, place));
  const byoc_loop_expr_t *f = byoc_loop_let(b, "f", BYOC_LSUB(b, place, floor));
  for (int32_t t = 0; t < g->taps; ++t) {
    int32_t step = g->taps == 4 ? t - 1 : t;
    grid_tap(g, d, BYOC_LADD(b, floor, NUM(step)), low, high, taps, t);
    const byoc_loop_expr_t *weight = t == 0 ? BYOC_LSUB(b, one, f) : f;
    if (g->taps == 4) weight = byoc_emit_cubic(b, UN(ABS, BYOC_LSUB(b, NUM(step), f)), -0.75, t == 1 || t == 2);
    taps->weight[t] = byoc_loop_let(b, "w", weight);
  }
}

static const byoc_loop_expr_t *grid_sum(const grid_t *g, const grid_taps_t *taps, int32_t d,
                                        const byoc_loop_expr_t **at, const byoc_loop_expr_t *inside) {
  byoc_loop_builder_t *b = byoc_lower_builder(g->lower);
  if (d == g->x->rank) {
    const byoc_loop_expr_t *x = byoc_lower_load(g->lower, g->node, 0, at);
    if (x && g->taps > 1) x = byoc_emit_as(b, g->dtype, x);
    return inside && x ? byoc_loop_select(b, inside, x, byoc_loop_const(b, x->dtype, 0.0)) : x;
  }
  const byoc_loop_expr_t *sum = NULL;
  for (int32_t t = 0; t < g->taps; ++t) {
    const byoc_loop_expr_t *here = taps[d].inside[t];
    at[d] = taps[d].index[t];
    const byoc_loop_expr_t *part = grid_sum(g, taps, d + 1, at,
                                            !inside ? here
                                            : here  ? BIN(AND, inside, here)
                                                    : inside);
    if (taps[d].weight[t]) part = BYOC_LMUL(b, part, taps[d].weight[t]);
    sum = sum ? BYOC_LADD(b, sum, part) : part;
  }
  return sum;
}

static byoc_status_t loops_grid_sample(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  grid_t g = {.lower = lower, .node = node, .x = node->operands[0]->type};
  const byoc_type_t *y = node->results[0]->type;
  static const int taps_of[] = {2, 1, 4}; // linear, nearest, cubic
  g.taps = taps_of[byoc_node_choice(node, "mode")];
  g.padding = byoc_node_choice(node, "padding_mode");
  g.align = byoc_node_flag(node, "align_corners");
  g.dtype = byoc_compute_dtype(node->operands[1]->type->dtype);
  // Parallel over images and result lines; all channels share the neighbours of a point.
  int32_t last = y->rank - 1;
  const byoc_loop_expr_t *indices[BYOC_MAX_RANK], *grid[BYOC_MAX_RANK], *at[BYOC_MAX_RANK], *zero = byoc_loop_int(b, 0);
  const byoc_loop_expr_t *lines = byoc_emit_extent(b, y, 2, last);
  const byoc_loop_expr_t *t =
      byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", zero, BYOC_LMUL(b, byoc_emit_dim(b, y, 0), lines));
  indices[0] = byoc_loop_let(b, "n", BYOC_LDIV(b, t, lines));
  byoc_emit_unravel(b, y, 2, last, BYOC_LMOD(b, t, lines), indices);
  for (int32_t d = 2; d < last; ++d) indices[d] = byoc_loop_let(b, "i", indices[d]);
  indices[last] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, byoc_emit_dim(b, y, last));
  grid[0] = indices[0];
  for (int32_t d = 2; d <= last; ++d) grid[d - 1] = indices[d];
  grid_taps_t taps[BYOC_MAX_RANK];
  for (int32_t d = 2; d <= last; ++d) {
    grid[last] = byoc_loop_int(b, last - d); // x comes first
    grid_taps(&g, d, byoc_emit_load(lower, node, 1, grid), &taps[d]);
  }
  indices[1] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "c", zero, byoc_emit_dim(b, y, 1));
  at[0] = indices[0], at[1] = indices[1];
  byoc_emit_store(lower, node, 0, indices, grid_sum(&g, taps, 2, at, NULL));
  byoc_emit_close(b, 3);
  return BYOC_OK;
}

// ---- AffineGrid ----
// There is one matrix for each grid, even if only the run knows the number of grids.
static byoc_status_t need_matrices(const byoc_infer_t *infer) {
  const byoc_type_t *made = infer->relations ? infer->relations->made : NULL;
  if (!made || made->rank < 1 || !byoc_is_ranked(byoc_operand_type(infer->node, 0))) return BYOC_OK;
  return byoc_infer_relate_made(infer, BYOC_RELATION_EQUAL, byoc_side_of(infer, 0, 0),
                                byoc_side(made->dims[0], "the number of grids"));
}

// The number of sizes is known only when the program runs.
static byoc_status_t set_open_grid(const byoc_infer_t *infer, const byoc_type_t *theta) {
  const byoc_type_t *sizes = byoc_operand_type(infer->node, 1);
  for (int32_t d = 1; d < 3 && byoc_is_ranked(theta) && byoc_is_ranked(sizes) && sizes->rank == 1; ++d) {
    bool failed = false;
    byoc_dim_t expected = byoc_infer_dim(infer, BYOC_DIM_SUB, sizes->dims[0], byoc_dim_constant(3 - d), &failed);
    BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 0, d, expected));
  }
  return byoc_infer_set_open_rank(infer, theta->dtype, 0, BYOC_DIM_ADD, 1);
}

static byoc_status_t infer_affine_grid(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor of transformations"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_integer, "sizes"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 3, 3));
  const byoc_type_t *theta = byoc_operand_type(node, 0);
  byoc_dim_t sizes[BYOC_MAX_RANK], dims[BYOC_MAX_RANK];
  int32_t count = 0;
  if (!byoc_shape_value(node->operands[1], infer->arena, &count, sizes)) {
    int64_t rank = byoc_type_element_count(byoc_operand_type(node, 1));
    if (rank == 4 || rank == 5) {
      if (byoc_is_ranked(theta)) {
        BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 0, 1, byoc_dim_constant(rank - 2)));
        BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 0, 2, byoc_dim_constant(rank - 1)));
      }
      BYOC_RETURN_IF_ERROR(byoc_infer_set_unknown(infer, 0, theta->dtype, (int32_t)rank));
      return need_matrices(infer);
    }
    BYOC_RETURN_IF_ERROR(set_open_grid(infer, theta));
    return need_matrices(infer);
  }
  if (count != 4 && count != 5) return byoc_infer_error(infer, "operand 1: expected 4 or 5 sizes, got %d", count);
  const byoc_dim_t matrices[] = {sizes[0], byoc_dim_constant(count - 2), byoc_dim_constant(count - 1)};
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, 0, 3, matrices));
  dims[0] = sizes[0];
  for (int32_t d = 2; d < count; ++d) dims[d - 1] = sizes[d];
  dims[count - 1] = byoc_dim_constant(count - 2);
  return byoc_infer_set(infer, 0, theta->dtype, count, dims);
}

static const byoc_loop_expr_t *shape_affine_grid(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                                 int32_t d) {
  int32_t rank = byoc_result_rank(node, result);
  if (d == rank - 1) return byoc_loop_int(byoc_lower_builder(lower), rank - 2);
  return byoc_emit_int(lower, node, 1, d == 0 ? 0 : d + 1);
}

static const byoc_loop_expr_t *point_affine_grid(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                                 const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *y = node->results[result]->type;
  byoc_dtype_t dtype = byoc_compute_dtype(y->dtype);
  bool align = byoc_node_flag(node, "align_corners");
  int32_t spatial = y->rank - 2;
  const byoc_loop_expr_t *at[3] = {indices[0], indices[y->rank - 1], byoc_loop_int(b, spatial)};
  const byoc_loop_expr_t *sum = byoc_emit_load(lower, node, 0, at);
  for (int32_t k = 0; k < spatial; ++k) { // x first, which is the last dimension
    int32_t d = spatial - k;
    const byoc_loop_expr_t *i = byoc_emit_as(b, dtype, indices[d]);
    const byoc_loop_expr_t *size = byoc_emit_as(b, dtype, byoc_emit_dim(b, y, d)), *place = NULL;
    if (align) {
      const byoc_loop_expr_t *steps = BYOC_LMAX(b, BYOC_LSUB(b, size, NUM(1.0)), NUM(1.0));
      place = BYOC_LSUB(b, BIN(DIV, BYOC_LMUL(b, i, NUM(2.0)), steps), NUM(1.0));
    } else {
      place = BIN(DIV, BYOC_LADD(b, BYOC_LMUL(b, i, NUM(2.0)), NUM(1.0)), size);
      place = BYOC_LSUB(b, place, NUM(1.0));
    }
    at[2] = byoc_loop_int(b, k);
    const byoc_loop_expr_t *term = BYOC_LMUL(b, byoc_emit_load(lower, node, 0, at), place);
    sum = BYOC_LADD(b, sum, term);
  }
  return byoc_emit_as(b, y->dtype, sum);
}

// ---- RoiAlign, MaxRoiPool ----
// The images that regions are in: operand 2, or the first of the five numbers of a region.
static byoc_status_t need_images(const byoc_infer_t *infer, bool is_first) {
  enum { NUMBERS = 5 };
  const byoc_side_t images = byoc_side_of(infer, 0, 0);
  byoc_limit_t limit = {.operand = 1, .name = "regions, an image and its corners", .kind = BYOC_RANGE_COUNT, .less = 1};
  if (!is_first) return byoc_infer_need_indices(infer, 2, "the images of the regions", images);
  for (limit.count = 0; limit.count < NUMBERS; ++limit.count) {
    limit.extents[limit.count] = limit.count == 0 ? images : byoc_side_number(BYOC_RANGE_FREE);
  }
  return byoc_infer_limit(infer, &limit);
}

static byoc_status_t infer_roi(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  bool pool = strcmp(node->op, "MaxRoiPool") == 0;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_float, "regions of floats"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 4, 4));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 1, 2, 2));
  const byoc_type_t *x = byoc_operand_type(node, 0), *rois = byoc_operand_type(node, 1);
  BYOC_RETURN_IF_ERROR(byoc_is_ranked(rois) ? byoc_infer_need_dim(infer, 1, 1, byoc_dim_constant(pool ? 5 : 4))
                                            : BYOC_OK);
  if (!pool) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 2, byoc_dtype_is_integer, "the images of the regions"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 2, 1, 1));
    if (byoc_is_ranked(rois)) BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, 2, 1, rois->dims));
  }
  if (byoc_is_ranked(x)) BYOC_RETURN_IF_ERROR(need_images(infer, pool));
  if (!byoc_is_ranked(x) || !byoc_is_ranked(rois)) return byoc_infer_set_unknown(infer, 0, x->dtype, 4);
  for (int32_t d = 0; d < 4; ++d) {
    bool is_empty = d != 1 && byoc_dim_is_constant(x->dims[d]) && x->dims[d].constant == 0;
    bool is_read = !byoc_dim_is_constant(rois->dims[0]) || rois->dims[0].constant > 0;
    if (is_empty && is_read)
      return byoc_infer_error(infer, "operand 0: there is nothing to sample from dimension %d", d);
    bool is_open = d != 1 && !byoc_dim_is_constant(x->dims[d]);
    if (is_open) BYOC_RETURN_IF_ERROR(byoc_infer_need_some(infer, 0, d, rois->dims[0]));
  }
  // The most samples along one dimension that are computed. Samples may be outside of the image.
  enum { MOST_SAMPLES = 1024 };
  if (!pool && byoc_node_int(node, "sampling_ratio") > MOST_SAMPLES) {
    return byoc_infer_error(infer, "attribute 'sampling_ratio': expected at most %d, got %lld", MOST_SAMPLES,
                            (long long)byoc_node_int(node, "sampling_ratio"));
  }
  size_t count = 0;
  const int64_t *shape = pool ? byoc_node_ints(node, "pooled_shape", &count) : NULL;
  if (pool && count != 2) return byoc_infer_error(infer, "attribute 'pooled_shape': expected 2 values, got %zu", count);
  int64_t height = pool ? shape[0] : byoc_node_int(node, "output_height");
  int64_t width = pool ? shape[1] : byoc_node_int(node, "output_width");
  if (height < 1 || width < 1)
    return byoc_infer_error(infer, "the result would have %lld rows and %lld columns; both must be at least 1",
                            (long long)height, (long long)width);
  byoc_dim_t dims[] = {rois->dims[0], x->dims[1], byoc_dim_constant(height), byoc_dim_constant(width)};
  return byoc_infer_set(infer, 0, x->dtype, 4, dims);
}

// Both neighbours along one dimension of a sample at `place`, and the fraction between them. `valid` is true if the
// sample is at most one element outside.
typedef struct {
  const byoc_loop_expr_t *low, *high, *f, *valid;
} roi_tap_t;

static roi_tap_t roi_tap(byoc_loop_builder_t *b, byoc_dtype_t dtype, const byoc_loop_expr_t *place,
                         const byoc_loop_expr_t *extent) {
  const byoc_loop_expr_t *size = byoc_emit_as(b, dtype, extent), *last = BYOC_LSUB(b, extent, byoc_loop_int(b, 1));
  place = byoc_loop_let(b, "place", place);
  roi_tap_t tap = {.valid = BIN(AND, BIN(LE, NUM(-1.0), place), BIN(LE, place, size))};
  tap.valid = byoc_loop_let(b, "valid", tap.valid);
  place = BYOC_LMAX(b, place, NUM(0.0));
  place = byoc_loop_let(b, "place", BYOC_LMIN(b, place, byoc_emit_as(b, dtype, last)));
  tap.low = byoc_loop_let(b, "low", byoc_emit_as(b, BYOC_DTYPE_I64, UN(FLOOR, place)));
  tap.high = byoc_loop_let(b, "high", BYOC_LMIN(b, BYOC_LADD(b, tap.low, byoc_loop_int(b, 1)), last));
  tap.f = byoc_loop_let(b, "f", BYOC_LSUB(b, place, byoc_emit_as(b, dtype, tap.low)));
  return tap;
}

enum { ROI_AVERAGE, ROI_MAX };                  // as in roi_align_attributes
enum { ROI_HALF_PIXEL, ROI_OUTPUT_HALF_PIXEL }; // the same
enum { ROI_CHANNELS = 16 };                     // that share the points of their samples
enum { ROI_MOST_SAMPLES = 1 << 30 };            // along one dimension: those of two are counted in 64 bits

// The weighted sum, or the maximum, of the four neighbours of a sample, in one channel.
static const byoc_loop_expr_t *roi_sample(byoc_lower_t *lower, const byoc_node_t *node, const byoc_loop_expr_t *image,
                                          const byoc_loop_expr_t *channel, const roi_tap_t taps[2], bool max) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_dtype_t dtype = byoc_compute_dtype(node->operands[0]->type->dtype);
  const byoc_loop_expr_t *value = NULL;
  for (int32_t corner = 0; corner < 4; ++corner) {
    const byoc_loop_expr_t *weight = NULL, *from[4] = {image, channel};
    for (int32_t d = 0; d < 2; ++d) {
      bool high = (corner >> (1 - d)) & 1;
      const byoc_loop_expr_t *f = high ? taps[d].f : BYOC_LSUB(b, NUM(1.0), taps[d].f);
      weight = weight ? BYOC_LMUL(b, weight, f) : f;
      from[2 + d] = high ? taps[d].high : taps[d].low;
    }
    const byoc_loop_expr_t *part = BYOC_LMUL(b, weight, byoc_emit_load(lower, node, 0, from));
    // The maximum is taken over the weighted neighbours, as the operator is defined.
    value = !value ? part : max ? BYOC_LMAX(b, value, part) : BYOC_LADD(b, value, part);
  }
  return byoc_loop_let(b, "v", byoc_loop_select(b, BIN(AND, taps[0].valid, taps[1].valid), value, NUM(0.0)));
}

// The samples of a bin that are at most one element outside of the image, of `grid` along one dimension: a range,
// perhaps with one or two more. A region may be huge or infinite; samples far outside are not visited.
typedef struct {
  const byoc_loop_expr_t *first, *end;
} roi_samples_t;

static const byoc_loop_expr_t *roi_sample_at(byoc_loop_builder_t *b, byoc_dtype_t dtype, const byoc_loop_expr_t *place,
                                             const byoc_loop_expr_t *index, const byoc_loop_expr_t *bin,
                                             const byoc_loop_expr_t *grid) {
  const byoc_loop_expr_t *bins = BYOC_LSUB(b, BIN(DIV, place, bin), byoc_emit_as(b, dtype, index));
  const byoc_loop_expr_t *sample = BYOC_LSUB(b, BYOC_LMUL(b, bins, byoc_emit_as(b, dtype, grid)), NUM(0.5));
  sample = byoc_emit_as(b, BYOC_DTYPE_I64, UN(FLOOR, sample));
  return byoc_loop_let(b, "sample", BYOC_LMAX(b, byoc_loop_int(b, 0), BYOC_LMIN(b, sample, grid)));
}

static roi_samples_t roi_samples(byoc_loop_builder_t *b, byoc_dtype_t dtype, const byoc_loop_expr_t *begin,
                                 const byoc_loop_expr_t *index, const byoc_loop_expr_t *bin,
                                 const byoc_loop_expr_t *grid, const byoc_loop_expr_t *extent) {
  const byoc_loop_expr_t *low = BYOC_LSUB(b, NUM(-1.0), begin);
  const byoc_loop_expr_t *high = BYOC_LSUB(b, byoc_emit_as(b, dtype, extent), begin);
  const byoc_loop_expr_t *at_low = roi_sample_at(b, dtype, low, index, bin, grid);
  const byoc_loop_expr_t *at_high = roi_sample_at(b, dtype, high, index, bin, grid);
  // A region with swapped corners goes backwards; all samples of an empty region are at one point.
  const byoc_loop_expr_t *is_point = BIN(EQ, bin, NUM(0.0)), *zero = byoc_loop_int(b, 0);
  const byoc_loop_expr_t *first = byoc_loop_select(b, is_point, zero, BYOC_LMIN(b, at_low, at_high));
  const byoc_loop_expr_t *last = byoc_loop_select(b, is_point, grid, BYOC_LMAX(b, at_low, at_high));
  first = BYOC_LMAX(b, BYOC_LSUB(b, first, byoc_loop_int(b, 1)), zero);
  return (roi_samples_t){.first = byoc_loop_let(b, "begin", first),
                         .end = byoc_loop_let(b, "end", BYOC_LMIN(b, BYOC_LADD(b, last, byoc_loop_int(b, 3)), grid))};
}

static byoc_status_t loops_roi_align(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[0]->type;
  byoc_dtype_t dtype = byoc_compute_dtype(x->dtype);
  bool max = byoc_node_choice(node, "mode") == ROI_MAX;
  // Before version 16 there was no half pixel.
  bool half = node->since_version >= 16 && byoc_node_choice(node, "coordinate_transformation_mode") == ROI_HALF_PIXEL;
  const byoc_loop_expr_t *scale = NUM(byoc_node_float(node, "spatial_scale"));
  int64_t ratio = byoc_node_int(node, "sampling_ratio");
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *one = byoc_loop_int(b, 1), *at[4], *begin[2], *bin[2], *grid[2];
  const byoc_loop_expr_t *channels = byoc_emit_dim(b, y, 1), *most = byoc_loop_int(b, ROI_CHANNELS);
  const byoc_loop_expr_t *groups = BYOC_LDIV(b, BYOC_LADD(b, channels, byoc_loop_int(b, ROI_CHANNELS - 1)), most);
  groups = byoc_loop_let(b, "groups", groups);
  const byoc_loop_expr_t *t =
      byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", zero, BYOC_LMUL(b, byoc_emit_dim(b, y, 0), groups));
  at[0] = byoc_loop_let(b, "r", BYOC_LDIV(b, t, groups));
  const byoc_loop_expr_t *first = byoc_loop_let(b, "first", BYOC_LMUL(b, BYOC_LMOD(b, t, groups), most));
  const byoc_loop_expr_t *width = byoc_loop_let(b, "width", BYOC_LMIN(b, BYOC_LSUB(b, channels, first), most));
  const byoc_loop_buffer_t *totals = byoc_loop_allocate(b, "totals", dtype, ROI_CHANNELS);
  const byoc_loop_expr_t *special = NUM(0.0); // not-a-number, if a corner is no finite number
  const byoc_loop_expr_t *image = byoc_emit_index(b, byoc_lower_load(lower, node, 2, at), byoc_emit_dim(b, x, 0));
  image = byoc_loop_let(b, "image", image);
  for (int32_t d = 0; d < 2; ++d) { // 0: rows, 1: columns; a region is x1, y1, x2, y2
    const byoc_loop_expr_t *corner[2];
    for (int32_t e = 0; e < 2; ++e) {
      const byoc_loop_expr_t *roi[2] = {at[0], byoc_loop_int(b, 2 * e + 1 - d)};
      corner[e] = BYOC_LMUL(b, byoc_emit_as(b, dtype, byoc_emit_load(lower, node, 1, roi)), scale);
      if (half) corner[e] = BYOC_LSUB(b, corner[e], NUM(0.5));
      corner[e] = byoc_loop_let(b, "corner", corner[e]);
    }
    begin[d] = corner[0];
    const byoc_loop_expr_t *size = BYOC_LSUB(b, corner[1], corner[0]);
    if (!half) size = BYOC_LMAX(b, size, NUM(1.0));
    bin[d] = byoc_loop_let(b, "bin", BIN(DIV, size, byoc_emit_as(b, dtype, byoc_emit_dim(b, y, 2 + d))));
    special = BYOC_LADD(b, special, BYOC_LADD(b, BYOC_LMUL(b, begin[d], NUM(0.0)), BYOC_LMUL(b, bin[d], NUM(0.0))));
    grid[d] = ratio > 0 ? byoc_loop_int(b, ratio) : byoc_emit_as(b, BYOC_DTYPE_I64, UN(CEIL, bin[d]));
    grid[d] = BYOC_LMIN(b, grid[d], byoc_loop_int(b, ROI_MOST_SAMPLES));
    grid[d] = byoc_loop_let(b, "grid", BYOC_LMAX(b, grid[d], zero));
  }
  special = byoc_loop_let(b, "wild", special);
  for (int32_t d = 2; d < 4; ++d) at[d] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, byoc_emit_dim(b, y, d));
  const byoc_loop_expr_t *c = byoc_loop_for(b, BYOC_LOOP_VECTOR, "c", zero, width);
  byoc_loop_store(b, totals, c, NUM(0.0));
  byoc_loop_end(b);
  roi_samples_t samples[2];
  const byoc_loop_expr_t *all = NULL;
  for (int32_t d = 0; d < 2; ++d) {
    samples[d] = roi_samples(b, dtype, begin[d], at[2 + d], bin[d], grid[d], byoc_emit_dim(b, x, 2 + d));
    const byoc_loop_expr_t *are_all = BIN(AND, BIN(LE, samples[d].first, zero), BIN(LE, grid[d], samples[d].end));
    all = all ? BIN(AND, all, are_all) : are_all;
  }
  // A sample that is left out counts as 0, like others outside.
  const byoc_loop_expr_t *empty = byoc_loop_mutable(b, "empty", all);
  roi_tap_t taps[2];
  for (int32_t d = 0; d < 2; ++d) {
    const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", samples[d].first, samples[d].end);
    const byoc_loop_expr_t *step =
        BIN(DIV, BYOC_LADD(b, byoc_emit_as(b, dtype, k), NUM(0.5)), byoc_emit_as(b, dtype, BYOC_LMAX(b, grid[d], one)));
    const byoc_loop_expr_t *place = BYOC_LADD(b, byoc_emit_as(b, dtype, at[2 + d]), step);
    taps[d] = roi_tap(b, dtype, BYOC_LADD(b, begin[d], BYOC_LMUL(b, place, bin[d])), byoc_emit_dim(b, x, 2 + d));
  }
  c = byoc_loop_for(b, BYOC_LOOP_VECTOR, "c", zero, width);
  const byoc_loop_expr_t *value = roi_sample(lower, node, image, BYOC_LADD(b, first, c), taps, max);
  const byoc_loop_expr_t *total = byoc_loop_load(b, totals, c), *larger = BYOC_LMAX(b, total, value);
  byoc_loop_store(b, totals, c, max ? byoc_loop_select(b, empty, value, larger) : BYOC_LADD(b, total, value));
  byoc_loop_end(b);
  byoc_loop_assign(b, empty, byoc_loop_const_int(b, BYOC_DTYPE_BOOL, 0));
  byoc_emit_close(b, 2);
  c = byoc_loop_for(b, BYOC_LOOP_VECTOR, "c", zero, width);
  total = byoc_loop_load(b, totals, c);
  if (!max) {
    const byoc_loop_expr_t *count = BYOC_LMAX(b, BYOC_LMUL(b, grid[0], grid[1]), one);
    total = BIN(DIV, total, byoc_emit_as(b, dtype, count));
  }
  at[1] = BYOC_LADD(b, first, c);
  byoc_emit_store(lower, node, 0, at, byoc_loop_select(b, BIN(EQ, special, NUM(0.0)), total, special));
  byoc_emit_close(b, 4);
  return BYOC_OK;
}

static byoc_status_t loops_max_roi_pool(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[0]->type;
  byoc_dtype_t dtype = byoc_compute_dtype(x->dtype);
  const byoc_loop_expr_t *scale = NUM(byoc_node_float(node, "spatial_scale"));
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *at[4], *low[2], *high[2], *corner[2][2];
  const byoc_loop_expr_t *t = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", zero, byoc_emit_extent(b, y, 0, 2));
  byoc_emit_unravel(b, y, 0, 2, t, at);
  for (int32_t d = 0; d < 2; ++d) at[d] = byoc_loop_let(b, d == 0 ? "r" : "c", at[d]);
  const byoc_loop_expr_t *roi[2] = {at[0], zero};
  const byoc_loop_expr_t *image = byoc_emit_index(b, byoc_emit_load(lower, node, 1, roi), byoc_emit_dim(b, x, 0));
  image = byoc_loop_let(b, "image", image);
  for (int32_t d = 0; d < 2; ++d) {
    for (int32_t e = 0; e < 2; ++e) { // a region is image, x1, y1, x2, y2; halves are rounded up
      roi[1] = byoc_loop_int(b, 2 * e + 2 - d);
      const byoc_loop_expr_t *place = BYOC_LMUL(b, byoc_emit_as(b, dtype, byoc_emit_load(lower, node, 1, roi)), scale);
      place = byoc_emit_as(b, BYOC_DTYPE_I64, UN(FLOOR, BYOC_LADD(b, place, NUM(0.5))));
      place =
          BYOC_LMAX(b, byoc_loop_int(b, -ROI_MOST_SAMPLES), BYOC_LMIN(b, place, byoc_loop_int(b, ROI_MOST_SAMPLES)));
      corner[d][e] = byoc_loop_let(b, "corner", place);
    }
  }
  for (int32_t d = 0; d < 2; ++d) {
    const byoc_loop_expr_t *extent = byoc_emit_dim(b, x, 2 + d), *count = byoc_emit_dim(b, y, 2 + d);
    at[2 + d] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, count);
    const byoc_loop_expr_t *size = BYOC_LSUB(b, corner[d][1], corner[d][0]);
    size = BYOC_LMAX(b, BYOC_LADD(b, size, byoc_loop_int(b, 1)), byoc_loop_int(b, 1));
    const byoc_loop_expr_t *past = BYOC_LMUL(b, BYOC_LADD(b, at[2 + d], byoc_loop_int(b, 1)), size);
    past = BYOC_LDIV(b, BYOC_LADD(b, past, BYOC_LSUB(b, count, byoc_loop_int(b, 1))), count);
    low[d] = BYOC_LADD(b, corner[d][0], BYOC_LDIV(b, BYOC_LMUL(b, at[2 + d], size), count));
    low[d] = byoc_loop_let(b, "low", BYOC_LMAX(b, zero, BYOC_LMIN(b, low[d], extent)));
    high[d] = BYOC_LADD(b, corner[d][0], past);
    high[d] = byoc_loop_let(b, "high", BYOC_LMAX(b, zero, BYOC_LMIN(b, high[d], extent)));
  }
  const byoc_loop_expr_t *best = byoc_loop_mutable(b, "best", byoc_emit_lowest(b, dtype)), *from[4] = {image, at[1]};
  for (int32_t d = 0; d < 2; ++d) from[2 + d] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", low[d], high[d]);
  byoc_loop_assign(b, best, BYOC_LMAX(b, best, byoc_emit_load(lower, node, 0, from)));
  byoc_emit_close(b, 2);
  const byoc_loop_expr_t *any = BIN(AND, BIN(LT, low[0], high[0]), BIN(LT, low[1], high[1]));
  byoc_emit_store(lower, node, 0, at, byoc_loop_select(b, any, best, NUM(0.0)));
  byoc_emit_close(b, 3);
  return BYOC_OK;
}

static const byoc_op_attribute_t grid_sample_attributes[] = {
    {BYOC_ATTR_CHOICE("mode", "bilinear", "nearest", "bicubic"), .until = 20},
    {BYOC_ATTR_CHOICE("mode", "linear", "nearest", "cubic"), .since = 20},
    {BYOC_ATTR_CHOICE("padding_mode", "zeros", "border", "reflection")},
    {BYOC_ATTR_INT("align_corners", 0)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t affine_grid_attributes[] = {
    {BYOC_ATTR_INT("align_corners", 0)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t roi_align_attributes[] = {
    {BYOC_ATTR_CHOICE("mode", "avg", "max")},
    {BYOC_ATTR_CHOICE("coordinate_transformation_mode", "half_pixel", "output_half_pixel"), .since = 16},
    {BYOC_ATTR_INT("output_height", 1)},
    {BYOC_ATTR_INT("output_width", 1)},
    {BYOC_ATTR_INT("sampling_ratio", 0)},
    {BYOC_ATTR_FLOAT("spatial_scale", 1.0)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t max_roi_pool_attributes[] = {
    {BYOC_ATTR_REQUIRED(INTS, "pooled_shape")},
    {BYOC_ATTR_FLOAT("spatial_scale", 1.0)},
    BYOC_ATTR_END,
};

#define ROW(op_name, version, inputs, shape, infer_name, ...)                                                          \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = inputs, .max_inputs = inputs,              \
    .min_outputs = 1, .max_outputs = 1, .infer = infer_##infer_name, __VA_ARGS__, .shape_operands = shape              \
  }

const byoc_op_t byoc_ops_sample[] = {
    ROW(GridSample, 16, 2, 0, grid_sample, .attributes = grid_sample_attributes, .loops = loops_grid_sample),
    ROW(GridSample, 20, 2, 0, grid_sample, .attributes = grid_sample_attributes, .loops = loops_grid_sample),
    ROW(GridSample, 22, 2, 0, grid_sample, .attributes = grid_sample_attributes, .loops = loops_grid_sample),
    ROW(AffineGrid, 20, 2, 1u << 1, affine_grid, .attributes = affine_grid_attributes, .point = point_affine_grid,
        .shape = shape_affine_grid, .shape_elements = 1u << 1, .by_shape = 1u << 1),
    ROW(RoiAlign, 10, 3, 0, roi, .traits = BYOC_OP_LIMITS, .attributes = roi_align_attributes,
        .loops = loops_roi_align),
    ROW(RoiAlign, 16, 3, 0, roi, .traits = BYOC_OP_LIMITS, .attributes = roi_align_attributes,
        .loops = loops_roi_align),
    ROW(RoiAlign, 22, 3, 0, roi, .traits = BYOC_OP_LIMITS, .attributes = roi_align_attributes,
        .loops = loops_roi_align),
    ROW(MaxRoiPool, 1, 2, 0, roi, .traits = BYOC_OP_LIMITS, .attributes = max_roi_pool_attributes,
        .loops = loops_max_roi_pool),
    ROW(MaxRoiPool, 22, 2, 0, roi, .traits = BYOC_OP_LIMITS, .attributes = max_roi_pool_attributes,
        .loops = loops_max_roi_pool),
};
const size_t byoc_ops_sample_count = sizeof byoc_ops_sample / sizeof *byoc_ops_sample;

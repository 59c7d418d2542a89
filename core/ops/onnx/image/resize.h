// SPDX-License-Identifier: Apache-2.0
// Resize is split into reading and inference (resize.c), the neighbours of a point (resize_taps.c) and the loops over
// them (resize_loops.c).
#ifndef BYOC_CORE_OPS_ONNX_IMAGE_RESIZE_H_
#define BYOC_CORE_OPS_ONNX_IMAGE_RESIZE_H_

#include "core/op/util.h"

// The most neighbours, along one dimension or of one element, that are unrolled in the kernel.
enum { BYOC_RESIZE_MOST_TAPS = 64, BYOC_RESIZE_MOST_NEIGHBOURS = 1024 };

// The order of each enum is that of the strings in the schema (resize.c).
typedef enum { BYOC_RESIZE_NEAREST, BYOC_RESIZE_LINEAR, BYOC_RESIZE_CUBIC } byoc_resize_filter_t;
typedef enum {
  BYOC_RESIZE_HALF_PIXEL,
  BYOC_RESIZE_ASYMMETRIC,
  BYOC_RESIZE_PYTORCH_HALF_PIXEL,
  BYOC_RESIZE_TF_HALF_PIXEL_FOR_NN,
  BYOC_RESIZE_ALIGN_CORNERS,
  BYOC_RESIZE_TF_CROP_AND_RESIZE,
  BYOC_RESIZE_HALF_PIXEL_SYMMETRIC,
} byoc_resize_coordinates_t;
typedef enum {
  BYOC_RESIZE_ROUND_PREFER_FLOOR,
  BYOC_RESIZE_ROUND_PREFER_CEIL,
  BYOC_RESIZE_FLOOR,
  BYOC_RESIZE_CEIL,
} byoc_resize_rounding_t;
typedef enum { BYOC_RESIZE_STRETCH, BYOC_RESIZE_NOT_LARGER, BYOC_RESIZE_NOT_SMALLER } byoc_resize_policy_t;

typedef struct byoc_resize_t {
  const byoc_node_t *node;
  const byoc_type_t *x;
  byoc_resize_filter_t mode;
  byoc_resize_coordinates_t coordinates;
  byoc_resize_rounding_t rounding;
  byoc_resize_policy_t policy;
  bool antialias, exclude_outside;
  double a;                     // of the cubic filter
  int32_t roi, scales, sizes;   // operands; -1: none
  int32_t place[BYOC_MAX_RANK]; // of a dimension among `axes`; -1: not resized
  int32_t axis_count;
} byoc_resize_t;

byoc_status_t byoc_resize_read(const byoc_infer_t *infer, byoc_resize_t *out_resize);

// Do the sizes only bound a result that keeps the operand's proportions?
bool byoc_resize_keeps_proportions(const byoc_resize_t *r);
// The one scale of all dimensions in that case, if sizes and dimensions are constants; else 0.
double byoc_resize_kept_scale(const byoc_resize_t *r, const byoc_dim_t *sizes);
// The scale as an expression, in f64: half-way cases change the result's dimensions.
const byoc_loop_expr_t *byoc_resize_emit_kept_scale(byoc_lower_t *lower, const byoc_resize_t *r);

// The scale along dimension d, if the node gives it as a scale that is known at compile time.
bool byoc_resize_known_scale(const byoc_resize_t *r, int32_t d, double *out_scale);
// The same for any form of the scale; 0 if it is not known.
double byoc_resize_known_ratio(const byoc_resize_t *r, int32_t d);
const byoc_loop_expr_t *byoc_resize_emit_scale(byoc_lower_t *lower, const byoc_resize_t *r, int32_t d);

// Neighbours along one dimension: indices, weights, and whether the point is outside (NULL: not needed).
typedef struct byoc_resize_taps_t {
  int32_t count;
  const byoc_loop_expr_t *index[BYOC_RESIZE_MOST_TAPS], *weight[BYOC_RESIZE_MOST_TAPS];
  const byoc_loop_expr_t *outside;
} byoc_resize_taps_t;

// The first neighbour relative to floor(place) and the number of neighbours; false if that is not known at compile
// time, or if there are too many. Antialiased filters widen as the scale shrinks.
bool byoc_resize_choose_taps(const byoc_resize_t *r, int32_t d, int32_t *first, int32_t *count, double *shrink);
// False for the same reasons as choose_taps.
bool byoc_resize_emit_taps(byoc_lower_t *lower, const byoc_resize_t *r, int32_t d, const byoc_loop_expr_t *at,
                           byoc_resize_taps_t *taps);

// The neighbours of a point that a loop visits: the scale determines their number at run time.
typedef struct byoc_resize_window_t {
  const byoc_loop_expr_t *base, *fraction, *shrink; // floor(place), place - floor(place), min(scale, 1)
  const byoc_loop_expr_t *begin, *end;              // relative to base
  const byoc_loop_expr_t *outside;                  // as of the taps
} byoc_resize_window_t;
void byoc_resize_emit_window(byoc_lower_t *lower, const byoc_resize_t *r, int32_t d, const byoc_loop_expr_t *at,
                             byoc_resize_window_t *window);
// Index and weight of neighbour t of a window. The weights must be divided by their sum.
const byoc_loop_expr_t *byoc_resize_emit_tap(byoc_lower_t *lower, const byoc_resize_t *r, int32_t d,
                                             const byoc_resize_window_t *window, const byoc_loop_expr_t *t,
                                             const byoc_loop_expr_t **out_weight);

byoc_status_t byoc_resize_loops(byoc_lower_t *lower, const byoc_node_t *node);

#endif // BYOC_CORE_OPS_ONNX_IMAGE_RESIZE_H_

// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample: each result coordinate maps to a point in the operand, and the neighbours of that point are
// weighted along every dimension that is resized.
#include <math.h>
#include <string.h>

#include "core/op/axes.h"
#include "core/ops/onnx/image/resize.h"

// Sizes are smaller: integers up to this are exact in f64.
#define MOST_SIZE 9e15

bool byoc_resize_keeps_proportions(const byoc_resize_t *r) {
  return r->policy == BYOC_RESIZE_NOT_LARGER || r->policy == BYOC_RESIZE_NOT_SMALLER;
}

byoc_status_t byoc_resize_read(const byoc_infer_t *infer, byoc_resize_t *r) {
  const byoc_node_t *node = infer->node;
  bool upsample = strcmp(node->op, "Upsample") == 0, old = upsample || node->since_version < 11;
  *r = (byoc_resize_t){.node = node, .x = byoc_operand_type(node, 0), .roi = -1, .scales = -1, .sizes = -1};
  int mode = byoc_node_choice(node, "mode");
  r->mode = upsample && mode != BYOC_RESIZE_NEAREST ? BYOC_RESIZE_LINEAR : (byoc_resize_filter_t)mode;
  r->coordinates = BYOC_RESIZE_ASYMMETRIC, r->rounding = BYOC_RESIZE_FLOOR;
  if (!old) {
    r->coordinates = (byoc_resize_coordinates_t)byoc_node_choice(node, "coordinate_transformation_mode");
    r->rounding = (byoc_resize_rounding_t)byoc_node_choice(node, "nearest_mode");
    r->policy = (byoc_resize_policy_t)byoc_node_choice(node, "keep_aspect_ratio_policy");
    r->antialias = byoc_node_flag(node, "antialias") && r->mode != BYOC_RESIZE_NEAREST;
    r->exclude_outside = byoc_node_flag(node, "exclude_outside");
    r->a = byoc_node_float(node, "cubic_coeff_a");
  }
  if (old) {
    r->scales = byoc_has_operand(node, 1) ? 1 : -1;
  } else {
    // An operand that is left out may also be given as an empty tensor.
    for (int32_t i = 1; i <= 3; ++i) {
      bool given = byoc_has_operand(node, (uint32_t)i) && byoc_type_element_count(node->operands[i]->type) != 0;
      int32_t *slot = i == 1 ? &r->roi : i == 2 ? &r->scales : &r->sizes;
      if (given) *slot = i;
    }
  }
  if (!byoc_is_ranked(r->x)) return BYOC_OK;
  size_t count = 0;
  const int64_t *axes = upsample ? NULL : byoc_node_ints(node, "axes", &count);
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

bool byoc_resize_known_scale(const byoc_resize_t *r, int32_t d, double *out_scale) {
  const byoc_node_t *node = r->node;
  *out_scale = 1.0;
  if (r->place[d] < 0) return true;
  size_t count = 0;
  const double *scales = byoc_node_takes(node, "scales") ? byoc_node_floats(node, "scales", &count) : NULL;
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
double byoc_resize_kept_scale(const byoc_resize_t *r, const byoc_dim_t *sizes) {
  const bool smaller = r->policy == BYOC_RESIZE_NOT_LARGER;
  double scale = smaller ? INFINITY : 0.0;
  for (int32_t d = 0; d < r->x->rank; ++d) {
    if (r->place[d] < 0) continue;
    const byoc_dim_t size = sizes[r->place[d]], in = r->x->dims[d];
    if (!byoc_dim_is_constant(size) || !byoc_dim_is_constant(in) || in.constant == 0) return 0.0;
    double each = (double)size.constant / (double)in.constant;
    scale = smaller ? fmin(scale, each) : fmax(scale, each);
  }
  return isfinite(scale) ? scale : 0.0;
}

static byoc_status_t sizes_to_dims(const byoc_infer_t *infer, const byoc_resize_t *r, byoc_dim_t *dims,
                                   bool *out_known) {
  byoc_dim_t sizes[BYOC_MAX_RANK];
  int32_t count = 0;
  *out_known = byoc_shape_value(infer->node->operands[r->sizes], infer->arena, &count, sizes);
  if (!*out_known) return BYOC_OK;
  if (count != r->axis_count)
    return byoc_infer_error(infer, "%d size%s for %d dimension%s", count, byoc_plural((uint64_t)count), r->axis_count,
                            byoc_plural((uint64_t)r->axis_count));
  const double scale = byoc_resize_keeps_proportions(r) ? byoc_resize_kept_scale(r, sizes) : 0.0;
  for (int32_t d = 0; d < r->x->rank; ++d) {
    if (r->place[d] < 0) continue;
    dims[d] = sizes[r->place[d]];
    if (!byoc_resize_keeps_proportions(r)) continue;
    *out_known = scale > 0;
    if (!*out_known) continue;
    const double size = floor(scale * (double)r->x->dims[d].constant + 0.5);
    if (!(size < MOST_SIZE)) return byoc_infer_error(infer, "dimension %d would be %g", d, size);
    dims[d] = byoc_dim_constant((int64_t)size);
  }
  return BYOC_OK;
}

// A dimension that is resized to a size above 0 must not be empty, and lists need one entry per resized dimension.
static byoc_status_t need_sources(const byoc_infer_t *infer, const byoc_resize_t *r) {
  const byoc_type_t *y = infer->node->results[0]->type;
  bool crops = r->coordinates == BYOC_RESIZE_TF_CROP_AND_RESIZE;
  int32_t lists[] = {r->sizes, r->sizes < 0 ? r->scales : -1, crops ? r->roi : -1};
  for (int32_t i = 0; i < 3; ++i) {
    const byoc_type_t *type = lists[i] < 0 ? NULL : byoc_operand_type(infer->node, (uint32_t)lists[i]);
    if (!byoc_is_ranked(type)) continue;
    byoc_side_t count = byoc_side_number((i == 2 ? 2 : 1) * (int64_t)r->axis_count);
    BYOC_RETURN_IF_ERROR(byoc_infer_need_count(infer, (uint32_t)lists[i], count));
  }
  for (int32_t d = 0; d < r->x->rank; ++d) {
    if (r->place[d] >= 0) BYOC_RETURN_IF_ERROR(byoc_infer_need_some(infer, 0, d, y->dims[d]));
  }
  return BYOC_OK;
}

static byoc_status_t infer_resize(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_value, "a tensor of numbers or bools"));
  for (uint32_t i = 1; i < infer->node->operand_count; ++i) {
    if (byoc_has_operand(infer->node, i))
      BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, byoc_dtype_is_number, "a list"));
  }
  byoc_resize_t r;
  BYOC_RETURN_IF_ERROR(byoc_resize_read(infer, &r));
  if (!byoc_is_ranked(r.x)) return byoc_infer_set_unranked(infer, 0, r.x->dtype);
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < r.x->rank; ++d) dims[d] = r.x->dims[d];
  bool known = true, failed = false;
  if (r.sizes >= 0) {
    BYOC_RETURN_IF_ERROR(sizes_to_dims(infer, &r, dims, &known));
  } else {
    for (int32_t d = 0; d < r.x->rank && known; ++d) {
      double scale = 1.0;
      const bool is_given = byoc_resize_known_scale(&r, d, &scale);
      if (is_given && (!(scale > 0) || !(scale < MOST_SIZE))) {
        return byoc_infer_error(infer, "the scale %g of dimension %d is out of range", scale, d);
      }
      known = is_given && (scale == 1.0 || byoc_dim_is_constant(dims[d]));
      if (!known && is_given && r.place[d] >= 0 && scale == floor(scale)) {
        dims[d] = byoc_infer_dim(infer, BYOC_DIM_MUL, dims[d], byoc_dim_constant((int64_t)scale), &failed);
        known = true;
      } else if (known && scale != 1.0) {
        double size = floor((double)dims[d].constant * scale);
        if (!(size < MOST_SIZE))
          return byoc_infer_error(infer, "the scale %g of dimension %d is out of range", scale, d);
        dims[d] = byoc_dim_constant((int64_t)size);
      }
    }
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  if (!known) {
    BYOC_RETURN_IF_ERROR(byoc_infer_set_unknown(infer, 0, r.x->dtype, r.x->rank));
  } else {
    BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, 0, r.x->dtype, r.x->rank, dims));
  }
  return need_sources(infer, &r);
}

static const byoc_loop_expr_t *shape_resize(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  (void)result;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  byoc_graph_module_t *module = node->function->module;
  const byoc_infer_t infer = {
      (byoc_node_t *)(uintptr_t)node, &module->arena, node->since_version, NULL, &module->next_id, NULL};
  byoc_resize_t r;
  if (byoc_resize_read(&infer, &r) != BYOC_OK) return NULL;
  const byoc_loop_expr_t *size = byoc_emit_dim(b, r.x, d);
  if (r.place[d] < 0) return size;
  if (r.sizes >= 0 && !byoc_resize_keeps_proportions(&r))
    return byoc_emit_int(lower, node, (uint32_t)r.sizes, r.place[d]);
  const byoc_loop_expr_t *scale =
      r.sizes >= 0 ? byoc_resize_emit_kept_scale(lower, &r) : byoc_resize_emit_scale(lower, &r, d);
  size = BYOC_LMUL(b, byoc_emit_as(b, BYOC_DTYPE_F64, size), byoc_emit_as(b, BYOC_DTYPE_F64, scale));
  if (r.sizes >= 0) size = BYOC_LADD(b, size, byoc_loop_const(b, BYOC_DTYPE_F64, 0.5));
  return byoc_emit_as(b, BYOC_DTYPE_I64, byoc_loop_unary(b, BYOC_LOOP_OP_FLOOR, size));
}

// tf_half_pixel_for_nn was removed in version 13; models that still use it are accepted.
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
    .min_outputs = 1, .max_outputs = 1, .attributes = table, .infer = infer_resize, .loops = byoc_resize_loops,        \
    .shape_operands = mask, .shape_elements = mask, .shape = shape_resize, .axes = byoc_axes_resize                    \
  }

const byoc_op_t byoc_ops_resize[] = {
    ROW(upsample_attributes, Upsample, 7, 1, 1, 0), ROW(upsample_attributes, Upsample, 9, 2, 2, 0x2),
    ROW(resize_attributes, Resize, 10, 2, 2, 0x2),  ROW(resize_attributes, Resize, 11, 3, 4, 0xe),
    ROW(resize_attributes, Resize, 13, 1, 4, 0xe),  ROW(resize_attributes, Resize, 18, 1, 4, 0xe),
    ROW(resize_attributes, Resize, 19, 1, 4, 0xe),
};
const size_t byoc_ops_resize_count = sizeof byoc_ops_resize / sizeof *byoc_ops_resize;

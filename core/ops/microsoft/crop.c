// SPDX-License-Identifier: Apache-2.0
// com.microsoft: CropAndResize, as converters of TensorFlow write it: regions of images, each brought to one size. The
// corners of a region are those of its first and last pixels. Pixels outside of an image have a given value.
#include "core/op/util.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))
#define UN(op, x)     byoc_loop_unary(b, BYOC_LOOP_OP_##op, (x))
#define NUM(value)    byoc_loop_const(b, dtype, (value))

enum { X, REGIONS, IMAGES, SIZES };
enum { BILINEAR, NEAREST }; // as in crop_attributes

static bool is_i32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I32;
}

static byoc_status_t infer_crop(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  const byoc_type_t *x = byoc_operand_type(node, X), *regions = byoc_operand_type(node, REGIONS);
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, X, byoc_dtype_is_float, "a float tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, X, 4, 4));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, REGIONS));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, REGIONS, 2, 2));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, IMAGES, is_i32, "numbers of images, i32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, IMAGES, 1, 1));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, SIZES, is_i32, "two sizes of i32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_list(infer, SIZES, 2));
  if (!byoc_is_ranked(x) || !byoc_is_ranked(regions)) return byoc_infer_set_unknown(infer, 0, x->dtype, 4);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, REGIONS, 1, byoc_dim_constant(4)));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, IMAGES, 1, regions->dims));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_indices(infer, IMAGES, "the number of an image", byoc_side_of(infer, X, 0)));
  byoc_dim_t dims[BYOC_MAX_RANK], sizes[BYOC_MAX_RANK];
  bool is_data[BYOC_MAX_RANK], failed = false;
  int32_t count = 0;
  dims[0] = regions->dims[0], dims[1] = x->dims[1];
  const bool is_known = byoc_infer_shape_value(infer, node->operands[SIZES], &count, sizes, is_data) && count == 2;
  for (int32_t d = 2; d < 4; ++d) {
    dims[d] = is_known ? sizes[d - 2] : byoc_infer_unknown_dim(infer, &failed);
    BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_size(infer, d, dims[d]));
  }
  for (int32_t d = 0; d < 4; ++d) {
    if (d != 1) BYOC_RETURN_IF_ERROR(byoc_infer_need_some(infer, X, d, regions->dims[0]));
  }
  return byoc_infer_set(infer, 0, x->dtype, 4, dims);
}

// The coordinate of pixel `at` of a region along dimension d of the image.
static const byoc_loop_expr_t *emit_place(byoc_lower_t *lower, const byoc_node_t *node, int32_t d,
                                          const byoc_loop_expr_t *region, const byoc_loop_expr_t *at) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[X]->type, *y = node->results[0]->type;
  const byoc_dtype_t dtype = byoc_compute_dtype(x->dtype);
  const byoc_loop_expr_t *corners[2], *one = byoc_loop_int(b, 1);
  for (int64_t e = 0; e < 2; ++e) { // a region is y1, x1, y2, x2
    const byoc_loop_expr_t *from[2] = {region, byoc_loop_int(b, 2 * e + d - 2)};
    corners[e] = byoc_emit_load(lower, node, REGIONS, from);
  }
  const byoc_loop_expr_t *last = byoc_emit_as(b, dtype, BYOC_LSUB(b, byoc_emit_dim(b, x, d), one));
  const byoc_loop_expr_t *steps = BYOC_LSUB(b, byoc_emit_dim(b, y, d), one);
  const byoc_loop_expr_t *step = BIN(DIV, BYOC_LMUL(b, BYOC_LSUB(b, corners[1], corners[0]), last),
                                     byoc_emit_as(b, dtype, BYOC_LMAX(b, steps, one)));
  const byoc_loop_expr_t *place =
      BYOC_LADD(b, BYOC_LMUL(b, corners[0], last), BYOC_LMUL(b, byoc_emit_as(b, dtype, at), step));
  const byoc_loop_expr_t *middle = BYOC_LMUL(b, BYOC_LMUL(b, BYOC_LADD(b, corners[0], corners[1]), last), NUM(0.5));
  return byoc_loop_let(b, "place", byoc_loop_select(b, BIN(LT, byoc_loop_int(b, 0), steps), place, middle));
}

static const byoc_loop_expr_t *emit_inside(byoc_loop_builder_t *b, const byoc_loop_expr_t *place,
                                           const byoc_loop_expr_t *extent) {
  if (!place) return NULL; // out of memory
  const byoc_dtype_t dtype = place->dtype;
  const byoc_loop_expr_t *last = byoc_emit_as(b, dtype, BYOC_LSUB(b, extent, byoc_loop_int(b, 1)));
  return BIN(AND, BIN(LE, NUM(0.0), place), BIN(LE, place, last));
}

// A whole number as an index of the image.
static const byoc_loop_expr_t *emit_pixel(byoc_loop_builder_t *b, const byoc_loop_expr_t *place,
                                          const byoc_loop_expr_t *extent) {
  const byoc_loop_expr_t *last = BYOC_LSUB(b, extent, byoc_loop_int(b, 1));
  const byoc_loop_expr_t *pixel = BYOC_LMIN(b, byoc_emit_as(b, BYOC_DTYPE_I64, place), last);
  return byoc_loop_let(b, "pixel", BYOC_LMAX(b, pixel, byoc_loop_int(b, 0)));
}

static const byoc_loop_expr_t *point_crop(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                          const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[X]->type;
  const byoc_dtype_t dtype = byoc_compute_dtype(x->dtype);
  const bool is_nearest = byoc_node_choice(node, "mode") == NEAREST;
  const byoc_loop_expr_t *image =
      byoc_emit_index(b, byoc_lower_load(lower, node, IMAGES, indices), byoc_emit_dim(b, x, 0));
  const byoc_loop_expr_t *inside = NULL, *pixels[2][2], *f[2];
  for (int32_t d = 0; d < 2; ++d) {
    const byoc_loop_expr_t *extent = byoc_emit_dim(b, x, 2 + d);
    const byoc_loop_expr_t *place = emit_place(lower, node, 2 + d, indices[0], indices[2 + d]);
    const byoc_loop_expr_t *fits = emit_inside(b, place, extent);
    inside = inside ? BIN(AND, inside, fits) : fits;
    // Halves are rounded away from zero.
    const byoc_loop_expr_t *low = UN(FLOOR, is_nearest ? BYOC_LADD(b, place, NUM(0.5)) : place);
    pixels[d][0] = emit_pixel(b, low, extent);
    pixels[d][1] = is_nearest ? NULL : emit_pixel(b, UN(CEIL, place), extent);
    f[d] = byoc_loop_let(b, "f", BYOC_LSUB(b, place, low));
  }
  const byoc_loop_expr_t *lines[2] = {NULL};
  for (int row = 0; row < (is_nearest ? 1 : 2); ++row) {
    const byoc_loop_expr_t *left[4] = {image, indices[1], pixels[0][row], pixels[1][0]};
    lines[row] = byoc_emit_load(lower, node, X, left);
    if (is_nearest) continue;
    const byoc_loop_expr_t *right[4] = {image, indices[1], pixels[0][row], pixels[1][1]};
    const byoc_loop_expr_t *more = BYOC_LSUB(b, byoc_emit_load(lower, node, X, right), lines[row]);
    lines[row] = BYOC_LADD(b, lines[row], BYOC_LMUL(b, more, f[1]));
  }
  const byoc_loop_expr_t *value = lines[0];
  if (!is_nearest) value = BYOC_LADD(b, value, BYOC_LMUL(b, BYOC_LSUB(b, lines[1], value), f[0]));
  value = byoc_loop_select(b, inside, value, NUM(byoc_node_float(node, "extrapolation_value")));
  return byoc_emit_as(b, node->results[result]->type->dtype, value);
}

static const byoc_loop_expr_t *shape_crop(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  (void)result;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  if (d == 0) return byoc_emit_dim(b, node->operands[REGIONS]->type, 0);
  if (d == 1) return byoc_emit_dim(b, node->operands[X]->type, 1);
  return byoc_emit_int(lower, node, SIZES, d - 2);
}

static const byoc_op_attribute_t crop_attributes[] = {
    {BYOC_ATTR_CHOICE("mode", "bilinear", "nearest")}, {BYOC_ATTR_FLOAT("extrapolation_value", 0.0)}, BYOC_ATTR_END};

const byoc_op_t byoc_ops_microsoft_crop[] = {
    {.domain = "com.microsoft",
     .name = "CropAndResize",
     .since_version = 1,
     .min_inputs = 4,
     .max_inputs = 4,
     .min_outputs = 1,
     .max_outputs = 1,
     .traits = BYOC_OP_LIMITS,
     .attributes = crop_attributes,
     .infer = infer_crop,
     .point = point_crop,
     .shape_operands = 1u << SIZES,
     .shape_elements = 1u << SIZES,
     .by_shape = 1u << SIZES,
     .shape = shape_crop},
};
const size_t byoc_ops_microsoft_crop_count = sizeof byoc_ops_microsoft_crop / sizeof *byoc_ops_microsoft_crop;

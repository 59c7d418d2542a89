// SPDX-License-Identifier: Apache-2.0
// Says which operators mean the same on quantised integers, and writes them on integers.
#include "core/pass/quantised_moves.h"

#include <math.h>
#include <string.h>

#include "core/op/util.h"

// ---- which operators ----

// Operands other than the first (Concat: than all) are indices, shapes and the like.
static bool moves_data(const byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  return node->domain[0] == '\0' && op != NULL && (op->traits & BYOC_OP_MOVES) != 0 && node->operand_count > 0 &&
         node->block_count == 0;
}

// A Resize or Upsample that picks elements, and no other.
static bool is_nearest(const byoc_node_t *node) {
  const bool is_resize = byoc_node_is_onnx(node, "Resize");
  if (!is_resize && !byoc_node_is_onnx(node, "Upsample")) return false;
  const byoc_attribute_t *coordinates = is_resize ? byoc_node_given(node, "coordinate_transformation_mode") : NULL;
  if (coordinates != NULL && strcmp(coordinates->s, "tf_crop_and_resize") == 0) return false;
  const byoc_attribute_t *mode = byoc_node_given(node, "mode");
  return mode == NULL || strcmp(mode->s, "nearest") == 0;
}

static bool is_cast_of_floats(const byoc_node_t *node) {
  if (!byoc_node_is_onnx(node, "Cast") || !byoc_is_ranked(byoc_operand_type(node, 0))) return false;
  const byoc_dtype_t to = (byoc_dtype_t)byoc_dtype_from_onnx((int32_t)byoc_node_int(node, "to"));
  const byoc_dtype_t from = node->operands[0]->type->dtype;
  return byoc_dtype_is_float(from) && byoc_dtype_is_float(to) && from != BYOC_DTYPE_F64 && to != BYOC_DTYPE_F64;
}

byoc_quantised_move_t byoc_quantised_move(const byoc_node_t *node) {
  if (node->callee != NULL || !byoc_has_operand(node, 0) || node->result_count == 0) return BYOC_MOVE_NONE;
  if (byoc_node_is_onnx(node, "Relu") || byoc_node_is_onnx(node, "Clip")) return BYOC_MOVE_CUT;
  if (byoc_node_is_onnx(node, "MaxPool")) return BYOC_MOVE_MOST;
  if (is_cast_of_floats(node)) return BYOC_MOVE_CAST;
  const bool moves = moves_data(node) || is_nearest(node) || byoc_node_is_onnx(node, "Pad");
  return moves ? BYOC_MOVE_DATA : BYOC_MOVE_NONE;
}

// ---- where an axis goes ----

static bool is_one(byoc_dim_t dim) {
  return byoc_dim_is_constant(dim) && dim.constant == 1;
}

// The dimensions of a view before the axis (step 1) or behind it (step -1) are those of the operand, but for ones.
static bool view_axis(const byoc_type_t *from, const byoc_type_t *to, int32_t axis, int32_t step, int32_t *out_axis) {
  int32_t i = step > 0 ? 0 : from->rank - 1, o = step > 0 ? 0 : to->rank - 1;
  for (;; i += step, o += step) {
    while (i != axis && is_one(from->dims[i])) i += step;
    while (o >= 0 && o < to->rank && is_one(to->dims[o]) && !is_one(from->dims[i])) o += step;
    if (o < 0 || o >= to->rank || !byoc_dim_equal(from->dims[i], to->dims[o])) return false;
    if (i == axis) break;
  }
  *out_axis = o;
  return true;
}

static bool transposed_axis(const byoc_node_t *node, int32_t axis, int32_t *out_axis) {
  const int32_t rank = node->operands[0]->type->rank;
  size_t count = 0;
  const int64_t *permutation = byoc_node_ints(node, "perm", &count);
  for (int32_t d = 0; d < rank; ++d) {
    if ((permutation ? permutation[d] : rank - 1 - d) != axis) continue;
    *out_axis = d;
    return true;
  }
  return false;
}

static bool gathered_axis(const byoc_node_t *node, int32_t axis, int32_t *out_axis) {
  const int32_t rank = node->operands[0]->type->rank, along = byoc_node_axis(node, "axis", rank);
  const byoc_type_t *indices = byoc_operand_type(node, 1);
  if (!byoc_is_ranked(indices) || axis == along) return false;
  *out_axis = axis < along ? axis : axis + indices->rank - 1;
  return true;
}

// Is the axis not among those that the operator names?
static bool is_beside(const byoc_node_t *node, const char *name, int32_t operand, int32_t axis) {
  const int32_t rank = node->operands[0]->type->rank;
  byoc_ints_t axes;
  if (byoc_read_ints(node, name, operand, &axes) != BYOC_KNOWN_YES) return false;
  for (size_t i = 0; i < axes.count; ++i) {
    int32_t named = 0;
    if (!byoc_normalize_axis(axes.values[i], rank, &named) || named == axis) return false;
  }
  return true;
}

static bool is_unpadded(const byoc_node_t *node, int32_t axis) {
  const int32_t rank = node->operands[0]->type->rank;
  byoc_ints_t pads;
  if (byoc_has_operand(node, 3)) return is_beside(node, NULL, 3, axis);
  return byoc_read_ints(node, "pads", 1, &pads) == BYOC_KNOWN_YES && pads.count == 2 * (size_t)rank &&
         pads.values[axis] == 0 && pads.values[rank + axis] == 0;
}

static bool keeps_dim(const byoc_node_t *node, int32_t axis, int32_t at) {
  const byoc_type_t *from = node->operands[0]->type, *to = node->results[0]->type;
  return at >= 0 && at < to->rank && byoc_dim_equal(from->dims[axis], to->dims[at]);
}

bool byoc_quantised_move_axis(const byoc_node_t *node, int32_t axis, int32_t *out_axis) {
  const byoc_type_t *from = byoc_operand_type(node, 0), *to = node->results[0]->type;
  if (!byoc_is_ranked(from) || !byoc_is_ranked(to) || axis < 0 || axis >= from->rank) return false;
  const byoc_op_t *op = byoc_op_of(node);
  *out_axis = axis;
  if (byoc_node_is_onnx(node, "Transpose")) return transposed_axis(node, axis, out_axis);
  if (byoc_node_is_onnx(node, "Gather")) return gathered_axis(node, axis, out_axis);
  if (op != NULL && op->is_view) {
    return view_axis(from, to, axis, 1, out_axis) || view_axis(from, to, axis, -1, out_axis);
  }
  if (byoc_node_is_onnx(node, "Concat") || byoc_node_is_onnx(node, "Split")) {
    return byoc_node_axis(node, "axis", from->rank) != axis;
  }
  if (byoc_node_is_onnx(node, "Slice")) return is_beside(node, "axes", 3, axis);
  if (byoc_node_is_onnx(node, "Pad")) return is_unpadded(node, axis);
  if (byoc_node_is_onnx(node, "MaxPool")) return axis < 2;
  if (byoc_node_is_onnx(node, "Expand")) {
    *out_axis = axis + to->rank - from->rank;
    return keeps_dim(node, axis, *out_axis);
  }
  return (byoc_node_is_onnx(node, "Tile") || is_nearest(node)) && keeps_dim(node, axis, axis);
}

// ---- numbers ----

void byoc_quantised_range(byoc_dtype_t dtype, int64_t *out_least, int64_t *out_most) {
  const int64_t values = INT64_C(1) << byoc_dtype_bits(dtype);
  const bool is_signed =
      dtype == BYOC_DTYPE_I8 || dtype == BYOC_DTYPE_I16 || dtype == BYOC_DTYPE_I4 || dtype == BYOC_DTYPE_I2;
  *out_least = is_signed ? -values / 2 : 0;
  *out_most = *out_least + values - 1;
}

bool byoc_quantised_number(const byoc_quantised_t *to, double number, int64_t *out_number, bool *out_is_exact) {
  double scale = 0;
  int64_t zero = 0, least = 0, most = 0;
  if (to->axis >= 0 || isnan(number) || !byoc_value_scalar_f64(to->scale, &scale) || !(scale > 0)) return false;
  if (to->zero != NULL && !byoc_value_scalar_i64(to->zero, &zero)) return false;
  byoc_quantised_range(to->bytes->type->dtype, &least, &most);
  double rounded = (double)rintf((float)number / (float)scale) + (double)zero;
  rounded = rounded < (double)least ? (double)least : rounded > (double)most ? (double)most : rounded;
  *out_number = (int64_t)rounded;
  *out_is_exact = (float)(*out_number - zero) * (float)scale == (float)number;
  return true;
}

// ---- Relu and Clip ----

// The bound 0 (lower) or 1 (upper) of a Relu or Clip; *out_given is false if there is none.
static bool read_bound(const byoc_node_t *cut, uint32_t which, double *out_bound, bool *out_given) {
  const bool is_relu = byoc_node_is_onnx(cut, "Relu");
  const byoc_attribute_t *attribute = is_relu ? NULL : byoc_node_given(cut, which == 0 ? "min" : "max");
  *out_bound = 0;
  *out_given = is_relu ? which == 0 : attribute != NULL || byoc_has_operand(cut, which + 1);
  if (is_relu || !*out_given) return true;
  if (attribute != NULL) *out_bound = (double)attribute->f;
  return attribute != NULL || byoc_value_scalar_f64(cut->operands[which + 1], out_bound);
}

bool byoc_quantised_bounds(const byoc_node_t *cut, const byoc_quantised_t *to, bool exactly, int64_t out_bounds[2]) {
  int64_t ends[2];
  byoc_quantised_range(to->bytes->type->dtype, &ends[0], &ends[1]);
  for (uint32_t which = 0; which < 2; ++which) {
    double bound = 0;
    bool is_given = false, is_exact = false;
    out_bounds[which] = ends[which];
    if (!read_bound(cut, which, &bound, &is_given)) return false;
    if (!is_given) continue;
    if (!byoc_quantised_number(to, bound, &out_bounds[which], &is_exact)) return false;
    // A bound at the end of the range cuts nothing, unless it lies inside of it.
    double scale = 0, end = 0;
    int64_t zero = 0;
    (void)byoc_value_scalar_f64(to->scale, &scale);
    if (to->zero != NULL) (void)byoc_value_scalar_i64(to->zero, &zero);
    end = (double)((float)(ends[which] - zero) * (float)scale);
    const bool is_beyond = which == 0 ? bound <= end : bound >= end;
    if (exactly && !is_exact && !is_beyond) return false;
  }
  return true;
}

bool byoc_quantised_cut_vanishes(const byoc_node_t *cut, const byoc_quantised_t *to) {
  int64_t least = 0, most = 0, bounds[2];
  byoc_quantised_range(to->bytes->type->dtype, &least, &most);
  if (to->axis < 0) {
    return byoc_quantised_bounds(cut, to, false, bounds) && bounds[0] == least && bounds[1] == most;
  }
  if (!byoc_node_is_onnx(cut, "Relu") || !byoc_all_are(to->zero, least)) return false;
  if (!byoc_value_is_constant(to->scale)) return false;
  for (int64_t i = 0; i < byoc_type_element_count(to->scale->type); ++i) {
    if (!(byoc_constant_element_f64(to->scale->constant, i) > 0)) return false;
  }
  return true;
}

static byoc_value_t *write_integer(byoc_writer_t *w, byoc_dtype_t dtype, int64_t number) {
  byoc_graph_module_t *module = w->node->function->module;
  const int8_t byte = (int8_t)number;
  const int16_t word = (int16_t)number;
  const byoc_type_t *type = byoc_type_tensor_static(&module->arena, dtype, 0, NULL);
  const void *data = byoc_dtype_bits(dtype) == 8 ? (const void *)&byte : &word;
  byoc_constant_t *constant = type ? byoc_constant_create(module, "bound", type, data) : NULL;
  byoc_value_t *value = constant ? byoc_function_constant(w->node->function, constant) : NULL;
  if (!value) w->failed = true;
  return value;
}

byoc_value_t *byoc_write_quantised_cut(byoc_writer_t *w, byoc_value_t *x, const int64_t bounds[2]) {
  const byoc_dtype_t dtype = x->type->dtype;
  int64_t least = 0, most = 0;
  byoc_quantised_range(dtype, &least, &most);
  if (bounds[0] <= least && bounds[1] >= most) return x;
  if (bounds[0] == 0 && bounds[1] >= most && least < 0) return byoc_write_node(w, "", "Relu", x, NULL, NULL, NULL, 0);
  byoc_value_t *upper = write_integer(w, dtype, bounds[1]), *lower = write_integer(w, dtype, bounds[0]);
  return byoc_write_node(w, "", "Clip", x, lower, upper, NULL, 0);
}

// ---- copies ----

// The operand of a Pad that fills in, in integers; NULL with *out_fits if the mode needs none.
static byoc_value_t *write_fill(byoc_writer_t *w, const byoc_node_t *pad, const byoc_quantised_t *by, bool exactly,
                                bool *out_fits) {
  const byoc_attribute_t *mode = byoc_node_given(pad, "mode"), *attribute = byoc_node_given(pad, "value");
  double fill = attribute != NULL ? (double)attribute->f : 0;
  int64_t number = 0;
  bool is_exact = false;
  *out_fits = true;
  if (mode != NULL && strcmp(mode->s, "constant") != 0) return NULL;
  const bool is_known = !byoc_has_operand(pad, 2) || byoc_value_scalar_f64(pad->operands[2], &fill);
  *out_fits = is_known && byoc_quantised_number(by, fill, &number, &is_exact) && (is_exact || !exactly);
  return *out_fits ? write_integer(w, by->bytes->type->dtype, number) : NULL;
}

// Older versions of some operators take floats only. The newer ones have the same attributes.
static int32_t version_for_integers(const byoc_node_t *node) {
  enum { MAX_POOL = 12 };
  const bool is_old = byoc_node_is_onnx(node, "MaxPool") && node->since_version < MAX_POOL;
  return is_old ? MAX_POOL : node->since_version;
}

byoc_status_t byoc_quantised_copy(byoc_writer_t *w, const byoc_node_t *node, byoc_value_t *const *operands,
                                  const byoc_quantised_t *by, bool exactly, byoc_node_t **out_made) {
  enum { PAD_OPERANDS = 4, FIRST_WITH_OPERANDS = 11 };
  byoc_value_t *padded[PAD_OPERANDS] = {NULL};
  uint32_t count = node->operand_count;
  *out_made = NULL;
  if (byoc_node_is_onnx(node, "Pad")) {
    if (node->since_version < FIRST_WITH_OPERANDS || count > PAD_OPERANDS) return BYOC_OK;
    bool fits = false;
    memcpy(padded, operands, count * sizeof(*operands));
    padded[2] = write_fill(w, node, by, exactly, &fits);
    if (!fits) return BYOC_OK;
    operands = padded;
    if (padded[2] != NULL && count < 3) count = 3;
  }
  byoc_node_t *made = byoc_node_create(w->node->block, w->node, node->domain, node->op, version_for_integers(node),
                                       operands, count, node->result_count);
  if (!made || !byoc_attributes_copy(&made->attributes, &node->attributes)) return byoc_diag_out_of_memory(w->diag);
  byoc_diag_t refusal = {0};
  const byoc_status_t status = byoc_infer_node(made, &refusal);
  if (status != BYOC_OK) {
    byoc_node_erase(made);
    return status == BYOC_OUT_OF_MEMORY ? byoc_diag_adopt(w->diag, &refusal) : BYOC_OK;
  }
  if (!byoc_node_set_name(made, node->name)) return byoc_diag_out_of_memory(w->diag);
  for (uint32_t r = 0; r < made->result_count; ++r) made->results[r]->device = node->results[r]->device;
  *out_made = made;
  return BYOC_OK;
}

// SPDX-License-Identifier: Apache-2.0
// Pad: constant, reflect, edge and wrap, with pads of either sign.
#include <string.h>

#include "core/ir/loop_range.h"
#include "core/op/axes.h"
#include "core/op/util.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

typedef enum { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP } pad_mode_t; // as in pad_attributes

static pad_mode_t mode_of(const byoc_node_t *node) {
  return (pad_mode_t)byoc_node_choice(node, "mode");
}

// The index of dimension d among the padded ones, or -1 if it is not padded. `count` is the number of padded ones;
// false if an axis is out of range or not constant.
static bool padded_axes(const byoc_node_t *node, int32_t rank, int32_t *place, int32_t *count) {
  byoc_ints_t axes;
  byoc_known_t known = byoc_read_ints(node, NULL, 3, &axes);
  for (int32_t d = 0; d < rank; ++d) place[d] = known == BYOC_KNOWN_ABSENT ? d : -1;
  *count = known == BYOC_KNOWN_ABSENT ? rank : (int32_t)axes.count;
  for (size_t i = 0; i < axes.count; ++i) {
    int32_t axis = 0;
    if (!byoc_normalize_axis(axes.values[i], rank, &axis)) return false;
    place[axis] = (int32_t)i;
  }
  return known != BYOC_KNOWN_NO;
}

// If pads are data, the dimension must not be empty, unless the mode is constant: added elements are copies of others.
static byoc_status_t set_made(const byoc_infer_t *infer) {
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  BYOC_RETURN_IF_ERROR(byoc_infer_set_unknown(infer, 0, x->dtype, x->rank));
  for (int32_t d = 0; d < x->rank && mode_of(infer->node) != PAD_CONSTANT; ++d) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_some(infer, 0, d, infer->node->results[0]->type->dims[d]));
  }
  return BYOC_OK;
}

// Pads that follow from shapes (exporters pad images up to a multiple of a window) give dimensions that follow from
// shapes. Pads that are data give unknown dimensions.
static byoc_status_t set_followed(const byoc_infer_t *infer, const int32_t *place, int32_t count) {
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  byoc_dim_t pads[BYOC_MAX_RANK], dims[BYOC_MAX_RANK];
  bool is_data[BYOC_MAX_RANK], failed = false;
  int32_t pad_count = 0;
  if (!byoc_has_operand(infer->node, 1) ||
      !byoc_infer_shape_value(infer, infer->node->operands[1], &pad_count, pads, is_data) || pad_count != 2 * count) {
    return set_made(infer);
  }
  for (int32_t d = 0; d < x->rank; ++d) {
    const int32_t before = place[d], after = count + place[d];
    dims[d] = x->dims[d];
    if (before < 0) continue;
    if (is_data[before] || is_data[after]) {
      dims[d] = byoc_infer_unknown_dim(infer, &failed);
    } else {
      dims[d] = byoc_infer_dim(infer, BYOC_DIM_ADD, dims[d], pads[before], &failed);
      dims[d] = byoc_infer_dim(infer, BYOC_DIM_ADD, dims[d], pads[after], &failed);
      BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
      BYOC_RETURN_IF_ERROR(byoc_infer_need_size(infer, d, dims[d]));
    }
    if (mode_of(infer->node) != PAD_CONSTANT) BYOC_RETURN_IF_ERROR(byoc_infer_need_some(infer, 0, d, dims[d]));
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, x->dtype, x->rank, dims);
}

// A dimension that is cut at one side and repeated at the other must not be empty after the cut.
static byoc_status_t need_rest(const byoc_infer_t *infer, int32_t d, int64_t before, int64_t after) {
  const int64_t cut = before < 0 ? -before : after < 0 ? -after : 0;
  const byoc_dim_t extent = byoc_operand_type(infer->node, 0)->dims[d];
  if (cut == 0 || (before <= 0 && after <= 0) || mode_of(infer->node) == PAD_CONSTANT) return BYOC_OK;
  if (!byoc_dim_is_constant(extent))
    return byoc_infer_relate(infer, BYOC_RELATION_AT_MOST, byoc_side_number(cut + 1), byoc_side_of(infer, 0, d));
  if (extent.constant > cut) return BYOC_OK;
  return byoc_infer_error(infer, "operand 0: after a pad of %lld there is nothing left to pad dimension %d with",
                          (long long)-cut, d);
}

static byoc_status_t infer_pad(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_value, "a tensor of numbers or bools"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, 2));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 2));
  const byoc_type_t *x = byoc_operand_type(node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  int32_t place[BYOC_MAX_RANK], count = 0;
  byoc_ints_t axes;
  if (byoc_read_ints(node, NULL, 3, &axes) == BYOC_KNOWN_NO) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_axes(infer, 3, x->rank, false));
    return set_made(infer);
  }
  if (!padded_axes(node, x->rank, place, &count)) {
    return byoc_infer_error(infer, "operand 3 'axes': expected constants in [%d, %d]", -x->rank, x->rank - 1);
  }
  byoc_ints_t pads;
  byoc_known_t known = byoc_read_ints(node, "pads", 1, &pads);
  if (known == BYOC_KNOWN_NO) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_list(infer, 1, 2 * (int64_t)count));
    return set_followed(infer, place, count);
  }
  if (pads.count != 2 * (size_t)count) {
    return byoc_infer_error(infer, "'pads': expected %d values, got %zu", 2 * count, pads.count);
  }
  byoc_dim_t dims[BYOC_MAX_RANK];
  bool failed = false;
  for (int32_t d = 0; d < x->rank; ++d) {
    dims[d] = x->dims[d];
    if (place[d] < 0) continue;
    int64_t before = pads.values[place[d]], after = pads.values[count + place[d]];
    if (before > INT32_MAX || before < -INT32_MAX || after > INT32_MAX || after < -INT32_MAX) {
      return byoc_infer_error(infer, "'pads' is out of range");
    }
    bool is_empty = byoc_dim_is_constant(dims[d]) && dims[d].constant == 0 && before + after > 0;
    if (is_empty && mode_of(node) != PAD_CONSTANT) {
      return byoc_infer_error(infer, "operand 0: there is nothing to pad dimension %d with", d);
    }
    BYOC_RETURN_IF_ERROR(need_rest(infer, d, before, after));
    byoc_dim_t sum = byoc_dim_constant(before + after);
    dims[d] = byoc_infer_dim(infer, BYOC_DIM_ADD, dims[d], sum, &failed);
    BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_size(infer, d, dims[d]));
    bool is_open = !byoc_dim_is_constant(dims[d]) && mode_of(node) != PAD_CONSTANT;
    if (is_open) BYOC_RETURN_IF_ERROR(byoc_infer_need_some(infer, 0, d, dims[d]));
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, x->dtype, x->rank, dims);
}

// The operand's index for `at` (already shifted by the pad, so possibly outside [0, extent)).
static const byoc_loop_expr_t *bring_inside(byoc_loop_builder_t *b, pad_mode_t mode, const byoc_loop_expr_t *at,
                                            const byoc_loop_expr_t *extent) {
  if (byoc_loop_is_index_of(at, extent)) return at;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *one = byoc_loop_int(b, 1), *last = BYOC_LSUB(b, extent, one);
  if (mode == PAD_EDGE) return BYOC_LMAX(b, zero, BYOC_LMIN(b, at, last));
  if (mode == PAD_WRAP) return BYOC_LMOD(b, at, extent);
  // Reflection has a period of 2 (extent - 1), or 1 for a single element.
  const byoc_loop_expr_t *period = BYOC_LMAX(b, one, BYOC_LMUL(b, last, byoc_loop_int(b, 2)));
  const byoc_loop_expr_t *phase = BYOC_LMOD(b, at, period);
  return BYOC_LMIN(b, phase, BYOC_LSUB(b, period, phase));
}

// If the axes are data: the pad before or after dimension d is that of the axis that names d.
static const byoc_loop_expr_t *dynamic_pad(byoc_lower_t *lower, const byoc_node_t *node, int32_t d, bool is_behind) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  int32_t rank = node->operands[0]->type->rank;
  int64_t count = byoc_type_element_count(node->operands[3]->type);
  const byoc_loop_expr_t *pad = byoc_loop_int(b, 0);
  for (int64_t i = 0; i < count && i < rank; ++i) {
    const byoc_loop_expr_t *axis = byoc_emit_index(b, byoc_emit_int(lower, node, 3, i), byoc_loop_int(b, rank));
    const byoc_loop_expr_t *named = BIN(EQ, axis, byoc_loop_int(b, d));
    pad = byoc_loop_select(b, named, byoc_emit_int(lower, node, 1, is_behind ? count + i : i), pad);
  }
  return pad;
}

// The same if pads may be negative: they cut elements off before the rest is repeated. The edge stays in its position,
// because a dimension is not cut at the side where it is padded.
static const byoc_loop_expr_t *bring_inside_rest(byoc_loop_builder_t *b, pad_mode_t mode, const byoc_loop_expr_t *at,
                                                 const byoc_loop_expr_t *extent, const byoc_loop_expr_t *before,
                                                 const byoc_loop_expr_t *behind) {
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0);
  const byoc_loop_expr_t *first = BYOC_LMAX(b, zero, BYOC_LSUB(b, zero, before));
  const byoc_loop_expr_t *cut = BYOC_LADD(b, first, BYOC_LMAX(b, zero, BYOC_LSUB(b, zero, behind)));
  int64_t known = 0;
  if (mode == PAD_EDGE || (byoc_loop_is_int(cut, &known) && known == 0)) return bring_inside(b, mode, at, extent);
  const byoc_loop_expr_t *place = bring_inside(b, mode, BYOC_LSUB(b, at, first), BYOC_LSUB(b, extent, cut));
  const byoc_loop_expr_t *last = BYOC_LSUB(b, extent, byoc_loop_int(b, 1));
  return BYOC_LMAX(b, zero, BYOC_LMIN(b, BYOC_LADD(b, place, first), last)); // if pads that are data leave nothing
}

static const byoc_loop_expr_t *point_pad(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                         const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  byoc_dtype_t dtype = node->results[result]->type->dtype;
  pad_mode_t mode = mode_of(node);
  int32_t place[BYOC_MAX_RANK], count = 0;
  bool dynamic = !padded_axes(node, x->rank, place, &count);
  byoc_ints_t pads;
  byoc_known_t known = byoc_read_ints(node, "pads", 1, &pads);
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *inside = NULL;
  for (int32_t d = 0; d < x->rank; ++d) {
    at[d] = indices[d];
    if (place[d] < 0 && !dynamic) continue;
    bool none = !dynamic && known == BYOC_KNOWN_YES && pads.values[place[d]] == 0 && pads.values[count + place[d]] == 0;
    if (none) continue;
    const byoc_loop_expr_t *pad[2];
    for (int32_t i = 0; i < 2; ++i) {
      const int32_t index = i * count + place[d];
      pad[i] = dynamic                   ? dynamic_pad(lower, node, d, i == 1)
               : known == BYOC_KNOWN_YES ? byoc_loop_int(b, pads.values[index])
                                         : byoc_emit_int(lower, node, 1, index);
    }
    const byoc_loop_expr_t *extent = byoc_emit_dim(b, x, d);
    at[d] = BYOC_LSUB(b, indices[d], pad[0]);
    if (mode != PAD_CONSTANT) {
      at[d] = bring_inside_rest(b, mode, at[d], extent, pad[0], pad[1]);
      continue;
    }
    const byoc_loop_expr_t *fits = byoc_emit_within(b, at[d], byoc_loop_int(b, 0), extent);
    inside = inside ? BIN(AND, inside, fits) : fits;
  }
  const byoc_loop_expr_t *value = byoc_lower_load(lower, node, 0, at);
  if (!inside) return value;
  const byoc_loop_expr_t *filler = byoc_has_operand(node, 2)
                                       ? byoc_emit_as(b, dtype, byoc_emit_scalar(lower, node, 2))
                                       : byoc_loop_const(b, dtype, byoc_node_float(node, "value"));
  return byoc_loop_select(b, inside, value, filler);
}

// The elements that are not padded are one run.
static bool runs_pad(byoc_lower_t *lower, const byoc_node_t *node, int32_t axis, byoc_op_runs_t *out_runs) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  int32_t place[BYOC_MAX_RANK], count = 0;
  byoc_ints_t pads;
  if (!padded_axes(node, x->rank, place, &count) || byoc_read_ints(node, "pads", 1, &pads) != BYOC_KNOWN_YES ||
      place[axis] < 0 || !byoc_is_worth_a_run(x->dims[axis])) {
    return false;
  }
  const int64_t before = pads.values[place[axis]], after = pads.values[count + place[axis]];
  if (before < 0 || after < 0 || before + after == 0) return false;
  *out_runs = (byoc_op_runs_t){
      .first = byoc_loop_int(b, before), .count = byoc_loop_int(b, 1), .length = byoc_emit_dim(b, x, axis)};
  return true;
}

static const byoc_loop_expr_t *shape_pad(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  (void)result;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  const byoc_loop_expr_t *size = byoc_emit_dim(b, x, d);
  int64_t count = x->rank;
  if (byoc_has_operand(node, 3)) count = byoc_type_element_count(node->operands[3]->type);
  if (count < 0) return NULL;
  for (int64_t i = 0; i < count && i < x->rank; ++i) {
    const byoc_loop_expr_t *axis = byoc_loop_int(b, i);
    if (byoc_has_operand(node, 3))
      axis = byoc_emit_index(b, byoc_emit_int(lower, node, 3, i), byoc_loop_int(b, x->rank));
    int64_t known = 0;
    if (axis && byoc_loop_is_int(axis, &known) && known != d) continue;
    const byoc_loop_expr_t *pads =
        BYOC_LADD(b, byoc_emit_int(lower, node, 1, i), byoc_emit_int(lower, node, 1, count + i));
    size = byoc_loop_select(b, BIN(EQ, axis, byoc_loop_int(b, d)), BYOC_LADD(b, size, pads), size);
  }
  return size;
}

static const byoc_op_attribute_t pad_attributes[] = {
    // wrap came with version 19; torch's exporter writes it in version 18, and ONNX Runtime takes it there.
    {BYOC_ATTR_CHOICE("mode", "constant", "reflect", "edge"), .until = 18},
    {BYOC_ATTR_CHOICE("mode", "constant", "reflect", "edge", "wrap"), .since = 18},
    {BYOC_ATTR_REQUIRED(INTS, "pads"), .until = 11},
    {BYOC_ATTR_FLOAT("value", 0.0), .until = 11},
    BYOC_ATTR_END,
};

#define PAD(version, least, most, mask)                                                                                \
  {                                                                                                                    \
    .domain = "", .name = "Pad", .since_version = version, .min_inputs = least, .max_inputs = most, .min_outputs = 1,  \
    .max_outputs = 1, .traits = BYOC_OP_LIMITS, .attributes = pad_attributes, .infer = infer_pad, .point = point_pad,  \
    .runs = runs_pad, .shape_operands = mask, .shape_elements = mask, .shape = shape_pad, .axes = byoc_axes_pad        \
  }
#define PADS (1u << 1)
#define AXES (1u << 1 | 1u << 3)

const byoc_op_t byoc_ops_pad[] = {
    PAD(2, 1, 1, 0),     PAD(11, 2, 3, PADS), PAD(13, 2, 3, PADS),
    PAD(18, 2, 4, AXES), PAD(19, 2, 4, AXES), PAD(21, 2, 4, AXES),
};
const size_t byoc_ops_pad_count = sizeof byoc_ops_pad / sizeof *byoc_ops_pad;

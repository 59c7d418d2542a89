// SPDX-License-Identifier: Apache-2.0
// Slice: parts of dimensions, with steps, forwards and backwards. Each limit may be known at compile time or at run
// time.
#include "core/op/axes.h"
#include "core/op/util.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

typedef struct {
  bool known; // false: starts are read at run time
  bool sliced[BYOC_MAX_RANK];
  byoc_dim_t start[BYOC_MAX_RANK], length[BYOC_MAX_RANK];
  int64_t step[BYOC_MAX_RANK];
  int32_t place[BYOC_MAX_RANK]; // of the dimension in starts and ends
  bool dynamic;                 // the axes or steps are data
} slice_t;

// Larger than any size: exporters write such numbers for "to the end".
static bool is_huge(byoc_dim_t dim) {
  return byoc_dim_is_constant(dim) && (dim.constant > INT32_MAX || dim.constant < -(int64_t)INT32_MAX);
}

// Clamps a start or an end to [low, high]; negative ones count from the end of a dimension of size `extent`.
static byoc_dim_t clamp(const byoc_infer_t *infer, byoc_dim_t x, byoc_dim_t extent, byoc_dim_t low, byoc_dim_t high,
                        bool *failed) {
  if (is_huge(x)) return x.constant > 0 ? high : low;
  if (byoc_dim_is_constant(x) && x.constant < 0) x = byoc_infer_dim(infer, BYOC_DIM_ADD, extent, x, failed);
  // Symbolic extents are dimensions and never negative: a start of 0 needs no test.
  if (!byoc_dim_is_constant(x) && byoc_dim_equal(x, high)) return x;
  if (byoc_dim_is_constant(x) && byoc_dim_equal(x, low)) return x;
  x = byoc_infer_dim(infer, BYOC_DIM_MIN, x, high, failed);
  return byoc_dim_is_constant(x) && byoc_dim_is_constant(low) && x.constant >= low.constant
             ? x
             : byoc_infer_dim(infer, BYOC_DIM_MAX, x, low, failed);
}

static byoc_status_t slice_axis(const byoc_infer_t *infer, byoc_dim_t extent, byoc_dim_t start, byoc_dim_t end,
                                int64_t step, byoc_dim_t *out_start, byoc_dim_t *out_length, bool *failed) {
  byoc_dim_t zero = byoc_dim_constant(0),
             last = byoc_infer_dim(infer, BYOC_DIM_SUB, extent, byoc_dim_constant(1), failed);
  byoc_dim_t distance;
  if (step > 0) {
    // A start beyond the end needs no clamping: the length is then 0 and nothing is read.
    bool plain = byoc_dim_is_constant(start) && start.constant >= 0 && !is_huge(start);
    *out_start = plain ? start : clamp(infer, start, extent, zero, extent, failed);
    byoc_dim_t stop = clamp(infer, end, extent, zero, extent, failed);
    distance = byoc_infer_dim(infer, BYOC_DIM_SUB, stop, *out_start, failed);
  } else {
    *out_start = clamp(infer, start, extent, zero, last, failed);
    byoc_dim_t stop = clamp(infer, end, extent, byoc_dim_constant(-1), last, failed);
    distance = byoc_infer_dim(infer, BYOC_DIM_SUB, *out_start, stop, failed);
  }
  byoc_dim_t length =
      byoc_infer_dim(infer, BYOC_DIM_CEILDIV, distance, byoc_dim_constant(step > 0 ? step : -step), failed);
  // A slice of the whole of a symbolic dimension needs no maximum.
  bool whole = byoc_dim_equal(length, extent);
  *out_length = whole ? length : byoc_infer_dim(infer, BYOC_DIM_MAX, length, zero, failed);
  // An empty dimension stays empty when it is walked backwards: its start was clamped to 0.
  if (step < 0 && !whole) *out_length = byoc_infer_dim(infer, BYOC_DIM_MIN, *out_length, extent, failed);
  return BYOC_OK;
}

// Starts or ends: an attribute, else an operand followed symbolically.
static bool read_bounds(const byoc_infer_t *infer, const char *name, uint32_t operand, int32_t *count,
                        byoc_dim_t *out) {
  byoc_ints_t ints;
  if (byoc_read_ints(infer->node, name, -1, &ints) == BYOC_KNOWN_YES) {
    if (ints.count > BYOC_MAX_RANK) return false;
    *count = (int32_t)ints.count;
    for (size_t i = 0; i < ints.count; ++i) out[i] = byoc_dim_constant(ints.values[i]);
    return true;
  }
  return byoc_has_operand(infer->node, operand) &&
         byoc_shape_value(infer->node->operands[operand], infer->arena, count, out);
}

static byoc_status_t read_slice(const byoc_infer_t *infer, const byoc_type_t *x, slice_t *slice) {
  const byoc_node_t *node = infer->node;
  byoc_dim_t starts[BYOC_MAX_RANK], ends[BYOC_MAX_RANK];
  int32_t start_count = 0, end_count = 0;
  *slice = (slice_t){.known = true};
  if (!read_bounds(infer, "starts", 1, &start_count, starts)) slice->known = false;
  if (!read_bounds(infer, "ends", 2, &end_count, ends)) slice->known = false;
  // All lists are as long as that of the starts.
  int64_t length = byoc_has_operand(node, 1) ? byoc_type_element_count(byoc_operand_type(node, 1)) : -1;
  for (uint32_t i = 2; i <= 4 && length >= 0; ++i) BYOC_RETURN_IF_ERROR(byoc_infer_need_list(infer, i, length));
  byoc_ints_t axes, steps;
  byoc_known_t axes_known = byoc_read_ints(node, "axes", 3, &axes), steps_known = byoc_read_ints(node, NULL, 4, &steps);
  if (axes_known == BYOC_KNOWN_NO || steps_known == BYOC_KNOWN_NO) {
    // Any dimension may be cut: only the rank is known.
    *slice = (slice_t){.dynamic = true};
    return BYOC_OK;
  }
  int64_t count = start_count;
  if (!slice->known) {
    count = axes_known == BYOC_KNOWN_YES ? (int64_t)axes.count : byoc_type_element_count(byoc_operand_type(node, 1));
    if (count < 0) { // any dimension may be cut, as above
      *slice = (slice_t){.dynamic = true};
      return BYOC_OK;
    }
  } else if (start_count != end_count) {
    return byoc_infer_error(infer, "%d starts, but %d ends", start_count, end_count);
  }
  if (axes_known == BYOC_KNOWN_YES && (int64_t)axes.count != count) {
    return byoc_infer_error(infer, "%lld starts, but %zu axes", (long long)count, axes.count);
  }
  if (steps_known == BYOC_KNOWN_YES && (int64_t)steps.count != count) {
    return byoc_infer_error(infer, "%lld starts, but %zu steps", (long long)count, steps.count);
  }
  if (count > x->rank) return byoc_infer_error(infer, "%lld starts are given for rank %d", (long long)count, x->rank);
  bool failed = false;
  for (int32_t i = 0; i < count; ++i) {
    int32_t axis = i;
    if (axes_known == BYOC_KNOWN_YES && !byoc_normalize_axis(axes.values[i], x->rank, &axis)) {
      return byoc_infer_error(infer, "'axes': expected values in [%d, %d], got %lld", -x->rank, x->rank - 1,
                              (long long)axes.values[i]);
    }
    int64_t step = steps_known == BYOC_KNOWN_YES ? steps.values[i] : 1;
    if (step == 0) return byoc_infer_error(infer, "a step must not be 0");
    if (step < -INT32_MAX) step = -INT32_MAX;
    if (step > INT32_MAX) step = INT32_MAX;
    if (slice->sliced[axis]) return byoc_infer_error(infer, "'axes' names dimension %d twice", axis);
    slice->sliced[axis] = true;
    slice->step[axis] = step;
    slice->place[axis] = i;
    if (slice->known) {
      BYOC_RETURN_IF_ERROR(slice_axis(infer, x->dims[axis], starts[i], ends[i], step, &slice->start[axis],
                                      &slice->length[axis], &failed));
    }
  }
  return byoc_infer_memory(infer, failed);
}

static byoc_status_t infer_slice(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  for (uint32_t i = 1; i < infer->node->operand_count; ++i) {
    if (byoc_has_operand(infer->node, i))
      BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, byoc_dtype_is_integer, "a list"));
  }
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  const byoc_type_t *starts = byoc_operand_type(infer->node, 1);
  for (uint32_t i = 2; starts && i < infer->node->operand_count; ++i) { // lists are as long as each other
    const byoc_type_t *list = byoc_operand_type(infer->node, i);
    int64_t count = byoc_type_element_count(starts);
    if (!list || byoc_type_is_static(list) || count < 0) continue;
    BYOC_RETURN_IF_ERROR(byoc_infer_need_count(infer, i, byoc_side_number(count)));
  }
  slice_t slice;
  BYOC_RETURN_IF_ERROR(read_slice(infer, x, &slice));
  if (infer->opset >= 10) BYOC_RETURN_IF_ERROR(byoc_infer_need_axes(infer, 3, x->rank, true));
  if (infer->opset >= 10) BYOC_RETURN_IF_ERROR(byoc_infer_need_not_zero(infer, 4, "the steps"));
  if (slice.dynamic) return byoc_infer_set_unknown(infer, 0, x->dtype, x->rank);
  byoc_dim_t dims[BYOC_MAX_RANK];
  bool failed = false;
  for (int32_t d = 0; d < x->rank; ++d) {
    dims[d] = x->dims[d];
    if (slice.sliced[d]) dims[d] = slice.known ? slice.length[d] : byoc_infer_unknown_dim(infer, &failed);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, x->dtype, x->rank, dims);
}

// A start that is data: negative ones count from the end, and all are clamped to where the step can start.
static const byoc_loop_expr_t *clamped_start(byoc_loop_builder_t *b, const byoc_loop_expr_t *start,
                                             const byoc_loop_expr_t *step, const byoc_loop_expr_t *extent) {
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *one = byoc_loop_int(b, 1);
  start = byoc_loop_select(b, BIN(LT, start, zero), BYOC_LADD(b, start, extent), start);
  const byoc_loop_expr_t *most = byoc_loop_select(b, BIN(LT, zero, step), extent, BYOC_LSUB(b, extent, one));
  return BYOC_LMAX(b, zero, BYOC_LMIN(b, start, most));
}

// If the axes are data: the one that names dimension d gives its start and step.
static const byoc_loop_expr_t *dynamic_index(byoc_lower_t *lower, const byoc_node_t *node, int32_t d,
                                             const byoc_loop_expr_t *index) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  int64_t count = byoc_type_element_count(node->operands[1]->type);
  if (count < 0) return NULL;
  const byoc_loop_expr_t *at = index;
  for (int64_t i = 0; i < count && i < x->rank; ++i) {
    const byoc_loop_expr_t *axis = byoc_loop_int(b, i), *step = byoc_loop_int(b, 1);
    if (byoc_has_operand(node, 3)) // as in the result's shape, axes out of range are clamped
      axis = byoc_emit_index(b, byoc_emit_int(lower, node, 3, i), byoc_loop_int(b, x->rank));
    if (byoc_has_operand(node, 4)) step = byoc_emit_int(lower, node, 4, i);
    const byoc_loop_expr_t *start = clamped_start(b, byoc_emit_int(lower, node, 1, i), step, byoc_emit_dim(b, x, d));
    at = byoc_loop_select(b, BIN(EQ, axis, byoc_loop_int(b, d)), BYOC_LADD(b, start, BYOC_LMUL(b, index, step)), at);
  }
  return at;
}

static const byoc_loop_expr_t *point_slice(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                           const byoc_loop_expr_t *const *indices) {
  (void)result;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  byoc_graph_module_t *module = node->function->module;
  byoc_infer_t infer = {(byoc_node_t *)node, &module->arena, node->since_version, NULL, &module->next_id, NULL};
  slice_t slice;
  if (read_slice(&infer, x, &slice) != BYOC_OK) {
    b->failed = true;
    return NULL;
  }
  const byoc_loop_expr_t *at[BYOC_MAX_RANK];
  for (int32_t d = 0; d < x->rank; ++d) {
    at[d] = indices[d];
    if (slice.dynamic) at[d] = dynamic_index(lower, node, d, indices[d]);
    if (!slice.sliced[d]) continue;
    const byoc_loop_expr_t *start = NULL, *step = byoc_loop_int(b, slice.step[d]);
    if (slice.known) {
      start = byoc_loop_dim(b, slice.start[d]);
    } else {
      start = clamped_start(b, byoc_emit_int(lower, node, 1, slice.place[d]), step, byoc_emit_dim(b, x, d));
    }
    at[d] = BYOC_LADD(b, start, BYOC_LMUL(b, indices[d], step));
  }
  return byoc_lower_load(lower, node, 0, at);
}

// The number of elements of `extent` between a start and an end with a step, all of which are data.
static const byoc_loop_expr_t *sliced_length(byoc_loop_builder_t *b, const byoc_loop_expr_t *start,
                                             const byoc_loop_expr_t *end, const byoc_loop_expr_t *step,
                                             const byoc_loop_expr_t *extent) {
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *one = byoc_loop_int(b, 1);
  const byoc_loop_expr_t *forward = byoc_loop_let(b, "forward", BIN(LT, zero, step));
  start = byoc_loop_let(b, "start", clamped_start(b, start, step, extent));
  end = byoc_loop_select(b, BIN(LT, end, zero), BYOC_LADD(b, end, extent), end);
  const byoc_loop_expr_t *least = byoc_loop_select(b, forward, zero, byoc_loop_int(b, -1));
  const byoc_loop_expr_t *most = byoc_loop_select(b, forward, extent, BYOC_LSUB(b, extent, one));
  end = byoc_loop_let(b, "end", BYOC_LMAX(b, least, BYOC_LMIN(b, end, most)));
  const byoc_loop_expr_t *distance = byoc_loop_select(b, forward, BYOC_LSUB(b, end, start), BYOC_LSUB(b, start, end));
  const byoc_loop_expr_t *stride = BYOC_LMAX(b, one, byoc_loop_unary(b, BYOC_LOOP_OP_ABS, step));
  const byoc_loop_expr_t *length = BYOC_LDIV(b, BYOC_LADD(b, distance, BYOC_LSUB(b, stride, one)), stride);
  return BYOC_LMAX(b, zero, BYOC_LMIN(b, length, extent)); // an empty dimension stays empty when walked backwards
}

static const byoc_loop_expr_t *shape_slice(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  (void)result;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  const byoc_loop_expr_t *extent = byoc_emit_dim(b, x, d), *length = extent;
  int64_t count = byoc_type_element_count(node->operands[1]->type);
  if (count < 0) return NULL; // the number of starts is data, too
  for (int64_t i = 0; i < count && i < x->rank; ++i) {
    const byoc_loop_expr_t *axis = byoc_loop_int(b, i), *step = byoc_loop_int(b, 1);
    if (byoc_has_operand(node, 3))
      axis = byoc_emit_index(b, byoc_emit_int(lower, node, 3, i), byoc_loop_int(b, x->rank));
    if (byoc_has_operand(node, 4)) step = byoc_emit_int(lower, node, 4, i);
    int64_t known = 0;
    if (axis && byoc_loop_is_int(axis, &known) && known != d) continue;
    const byoc_loop_expr_t *cut =
        sliced_length(b, byoc_emit_int(lower, node, 1, i), byoc_emit_int(lower, node, 2, i), step, extent);
    length = byoc_loop_select(b, BIN(EQ, axis, byoc_loop_int(b, d)), cut, length);
  }
  return length;
}

static const byoc_op_attribute_t slice_attributes[] = {
    {BYOC_ATTR_REQUIRED(INTS, "starts"), .until = 10},
    {BYOC_ATTR_REQUIRED(INTS, "ends"), .until = 10},
    {BYOC_ATTR(INTS, "axes"), .until = 10},
    BYOC_ATTR_END,
};

#define SLICE(version, least, most, mask)                                                                              \
  {                                                                                                                    \
    .domain = "", .name = "Slice", .since_version = version, .min_inputs = least, .max_inputs = most,                  \
    .min_outputs = 1, .max_outputs = 1, .traits = BYOC_OP_INJECTIVE | BYOC_OP_MOVES | BYOC_OP_LIMITS,                  \
    .attributes = slice_attributes, .infer = infer_slice, .point = point_slice, .shape_operands = mask,                \
    .shape_elements = mask, .shape = (mask) != 0 ? shape_slice : NULL, .axes = byoc_axes_slice                         \
  }
#define FROM_1_TO_4 (1u << 1 | 1u << 2 | 1u << 3 | 1u << 4)

const byoc_op_t byoc_ops_slice[] = {
    SLICE(1, 1, 1, 0),
    SLICE(10, 3, 5, FROM_1_TO_4),
    SLICE(11, 3, 5, FROM_1_TO_4),
    SLICE(13, 3, 5, FROM_1_TO_4),
};
const size_t byoc_ops_slice_count = sizeof byoc_ops_slice / sizeof *byoc_ops_slice;

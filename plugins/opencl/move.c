// SPDX-License-Identifier: Apache-2.0
// Operators that move elements: each element of a result is an element of an operand.
#include <stdlib.h>
#include <string.h>

#include "operator.h"

// True if the operand's data come to the result. The other operands, which say how, must be constant if sizes are
// dynamic.
static const char *check_moved(const byoc_opencl_source_t *source) {
  const byoc_graph_api_t *graph = source->graph;
  byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  bool is_open = byoc_opencl_is_open(source, byoc_opencl_operand(source, 0));
  const char *reason = byoc_opencl_check_tensor(graph, byoc_opencl_operand(source, 0), BYOC_DTYPE_NONE);
  for (uint64_t i = 0; reason == NULL && i < graph->node_result_count(source->node); ++i) {
    if (!byoc_opencl_is_used(source, i)) continue;
    is_open = is_open || byoc_opencl_is_open(source, byoc_opencl_result(source, i));
    reason = byoc_opencl_check_tensor(graph, byoc_opencl_result(source, i), BYOC_DTYPE_NONE);
  }
  for (uint64_t i = 1; reason == NULL && is_open && i < graph->operand_count(source->node); ++i) {
    const byoc_value_t *operand = byoc_opencl_operand(source, i);
    if (operand != NULL && !graph->value_constant(operand, &data)) reason = "a shape or an index that a run computes";
  }
  return reason;
}

// ---- views ----

const char *byoc_opencl_check_view(const byoc_opencl_source_t *source) {
  if (byoc_opencl_is_used(source, 1)) return "the mask of a Dropout";
  if (strcmp(source->graph->node_operator(source->node), "Dropout") == 0 && byoc_opencl_operand(source, 2) != NULL)
    return "a Dropout that may be training";
  return check_moved(source);
}

byoc_opencl_name_t byoc_opencl_point_view(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source, uint32_t result,
                                          byoc_opencl_index_t *index) {
  (void)result;
  const byoc_value_t *value = byoc_opencl_operand(source, 0);
  byoc_opencl_shape_t shape = byoc_opencl_shape_of(source->sizes, value);
  byoc_opencl_index_t at = byoc_opencl_index(&shape, index->linear);
  return byoc_opencl_emit_element(emit, value, byoc_opencl_same_shape(&shape, &index->shape) ? index : &at);
}

// ---- others ----

// The element of operand 0 at these coordinates.
static byoc_opencl_name_t element_at(byoc_opencl_emit_t *emit, const byoc_value_t *value,
                                     const byoc_opencl_name_t *axes) {
  byoc_opencl_shape_t shape = byoc_opencl_shape_of(emit->sizes, value);
  byoc_opencl_index_t at = byoc_opencl_index_of_axes(emit, &shape, axes);
  return byoc_opencl_emit_element(emit, value, &at);
}

static void emit_axes(byoc_opencl_emit_t *emit, byoc_opencl_index_t *index, byoc_opencl_name_t *axes) {
  for (int32_t i = 0; i < index->shape.rank; ++i) axes[i] = byoc_opencl_emit_axis(emit, index, i);
}

// axis * step + start as a variable
static byoc_opencl_name_t shifted(byoc_opencl_emit_t *emit, byoc_opencl_name_t axis, int64_t step,
                                  byoc_opencl_size_t start) {
  if (step == 1 && byoc_opencl_size_is(start, 0)) return axis;
  byoc_opencl_name_t name = byoc_opencl_variable(emit, 'i');
  byoc_opencl_line(emit, "const int %s = %s * %lld + %s;", name.text, axis.text, (long long)step,
                   BYOC_OPENCL_SIZE(emit, start));
  return name;
}

const char *byoc_opencl_check_transpose(const byoc_opencl_source_t *source) {
  return check_moved(source);
}

byoc_opencl_name_t byoc_opencl_point_transpose(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source,
                                               uint32_t result, byoc_opencl_index_t *index) {
  (void)result;
  uint64_t count = 0;
  const int64_t *order = source->graph->attribute_ints(source->node, "perm", &count);
  byoc_opencl_name_t axes[BYOC_OPENCL_MOST_DIMS];
  for (int32_t i = 0; i < index->shape.rank; ++i) {
    int32_t from = order != NULL && i < (int32_t)count ? (int32_t)order[i] : index->shape.rank - 1 - i;
    axes[from] = byoc_opencl_emit_axis(emit, index, i);
  }
  return element_at(emit, byoc_opencl_operand(source, 0), axes);
}

// Where a slice begins along a dimension: at `given`, counted from the end if it is negative, and within the dimension.
// Only an empty slice or one that steps back begins beyond the end.
static byoc_opencl_size_t slice_start(byoc_opencl_sizes_t *sizes, byoc_opencl_size_t size, int64_t given) {
  byoc_opencl_size_t last = byoc_opencl_size_subtract(sizes, size, byoc_opencl_size(1));
  if (given == 0) return byoc_opencl_size(0);
  if (given > INT32_MAX) return last;
  if (given > 0) return byoc_opencl_size_smaller(sizes, byoc_opencl_size(given), last);
  if (given < -INT32_MAX) return byoc_opencl_size(0);
  byoc_opencl_size_t start = byoc_opencl_size_subtract(sizes, size, byoc_opencl_size(-given));
  return byoc_opencl_size_larger(sizes, start, byoc_opencl_size(0));
}

// Where a slice begins and how it steps along each dimension; false if that is not constant.
static bool read_slice(const byoc_opencl_source_t *source, const byoc_opencl_shape_t *shape, byoc_opencl_size_t *starts,
                       int64_t *steps) {
  const byoc_graph_api_t *graph = source->graph;
  int64_t given[BYOC_OPENCL_MOST_DIMS], axes[BYOC_OPENCL_MOST_DIMS], strides[BYOC_OPENCL_MOST_DIMS];
  int32_t count = 0, axis_count = -1, stride_count = -1;
  uint64_t length = 0;
  const int64_t *list = graph->attribute_ints(source->node, "starts", &length);
  if (list != NULL) { // before opset 10
    if (length > BYOC_OPENCL_MOST_DIMS) return false;
    count = (int32_t)length;
    memcpy(given, list, length * sizeof(*list));
    list = graph->attribute_ints(source->node, "axes", &length);
    if (list != NULL && length == (uint64_t)count) {
      memcpy(axes, list, length * sizeof(*list));
      axis_count = count;
    }
  } else {
    if (!byoc_opencl_integers(graph, byoc_opencl_operand(source, 1), given, &count)) return false;
    const byoc_value_t *which = byoc_opencl_operand(source, 3), *how = byoc_opencl_operand(source, 4);
    if (which != NULL && !byoc_opencl_integers(graph, which, axes, &axis_count)) return false;
    if (how != NULL && !byoc_opencl_integers(graph, how, strides, &stride_count)) return false;
  }
  if ((axis_count >= 0 && axis_count != count) || (stride_count >= 0 && stride_count != count)) return false;
  for (int32_t i = 0; i < shape->rank; ++i) starts[i] = byoc_opencl_size(0), steps[i] = 1;
  for (int32_t i = 0; i < count; ++i) {
    int64_t axis = axis_count >= 0 ? axes[i] : i;
    if (axis < 0) axis += shape->rank;
    if (axis < 0 || axis >= shape->rank) return false;
    steps[axis] = stride_count >= 0 ? strides[i] : 1;
    starts[axis] = slice_start(source->sizes, shape->dims[axis], given[i]);
  }
  return true;
}

const char *byoc_opencl_check_slice(const byoc_opencl_source_t *source) {
  byoc_opencl_size_t starts[BYOC_OPENCL_MOST_DIMS];
  int64_t steps[BYOC_OPENCL_MOST_DIMS];
  const char *reason = check_moved(source);
  if (reason != NULL) return reason;
  byoc_opencl_shape_t shape = byoc_opencl_shape_of(source->sizes, byoc_opencl_operand(source, 0));
  return read_slice(source, &shape, starts, steps) ? NULL : "a slice that is not constant";
}

byoc_opencl_name_t byoc_opencl_point_slice(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source,
                                           uint32_t result, byoc_opencl_index_t *index) {
  (void)result;
  byoc_opencl_size_t starts[BYOC_OPENCL_MOST_DIMS];
  int64_t steps[BYOC_OPENCL_MOST_DIMS];
  byoc_opencl_name_t axes[BYOC_OPENCL_MOST_DIMS];
  const byoc_value_t *value = byoc_opencl_operand(source, 0);
  byoc_opencl_shape_t shape = byoc_opencl_shape_of(source->sizes, value);
  (void)read_slice(source, &shape, starts, steps); // as check_slice did
  emit_axes(emit, index, axes);
  for (int32_t i = 0; i < shape.rank; ++i) axes[i] = shifted(emit, axes[i], steps[i], starts[i]);
  return element_at(emit, value, axes);
}

const char *byoc_opencl_check_concat(const byoc_opencl_source_t *source) {
  int32_t axis;
  const char *reason = byoc_opencl_check_tensors(source, BYOC_DTYPE_NONE);
  if (reason != NULL) return reason;
  int32_t rank = source->graph->value_rank(byoc_opencl_result(source, 0));
  return byoc_opencl_axis(source, "axis", rank, &axis) ? NULL : "an axis out of range";
}

byoc_opencl_name_t byoc_opencl_point_concat(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source,
                                            uint32_t result, byoc_opencl_index_t *index) {
  const byoc_graph_api_t *graph = source->graph;
  const byoc_value_t *value = byoc_opencl_result(source, result);
  int32_t axis = 0;
  byoc_opencl_pile_t parts = {0};
  byoc_opencl_size_t begin = byoc_opencl_size(0);
  byoc_opencl_name_t axes[BYOC_OPENCL_MOST_DIMS];
  (void)byoc_opencl_axis(source, "axis", index->shape.rank, &axis);
  emit_axes(emit, index, axes);
  byoc_opencl_name_t at = axes[axis], name = byoc_opencl_variable(emit, 'v');
  uint64_t count = graph->operand_count(source->node);
  byoc_opencl_line(emit, "%s %s;", byoc_opencl_type_name(graph->value_dtype(value)), name.text);
  for (uint64_t i = 0; i < count; ++i) {
    const byoc_value_t *operand = byoc_opencl_operand(source, i);
    byoc_opencl_size_t end = begin; // the last operand has the rest
    if (i + 1 < count) {
      byoc_opencl_pile_add(emit->sizes, byoc_opencl_size_add, &parts, byoc_opencl_size_of(emit->sizes, operand, axis));
      end = byoc_opencl_pile_total(emit->sizes, byoc_opencl_size_add, &parts);
    }
    if (i + 1 == count)
      byoc_opencl_line(emit, i == 0 ? "{" : "} else {");
    else
      byoc_opencl_line(emit, "%sif (%s < %s) {", i == 0 ? "" : "} else ", at.text, BYOC_OPENCL_SIZE(emit, end));
    uint32_t mark = byoc_opencl_block_begin(emit);
    axes[axis] = shifted(emit, at, 1, byoc_opencl_size_subtract(emit->sizes, byoc_opencl_size(0), begin));
    byoc_opencl_name_t element = element_at(emit, operand, axes);
    byoc_opencl_line(emit, "%s = %s;", name.text, element.text);
    byoc_opencl_block_end(emit, mark);
    begin = end;
  }
  byoc_opencl_line(emit, "}");
  return name;
}

const char *byoc_opencl_check_split(const byoc_opencl_source_t *source) {
  int32_t axis;
  const char *reason = check_moved(source);
  if (reason != NULL) return reason;
  int32_t rank = source->graph->value_rank(byoc_opencl_operand(source, 0));
  if (!byoc_opencl_axis(source, "axis", rank, &axis)) return "an axis out of range";
  for (uint64_t i = 0; i < source->graph->node_result_count(source->node); ++i) {
    const byoc_value_t *part = byoc_opencl_result(source, i);
    if (part == NULL) return "a part that has no size";
  }
  return NULL;
}

byoc_opencl_name_t byoc_opencl_point_split(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source,
                                           uint32_t result, byoc_opencl_index_t *index) {
  int32_t axis = 0;
  byoc_opencl_pile_t parts = {0};
  byoc_opencl_name_t axes[BYOC_OPENCL_MOST_DIMS];
  (void)byoc_opencl_axis(source, "axis", index->shape.rank, &axis);
  for (uint32_t i = 0; i < result; ++i) {
    byoc_opencl_size_t part = byoc_opencl_size_of(emit->sizes, byoc_opencl_result(source, i), axis);
    byoc_opencl_pile_add(emit->sizes, byoc_opencl_size_add, &parts, part);
  }
  byoc_opencl_size_t begin = byoc_opencl_pile_total(emit->sizes, byoc_opencl_size_add, &parts);
  emit_axes(emit, index, axes);
  axes[axis] = shifted(emit, axes[axis], 1, begin);
  return element_at(emit, byoc_opencl_operand(source, 0), axes);
}

const char *byoc_opencl_check_expand(const byoc_opencl_source_t *source) {
  return check_moved(source);
}

byoc_opencl_name_t byoc_opencl_point_expand(byoc_opencl_emit_t *emit, const byoc_opencl_source_t *source,
                                            uint32_t result, byoc_opencl_index_t *index) {
  (void)result;
  const byoc_value_t *value = byoc_opencl_operand(source, 0);
  byoc_opencl_shape_t shape = byoc_opencl_shape_of(source->sizes, value);
  byoc_opencl_index_t at = byoc_opencl_index_broadcast(emit, &shape, index);
  return byoc_opencl_emit_element(emit, value, &at);
}

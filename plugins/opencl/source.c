// SPDX-License-Identifier: Apache-2.0
// Reads shapes, operands, attributes and constants of a node.
#include "source.h"

#include <string.h>

byoc_value_t *byoc_opencl_operand(const byoc_opencl_source_t *source, uint64_t index) {
  return index < source->graph->operand_count(source->node) ? source->graph->operand(source->node, index) : NULL;
}

byoc_value_t *byoc_opencl_result(const byoc_opencl_source_t *source, uint64_t index) {
  return index < source->graph->node_result_count(source->node) ? source->graph->node_result(source->node, index)
                                                                : NULL;
}

byoc_opencl_shape_t byoc_opencl_shape(byoc_opencl_sizes_t *sizes, int32_t rank, const byoc_opencl_size_t *dims) {
  byoc_opencl_shape_t shape = {.rank = rank, .count = byoc_opencl_size_product(sizes, dims, rank)};
  if (rank > 0) memcpy(shape.dims, dims, (size_t)rank * sizeof(*dims));
  return shape;
}

byoc_opencl_shape_t byoc_opencl_shape_of(byoc_opencl_sizes_t *sizes, const byoc_value_t *value) {
  byoc_opencl_size_t dims[BYOC_OPENCL_MOST_DIMS];
  int32_t rank = sizes->graph->value_rank(value);
  for (int32_t i = 0; i < rank; ++i) dims[i] = byoc_opencl_size_of(sizes, value, i);
  return byoc_opencl_shape(sizes, rank, dims);
}

bool byoc_opencl_same_shape(const byoc_opencl_shape_t *left, const byoc_opencl_shape_t *right) {
  if (left->rank != right->rank) return false;
  for (int32_t i = 0; i < left->rank; ++i)
    if (!byoc_opencl_size_same(left->dims[i], right->dims[i])) return false;
  return true;
}

bool byoc_opencl_is_open(const byoc_opencl_source_t *source, const byoc_value_t *value) {
  return source->graph->value_element_count(value) < 0;
}

const char *byoc_opencl_type_name(uint32_t dtype) {
  switch (dtype) {
  case BYOC_DTYPE_F32:
    return "float";
  case BYOC_DTYPE_I64:
  case BYOC_DTYPE_U64:
  case BYOC_DTYPE_F64:
    return "long";
  case BYOC_DTYPE_I32:
  case BYOC_DTYPE_U32:
    return "int";
  case BYOC_DTYPE_I16:
  case BYOC_DTYPE_U16:
  case BYOC_DTYPE_F16:
  case BYOC_DTYPE_BF16:
    return "short";
  case BYOC_DTYPE_I8:
  case BYOC_DTYPE_U8:
  case BYOC_DTYPE_BOOL:
    return "char";
  default:
    return NULL;
  }
}

const char *byoc_opencl_check_tensor(const byoc_graph_api_t *graph, const byoc_value_t *value, uint32_t dtype) {
  int32_t rank = graph->value_rank(value);
  uint32_t own = graph->value_dtype(value);
  if (dtype != BYOC_DTYPE_NONE && own != dtype) return "a tensor that is not f32";
  if (byoc_opencl_type_name(own) == NULL) return "a tensor of a type that OpenCL C does not have";
  if (rank < 0) return "a tensor of unknown rank";
  if (rank > BYOC_OPENCL_MOST_DIMS) return "a tensor of more than 8 dimensions";
  for (int32_t i = 0; i < rank; ++i)
    if (graph->value_dim(value, i) == 0) return "an empty tensor"; // beside open dimensions, too
  return graph->value_element_count(value) > INT32_MAX / 4 ? "a tensor of more elements than an int counts" : NULL;
}

const char *byoc_opencl_check_tensors(const byoc_opencl_source_t *source, uint32_t dtype) {
  const char *reason = NULL;
  for (uint64_t i = 0; reason == NULL && i < source->graph->operand_count(source->node); ++i) {
    const byoc_value_t *operand = byoc_opencl_operand(source, i);
    if (operand != NULL) reason = byoc_opencl_check_tensor(source->graph, operand, dtype);
  }
  for (uint64_t i = 0; reason == NULL && i < source->graph->node_result_count(source->node); ++i) {
    if (byoc_opencl_is_used(source, i))
      reason = byoc_opencl_check_tensor(source->graph, byoc_opencl_result(source, i), dtype);
  }
  return reason;
}

const float *byoc_opencl_floats(const byoc_graph_api_t *graph, const byoc_value_t *value, int64_t *out_count) {
  byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  if (value == NULL || !graph->value_constant(value, &data) || data.dtype != BYOC_DTYPE_F32) return NULL;
  *out_count = (int64_t)(data.size_bytes / sizeof(float));
  return data.data;
}

bool byoc_opencl_integers(const byoc_graph_api_t *graph, const byoc_value_t *value, int64_t *values,
                          int32_t *out_count) {
  byoc_tensor_data_t data = {.header = BYOC_HEADER(byoc_tensor_data_t, 1)};
  if (value == NULL || !graph->value_constant(value, &data)) return false;
  size_t size = data.dtype == BYOC_DTYPE_I64 ? sizeof(int64_t) : data.dtype == BYOC_DTYPE_I32 ? sizeof(int32_t) : 0;
  if (size == 0 || data.size_bytes / size > BYOC_OPENCL_MOST_DIMS) return false;
  *out_count = (int32_t)(data.size_bytes / size);
  for (int32_t i = 0; i < *out_count; ++i) {
    int32_t narrow = 0;
    if (size == sizeof(narrow)) memcpy(&narrow, (const char *)data.data + (size_t)i * size, size);
    values[i] = narrow;
    if (size == sizeof(*values)) memcpy(&values[i], (const char *)data.data + (size_t)i * size, size);
  }
  return true;
}

bool byoc_opencl_axis(const byoc_opencl_source_t *source, const char *name, int32_t rank, int32_t *out_axis) {
  int64_t axis = source->graph->node_int(source->node, name);
  if (axis < 0) axis += rank;
  *out_axis = (int32_t)axis;
  return axis >= 0 && axis < rank;
}

bool byoc_opencl_is_used(const byoc_opencl_source_t *source, uint64_t result) {
  const byoc_value_t *value = byoc_opencl_result(source, result);
  return value != NULL && source->graph->value_use_count(value) > 0;
}

static void read_list(const byoc_opencl_source_t *source, const char *name, int32_t count, int64_t fallback,
                      int64_t *values) {
  uint64_t given = 0;
  const int64_t *list = source->graph->attribute_ints(source->node, name, &given);
  for (int32_t i = 0; i < count; ++i) values[i] = list != NULL && given == (uint64_t)count ? list[i] : fallback;
}

// The pads of auto_pad=SAME_UPPER or SAME_LOWER: there are as many windows as steps in the input.
static void read_same(byoc_opencl_sizes_t *sizes, byoc_opencl_window_t *w, int32_t i, bool is_lower) {
  int64_t reach = (w->kernel[i] - 1) * w->dilation[i] + 1;
  byoc_opencl_size_t steps = byoc_opencl_size_subtract(sizes, w->out[i], byoc_opencl_size(1));
  byoc_opencl_size_t all = byoc_opencl_size_multiply(sizes, steps, byoc_opencl_size(w->stride[i]));
  all = byoc_opencl_size_subtract(sizes, byoc_opencl_size_add(sizes, all, byoc_opencl_size(reach)), w->in[i]);
  all = byoc_opencl_size_larger(sizes, all, byoc_opencl_size(0));
  byoc_opencl_size_t less = byoc_opencl_size_divide(sizes, all, 2);
  byoc_opencl_size_t more = byoc_opencl_size_subtract(sizes, all, less);
  w->pad[i] = is_lower ? more : less;
  w->pad_end[i] = is_lower ? less : more;
}

// Does a window along dimension i leave the input, or may it do so?
static bool leaves_input(const byoc_opencl_window_t *w, int32_t i, bool rounds_up) {
  if (!byoc_opencl_size_is(w->pad[i], 0)) return true;
  if (w->in[i].is_open || w->out[i].is_open) return rounds_up || !byoc_opencl_size_is(w->pad_end[i], 0);
  return (w->out[i].known - 1) * w->stride[i] + (w->kernel[i] - 1) * w->dilation[i] + 1 > w->in[i].known;
}

const char *byoc_opencl_read_window(const byoc_opencl_source_t *source, int32_t rank, const int64_t *kernel,
                                    byoc_opencl_window_t *out_window) {
  const byoc_graph_api_t *graph = source->graph;
  byoc_opencl_window_t *w = out_window;
  int64_t pads[2 * BYOC_OPENCL_MOST_SPATIAL];
  if (rank < 1 || rank > BYOC_OPENCL_MOST_SPATIAL) return "only windows over 1 to 3 dimensions are supported";
  *w = (byoc_opencl_window_t){.rank = rank};
  const char *automatic = graph->node_text(source->node, "auto_pad");
  bool is_same = automatic != NULL && strncmp(automatic, "SAME", 4) == 0;
  bool is_valid = automatic != NULL && strcmp(automatic, "VALID") == 0;
  read_list(source, "strides", rank, 1, w->stride);
  read_list(source, "dilations", rank, 1, w->dilation);
  read_list(source, "pads", 2 * rank, 0, pads);
  for (int32_t i = 0; i < rank; ++i) {
    w->kernel[i] = kernel[i];
    w->in[i] = byoc_opencl_size_of(source->sizes, byoc_opencl_operand(source, 0), 2 + i);
    w->out[i] = byoc_opencl_size_of(source->sizes, byoc_opencl_result(source, 0), 2 + i);
    if (!is_valid && !is_same && (pads[i] < 0 || pads[rank + i] < 0)) return "negative pads";
    w->pad[i] = byoc_opencl_size(is_valid ? 0 : pads[i]);
    w->pad_end[i] = byoc_opencl_size(is_valid ? 0 : pads[rank + i]);
    if (is_same) read_same(source->sizes, w, i, strcmp(automatic, "SAME_LOWER") == 0);
    w->has_pads = w->has_pads || leaves_input(w, i, graph->attribute_int(source->node, "ceil_mode", 0) != 0);
  }
  return NULL;
}

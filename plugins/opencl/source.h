// SPDX-License-Identifier: Apache-2.0
// source.h - reading the graph: shapes, operands, attributes and constants of a node.
#ifndef BYOC_OPENCL_SOURCE_H_
#define BYOC_OPENCL_SOURCE_H_

#include <stddef.h>

#include "size.h"

enum { BYOC_OPENCL_MOST_DIMS = 8, BYOC_OPENCL_MOST_SPATIAL = 3 };

typedef struct byoc_opencl_shape_t {
  int32_t rank;
  byoc_opencl_size_t dims[BYOC_OPENCL_MOST_DIMS];
  byoc_opencl_size_t count; // of elements
} byoc_opencl_shape_t;

// A node, with what reads it.
typedef struct byoc_opencl_source_t {
  const byoc_graph_api_t *graph;
  byoc_node_t *node;
  byoc_opencl_sizes_t *sizes;
} byoc_opencl_source_t;

// NULL if the operand or result is left out, or out of range.
byoc_value_t *byoc_opencl_operand(const byoc_opencl_source_t *source, uint64_t index);
byoc_value_t *byoc_opencl_result(const byoc_opencl_source_t *source, uint64_t index);

// The shape of a value whose shape passed byoc_opencl_check_tensor.
byoc_opencl_shape_t byoc_opencl_shape_of(byoc_opencl_sizes_t *sizes, const byoc_value_t *value);
byoc_opencl_shape_t byoc_opencl_shape(byoc_opencl_sizes_t *sizes, int32_t rank, const byoc_opencl_size_t *dims);
// Are they known to be the same?
bool byoc_opencl_same_shape(const byoc_opencl_shape_t *left, const byoc_opencl_shape_t *right);
bool byoc_opencl_is_open(const byoc_opencl_source_t *source, const byoc_value_t *value);

// NULL if the value is a tensor that kernels can index: of a known rank, not always empty, and of a type that OpenCL C
// has. Otherwise the reason. `dtype`: BYOC_DTYPE_NONE for any type.
const char *byoc_opencl_check_tensor(const byoc_graph_api_t *graph, const byoc_value_t *value, uint32_t dtype);
// The same for every operand and result of a node that is there and used.
const char *byoc_opencl_check_tensors(const byoc_opencl_source_t *source, uint32_t dtype);

// OpenCL C's type for an element; NULL: none. Types that only travel (f16) are integers of the same size.
const char *byoc_opencl_type_name(uint32_t dtype);

// The data of a constant f32 tensor; NULL: it is none.
const float *byoc_opencl_floats(const byoc_graph_api_t *graph, const byoc_value_t *value, int64_t *out_count);
// Up to BYOC_OPENCL_MOST_DIMS integers of a constant i32 or i64 tensor; false: it is none, or longer.
bool byoc_opencl_integers(const byoc_graph_api_t *graph, const byoc_value_t *value, int64_t *values,
                          int32_t *out_count);
// An axis attribute, counted from the front. False: it is out of range.
bool byoc_opencl_axis(const byoc_opencl_source_t *source, const char *name, int32_t rank, int32_t *out_axis);
// Is the result used by anything?
bool byoc_opencl_is_used(const byoc_opencl_source_t *source, uint64_t result);

// Sliding windows of convolutions and pools over the last `rank` dimensions.
typedef struct byoc_opencl_window_t {
  int32_t rank;
  byoc_opencl_size_t in[BYOC_OPENCL_MOST_SPATIAL], out[BYOC_OPENCL_MOST_SPATIAL];
  int64_t kernel[BYOC_OPENCL_MOST_SPATIAL], stride[BYOC_OPENCL_MOST_SPATIAL], dilation[BYOC_OPENCL_MOST_SPATIAL];
  byoc_opencl_size_t pad[BYOC_OPENCL_MOST_SPATIAL];     // before the first element
  byoc_opencl_size_t pad_end[BYOC_OPENCL_MOST_SPATIAL]; // as the node states it or auto_pad makes it, without that of
                                                        // ceil_mode
  bool has_pads;                                        // some window leaves the input, or may do so
} byoc_opencl_window_t;
// `kernel`: of out_window->rank elements. Returns NULL, or why the node is declined.
const char *byoc_opencl_read_window(const byoc_opencl_source_t *source, int32_t rank, const int64_t *kernel,
                                    byoc_opencl_window_t *out_window);

#endif // BYOC_OPENCL_SOURCE_H_

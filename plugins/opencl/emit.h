// SPDX-License-Identifier: Apache-2.0
// emit.h - the code of one kernel while it grows: its arguments, its variables, and the elements of tensors that it has
// computed.
//
// A kernel computes one tensor, its root. For an element of the root, byoc_opencl_emit_store writes the statements that
// compute and store it. The statements follow the graph from the root to its operands as far as the nodes belong to the
// kernel, and load the other tensors. So the emitter of an elementwise operator does not know its operands' operators.
#ifndef BYOC_OPENCL_EMIT_H_
#define BYOC_OPENCL_EMIT_H_

#include "common/plugin_string.h"
#include "source.h"

// A variable or literal of OpenCL C.
typedef struct byoc_opencl_name_t {
  char text[24];
} byoc_opencl_name_t;

// An element of a tensor: its place in row-major order and its coordinates, of which only those that were asked for
// exist.
typedef struct byoc_opencl_index_t {
  byoc_opencl_shape_t shape;
  byoc_opencl_name_t linear;
  byoc_opencl_name_t axes[BYOC_OPENCL_MOST_DIMS]; // "" until byoc_opencl_emit_axis makes it
} byoc_opencl_index_t;

// An argument of a kernel: a tensor that it reads or writes, or a size.
typedef struct byoc_opencl_argument_t {
  const char *extent;        // of a size, which the kernel gets as an int; NULL: it is a tensor
  const byoc_value_t *value; // NULL: a constant of the plan
  uint32_t constant;
  uint32_t dtype;
  bool is_written;
} byoc_opencl_argument_t;

// A constant that the kernels of a function read: one of the model, or one that the generator made.
typedef struct byoc_opencl_constant_t {
  const byoc_value_t *value; // or NULL
  uint32_t which;            // of those that were made for `value`, a number of the operator's own
  float *owned;              // NULL: the data of `value`
  int64_t count;             // of `owned`
} byoc_opencl_constant_t;

typedef struct byoc_opencl_constants_t {
  byoc_opencl_constant_t *items;
  uint32_t count, capacity;
} byoc_opencl_constants_t;

typedef struct byoc_opencl_kernel_t {
  const char *stem; // "conv"; the number is given when the module is put together
  byoc_plugin_string_t body;
  byoc_opencl_argument_t *arguments;
  uint32_t argument_count, argument_capacity;
  byoc_opencl_size_t grid[3]; // work-groups along each axis
  uint32_t block;             // work-items of a work-group, along the first axis
  const byoc_value_t *root;
} byoc_opencl_kernel_t;

typedef struct byoc_opencl_element_t byoc_opencl_element_t;
typedef struct byoc_opencl_operator_t byoc_opencl_operator_t; // operator.h

typedef struct byoc_opencl_emit_t {
  const byoc_graph_api_t *graph;
  byoc_opencl_sizes_t *sizes;
  byoc_opencl_kernel_t *kernel;
  byoc_opencl_constants_t *constants;
  // The row of a node whose results this kernel computes; NULL: they come from elsewhere.
  const byoc_opencl_operator_t *(*operator_inside)(const void *self, const byoc_node_t *node);
  // Where such a value is: the value whose memory it shares.
  const byoc_value_t *(*stored_as)(const void *self, const byoc_value_t *value);
  const void *self;
  int32_t depth;    // of blocks
  uint32_t counter; // of variables
  byoc_opencl_element_t *elements;
  uint32_t element_count, element_capacity;
  byoc_opencl_size_t *counts; // of elements that a run decides, each once
  uint32_t count_count, count_capacity;
  bool failed; // out of memory: later calls have no effect
} byoc_opencl_emit_t;

// The name of the kernel's parameter `index`.
byoc_opencl_name_t byoc_opencl_argument_name(const byoc_opencl_argument_t *argument, uint32_t index);

void byoc_opencl_emit_deinit(byoc_opencl_emit_t *emit);
void byoc_opencl_kernel_deinit(byoc_opencl_kernel_t *kernel);
void byoc_opencl_constants_deinit(byoc_opencl_constants_t *constants);

// A line of text, indented; "}" before and "{" at the end of a line change the depth.
void byoc_opencl_line(byoc_opencl_emit_t *emit, const char *format, ...) __attribute__((format(printf, 2, 3)));
byoc_opencl_name_t byoc_opencl_name(const char *format, ...) __attribute__((format(printf, 1, 2)));
// A new variable "<letter><number>".
byoc_opencl_name_t byoc_opencl_variable(byoc_opencl_emit_t *emit, char letter);
// A float as a literal that reads back as the same bits.
byoc_opencl_name_t byoc_opencl_float(float value);

// The argument that holds the whole of `value`, which other kernels or the caller compute.
byoc_opencl_name_t byoc_opencl_emit_argument(byoc_opencl_emit_t *emit, const byoc_value_t *value);
// A constant that the generator made; takes over `data`, allocated by malloc (NULL: out of memory). If there is one of
// the same value and number already, `data` is freed and that one is used.
byoc_opencl_name_t byoc_opencl_emit_constant(byoc_opencl_emit_t *emit, const byoc_value_t *value, uint32_t which,
                                             float *data, int64_t count);

// A size in the kernel's text: a number, or the argument that has it.
byoc_opencl_name_t byoc_opencl_emit_size(byoc_opencl_emit_t *emit, byoc_opencl_size_t size);
#define BYOC_OPENCL_SIZE(emit, size) (byoc_opencl_emit_size(emit, size).text)
// The tensors of a kernel, and those that it computes without storing them, are counted by ints. `count` notes one of
// them; `limit` tells the largest size that a run decides to the host as an argument, so that it refuses a run for
// which an int is too short.
void byoc_opencl_emit_count(byoc_opencl_emit_t *emit, const byoc_value_t *value);
void byoc_opencl_emit_limit(byoc_opencl_emit_t *emit);

// Indices. `linear` stands for an element of a tensor of this shape; views share it.
byoc_opencl_index_t byoc_opencl_index(const byoc_opencl_shape_t *shape, byoc_opencl_name_t linear);
// From coordinates: the linear place becomes a variable.
byoc_opencl_index_t byoc_opencl_index_of_axes(byoc_opencl_emit_t *emit, const byoc_opencl_shape_t *shape,
                                              const byoc_opencl_name_t *axes);
byoc_opencl_name_t byoc_opencl_emit_axis(byoc_opencl_emit_t *emit, byoc_opencl_index_t *index, int32_t axis);
// The element of a tensor of `shape` that is broadcast to the element at `index`.
byoc_opencl_index_t byoc_opencl_index_broadcast(byoc_opencl_emit_t *emit, const byoc_opencl_shape_t *shape,
                                                byoc_opencl_index_t *index);

// An element of a value as a variable: computed, loaded, or what it was before.
byoc_opencl_name_t byoc_opencl_emit_element(byoc_opencl_emit_t *emit, const byoc_value_t *value,
                                            byoc_opencl_index_t *index);
// A new variable of the value's type, set to the expression.
byoc_opencl_name_t byoc_opencl_emit_set(byoc_opencl_emit_t *emit, const byoc_value_t *value, const char *expression);
// Statements between these may declare variables that are unknown after them. `end` is given what `begin` returned.
uint32_t byoc_opencl_block_begin(byoc_opencl_emit_t *emit);
void byoc_opencl_block_end(byoc_opencl_emit_t *emit, uint32_t mark);

// Computes the root's element that lies at `linear`, and stores it. `known` (or NULL) is a value whose element at the
// same place is the variable `name`.
void byoc_opencl_emit_store(byoc_opencl_emit_t *emit, byoc_opencl_index_t *index, const byoc_value_t *known,
                            byoc_opencl_name_t name);
// `groups` work-groups of `block` work-items along the first axis; `rows` and `layers` of them along the others.
void byoc_opencl_emit_launch(byoc_opencl_emit_t *emit, const char *stem, byoc_opencl_size_t groups,
                             byoc_opencl_size_t rows, byoc_opencl_size_t layers, int64_t block);
// `items` as work-items: begins the launch with as many work-groups of up to `most` as are needed for them. A kernel
// whose items are not a multiple of the group begins by leaving those beyond them.
void byoc_opencl_emit_launch_items(byoc_opencl_emit_t *emit, const char *stem, byoc_opencl_size_t items,
                                   byoc_opencl_size_t rows, byoc_opencl_size_t layers, int64_t most);

#endif // BYOC_OPENCL_EMIT_H_

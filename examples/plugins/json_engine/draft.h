// SPDX-License-Identifier: Apache-2.0
// draft.h - a function on its way to JSON: the engine's operators (engine/nodes.c) over numbered values.
#ifndef XNNPACK_DRAFT_H_
#define XNNPACK_DRAFT_H_

#include <stdint.h>

#include "byoc/plugin.h"

#define XNNPACK_RANK_LIMIT 6

// Dimensions in ONNX's order; scalars have one of 1.
typedef struct xnnpack_shape_t {
  int32_t rank;
  int64_t dims[XNNPACK_RANK_LIMIT];
} xnnpack_shape_t;

typedef struct xnnpack_constant_t {
  float *data;
  int64_t count; // of elements, with those that pad the end
} xnnpack_constant_t;

// A text that grows.
typedef struct xnnpack_text_t {
  char *data;
  uint64_t size, capacity;
} xnnpack_text_t;

typedef struct xnnpack_draft_t {
  const byoc_graph_api_t *graph;
  xnnpack_text_t values, nodes; // as in the JSON; the last node is open
  const byoc_value_t **sources; // of each value: the model's, or NULL
  uint64_t value_count, value_capacity;
  xnnpack_constant_t *constants;
  uint64_t constant_count, constant_capacity;
  int failed; // out of memory: later calls have no effect, and values are -1
} xnnpack_draft_t;

void xnnpack_draft_init(const byoc_graph_api_t *graph, xnnpack_draft_t *out_draft);
void xnnpack_draft_deinit(xnnpack_draft_t *draft);

// The shape of a static tensor of at most XNNPACK_RANK_LIMIT dimensions.
xnnpack_shape_t xnnpack_shape_of(const byoc_graph_api_t *graph, const byoc_value_t *value);
int64_t xnnpack_shape_count(const xnnpack_shape_t *shape);

// The draft's value for one of the model's that is no constant; made when first met.
int32_t xnnpack_draft_value(xnnpack_draft_t *draft, const byoc_value_t *value);
// A value that the model does not have.
int32_t xnnpack_draft_temporary(xnnpack_draft_t *draft, const xnnpack_shape_t *shape);
// A constant: a copy of `data`, element i of dimension k at i * strides[k]. `dims` and `strides` are in the order of
// the engine, which has channels last, and so is the copy; behind it is what XNNPACK may read beyond the end.
int32_t xnnpack_draft_constant(xnnpack_draft_t *draft, int32_t rank, const int64_t *dims, const int64_t *strides,
                               const float *data, float factor);
// Appends a node; inputs of -1 are left out. The attributes that follow are its own.
void xnnpack_draft_node(xnnpack_draft_t *draft, const char *op, const int32_t *inputs, uint32_t input_count,
                        int32_t output);
void xnnpack_draft_integer(xnnpack_draft_t *draft, const char *name, int64_t value);
void xnnpack_draft_list(xnnpack_draft_t *draft, const char *name, const int64_t *values, int32_t count);
void xnnpack_draft_real(xnnpack_draft_t *draft, const char *name, double value); // finite

// The finished text, which the caller frees; NULL if out of memory.
char *xnnpack_draft_emit(xnnpack_draft_t *draft, const int32_t *inputs, uint32_t input_count, const int32_t *outputs,
                         uint32_t output_count);

#endif // XNNPACK_DRAFT_H_

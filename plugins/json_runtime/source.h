// SPDX-License-Identifier: Apache-2.0
// source.h - a node of the model, and the functions by which translators read it.
#ifndef BYOC_DNNL_SOURCE_H_
#define BYOC_DNNL_SOURCE_H_

#include "draft.h"

typedef struct byoc_dnnl_source_t {
  const byoc_graph_api_t *graph;
  const byoc_node_t *node;
  byoc_dnnl_sizes_t *sizes; // the draft's, where there is one
} byoc_dnnl_source_t;

// Name for messages: the model's, otherwise the operator.
const char *byoc_dnnl_source_name(const byoc_dnnl_source_t *source);
const byoc_value_t *byoc_dnnl_source_operand(const byoc_dnnl_source_t *source, uint64_t index); // NULL: left out
const byoc_value_t *byoc_dnnl_source_result(const byoc_dnnl_source_t *source);

// True if the value is an f32 tensor of at most BYOC_DNNL_RANK_LIMIT dimensions, none of which is 0.
int byoc_dnnl_source_is_tensor(const byoc_dnnl_source_t *source, const byoc_value_t *value);
// True if it is one without open sizes.
int byoc_dnnl_source_is_static(const byoc_dnnl_source_t *source, const byoc_value_t *value);
byoc_dnnl_shape_t byoc_dnnl_source_shape(const byoc_dnnl_source_t *source, const byoc_value_t *value);
// A constant of f32; NULL if the value is not one.
const float *byoc_dnnl_source_floats(const byoc_dnnl_source_t *source, const byoc_value_t *value, int64_t *out_count);
// Integers from the attribute `name` if the node has it, otherwise from the constant operand `operand` (i64 or i32; an
// index beyond the last operand means none). Returns their number, 0 if there are none, -1 if they are not constant or
// more than BYOC_DNNL_RANK_LIMIT.
int32_t byoc_dnnl_source_ints(const byoc_dnnl_source_t *source, const char *name, uint64_t operand, int64_t *out);
// An axis counted from the end where negative; -1 where it lies outside.
int64_t byoc_dnnl_source_axis(int64_t axis, int32_t rank);

// Elementwise: result = algorithm(operand 0).
void byoc_dnnl_source_eltwise(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft, const char *algorithm,
                              double alpha, double beta);

#endif // BYOC_DNNL_SOURCE_H_

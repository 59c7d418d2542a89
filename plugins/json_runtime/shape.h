// SPDX-License-Identifier: Apache-2.0
// shape.h - shapes of the model's tensors, whose dimensions are constants or dynamic sizes.
//
// Dynamic sizes are numbered. Dimensions that are equal in every run have the same number, so that shapes can be
// compared before the sizes are known. Size k stands in a shape, and in the JSON, as -1 - k.
#ifndef BYOC_DNNL_SHAPE_H_
#define BYOC_DNNL_SHAPE_H_

#include <stdint.h>

#include "byoc/plugin.h"

#define BYOC_DNNL_RANK_LIMIT 6

typedef struct byoc_dnnl_shape_t {
  int32_t rank;                       // at least 1
  int64_t dims[BYOC_DNNL_RANK_LIMIT]; // negative: dynamic
} byoc_dnnl_shape_t;

// The dynamic sizes met so far, each as one dimension that has it.
typedef struct byoc_dnnl_sizes_t {
  const byoc_graph_api_t *graph;
  struct byoc_dnnl_size_t {
    const byoc_value_t *value;
    int32_t axis;
  } * items;
  uint32_t count, capacity;
  int failed; // out of memory: open sizes that are met from then on are all number 0
} byoc_dnnl_sizes_t;

void byoc_dnnl_sizes_init(const byoc_graph_api_t *graph, byoc_dnnl_sizes_t *out_sizes);
void byoc_dnnl_sizes_deinit(byoc_dnnl_sizes_t *sizes);

// The shape of a model's tensor; scalars get one dimension of 1.
byoc_dnnl_shape_t byoc_dnnl_shape_of(byoc_dnnl_sizes_t *sizes, const byoc_value_t *value);
// Elements of a shape; -1 if one of its sizes is open.
int64_t byoc_dnnl_shape_count(const byoc_dnnl_shape_t *shape);
int byoc_dnnl_shape_is_static(const byoc_dnnl_shape_t *shape);
// True if the two are the same in every run.
int byoc_dnnl_shape_equal(const byoc_dnnl_shape_t *left, const byoc_dnnl_shape_t *right);

#endif // BYOC_DNNL_SHAPE_H_

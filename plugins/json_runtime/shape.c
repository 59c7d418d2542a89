// SPDX-License-Identifier: Apache-2.0
// Shapes of the model's tensors, and the numbers of open sizes.
#include "shape.h"

#include <stdlib.h>
#include <string.h>

void byoc_dnnl_sizes_init(const byoc_graph_api_t *graph, byoc_dnnl_sizes_t *out_sizes) {
  memset(out_sizes, 0, sizeof(*out_sizes));
  out_sizes->graph = graph;
}

void byoc_dnnl_sizes_deinit(byoc_dnnl_sizes_t *sizes) {
  free(sizes->items);
  memset(sizes, 0, sizeof(*sizes));
}

// The number of an open size.
static uint32_t number_of(byoc_dnnl_sizes_t *sizes, const byoc_value_t *value, int32_t axis) {
  for (uint32_t i = 0; i < sizes->count; ++i)
    if (sizes->graph->value_dims_equal(sizes->items[i].value, sizes->items[i].axis, value, axis)) return i;
  if (sizes->count == sizes->capacity && !sizes->failed) {
    const uint32_t grown = sizes->capacity > 0 ? sizes->capacity * 2 : 8;
    struct byoc_dnnl_size_t *items = realloc(sizes->items, grown * sizeof(*items));
    sizes->failed = items == NULL;
    if (items != NULL) {
      sizes->items = items;
      sizes->capacity = grown;
    }
  }
  if (sizes->failed) return 0;
  sizes->items[sizes->count] = (struct byoc_dnnl_size_t){value, axis};
  return sizes->count++;
}

byoc_dnnl_shape_t byoc_dnnl_shape_of(byoc_dnnl_sizes_t *sizes, const byoc_value_t *value) {
  byoc_dnnl_shape_t shape = {.rank = sizes->graph->value_rank(value)};
  if (shape.rank > BYOC_DNNL_RANK_LIMIT) shape.rank = BYOC_DNNL_RANK_LIMIT; // accepted values never are
  for (int32_t i = 0; i < shape.rank; ++i) {
    shape.dims[i] = sizes->graph->value_dim(value, i);
    if (shape.dims[i] < 0) shape.dims[i] = -1 - (int64_t)number_of(sizes, value, i);
  }
  if (shape.rank < 1) {
    shape.rank = 1;
    shape.dims[0] = 1;
  }
  return shape;
}

int byoc_dnnl_shape_is_static(const byoc_dnnl_shape_t *shape) {
  for (int32_t i = 0; i < shape->rank; ++i)
    if (shape->dims[i] < 0) return 0;
  return 1;
}

int64_t byoc_dnnl_shape_count(const byoc_dnnl_shape_t *shape) {
  int64_t count = 1;
  if (!byoc_dnnl_shape_is_static(shape)) return -1;
  for (int32_t i = 0; i < shape->rank; ++i) count *= shape->dims[i];
  return count;
}

int byoc_dnnl_shape_equal(const byoc_dnnl_shape_t *left, const byoc_dnnl_shape_t *right) {
  return left->rank == right->rank && memcmp(left->dims, right->dims, (size_t)left->rank * sizeof(left->dims[0])) == 0;
}

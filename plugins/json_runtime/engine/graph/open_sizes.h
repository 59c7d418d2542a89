// SPDX-License-Identifier: Apache-2.0
// open_sizes.h - dynamic sizes. In the JSON, size k stands as -1 - k among the dimensions of values. Each call brings
// the sizes of the function's tensors; the others follow from them.
#ifndef BYOC_DNNL_OPEN_SIZES_H_
#define BYOC_DNNL_OPEN_SIZES_H_

#include "engine/graph/graph.h"

#define BYOC_DNNL_SIZE_UNKNOWN (-1)

// Reads graph->open_count sizes off the tensors of a call; those that no tensor has are BYOC_DNNL_SIZE_UNKNOWN. Fails
// if the tensors are not those of the graph or contradict each other.
int32_t byoc_dnnl_open_sizes_of_call(const byoc_dnnl_graph_t *graph, const byoc_call_t *call, int64_t *out_sizes,
                                     byoc_dnnl_error_t *error);

// Puts the sizes into the dimensions of all values, and works out those that are unknown. Values may be empty then.
int32_t byoc_dnnl_open_sizes_resolve(byoc_dnnl_graph_t *graph, int64_t *sizes, byoc_dnnl_error_t *error);

#endif // BYOC_DNNL_OPEN_SIZES_H_

// SPDX-License-Identifier: Apache-2.0
// Reads dynamic sizes off a call's tensors, and infers those of intermediate values.
#include "engine/graph/open_sizes.h"

#include <string.h>

static int32_t bind_tensor(const byoc_dnnl_graph_t *graph, const DLTensor *tensor, uint32_t index,
                           const byoc_dnnl_value_t *value, int64_t *sizes, byoc_dnnl_error_t *error) {
  if (value->has_layout) return BYOC_OK; // in blocks, and of constant size
  const int is_scalar = tensor->ndim == 0 && value->rank == 1 && value->dims[0] == 1;
  if (tensor->ndim != value->rank && !is_scalar)
    return byoc_dnnl_fail(error, BYOC_INVALID_ARGUMENT, "%s: tensor %u has %d dimensions, not %d", graph->symbol, index,
                          tensor->ndim, value->rank);
  for (int32_t i = 0; i < tensor->ndim; ++i) {
    int64_t *known = value->dims[i] < 0 ? &sizes[-1 - value->dims[i]] : NULL;
    const int64_t wanted = known != NULL ? *known : value->dims[i];
    if (known != NULL && wanted == BYOC_DNNL_SIZE_UNKNOWN && tensor->shape[i] >= 0)
      *known = tensor->shape[i];
    else if (tensor->shape[i] != wanted)
      return byoc_dnnl_fail(error, BYOC_INVALID_ARGUMENT, "%s: tensor %u has size %lld along axis %d, not %lld",
                            graph->symbol, index, (long long)tensor->shape[i], i, (long long)wanted);
  }
  return BYOC_OK;
}

int32_t byoc_dnnl_open_sizes_of_call(const byoc_dnnl_graph_t *graph, const byoc_call_t *call, int64_t *out_sizes,
                                     byoc_dnnl_error_t *error) {
  for (uint32_t i = 0; i < graph->open_count; ++i) out_sizes[i] = BYOC_DNNL_SIZE_UNKNOWN;
  int32_t status = byoc_dnnl_graph_check_call(graph, call, error);
  for (uint32_t i = 0; status == BYOC_OK && i < graph->input_count + graph->output_count; ++i) {
    const int32_t value = i < graph->input_count ? graph->inputs[i] : graph->outputs[i - graph->input_count];
    status = bind_tensor(graph, &call->tensors[i], i, &graph->values[value], out_sizes, error);
  }
  return status;
}

// The size of a window's result along the spatial axis `i`; negative where the attributes are malformed.
static int64_t window_size(const byoc_dnnl_graph_t *graph, const byoc_dnnl_node_t *node, int32_t i) {
  const byoc_dnnl_value_t *x = &graph->values[node->inputs[0]];
  const int32_t rank = x->rank - 2;
  int64_t strides[DNNL_MAX_NDIMS], dilations[DNNL_MAX_NDIMS], kernel[DNNL_MAX_NDIMS], pads[2 * DNNL_MAX_NDIMS];
  if (i < 0 || i >= rank || !byoc_dnnl_node_ints(node, "strides", 1, rank, strides) || strides[i] < 1 ||
      !byoc_dnnl_node_ints(node, "dilations", 1, rank, dilations) ||
      !byoc_dnnl_node_ints(node, "kernel", 1, rank, kernel) || !byoc_dnnl_node_ints(node, "pads", 0, 2 * rank, pads))
    return -1;
  if (strcmp(node->op, "convolution") == 0) {
    if (node->input_count < 2 || node->inputs[1] < 0) return -1;
    const byoc_dnnl_value_t *weights = &graph->values[node->inputs[1]];
    if (weights->rank < rank) return -1;
    kernel[i] = weights->dims[weights->rank - rank + i];
  }
  const int64_t left = x->dims[2 + i] + pads[i] + pads[rank + i] - (kernel[i] - 1) * dilations[i] - 1;
  return left < 0 ? -1 : left / strides[i] + 1;
}

// Dimension `axis` of the node's result, which no tensor of the call has. Negative where it cannot be known.
static int64_t infer_size(const byoc_dnnl_graph_t *graph, const byoc_dnnl_node_t *node, int32_t axis) {
  const byoc_dnnl_value_t *x = &graph->values[node->inputs[0]], *y = &graph->values[node->output];
  if (strcmp(node->op, "convolution") == 0 || strcmp(node->op, "pooling") == 0)
    return window_size(graph, node, axis - 2);
  if (strcmp(node->op, "concat") == 0 && byoc_dnnl_node_int(node, "axis", -1) == axis) {
    int64_t sum = 0;
    for (uint32_t i = 0; i < node->input_count; ++i) {
      if (node->inputs[i] < 0 || graph->values[node->inputs[i]].rank <= axis) return -1;
      sum += graph->values[node->inputs[i]].dims[axis];
    }
    return sum;
  }
  if (strcmp(node->op, "slice") == 0) { // the last of several parts
    int64_t offsets[DNNL_MAX_NDIMS];
    if (x->rank != y->rank || !byoc_dnnl_node_ints(node, "offsets", 0, y->rank, offsets)) return -1;
    return x->dims[axis] - offsets[axis];
  }
  if (strcmp(node->op, "reshape") != 0) return -1;
  int64_t elements = 1, others = 1;
  for (int32_t i = 0; i < x->rank; ++i) elements *= x->dims[i];
  for (int32_t i = 0; i < y->rank; ++i)
    if (i != axis) others *= y->dims[i] < 0 ? 0 : y->dims[i];
  return others > 0 && elements % others == 0 ? elements / others : -1;
}

// Puts the known sizes into the dimensions of a value. Fails where that has more elements than any memory.
static int32_t fill_in(byoc_dnnl_graph_t *graph, int32_t index, const int64_t *sizes, byoc_dnnl_error_t *error) {
  byoc_dnnl_value_t *value = &graph->values[index];
  int64_t count = 1;
  for (int32_t i = 0; i < value->rank; ++i) {
    if (value->dims[i] < 0 && sizes[-1 - value->dims[i]] >= 0) value->dims[i] = sizes[-1 - value->dims[i]];
    if (value->dims[i] < 1) continue;
    if (value->dims[i] > ((int64_t)1 << 40) / count)
      return byoc_dnnl_fail(error, BYOC_UNSUPPORTED, "%s: value %d has too many elements", graph->symbol, index);
    count *= value->dims[i];
  }
  return BYOC_OK;
}

static int32_t resolve_node(byoc_dnnl_graph_t *graph, const byoc_dnnl_node_t *node, int64_t *sizes,
                            byoc_dnnl_error_t *error) {
  byoc_dnnl_value_t *y = &graph->values[node->output];
  int32_t status = fill_in(graph, node->output, sizes, error);
  for (int32_t i = 0; status == BYOC_OK && i < y->rank; ++i) {
    if (y->dims[i] >= 0) continue;
    const int64_t size = infer_size(graph, node, i);
    if (size < 0)
      return byoc_dnnl_fail(error, BYOC_INVALID_DATA,
                            "%s: node %s (%s): axis %d of its result has no size for these inputs", graph->symbol,
                            node->name, node->op, i);
    sizes[-1 - y->dims[i]] = size;
    status = fill_in(graph, node->output, sizes, error);
  }
  for (int i = 0; status == BYOC_OK && i < 2; ++i)
    if (node->more[i] >= 0) status = fill_in(graph, node->more[i], sizes, error);
  return status;
}

int32_t byoc_dnnl_open_sizes_resolve(byoc_dnnl_graph_t *graph, int64_t *sizes, byoc_dnnl_error_t *error) {
  int32_t status = BYOC_OK;
  for (uint32_t i = 0; status == BYOC_OK && i < graph->value_count; ++i)
    if (graph->values[i].input >= 0 || graph->values[i].constant >= 0)
      status = fill_in(graph, (int32_t)i, sizes, error);
  for (uint32_t i = 0; status == BYOC_OK && i < graph->node_count; ++i)
    status = resolve_node(graph, &graph->nodes[i], sizes, error);
  return status;
}

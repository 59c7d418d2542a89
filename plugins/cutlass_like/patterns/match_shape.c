// SPDX-License-Identifier: Apache-2.0
// Shared by all readers of products: shapes of convolutions and matrix products, and values for each channel.
#include <stdlib.h>
#include <string.h>

#include "patterns/match.h"

int64_t byoc_cutlass_match_elements(const byoc_tensor_data_t *data) {
  int64_t count = 1;
  for (uint32_t i = 0; i < data->rank; ++i) count *= data->dims[i];
  return count;
}

bool byoc_cutlass_match_out_of_memory(byoc_cutlass_match_t *match) {
  match->out_of_memory = true;
  match->reason = "out of memory";
  return false;
}

static const int64_t *ints(const byoc_graph_api_t *graph, const byoc_node_t *node, const char *name, uint64_t count) {
  uint64_t found = 0;
  const int64_t *values = graph->attribute_ints(node, name, &found);
  return values && found == count ? values : NULL;
}

bool byoc_cutlass_match_known_f32(const byoc_graph_api_t *graph, const byoc_value_t *value, bool *is_open) {
  return value && graph->value_dtype(value) == BYOC_DTYPE_F32 && byoc_cutlass_match_known(graph, value, is_open);
}

bool byoc_cutlass_match_known(const byoc_graph_api_t *graph, const byoc_value_t *value, bool *is_open) {
  const int32_t rank = value ? graph->value_rank(value) : -1;
  if (rank < 0) return false;
  for (int32_t i = 0; i < rank; ++i) {
    if (graph->value_dim(value, i) == 0) return false;
    *is_open = *is_open || graph->value_dim(value, i) < 0;
  }
  return true;
}

bool byoc_cutlass_match_start(byoc_cutlass_match_t *match, int64_t channels) {
  match->channels = channels;
  match->scale = malloc((size_t)channels * sizeof(double));
  match->shift = malloc((size_t)channels * sizeof(double));
  if (!match->scale || !match->shift) return byoc_cutlass_match_out_of_memory(match);
  for (int64_t i = 0; i < channels; ++i) match->scale[i] = 1.0, match->shift[i] = 0.0;
  return true;
}

// One spatial axis of a convolution; where its size is open, in and out are what is planned for.
typedef struct axis_t {
  int64_t in, out, kernel, stride, dilation, pad;
  bool is_open;
} axis_t;

static axis_t read_axis(const byoc_graph_api_t *graph, const byoc_node_t *node, byoc_value_t *const xwy[3], int32_t i,
                        int32_t axes) {
  const int64_t *strides = ints(graph, node, "strides", (uint64_t)axes);
  const int64_t *dilations = ints(graph, node, "dilations", (uint64_t)axes);
  const int64_t *pads = ints(graph, node, "pads", (uint64_t)axes * 2);
  const char *mode = graph->node_text(node, "auto_pad");
  const bool same = strncmp(mode, "SAME", 4) == 0;
  axis_t axis = {.in = graph->value_dim(xwy[0], i + 2),
                 .out = graph->value_dim(xwy[2], i + 2),
                 .kernel = graph->value_dim(xwy[1], i + 2),
                 .stride = strides ? strides[i] : 1,
                 .dilation = dilations ? dilations[i] : 1};
  const int64_t reach = (axis.kernel - 1) * axis.dilation + 1;
  if (strcmp(mode, "VALID") == 0) pads = NULL;
  axis.is_open = axis.in < 0 || axis.out < 0;
  if (axis.is_open) {
    axis.out = byoc_cutlass_open_size(graph->value_dim(xwy[1], 1), graph->value_dim(xwy[1], 0));
    axis.in = axis.out * axis.stride;
    if (!same) axis.in = (axis.out - 1) * axis.stride + reach - (pads ? pads[i] + pads[i + axes] : 0);
  }
  int64_t total = (axis.out - 1) * axis.stride + reach - axis.in;
  if (total < 0) total = 0;
  axis.pad = pads ? pads[i] : 0;
  if (same) axis.pad = strcmp(mode, "SAME_UPPER") == 0 ? total / 2 : total - total / 2;
  return axis;
}

bool byoc_cutlass_match_conv_shape(const byoc_graph_api_t *graph, const byoc_node_t *node, byoc_value_t *x,
                                   byoc_value_t *w, byoc_value_t *y, byoc_cutlass_match_t *match) {
  int32_t axes = graph->value_rank(x) - 2;
  match->reason = "only one or two spatial axes are supported";
  if (axes != 1 && axes != 2) return false;
  byoc_value_t *const xwy[3] = {x, w, y};
  axis_t wide = read_axis(graph, node, xwy, axes - 1, axes);
  axis_t high = {.in = 1, .out = 1, .kernel = 1, .stride = 1, .dilation = 1};
  if (axes == 2) high = read_axis(graph, node, xwy, 0, axes);
  match->reason = "the height or width of images is dynamic, and does not follow from the padding";
  if (wide.in <= 0 || high.in <= 0) return false;
  const char *mode = graph->node_text(node, "auto_pad");
  uint32_t same = strcmp(mode, "SAME_UPPER") == 0   ? BYOC_CUTLASS_SAME_UPPER
                  : strcmp(mode, "SAME_LOWER") == 0 ? BYOC_CUTLASS_SAME_LOWER
                                                    : BYOC_CUTLASS_SAME_NONE;
  int64_t group = graph->node_int(node, "group");
  match->problem.kind = BYOC_CUTLASS_CONV;
  match->problem.conv = (byoc_cutlass_conv_t){.batch = graph->value_dim(x, 0),
                                              .groups = group,
                                              .in = graph->value_dim(w, 1),
                                              .out = graph->value_dim(w, 0) / group,
                                              .in_h = high.in,
                                              .in_w = wide.in,
                                              .out_h = high.out,
                                              .out_w = wide.out,
                                              .kernel_h = high.kernel,
                                              .kernel_w = wide.kernel,
                                              .stride_h = high.stride,
                                              .stride_w = wide.stride,
                                              .dilation_h = high.dilation,
                                              .dilation_w = wide.dilation,
                                              .pad_top = high.pad,
                                              .pad_left = wide.pad,
                                              .open_h = high.is_open,
                                              .open_w = wide.is_open,
                                              .same = high.is_open || wide.is_open ? same : BYOC_CUTLASS_SAME_NONE};
  return true;
}

int byoc_cutlass_match_spread(const byoc_graph_api_t *graph, const byoc_cutlass_match_t *match,
                              const byoc_value_t *value, const byoc_tensor_data_t *data) {
  int32_t rank = graph->value_rank(value), own = (int32_t)data->rank;
  int32_t axis = match->problem.kind == BYOC_CUTLASS_CONV ? 1 : rank - 1;
  int64_t count = byoc_cutlass_match_elements(data);
  if (own > rank) return 0;
  if (count == 1) return 1;
  for (int32_t i = 0; i < own; ++i) {
    int64_t expected = rank - own + i == axis ? match->channels : 1;
    if (data->dims[i] != expected) return 0;
  }
  return count == match->channels ? 2 : 0;
}

// If B has no batch of its own, A's batch counts as more rows.
bool byoc_cutlass_match_matmul_shape(const byoc_graph_api_t *graph, byoc_value_t *a, byoc_value_t *b, byoc_value_t *y,
                                     byoc_cutlass_match_t *match) {
  int32_t rank = graph->value_rank(y), rank_a = graph->value_rank(a), rank_b = graph->value_rank(b);
  match->reason = "vectors are not supported, only matrices";
  if (rank_a < 2 || rank_b < 2) return false;
  match->reason = "too many batch axes";
  if (rank - 2 > BYOC_CUTLASS_MAX_BATCH_RANK) return false;
  byoc_cutlass_gemm_t *gemm = &match->problem.gemm;
  match->problem.kind = BYOC_CUTLASS_GEMM;
  *gemm = (byoc_cutlass_gemm_t){
      .m = graph->value_dim(y, rank - 2), .n = graph->value_dim(y, rank - 1), .k = graph->value_dim(a, rank_a - 1)};
  bool fold = true;
  for (int32_t i = 0; i < rank - 2; ++i) {
    int32_t at_a = i - (rank - rank_a), at_b = i - (rank - rank_b);
    gemm->batch[i] = graph->value_dim(y, i);
    gemm->repeat_a[i] = at_a < 0 || graph->value_dim(a, at_a) == 1;
    gemm->repeat_b[i] = at_b < 0 || graph->value_dim(b, at_b) == 1;
    fold = fold && (gemm->batch[i] == 1 || (gemm->repeat_b[i] && !gemm->repeat_a[i]));
  }
  gemm->batch_rank = (uint32_t)(rank - 2);
  if (fold) {
    gemm->m *= byoc_cutlass_batch(gemm);
    gemm->batch_rank = 0;
  }
  return true;
}

void byoc_cutlass_match_deinit(byoc_cutlass_match_t *match) {
  free(match->scale);
  free(match->shift);
  free(match->bytes);
  free(match->summand);
  match->scale = match->shift = NULL;
  match->bytes = NULL;
  match->summand = NULL;
}

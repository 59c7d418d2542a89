// What all readers of products share: shapes of convolutions and matrix products, and values for each channel.
#include <stdlib.h>
#include <string.h>

#include "match.h"

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
  const int32_t rank = value ? graph->value_rank(value) : -1;
  if (rank < 0 || graph->value_dtype(value) != BYOC_DTYPE_F32) return false;
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

// Padding at the start of one axis, by the attribute or by auto_pad.
static int64_t pad_start(const byoc_graph_api_t *graph, const byoc_node_t *node, const int64_t *pads, int32_t axis,
                         int64_t in, int64_t out, int64_t reach, int64_t stride) {
  const char *mode = graph->node_text(node, "auto_pad");
  int64_t total = (out - 1) * stride + reach - in;
  if (total < 0) total = 0;
  if (strcmp(mode, "SAME_UPPER") == 0) return total / 2;
  if (strcmp(mode, "SAME_LOWER") == 0) return total - total / 2;
  return strcmp(mode, "VALID") == 0 || !pads ? 0 : pads[axis];
}

bool byoc_cutlass_match_conv_shape(const byoc_graph_api_t *graph, const byoc_node_t *node, byoc_value_t *x,
                                   byoc_value_t *w, byoc_value_t *y, byoc_cutlass_match_t *match) {
  int32_t rank = graph->value_rank(x), axes = rank - 2;
  match->reason = "takes one or two spatial axes";
  if (axes != 1 && axes != 2) return false;
  const int64_t *strides = ints(graph, node, "strides", (uint64_t)axes);
  const int64_t *dilations = ints(graph, node, "dilations", (uint64_t)axes);
  const int64_t *pads = ints(graph, node, "pads", (uint64_t)axes * 2);
  int64_t group = graph->node_int(node, "group");
  byoc_cutlass_conv_t *conv = &match->problem.conv;
  match->problem.kind = BYOC_CUTLASS_CONV;
  *conv = (byoc_cutlass_conv_t){.batch = graph->value_dim(x, 0),
                                .groups = group,
                                .in = graph->value_dim(w, 1),
                                .out = graph->value_dim(w, 0) / group,
                                .in_h = 1,
                                .out_h = 1,
                                .kernel_h = 1,
                                .stride_h = 1,
                                .stride_w = 1,
                                .dilation_h = 1,
                                .dilation_w = 1};
  for (int32_t i = 0; i < axes; ++i) {
    bool wide = i == axes - 1;
    int64_t in = graph->value_dim(x, i + 2), out = graph->value_dim(y, i + 2), kernel = graph->value_dim(w, i + 2);
    int64_t stride = strides ? strides[i] : 1, dilation = dilations ? dilations[i] : 1;
    int64_t pad = pad_start(graph, node, pads, i, in, out, (kernel - 1) * dilation + 1, stride);
    *(wide ? &conv->in_w : &conv->in_h) = in;
    *(wide ? &conv->out_w : &conv->out_h) = out;
    *(wide ? &conv->kernel_w : &conv->kernel_h) = kernel;
    *(wide ? &conv->stride_w : &conv->stride_h) = stride;
    *(wide ? &conv->dilation_w : &conv->dilation_h) = dilation;
    *(wide ? &conv->pad_left : &conv->pad_top) = pad;
  }
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
  match->reason = "takes matrices, not vectors";
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

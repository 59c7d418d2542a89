// SPDX-License-Identifier: Apache-2.0
// Convolution, transposed convolution, pooling: the operators with windows.
#include <string.h>

#include "engine/function/build.h"

#define SPATIAL_LIMIT 3

// Attributes of a window over the dimensions after batch and channel.
typedef struct window_t {
  int32_t rank;
  dnnl_dims_t kernel, strides, dilations; // dilations as oneDNN counts them: 0 is dense
  dnnl_dims_t pads_begin, pads_end;
} window_t;

static int32_t read_window(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node, window_t *out_window) {
  memset(out_window, 0, sizeof(*out_window));
  const byoc_dnnl_value_t *input = &function->graph.values[node->inputs[0]];
  int32_t rank = input->rank - 2;
  int64_t pads[2 * SPATIAL_LIMIT];
  out_window->rank = rank;
  if (rank < 1 || rank > SPATIAL_LIMIT || !byoc_dnnl_node_ints(node, "strides", 1, rank, out_window->strides) ||
      !byoc_dnnl_node_ints(node, "dilations", 1, rank, out_window->dilations) ||
      !byoc_dnnl_node_ints(node, "kernel", 1, rank, out_window->kernel) ||
      !byoc_dnnl_node_ints(node, "pads", 0, 2 * rank, pads))
    return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "its window attributes are malformed");
  for (int32_t i = 0; i < rank; ++i) {
    out_window->dilations[i] -= 1;
    out_window->pads_begin[i] = pads[i];
    out_window->pads_end[i] = pads[rank + i];
  }
  return BYOC_OK;
}

// Whether Winograd pays: measured on ResNet-50's layers, 1.4 to 1.7 times as fast from 14x14 positions on, slower
// below.
static int winograd_pays(const byoc_dnnl_value_t *weights, const byoc_dnnl_value_t *output, const window_t *window) {
  if (window->rank != 2 || weights->rank != 4 || weights->dims[0] < 64 || weights->dims[1] < 64) return 0;
  for (int32_t i = 0; i < 2; ++i)
    if (weights->dims[2 + i] != 3 || window->strides[i] != 1 || window->dilations[i] != 0 || output->dims[2 + i] < 14)
      return 0;
  return 1;
}

// The primitive descriptor for one algorithm. Layouts are oneDNN's choice throughout.
static int32_t describe_convolution(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node,
                                    const byoc_dnnl_weighted_t *w, const window_t *window, dnnl_alg_kind_t algorithm,
                                    byoc_dnnl_fusion_t *out_fusion) {
  const byoc_dnnl_api_t *api = function->api;
  dnnl_memory_desc_t bias_desc;
  if (w->bias != NULL) byoc_dnnl_layout_any(w->bias->rank, w->bias->dims, &bias_desc);
  dnnl_convolution_desc_t op_desc; // the deconvolution's descriptor is the same struct
  dnnl_status_t described = (algorithm == dnnl_deconvolution_direct ? api->dnnl_dilated_deconvolution_forward_desc_init
                                                                    : api->dnnl_dilated_convolution_forward_desc_init)(
      &op_desc, dnnl_forward_inference, algorithm, &w->input_desc, &w->weights_desc,
      w->bias != NULL ? &bias_desc : NULL, &w->output_desc, window->strides, window->dilations, window->pads_begin,
      window->pads_end);
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_check(function, described, "describe the convolution"));
  return byoc_dnnl_fuse(function, node, &op_desc, w->output->rank, w->output->dims, 1.0f, out_fusion);
}

static int32_t build_convolution(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node,
                                 dnnl_alg_kind_t algorithm) {
  byoc_dnnl_weighted_t w;
  window_t window;
  byoc_dnnl_fusion_t fusion;
  BYOC_DNNL_RETURN_IF_ERROR(read_window(function, node, &window));
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_weighted(function, node, &w));
  const char *wanted = byoc_dnnl_node_string(node, "algorithm", "direct");
  int32_t status = BYOC_UNSUPPORTED;
  if (algorithm == dnnl_convolution_direct &&
      (strcmp(wanted, "winograd") == 0 || (strcmp(wanted, "auto") == 0 && winograd_pays(w.weights, w.output, &window))))
    status = describe_convolution(function, node, &w, &window, dnnl_convolution_winograd, &fusion);
  if (status == BYOC_UNSUPPORTED) status = describe_convolution(function, node, &w, &window, algorithm, &fusion);
  if (status != BYOC_OK) return status;
  return byoc_dnnl_finish_weighted(function, node, &fusion);
}

int32_t byoc_dnnl_build_convolution(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  return build_convolution(function, node, dnnl_convolution_direct);
}

int32_t byoc_dnnl_build_deconvolution(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  return build_convolution(function, node, dnnl_deconvolution_direct);
}

int32_t byoc_dnnl_build_pooling(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node) {
  const byoc_dnnl_api_t *api = function->api;
  const byoc_dnnl_value_t *output = &function->graph.values[node->output];
  window_t window;
  BYOC_DNNL_RETURN_IF_ERROR(read_window(function, node, &window));
  if (byoc_dnnl_node_int(node, "global", 0) != 0) // one window as large as the image
    memcpy(window.kernel, &function->graph.values[node->inputs[0]].dims[2],
           (size_t)window.rank * sizeof(window.kernel[0]));
  const char *name = byoc_dnnl_node_string(node, "algorithm", "");
  dnnl_alg_kind_t algorithm = strcmp(name, "max") == 0               ? dnnl_pooling_max
                              : strcmp(name, "avg") == 0             ? dnnl_pooling_avg_exclude_padding
                              : strcmp(name, "avg_include_pad") == 0 ? dnnl_pooling_avg_include_padding
                                                                     : dnnl_alg_kind_undef;
  if (algorithm == dnnl_alg_kind_undef)
    return byoc_dnnl_node_fail(function, BYOC_INVALID_DATA, "its algorithm is unknown");
  if (byoc_dnnl_is_plain(function, algorithm, 0.0f)) {
    byoc_dnnl_plain_t plain = {BYOC_DNNL_PLAIN_POOLING, algorithm};
    memcpy(plain.kernel, window.kernel, sizeof(plain.kernel));
    memcpy(plain.strides, window.strides, sizeof(plain.strides));
    memcpy(plain.pads, window.pads_begin, sizeof(plain.pads));
    for (int32_t i = 0; i < window.rank; ++i) plain.dilations[i] = window.dilations[i] + 1;
    return byoc_dnnl_build_plain(function, node, &plain);
  }
  byoc_dnnl_argument_t argument = {DNNL_ARG_SRC, -1};
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_read_dense(function, node->inputs[0], &argument.version));
  dnnl_memory_desc_t output_desc;
  byoc_dnnl_layout_any(output->rank, output->dims, &output_desc);
  dnnl_pooling_v2_desc_t op_desc;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_check(
      function,
      api->dnnl_pooling_v2_forward_desc_init(&op_desc, dnnl_forward_inference, algorithm,
                                             byoc_dnnl_desc(function, argument.version), &output_desc, window.strides,
                                             window.kernel, window.dilations, window.pads_begin, window.pads_end),
      "describe the pooling"));
  byoc_dnnl_fusion_t fusion;
  BYOC_DNNL_RETURN_IF_ERROR(byoc_dnnl_fuse(function, node, &op_desc, output->rank, output->dims, 1.0f, &fusion));
  return byoc_dnnl_finish_node(function, node, &fusion, &argument, 1, -1);
}

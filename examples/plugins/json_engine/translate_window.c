// SPDX-License-Identifier: Apache-2.0
// Operators with windows: convolutions and pools.
#include <string.h>

#include "translate.h"

enum { NO_OPERAND = 64 }; // for lists that are attributes in all versions

// Height and width.
typedef struct window_t {
  int64_t kernel[2], strides[2], dilations[2];
  int64_t begins[2], ends[2]; // padding: top and left, bottom and right
} window_t;

static const char *const not_2d = "only images are taken: four dimensions";

static int read_pair(const xnnpack_source_t *source, const char *attribute, int64_t *out_pair) {
  out_pair[0] = out_pair[1] = 1;
  const int32_t count = xnnpack_ints(source, attribute, NO_OPERAND, out_pair, 2);
  return count == 0 || count == 2;
}

// Strides, dilations and padding of a window whose kernel is known; auto_pad and ceil_mode become padding.
static const char *read_window(const xnnpack_source_t *source, window_t *window) {
  const xnnpack_shape_t x = xnnpack_operand_shape(source, 0), y = xnnpack_result_shape(source);
  if (x.rank != 4 || y.rank != 4) return not_2d;
  int64_t pads[4] = {0, 0, 0, 0};
  const int32_t count = xnnpack_ints(source, "pads", NO_OPERAND, pads, 4);
  if (!read_pair(source, "strides", window->strides) || !read_pair(source, "dilations", window->dilations) ||
      (count != 0 && count != 4))
    return not_2d;
  const char *auto_pad = source->graph->node_text(source->node, "auto_pad");
  const int is_same = auto_pad != NULL && strncmp(auto_pad, "SAME_", 5) == 0;
  const int is_lower = is_same && strcmp(auto_pad, "SAME_LOWER") == 0;
  for (int i = 0; i < 2; ++i) {
    const int64_t reach = (window->kernel[i] - 1) * window->dilations[i] + 1, size = x.dims[2 + i];
    // What the windows need beyond the input, less than 0 where they leave some of it out.
    const int64_t needed = (y.dims[2 + i] - 1) * window->strides[i] + reach - size;
    if (is_same) {
      const int64_t total = needed > 0 ? needed : 0;
      pads[i] = is_lower ? total - total / 2 : total / 2;
      pads[2 + i] = total - pads[i];
    }
    if (needed > pads[i] + pads[2 + i]) pads[2 + i] = needed - pads[i]; // ceil_mode
    if (pads[i] < 0 || pads[2 + i] < 0) return "negative padding";
    if ((size + pads[i] + pads[2 + i] - reach) / window->strides[i] + 1 != y.dims[2 + i])
      return "padding that does not fit the result";
    window->begins[i] = pads[i];
    window->ends[i] = pads[2 + i];
  }
  return NULL;
}

// The attributes of the node that was appended last; "padding" in the order of XNNPACK's parameters.
static void emit_window(const xnnpack_source_t *source, const window_t *window, int with_kernel) {
  const int64_t padding[4] = {window->begins[0], window->ends[1], window->ends[0], window->begins[1]};
  xnnpack_draft_list(source->draft, "padding", padding, 4);
  xnnpack_draft_list(source->draft, "strides", window->strides, 2);
  xnnpack_draft_list(source->draft, "dilations", window->dilations, 2);
  if (with_kernel) xnnpack_draft_list(source->draft, "kernel", window->kernel, 2);
}

// The constants of a convolution: weights with four dimensions, and the bias or NULL.
typedef struct weights_t {
  xnnpack_shape_t shape;
  const float *data, *bias;
} weights_t;

static const char *read_weights(const xnnpack_source_t *source, weights_t *weights, window_t *window) {
  int64_t count = 0;
  const byoc_value_t *bias = xnnpack_operand(source, 2);
  weights->data = xnnpack_floats(source, xnnpack_operand(source, 1), &count);
  weights->bias = xnnpack_floats(source, bias, &count);
  if (weights->data == NULL || (bias != NULL && weights->bias == NULL)) return "weights and bias have to be constants";
  weights->shape = xnnpack_operand_shape(source, 1);
  if (weights->shape.rank != 4) return not_2d;
  window->kernel[0] = weights->shape.dims[2];
  window->kernel[1] = weights->shape.dims[3];
  return NULL;
}

static void emit_convolution(const xnnpack_source_t *source, const char *op, const weights_t *weights,
                             const int64_t *dims, const int64_t *strides) {
  const int64_t one = 1;
  const int64_t channels = xnnpack_result_shape(source).dims[1];
  int32_t others[2] = {xnnpack_draft_constant(source->draft, 4, dims, strides, weights->data, 1), -1};
  if (weights->bias != NULL) others[1] = xnnpack_draft_constant(source->draft, 1, &channels, &one, weights->bias, 1);
  xnnpack_emit(source, op, others, 2);
}

const char *xnnpack_translate_conv(const xnnpack_source_t *source) {
  window_t window;
  weights_t weights;
  const char *reason = read_weights(source, &weights, &window);
  if (reason == NULL) reason = read_window(source, &window);
  if (reason != NULL || source->draft == NULL) return reason;
  const int64_t *w = weights.shape.dims, taps = w[2] * w[3];
  const int64_t dims[4] = {w[0], w[2], w[3], w[1]}, strides[4] = {w[1] * taps, w[3], 1, taps};
  emit_convolution(source, "convolution", &weights, dims, strides);
  emit_window(source, &window, 0);
  xnnpack_draft_integer(source->draft, "group", source->graph->node_int(source->node, "group"));
  return NULL;
}

const char *xnnpack_translate_conv_transpose(const xnnpack_source_t *source) {
  const byoc_graph_api_t *graph = source->graph;
  window_t window;
  weights_t weights;
  const char *reason = read_weights(source, &weights, &window);
  if (reason != NULL) return reason;
  const xnnpack_shape_t x = xnnpack_operand_shape(source, 0), y = xnnpack_result_shape(source);
  int64_t pads[4] = {0, 0, 0, 0};
  const int32_t count = xnnpack_ints(source, "pads", NO_OPERAND, pads, 4);
  const char *auto_pad = graph->node_text(source->node, "auto_pad");
  if (x.rank != 4 || !read_pair(source, "strides", window.strides) ||
      !read_pair(source, "dilations", window.dilations) || (count != 0 && count != 4))
    return not_2d;
  if (graph->node_int(source->node, "group") != 1) return "only one group is taken";
  if (graph->has_attribute(source->node, "output_shape") || (auto_pad != NULL && strncmp(auto_pad, "SAME_", 5) == 0))
    return "only padding that is written out is taken";
  int64_t adjustment[2];
  for (int i = 0; i < 2; ++i) {
    const int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const int64_t end = (x.dims[2 + i] - 1) * window.strides[i] + reach - pads[i] - y.dims[2 + i];
    adjustment[i] = end < 0 ? -end : 0;
    window.begins[i] = pads[i];
    window.ends[i] = end < 0 ? 0 : end;
    if (pads[i] < 0 || adjustment[i] >= window.strides[i]) return "padding that does not fit the result";
  }
  if (source->draft == NULL) return NULL;
  const int64_t *w = weights.shape.dims, taps = w[2] * w[3];
  const int64_t dims[4] = {w[1], w[2], w[3], w[0]}, strides[4] = {taps, w[3], 1, w[1] * taps};
  emit_convolution(source, "deconvolution", &weights, dims, strides);
  emit_window(source, &window, 0);
  xnnpack_draft_list(source->draft, "adjustment", adjustment, 2);
  return NULL;
}

static const char *read_pool(const xnnpack_source_t *source, window_t *window) {
  if (!read_pair(source, "kernel_shape", window->kernel)) return not_2d;
  if (window->kernel[0] * window->kernel[1] == 1) return "XNNPACK has no pools of one pixel";
  return read_window(source, window);
}

const char *xnnpack_translate_max_pool(const xnnpack_source_t *source) {
  window_t window;
  const char *reason = read_pool(source, &window);
  if (reason != NULL) return reason;
  if (source->draft == NULL) return NULL;
  xnnpack_emit(source, "max_pooling", NULL, 0);
  emit_window(source, &window, 1);
  return NULL;
}

const char *xnnpack_translate_average_pool(const xnnpack_source_t *source) {
  window_t window;
  const char *reason = read_pool(source, &window);
  if (reason != NULL) return reason;
  const int64_t padding = window.begins[0] + window.begins[1] + window.ends[0] + window.ends[1];
  if (padding != 0 && source->graph->node_int(source->node, "count_include_pad") != 0)
    return "XNNPACK does not count padding";
  if (window.dilations[0] != 1 || window.dilations[1] != 1) return "XNNPACK has no dilations here";
  if (source->draft == NULL) return NULL;
  xnnpack_emit(source, "average_pooling", NULL, 0);
  emit_window(source, &window, 1);
  return NULL;
}

const char *xnnpack_translate_global_average_pool(const xnnpack_source_t *source) {
  if (xnnpack_operand_shape(source, 0).rank != 4) return not_2d;
  if (source->draft != NULL) xnnpack_emit(source, "global_average_pooling", NULL, 0);
  return NULL;
}

const char *xnnpack_translate_global_max_pool(const xnnpack_source_t *source) {
  const xnnpack_shape_t x = xnnpack_operand_shape(source, 0);
  if (x.rank != 4) return not_2d;
  if (x.dims[2] * x.dims[3] == 1) return "XNNPACK has no pools of one pixel";
  const window_t window = {.kernel = {x.dims[2], x.dims[3]}, .strides = {x.dims[2], x.dims[3]}, .dilations = {1, 1}};
  if (source->draft == NULL) return NULL;
  xnnpack_emit(source, "max_pooling", NULL, 0);
  emit_window(source, &window, 1);
  return NULL;
}

// The mean over height and width, as global average pooling.
const char *xnnpack_translate_reduce_mean(const xnnpack_source_t *source) {
  const xnnpack_shape_t x = xnnpack_operand_shape(source, 0);
  int64_t axes[2] = {0, 0};
  if (x.rank != 4) return not_2d;
  if (xnnpack_ints(source, "axes", 1, axes, 2) != 2) return "only the mean over height and width is taken";
  for (int i = 0; i < 2; ++i) axes[i] += axes[i] < 0 ? 4 : 0;
  if (axes[0] + axes[1] != 5 || axes[0] < 2 || axes[1] < 2) return "only the mean over height and width is taken";
  xnnpack_draft_t *draft = source->draft;
  if (draft == NULL) return NULL;
  const xnnpack_shape_t pooled = {.rank = 4, .dims = {x.dims[0], x.dims[1], 1, 1}};
  const int32_t input = xnnpack_draft_value(draft, xnnpack_operand(source, 0));
  const int32_t result = xnnpack_draft_value(draft, source->graph->node_result(source->node, 0));
  const int32_t mean = xnnpack_result_shape(source).rank == 4 ? result : xnnpack_draft_temporary(draft, &pooled);
  xnnpack_draft_node(draft, "global_average_pooling", &input, 1, mean);
  if (mean != result) xnnpack_draft_node(draft, "reshape", &mean, 1, result);
  return NULL;
}

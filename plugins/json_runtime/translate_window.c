// SPDX-License-Identifier: Apache-2.0
// Writes Conv, ConvTranspose and the pools as the engine's JSON.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "translate.h"

#define SPATIAL_LIMIT 3

typedef struct window_t {
  int32_t rank;
  int64_t kernel[SPATIAL_LIMIT], strides[SPATIAL_LIMIT], dilations[SPATIAL_LIMIT], pads[2 * SPATIAL_LIMIT];
} window_t;

// The pads of an axis of dynamic size: explicit ones, or those that give a window of stride 1 as many results.
static const char *read_open_pads(const byoc_dnnl_source_t *source, const window_t *window, int32_t axis,
                                  int64_t *begin, int64_t *end) {
  const char *auto_pad = source->graph->node_text(source->node, "auto_pad");
  uint64_t count = 0;
  const int64_t *pads = source->graph->attribute_ints(source->node, "pads", &count);
  *begin = *end = 0;
  if (pads != NULL && count != 2 * (uint64_t)window->rank) return "pads of another number than two for each axis";
  if (source->graph->node_int(source->node, "ceil_mode") != 0) return "ceil_mode on a dynamic size";
  if (strncmp(auto_pad, "SAME_", 5) == 0) {
    if (window->strides[axis] != 1) return "padding that follows from a dynamic size";
    const int64_t needed = (window->kernel[axis] - 1) * window->dilations[axis];
    *begin = strcmp(auto_pad, "SAME_LOWER") == 0 ? needed - needed / 2 : needed / 2;
    *end = needed - *begin;
  } else if (strcmp(auto_pad, "VALID") != 0 && pads != NULL) {
    *begin = pads[axis];
    *end = pads[window->rank + axis];
  }
  return *begin < 0 || *end < 0 ? "negative pads" : NULL;
}

// Strides, dilations and pads; auto_pad and ceil_mode are turned into plain pads, using the result's dimensions.
static const char *read_window(const byoc_dnnl_source_t *source, window_t *window) {
  const byoc_graph_api_t *graph = source->graph;
  byoc_dnnl_shape_t x = byoc_dnnl_source_shape(source, byoc_dnnl_source_operand(source, 0));
  byoc_dnnl_shape_t y = byoc_dnnl_source_shape(source, byoc_dnnl_source_result(source));
  int32_t rank = window->rank = x.rank - 2;
  if (rank < 1 || rank > SPATIAL_LIMIT || y.rank != x.rank) return "oneDNN supports 1 to 3 spatial dimensions";
  static const char *const names[] = {"strides", "dilations"};
  for (int32_t n = 0; n < 2; ++n) {
    uint64_t count = 0;
    const int64_t *given = graph->attribute_ints(source->node, names[n], &count);
    int64_t *to = n == 0 ? window->strides : window->dilations;
    for (int32_t i = 0; i < rank; ++i) to[i] = given != NULL && count == (uint64_t)rank ? given[i] : 1;
  }
  uint64_t pad_count = 0;
  const int64_t *pads = graph->attribute_ints(source->node, "pads", &pad_count);
  const char *auto_pad = graph->node_text(source->node, "auto_pad");
  for (int32_t i = 0; i < rank; ++i) {
    if (x.dims[2 + i] < 0 || y.dims[2 + i] < 0) {
      const char *reason = read_open_pads(source, window, i, &window->pads[i], &window->pads[rank + i]);
      if (reason != NULL) return reason;
      continue;
    }
    int64_t reach = (window->kernel[i] - 1) * window->dilations[i] + 1;
    int64_t needed = (y.dims[2 + i] - 1) * window->strides[i] + reach - x.dims[2 + i];
    int64_t begin = 0, end = 0;
    if (strcmp(auto_pad, "NOTSET") == 0 || auto_pad[0] == '\0') {
      if (pads != NULL && pad_count == 2 * (uint64_t)rank) {
        begin = pads[i];
        end = pads[rank + i];
      }
      if (begin < 0 || end < 0) return "negative pads";
      if ((x.dims[2 + i] + begin + end - reach) / window->strides[i] + 1 != y.dims[2 + i]) end = needed - begin;
    } else if (needed > 0) {
      begin = strcmp(auto_pad, "SAME_LOWER") == 0 ? needed - needed / 2 : needed / 2;
      end = needed - begin;
    }
    if (end < 0) return "pads that do not match the result";
    window->pads[i] = begin;
    window->pads[rank + i] = end;
  }
  return NULL;
}

static json_t *window_attributes(const window_t *window, const char *algorithm, int with_kernel) {
  json_t *object = json_pack("{s:s, s:o, s:o, s:o}", "algorithm", algorithm, "strides",
                             byoc_dnnl_json_ints(window->strides, window->rank), "dilations",
                             byoc_dnnl_json_ints(window->dilations, window->rank), "pads",
                             byoc_dnnl_json_ints(window->pads, 2 * window->rank));
  if (object == NULL || !with_kernel) return object;
  if (json_object_set_new(object, "kernel", byoc_dnnl_json_ints(window->kernel, window->rank)) == 0) return object;
  json_decref(object);
  return NULL;
}

// The operands of both directions: the window, read by `read`, the shape of the weights, and the groups.
typedef struct convolution_t {
  const byoc_value_t *weights, *bias;
  byoc_dnnl_shape_t w;
  window_t window;
  int64_t group;
} convolution_t;

static const char *read_convolution(const byoc_dnnl_source_t *source,
                                    const char *(*read)(const byoc_dnnl_source_t *source, window_t *window),
                                    convolution_t *c) {
  *c = (convolution_t){.weights = byoc_dnnl_source_operand(source, 1), .bias = byoc_dnnl_source_operand(source, 2)};
  const int are_static = byoc_dnnl_source_is_static(source, c->weights) &&
                         (c->bias == NULL || byoc_dnnl_source_is_static(source, c->bias));
  if (!are_static) return "only f32 weights of known sizes are supported";
  const byoc_dnnl_shape_t x = byoc_dnnl_source_shape(source, byoc_dnnl_source_operand(source, 0));
  const byoc_dnnl_shape_t w = c->w = byoc_dnnl_source_shape(source, c->weights);
  if (x.rank < 3 || x.rank > 2 + SPATIAL_LIMIT || w.rank != x.rank) return "oneDNN supports 1 to 3 spatial dimensions";
  for (int32_t i = 0; i < w.rank - 2; ++i) c->window.kernel[i] = w.dims[2 + i];
  const char *reason = read(source, &c->window);
  if (reason != NULL) return reason;
  c->group = source->graph->node_int(source->node, "group");
  return c->group < 1 || w.dims[0] % c->group != 0 ? "a group count that does not divide the channels" : NULL;
}

const char *byoc_dnnl_translate_conv(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  convolution_t c;
  const char *reason = read_convolution(source, read_window, &c);
  if (reason != NULL || draft == NULL) return reason;
  const byoc_dnnl_shape_t w = c.w;
  const int64_t group = c.group;
  const char *name = byoc_dnnl_source_name(source);
  int32_t inputs[3] = {byoc_dnnl_draft_value(draft, byoc_dnnl_source_operand(source, 0)),
                       byoc_dnnl_draft_value(draft, c.weights), byoc_dnnl_draft_value(draft, c.bias)};
  if (group > 1) {
    byoc_dnnl_shape_t grouped = {.rank = w.rank + 1, .dims = {group, w.dims[0] / group}};
    memcpy(&grouped.dims[2], &w.dims[1], (size_t)(w.rank - 1) * sizeof(w.dims[0]));
    inputs[1] = byoc_dnnl_draft_constant_data(draft, inputs[1]) != NULL
                    ? byoc_dnnl_draft_reshaped_constant(draft, inputs[1], &grouped)
                    : byoc_dnnl_draft_reshape(draft, name, inputs[1], &grouped);
  }
  json_t *attributes = window_attributes(&c.window, draft->convolution_algorithm, 0);
  if (attributes == NULL) draft->failed = 1;
  byoc_dnnl_draft_node(draft, name, "convolution", inputs, 3,
                       byoc_dnnl_draft_value(draft, byoc_dnnl_source_result(source)), attributes);
  return NULL;
}

// The weights of a transposed convolution, [I, O / group, k...], as oneDNN has them: [O, I, k...], or by groups
// [group, O / group, I / group, k...].
static int32_t turn_weights(byoc_dnnl_draft_t *draft, const float *weights, const byoc_dnnl_shape_t *shape,
                            int64_t group) {
  const int64_t in = shape->dims[0] / group, out = shape->dims[1];
  const int64_t taps = byoc_dnnl_shape_count(shape) / (shape->dims[0] * out);
  byoc_dnnl_shape_t turned = {.rank = 0};
  if (group > 1) turned.dims[turned.rank++] = group;
  turned.dims[turned.rank++] = out;
  turned.dims[turned.rank++] = in;
  for (int32_t i = 2; i < shape->rank; ++i) turned.dims[turned.rank++] = shape->dims[i];
  float *data = malloc((size_t)byoc_dnnl_shape_count(shape) * sizeof(*data));
  for (int64_t g = 0; data != NULL && g < group; ++g) {
    for (int64_t o = 0; o < out; ++o) {
      for (int64_t i = 0; i < in; ++i) {
        memcpy(data + ((g * out + o) * in + i) * taps, weights + ((g * in + i) * out + o) * taps,
               (size_t)taps * sizeof(*data));
      }
    }
  }
  return byoc_dnnl_draft_constant(draft, &turned, data);
}

// The window of a transposed convolution: its pads are the difference between the full size and the result's; the pads
// in front are the node's.
static const char *read_transposed_window(const byoc_dnnl_source_t *source, window_t *window) {
  const byoc_graph_api_t *graph = source->graph;
  byoc_dnnl_shape_t x = byoc_dnnl_source_shape(source, byoc_dnnl_source_operand(source, 0));
  byoc_dnnl_shape_t y = byoc_dnnl_source_shape(source, byoc_dnnl_source_result(source));
  uint64_t counts[3] = {0, 0, 0}, shape_count = 0;
  const int64_t *strides = graph->attribute_ints(source->node, "strides", &counts[0]);
  const int64_t *dilations = graph->attribute_ints(source->node, "dilations", &counts[1]);
  const int64_t *pads = graph->attribute_ints(source->node, "pads", &counts[2]);
  const char *auto_pad = graph->node_text(source->node, "auto_pad");
  const int is_same = strncmp(auto_pad, "SAME_", 5) == 0;
  const int has_shape = graph->attribute_ints(source->node, "output_shape", &shape_count) != NULL && shape_count > 0;
  const int32_t rank = window->rank = x.rank - 2;
  if (is_same || has_shape) return "ConvTranspose is supported only with explicit pads";
  for (int32_t i = 0; i < rank; ++i) {
    window->strides[i] = counts[0] == (uint64_t)rank ? strides[i] : 1;
    window->dilations[i] = counts[1] == (uint64_t)rank ? dilations[i] : 1;
    if (x.dims[2 + i] < 0 || y.dims[2 + i] < 0) return "a transposed convolution of a dynamic size";
    const int64_t reach = (window->kernel[i] - 1) * window->dilations[i] + 1;
    const int64_t begin = strcmp(auto_pad, "VALID") != 0 && counts[2] == 2 * (uint64_t)rank ? pads[i] : 0;
    const int64_t end = (x.dims[2 + i] - 1) * window->strides[i] + reach - y.dims[2 + i] - begin;
    // output_padding makes the result larger than the windows reach, by less than a stride.
    if (begin < 0 || end <= -window->strides[i]) return "negative pads";
    window->pads[i] = begin;
    window->pads[rank + i] = end;
  }
  return NULL;
}

const char *byoc_dnnl_translate_conv_transpose(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  convolution_t c;
  int64_t count = 0;
  const char *reason = read_convolution(source, read_transposed_window, &c);
  if (reason != NULL) return reason;
  const float *data = byoc_dnnl_source_floats(source, c.weights, &count);
  if (data == NULL) return "the weights of ConvTranspose must be constants";
  if (draft == NULL) return NULL;
  int32_t inputs[3] = {byoc_dnnl_draft_value(draft, byoc_dnnl_source_operand(source, 0)),
                       turn_weights(draft, data, &c.w, c.group), byoc_dnnl_draft_value(draft, c.bias)};
  json_t *attributes = window_attributes(&c.window, "direct", 0);
  if (attributes == NULL) draft->failed = 1;
  byoc_dnnl_draft_node(draft, byoc_dnnl_source_name(source), "deconvolution", inputs, 3,
                       byoc_dnnl_draft_value(draft, byoc_dnnl_source_result(source)), attributes);
  return NULL;
}

static void draft_pooling(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft, json_t *attributes) {
  int32_t input = byoc_dnnl_draft_value(draft, byoc_dnnl_source_operand(source, 0));
  if (attributes == NULL) draft->failed = 1;
  byoc_dnnl_draft_node(draft, byoc_dnnl_source_name(source), "pooling", &input, 1,
                       byoc_dnnl_draft_value(draft, byoc_dnnl_source_result(source)), attributes);
}

static const char *translate_pool(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft, int is_max) {
  const byoc_graph_api_t *graph = source->graph;
  const byoc_value_t *indices = graph->node_result_count(source->node) > 1 ? graph->node_result(source->node, 1) : NULL;
  if (indices != NULL && graph->value_use_count(indices) > 0) return "oneDNN gives no indices of maxima";
  window_t window;
  uint64_t count = 0;
  const int64_t *kernel = graph->attribute_ints(source->node, "kernel_shape", &count);
  if (kernel == NULL || count < 1 || count > SPATIAL_LIMIT) return "oneDNN supports 1 to 3 spatial dimensions";
  memcpy(window.kernel, kernel, count * sizeof(*kernel));
  const char *reason = read_window(source, &window);
  if (reason != NULL) return reason;
  if ((uint64_t)window.rank != count) return "a kernel of another rank than its input";
  int include = graph->node_int(source->node, "count_include_pad") != 0;
  uint64_t pad_count = 0;
  const int64_t *pads = graph->attribute_ints(source->node, "pads", &pad_count);
  for (int32_t i = 0; i < window.rank; ++i) {
    int64_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    if (window.pads[i] >= reach || window.pads[window.rank + i] >= reach)
      return "oneDNN supports no pads as large as the kernel";
    if (!is_max && window.dilations[i] != 1) return "dilated averages are not supported";
    // ceil_mode: ONNX does not count elements beyond the node's own pads.
    int64_t stated = pads != NULL && pad_count == 2 * count ? pads[count + (uint64_t)i] : 0;
    if (include && window.pads[window.rank + i] > stated && graph->node_int(source->node, "ceil_mode") != 0)
      return "an average that counts padding, with ceil_mode";
  }
  const char *algorithm = is_max ? "max" : include ? "avg_include_pad" : "avg";
  if (draft != NULL) draft_pooling(source, draft, window_attributes(&window, algorithm, 1));
  return NULL;
}

const char *byoc_dnnl_translate_max_pool(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  return translate_pool(source, draft, 1);
}

const char *byoc_dnnl_translate_average_pool(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  return translate_pool(source, draft, 0);
}

static const char *translate_global_pool(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft, int is_max) {
  byoc_dnnl_shape_t x = byoc_dnnl_source_shape(source, byoc_dnnl_source_operand(source, 0));
  if (x.rank < 3 || x.rank > 2 + SPATIAL_LIMIT) return "oneDNN supports 1 to 3 spatial dimensions";
  if (draft == NULL) return NULL;
  json_t *attributes = json_pack("{s:s, s:i}", "algorithm", is_max ? "max" : "avg", "global", 1);
  if (attributes == NULL) draft->failed = 1;
  draft_pooling(source, draft, attributes);
  return NULL;
}

const char *byoc_dnnl_translate_global_average_pool(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  return translate_global_pool(source, draft, 0);
}

const char *byoc_dnnl_translate_global_max_pool(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  return translate_global_pool(source, draft, 1);
}

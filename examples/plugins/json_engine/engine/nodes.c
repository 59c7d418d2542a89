// SPDX-License-Identifier: Apache-2.0
// One function per operator of the JSON: each defines a node of XNNPACK's subgraph.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "graph.h"

// A node on its way to XNNPACK.
typedef struct node_t {
  const xnnpack_library_t *library;
  xnn_subgraph_t subgraph;
  const xnnpack_json_t *json;
  const xnnpack_value_t *inputs[3]; // NULL: left out
  const xnnpack_value_t *output;
} node_t;

static size_t integer(const node_t *node, const char *name) {
  return (size_t)xnnpack_json_integer(xnnpack_json_member(node->json, name));
}

static size_t group_of(const node_t *node) {
  const size_t group = integer(node, "group");
  return group == 0 ? 1 : group;
}

// Element `index` of an attribute that is a list.
static uint32_t element(const node_t *node, const char *name, uint32_t index) {
  return (uint32_t)xnnpack_json_integer(xnnpack_json_item(xnnpack_json_member(node->json, name), index));
}

static float number(const node_t *node, const char *name, float fallback) {
  return (float)xnnpack_json_real(xnnpack_json_member(node->json, name), fallback);
}

static uint32_t id_of(const xnnpack_value_t *value) {
  return value == NULL ? XNN_INVALID_VALUE_ID : value->id;
}

typedef enum xnn_status (*unary_t)(xnn_subgraph_t subgraph, uint32_t input, uint32_t output, uint32_t flags);
typedef enum xnn_status (*binary_t)(xnn_subgraph_t subgraph, uint32_t left, uint32_t right, uint32_t output,
                                    uint32_t flags);
typedef enum xnn_status (*ranged_binary_t)(xnn_subgraph_t subgraph, float minimum, float maximum, uint32_t left,
                                           uint32_t right, uint32_t output, uint32_t flags);
typedef enum xnn_status (*alpha_t)(xnn_subgraph_t subgraph, float alpha, uint32_t input, uint32_t output,
                                   uint32_t flags);

static enum xnn_status unary(const node_t *node, unary_t define) {
  return define(node->subgraph, id_of(node->inputs[0]), id_of(node->output), 0);
}

static enum xnn_status binary(const node_t *node, binary_t define) {
  return define(node->subgraph, id_of(node->inputs[0]), id_of(node->inputs[1]), id_of(node->output), 0);
}

static enum xnn_status ranged_binary(const node_t *node, ranged_binary_t define) {
  return define(node->subgraph, -INFINITY, INFINITY, id_of(node->inputs[0]), id_of(node->inputs[1]),
                id_of(node->output), 0);
}

static enum xnn_status with_alpha(const node_t *node, alpha_t define) {
  return define(node->subgraph, number(node, "alpha", 0), id_of(node->inputs[0]), id_of(node->output), 0);
}

static enum xnn_status define_abs(const node_t *n) {
  return unary(n, n->library->xnn_define_abs);
}
static enum xnn_status define_ceil(const node_t *n) {
  return unary(n, n->library->xnn_define_ceiling);
}
static enum xnn_status define_floor(const node_t *n) {
  return unary(n, n->library->xnn_define_floor);
}
static enum xnn_status define_hard_swish(const node_t *n) {
  return unary(n, n->library->xnn_define_hardswish);
}
static enum xnn_status define_neg(const node_t *n) {
  return unary(n, n->library->xnn_define_negate);
}
static enum xnn_status define_round(const node_t *n) {
  return unary(n, n->library->xnn_define_bankers_rounding);
}
static enum xnn_status define_sigmoid(const node_t *n) {
  return unary(n, n->library->xnn_define_sigmoid);
}
static enum xnn_status define_softmax(const node_t *n) {
  return unary(n, n->library->xnn_define_softmax);
}
static enum xnn_status define_sqrt(const node_t *n) {
  return unary(n, n->library->xnn_define_square_root);
}
static enum xnn_status define_max(const node_t *n) {
  return binary(n, n->library->xnn_define_maximum2);
}
static enum xnn_status define_min(const node_t *n) {
  return binary(n, n->library->xnn_define_minimum2);
}
static enum xnn_status define_prelu(const node_t *n) {
  return binary(n, n->library->xnn_define_prelu);
}
static enum xnn_status define_add(const node_t *n) {
  return ranged_binary(n, n->library->xnn_define_add2);
}
static enum xnn_status define_div(const node_t *n) {
  return ranged_binary(n, n->library->xnn_define_divide);
}
static enum xnn_status define_mul(const node_t *n) {
  return ranged_binary(n, n->library->xnn_define_multiply2);
}
static enum xnn_status define_sub(const node_t *n) {
  return ranged_binary(n, n->library->xnn_define_subtract);
}
static enum xnn_status define_elu(const node_t *n) {
  return with_alpha(n, n->library->xnn_define_elu);
}
static enum xnn_status define_leaky_relu(const node_t *n) {
  return with_alpha(n, n->library->xnn_define_leaky_relu);
}

static enum xnn_status define_clamp(const node_t *node) {
  return node->library->xnn_define_clamp(node->subgraph, number(node, "min", -INFINITY), number(node, "max", INFINITY),
                                         id_of(node->inputs[0]), id_of(node->output), 0);
}

// "padding" is top, right, bottom, left, in the order of XNNPACK's parameters; strides and dilations are height, width.
// The filter is [group * outputs, height, width, inputs], of one group each.
static enum xnn_status define_convolution(const node_t *node) {
  const size_t *filter = node->inputs[1]->dims;
  const size_t group = group_of(node);
  return node->library->xnn_define_convolution_2d(
      node->subgraph, element(node, "padding", 0), element(node, "padding", 1), element(node, "padding", 2),
      element(node, "padding", 3), (uint32_t)filter[1], (uint32_t)filter[2], element(node, "strides", 0),
      element(node, "strides", 1), element(node, "dilations", 0), element(node, "dilations", 1), (uint32_t)group,
      filter[3], filter[0] / group, -INFINITY, INFINITY, id_of(node->inputs[0]), id_of(node->inputs[1]),
      id_of(node->inputs[2]), id_of(node->output), 0);
}

static enum xnn_status define_deconvolution(const node_t *node) {
  const size_t *filter = node->inputs[1]->dims;
  const size_t group = group_of(node);
  return node->library->xnn_define_deconvolution_2d(
      node->subgraph, element(node, "padding", 0), element(node, "padding", 1), element(node, "padding", 2),
      element(node, "padding", 3), element(node, "adjustment", 0), element(node, "adjustment", 1), (uint32_t)filter[1],
      (uint32_t)filter[2], element(node, "strides", 0), element(node, "strides", 1), element(node, "dilations", 0),
      element(node, "dilations", 1), (uint32_t)group, filter[3], filter[0] / group, -INFINITY, INFINITY,
      id_of(node->inputs[0]), id_of(node->inputs[1]), id_of(node->inputs[2]), id_of(node->output), 0);
}

static enum xnn_status define_max_pooling(const node_t *node) {
  return node->library->xnn_define_max_pooling_2d(
      node->subgraph, element(node, "padding", 0), element(node, "padding", 1), element(node, "padding", 2),
      element(node, "padding", 3), element(node, "kernel", 0), element(node, "kernel", 1), element(node, "strides", 0),
      element(node, "strides", 1), element(node, "dilations", 0), element(node, "dilations", 1), -INFINITY, INFINITY,
      id_of(node->inputs[0]), id_of(node->output), 0);
}

static enum xnn_status define_average_pooling(const node_t *node) {
  return node->library->xnn_define_average_pooling_2d(
      node->subgraph, element(node, "padding", 0), element(node, "padding", 1), element(node, "padding", 2),
      element(node, "padding", 3), element(node, "kernel", 0), element(node, "kernel", 1), element(node, "strides", 0),
      element(node, "strides", 1), -INFINITY, INFINITY, id_of(node->inputs[0]), id_of(node->output), 0);
}

static enum xnn_status define_global_average_pooling(const node_t *node) {
  return node->library->xnn_define_global_average_pooling_2d(node->subgraph, -INFINITY, INFINITY,
                                                             id_of(node->inputs[0]), id_of(node->output), 0);
}

// The filter is [outputs, inputs].
static enum xnn_status define_fully_connected(const node_t *node) {
  return node->library->xnn_define_fully_connected(node->subgraph, -INFINITY, INFINITY, id_of(node->inputs[0]),
                                                   id_of(node->inputs[1]), id_of(node->inputs[2]), id_of(node->output),
                                                   0);
}

static enum xnn_status define_depth_to_space(const node_t *node) {
  return node->library->xnn_define_depth_to_space(node->subgraph, id_of(node->inputs[0]), id_of(node->output),
                                                  (uint32_t)integer(node, "block"), 0);
}

static enum xnn_status define_pad(const node_t *node) {
  size_t before[XNN_MAX_TENSOR_DIMS], after[XNN_MAX_TENSOR_DIMS];
  for (uint32_t i = 0; i < node->output->rank; ++i) {
    before[i] = element(node, "before", i);
    after[i] = element(node, "after", i);
  }
  return node->library->xnn_define_static_constant_pad(node->subgraph, before, after, number(node, "value", 0),
                                                       id_of(node->inputs[0]), id_of(node->output), 0);
}

static enum xnn_status define_reshape(const node_t *node) {
  return node->library->xnn_define_static_reshape(node->subgraph, node->output->rank, node->output->dims,
                                                  id_of(node->inputs[0]), id_of(node->output), 0);
}

// "corners" and "legacy" are XNNPACK's flags; neither is half-pixel centers.
static enum xnn_status define_resize(const node_t *node) {
  const uint32_t flags = (integer(node, "corners") != 0 ? XNN_FLAG_ALIGN_CORNERS : 0u) |
                         (integer(node, "legacy") != 0 ? XNN_FLAG_TENSORFLOW_LEGACY_MODE : 0u);
  return node->library->xnn_define_static_resize_bilinear_2d(
      node->subgraph, node->output->dims[1], node->output->dims[2], id_of(node->inputs[0]), id_of(node->output), flags);
}

static const struct {
  const char *op;
  uint32_t input_count; // those that must be there
  enum xnn_status (*define)(const node_t *node);
} operators[] = {
    {"abs", 1, define_abs},
    {"add", 2, define_add},
    {"average_pooling", 1, define_average_pooling},
    {"ceil", 1, define_ceil},
    {"clamp", 1, define_clamp},
    {"convolution", 2, define_convolution},
    {"deconvolution", 2, define_deconvolution},
    {"depth_to_space", 1, define_depth_to_space},
    {"div", 2, define_div},
    {"elu", 1, define_elu},
    {"floor", 1, define_floor},
    {"fully_connected", 2, define_fully_connected},
    {"global_average_pooling", 1, define_global_average_pooling},
    {"hard_swish", 1, define_hard_swish},
    {"leaky_relu", 1, define_leaky_relu},
    {"max", 2, define_max},
    {"max_pooling", 1, define_max_pooling},
    {"min", 2, define_min},
    {"mul", 2, define_mul},
    {"neg", 1, define_neg},
    {"pad", 1, define_pad},
    {"prelu", 2, define_prelu},
    {"reshape", 1, define_reshape},
    {"resize", 1, define_resize},
    {"round", 1, define_round},
    {"sigmoid", 1, define_sigmoid},
    {"softmax", 1, define_softmax},
    {"sqrt", 1, define_sqrt},
    {"sub", 2, define_sub},
};

static const xnnpack_value_t *value_at(const xnnpack_graph_t *graph, const xnnpack_json_t *index) {
  const int64_t place = index != NULL && index->kind == XNNPACK_JSON_INTEGER ? index->integer : -1;
  return place >= 0 && place < (int64_t)graph->value_count ? &graph->values[place] : NULL;
}

int32_t xnnpack_define_node(xnnpack_graph_t *graph, const xnnpack_json_t *json) {
  const xnnpack_json_t *op = xnnpack_json_member(json, "op"), *inputs = xnnpack_json_member(json, "inputs");
  node_t node = {.library = graph->library, .subgraph = graph->subgraph, .json = json};
  for (uint32_t i = 0; i < 3; ++i) node.inputs[i] = value_at(graph, xnnpack_json_item(inputs, i));
  node.output = value_at(graph, xnnpack_json_member(json, "output"));
  for (size_t i = 0; node.output != NULL && i < sizeof(operators) / sizeof(operators[0]); ++i) {
    if (!xnnpack_json_is_text(op, operators[i].op)) continue;
    for (uint32_t k = 0; k < operators[i].input_count; ++k)
      if (node.inputs[k] == NULL) goto malformed;
    const enum xnn_status status = operators[i].define(&node);
    if (status == xnn_status_success) return BYOC_OK;
    (void)snprintf(graph->message, XNNPACK_MESSAGE_SIZE, "XNNPACK refuses a node '%s': status %d", operators[i].op,
                   (int)status);
    return status == xnn_status_out_of_memory ? BYOC_OUT_OF_MEMORY : BYOC_INTERNAL;
  }
malformed:
  (void)snprintf(graph->message, XNNPACK_MESSAGE_SIZE, "a node that the engine cannot read");
  return BYOC_INVALID_DATA;
}

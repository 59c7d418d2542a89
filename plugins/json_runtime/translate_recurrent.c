// SPDX-License-Identifier: Apache-2.0
// Recurrent networks: the products with the inputs and byoc::LSTMSteps, GRUSteps or RNNSteps as one network again.
#include <stdlib.h>
#include <string.h>

#include "translate.h"

// Operands of the steps, as core/ops has them, and the width of a panel of weights.
enum { STEPS_PRODUCTS, STEPS_PANELS, STEPS_BIAS, STEPS_PEEPHOLES, STEPS_LENGTHS, STEPS_H, STEPS_C };
enum { PANEL_WIDTH = 32 };

typedef struct network_t {
  const char *cell;
  int is_lstm, is_linear; // linear: the reset gate scales the product with the state, which has a bias of its own
  int64_t directions, gates, size, hidden;
  const byoc_value_t *x, *h, *c;
  const float *weights, *panels, *bias, *state_bias; // biases may be NULL
} network_t;

// oneDNN's gate for ONNX's: i, o, f, c of an LSTM become i, f, c, o; those of a GRU are in the same order.
static int64_t gate_of(const network_t *n, int64_t gate) {
  static const int64_t lstm[] = {0, 3, 1, 2};
  return n->is_lstm ? lstm[gate] : gate;
}

static const char *read_cell(const byoc_dnnl_source_t *source, network_t *n) {
  const byoc_graph_api_t *graph = source->graph;
  const char *op = graph->node_operator(source->node), *direction = graph->node_text(source->node, "direction");
  n->is_lstm = strcmp(op, "LSTMSteps") == 0;
  n->gates = n->is_lstm ? 4 : strcmp(op, "GRUSteps") == 0 ? 3 : 1;
  n->is_linear = n->gates == 3 && graph->node_int(source->node, "linear_before_reset") != 0;
  n->directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
  n->cell = n->is_lstm ? "lstm" : n->gates == 1 ? "tanh" : n->is_linear ? "linear_gru" : "gru";
  if (graph->has_attribute(source->node, "activations")) return "activations other than the defaults";
  if (graph->has_attribute(source->node, "clip")) return "sums that are clipped";
  if (graph->node_int(source->node, "layout") != 0) return "sequences in front of steps";
  if (n->is_lstm && graph->node_int(source->node, "input_forget") != 0) return "coupled input and forget gates";
  if (byoc_dnnl_source_operand(source, STEPS_PEEPHOLES) != NULL) return "peepholes";
  if (byoc_dnnl_source_operand(source, STEPS_LENGTHS) != NULL) return "sequences of different lengths";
  return NULL;
}

static const char *read_network(const byoc_dnnl_source_t *source, network_t *n) {
  const byoc_graph_api_t *graph = source->graph;
  int64_t count = 0, columns = 0;
  memset(n, 0, sizeof(*n));
  const char *reason = read_cell(source, n);
  if (reason != NULL) return reason;
  const byoc_value_t *panels = byoc_dnnl_source_operand(source, STEPS_PANELS);
  if (graph->value_rank(panels) != 4) return "weights of another rank";
  n->hidden = graph->value_dim(panels, 2);
  n->panels = byoc_dnnl_source_floats(source, panels, &count);
  n->state_bias = byoc_dnnl_source_floats(source, byoc_dnnl_source_operand(source, STEPS_BIAS), &count);
  n->h = byoc_dnnl_source_operand(source, STEPS_H);
  n->c = byoc_dnnl_source_operand(source, STEPS_C);
  if (n->is_lstm && (n->h == NULL) != (n->c == NULL))
    return "an initial state without its cells, or cells without the state";
  if (byoc_dnnl_source_operand(source, STEPS_BIAS) != NULL && n->state_bias == NULL) return "a bias that is computed";
  // The rule's pattern is Add?(MatMul(x, w), b).
  const byoc_node_t *product = graph->value_producer(byoc_dnnl_source_operand(source, STEPS_PRODUCTS));
  columns = n->directions * n->gates * n->hidden;
  if (product != NULL && strcmp(graph->node_operator(product), "Add") == 0) {
    const int second = byoc_dnnl_source_floats(source, graph->operand(product, 1), &count) != NULL;
    n->bias = byoc_dnnl_source_floats(source, graph->operand(product, (uint64_t)second), &count);
    if (n->bias == NULL || count != columns) return "a bias of another size";
    product = graph->value_producer(graph->operand(product, (uint64_t)!second));
  }
  if (product == NULL || strcmp(graph->node_operator(product), "MatMul") != 0) return "products of another kind";
  n->x = graph->operand(product, 0);
  n->weights = byoc_dnnl_source_floats(source, graph->operand(product, 1), &count);
  if (n->weights == NULL || n->panels == NULL) return "weights that are not constant";
  if (!byoc_dnnl_source_is_tensor(source, n->x) || graph->value_rank(n->x) != 3)
    return "only f32 operands are supported";
  n->size = graph->value_dim(n->x, 2);
  return n->size > 0 && count == n->size * columns ? NULL : "weights of another size";
}

// [size, directions, gates, hidden] → [1, directions, size, gates, hidden], gates as oneDNN orders them
static int32_t draft_weights(byoc_dnnl_draft_t *draft, const network_t *n) {
  const byoc_dnnl_shape_t shape = {.rank = 5, .dims = {1, n->directions, n->size, n->gates, n->hidden}};
  float *to = malloc((size_t)byoc_dnnl_shape_count(&shape) * sizeof(*to));
  for (int64_t d = 0; to != NULL && d < n->directions; ++d)
    for (int64_t k = 0; k < n->size; ++k)
      for (int64_t g = 0; g < n->gates; ++g)
        memcpy(to + ((d * n->size + k) * n->gates + gate_of(n, g)) * n->hidden,
               n->weights + ((k * n->directions + d) * n->gates + g) * n->hidden, (size_t)n->hidden * sizeof(*to));
  return byoc_dnnl_draft_constant(draft, &shape, to);
}

// Panels [directions, gates * panels, hidden, width] → [1, directions, hidden, gates, hidden]
static int32_t draft_state_weights(byoc_dnnl_draft_t *draft, const network_t *n) {
  const byoc_dnnl_shape_t shape = {.rank = 5, .dims = {1, n->directions, n->hidden, n->gates, n->hidden}};
  const int64_t count = (n->hidden + PANEL_WIDTH - 1) / PANEL_WIDTH;
  float *to = malloc((size_t)byoc_dnnl_shape_count(&shape) * sizeof(*to));
  for (int64_t d = 0; to != NULL && d < n->directions; ++d) {
    for (int64_t g = 0; g < n->gates; ++g) {
      for (int64_t k = 0; k < n->hidden; ++k) {
        float *row = to + ((d * n->hidden + k) * n->gates + gate_of(n, g)) * n->hidden;
        for (int64_t j = 0; j < n->hidden; ++j) {
          const int64_t panel = (d * n->gates + g) * count + j / PANEL_WIDTH;
          row[j] = n->panels[(panel * n->hidden + k) * PANEL_WIDTH + j % PANEL_WIDTH];
        }
      }
    }
  }
  return byoc_dnnl_draft_constant(draft, &shape, to);
}

// The biases of the gates; of a linear GRU, that of the last gate's product with the state behind them.
static int32_t draft_bias(byoc_dnnl_draft_t *draft, const network_t *n) {
  const int64_t rows = n->gates + n->is_linear;
  const byoc_dnnl_shape_t shape = {.rank = 4, .dims = {1, n->directions, rows, n->hidden}};
  float *to = calloc((size_t)byoc_dnnl_shape_count(&shape), sizeof(*to));
  for (int64_t d = 0; to != NULL && d < n->directions; ++d) {
    for (int64_t g = 0; g < n->gates; ++g) {
      float *sum = to + (d * rows + gate_of(n, g)) * n->hidden;
      const int64_t from = (d * n->gates + g) * n->hidden;
      float *of_state = n->is_linear && g == n->gates - 1 ? to + (d * rows + rows - 1) * n->hidden : sum;
      for (int64_t j = 0; j < n->hidden; ++j) {
        if (n->bias != NULL) sum[j] += n->bias[from + j];
        if (n->state_bias != NULL) of_state[j] += n->state_bias[from + j];
      }
    }
  }
  return byoc_dnnl_draft_constant(draft, &shape, to);
}

// Result `index` of the steps if a node reads it.
static const byoc_value_t *used_result(const byoc_dnnl_source_t *source, uint64_t index) {
  const byoc_graph_api_t *graph = source->graph;
  const byoc_value_t *value =
      index < graph->node_result_count(source->node) ? graph->node_result(source->node, index) : NULL;
  return value != NULL && graph->value_use_count(value) > 0 ? value : NULL;
}

// [directions, sequences, hidden] with one layer in front; `shape` is the other's.
static int32_t draft_state(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft, const byoc_value_t *state,
                           const byoc_dnnl_shape_t *shape) {
  if (state == NULL) return -1;
  return byoc_dnnl_draft_reshape(draft, byoc_dnnl_source_name(source), byoc_dnnl_draft_value(draft, state), shape);
}

// [steps, sequences, directions * hidden] → [steps, directions, sequences, hidden]
static void draft_result(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft, const network_t *n, int32_t joined,
                         int32_t output) {
  const char *name = byoc_dnnl_source_name(source);
  if (n->directions == 1) {
    byoc_dnnl_draft_node(draft, name, "reshape", &joined, 1, output, NULL);
    return;
  }
  const byoc_dnnl_shape_t x = byoc_dnnl_source_shape(source, n->x);
  const byoc_dnnl_shape_t parted = {.rank = 4, .dims = {x.dims[0], x.dims[1], n->directions, n->hidden}};
  const int32_t parts = byoc_dnnl_draft_reshape(draft, name, joined, &parted);
  json_t *attributes = json_pack("{s:[i,i,i,i]}", "permutation", 0, 2, 1, 3);
  if (attributes == NULL) draft->failed = 1;
  byoc_dnnl_draft_node(draft, name, "transpose", &parts, 1, output, attributes);
}

const char *byoc_dnnl_translate_recurrent(const byoc_dnnl_source_t *source, byoc_dnnl_draft_t *draft) {
  network_t n;
  const char *reason = read_network(source, &n);
  if (reason != NULL || draft == NULL) return reason;
  const char *name = byoc_dnnl_source_name(source);
  const byoc_dnnl_shape_t x = byoc_dnnl_source_shape(source, n.x);
  const byoc_dnnl_shape_t y = {.rank = 3, .dims = {x.dims[0], x.dims[1], n.directions * n.hidden}};
  const byoc_dnnl_shape_t state = {.rank = 4, .dims = {1, n.directions, x.dims[1], n.hidden}};
  const int32_t inputs[6] = {byoc_dnnl_draft_value(draft, n.x),       draft_weights(draft, &n),
                             draft_state_weights(draft, &n),          draft_bias(draft, &n),
                             draft_state(source, draft, n.h, &state), draft_state(source, draft, n.c, &state)};
  const byoc_value_t *results[3] = {used_result(source, 0), used_result(source, 1), used_result(source, 2)};
  const int32_t joined = byoc_dnnl_draft_temporary(draft, &y);
  int32_t last[2] = {-1, -1};
  for (int i = 0; i < 2; ++i)
    if (results[1 + i] != NULL) last[i] = byoc_dnnl_draft_temporary(draft, &state);
  json_t *attributes =
      json_pack("{s:s, s:s}", "cell", n.cell, "direction", source->graph->node_text(source->node, "direction"));
  if (attributes == NULL) draft->failed = 1;
  byoc_dnnl_draft_node(draft, name, "recurrent", inputs, 6, joined, attributes);
  byoc_dnnl_draft_more_results(draft, last);
  if (results[0] != NULL) draft_result(source, draft, &n, joined, byoc_dnnl_draft_value(draft, results[0]));
  for (int i = 0; i < 2; ++i)
    if (results[1 + i] != NULL)
      byoc_dnnl_draft_node(draft, name, "reshape", &last[i], 1, byoc_dnnl_draft_value(draft, results[1 + i]), NULL);
  return NULL;
}

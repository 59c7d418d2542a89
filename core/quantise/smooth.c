// SPDX-License-Identifier: Apache-2.0
// Moves outliers of activations into weights.
#include <math.h>
#include <string.h>

#include "core/quantise/layers.h"
#include "core/quantise/prepare.h"
#include "core/quantise/rewrite.h"

typedef struct smooth_t {
  byoc_qgraph_t graph;
  byoc_onnx_model_t *model;
  byoc_map_t names;
  byoc_diag_t *diag;
} smooth_t;

bool byoc_qsmooth_takes(const byoc_qgraph_t *graph, const Onnx__NodeProto *node) {
  if (!byoc_onnx_node_is(node, "MatMul") && !byoc_onnx_node_is(node, "Gemm")) return false;
  uint32_t operand;
  const byoc_qvalue_t *weights = byoc_qlayer_weights(graph, node, &operand);
  return weights != NULL && operand == 1 && weights->tensor->n_dims == 2 &&
         byoc_onnx_attribute_int(node, "transA", 0) == 0 &&
         byoc_qvalue_is_activation(byoc_qgraph_operand(graph, node, 0));
}

// Element (channel of the input, channel of the output) of a matrix.
static size_t place(const Onnx__TensorProto *tensor, bool turned, size_t k, size_t n) {
  return turned ? n * (size_t)tensor->dims[1] + k : k * (size_t)tensor->dims[1] + n;
}

// The largest weight that meets each channel, in all products that read the value. False if none does.
static bool weight_limits(const smooth_t *s, const byoc_qvalue_t *value, size_t channels, float *limits) {
  bool found = false;
  for (size_t r = 0; r < value->reader_count; r++) {
    const Onnx__NodeProto *node = s->graph.message->node[value->readers[r].node];
    if (value->readers[r].operand != 0 || !byoc_qsmooth_takes(&s->graph, node)) continue;
    const byoc_qvalue_t *weights = byoc_qgraph_operand(&s->graph, node, 1);
    const float *data = byoc_qvalue_floats(&s->graph, weights);
    const bool turned = byoc_qnode_is_turned(node);
    if ((size_t)weights->tensor->dims[turned ? 1 : 0] != channels) return false;
    const size_t columns = (size_t)weights->tensor->dims[turned ? 0 : 1];
    for (size_t k = 0; k < channels; k++) {
      for (size_t n = 0; n < columns; n++) {
        limits[k] = fmaxf(limits[k], fabsf(data[place(weights->tensor, turned, k, n)]));
      }
    }
    found = true;
  }
  return found;
}

// Multiplies the rows of each product's matrix, and lets it read `data`.
static byoc_status_t scale_products(smooth_t *s, const byoc_qvalue_t *value, const float *factors, const char *data) {
  for (size_t r = 0; r < value->reader_count; r++) {
    const uint32_t index = value->readers[r].node;
    const Onnx__NodeProto *node = s->graph.message->node[index];
    if (value->readers[r].operand != 0 || !byoc_qsmooth_takes(&s->graph, node)) continue;
    const byoc_qvalue_t *weights = byoc_qgraph_operand(&s->graph, node, 1);
    const Onnx__TensorProto *tensor = weights->tensor;
    const float *from = byoc_qvalue_floats(&s->graph, weights);
    const bool turned = byoc_qnode_is_turned(node);
    const char *name;
    float *to = byoc_qgraph_add_initialiser(s->model, &s->names, weights->name, "_smoothed", BYOC_DTYPE_F32, 2,
                                            tensor->dims, &name);
    Onnx__NodeProto *copy = byoc_onnx_copy_node(s->model, node);
    if (to == NULL || copy == NULL) return byoc_diag_out_of_memory(s->diag);
    const size_t rows = (size_t)tensor->dims[turned ? 1 : 0], columns = (size_t)tensor->dims[turned ? 0 : 1];
    for (size_t k = 0; k < rows; k++) {
      for (size_t n = 0; n < columns; n++) {
        const size_t at = place(tensor, turned, k, n);
        to[at] = from[at] * factors[k];
      }
    }
    copy->input[0] = (char *)data;
    copy->input[1] = (char *)name;
    s->graph.message->node[index] = copy;
  }
  return BYOC_OK;
}

// Are all readers of the value products that take it as operand 0?
static bool is_for_products(const smooth_t *s, const byoc_qvalue_t *value) {
  for (size_t r = 0; r < value->reader_count; r++) {
    const Onnx__NodeProto *node = s->graph.message->node[value->readers[r].node];
    if (value->readers[r].operand != 0 || !byoc_qsmooth_takes(&s->graph, node)) return false;
  }
  return !value->is_output && !value->is_read_inside;
}

// Divides scale and bias of a LayerNormalization; *out_done says if it could.
static byoc_status_t fold_into_norm(smooth_t *s, const byoc_qvalue_t *value, const float *factors, size_t channels,
                                    bool *out_done) {
  *out_done = false;
  const Onnx__NodeProto *node = byoc_qgraph_producer(&s->graph, value);
  if (node == NULL || !byoc_onnx_node_is(node, "LayerNormalization") || !is_for_products(s, value)) return BYOC_OK;
  Onnx__NodeProto *copy = byoc_onnx_copy_node(s->model, node);
  if (copy == NULL) return byoc_diag_out_of_memory(s->diag);
  const int64_t count = (int64_t)channels;
  for (size_t i = 1; i < node->n_input; i++) {
    const byoc_qvalue_t *operand = byoc_qgraph_operand(&s->graph, node, i);
    if (operand == NULL) continue;
    const float *from = byoc_qvalue_floats(&s->graph, operand);
    if (from == NULL || byoc_onnx_tensor_count(operand->tensor) != count) return BYOC_OK;
  }
  for (size_t i = 1; i < node->n_input; i++) {
    const byoc_qvalue_t *operand = byoc_qgraph_operand(&s->graph, node, i);
    if (operand == NULL) continue;
    const float *from = byoc_qvalue_floats(&s->graph, operand);
    const char *name;
    float *to =
        byoc_qgraph_add_initialiser(s->model, &s->names, operand->name, "_smoothed", BYOC_DTYPE_F32, 1, &count, &name);
    if (to == NULL) return byoc_diag_out_of_memory(s->diag);
    for (size_t k = 0; k < channels; k++) to[k] = from[k] / factors[k];
    copy->input[i] = (char *)name;
  }
  s->graph.message->node[value->producer] = copy;
  *out_done = true;
  return BYOC_OK;
}

// Puts Mul(value, 1 / factors) behind the value's producer.
static byoc_status_t add_division(smooth_t *s, const byoc_qvalue_t *value, const float *factors, size_t channels,
                                  const char *name) {
  const int64_t count = (int64_t)channels;
  const char *numbers;
  float *to =
      byoc_qgraph_add_initialiser(s->model, &s->names, value->name, "_factors", BYOC_DTYPE_F32, 1, &count, &numbers);
  if (to == NULL) return byoc_diag_out_of_memory(s->diag);
  for (size_t k = 0; k < channels; k++) to[k] = 1 / factors[k];
  Onnx__NodeProto *mul = byoc_onnx_make_node(s->model, "", "Mul", (const char *[]){value->name, numbers}, 2, &name, 1);
  Onnx__GraphProto *message = s->graph.message;
  Onnx__NodeProto **nodes = BYOC_ARENA_ARRAY(byoc_onnx_model_arena(s->model), Onnx__NodeProto *, message->n_node + 1);
  if (mul == NULL || nodes == NULL) return byoc_diag_out_of_memory(s->diag);
  mul->name = mul->output[0];
  const size_t at = (size_t)(value->producer + 1);
  if (at > 0) memcpy(nodes, message->node, at * sizeof(*nodes));
  nodes[at] = mul;
  memcpy(nodes + at + 1, message->node + at, (message->n_node - at) * sizeof(*nodes));
  message->node = nodes;
  message->n_node++;
  return BYOC_OK;
}

// The noise that rounding adds to the results of the products of a value, up to a constant: steps of the activations by
// the weights that they meet, and steps of the weights by the activations. `factors` NULL: without smoothing.
static double noise_of(const smooth_t *s, const byoc_qvalue_t *value, const byoc_qsmoothed_t *input,
                       const float *factors) {
  double most = 0, noise = 0, energy = 0; // of the activations
  for (size_t k = 0; k < input->channel_count; k++) {
    const double limit = (double)input->limits[k] / (factors != NULL ? (double)factors[k] : 1);
    most = fmax(most, limit);
    energy += limit * limit / 9; // as if the limit were three standard deviations
  }
  for (size_t r = 0; r < value->reader_count; r++) {
    const Onnx__NodeProto *node = s->graph.message->node[value->readers[r].node];
    if (value->readers[r].operand != 0 || !byoc_qsmooth_takes(&s->graph, node)) continue;
    const byoc_qvalue_t *weights = byoc_qgraph_operand(&s->graph, node, 1);
    const float *data = byoc_qvalue_floats(&s->graph, weights);
    const bool turned = byoc_qnode_is_turned(node);
    const size_t columns = (size_t)weights->tensor->dims[turned ? 0 : 1];
    for (size_t n = 0; n < columns; n++) {
      double widest = 0, squares = 0;
      for (size_t k = 0; k < input->channel_count; k++) {
        const double factor = factors != NULL ? (double)factors[k] : 1;
        const double weight = fabs((double)data[place(weights->tensor, turned, k, n)]) * factor;
        widest = fmax(widest, weight);
        squares += weight * weight;
      }
      noise += most * most / (127 * 127) * squares + widest * widest / (127 * 127) * energy;
    }
  }
  return noise;
}

static byoc_status_t smooth_one(smooth_t *s, const byoc_qsmoothed_t *input, double alpha, bool *out_done) {
  *out_done = false;
  const byoc_qvalue_t *value = byoc_qgraph_value(&s->graph, input->input);
  const size_t channels = input->channel_count;
  float *factors = BYOC_ARENA_ARRAY(&s->graph.arena, float, channels + 1);
  if (factors == NULL) return byoc_diag_out_of_memory(s->diag);
  if (value == NULL || !weight_limits(s, value, channels, factors)) return BYOC_OK;
  for (size_t k = 0; k < channels; k++) {
    const double a = (double)input->limits[k], w = (double)factors[k];
    const double factor = a > 0 && w > 0 ? pow(a, alpha) / pow(w, 1 - alpha) : 1;
    factors[k] = (float)fmin(1e4, fmax(1e-4, factor));
  }
  if (noise_of(s, value, input, factors) > 0.8 * noise_of(s, value, input, NULL)) return BYOC_OK; // no outliers
  bool is_folded;
  BYOC_RETURN_IF_ERROR(fold_into_norm(s, value, factors, channels, &is_folded));
  const char *data = is_folded ? value->name : byoc_qgraph_new_name(s->model, &s->names, value->name, "_smoothed");
  if (data == NULL) return byoc_diag_out_of_memory(s->diag);
  *out_done = true;
  BYOC_RETURN_IF_ERROR(scale_products(s, value, factors, data));
  return is_folded ? BYOC_OK : add_division(s, value, factors, channels, data);
}

// Nodes that are added move others, so each input gets a graph of its own.
byoc_status_t byoc_qsmooth(byoc_onnx_model_t *model, const byoc_graph_module_t *module, const byoc_qsmoothed_t *inputs,
                           size_t count, double alpha, byoc_diag_t *diag, size_t *out_count) {
  smooth_t s = {.model = model, .diag = diag};
  *out_count = 0;
  byoc_string_map_init(&s.names, byoc_allocator_system());
  byoc_status_t status = byoc_qgraph_names(byoc_onnx_model_message(model)->graph, &s.names, diag);
  for (size_t i = 0; status == BYOC_OK && i < count; i++) {
    bool done = false;
    status = byoc_qgraph_open(&s.graph, model, module, diag);
    if (status == BYOC_OK) status = smooth_one(&s, &inputs[i], alpha, &done);
    byoc_qgraph_close(&s.graph);
    *out_count += done;
  }
  byoc_map_deinit(&s.names);
  return status;
}

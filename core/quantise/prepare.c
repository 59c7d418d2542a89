// SPDX-License-Identifier: Apache-2.0
// Folds constants, normalisations and additions into the weights of layers.
#include "core/quantise/prepare.h"

#include <math.h>
#include <string.h>

typedef struct prepare_t {
  byoc_qgraph_t *graph;
  byoc_onnx_model_t *model;
  byoc_map_t *names; // taken
  byoc_diag_t *diag;
  size_t changes;
} prepare_t;

static byoc_status_t out_of_memory(const prepare_t *p) {
  return byoc_diag_out_of_memory(p->diag);
}

// Takes node `index` out of the graph; its place stays, as a node without results, until all are swept.
static void drop_node(const prepare_t *p, uint32_t index) {
  p->graph->message->node[index] = NULL;
}

static void sweep(Onnx__GraphProto *message) {
  size_t kept = 0;
  for (size_t n = 0; n < message->n_node; n++) {
    if (message->node[n] != NULL) message->node[kept++] = message->node[n];
  }
  message->n_node = kept;
}

// ---- constants ----

// out[i0][i1].. = data, with the axes in the order of `order`.
static void transpose(const float *data, const int64_t *dims, const int64_t *order, size_t rank, float *out) {
  int64_t index[16] = {0}, strides[16], count = 1;
  for (size_t i = rank; i-- > 0;) {
    strides[i] = count;
    count *= dims[i];
  }
  for (int64_t at = 0; at < count; at++) {
    int64_t from = 0;
    for (size_t i = 0; i < rank; i++) from += index[i] * strides[order[i]];
    out[at] = data[from];
    for (size_t i = rank; i-- > 0;) {
      if (++index[i] < dims[order[i]]) break;
      index[i] = 0;
    }
  }
}

// The dimensions of Reshape(data, shape); false if it does not fit.
static bool reshaped(const Onnx__TensorProto *data, const int64_t *shape, size_t rank, bool keeps_zero, int64_t *out) {
  const int64_t count = byoc_onnx_tensor_count(data);
  int64_t known = 1, open = -1;
  for (size_t i = 0; i < rank; i++) {
    out[i] = shape[i];
    if (shape[i] == 0 && !keeps_zero) out[i] = i < data->n_dims ? data->dims[i] : 0;
    if (shape[i] == -1) open = (int64_t)i;
    if (shape[i] != -1) known *= out[i];
  }
  if (open >= 0 && known > 0) out[open] = count / known;
  return open >= 0 ? known > 0 && count % known == 0 : known == count;
}

// Replaces the result of node `index` by an initialiser of the same name.
static byoc_status_t fold_movement(prepare_t *p, uint32_t index) {
  const Onnx__NodeProto *node = p->graph->message->node[index];
  const byoc_qvalue_t *value = byoc_qgraph_operand(p->graph, node, 0);
  const float *data = byoc_qvalue_floats(p->graph, value);
  byoc_qvalue_t *result = byoc_qgraph_result(p->graph, node);
  if (data == NULL || result == NULL || result->is_output || value->tensor->n_dims > 16) return BYOC_OK;
  const Onnx__TensorProto *tensor = value->tensor;
  int64_t dims[16] = {0}, order[16];
  size_t rank = tensor->n_dims;
  bool turns = false;
  if (byoc_onnx_node_is(node, "Identity")) {
    memcpy(dims, tensor->dims, rank * sizeof(*dims));
  } else if (byoc_onnx_node_is(node, "Reshape")) {
    const byoc_qvalue_t *shape = byoc_qgraph_operand(p->graph, node, 1);
    const int64_t *sizes =
        shape != NULL && shape->tensor != NULL ? byoc_onnx_tensor_ints(p->model, shape->tensor) : NULL;
    if (sizes == NULL || byoc_onnx_tensor_count(shape->tensor) > 16) return BYOC_OK;
    rank = (size_t)byoc_onnx_tensor_count(shape->tensor);
    if (!reshaped(tensor, sizes, rank, byoc_onnx_attribute_int(node, "allowzero", 0) != 0, dims)) return BYOC_OK;
  } else if (byoc_onnx_node_is(node, "Transpose")) {
    const Onnx__AttributeProto *perm = byoc_onnx_find_attribute(node, "perm");
    if (perm != NULL && perm->n_ints != rank) return BYOC_OK;
    for (size_t i = 0; i < rank; i++) order[i] = perm != NULL ? perm->ints[i] : (int64_t)(rank - 1 - i);
    for (size_t i = 0; i < rank; i++) dims[i] = tensor->dims[order[i]];
    turns = true;
  } else {
    return BYOC_OK;
  }
  float *out = byoc_onnx_add_initialiser(p->model, result->name, BYOC_DTYPE_F32, rank, dims);
  if (out == NULL) return out_of_memory(p);
  if (turns) {
    transpose(data, tensor->dims, order, rank, out);
  } else {
    memcpy(out, data, (size_t)byoc_onnx_tensor_count(tensor) * sizeof(*out));
  }
  Onnx__GraphProto *message = p->graph->message;
  result->tensor = message->initializer[message->n_initializer - 1];
  result->producer = -1;
  drop_node(p, index);
  p->changes++;
  return BYOC_OK;
}

// ---- convolutions ----

// The only node in front of `value`'s reader that may take it over: a Conv with constant weights. NULL otherwise.
static Onnx__NodeProto *conv_before(const prepare_t *p, const byoc_qvalue_t *value) {
  Onnx__NodeProto *conv = byoc_qgraph_producer(p->graph, value);
  if (conv == NULL || !byoc_onnx_node_is(conv, "Conv") || !byoc_qvalue_has_one_reader(value)) return NULL;
  const byoc_qvalue_t *bias = byoc_qgraph_operand(p->graph, conv, 2);
  if (byoc_qvalue_floats(p->graph, byoc_qgraph_operand(p->graph, conv, 1)) == NULL) return NULL;
  return bias == NULL || byoc_qvalue_floats(p->graph, bias) != NULL ? conv : NULL;
}

// conv' = conv * scale + shift, for each output channel, under the result of node `index`, which goes.
static byoc_status_t fold_into_conv(prepare_t *p, Onnx__NodeProto *conv, uint32_t index, const double *scale,
                                    const double *shift) {
  const byoc_qvalue_t *weights = byoc_qgraph_operand(p->graph, conv, 1), *bias = byoc_qgraph_operand(p->graph, conv, 2);
  const Onnx__TensorProto *tensor = weights->tensor;
  const float *data = byoc_qvalue_floats(p->graph, weights), *old = byoc_qvalue_floats(p->graph, bias);
  const size_t channels = (size_t)tensor->dims[0], inner = (size_t)byoc_onnx_tensor_count(tensor) / channels;
  const char *names[2], *result = p->graph->message->node[index]->output[0];
  const int64_t count = (int64_t)channels;
  float *scaled = byoc_qgraph_add_initialiser(p->model, p->names, weights->name, "_folded", BYOC_DTYPE_F32,
                                              tensor->n_dims, tensor->dims, &names[0]);
  float *shifted = byoc_qgraph_add_initialiser(p->model, p->names, byoc_qnode_name(conv), "_bias_folded",
                                               BYOC_DTYPE_F32, 1, &count, &names[1]);
  Onnx__NodeProto *copy = byoc_onnx_copy_node(p->model, conv);
  if (scaled == NULL || shifted == NULL || copy == NULL) return out_of_memory(p);
  for (size_t c = 0; c < channels; c++) {
    for (size_t i = 0; i < inner; i++) scaled[c * inner + i] = (float)((double)data[c * inner + i] * scale[c]);
    shifted[c] = (float)((old != NULL ? (double)old[c] : 0) * scale[c] + shift[c]);
  }
  const char *inputs[] = {copy->input[0], names[0], names[1]};
  Onnx__NodeProto *lists = byoc_onnx_make_node(p->model, "", "Conv", inputs, 3, &result, 1);
  if (lists == NULL) return out_of_memory(p);
  copy->input = lists->input;
  copy->n_input = 3;
  copy->output = lists->output;
  p->graph->message->node[byoc_qgraph_result(p->graph, conv)->producer] = copy;
  drop_node(p, index);
  p->changes++;
  return BYOC_OK;
}

static byoc_status_t fold_batch_norm(prepare_t *p, uint32_t index) {
  const Onnx__NodeProto *node = p->graph->message->node[index];
  if (!byoc_onnx_node_is(node, "BatchNormalization") || node->n_input != 5 || node->n_output != 1 ||
      byoc_onnx_attribute_int(node, "training_mode", 0) != 0) {
    return BYOC_OK;
  }
  Onnx__NodeProto *conv = conv_before(p, byoc_qgraph_operand(p->graph, node, 0));
  const float *parts[4]; // scale, bias, mean, variance
  if (conv == NULL) return BYOC_OK;
  const int64_t channels = byoc_qgraph_operand(p->graph, conv, 1)->tensor->dims[0];
  for (size_t i = 0; i < 4; i++) {
    const byoc_qvalue_t *value = byoc_qgraph_operand(p->graph, node, i + 1);
    parts[i] = byoc_qvalue_floats(p->graph, value);
    if (parts[i] == NULL || byoc_onnx_tensor_count(value->tensor) != channels) return BYOC_OK;
  }
  const double epsilon = (double)byoc_onnx_attribute_float(node, "epsilon", 1e-5f);
  double *scale = BYOC_ARENA_ARRAY(&p->graph->arena, double, (size_t)channels);
  double *shift = BYOC_ARENA_ARRAY(&p->graph->arena, double, (size_t)channels);
  if (scale == NULL || shift == NULL) return out_of_memory(p);
  for (int64_t c = 0; c < channels; c++) {
    scale[c] = (double)parts[0][c] / sqrt((double)parts[3][c] + epsilon);
    shift[c] = (double)parts[1][c] - (double)parts[2][c] * scale[c];
    if (!isfinite(scale[c]) || !isfinite(shift[c])) return BYOC_OK;
  }
  return fold_into_conv(p, conv, index, scale, shift);
}

// Add(Conv, constant) with one number for each channel, [C,1,1] or [1,C,1,1].
static byoc_status_t fold_addition(prepare_t *p, uint32_t index) {
  const Onnx__NodeProto *node = p->graph->message->node[index];
  if (!byoc_onnx_node_is(node, "Add")) return BYOC_OK;
  for (size_t i = 0; i < 2; i++) {
    const byoc_qvalue_t *data = byoc_qgraph_operand(p->graph, node, i),
                        *other = byoc_qgraph_operand(p->graph, node, 1 - i);
    const float *numbers = byoc_qvalue_floats(p->graph, other);
    Onnx__NodeProto *conv = numbers != NULL ? conv_before(p, data) : NULL;
    if (conv == NULL) continue;
    const Onnx__TensorProto *weights = byoc_qgraph_operand(p->graph, conv, 1)->tensor;
    const size_t spatial = weights->n_dims - 2, rank = other->tensor->n_dims;
    const size_t channels = (size_t)weights->dims[0];
    const bool fits = rank >= spatial + 1 && rank <= spatial + 2 &&
                      other->tensor->dims[rank - spatial - 1] == weights->dims[0] &&
                      byoc_onnx_tensor_count(other->tensor) == weights->dims[0];
    if (!fits) continue;
    double *scale = BYOC_ARENA_ARRAY(&p->graph->arena, double, channels);
    double *shift = BYOC_ARENA_ARRAY(&p->graph->arena, double, channels);
    if (scale == NULL || shift == NULL) return out_of_memory(p);
    for (size_t c = 0; c < channels; c++) {
      scale[c] = 1;
      shift[c] = (double)numbers[c];
    }
    return fold_into_conv(p, conv, index, scale, shift);
  }
  return BYOC_OK;
}

static byoc_status_t rename_sum(prepare_t *p, uint32_t index) {
  Onnx__NodeProto *node = p->graph->message->node[index];
  if (!byoc_onnx_node_is(node, "Sum") || node->n_input != 2) return BYOC_OK;
  Onnx__NodeProto *copy = byoc_onnx_copy_node(p->model, node);
  if (copy == NULL) return out_of_memory(p);
  copy->op_type = (char *)"Add";
  p->graph->message->node[index] = copy;
  return BYOC_OK;
}

// ---- all of it ----

typedef byoc_status_t (*step_t)(prepare_t *p, uint32_t index);

// Runs one step over all nodes. A fold leaves the graph of values behind, so each run makes that anew.
static byoc_status_t run_step(byoc_onnx_model_t *model, const byoc_graph_module_t *module, step_t step,
                              byoc_map_t *names, byoc_diag_t *diag) {
  byoc_qgraph_t graph;
  BYOC_RETURN_IF_ERROR(byoc_qgraph_open(&graph, model, module, diag));
  prepare_t p = {.graph = &graph, .model = model, .names = names, .diag = diag};
  byoc_status_t status = BYOC_OK;
  for (uint32_t n = 0; status == BYOC_OK && n < graph.message->n_node; n++) {
    if (graph.message->node[n] != NULL) status = step(&p, n);
  }
  sweep(graph.message);
  byoc_qgraph_close(&graph);
  return status;
}

byoc_status_t byoc_qprepare(byoc_onnx_model_t *model, const byoc_graph_module_t *module, byoc_diag_t *diag) {
  static const step_t steps[] = {rename_sum, fold_movement, fold_batch_norm, fold_addition};
  byoc_map_t names;
  byoc_string_map_init(&names, byoc_allocator_system());
  byoc_status_t status = byoc_qgraph_names(byoc_onnx_model_message(model)->graph, &names, diag);
  for (size_t i = 0; status == BYOC_OK && i < sizeof(steps) / sizeof(steps[0]); i++) {
    status = run_step(model, module, steps[i], &names, diag);
  }
  byoc_map_deinit(&names);
  return status;
}

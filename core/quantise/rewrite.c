// SPDX-License-Identifier: Apache-2.0
// Writes QuantizeLinear and DequantizeLinear around the layers of a plan.
#include "core/quantise/rewrite.h"

#include <math.h>
#include <string.h>

static byoc_status_t out_of_memory(const byoc_qwriter_t *writer) {
  return byoc_diag_out_of_memory(writer->diag);
}

// Adds a node with one result called `base` and `suffix`; its name is that of the result.
static byoc_status_t add_node(byoc_qwriter_t *writer, const char *op, const char *const *inputs, size_t count,
                              const char *base, const char *suffix, Onnx__NodeProto **out_node) {
  *out_node = NULL;
  const char *result = byoc_qwriter_name(writer, base, suffix);
  if (result == NULL) return out_of_memory(writer);
  *out_node = byoc_onnx_make_node(writer->model, "", op, inputs, count, &result, 1);
  if (*out_node != NULL) (*out_node)->name = (*out_node)->output[0];
  return byoc_qwriter_add(writer, *out_node);
}

// ---- activations ----

static void store_integer(byoc_dtype_t dtype, void *to, int32_t value) {
  if (byoc_dtype_bits(dtype) == 8) {
    *(uint8_t *)to = (uint8_t)value;
  } else {
    *(uint16_t *)to = (uint16_t)value;
  }
}

// The initialisers of a scale, which values that share it share, too.
static byoc_status_t add_scale(byoc_qwriter_t *writer, byoc_qparams_t *params, const char ***out_names) {
  byoc_qparams_t *root = byoc_qparams_root(params);
  *out_names = byoc_pointer_map_get(&writer->scales_of, root);
  if (*out_names != NULL) return BYOC_OK;
  const char **names = BYOC_ARENA_ARRAY(&writer->arena, const char *, 2);
  if (names == NULL) return out_of_memory(writer);
  const byoc_dtype_t dtype = writer->form->activations;
  float *scale = byoc_qwriter_initialiser(writer, root->value->name, "_scale", BYOC_DTYPE_F32, 0, NULL, &names[0]);
  void *zero = byoc_qwriter_initialiser(writer, root->value->name, "_zero_point", dtype, 0, NULL, &names[1]);
  if (scale == NULL || zero == NULL || !byoc_pointer_map_put(&writer->scales_of, root, (void *)names)) {
    return out_of_memory(writer);
  }
  *scale = root->scale.scale;
  store_integer(dtype, zero, root->scale.zero);
  *out_names = names;
  return BYOC_OK;
}

// x → QuantizeLinear → DequantizeLinear, once for each value; gives the name of the result.
static byoc_status_t add_pair(byoc_qwriter_t *writer, byoc_qparams_t *params, const char **out_name) {
  *out_name = byoc_pointer_map_get(&writer->floats_of, params->value);
  if (*out_name != NULL) return BYOC_OK;
  const char **scale, *value = params->value->name;
  Onnx__NodeProto *quantise = NULL, *dequantise = NULL;
  BYOC_RETURN_IF_ERROR(add_scale(writer, params, &scale));
  BYOC_RETURN_IF_ERROR(add_node(writer, "QuantizeLinear", (const char *[]){value, scale[0], scale[1]}, 3, value,
                                "_quantized", &quantise));
  BYOC_RETURN_IF_ERROR(add_node(writer, "DequantizeLinear", (const char *[]){quantise->output[0], scale[0], scale[1]},
                                3, value, "_dequantized", &dequantise));
  *out_name = dequantise->output[0];
  const bool done = byoc_pointer_map_put(&writer->floats_of, params->value, dequantise->output[0]);
  return done ? BYOC_OK : out_of_memory(writer);
}

// ---- weights ----

typedef struct weights_t {
  const char *name; // after DequantizeLinear
  const float *scales;
  size_t count;
} weights_t;

// The axis of output channels in the weights of a product, operand `operand`; -1: they get one scale.
static int32_t channel_axis(const byoc_qform_t *form, const Onnx__NodeProto *node, const Onnx__TensorProto *tensor,
                            uint32_t operand) {
  if (form->per_tensor) return -1;
  if (byoc_onnx_node_is(node, "Conv")) return 0;
  if (byoc_onnx_node_is(node, "ConvTranspose")) return byoc_onnx_attribute_int(node, "group", 1) == 1 ? 1 : -1;
  if (byoc_onnx_node_is(node, "Gemm")) return byoc_qnode_is_turned(node) ? 0 : 1;
  return operand == 1 && tensor->n_dims == 2 ? 1 : -1;
}

// The scale of what a product by constant weights reads as data; 1: that stays in floats.
static float data_scale_of(const byoc_qgraph_t *graph, const byoc_qplan_t *plan, const Onnx__NodeProto *node) {
  for (uint32_t i = 0; i < node->n_input; i++) {
    byoc_qparams_t *params = byoc_qplan_params(plan, byoc_qgraph_operand(graph, node, i));
    if (params != NULL && byoc_qplan_is_data(node, i)) return byoc_qparams_root(params)->scale.scale;
  }
  return 1;
}

// The smallest scale of each channel with which its bias fits 32 bits, with room for the sum; NULL: there is no bias.
static float *least_scales(const byoc_qgraph_t *graph, const Onnx__NodeProto *node, byoc_channels_t channels,
                           float data_scale, byoc_arena_t *arena) {
  const byoc_qvalue_t *bias = byoc_qgraph_operand(graph, node, 2);
  const float *data = byoc_qvalue_floats(graph, bias);
  if (data == NULL) return NULL;
  const size_t count = (size_t)byoc_onnx_tensor_count(bias->tensor);
  float *least = BYOC_ARENA_ARRAY(arena, float, channels.count);
  for (size_t i = 0; least != NULL && i < count; i++) {
    float *to = &least[channels.count == 1 ? 0 : i % channels.count];
    *to = fmaxf(*to, fabsf(data[i]) / data_scale * 0x1p-30f);
  }
  return least;
}

bool byoc_qlayer_scales(const byoc_qgraph_t *graph, const byoc_qplan_t *plan, const byoc_qform_t *form,
                        const Onnx__NodeProto *node, byoc_arena_t *arena, byoc_qscales_t *out) {
  uint32_t operand;
  const byoc_qvalue_t *value = byoc_qlayer_weights(graph, node, &operand);
  const Onnx__TensorProto *tensor = value->tensor;
  const int32_t axis = channel_axis(form, node, tensor, operand);
  const byoc_channels_t channels = byoc_channels_of(tensor->dims, tensor->n_dims, axis);
  const float data_scale = data_scale_of(graph, plan, node);
  const float *least = least_scales(graph, node, channels, data_scale, arena);
  const bool has_bias = byoc_qvalue_floats(graph, byoc_qgraph_operand(graph, node, 2)) != NULL;
  *out = (byoc_qscales_t){channels, axis, data_scale, BYOC_ARENA_ARRAY(arena, float, channels.count), has_bias};
  if (out->scales == NULL || (has_bias && least == NULL)) return false;
  byoc_channel_scales(byoc_qvalue_floats(graph, value), channels, least, out->scales);
  return true;
}

// w (i8) → DequantizeLinear, once for each tensor, axis and, with a bias, layer.
static byoc_status_t add_weights(byoc_qwriter_t *writer, const Onnx__NodeProto *node, const byoc_qvalue_t *value,
                                 const byoc_qscales_t *chosen, weights_t **out) {
  const Onnx__TensorProto *tensor = value->tensor;
  const int32_t axis = chosen->axis;
  const byoc_channels_t channels = chosen->channels;
  const float *scales = chosen->scales;
  const char *key = byoc_arena_format(&writer->arena, "%s\n%d\n%s", value->name, (int)axis,
                                      chosen->has_bias ? byoc_qnode_name(node) : "");
  *out = key != NULL ? byoc_string_map_get(&writer->weights_of, key) : NULL;
  if (*out != NULL) return BYOC_OK;
  weights_t *weights = BYOC_ARENA_NEW(&writer->arena, weights_t);
  const char *names[3];
  const int64_t count = (int64_t)channels.count;
  const size_t rank = axis >= 0 ? 1 : 0;
  int8_t *bytes = byoc_qwriter_initialiser(writer, value->name, "_quantized", BYOC_DTYPE_I8, tensor->n_dims,
                                           tensor->dims, &names[0]);
  float *scale = byoc_qwriter_initialiser(writer, value->name, "_scale", BYOC_DTYPE_F32, rank, &count, &names[1]);
  int8_t *zero = byoc_qwriter_initialiser(writer, value->name, "_zero_point", BYOC_DTYPE_I8, rank, &count, &names[2]);
  if (key == NULL || weights == NULL || bytes == NULL || scale == NULL || zero == NULL) return out_of_memory(writer);
  byoc_channel_round(byoc_qvalue_floats(writer->graph, value), channels, scales, bytes);
  memcpy(scale, scales, channels.count * sizeof(*scale)); // zero points are 0
  Onnx__NodeProto *dequantise = NULL;
  BYOC_RETURN_IF_ERROR(add_node(writer, "DequantizeLinear", names, 3, value->name, "_dequantized", &dequantise));
  if (axis >= 0) byoc_onnx_add_attribute_int(writer->model, dequantise, "axis", axis);
  *weights = (weights_t){dequantise->output[0], scales, channels.count};
  *out = weights;
  return byoc_string_map_put(&writer->weights_of, key, weights) ? BYOC_OK : out_of_memory(writer);
}

// A bias as i32 in steps of the product of the scales; *out_name NULL: it stays as it is.
static byoc_status_t add_bias(byoc_qwriter_t *writer, const byoc_qvalue_t *value, float data_scale,
                              const weights_t *weights, const char **out_name) {
  *out_name = NULL;
  const float *data = byoc_qvalue_floats(writer->graph, value);
  if (data == NULL) return BYOC_OK;
  const int64_t count = byoc_onnx_tensor_count(value->tensor);
  const bool is_row = value->tensor->n_dims > 0 && value->tensor->dims[value->tensor->n_dims - 1] == count;
  if (!is_row || (weights->count != 1 && (size_t)count != weights->count)) return BYOC_OK;
  const char *names[2];
  const int64_t scale_count = (int64_t)weights->count;
  const size_t rank = weights->count == 1 ? 0 : 1;
  int32_t *integers = byoc_qwriter_initialiser(writer, value->name, "_quantized", BYOC_DTYPE_I32, 1, &count, &names[0]);
  float *scales =
      byoc_qwriter_initialiser(writer, value->name, "_scale", BYOC_DTYPE_F32, rank, &scale_count, &names[1]);
  if (integers == NULL || scales == NULL) return out_of_memory(writer);
  for (size_t i = 0; i < weights->count; i++) scales[i] = data_scale * weights->scales[i];
  for (int64_t i = 0; i < count; i++) {
    const double steps = nearbyint((double)data[i] / (double)scales[weights->count == 1 ? 0 : i]);
    integers[i] = (int32_t)fmax(-0x1p30, fmin(0x1p30, steps));
  }
  Onnx__NodeProto *dequantise = NULL;
  BYOC_RETURN_IF_ERROR(add_node(writer, "DequantizeLinear", names, 2, value->name, "_dequantized", &dequantise));
  if (rank > 0) byoc_onnx_add_attribute_int(writer->model, dequantise, "axis", 0);
  *out_name = dequantise->output[0];
  return BYOC_OK;
}

// ---- layers ----

// Lets the first node of a layer, a copy, read integers.
static byoc_status_t quantise_operands(byoc_qwriter_t *writer, const Onnx__NodeProto *node, Onnx__NodeProto *copy) {
  const char *name;
  for (uint32_t i = 0; i < node->n_input; i++) {
    byoc_qparams_t *params = byoc_qplan_params(writer->plan, byoc_qgraph_operand(writer->graph, node, i));
    if (params == NULL || !byoc_qplan_is_data(node, i)) continue;
    BYOC_RETURN_IF_ERROR(add_pair(writer, params, &name));
    copy->input[i] = (char *)name;
  }
  uint32_t operand;
  const byoc_qvalue_t *value = byoc_qlayer_weights(writer->graph, node, &operand);
  if (value == NULL) return BYOC_OK;
  byoc_qscales_t chosen;
  weights_t *weights = NULL;
  if (!byoc_qlayer_scales(writer->graph, writer->plan, writer->form, node, &writer->arena, &chosen)) {
    return out_of_memory(writer);
  }
  BYOC_RETURN_IF_ERROR(add_weights(writer, node, value, &chosen, &weights));
  copy->input[operand] = (char *)weights->name;
  BYOC_RETURN_IF_ERROR(
      add_bias(writer, byoc_qgraph_operand(writer->graph, node, 2), chosen.data_scale, weights, &name));
  if (name != NULL) copy->input[2] = (char *)name;
  return BYOC_OK;
}

// Other readers of a value that a layer has made read what its integers stand for, so that the layer has one result.
static byoc_status_t redirect_operands(byoc_qwriter_t *writer, const Onnx__NodeProto *node, Onnx__NodeProto *copy) {
  for (uint32_t i = 0; i < node->n_input; i++) {
    const byoc_qvalue_t *value = byoc_qgraph_operand(writer->graph, node, i);
    byoc_qparams_t *params = byoc_qplan_params(writer->plan, value);
    if (params == NULL || value->producer < 0 || writer->plan->layer_of[value->producer] == 0) continue;
    const char *name;
    BYOC_RETURN_IF_ERROR(add_pair(writer, params, &name));
    copy->input[i] = (char *)name;
  }
  return BYOC_OK;
}

static byoc_status_t write_node(byoc_qwriter_t *writer, uint32_t index) {
  const Onnx__NodeProto *node = writer->graph->message->node[index];
  const uint32_t layer = writer->plan->layer_of[index];
  const bool is_first = layer > 0 && writer->plan->layers[layer - 1].first == index;
  if (is_first && writer->form->bits > 0) {
    return byoc_qwriter_add_groups(writer, node, node->input[0], node->output[0]);
  }
  Onnx__NodeProto *copy = byoc_onnx_copy_node(writer->model, node);
  if (copy == NULL) return out_of_memory(writer);
  BYOC_RETURN_IF_ERROR(is_first ? quantise_operands(writer, node, copy) : redirect_operands(writer, node, copy));
  return byoc_qwriter_add(writer, copy);
}

static byoc_status_t take_nodes(byoc_qwriter_t *writer) {
  Onnx__GraphProto *message = byoc_onnx_model_message(writer->model)->graph;
  BYOC_RETURN_IF_ERROR(
      byoc_qgraph_set_nodes(writer->model, message, writer->nodes.data, writer->nodes.count, writer->diag));
  byoc_qwriter_drop_unread(writer->model);
  return BYOC_OK;
}

byoc_status_t byoc_qwriter_quantise(byoc_qwriter_t *writer) {
  for (uint32_t n = 0; n < writer->graph->message->n_node; n++) BYOC_RETURN_IF_ERROR(write_node(writer, n));
  return take_nodes(writer);
}

// ---- each layer beside the model ----

// Writes a layer a second time, with results of other names.
static byoc_status_t write_beside(byoc_qwriter_t *writer, const byoc_qlayer_t *layer, const char **out_name) {
  const Onnx__GraphProto *message = writer->graph->message;
  const char *from = NULL, *to = NULL; // the result of the node in front
  for (uint32_t n = layer->first; n <= layer->last; n++) {
    if (writer->plan->layer_of[n] != writer->plan->layer_of[layer->first]) continue;
    const Onnx__NodeProto *node = message->node[n];
    const char *result = byoc_qwriter_name(writer, node->output[0], "_alone");
    if (result == NULL) return out_of_memory(writer);
    if (n == layer->first && writer->form->bits > 0) {
      BYOC_RETURN_IF_ERROR(byoc_qwriter_add_groups(writer, node, node->input[0], result));
    } else {
      Onnx__NodeProto *copy = byoc_onnx_copy_node(writer->model, node);
      if (copy == NULL) return out_of_memory(writer);
      if (n == layer->first) BYOC_RETURN_IF_ERROR(quantise_operands(writer, node, copy));
      for (size_t i = 0; n != layer->first && i < node->n_input; i++) {
        if (strcmp(node->input[i], from) == 0) copy->input[i] = (char *)to;
      }
      copy->name = (char *)result;
      copy->output[0] = (char *)result;
      copy->n_output = 1;
      BYOC_RETURN_IF_ERROR(byoc_qwriter_add(writer, copy));
    }
    from = node->output[0];
    to = result;
  }
  byoc_qparams_t *params = byoc_qplan_params(writer->plan, byoc_qgraph_value(writer->graph, from));
  *out_name = to;
  if (params == NULL) return BYOC_OK;
  const char **scale;
  Onnx__NodeProto *quantise = NULL, *dequantise = NULL;
  BYOC_RETURN_IF_ERROR(add_scale(writer, params, &scale));
  BYOC_RETURN_IF_ERROR(
      add_node(writer, "QuantizeLinear", (const char *[]){to, scale[0], scale[1]}, 3, to, "_quantized", &quantise));
  BYOC_RETURN_IF_ERROR(add_node(writer, "DequantizeLinear", (const char *[]){quantise->output[0], scale[0], scale[1]},
                                3, to, "_dequantized", &dequantise));
  *out_name = dequantise->output[0];
  return BYOC_OK;
}

byoc_status_t byoc_qwriter_compare(byoc_qwriter_t *writer, const char **out_names) {
  const Onnx__GraphProto *message = writer->graph->message;
  for (size_t n = 0; n < message->n_node; n++) BYOC_RETURN_IF_ERROR(byoc_qwriter_add(writer, message->node[n]));
  for (size_t l = 0; l < writer->plan->layer_count; l++) {
    const byoc_qlayer_t *layer = &writer->plan->layers[l];
    out_names[l] = NULL;
    if (layer->is_reported) BYOC_RETURN_IF_ERROR(write_beside(writer, layer, &out_names[l]));
  }
  return take_nodes(writer);
}

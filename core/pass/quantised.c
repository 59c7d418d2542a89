// SPDX-License-Identifier: Apache-2.0
// Reads QuantizeLinear and DequantizeLinear for passes.
#include "core/pass/quantised.h"

#include "core/ir/attribute_names.h"
#include "core/ir/virtual_device.h"
#include "core/op/util.h"

// Everything but the element types.
static bool read(const byoc_node_t *node, byoc_value_t *bytes, const byoc_type_t *real, byoc_quantised_t *out) {
  *out = (byoc_quantised_t){.bytes = bytes,
                            .scale = node->operands[1],
                            .zero = byoc_has_operand(node, 2) ? node->operands[2] : NULL,
                            .axis = -1};
  const byoc_type_t *scale = out->scale->type;
  if (!byoc_is_ranked(bytes->type) || !byoc_is_ranked(scale) || !byoc_is_ranked(real)) return false;
  if (!byoc_type_is_static(scale) || (out->zero && !byoc_is_ranked(out->zero->type))) return false;
  if (byoc_node_flag(node, "block_size")) return false;
  if (byoc_type_element_count(scale) == 1) return true;
  return scale->rank == 1 && byoc_normalize_axis(byoc_node_int(node, "axis"), bytes->type->rank, &out->axis);
}

static bool is_data(byoc_dtype_t dtype) {
  return byoc_dtype_is_byte(dtype) || byoc_dtype_is_word(dtype);
}

static bool is_f32(const byoc_quantised_t *read, const byoc_type_t *real) {
  return read->scale->type->dtype == BYOC_DTYPE_F32 && real->dtype == BYOC_DTYPE_F32;
}

static bool is_any(const byoc_quantised_t *read, const byoc_type_t *real) {
  const byoc_dtype_t scale = read->scale->type->dtype;
  return is_data(read->bytes->type->dtype) && byoc_dtype_is_float(scale) && scale != BYOC_DTYPE_F64 &&
         byoc_dtype_is_float(real->dtype) && real->dtype != BYOC_DTYPE_F64;
}

static bool read_producer(byoc_value_t *value, const byoc_block_t *block, byoc_quantised_t *out) {
  const byoc_node_t *node = byoc_value_open_producer(value);
  if (!node || node->block != block || !byoc_node_is_onnx(node, "DequantizeLinear")) return false;
  return read(node, node->operands[0], value->type, out);
}

bool byoc_quantised_read(byoc_value_t *value, const byoc_block_t *block, byoc_quantised_t *out) {
  return read_producer(value, block, out) && is_data(out->bytes->type->dtype) && is_f32(out, value->type);
}

bool byoc_quantised_read_weights(byoc_value_t *value, const byoc_block_t *block, byoc_quantised_t *out) {
  if (!read_producer(value, block, out) || !is_f32(out, value->type)) return false;
  const byoc_dtype_t dtype = out->bytes->type->dtype;
  return is_data(dtype) || (byoc_dtype_is_few_bits(dtype) && byoc_value_is_constant(out->bytes));
}

bool byoc_quantised_read_any(byoc_value_t *value, const byoc_block_t *block, byoc_quantised_t *out) {
  return read_producer(value, block, out) && is_any(out, value->type);
}

static bool read_quantise(const byoc_node_t *quantise, byoc_quantised_t *out) {
  return byoc_node_is_onnx(quantise, "QuantizeLinear") &&
         read(quantise, quantise->results[0], quantise->operands[0]->type, out);
}

bool byoc_quantised_of(const byoc_node_t *quantise, byoc_quantised_t *out) {
  return read_quantise(quantise, out) && is_data(out->bytes->type->dtype) && is_f32(out, quantise->operands[0]->type);
}

bool byoc_quantised_of_any(const byoc_node_t *quantise, byoc_quantised_t *out) {
  return read_quantise(quantise, out) && is_any(out, quantise->operands[0]->type);
}

static bool same_value(const byoc_value_t *a, const byoc_value_t *b) {
  if (!a || !b || a == b) return a == b;
  if (!byoc_value_is_constant(a) || !byoc_value_is_constant(b)) return false;
  int64_t count = byoc_type_element_count(a->type);
  if (count != byoc_type_element_count(b->type)) return false;
  for (int64_t i = 0; i < count; ++i) {
    if (byoc_constant_element_f64(a->constant, i) != byoc_constant_element_f64(b->constant, i)) return false;
  }
  return true;
}

bool byoc_quantised_same(const byoc_quantised_t *a, const byoc_quantised_t *b) {
  if (a->bytes->type->dtype != b->bytes->type->dtype || a->axis != b->axis) return false;
  return same_value(a->scale, b->scale) &&
         ((byoc_all_are(a->zero, 0) && byoc_all_are(b->zero, 0)) || same_value(a->zero, b->zero));
}

bool byoc_quantised_rises(const byoc_quantised_t *quantised) {
  double scale = 0;
  return quantised->axis < 0 && byoc_value_scalar_f64(quantised->scale, &scale) && scale > 0;
}

bool byoc_units_are_written_out(const byoc_graph_module_t *module) {
  return byoc_attributes_int(&module->attributes, BYOC_ATTRIBUTE_UNITS_WRITTEN, 0) != 0;
}

byoc_value_t *byoc_quantised_zero(byoc_writer_t *w, const byoc_quantised_t *quantised) {
  if (quantised->zero) return quantised->zero;
  byoc_graph_module_t *module = w->node->function->module;
  const int16_t none = 0; // as long as the longest type
  const byoc_type_t *type = byoc_type_tensor_static(&module->arena, quantised->bytes->type->dtype, 0, NULL);
  byoc_constant_t *constant = type ? byoc_constant_create(module, "zero", type, &none) : NULL;
  byoc_value_t *value = constant ? byoc_function_constant(w->node->function, constant) : NULL;
  if (!value) w->failed = true;
  return value;
}

byoc_value_t *byoc_quantised_product(byoc_writer_t *w, byoc_value_t *a, byoc_value_t *b) {
  if (!byoc_value_is_constant(a) || !byoc_value_is_constant(b)) {
    return byoc_write_node(w, "", "Mul", a, b, NULL, NULL, 0);
  }
  byoc_graph_module_t *module = w->node->function->module;
  void *data = NULL;
  byoc_constant_t *constant = byoc_constant_allocate(module, b->constant->name, b->type, &data);
  byoc_value_t *value = constant ? byoc_function_constant(w->node->function, constant) : NULL;
  if (!value) w->failed = true;
  float factor = (float)byoc_constant_element_f64(a->constant, 0);
  for (int64_t i = 0; value && i < byoc_type_element_count(b->type); ++i) {
    ((float *)data)[i] = factor * (float)byoc_constant_element_f64(b->constant, i);
  }
  return value;
}

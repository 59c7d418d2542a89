// SPDX-License-Identifier: Apache-2.0
// The bias of a quantised product as integers.
#include <math.h>

#include "core/ir/virtual_device.h"
#include "core/op/util.h"
#include "core/pass/quantised_product.h"

static bool near(double a, double b) {
  return fabs(a - b) <= 1e-5 * fabs(b);
}

// The DequantizeLinear of constants that makes the bias; NULL if it is something else.
static const byoc_node_t *dequantised(const byoc_quantised_product_t *product) {
  const byoc_node_t *node = byoc_value_open_producer(product->bias);
  if (!node || node->block != product->node->block || !byoc_node_is_onnx(node, "DequantizeLinear")) return NULL;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (node->operands[i] && !byoc_value_is_constant(node->operands[i])) return NULL;
  }
  return node;
}

// Does the sum of products with this constant of i32 stay within the limit? Wrapping is not rounding.
static bool stays_within(const byoc_quantised_product_t *product, const byoc_value_t *bias) {
  for (int64_t i = 0; i < byoc_type_element_count(bias->type); ++i) {
    int64_t term = byoc_constant_element_i64(bias->constant, i);
    if ((term < 0 ? -term : term) > product->limit - product->most) return false;
  }
  return true;
}

byoc_value_t *byoc_quantised_product_summand(const byoc_quantised_product_t *product) {
  const byoc_node_t *node = product->bias ? dequantised(product) : NULL;
  if (!node) return NULL;
  byoc_value_t *bias = node->operands[0], *scale = node->operands[1];
  if (bias->type->dtype != BYOC_DTYPE_I32 || bias->type->rank != 1 || !stays_within(product, bias)) return NULL;
  if (!byoc_value_is_constant(product->w.scale) || scale->type->dtype != BYOC_DTYPE_F32) return NULL;
  if (byoc_has_operand(node, 2) && !byoc_all_are(node->operands[2], 0)) return NULL;
  double x_scale = 0;
  int64_t count = byoc_type_element_count(scale->type), w_count = byoc_type_element_count(product->w.scale->type);
  if (!byoc_value_scalar_f64(product->x.scale, &x_scale) || count < 1 || w_count < 1) return NULL;
  for (int64_t i = 0; i < (count > w_count ? count : w_count); ++i) {
    double own = byoc_constant_element_f64(scale->constant, count == 1 ? 0 : i);
    double expected = x_scale * byoc_constant_element_f64(product->w.scale->constant, w_count == 1 ? 0 : i);
    if ((count > 1 && w_count > 1 && count != w_count) || !near(own, expected)) return NULL;
  }
  return bias;
}

// A constant bias, of floats or dequantised: its elements as they are in f32.
typedef struct bias_t {
  const byoc_constant_t *numbers, *scales, *zeros; // the last two may be NULL
  int64_t count, scale_count, zero_count;
} bias_t;

static int64_t count_of(const byoc_constant_t *constant) {
  return constant ? byoc_type_element_count(constant->type) : 0;
}

static bool read_bias(const byoc_quantised_product_t *product, bias_t *bias) {
  const byoc_node_t *node = byoc_value_is_constant(product->bias) ? NULL : dequantised(product);
  if (!node && !byoc_value_is_constant(product->bias)) return false;
  *bias = (bias_t){.numbers = node ? node->operands[0]->constant : product->bias->constant};
  if (node) {
    if (byoc_node_flag(node, "block_size")) return false;
    bias->scales = node->operands[1]->constant;
    bias->zeros = byoc_has_operand(node, 2) ? node->operands[2]->constant : NULL;
  }
  bias->count = count_of(bias->numbers);
  bias->scale_count = count_of(bias->scales), bias->zero_count = count_of(bias->zeros);
  // One for all channels, or a vector of them, perhaps as a row.
  if (bias->count != 1 && bias->count != product->channels) return false;
  const byoc_type_t *type = bias->numbers->type;
  if (bias->count != 1 && (type->rank < 1 || type->dims[type->rank - 1].constant != bias->count)) return false;
  if (bias->scales && bias->scale_count != 1 && (bias->scale_count != bias->count || type->rank != 1)) return false;
  return !bias->zeros || bias->zero_count == 1 || bias->zero_count == bias->count;
}

static double bias_at(const bias_t *bias, int64_t i) {
  i = bias->count == 1 ? 0 : i;
  double number = byoc_constant_element_f64(bias->numbers, i);
  if (bias->zeros) number -= byoc_constant_element_f64(bias->zeros, bias->zero_count == 1 ? 0 : i);
  return bias->scales ? (float)(number * byoc_constant_element_f64(bias->scales, bias->scale_count == 1 ? 0 : i))
                      : number;
}

bool byoc_quantised_product_read_bias(const byoc_quantised_product_t *product, double *numbers) {
  bias_t bias;
  if (product->bias != NULL && !read_bias(product, &bias)) return false;
  for (int64_t i = 0; i < product->channels; ++i) numbers[i] = product->bias != NULL ? bias_at(&bias, i) : 0;
  return true;
}

byoc_value_t *byoc_quantised_product_rounded_bias(byoc_writer_t *w, const byoc_quantised_product_t *product,
                                                  const byoc_value_t *y_scale) {
  enum { LEAST_UNITS = 64 }; // in a step of the result, each of which rounding moves by half at most
  bias_t bias;
  double x_scale = 0, step = 0;
  if (product->channels < 1 || !byoc_value_is_constant(product->w.scale)) return NULL;
  if (!byoc_value_scalar_f64(product->x.scale, &x_scale) || !byoc_value_scalar_f64(y_scale, &step)) return NULL;
  if (!read_bias(product, &bias)) return NULL;
  int64_t w_count = byoc_type_element_count(product->w.scale->type), channels = product->channels;
  if (w_count != 1 && w_count != channels) return NULL;
  byoc_graph_module_t *module = w->node->function->module;
  int32_t *integers = BYOC_ARENA_ARRAY(&module->arena, int32_t, (size_t)channels);
  if (!integers) w->failed = true;
  for (int64_t i = 0; integers && i < channels; ++i) {
    double unit = x_scale * byoc_constant_element_f64(product->w.scale->constant, w_count == 1 ? 0 : i);
    double number = nearbyint(bias_at(&bias, i) / unit);
    if (!(unit > 0) || unit / 2 > step / LEAST_UNITS) return NULL;
    if (!(fabs(number) <= INT32_MAX) || !(fabs(number) <= (double)(product->limit - product->most))) return NULL;
    integers[i] = (int32_t)number;
  }
  return integers ? byoc_write_vector(w, "bias", BYOC_DTYPE_I32, channels, integers) : NULL;
}

// SPDX-License-Identifier: Apache-2.0
// fold-quantised: models that say QuantizeLinear and DequantizeLinear around operators on floats (QDQ, as exporters
// write them) compute on the integers.
//
// Two things differ from the graph as written: sums of products are exact in i32, where floats round each step, and a
// bias that is quantised by the product of the scales is added before scaling. So a result may be rounded to the
// neighbouring integer if it lies within float error of the middle between two, but never further. All other rewrites
// are exact. Elementwise operators between both (Add, Mul, ...) stay: target `c` makes one kernel over bytes of each
// such group.
//
// Products stay in floats if no target multiplies bytes faster. The native target does if its -mcpu has an instruction
// for it (byoc/isa.def); other targets have rules that name such operators.
//
// It runs before constants are folded, because folding would turn quantised weights into floats.
#include <math.h>

#include "core/ir/virtual_device.h"
#include "core/ops/loops/window.h"
#include "core/pass/pass.h"
#include "core/pass/quantised.h"
#include "core/pass/rewrite.h"
#include "core/targets/cpu.h"

static byoc_status_t replace(const byoc_writer_t *w, byoc_node_t *node, byoc_value_t *by, byoc_diag_t *diag,
                             size_t *changes) {
  return byoc_pass_replace(node, w->failed ? NULL : by, diag, changes);
}

static byoc_value_t *write_dequantised(byoc_writer_t *w, byoc_value_t *x, byoc_value_t *scale, byoc_value_t *zero,
                                       int32_t axis) {
  const byoc_attribute_t attribute = {.name = "axis", .kind = BYOC_ATTRIBUTE_INT, .i = axis};
  return byoc_write_node(w, "", "DequantizeLinear", x, scale, zero, &attribute, axis >= 0 ? 1 : 0);
}

// ---- products ----

typedef struct product_t {
  byoc_node_t *node; // Conv, MatMul or Gemm
  bool is_conv;
  byoc_quantised_t x, w;
  byoc_value_t *bias;    // of floats; NULL: none
  byoc_value_t *summand; // the bias in i32, scaled by the product of the scales; NULL if it is not of that form
  bool turns;            // w must be transposed
  int64_t most;          // the largest magnitude that the sum of products may reach; within i32
} product_t;

static bool near(double a, double b) {
  return fabs(a - b) <= 1e-5 * fabs(b);
}

// How far from their zero point the bytes may lie: between 128 and 255.
static int64_t farthest(const byoc_quantised_t *side) {
  int64_t low = side->bytes->type->dtype == BYOC_DTYPE_U8 ? 0 : -128, high = low + 255, most = 0;
  if (!side->zero) return high > -low ? high : -low;
  if (!byoc_value_is_constant(side->zero)) return high - low;
  for (int64_t i = 0; i < byoc_type_element_count(side->zero->type); ++i) {
    int64_t zero = byoc_constant_element_i64(side->zero->constant, i);
    if (most < high - zero) most = high - zero;
    if (most < zero - low) most = zero - low;
  }
  return most;
}

// Does the sum of products with this constant of i32 stay within i32? Wrapping is not rounding.
static bool stays_within(const product_t *product, const byoc_value_t *bias) {
  if (!byoc_value_is_constant(bias)) return false;
  for (int64_t i = 0; i < byoc_type_element_count(bias->type); ++i) {
    int64_t term = byoc_constant_element_i64(bias->constant, i);
    if ((term < 0 ? -term : term) > INT32_MAX - product->most) return false;
  }
  return true;
}

// A bias quantised by the product of both scales, as DequantizeLinear of i32.
static byoc_value_t *read_summand(const product_t *product) {
  const byoc_node_t *node = byoc_value_open_producer(product->bias);
  if (!node || node->block != product->node->block || !byoc_node_is_onnx(node, "DequantizeLinear")) return NULL;
  byoc_value_t *bias = node->operands[0], *scale = node->operands[1];
  if (bias->type->dtype != BYOC_DTYPE_I32 || !byoc_is_ranked(bias->type) || bias->type->rank != 1) return NULL;
  if (!stays_within(product, bias)) return NULL;
  if (!byoc_value_is_constant(scale)) return NULL;
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

// Rows of A or pixels of x have one scale; weights may have one per output channel, and `channel` is their axis.
static bool read_operands(product_t *product, int32_t channel, int32_t depth_begin, int32_t depth_end) {
  const byoc_node_t *node = product->node;
  if (!byoc_quantised_read(node->operands[0], node->block, &product->x)) return false;
  if (!byoc_quantised_read(node->operands[1], node->block, &product->w)) return false;
  if (product->x.axis >= 0 || (product->w.axis >= 0 && product->w.axis != channel)) return false;
  if (product->x.zero && byoc_type_element_count(product->x.zero->type) != 1) return false;
  product->most = farthest(&product->x) * farthest(&product->w);
  const byoc_type_t *type = product->w.bytes->type;
  for (int32_t d = depth_begin; d < depth_end; ++d) {
    if (!byoc_dim_is_constant(type->dims[d])) return false;
    int64_t extent = type->dims[d].constant;
    if (extent > 0 && product->most > INT32_MAX / extent) return false;
    product->most *= extent;
  }
  return byoc_is_ranked(node->results[0]->type);
}

// Weights around 0, or around the middle if flipping the top bit of their bytes moves it to 0.
static bool is_symmetric(const product_t *product) {
  byoc_dtype_t dtype = product->w.bytes->type->dtype;
  if (byoc_all_are(product->w.zero, 0)) return true;
  return product->x.bytes->type->dtype == dtype && byoc_all_are(product->w.zero, dtype == BYOC_DTYPE_U8 ? 128 : -128);
}

static bool read_product(byoc_node_t *node, product_t *product) {
  *product = (product_t){.node = node};
  if (!byoc_has_operand(node, 0) || !byoc_is_ranked(byoc_operand_type(node, 1))) return false;
  int32_t rank = node->operands[1]->type->rank;
  product->bias = byoc_has_operand(node, 2) ? node->operands[2] : NULL;
  if (byoc_node_is_onnx(node, "Conv")) {
    product->is_conv = true;
    // If packing does not pay, the convolution of floats is faster than one of i32.
    if (!read_operands(product, 0, 1, rank)) return false;
    if (!byoc_conv_is_packed(product->w.bytes->type, byoc_node_int(node, "group"))) return false;
    if (!is_symmetric(product)) return false;
  } else if (byoc_node_is_onnx(node, "MatMul")) {
    if (rank < 2 || !read_operands(product, rank - 1, rank - 2, rank - 1)) return false;
    if (product->x.bytes->type->rank < 2) return false;
  } else if (byoc_node_is_onnx(node, "Gemm")) {
    if (byoc_node_flag(node, "transA") || byoc_node_float(node, "alpha") != 1) return false;
    if (product->bias && byoc_node_float(node, "beta") != 1) return false;
    product->turns = byoc_node_flag(node, "transB");
    if (!read_operands(product, product->turns ? 0 : 1, product->turns ? 1 : 0, product->turns ? 2 : 1)) return false;
  } else {
    return false;
  }
  if (product->bias) product->summand = read_summand(product);
  return true;
}

static byoc_value_t *write_weights(byoc_writer_t *w, const product_t *product) {
  if (!product->turns) return product->w.bytes;
  return byoc_write_node(w, "", "Transpose", product->w.bytes, NULL, NULL, NULL, 0);
}

// A vector along the channels, to be added to a convolution's result.
static byoc_value_t *write_along_channels(byoc_writer_t *w, const product_t *product, byoc_value_t *bias) {
  int64_t axes[BYOC_MAX_RANK];
  int32_t spatial = product->w.bytes->type->rank - 2;
  for (int32_t d = 0; d < spatial; ++d) axes[d] = d + 1;
  byoc_value_t *value = byoc_write_vector(w, "axes", BYOC_DTYPE_I64, spatial, axes);
  return byoc_write_node(w, "", "Unsqueeze", bias, value, NULL, NULL, 0);
}

// Conv(DQ(x), DQ(w), bias) → DQ(ConvInteger(x, w) + bias), MatMul and Gemm by MatMulInteger; a bias of floats is added
// behind
static byoc_status_t fold_product(const product_t *product, byoc_diag_t *diag, size_t *changes) {
  byoc_node_t *node = product->node;
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *operands[] = {product->x.bytes, write_weights(&w, product), byoc_quantised_zero(&w, &product->x),
                              byoc_quantised_zero(&w, &product->w)};
  byoc_node_t *made = byoc_write_many(&w, "", product->is_conv ? "ConvInteger" : "MatMulInteger", operands, 4, 1,
                                      node->attributes.items, product->is_conv ? node->attributes.count : 0);
  byoc_value_t *sum = made ? made->results[0] : NULL, *bias = product->summand ? product->summand : product->bias;
  if (bias && product->is_conv) bias = write_along_channels(&w, product, bias);
  if (product->summand) sum = byoc_write_node(&w, "", "Add", sum, bias, NULL, NULL, 0);
  byoc_value_t *scale = byoc_quantised_product(&w, product->x.scale, product->w.scale);
  int32_t axis = product->w.axis < 0 ? -1 : product->is_conv ? 1 : node->results[0]->type->rank - 1;
  byoc_value_t *y = write_dequantised(&w, sum, scale, NULL, axis);
  if (bias && !product->summand) y = byoc_write_node(&w, "", "Add", y, bias, NULL, NULL, 0);
  return replace(&w, node, y, diag, changes);
}

// ---- products between both ----

// The node whose result only `reader` reads.
static byoc_node_t *only_producer(const byoc_node_t *reader) {
  byoc_node_t *node = byoc_value_open_producer(reader->operands[0]);
  return node && node->block == reader->block && reader->operands[0]->uses.count == 1 ? node : NULL;
}

// QuantizeLinear(Relu?(Conv(DQ(x), DQ(w), DQ(bias)))) → Max?(QLinearConv(x, w, bias), zero point), and MatMul →
// QLinearMatMul. Rounding is monotonic, so the maximum may be taken after it. Relu vanishes if the zero point is the
// least byte.
static byoc_status_t fold_quantised_product(byoc_node_t *quantise, byoc_diag_t *diag, size_t *changes) {
  byoc_quantised_t y;
  product_t product;
  if (!byoc_quantised_of(quantise, &y) || y.axis >= 0) return BYOC_OK;
  byoc_node_t *relu = NULL, *node = only_producer(quantise);
  if (node && byoc_node_is_onnx(node, "Relu") && byoc_quantised_rises(&y)) {
    relu = node;
    node = only_producer(relu);
  }
  if (!node || !read_product(node, &product)) return BYOC_OK;
  if (product.bias && !(product.is_conv && product.summand)) return BYOC_OK;
  byoc_writer_t w = {.node = quantise, .diag = diag};
  byoc_value_t *zero = byoc_quantised_zero(&w, &y);
  byoc_value_t *operands[] = {product.x.bytes,
                              product.x.scale,
                              byoc_quantised_zero(&w, &product.x),
                              write_weights(&w, &product),
                              product.w.scale,
                              byoc_quantised_zero(&w, &product.w),
                              y.scale,
                              zero,
                              product.summand};
  byoc_node_t *made = byoc_write_many(&w, "", product.is_conv ? "QLinearConv" : "QLinearMatMul", operands,
                                      product.is_conv && product.summand ? 9 : 8, 1, node->attributes.items,
                                      product.is_conv ? node->attributes.count : 0);
  byoc_value_t *result = made ? made->results[0] : NULL;
  int64_t least = y.bytes->type->dtype == BYOC_DTYPE_U8 ? 0 : -128;
  int64_t lowest = 0;
  bool cuts = relu && !(byoc_value_scalar_i64(zero, &lowest) && lowest == least);
  if (result && cuts) result = byoc_write_node(&w, "", "Max", result, zero, NULL, NULL, 0);
  BYOC_RETURN_IF_ERROR(replace(&w, quantise, result, diag, changes));
  if (relu) byoc_node_erase(relu);
  byoc_node_erase(node);
  return BYOC_OK;
}

// ---- the pass ----

// Without targets nothing rules it out.
static bool products_pay(const byoc_target_list_t *targets) {
  bool pays = targets == NULL || targets->targets.count == 0;
  for (size_t i = 0; !pays && i < targets->targets.count; ++i) {
    const byoc_target_t *target = targets->targets.data[i];
    if (target->kind->backend != NULL) {
      pays = byoc_target_has_rule(target, "QLinearConv");
      continue;
    }
    pays = byoc_cpu_multiplies_bytes(byoc_target_cpu_features(target, "mcpu"));
  }
  return pays;
}

static byoc_status_t fold_block(byoc_block_t *block, byoc_diag_t *diag, size_t *changes) {
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) BYOC_RETURN_IF_ERROR(fold_block(node->blocks[b], diag, changes));
    if (byoc_node_is_onnx(node, "QuantizeLinear")) BYOC_RETURN_IF_ERROR(fold_quantised_product(node, diag, changes));
  }
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    product_t product;
    if (node->result_count == 0 || node->results[0]->uses.count == 0 || !read_product(node, &product)) continue;
    BYOC_RETURN_IF_ERROR(fold_product(&product, diag, changes));
  }
  return BYOC_OK;
}

byoc_status_t byoc_pass_fold_quantised(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments,
                                       byoc_diag_t *diag, size_t *changes) {
  if (!products_pay(arguments->targets)) return BYOC_OK;
  BYOC_FOR_EACH_FUNCTION(function, module) {
    BYOC_RETURN_IF_ERROR(fold_block(function->body, diag, changes));
  }
  return BYOC_OK;
}

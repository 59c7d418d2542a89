// SPDX-License-Identifier: Apache-2.0
// Products between DequantizeLinear and QuantizeLinear: read from the graph, and written as units. Internal to
// core/pass.
#ifndef BYOC_CORE_PASS_QUANTISED_PRODUCT_H_
#define BYOC_CORE_PASS_QUANTISED_PRODUCT_H_

#include "core/pass/quantised.h"

typedef enum byoc_quantised_kind_t {
  BYOC_QUANTISED_CONV,
  BYOC_QUANTISED_TRANSPOSED, // ConvTranspose
  BYOC_QUANTISED_MATMUL,
  BYOC_QUANTISED_GEMM,
} byoc_quantised_kind_t;

// A product of two dequantised operands.
typedef struct byoc_quantised_product_t {
  byoc_node_t *node; // Conv, ConvTranspose, MatMul or Gemm
  byoc_quantised_kind_t kind;
  byoc_quantised_t x, w;
  byoc_value_t *bias; // of floats, one for each channel of the result; NULL: none
  bool turns;         // w is transposed
  int64_t channels;   // of the result; -1: not constant
  int64_t most;       // the largest magnitude that the sum of products may reach
  int64_t limit;      // for the sum and the bias: of i32 if data and weights are bytes, otherwise of 64 bits
} byoc_quantised_product_t;

// False if the node is no product, if an operand is not quantised, and if sums might leave the limit.
bool byoc_quantised_product_read(byoc_node_t *node, byoc_quantised_product_t *out_product);

// The bias if it is a DequantizeLinear of constants of i32 whose scale is the product of both scales: these constants.
// NULL if it is not, or if the sum might leave the limit.
byoc_value_t *byoc_quantised_product_summand(const byoc_quantised_product_t *product);
// The constant bias of floats in units of the product of both scales, as a vector of i32. NULL if rounding it moves the
// result, whose scale is y_scale, by more than 1/64 of a step, or if the sum might leave the limit; w->failed tells
// that memory ran out.
byoc_value_t *byoc_quantised_product_rounded_bias(byoc_writer_t *w, const byoc_quantised_product_t *product,
                                                  const byoc_value_t *y_scale);

// The constant bias of floats, or dequantised, of each channel; zeros if there is none. False if it is something else.
bool byoc_quantised_product_read_bias(const byoc_quantised_product_t *product, double *numbers);

// BatchNormalization(product) → product, if its parameters are constants and nothing else reads the product. Scales of
// weights stay above zero: weights are turned to the other side of their zero point instead.
byoc_status_t byoc_quantised_norm_fold(byoc_node_t *norm, byoc_diag_t *diag, size_t *changes);
// QuantizeLinear(Relu or Clip?(product)) → one unit, and Relu or Clip on integers if these cut anything
byoc_status_t byoc_quantised_product_unite(byoc_node_t *quantise, byoc_diag_t *diag, size_t *changes);
// A product whose result is read as floats → ConvInteger or MatMulInteger, then DequantizeLinear
byoc_status_t byoc_quantised_product_split(byoc_node_t *node, byoc_diag_t *diag, size_t *changes);

#endif // BYOC_CORE_PASS_QUANTISED_PRODUCT_H_

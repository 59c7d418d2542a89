// SPDX-License-Identifier: Apache-2.0
// Reads arithmetic that exporters spread over nodes as products, sums and powers.
#include "core/pass/terms.h"

#include <math.h>

#include "core/ir/virtual_device.h"

// Formulas nest a few levels; longer chains are not a formula.
enum { MAX_DEPTH = 6 };

bool byoc_term_scalar(const byoc_value_t *value, double *out_number) {
  return byoc_value_scalar_f64(value, out_number);
}

bool byoc_term_near(byoc_dtype_t dtype, double number, double expected) {
  const double digits = dtype == BYOC_DTYPE_F16 ? 1e-3 : dtype == BYOC_DTYPE_BF16 ? 8e-3 : 2e-5;
  return fabs(number - expected) <= digits * (expected != 0 ? fabs(expected) : 1);
}

byoc_node_t *byoc_term_inner(const byoc_value_t *value, const byoc_block_t *block, const char *op) {
  byoc_node_t *node = byoc_value_open_producer(value);
  if (node == NULL || node->block != block || value->uses.count != 1 || !byoc_node_is_onnx(node, op)) return NULL;
  return node;
}

static bool multiply(byoc_value_t *value, bool is_root, int depth, byoc_product_t *product) {
  double number;
  if (byoc_term_scalar(value, &number)) {
    product->scalar *= number;
    return true;
  }
  const byoc_node_t *node = byoc_value_open_producer(value);
  bool opens = node != NULL && depth < MAX_DEPTH && (is_root || value->uses.count == 1) && node->operand_count == 2;
  if (opens && byoc_node_is_onnx(node, "Mul")) {
    return multiply(node->operands[0], false, depth + 1, product) &&
           multiply(node->operands[1], false, depth + 1, product);
  }
  if (opens && byoc_node_is_onnx(node, "Div") && byoc_term_scalar(node->operands[1], &number) && number != 0) {
    product->scalar /= number;
    return multiply(node->operands[0], false, depth + 1, product);
  }
  if (product->count == BYOC_PRODUCT_LIMIT) return false;
  product->factors[product->count++] = value;
  return true;
}

bool byoc_term_product(byoc_value_t *value, byoc_product_t *out_product) {
  *out_product = (byoc_product_t){.scalar = 1};
  return multiply(value, true, 0, out_product);
}

// One step of an affine value: the operation of the node at its core with a number. False for another node.
static bool strip(byoc_affine_t *affine, const byoc_block_t *block) {
  const byoc_node_t *node = byoc_value_open_producer(affine->core);
  if (node == NULL || node->block != block || affine->core->uses.count != 1) return false;
  if (byoc_node_is_onnx(node, "Neg")) {
    affine->factor = -affine->factor;
    affine->core = node->operands[0];
    return true;
  }
  double number = 0;
  if (node->operand_count != 2) return false;
  const bool adds = byoc_node_is_onnx(node, "Add"), multiplies = byoc_node_is_onnx(node, "Mul");
  const bool subtracts = byoc_node_is_onnx(node, "Sub"), divides = byoc_node_is_onnx(node, "Div");
  const bool first = (adds || multiplies || subtracts) && byoc_term_scalar(node->operands[0], &number);
  if (!first && !byoc_term_scalar(node->operands[1], &number)) return false;
  if (adds || (subtracts && first)) affine->summand += affine->factor * number;
  if (subtracts && first) affine->factor = -affine->factor;
  if (subtracts && !first) affine->summand -= affine->factor * number;
  if (multiplies) affine->factor *= number;
  if (divides) affine->factor /= number;
  if (!adds && !multiplies && !subtracts && !divides) return false;
  affine->core = node->operands[first ? 1 : 0];
  return true;
}

byoc_affine_t byoc_term_affine(byoc_value_t *value, const byoc_block_t *block) {
  byoc_affine_t affine = {.core = value, .factor = 1};
  for (int depth = 0; depth < MAX_DEPTH && strip(&affine, block);) ++depth;
  return affine;
}

// out = a * b; false if the degree is too high.
static bool times(const byoc_polynomial_t *a, const byoc_polynomial_t *b, byoc_polynomial_t *out) {
  byoc_polynomial_t product = {{0}};
  for (int i = 0; i <= BYOC_TERM_DEGREE; ++i) {
    for (int j = 0; j <= BYOC_TERM_DEGREE; ++j) {
      if (a->c[i] == 0 || b->c[j] == 0) continue;
      if (i + j > BYOC_TERM_DEGREE) return false;
      product.c[i + j] += a->c[i] * b->c[j];
    }
  }
  *out = product;
  return true;
}

static bool polynomial(const byoc_value_t *value, const byoc_value_t *x, const byoc_block_t *block, int depth,
                       byoc_polynomial_t *out) {
  *out = (byoc_polynomial_t){{0}};
  if (value == x) {
    out->c[1] = 1;
    return true;
  }
  if (byoc_term_scalar(value, &out->c[0])) return true;
  const byoc_node_t *node = byoc_value_open_producer(value);
  if (node == NULL || node->block != block || value->uses.count != 1 || depth == MAX_DEPTH) return false;
  byoc_polynomial_t a, b;
  double number = 0;
  const bool negates = byoc_node_is_onnx(node, "Neg");
  if ((!negates && node->operand_count != 2) || !polynomial(node->operands[0], x, block, depth + 1, &a)) return false;
  if (byoc_node_is_onnx(node, "Pow")) {
    if (!byoc_term_scalar(node->operands[1], &number) || (number != 2 && number != 3)) return false;
    return times(&a, &a, out) && (number == 2 || times(out, &a, out));
  }
  if (byoc_node_is_onnx(node, "Div")) {
    if (!byoc_term_scalar(node->operands[1], &number) || number == 0) return false;
    for (int i = 0; i <= BYOC_TERM_DEGREE; ++i) out->c[i] = a.c[i] / number;
    return true;
  }
  if (negates) {
    b = a;
    a = (byoc_polynomial_t){{0}};
  } else if (!polynomial(node->operands[1], x, block, depth + 1, &b)) {
    return false;
  }
  if (byoc_node_is_onnx(node, "Mul")) return times(&a, &b, out);
  const double sign = byoc_node_is_onnx(node, "Add") ? 1 : negates || byoc_node_is_onnx(node, "Sub") ? -1 : 0;
  for (int i = 0; i <= BYOC_TERM_DEGREE; ++i) out->c[i] = a.c[i] + sign * b.c[i];
  return sign != 0;
}

bool byoc_term_polynomial(const byoc_value_t *value, const byoc_value_t *x, const byoc_block_t *block,
                          byoc_polynomial_t *out_polynomial) {
  return polynomial(value, x, block, 0, out_polynomial);
}

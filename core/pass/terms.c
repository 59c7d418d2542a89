#include "core/pass/terms.h"

#include <math.h>

// Formulas nest a few levels; longer chains are not one.
enum { MAX_DEPTH = 6 };

bool byoc_term_scalar(const byoc_value_t *value, double *out_number) {
  return byoc_value_scalar_f64(value, out_number);
}

bool byoc_term_near(double number, double expected) {
  return fabs(number - expected) <= 2e-5 * fabs(expected);
}

byoc_node_t *byoc_term_inner(const byoc_value_t *value, const byoc_block_t *block, const char *op) {
  byoc_node_t *node = byoc_value_producer(value);
  if (node == NULL || node->block != block || value->uses.count != 1 || !byoc_node_is_onnx(node, op)) return NULL;
  return node;
}

static bool multiply(byoc_value_t *value, bool is_root, int depth, byoc_product_t *product) {
  double number;
  if (byoc_term_scalar(value, &number)) {
    product->scalar *= number;
    return true;
  }
  const byoc_node_t *node = byoc_value_producer(value);
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

bool byoc_term_is_power(const byoc_product_t *product, const byoc_value_t *x, int exponent) {
  double sum = 0;
  for (size_t i = 0; i < product->count; ++i) {
    const byoc_value_t *factor = product->factors[i];
    const byoc_node_t *power = byoc_value_producer(factor);
    double number = 1;
    if (factor != x) {
      if (power == NULL || !byoc_node_is_onnx(power, "Pow") || factor->uses.count != 1 || power->operands[0] != x ||
          !byoc_term_scalar(power->operands[1], &number)) {
        return false;
      }
    }
    sum += number;
  }
  return sum == exponent;
}

byoc_value_t *byoc_term_plus(const byoc_value_t *value, const byoc_block_t *block, double number) {
  const byoc_node_t *add = byoc_term_inner(value, block, "Add");
  for (uint32_t i = 0; add != NULL && i < 2; ++i) {
    double term;
    if (byoc_term_scalar(add->operands[i], &term) && byoc_term_near(term, number)) return add->operands[1 - i];
  }
  return NULL;
}

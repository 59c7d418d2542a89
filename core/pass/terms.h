// SPDX-License-Identifier: Apache-2.0
// Arithmetic as exporters spread it over nodes, read back as products, sums and powers: for passes that recognise
// formulas. Internal to core/pass.
#ifndef BYOC_CORE_PASS_TERMS_H_
#define BYOC_CORE_PASS_TERMS_H_

#include <stdbool.h>

#include "core/ir/graph.h"

// The number in a constant with one element, whatever its rank.
bool byoc_term_scalar(const byoc_value_t *value, double *out_number);
// Equal to about five digits, or for f16 and bf16 data to as many as these types have: exporters round constants. A
// number near 0 has an absolute tolerance instead.
bool byoc_term_near(byoc_dtype_t dtype, double number, double expected);
// The producer of `value` if it is this operator, in the standard domain, and nothing else reads it; otherwise NULL.
byoc_node_t *byoc_term_inner(const byoc_value_t *value, const byoc_block_t *block, const char *op);

#define BYOC_PRODUCT_LIMIT 4
// scalar * factors[0] * factors[1] * ...
typedef struct byoc_product_t {
  byoc_value_t *factors[BYOC_PRODUCT_LIMIT];
  size_t count;
  double scalar;
} byoc_product_t;
// Flattens multiplications, and divisions by numbers, that nothing else reads (the value itself may have any readers).
// False if there are too many factors.
bool byoc_term_product(byoc_value_t *value, byoc_product_t *out_product);

// factor * core + summand
typedef struct byoc_affine_t {
  byoc_value_t *core;
  double factor, summand;
} byoc_affine_t;
// Strips sums, differences, products and quotients of a value and a number that nothing else reads.
byoc_affine_t byoc_term_affine(byoc_value_t *value, const byoc_block_t *block);

enum { BYOC_TERM_DEGREE = 3 };
// c[0] + c[1] x + c[2] x^2 + c[3] x^3
typedef struct byoc_polynomial_t {
  double c[BYOC_TERM_DEGREE + 1];
} byoc_polynomial_t;
// Multiplies out sums, differences, products, quotients by numbers, and powers, that nothing else reads. False if they
// contain anything else than x, or a higher power of it.
bool byoc_term_polynomial(const byoc_value_t *value, const byoc_value_t *x, const byoc_block_t *block,
                          byoc_polynomial_t *out_polynomial);

#endif // BYOC_CORE_PASS_TERMS_H_

// Arithmetic as exporters spread it over nodes, read back as products, sums and powers: for passes that recognise
// formulas. Internal to core/pass.
#ifndef BYOC_CORE_PASS_TERMS_H_
#define BYOC_CORE_PASS_TERMS_H_

#include <stdbool.h>

#include "core/ir/graph.h"

// The number of a constant that holds one, whatever its rank.
bool byoc_term_scalar(const byoc_value_t *value, double *out_number);
// Equal to about five digits: exporters write constants in f32 and f16.
bool byoc_term_near(double number, double expected);
// The node that makes `value` if it is this operator, in the standard domain, and nothing else reads it; NULL else.
byoc_node_t *byoc_term_inner(const byoc_value_t *value, const byoc_block_t *block, const char *op);

#define BYOC_PRODUCT_LIMIT 4
// scalar * factors[0] * factors[1] * ...
typedef struct byoc_product_t {
  byoc_value_t *factors[BYOC_PRODUCT_LIMIT];
  size_t count;
  double scalar;
} byoc_product_t;
// Flattens multiplications, and divisions by numbers, that nothing else reads (the value itself may have any readers).
// False where there are too many factors.
bool byoc_term_product(byoc_value_t *value, byoc_product_t *out_product);
// True where `product` is scalar * x^exponent, by factors of x and Pow(x, number).
bool byoc_term_is_power(const byoc_product_t *product, const byoc_value_t *x, int exponent);
// The other operand of Add(number, other), which nothing else reads; NULL else.
byoc_value_t *byoc_term_plus(const byoc_value_t *value, const byoc_block_t *block, double number);

#endif // BYOC_CORE_PASS_TERMS_H_

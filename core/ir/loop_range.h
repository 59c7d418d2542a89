// SPDX-License-Identifier: Apache-2.0
// Ranges of index expressions (i64), and simplifications by them.
//
// Example:
//   int64_t low, high;
//   bool plain = byoc_loop_range(index, &low, &high) && low >= 0; // '/' of C is floor division here
//
// Ranges come from loop bounds: a variable of `for i in 0..56` lies in [0, 55]. Run-time dimensions are assumed to lie
// in [0, 2^40].
#ifndef BYOC_CORE_IR_LOOP_RANGE_H_
#define BYOC_CORE_IR_LOOP_RANGE_H_

#include "core/ir/loop.h"

// A variable with the known range of its value. Every byoc_loop_variable_t is one, because the builder makes them all.
typedef struct byoc_loop_variable_info_t {
  byoc_loop_variable_t variable;
  bool bounded; // low and high are valid
  int64_t low, high;
  const byoc_loop_expr_t *begin, *end; // loop variables
} byoc_loop_variable_info_t;

// The least and the greatest possible value of an i64 expression; false if they are not known.
bool byoc_loop_range(const byoc_loop_expr_t *expr, int64_t *out_low, int64_t *out_high);
// Are the expressions equal trees? Variables and buffers are compared by identity.
bool byoc_loop_expr_equal(const byoc_loop_expr_t *a, const byoc_loop_expr_t *b);
// Is the expression the index of a loop from 0 to that extent?
bool byoc_loop_is_index_of(const byoc_loop_expr_t *expr, const byoc_loop_expr_t *extent);

// The sum of two i64 expressions (`b` negated with `subtract`), or a product with a constant, brought into the form c1
// * t1 + c2 * t2 + ... + c: like terms are merged, and x / m * m + x % m is put together again. NULL if out of memory.
const byoc_loop_expr_t *byoc_loop_simplify_sum(byoc_loop_builder_t *builder, const byoc_loop_expr_t *a,
                                               const byoc_loop_expr_t *b, bool subtract);
const byoc_loop_expr_t *byoc_loop_simplify_scale(byoc_loop_builder_t *builder, const byoc_loop_expr_t *a,
                                                 int64_t factor);
// floordiv(a, b) or, with `modulo`, mod(a, b).
const byoc_loop_expr_t *byoc_loop_simplify_division(byoc_loop_builder_t *builder, const byoc_loop_expr_t *a,
                                                    const byoc_loop_expr_t *b, bool modulo);
// Makes the node itself, without folding.
const byoc_loop_expr_t *byoc_loop_raw_op(byoc_loop_builder_t *builder, byoc_loop_op_t op, byoc_dtype_t dtype,
                                         const byoc_loop_expr_t *a, const byoc_loop_expr_t *b);
// Floor division and its remainder (with the sign of the divisor). `b` must not be 0.
int64_t byoc_loop_floordiv(int64_t a, int64_t b);
int64_t byoc_loop_floormod(int64_t a, int64_t b);

#endif // BYOC_CORE_IR_LOOP_RANGE_H_

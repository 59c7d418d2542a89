// SPDX-License-Identifier: Apache-2.0
// Evaluation of value operators on constants, shared by the builder.
#ifndef BYOC_CORE_IR_LOOP_FOLD_H_
#define BYOC_CORE_IR_LOOP_FOLD_H_

#include "core/ir/element.h"
#include "core/ir/loop.h"

// A number of some element type: `i` for integers and bool, `f` for floats.
typedef struct byoc_loop_number_t {
  int64_t i;
  double f;
} byoc_loop_number_t;

static inline bool byoc_loop_is_float(byoc_dtype_t dtype) {
  return byoc_dtype_is_any_float(dtype);
}
static inline bool byoc_loop_is_signed(byoc_dtype_t dtype) {
  return byoc_dtype_is_signed_integer(dtype);
}
static inline bool byoc_loop_is_integer(byoc_dtype_t dtype) {
  return byoc_dtype_is_any_integer(dtype);
}
// May an expression have this type? Numeric types and bool.
static inline bool byoc_loop_is_scalar(byoc_dtype_t dtype) {
  return byoc_loop_is_float(dtype) || byoc_loop_is_integer(dtype) || dtype == BYOC_DTYPE_BOOL;
}
static inline bool byoc_loop_is_comparison(byoc_loop_op_t op) {
  byoc_loop_category_t category = byoc_loop_op_category(op);
  return category == BYOC_LOOP_COMPARISON || category == BYOC_LOOP_TEST;
}

// Wraps an integer to the width of its type; bool becomes 0 or 1.
int64_t byoc_loop_wrap(byoc_dtype_t dtype, int64_t value);
// Rounds a float to the precision of a register of its type: double for f64, float for every other type.
double byoc_loop_round(byoc_dtype_t dtype, double value);
// op(a, b) on operands of type `dtype`; false if it cannot be folded (division by 0, types without a rule).
bool byoc_loop_fold(byoc_loop_op_t op, byoc_dtype_t dtype, byoc_loop_number_t a, byoc_loop_number_t b,
                    byoc_loop_number_t *out);
// Converts by the rules of BYOC_LOOP_CAST; false for narrow floats, which the executors round.
bool byoc_loop_fold_cast(byoc_dtype_t from, byoc_dtype_t to, byoc_loop_number_t value, byoc_loop_number_t *out);

#endif // BYOC_CORE_IR_LOOP_FOLD_H_

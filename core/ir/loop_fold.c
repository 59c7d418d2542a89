// SPDX-License-Identifier: Apache-2.0
// Evaluates the value operators of loop kernels on constants.
#include "core/ir/loop_fold.h"

#include <math.h>

#include "core/ir/loop_range.h"

int64_t byoc_loop_wrap(byoc_dtype_t dtype, int64_t value) {
  uint32_t bits = byoc_dtype_bits(dtype);
  if (dtype == BYOC_DTYPE_BOOL) return value != 0;
  if (bits >= 64) return value;
  uint64_t mask = ((uint64_t)1 << bits) - 1, low = (uint64_t)value & mask;
  if (byoc_loop_is_signed(dtype) && (low >> (bits - 1))) low |= ~mask;
  return (int64_t)low;
}

double byoc_loop_round(byoc_dtype_t dtype, double value) {
  return dtype == BYOC_DTYPE_F64 ? value : (double)(float)value;
}

// Rounds half to even in every rounding mode.
static double round_even(double x) {
  double down = floor(x), rest = x - down;
  if (isinf(x) || isnan(x)) return x;
  if (rest < 0.5) return copysign(down, x);
  if (rest > 0.5) return copysign(down + 1, x);
  return copysign(fmod(down, 2) == 0 ? down : down + 1, x);
}

// The result has the sign of the divisor.
static double float_mod(double a, double b) {
  double rest = fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

static bool fold_float(byoc_loop_op_t op, double a, double b, byoc_loop_number_t *out) {
  switch (op) {
#define FOLD(NAME, value)                                                                                              \
  case BYOC_LOOP_OP_##NAME:                                                                                            \
    out->f = (value);                                                                                                  \
    return true;
#define FOLD_BOOL(NAME, value)                                                                                         \
  case BYOC_LOOP_OP_##NAME:                                                                                            \
    out->i = (value);                                                                                                  \
    return true;
    FOLD(ADD, a + b)
    FOLD(SUB, a - b)
    FOLD(MUL, a * b)
    FOLD(DIV, a / b)
    FOLD(FLOORDIV, floor(a / b))
    FOLD(MOD, float_mod(a, b))
    FOLD(FMOD, fmod(a, b))
    FOLD(MIN, isnan(a) || isnan(b) ? NAN : (a < b ? a : b))
    FOLD(MAX, isnan(a) || isnan(b) ? NAN : (a > b ? a : b))
    FOLD(POW, pow(a, b))
    FOLD(ATAN2, atan2(a, b))
    FOLD_BOOL(LT, a < b)
    FOLD_BOOL(LE, a <= b)
    FOLD_BOOL(EQ, a == b)
    FOLD_BOOL(NE, a != b)
    FOLD_BOOL(ISNAN, isnan(a) != 0)
    FOLD_BOOL(ISINF, isinf(a) != 0)
    FOLD(NEG, -a)
    FOLD(ABS, fabs(a))
    FOLD(SIGN, a > 0 ? 1 : a < 0 ? -1 : a)
    FOLD(FLOOR, floor(a))
    FOLD(CEIL, ceil(a))
    FOLD(ROUND, round_even(a))
    FOLD(TRUNC, trunc(a))
    FOLD(SQRT, sqrt(a))
    FOLD(EXP, exp(a))
    FOLD(LOG, log(a))
    FOLD(LOG1P, log1p(a))
    FOLD(EXPM1, expm1(a))
    FOLD(SIN, sin(a))
    FOLD(COS, cos(a))
    FOLD(TAN, tan(a))
    FOLD(ASIN, asin(a))
    FOLD(ACOS, acos(a))
    FOLD(ATAN, atan(a))
    FOLD(SINH, sinh(a))
    FOLD(COSH, cosh(a))
    FOLD(TANH, tanh(a))
    FOLD(ASINH, asinh(a))
    FOLD(ACOSH, acosh(a))
    FOLD(ATANH, atanh(a))
    FOLD(ERF, erf(a))
  default:
    return false;
  }
}

static bool less(byoc_dtype_t dtype, int64_t a, int64_t b) {
  return dtype == BYOC_DTYPE_U64 ? (uint64_t)a < (uint64_t)b : a < b;
}

static bool fold_division(byoc_loop_op_t op, byoc_dtype_t dtype, int64_t a, int64_t b, byoc_loop_number_t *out) {
  if (b == 0) return false;
  if (dtype == BYOC_DTYPE_U64) {
    bool quotient = op == BYOC_LOOP_OP_DIV || op == BYOC_LOOP_OP_FLOORDIV;
    out->i = (int64_t)(quotient ? (uint64_t)a / (uint64_t)b : (uint64_t)a % (uint64_t)b);
    return true;
  }
  switch (op) {
    FOLD_BOOL(DIV, b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b)
    FOLD_BOOL(FMOD, b == -1 ? 0 : a % b)
    FOLD_BOOL(FLOORDIV, byoc_loop_floordiv(a, b))
    FOLD_BOOL(MOD, byoc_loop_floormod(a, b))
  default:
    return false;
  }
}

static bool fold_integer(byoc_loop_op_t op, byoc_dtype_t dtype, int64_t a, int64_t b, byoc_loop_number_t *out) {
  uint64_t ua = (uint64_t)a, ub = (uint64_t)b;
  int64_t bits = (int64_t)byoc_dtype_bits(dtype);
  switch (op) {
    FOLD_BOOL(ADD, (int64_t)(ua + ub))
    FOLD_BOOL(SUB, (int64_t)(ua - ub))
    FOLD_BOOL(MUL, (int64_t)(ua * ub))
    FOLD_BOOL(MIN, less(dtype, b, a) ? b : a)
    FOLD_BOOL(MAX, less(dtype, a, b) ? b : a)
    FOLD_BOOL(AND, a & b)
    FOLD_BOOL(OR, a | b)
    FOLD_BOOL(XOR, a ^ b)
    FOLD_BOOL(LT, less(dtype, a, b))
    FOLD_BOOL(LE, !less(dtype, b, a))
    FOLD_BOOL(EQ, a == b)
    FOLD_BOOL(NE, a != b)
    FOLD_BOOL(NOT, dtype == BYOC_DTYPE_BOOL ? !a : ~a)
    FOLD_BOOL(NEG, (int64_t)(0 - ua))
    FOLD_BOOL(ABS, byoc_loop_is_signed(dtype) && a < 0 ? (int64_t)(0 - ua) : a)
    FOLD_BOOL(SIGN, byoc_loop_is_signed(dtype) ? (a > 0) - (a < 0) : a != 0)
    FOLD_BOOL(SHL, b < 0 || b >= bits ? 0 : (int64_t)(ua << ub))
    FOLD_BOOL(ISNAN, 0)
    FOLD_BOOL(ISINF, 0)
  case BYOC_LOOP_OP_SHR:
    if (b < 0 || b >= bits) return false;
    out->i = byoc_loop_is_signed(dtype) ? a >> b : (int64_t)(ua >> ub);
    return true;
  case BYOC_LOOP_OP_FLOOR:
  case BYOC_LOOP_OP_CEIL:
  case BYOC_LOOP_OP_ROUND:
  case BYOC_LOOP_OP_TRUNC:
    out->i = a;
    return true;
  default:
    return fold_division(op, dtype, a, b, out);
  }
}

bool byoc_loop_fold(byoc_loop_op_t op, byoc_dtype_t dtype, byoc_loop_number_t a, byoc_loop_number_t b,
                    byoc_loop_number_t *out) {
  *out = (byoc_loop_number_t){0, 0};
  if (byoc_loop_is_float(dtype)) {
    if (!fold_float(op, a.f, b.f, out)) return false;
    if (!byoc_loop_is_comparison(op)) out->f = byoc_loop_round(dtype, out->f);
    return true;
  }
  if (!byoc_loop_is_scalar(dtype) || !fold_integer(op, dtype, a.i, b.i, out)) return false;
  out->i = byoc_loop_is_comparison(op) ? out->i : byoc_loop_wrap(dtype, out->i);
  return true;
}

static int64_t saturate(byoc_dtype_t dtype, double value) {
  uint32_t bits = byoc_dtype_bits(dtype);
  bool is_signed = byoc_loop_is_signed(dtype);
  double high = ldexp(1, (int)bits - (is_signed ? 1 : 0)), low = is_signed ? -high : 0;
  if (isnan(value)) return 0;
  uint64_t ones = bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
  if (value >= high) return (int64_t)(is_signed ? ones >> 1 : ones);
  if (value <= low) return is_signed ? (int64_t)(~(ones >> 1)) : 0;
  return is_signed ? (int64_t)value : (int64_t)(uint64_t)value;
}

bool byoc_loop_fold_cast(byoc_dtype_t from, byoc_dtype_t to, byoc_loop_number_t value, byoc_loop_number_t *out) {
  *out = (byoc_loop_number_t){0, 0};
  if (!byoc_loop_is_scalar(from) || !byoc_loop_is_scalar(to)) return false;
  if (byoc_loop_is_float(to)) {
    if (to != BYOC_DTYPE_F32 && to != BYOC_DTYPE_F64) return false;
    double wide = byoc_loop_is_float(from) ? value.f
                  : from == BYOC_DTYPE_U64 ? (double)(uint64_t)value.i
                                           : (double)value.i;
    // Rounds only once: a 64-bit integer is converted to f32 directly.
    if (to == BYOC_DTYPE_F32 && !byoc_loop_is_float(from))
      wide = from == BYOC_DTYPE_U64 ? (double)(float)(uint64_t)value.i : (double)(float)value.i;
    out->f = byoc_loop_round(to, wide);
    return true;
  }
  if (to == BYOC_DTYPE_BOOL)
    out->i = byoc_loop_is_float(from) ? value.f != 0 : value.i != 0;
  else
    out->i = byoc_loop_is_float(from) ? saturate(to, value.f) : byoc_loop_wrap(to, value.i);
  return true;
}

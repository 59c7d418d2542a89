// SPDX-License-Identifier: Apache-2.0
// Arithmetic, conversions, loads and stores of the interpreter, one strip of lanes at a time. The functions of
// helpers.def are the same as in the emitted C.
#if defined(__GNUC__) && !defined(__clang__) && defined(__OPTIMIZE__)
#pragma GCC optimize("O3") // an evaluation spends its time in these loops
#endif
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "core/ir/loop_fold.h"
#include "core/kernel/bytecode.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#define BYOC_HELPER(name, ...) __VA_ARGS__
#include "core/kernel/helpers.def"
#undef BYOC_HELPER
#pragma GCC diagnostic pop

// ---- operators ----

#define LANES for (int64_t l = 0; l < count; ++l)

// d[l] = expr of x and y, with single numbers kept out of the loop.
#define BINARY(NAME, T, expr)                                                                                          \
  case BYOC_LOOP_OP_##NAME:                                                                                            \
    if (code->a_lanes && code->b_lanes) {                                                                              \
      LANES {                                                                                                          \
        T x = a[l], y = b[l];                                                                                          \
        d[l] = (expr);                                                                                                 \
      }                                                                                                                \
    } else if (code->a_lanes) {                                                                                        \
      T y = b[0];                                                                                                      \
      LANES {                                                                                                          \
        T x = a[l];                                                                                                    \
        d[l] = (expr);                                                                                                 \
      }                                                                                                                \
    } else {                                                                                                           \
      T x = a[0];                                                                                                      \
      LANES {                                                                                                          \
        T y = b[l];                                                                                                    \
        d[l] = (expr);                                                                                                 \
      }                                                                                                                \
    }                                                                                                                  \
    return;
#define UNARY(NAME, T, expr)                                                                                           \
  case BYOC_LOOP_OP_##NAME:                                                                                            \
    LANES {                                                                                                            \
      T x = a[l];                                                                                                      \
      d[l] = (expr);                                                                                                   \
    }                                                                                                                  \
    return;

#define FLOAT_OPS(T, f, t, INLINE)                                                                                     \
  static void op_##t(const byoc_code_t *code, T *restrict d, const T *a, const T *b, int64_t count) {                  \
    switch (code->op) {                                                                                                \
      BINARY(ADD, T, x + y)                                                                                            \
      BINARY(SUB, T, x - y)                                                                                            \
      BINARY(MUL, T, x *y)                                                                                             \
      BINARY(DIV, T, x / y)                                                                                            \
      BINARY(FLOORDIV, T, floor##f(x / y))                                                                             \
      BINARY(MOD, T, byoc_mod_##t(x, y))                                                                               \
      BINARY(FMOD, T, fmod##f(x, y))                                                                                   \
      BINARY(MIN, T, byoc_min_##t(x, y))                                                                               \
      BINARY(MAX, T, byoc_max_##t(x, y))                                                                               \
      BINARY(POW, T, pow##f(x, y))                                                                                     \
      BINARY(ATAN2, T, atan2##f(x, y))                                                                                 \
      UNARY(NEG, T, -x)                                                                                                \
      UNARY(ABS, T, fabs##f(x))                                                                                        \
      UNARY(SIGN, T, byoc_sign_##t(x))                                                                                 \
      UNARY(FLOOR, T, floor##f(x))                                                                                     \
      UNARY(CEIL, T, ceil##f(x))                                                                                       \
      UNARY(ROUND, T, rint##f(x))                                                                                      \
      UNARY(TRUNC, T, trunc##f(x))                                                                                     \
      UNARY(SQRT, T, sqrt##f(x))                                                                                       \
      UNARY(EXP, T, INLINE(exp)(x))                                                                                    \
      UNARY(LOG, T, INLINE(log)(x))                                                                                    \
      UNARY(LOG1P, T, INLINE(log1p)(x))                                                                                \
      UNARY(EXPM1, T, INLINE(expm1)(x))                                                                                \
      UNARY(SIN, T, INLINE(sin)(x))                                                                                    \
      UNARY(COS, T, INLINE(cos)(x))                                                                                    \
      UNARY(TAN, T, tan##f(x))                                                                                         \
      UNARY(ASIN, T, asin##f(x))                                                                                       \
      UNARY(ACOS, T, acos##f(x))                                                                                       \
      UNARY(ATAN, T, atan##f(x))                                                                                       \
      UNARY(SINH, T, sinh##f(x))                                                                                       \
      UNARY(COSH, T, cosh##f(x))                                                                                       \
      UNARY(TANH, T, INLINE(tanh)(x))                                                                                  \
      UNARY(ASINH, T, asinh##f(x))                                                                                     \
      UNARY(ACOSH, T, acosh##f(x))                                                                                     \
      UNARY(ATANH, T, atanh##f(x))                                                                                     \
      UNARY(ERF, T, INLINE(erf)(x))                                                                                    \
    }                                                                                                                  \
  }                                                                                                                    \
  static void test_##t(const byoc_code_t *code, int64_t *restrict d, const T *a, const T *b, int64_t count) {          \
    switch (code->op) {                                                                                                \
      BINARY(LT, T, x < y)                                                                                             \
      BINARY(LE, T, x <= y)                                                                                            \
      BINARY(EQ, T, x == y)                                                                                            \
      BINARY(NE, T, x != y)                                                                                            \
      UNARY(ISNAN, T, isnan(x) != 0)                                                                                   \
      UNARY(ISINF, T, isinf(x) != 0)                                                                                   \
    }                                                                                                                  \
  }
// Those of f32 are vectors of arithmetic (helpers.def), those of f64 the C library's.
#define INLINE_F32(name) byoc_##name##_f32
#define INLINE_F64(name) name
FLOAT_OPS(float, f, f32, INLINE_F32)
FLOAT_OPS(double, , f64, INLINE_F64)

#define U(x) ((uint64_t)(x))
#define I(x) ((int64_t)(x))

// For signed numbers, unsigned ones below 64 bits and bool: all are exact in int64.
static void op_i64(const byoc_code_t *code, int64_t *restrict d, const int64_t *a, const int64_t *b, int64_t count) {
  bool is_bool = code->from == BYOC_DTYPE_BOOL;
  switch (code->op) {
    BINARY(ADD, int64_t, I(U(x) + U(y)))
    BINARY(SUB, int64_t, I(U(x) - U(y)))
    BINARY(MUL, int64_t, I(U(x) * U(y)))
    BINARY(DIV, int64_t, byoc_div_i64(x, y))
    BINARY(FLOORDIV, int64_t, byoc_floordiv_i64(x, y))
    BINARY(MOD, int64_t, byoc_mod_i64(x, y))
    BINARY(FMOD, int64_t, byoc_fmod_i64(x, y))
    BINARY(MIN, int64_t, y < x ? y : x)
    BINARY(MAX, int64_t, x < y ? y : x)
    BINARY(AND, int64_t, x & y)
    BINARY(OR, int64_t, x | y)
    BINARY(DOT4, int64_t, byoc_dot4_i32((int32_t)x, (int32_t)y))
    BINARY(XOR, int64_t, x ^ y)
    BINARY(SHL, int64_t, I(byoc_shl_u64(U(x), U(y))))
    BINARY(SHR, int64_t, byoc_shr_i64(x, U(y)))
    BINARY(LT, int64_t, x < y)
    BINARY(LE, int64_t, x <= y)
    BINARY(EQ, int64_t, x == y)
    BINARY(NE, int64_t, x != y)
    UNARY(NOT, int64_t, is_bool ? !x : ~x)
    UNARY(NEG, int64_t, I(0 - U(x)))
    UNARY(ABS, int64_t, byoc_abs_i64(x))
    UNARY(SIGN, int64_t, byoc_sign_i64(x))
  }
}

static void op_u64(const byoc_code_t *code, int64_t *restrict d, const int64_t *a, const int64_t *b, int64_t count) {
  switch (code->op) {
    BINARY(DIV, int64_t, I(byoc_div_u64(U(x), U(y))))
    BINARY(FLOORDIV, int64_t, I(byoc_div_u64(U(x), U(y))))
    BINARY(MOD, int64_t, I(byoc_mod_u64(U(x), U(y))))
    BINARY(FMOD, int64_t, I(byoc_mod_u64(U(x), U(y))))
    BINARY(MIN, int64_t, U(y) < U(x) ? y : x)
    BINARY(MAX, int64_t, U(x) < U(y) ? y : x)
    BINARY(SHR, int64_t, I(byoc_shr_u64(U(x), U(y))))
    BINARY(LT, int64_t, U(x) < U(y))
    BINARY(LE, int64_t, U(x) <= U(y))
    UNARY(ABS, int64_t, x)
    UNARY(SIGN, int64_t, x != 0)
  default:
    op_i64(code, d, a, b, count);
  }
}

#define WRAP(T)                                                                                                        \
  LANES d[l] = (T)d[l];                                                                                                \
  return;

static void wrap(byoc_dtype_t dtype, int64_t *d, int64_t count) {
  switch (dtype) {
  case BYOC_DTYPE_I8:
    WRAP(int8_t)
  case BYOC_DTYPE_U8:
    WRAP(uint8_t)
  case BYOC_DTYPE_I16:
    WRAP(int16_t)
  case BYOC_DTYPE_U16:
    WRAP(uint16_t)
  case BYOC_DTYPE_I32:
    WRAP(int32_t)
  case BYOC_DTYPE_U32:
    WRAP(uint32_t)
  case BYOC_DTYPE_I64:
  case BYOC_DTYPE_U64:
    return;
  default:
    LANES d[l] = byoc_loop_wrap(dtype, d[l]);
  }
}

void byoc_code_run_op(const byoc_code_t *code, void *dst, const void *a, const void *b, int64_t count) {
  bool is_test = byoc_loop_is_comparison((byoc_loop_op_t)code->op);
  switch (code->operands) {
  case BYOC_CLASS_F32:
    if (is_test)
      test_f32(code, dst, a, b, count);
    else
      op_f32(code, dst, a, b, count);
    return;
  case BYOC_CLASS_F64:
    if (is_test)
      test_f64(code, dst, a, b, count);
    else
      op_f64(code, dst, a, b, count);
    return;
  default:
    if (code->from == BYOC_DTYPE_U64)
      op_u64(code, dst, a, b, count);
    else
      op_i64(code, dst, a, b, count);
    if (!is_test) wrap(code->dtype, dst, count);
  }
}

// ---- reductions: one by one, in the order of iterations ----

#define REDUCE(NAME, expr)                                                                                             \
  case BYOC_LOOP_OP_##NAME:                                                                                            \
    LANES {                                                                                                            \
      y = a[l * step];                                                                                                 \
      x = (expr);                                                                                                      \
    }                                                                                                                  \
    break;
#define REDUCE_FLOAT(T, t)                                                                                             \
  static void reduce_##t(const byoc_code_t *code, T *d, const T *a, int64_t count) {                                   \
    int64_t step = code->a_lanes;                                                                                      \
    T x = *d, y;                                                                                                       \
    switch (code->op) {                                                                                                \
      REDUCE(ADD, x + y)                                                                                               \
      REDUCE(MUL, x *y)                                                                                                \
      REDUCE(MIN, byoc_min_##t(x, y))                                                                                  \
      REDUCE(MAX, byoc_max_##t(x, y))                                                                                  \
    }                                                                                                                  \
    *d = x;                                                                                                            \
  }
REDUCE_FLOAT(float, f32)
REDUCE_FLOAT(double, f64)

void byoc_code_run_reduce(const byoc_code_t *code, void *dst, const void *a, int64_t count) {
  if (code->operands == BYOC_CLASS_F32) {
    reduce_f32(code, dst, a, count);
    return;
  }
  if (code->operands == BYOC_CLASS_F64) {
    reduce_f64(code, dst, a, count);
    return;
  }
  byoc_code_t single = *code;
  single.a_lanes = single.b_lanes = 0;
  LANES byoc_code_run_op(&single, dst, &(int64_t){*(const int64_t *)dst}, (const int64_t *)a + (code->a_lanes ? l : 0),
                         1);
}

// ---- conversions ----

static float round_narrow(byoc_dtype_t dtype, float x) {
  switch (dtype) {
  case BYOC_DTYPE_F16:
    return byoc_f32_from_f16(byoc_f16_from_f32(x));
  case BYOC_DTYPE_BF16:
    return byoc_f32_from_bf16(byoc_bf16_from_f32(x));
  case BYOC_DTYPE_F8E4M3FN:
    return byoc_f32_from_f8(byoc_f8_from_f32(x, 3, 7, 1, 0), 3, 7, 1, 0);
  case BYOC_DTYPE_F8E4M3FNUZ:
    return byoc_f32_from_f8(byoc_f8_from_f32(x, 3, 8, 1, 1), 3, 8, 1, 1);
  case BYOC_DTYPE_F8E5M2:
    return byoc_f32_from_f8(byoc_f8_from_f32(x, 2, 15, 0, 0), 2, 15, 0, 0);
  case BYOC_DTYPE_F8E5M2FNUZ:
    return byoc_f32_from_f8(byoc_f8_from_f32(x, 2, 16, 1, 1), 2, 16, 1, 1);
  case BYOC_DTYPE_F4E2M1:
    return byoc_f32_from_f4(byoc_f4_from_f32(x));
  case BYOC_DTYPE_F8E8M0:
    return byoc_f32_from_e8m0(byoc_e8m0_from_f32(x));
  default:
    return x;
  }
}

#define SATURATE(NAME, t)                                                                                              \
  case BYOC_DTYPE_##NAME:                                                                                              \
    if (from_double)                                                                                                   \
      LANES d[l] = (int64_t)byoc_##t##_from_f64(x64[l]);                                                               \
    else                                                                                                               \
      LANES d[l] = (int64_t)byoc_##t##_from_f32(x32[l]);                                                               \
    return;

static void float_to_int(const byoc_code_t *code, int64_t *d, const void *a, int64_t count) {
  const float *x32 = a;
  const double *x64 = a;
  bool from_double = code->from == BYOC_DTYPE_F64;
  switch (code->dtype) {
    SATURATE(I2, i2)
    SATURATE(U2, u2)
    SATURATE(I4, i4)
    SATURATE(U4, u4)
    SATURATE(I8, i8)
    SATURATE(U8, u8)
    SATURATE(I16, i16)
    SATURATE(U16, u16)
    SATURATE(I32, i32)
    SATURATE(U32, u32)
    SATURATE(I64, i64)
    SATURATE(U64, u64)
  default:
    if (from_double)
      LANES d[l] = x64[l] != 0;
    else
      LANES d[l] = x32[l] != 0;
  }
}

// To a float of fewer bits than f32; rounded once.
static void to_narrow(const byoc_code_t *code, float *d, const void *a, int64_t count) {
  const byoc_code_class_t from = byoc_code_class(code->from);
  const float *x32 = a;
  const double *x64 = a;
  const int64_t *xi = a;
  if (from == BYOC_CLASS_F32)
    LANES d[l] = x32[l];
  else if (from == BYOC_CLASS_F64)
    LANES d[l] = byoc_f32_odd_from_f64(x64[l]);
  else if (code->from == BYOC_DTYPE_U64)
    LANES d[l] = byoc_f32_odd_from_u64((uint64_t)xi[l]);
  else
    LANES d[l] = byoc_f32_odd_from_i64(xi[l]);
  LANES d[l] = round_narrow(code->dtype, d[l]);
}

void byoc_code_run_cast(const byoc_code_t *code, void *dst, const void *a, int64_t count) {
  byoc_code_class_t from = byoc_code_class(code->from), to = byoc_code_class(code->dtype);
  float *f32 = dst;
  double *f64 = dst;
  const float *x32 = a;
  const double *x64 = a;
  const int64_t *xi = a;
  if (to == BYOC_CLASS_INT && from == BYOC_CLASS_INT) {
    int64_t *d = dst;
    if (code->dtype == BYOC_DTYPE_BOOL) {
      LANES d[l] = xi[l] != 0;
    } else {
      LANES d[l] = xi[l];
      wrap(code->dtype, d, count);
    }
  } else if (to == BYOC_CLASS_INT) {
    float_to_int(code, dst, a, count);
  } else if (to == BYOC_CLASS_F64) {
    if (from == BYOC_CLASS_F32)
      LANES f64[l] = x32[l];
    else if (from == BYOC_CLASS_F64)
      LANES f64[l] = x64[l];
    else if (code->from == BYOC_DTYPE_U64)
      LANES f64[l] = (double)(uint64_t)xi[l];
    else
      LANES f64[l] = (double)xi[l];
  } else if (code->dtype != BYOC_DTYPE_F32) {
    to_narrow(code, dst, a, count);
  } else {
    if (from == BYOC_CLASS_F32)
      LANES f32[l] = x32[l];
    else if (from == BYOC_CLASS_F64)
      LANES f32[l] = (float)x64[l];
    else if (code->from == BYOC_DTYPE_U64)
      LANES f32[l] = (float)(uint64_t)xi[l];
    else
      LANES f32[l] = (float)xi[l];
  }
}

// ---- tensors ----

// X(NAME, element, register, from element x, from register x)
#define ELEMENTS(X)                                                                                                    \
  X(F32, float, float, x, x)                                                                                           \
  X(F64, double, double, x, x)                                                                                         \
  X(BOOL, uint8_t, int64_t, x != 0, (uint8_t)x)                                                                        \
  X(I8, int8_t, int64_t, x, (int8_t)x)                                                                                 \
  X(U8, uint8_t, int64_t, x, (uint8_t)x)                                                                               \
  X(I16, int16_t, int64_t, x, (int16_t)x)                                                                              \
  X(U16, uint16_t, int64_t, x, (uint16_t)x)                                                                            \
  X(I32, int32_t, int64_t, x, (int32_t)x)                                                                              \
  X(U32, uint32_t, int64_t, x, (uint32_t)x)                                                                            \
  X(I64, int64_t, int64_t, x, x)                                                                                       \
  X(U64, uint64_t, int64_t, (int64_t)x, (uint64_t)x)                                                                   \
  X(F16, uint16_t, float, byoc_f32_from_f16(x), byoc_f16_from_f32(x))                                                  \
  X(BF16, uint16_t, float, byoc_f32_from_bf16(x), byoc_bf16_from_f32(x))                                               \
  X(F8E4M3FN, uint8_t, float, byoc_f32_from_f8(x, 3, 7, 1, 0), byoc_f8_from_f32(x, 3, 7, 1, 0))                        \
  X(F8E4M3FNUZ, uint8_t, float, byoc_f32_from_f8(x, 3, 8, 1, 1), byoc_f8_from_f32(x, 3, 8, 1, 1))                      \
  X(F8E5M2, uint8_t, float, byoc_f32_from_f8(x, 2, 15, 0, 0), byoc_f8_from_f32(x, 2, 15, 0, 0))                        \
  X(F8E5M2FNUZ, uint8_t, float, byoc_f32_from_f8(x, 2, 16, 1, 1), byoc_f8_from_f32(x, 2, 16, 1, 1))                    \
  X(F8E8M0, uint8_t, float, byoc_f32_from_e8m0(x), byoc_e8m0_from_f32(x))

#define LOAD_RAMP(NAME, E, R, from, to)                                                                                \
  case BYOC_DTYPE_##NAME: {                                                                                            \
    const E *p = (const E *)data + first;                                                                              \
    R *d = dst;                                                                                                        \
    if (step == 1) {                                                                                                   \
      LANES {                                                                                                          \
        E x = p[l];                                                                                                    \
        d[l] = from;                                                                                                   \
      }                                                                                                                \
    } else {                                                                                                           \
      LANES {                                                                                                          \
        E x = p[l * step];                                                                                             \
        d[l] = from;                                                                                                   \
      }                                                                                                                \
    }                                                                                                                  \
    return;                                                                                                            \
  }

void byoc_code_load_ramp(byoc_dtype_t dtype, const void *data, int64_t first, int64_t step, void *dst, int64_t count) {
  switch (dtype) {
    ELEMENTS(LOAD_RAMP)
  case BYOC_DTYPE_U4:
    LANES((int64_t *)dst)[l] = byoc_load_u4(data, first + l * step);
    return;
  case BYOC_DTYPE_I4:
    LANES((int64_t *)dst)[l] = byoc_load_i4(data, first + l * step);
    return;
  case BYOC_DTYPE_U2:
    LANES((int64_t *)dst)[l] = byoc_load_u2(data, first + l * step);
    return;
  case BYOC_DTYPE_I2:
    LANES((int64_t *)dst)[l] = byoc_load_i2(data, first + l * step);
    return;
  case BYOC_DTYPE_F4E2M1:
    LANES((float *)dst)[l] = byoc_f32_from_f4(byoc_load_u4(data, first + l * step));
    return;
  }
}

void byoc_code_load_at(byoc_dtype_t dtype, const void *data, int64_t index, void *dst, int64_t lane) {
  if (byoc_code_class(dtype) == BYOC_CLASS_F32)
    byoc_code_load_ramp(dtype, data, index, 1, (float *)dst + lane, 1);
  else
    byoc_code_load_ramp(dtype, data, index, 1, (int64_t *)dst + lane, 1); // doubles have the same width
}

#define STORE_RAMP(NAME, E, R, from, to)                                                                               \
  case BYOC_DTYPE_##NAME: {                                                                                            \
    E *p = (E *)data + first;                                                                                          \
    const R *v = value;                                                                                                \
    if (step == 1 && value_step == 1) {                                                                                \
      LANES {                                                                                                          \
        R x = v[l];                                                                                                    \
        p[l] = to;                                                                                                     \
      }                                                                                                                \
    } else {                                                                                                           \
      LANES {                                                                                                          \
        R x = v[l * value_step];                                                                                       \
        p[l * step] = to;                                                                                              \
      }                                                                                                                \
    }                                                                                                                  \
    return;                                                                                                            \
  }

void byoc_code_store_ramp(byoc_dtype_t dtype, void *data, int64_t first, int64_t step, const void *value,
                          int64_t value_step, int64_t count) {
  switch (dtype) {
    ELEMENTS(STORE_RAMP)
  case BYOC_DTYPE_U4:
  case BYOC_DTYPE_I4:
    LANES byoc_store_4(data, first + l * step, (int)((const int64_t *)value)[l * value_step]);
    return;
  case BYOC_DTYPE_U2:
  case BYOC_DTYPE_I2:
    LANES byoc_store_2(data, first + l * step, (int)((const int64_t *)value)[l * value_step]);
    return;
  case BYOC_DTYPE_F4E2M1:
    LANES byoc_store_4(data, first + l * step, byoc_f4_from_f32(((const float *)value)[l * value_step]));
    return;
  }
}

// SPDX-License-Identifier: Apache-2.0
// Elements of dense tensor data as numbers, for every element type except strings (which read as 0).
#ifndef BYOC_CORE_IR_ELEMENT_H_
#define BYOC_CORE_IR_ELEMENT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "byoc/dtype.h"

static inline bool byoc_dtype_is_any_float(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_F32 || dtype == BYOC_DTYPE_F64 || dtype == BYOC_DTYPE_F16 || dtype == BYOC_DTYPE_BF16 ||
         (dtype >= BYOC_DTYPE_F8E4M3FN && dtype <= BYOC_DTYPE_F8E5M2FNUZ) || dtype == BYOC_DTYPE_F4E2M1 ||
         dtype == BYOC_DTYPE_F8E8M0;
}
static inline bool byoc_dtype_is_complex(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_C64 || dtype == BYOC_DTYPE_C128;
}
static inline bool byoc_dtype_is_any_integer(byoc_dtype_t dtype) { // bool is not one
  return byoc_dtype_bits(dtype) != 0 && dtype != BYOC_DTYPE_STRING && dtype != BYOC_DTYPE_BOOL &&
         !byoc_dtype_is_any_float(dtype) && !byoc_dtype_is_complex(dtype);
}
static inline bool byoc_dtype_is_signed_integer(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I2 || dtype == BYOC_DTYPE_I4 || dtype == BYOC_DTYPE_I8 || dtype == BYOC_DTYPE_I16 ||
         dtype == BYOC_DTYPE_I32 || dtype == BYOC_DTYPE_I64;
}

// Complex elements give their real part. Integers beyond 2^53 are exact only through _i64; u64 beyond 2^63 wraps there.
// _i64 rounds floats towards zero and clamps them to its range; NaN is 0.
double byoc_element_f64(byoc_dtype_t dtype, const void *data, size_t index);
int64_t byoc_element_i64(byoc_dtype_t dtype, const void *data, size_t index);
double byoc_element_imaginary(byoc_dtype_t dtype, const void *data, size_t index); // 0 unless complex

// Rounds to nearest, ties to even, and for f8e8m0 up to the next power of two, without the sign. Beyond the range:
// infinity if the type has one, else NaN; integers, f4e2m1 and f8e8m0 clamp, and NaN is -0 in f4e2m1. Complex elements
// get an imaginary part of 0.
void byoc_element_set_f64(byoc_dtype_t dtype, void *data, size_t index, double value);
// Integers keep the low bits; bool is `value != 0`.
void byoc_element_set_i64(byoc_dtype_t dtype, void *data, size_t index, int64_t value);
void byoc_element_set_complex(byoc_dtype_t dtype, void *data, size_t index, double real, double imaginary);

#endif // BYOC_CORE_IR_ELEMENT_H_

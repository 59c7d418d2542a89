// SPDX-License-Identifier: Apache-2.0
// Arithmetic that C11 does not have: by compilers' extensions, or in plain C11, because an artifact that is C source
// has this file, too. byoc_X_overflows is true if the exact result does not fit; *out is then unspecified.
#ifndef BYOC_CORE_RUNTIME_PORTABLE_H_
#define BYOC_CORE_RUNTIME_PORTABLE_H_

#include <stdbool.h>
#include <stdint.h>

#if defined(__GNUC__) && !defined(BYOC_ONLY_C11) // a test asks for the plain form
static inline bool byoc_add_overflows(int64_t a, int64_t b, int64_t *out) {
  return __builtin_add_overflow(a, b, out);
}
static inline bool byoc_sub_overflows(int64_t a, int64_t b, int64_t *out) {
  return __builtin_sub_overflow(a, b, out);
}
static inline bool byoc_mul_overflows(int64_t a, int64_t b, int64_t *out) {
  return __builtin_mul_overflow(a, b, out);
}
// The position of the highest bit that is set; `value` is not 0.
static inline uint32_t byoc_highest_bit(uint64_t value) {
  return 63 - (uint32_t)__builtin_clzll(value);
}
#else
static inline bool byoc_add_overflows(int64_t a, int64_t b, int64_t *out) {
  if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return true;
  *out = a + b;
  return false;
}
static inline bool byoc_sub_overflows(int64_t a, int64_t b, int64_t *out) {
  if (b > 0 ? a < INT64_MIN + b : a > INT64_MAX + b) return true;
  *out = a - b;
  return false;
}
static inline bool byoc_mul_overflows(int64_t a, int64_t b, int64_t *out) {
  // The absolute value; that of the most negative number is the number itself.
  const uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  const uint64_t most = (uint64_t)INT64_MAX + ((a < 0) != (b < 0));
  if (x != 0 && y > most / x) return true;
  const uint64_t product = x * y;
  *out = (a < 0) == (b < 0) ? (int64_t)product : product == 0 ? 0 : -(int64_t)(product - 1) - 1;
  return false;
}
static inline uint32_t byoc_highest_bit(uint64_t value) {
  uint32_t bit = 0;
  while (value >> bit > 1) bit++;
  return bit;
}
#endif

#endif // BYOC_CORE_RUNTIME_PORTABLE_H_

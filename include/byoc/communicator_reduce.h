// SPDX-License-Identifier: Apache-2.0
// byoc/communicator_reduce.h - the arithmetic of reductions, for authors of communicators.
//
// Example:
//   memcpy(result, block_of_rank[0], bytes);
//   for (int32_t r = 1; r < ranks; r++) byoc_reduce(BYOC_DTYPE_F32, BYOC_REDUCE_SUM, result, block_of_rank[r], count);
//
// Called in the order of the ranks, as above, it gives every rank the same bits (byoc/communicator.h).
#ifndef BYOC_COMMUNICATOR_REDUCE_H_
#define BYOC_COMMUNICATOR_REDUCE_H_

#include <stdbool.h>

#include "byoc/communicator.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline float byoc_reduce_bits_to_f32(uint32_t bits) {
  float value = 0;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

static inline uint32_t byoc_reduce_f32_to_bits(float value) {
  uint32_t bits = 0;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

static inline float byoc_reduce_from_bf16(uint16_t half) {
  return byoc_reduce_bits_to_f32((uint32_t)half << 16);
}

// Rounded to nearest, ties to even; a NaN stays one.
static inline uint16_t byoc_reduce_to_bf16(float value) {
  const uint32_t bits = byoc_reduce_f32_to_bits(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)((bits >> 16) | 0x40u);
  return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

static inline float byoc_reduce_from_f16(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, exponent = (half >> 10) & 0x1fu, fraction = half & 0x3ffu;
  if (exponent == 0x1fu) return byoc_reduce_bits_to_f32(sign | 0x7f800000u | fraction << 13);
  if (exponent != 0) return byoc_reduce_bits_to_f32(sign | (exponent + 112) << 23 | fraction << 13);
  const float value = (float)fraction * 0x1p-24f;
  return sign != 0 ? -value : value;
}

// Rounded to nearest, ties to even.
static inline uint16_t byoc_reduce_to_f16(float value) {
  const uint32_t bits = byoc_reduce_f32_to_bits(value), sign = (bits >> 16) & 0x8000u, size = bits & 0x7fffffffu;
  if (size > 0x7f800000u) return (uint16_t)(sign | 0x7e00u);  // NaN
  if (size >= 0x477ff000u) return (uint16_t)(sign | 0x7c00u); // beyond 65519: infinity
  if (size < 0x38800000u) {                                   // below 2^-14: the addition rounds to multiples of 2^-24
    return (uint16_t)(sign | (byoc_reduce_f32_to_bits(byoc_reduce_bits_to_f32(size) + 0.5f) - 0x3f000000u));
  }
  return (uint16_t)(sign | (((size - 0x38000000u) + 0xfffu + ((size >> 13) & 1u)) >> 13));
}

#define BYOC_REDUCE_PAIR(reduction, a, b)                                                                              \
  ((reduction) == BYOC_REDUCE_SUM       ? (a) + (b)                                                                    \
   : (reduction) == BYOC_REDUCE_PRODUCT ? (a) * (b)                                                                    \
   : (reduction) == BYOC_REDUCE_MIN     ? ((b) < (a) ? (b) : (a))                                                      \
                                        : ((b) > (a) ? (b) : (a)))
// Integers wrap.
#define BYOC_REDUCE_CASE(NAME, type, wide)                                                                             \
  case BYOC_DTYPE_##NAME: {                                                                                            \
    type *x = (type *)into;                                                                                            \
    const type *y = (const type *)from;                                                                                \
    for (uint64_t i = 0; i < count; i++) {                                                                             \
      x[i] = reduction == BYOC_REDUCE_MIN   ? (y[i] < x[i] ? y[i] : x[i])                                              \
             : reduction == BYOC_REDUCE_MAX ? (y[i] > x[i] ? y[i] : x[i])                                              \
             : reduction == BYOC_REDUCE_SUM ? (type)((wide)x[i] + (wide)y[i])                                          \
                                            : (type)((wide)x[i] * (wide)y[i]);                                         \
    }                                                                                                                  \
    return true;                                                                                                       \
  }
#define BYOC_REDUCE_HALF_CASE(NAME, read, write)                                                                       \
  case BYOC_DTYPE_##NAME: {                                                                                            \
    uint16_t *x = (uint16_t *)into;                                                                                    \
    const uint16_t *y = (const uint16_t *)from;                                                                        \
    for (uint64_t i = 0; i < count; i++) x[i] = write(BYOC_REDUCE_PAIR(reduction, read(x[i]), read(y[i])));            \
    return true;                                                                                                       \
  }

// into[i] = into[i] combined with from[i]. False if the reduction does not exist for this type.
static inline bool byoc_reduce(uint32_t dtype, uint32_t reduction, void *into, const void *from, uint64_t count) {
  if (reduction >= BYOC_REDUCTION_COUNT) return false;
  switch (dtype) {
    BYOC_REDUCE_CASE(F32, float, float)
    BYOC_REDUCE_CASE(F64, double, double)
    BYOC_REDUCE_CASE(I8, int8_t, uint32_t)
    BYOC_REDUCE_CASE(U8, uint8_t, uint32_t)
    BYOC_REDUCE_CASE(I16, int16_t, uint32_t)
    BYOC_REDUCE_CASE(U16, uint16_t, uint32_t)
    BYOC_REDUCE_CASE(I32, int32_t, uint32_t)
    BYOC_REDUCE_CASE(U32, uint32_t, uint32_t)
    BYOC_REDUCE_CASE(I64, int64_t, uint64_t)
    BYOC_REDUCE_CASE(U64, uint64_t, uint64_t)
    BYOC_REDUCE_HALF_CASE(F16, byoc_reduce_from_f16, byoc_reduce_to_f16)
    BYOC_REDUCE_HALF_CASE(BF16, byoc_reduce_from_bf16, byoc_reduce_to_bf16)
  case BYOC_DTYPE_BOOL: {
    uint8_t *x = (uint8_t *)into;
    const uint8_t *y = (const uint8_t *)from;
    if (reduction != BYOC_REDUCE_MIN && reduction != BYOC_REDUCE_MAX) return false;
    for (uint64_t i = 0; i < count; i++) {
      x[i] = (uint8_t)(reduction == BYOC_REDUCE_MIN ? (x[i] != 0 && y[i] != 0) : (x[i] != 0 || y[i] != 0));
    }
    return true;
  }
  default:
    return false;
  }
}

// Does the reduction exist for this type?
static inline bool byoc_can_reduce(uint32_t dtype, uint32_t reduction) {
  return byoc_reduce(dtype, reduction, NULL, NULL, 0);
}

#undef BYOC_REDUCE_PAIR
#undef BYOC_REDUCE_CASE
#undef BYOC_REDUCE_HALF_CASE

#ifdef __cplusplus
}
#endif
#endif // BYOC_COMMUNICATOR_REDUCE_H_

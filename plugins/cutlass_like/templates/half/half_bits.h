// SPDX-License-Identifier: Apache-2.0
// Conversions between f32 and 16 bits by integer arithmetic on the vectors of GNU C, for processors without them. Words
// have their 16 bits in the low half.
#ifndef BYOC_CUTLASS_HALF_BITS
#define BYOC_CUTLASS_HALF_BITS
static inline vi half_pick(vi mask, vi a, vi b) {
  return (a & mask) | (b & ~mask);
}
// Exponent and fraction move to their places, and the exponent is raised by 127 - 15. Subnormal numbers are whole
// multiples of 2^-24.
static inline __attribute__((unused)) vf f16_of_words(vi x) {
  const vi magnitude = x & 0x7fff;
  const vi normal = (magnitude << 13) + (112 << 23), special = (magnitude << 13) | 0x7f800000;
  const vi subnormal = (vi)(__builtin_convertvector(magnitude, vf) * 0x1p-24f);
  const vi bits = half_pick(magnitude < 0x400, subnormal, half_pick(magnitude > 0x7bff, special, normal));
  return (vf)(bits | (x & 0x8000) << 16);
}
// Numbers from 65520 on become infinity; NaN stays quiet NaN. Results below 2^-14 are rounded by the addition of 2^-1,
// whose last bit is worth 2^-24.
static inline __attribute__((unused)) vi f16_words(vf x) {
  const vi bits = (vi)x, magnitude = bits & 0x7fffffff;
  const vi rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  const vi normal = (rounded >> 13) - (112 << 10), subnormal = (vi)((vf)magnitude + 0.5f) - 0x3f000000;
  vi half = half_pick(magnitude < (113 << 23), subnormal, normal);
  half = half_pick(magnitude >= 0x477ff000, (vi)v_zero() + 0x7c00, half);
  half = half_pick(magnitude > 0x7f800000, (magnitude >> 13 & 0x3ff) | 0x7e00, half);
  return half | (bits >> 16 & 0x8000);
}
static inline __attribute__((unused)) vi bf16_words(vf x) {
  const vi bits = (vi)x;
  const vi rounded = bits + 0x7fff + (bits >> 16 & 1);
  return half_pick((bits & 0x7fffffff) > 0x7f800000, bits | 0x400000, rounded) >> 16 & 0xffff;
}
#endif

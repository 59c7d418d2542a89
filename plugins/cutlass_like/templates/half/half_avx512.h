// SPDX-License-Identifier: Apache-2.0
// 16 lanes of f16 and bf16: F16C's conversions are part of AVX-512F; remainders use masks of 16-bit lanes.
#ifndef BYOC_CUTLASS_HALF_VECTORS
#define BYOC_CUTLASS_HALF_VECTORS
static inline vf f16_widen(__m256i x) {
  return _mm512_cvtph_ps(x);
}
static inline __m256i f16_narrow(vf x) {
  return _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline vf bf16_widen(__m256i x) {
  return (vf)_mm512_slli_epi32(_mm512_cvtepu16_epi32(x), 16);
}
// The instruction of AVX512-BF16 would make subnormal numbers zero.
static inline __m256i bf16_narrow(vf x) {
  const __m512i bits = (__m512i)x, odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd);
  const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
  const __m512i whole = _mm512_mask_or_epi32(rounded, nan, bits, _mm512_set1_epi32(0x400000));
  return _mm512_cvtepi32_epi16(_mm512_srli_epi32(whole, 16));
}
static inline __mmask16 half_lanes(int64_t skip, int64_t stop) {
  return (__mmask16)(v_first(stop) & ~v_first(skip));
}
// Elements 0, 2, 4, ... are the low halves of words.
static inline __m256i half_even(const uint16_t *p, int64_t skip, int64_t stop) {
  const uint32_t lanes = half_lanes(skip, stop);
  const __mmask32 even = (__mmask32)__builtin_ia32_pdep_si(lanes, 0x55555555u);
  return _mm512_cvtepi32_epi16(_mm512_maskz_loadu_epi16(even, p));
}

#define HALF_VECTORS(type)                                                                                             \
  static inline __attribute__((unused)) vf type##_load(const uint16_t *p) {                                            \
    return type##_widen(_mm256_loadu_si256((const __m256i *)(const void *)p));                                         \
  }                                                                                                                    \
  static inline __attribute__((unused)) vf type##_load_n(const uint16_t *p, int64_t n) {                               \
    return type##_widen(_mm256_maskz_loadu_epi16(v_first(n), p));                                                      \
  }                                                                                                                    \
  static inline __attribute__((unused)) void type##_store(uint16_t *p, vf x) {                                         \
    _mm256_storeu_si256((__m256i *)(void *)p, type##_narrow(x));                                                       \
  }                                                                                                                    \
  static inline __attribute__((unused)) void type##_store_n(uint16_t *p, vf x, int64_t n) {                            \
    _mm256_mask_storeu_epi16(p, v_first(n), type##_narrow(x));                                                         \
  }                                                                                                                    \
  static inline __attribute__((unused)) vf type##_set1(uint16_t x) {                                                   \
    return type##_widen(_mm256_set1_epi16((short)x));                                                                  \
  }                                                                                                                    \
  static inline __attribute__((unused)) vf type##_part(const uint16_t *p, int64_t skip, int64_t stop) {                \
    return type##_widen(_mm256_maskz_loadu_epi16(half_lanes(skip, stop), p));                                          \
  }                                                                                                                    \
  static inline __attribute__((unused)) vf type##_even(const uint16_t *p, int64_t skip, int64_t stop) {                \
    return type##_widen(half_even(p, skip, stop));                                                                     \
  }
HALF_VECTORS(f16)
HALF_VECTORS(bf16)
#undef HALF_VECTORS
#endif

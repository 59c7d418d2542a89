// SPDX-License-Identifier: Apache-2.0
// 8 lanes of f16 and bf16: F16C where -mcpu has it, otherwise half_bits.h. Remainders go through the stack.
#ifndef HAS_HALF_EVEN
#define HAS_HALF_EVEN 0
#if defined(__F16C__)
static inline vf f16_widen(__m128i x) {
  return _mm256_cvtph_ps(x);
}
static inline __m128i f16_narrow(vf x) {
  return _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
#else
static inline vf f16_widen(__m128i x) {
  return f16_of_words((vi)_mm256_cvtepu16_epi32(x));
}
static inline __m128i f16_narrow(vf x) {
  const __m256i words = (__m256i)f16_words(x);
  return _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}
#endif
static inline vf bf16_widen(__m128i x) {
  return (vf)_mm256_slli_epi32(_mm256_cvtepu16_epi32(x), 16);
}
static inline __m128i bf16_narrow(vf x) {
  const __m256i words = (__m256i)bf16_words(x);
  return _mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
}

#define HALF_VECTORS(type)                                                                                             \
  static inline __attribute__((unused)) vf type##_load(const uint16_t *p) {                                            \
    return type##_widen(_mm_loadu_si128((const __m128i *)(const void *)p));                                            \
  }                                                                                                                    \
  static inline __attribute__((unused)) vf type##_load_n(const uint16_t *p, int64_t n) {                               \
    if (n >= LANES) return type##_load(p);                                                                             \
    uint16_t lanes[LANES] = {0};                                                                                       \
    for (int64_t i = 0; i < n; ++i) lanes[i] = p[i];                                                                   \
    return type##_load(lanes);                                                                                         \
  }                                                                                                                    \
  static inline __attribute__((unused)) void type##_store(uint16_t *p, vf x) {                                         \
    _mm_storeu_si128((__m128i *)(void *)p, type##_narrow(x));                                                          \
  }                                                                                                                    \
  static inline __attribute__((unused)) void type##_store_n(uint16_t *p, vf x, int64_t n) {                            \
    uint16_t lanes[LANES];                                                                                             \
    type##_store(n >= LANES ? p : lanes, x);                                                                           \
    for (int64_t i = 0; n < LANES && i < n; ++i) p[i] = lanes[i];                                                      \
  }                                                                                                                    \
  static inline __attribute__((unused)) vf type##_set1(uint16_t x) {                                                   \
    return type##_widen(_mm_set1_epi16((short)x));                                                                     \
  }                                                                                                                    \
  static inline __attribute__((unused)) vf type##_even(const uint16_t *p, int64_t skip, int64_t stop) {                \
    (void)skip, (void)stop;                                                                                            \
    return type##_load(p);                                                                                             \
  }
HALF_VECTORS(f16)
HALF_VECTORS(bf16)
#undef HALF_VECTORS
#endif

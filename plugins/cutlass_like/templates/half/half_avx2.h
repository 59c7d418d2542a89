// SPDX-License-Identifier: Apache-2.0
// 8 lanes of f16 and bf16: F16C where -mcpu has it, otherwise half_bits.h. Remainders are read as words.
#ifndef BYOC_CUTLASS_HALF_VECTORS
#define BYOC_CUTLASS_HALF_VECTORS
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
// Elements [0, n), n < LANES, as two words of four. Larger loads than the stores before them would wait for these.
static inline __m128i half_first(const uint16_t *p, int64_t n) {
  uint64_t low = 0, high = 0;
  if (n >= 4) {
    memcpy(&low, p, sizeof low);
    memcpy(&high, p + n - 4, sizeof high);
    high = high >> 1 >> ((LANES - n) * 16 - 1);
  } else {
    for (int64_t i = 0; i < n; ++i) low |= (uint64_t)p[i] << i * 16;
  }
  return _mm_set_epi64x((int64_t)high, (int64_t)low);
}
static inline __m128i half_part(const uint16_t *p, int64_t skip, int64_t stop) {
  if (skip == 0 && stop >= LANES) return _mm_loadu_si128((const __m128i *)(const void *)p);
  if (skip >= stop) return _mm_setzero_si128();
  if (skip == 0) return half_first(p, stop);
  const __m128i bytes = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  return _mm_shuffle_epi8(half_first(p + skip, stop - skip), _mm_sub_epi8(bytes, _mm_set1_epi8((char)(2 * skip))));
}
static inline int64_t half_bound(int64_t lane) {
  return lane < 0 ? 0 : lane < LANES ? lane : LANES;
}
// Elements 0, 2, 4 and 6 are in the first 8 elements, 8, 10, 12 and 14 in those from element 7 on.
static inline __m128i half_even(const uint16_t *p, int64_t skip, int64_t stop) {
  const int64_t first = 2 * skip, last = stop > skip ? 2 * stop - 1 : first;
  const __m128i low = half_part(p, half_bound(first), half_bound(last));
  const __m128i high = half_part(p + LANES - 1, half_bound(first - LANES + 1), half_bound(last - LANES + 1));
  return _mm_or_si128(
      _mm_shuffle_epi8(low, _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1)),
      _mm_shuffle_epi8(high, _mm_setr_epi8(-1, -1, -1, -1, -1, -1, -1, -1, 2, 3, 6, 7, 10, 11, 14, 15)));
}

#define HALF_VECTORS(type)                                                                                             \
  static inline __attribute__((unused)) vf type##_load(const uint16_t *p) {                                            \
    return type##_widen(_mm_loadu_si128((const __m128i *)(const void *)p));                                            \
  }                                                                                                                    \
  static inline __attribute__((unused)) vf type##_load_n(const uint16_t *p, int64_t n) {                               \
    return type##_widen(half_part(p, 0, n));                                                                           \
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
  static inline __attribute__((unused)) vf type##_part(const uint16_t *p, int64_t skip, int64_t stop) {                \
    return type##_widen(half_part(p, skip, stop));                                                                     \
  }                                                                                                                    \
  static inline __attribute__((unused)) vf type##_even(const uint16_t *p, int64_t skip, int64_t stop) {                \
    return type##_widen(half_even(p, skip, stop));                                                                     \
  }
HALF_VECTORS(f16)
HALF_VECTORS(bf16)
#undef HALF_VECTORS
#endif

// SPDX-License-Identifier: Apache-2.0
// 4 lanes of f16 and bf16 on any processor.
#ifndef BYOC_CUTLASS_HALF_VECTORS
#define BYOC_CUTLASS_HALF_VECTORS
static inline vi half_words(const uint16_t *p, int64_t first, int64_t last, int64_t step) {
  vi x = {0, 0, 0, 0};
  for (int64_t i = first; i < last; ++i) x[i] = p[i * step];
  return x;
}
static inline void half_put(uint16_t *p, vi x, int64_t n) {
  for (int64_t i = 0; i < n; ++i) p[i] = (uint16_t)x[i];
}
static inline vf bf16_of_words(vi x) {
  return (vf)(x << 16);
}

#define HALF_VECTORS(type)                                                                                             \
  static inline __attribute__((unused)) vf type##_load(const uint16_t *p) {                                            \
    return type##_of_words(half_words(p, 0, LANES, 1));                                                                \
  }                                                                                                                    \
  static inline __attribute__((unused)) vf type##_load_n(const uint16_t *p, int64_t n) {                               \
    return type##_of_words(half_words(p, 0, n, 1));                                                                    \
  }                                                                                                                    \
  static inline __attribute__((unused)) void type##_store(uint16_t *p, vf x) {                                         \
    half_put(p, type##_words(x), LANES);                                                                               \
  }                                                                                                                    \
  static inline __attribute__((unused)) void type##_store_n(uint16_t *p, vf x, int64_t n) {                            \
    half_put(p, type##_words(x), n);                                                                                   \
  }                                                                                                                    \
  static inline __attribute__((unused)) vf type##_set1(uint16_t x) {                                                   \
    return type##_of_words((vi){x, x, x, x});                                                                          \
  }                                                                                                                    \
  static inline __attribute__((unused)) vf type##_part(const uint16_t *p, int64_t skip, int64_t stop) {                \
    return type##_of_words(half_words(p, skip, stop, 1));                                                              \
  }                                                                                                                    \
  static inline __attribute__((unused)) vf type##_even(const uint16_t *p, int64_t skip, int64_t stop) {                \
    return type##_of_words(half_words(p, skip, stop, 2));                                                              \
  }
HALF_VECTORS(f16)
HALF_VECTORS(bf16)
#undef HALF_VECTORS
#endif

// SPDX-License-Identifier: Apache-2.0
// 4 lanes of f16 and bf16: every AArch64 converts f16; bf16 is widened by a shift and rounded by half_bits.h.
#ifndef BYOC_CUTLASS_HALF_VECTORS
#define BYOC_CUTLASS_HALF_VECTORS
static inline vf f16_widen(uint16x4_t x) {
  return vcvt_f32_f16(vreinterpret_f16_u16(x));
}
static inline uint16x4_t f16_narrow(vf x) {
  return vreinterpret_u16_f16(vcvt_f16_f32(x));
}
static inline vf bf16_widen(uint16x4_t x) {
  return vreinterpretq_f32_u32(vshll_n_u16(x, 16));
}
static inline uint16x4_t bf16_narrow(vf x) {
  return vmovn_u32(vreinterpretq_u32_s32((int32x4_t)bf16_words(x)));
}
static inline uint16x4_t half_some(const uint16_t *p, int64_t first, int64_t last, int64_t step) {
  uint64_t lanes = 0;
  for (int64_t i = first; i < last; ++i) lanes |= (uint64_t)p[i * step] << i * 16;
  return vcreate_u16(lanes);
}

#define HALF_VECTORS(type)                                                                                             \
  static inline __attribute__((unused)) vf type##_load(const uint16_t *p) {                                            \
    return type##_widen(vld1_u16(p));                                                                                  \
  }                                                                                                                    \
  static inline __attribute__((unused)) vf type##_load_n(const uint16_t *p, int64_t n) {                               \
    return type##_widen(n >= LANES ? vld1_u16(p) : half_some(p, 0, n, 1));                                             \
  }                                                                                                                    \
  static inline __attribute__((unused)) void type##_store(uint16_t *p, vf x) {                                         \
    vst1_u16(p, type##_narrow(x));                                                                                     \
  }                                                                                                                    \
  static inline __attribute__((unused)) void type##_store_n(uint16_t *p, vf x, int64_t n) {                            \
    uint16_t lanes[LANES];                                                                                             \
    vst1_u16(n >= LANES ? p : lanes, type##_narrow(x));                                                                \
    for (int64_t i = 0; n < LANES && i < n; ++i) p[i] = lanes[i];                                                      \
  }                                                                                                                    \
  static inline __attribute__((unused)) vf type##_set1(uint16_t x) {                                                   \
    return type##_widen(vdup_n_u16(x));                                                                                \
  }                                                                                                                    \
  static inline __attribute__((unused)) vf type##_part(const uint16_t *p, int64_t skip, int64_t stop) {                \
    return type##_widen(skip == 0 && stop >= LANES ? vld1_u16(p) : half_some(p, skip, stop, 1));                       \
  }                                                                                                                    \
  static inline __attribute__((unused)) vf type##_even(const uint16_t *p, int64_t skip, int64_t stop) {                \
    return type##_widen(half_some(p, skip, stop, 2));                                                                  \
  }
HALF_VECTORS(f16)
HALF_VECTORS(bf16)
#undef HALF_VECTORS
#endif

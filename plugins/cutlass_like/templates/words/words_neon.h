// SPDX-License-Identifier: Apache-2.0
// The parts of words.h that NEON has instructions for; words_lanes.h does the others lane by lane.
#define LANE_BY_LANE 1
#define W_FUSED      1
#if defined(__ARM_FEATURE_MATMUL_INT8)
static inline vi w_dot_i8x4(vi sum, vi data, vi weights) {
  return (vi)vusdotq_s32((int32x4_t)sum, (uint8x16_t)data, (int8x16_t)weights);
}
#endif
static inline vi w_dot_i16x2(vi sum, vi a, vi b) {
  const int16x8_t x = (int16x8_t)a, y = (int16x8_t)b;
  const int32x4_t low = vmull_s16(vget_low_s16(x), vget_low_s16(y)), high = vmull_high_s16(x, y);
  return sum + (vi)vpaddq_s32(low, high);
}
#if defined(__ARM_FEATURE_BF16_VECTOR_ARITHMETIC)
static inline vf w_dot_bf16x2(vf sum, vi a, vi b) {
  return vbfdotq_f32(sum, (bfloat16x8_t)a, (bfloat16x8_t)b);
}
#endif

static inline vf w_round(vf x) {
  return vrndnq_f32(x);
}
static inline vi w_integers(vf x) {
  return (vi)vcvtnq_s32_f32(x);
}
#if defined(__ARM_FEATURE_MATMUL_INT8)
#define HAS_PACK_ROWS 1
static inline vi w_pack_rows(const uint8_t *p, int64_t step, uint8_t flip) {
  uint8x8_t rows[4] = {vdup_n_u8(0)};
  for (int r = 0; r < 4; ++r) {
    uint32_t four;
    memcpy(&four, p + r * step, sizeof four);
    rows[r] = veor_u8(vreinterpret_u8_u32(vdup_n_u32(four)), vdup_n_u8(flip));
  }
  const uint8x8_t a = vzip1_u8(rows[0], rows[1]), b = vzip1_u8(rows[2], rows[3]);
  const uint16x4_t low = vzip1_u16(vreinterpret_u16_u8(a), vreinterpret_u16_u8(b));
  const uint16x4_t high = vzip2_u16(vreinterpret_u16_u8(a), vreinterpret_u16_u8(b));
  return (vi)vcombine_u16(low, high);
}
#define HAS_SPREAD 1
static inline vi w_spread_pairs(const void *p, int64_t stride);
static inline vi w_spread(const void *p, int64_t stride, int unit) {
  if (unit == 2) return w_spread_pairs(p, stride);
  vi x = {0};
  if (stride > 4) {
    for (int64_t l = 0; l < LANES; ++l) x[l] = w_word((const char *)p + l * stride);
    return x;
  }
  const uint32_t first = 0x03020100, step = (uint32_t)stride * 0x01010101u;
  const uint32_t bytes[4] = {first, first + step, first + 2 * step, first + 3 * step};
  return (vi)vqtbl1q_u8(vld1q_u8(p), vreinterpretq_u8_u32(vld1q_u32(bytes)));
}
#endif
static inline vi w_larger(vi a, vi b) {
  return (vi)vmaxq_s32((int32x4_t)a, (int32x4_t)b);
}
static inline vf w_alone(vf x) {
  __asm__("" : "+w"(x));
  return x;
}

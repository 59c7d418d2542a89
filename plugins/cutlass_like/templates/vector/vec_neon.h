// SPDX-License-Identifier: Apache-2.0
// 4 lanes of f32: NEON of AArch64. Remainders are loaded and stored in pieces of two lanes and one.
#include <arm_neon.h>

// A tile fills the registers with sums; gcc would load all of its factors before the first product, and spill the sums.
#if !defined(__clang__)
#pragma GCC optimize("no-schedule-insns")
#endif

enum { LANES = 4 };
typedef float32x4_t vf;
typedef int32_t vi __attribute__((vector_size(16)));

static inline vf v_zero(void) {
  return vdupq_n_f32(0.0f);
}
static inline vf v_set1(float x) {
  return vdupq_n_f32(x);
}
static inline vf v_load(const float *p) {
  return vld1q_f32(p);
}
static inline void v_store(float *p, vf x) {
  vst1q_f32(p, x);
}
// Stores past the caches if the instruction set has such stores. Other threads see them after v_stream_end.
static inline __attribute__((unused)) void v_stream(float *p, vf x) {
  v_store(p, x);
}
static inline __attribute__((unused)) void v_stream_end(void) {}
static inline vf v_fma(vf a, vf b, vf c) {
  return vfmaq_f32(c, a, b);
}
// A load that has several uses stays one load, where the compiler would read memory at each use.
static inline __attribute__((unused)) vf v_load_once(const float *p) {
  vf x = v_load(p);
  __asm__("" : "+w"(x));
  return x;
}
static inline vf v_max(vf a, vf b) { // as in SSE: b if either is NaN
  return vbslq_f32(vcgtq_f32(a, b), a, b);
}
static inline vf v_min(vf a, vf b) {
  return vbslq_f32(vcltq_f32(a, b), a, b);
}

// The nearest whole number, and x * 2^n for whole n from -126 to 127.
static inline __attribute__((unused)) vf v_round(vf x) {
  return vrndnq_f32(x);
}
static inline __attribute__((unused)) vf v_scale2(vf x, vf n) {
  return x * vreinterpretq_f32_s32(vshlq_n_s32(vaddq_s32(vcvtq_s32_f32(n), vdupq_n_s32(127)), 23));
}

// All lanes added up, and the largest of them.
static inline __attribute__((unused)) float v_sum(vf x) {
  return vaddvq_f32(x);
}
static inline __attribute__((unused)) float v_most(vf x) {
  return vmaxvq_f32(x);
}

// Lanes [0, n), 0 <= n <= 4; the others are 0.
static inline vf v_load_n(const float *p, int64_t n) {
  if (n >= LANES) return vld1q_f32(p);
  float32x2_t low = vdup_n_f32(0.0f), high = low;
  if (n & 2) low = vld1_f32(p);
  if (n == 3) high = vld1_lane_f32(p + 2, high, 0);
  if (n == 1) low = vld1_lane_f32(p, low, 0);
  return vcombine_f32(low, high);
}
static inline void v_store_n(float *p, vf x, int64_t n) {
  if (n >= LANES) {
    vst1q_f32(p, x);
    return;
  }
  if (n & 2) vst1_f32(p, vget_low_f32(x));
  if (n == 3) vst1q_lane_f32(p + 2, x, 2);
  if (n == 1) vst1q_lane_f32(p, x, 0);
}

// Transposes 4 vectors in place: lane i of x[j] and lane j of x[i] change places.
static inline void v_transpose(vf x[LANES]) {
  const float32x4x2_t a = vtrnq_f32(x[0], x[1]), b = vtrnq_f32(x[2], x[3]);
  x[0] = vcombine_f32(vget_low_f32(a.val[0]), vget_low_f32(b.val[0]));
  x[1] = vcombine_f32(vget_low_f32(a.val[1]), vget_low_f32(b.val[1]));
  x[2] = vcombine_f32(vget_high_f32(a.val[0]), vget_high_f32(b.val[0]));
  x[3] = vcombine_f32(vget_high_f32(a.val[1]), vget_high_f32(b.val[1]));
}

// Copies `count` runs of `length` floats, one lane every `stride` floats of the source; lanes outside [low, high)
// become zero and are not read. Consecutive runs lie `to_step` and `from_step` floats apart.
static inline __attribute__((always_inline)) void copy_runs(float *to, int64_t to_step, const float *from,
                                                            int64_t from_step, int64_t count, int64_t length,
                                                            int64_t low, int64_t high, int64_t stride) {
  if (high < low) high = low;
  for (int64_t i = 0; i < count; ++i, to += to_step, from += from_step) {
    for (int64_t l = 0; l < low && l < length; ++l) to[l] = 0.0f;
    int64_t l = low;
    for (; stride == 1 && l + LANES <= high; l += LANES) v_store(to + l, v_load(from + l));
    for (; stride == 2 && l + LANES < high; l += LANES) v_store(to + l, vld2q_f32(from + 2 * l).val[0]);
    for (; l < high; ++l) to[l] = from[l * stride];
    for (l = high; l < length; ++l) to[l] = 0.0f;
  }
}

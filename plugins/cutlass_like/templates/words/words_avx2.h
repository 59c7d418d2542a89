// SPDX-License-Identifier: Apache-2.0
// The parts of words.h that AVX2 has instructions for; words_lanes.h does the others lane by lane.
#define LANE_BY_LANE 1
#define W_FUSED      1
static inline vi w_dot_i16x2(vi sum, vi a, vi b) {
  return sum + (vi)_mm256_madd_epi16((__m256i)a, (__m256i)b);
}
static inline vf w_round(vf x) {
  return _mm256_round_ps(x, 0);
}
static inline vi w_integers(vf x) {
  return (vi)_mm256_cvtps_epi32(x);
}
static inline vi w_larger(vi a, vi b) {
  return (vi)_mm256_max_epi32((__m256i)a, (__m256i)b);
}
static inline vf w_alone(vf x) {
  __asm__("" : "+x"(x));
  return x;
}

// SPDX-License-Identifier: Apache-2.0
// The parts of words.h that vectors of any processor can do; words_lanes.h does the others lane by lane.
#define LANE_BY_LANE 1
#define W_FUSED      0 // a product is rounded before it is added
static inline vi w_dot_i16x2(vi sum, vi a, vi b) {
#if defined(__SSE2__) // an instruction that compilers do not choose by themselves
  return sum + (vi)__builtin_ia32_pmaddwd128((short __attribute__((vector_size(16))))a,
                                             (short __attribute__((vector_size(16))))b);
#else
  return sum + ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16);
#endif
}
static inline vf w_round(vf x) {
  const vf magic = v_set1(12582912.0f); // 1.5 * 2^23: the last bit is worth one
  x = v_min(v_max(x, v_set1(-4194304.0f)), v_set1(4194303.0f));
  return (x + magic) - magic;
}
static inline vi w_integers(vf x) {
  return __builtin_convertvector(w_round(x), vi);
}
static inline vi w_larger(vi a, vi b) {
  vi m = a > b;
  return (a & m) | (b & ~m);
}
static inline vf w_alone(vf x) {
#if defined(__SSE2__)
  __asm__("" : "+x"(x));
#endif
  return x;
}

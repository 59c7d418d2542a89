// SPDX-License-Identifier: Apache-2.0
// 8 lanes of f32: AVX2 and FMA. Remainders use maskload and pieces of stores.
#include <immintrin.h>

enum { LANES = 8 };
typedef __m256 vf;
typedef int32_t vi __attribute__((vector_size(32)));

static inline vf v_zero(void) {
  return _mm256_setzero_ps();
}
static inline vf v_set1(float x) {
  return _mm256_set1_ps(x);
}
static inline vf v_load(const float *p) {
  return _mm256_loadu_ps(p);
}
static inline void v_store(float *p, vf x) {
  _mm256_storeu_ps(p, x);
}
// Stores to aligned memory past the caches. Other threads see it after v_stream_end.
static inline __attribute__((unused)) void v_stream(float *p, vf x) {
  _mm256_stream_ps(p, x);
}
static inline __attribute__((unused)) void v_stream_end(void) {
  _mm_sfence();
}
static inline vf v_fma(vf a, vf b, vf c) {
  return _mm256_fmadd_ps(a, b, c);
}
// A load that has several uses stays one load, where the compiler would read memory at each use.
static inline __attribute__((unused)) vf v_load_once(const float *p) {
  vf x = v_load(p);
  __asm__("" : "+x"(x));
  return x;
}
static inline vf v_max(vf a, vf b) {
  return _mm256_max_ps(a, b);
}
static inline vf v_min(vf a, vf b) {
  return _mm256_min_ps(a, b);
}

// The nearest whole number, and x * 2^n for whole n from -126 to 127.
static inline __attribute__((unused)) vf v_round(vf x) {
  return _mm256_round_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline __attribute__((unused)) vf v_scale2(vf x, vf n) {
  return x * (vf)_mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
}

// All lanes added up, and the largest of them.
static inline __attribute__((unused)) float v_sum(vf x) {
  __m128 t = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  t = _mm_add_ps(t, _mm_movehl_ps(t, t));
  return _mm_cvtss_f32(_mm_add_ss(t, _mm_movehdup_ps(t)));
}
static inline __attribute__((unused)) float v_most(vf x) {
  __m128 t = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  t = _mm_max_ps(t, _mm_movehl_ps(t, t));
  return _mm_cvtss_f32(_mm_max_ss(t, _mm_movehdup_ps(t)));
}

// Lanes [0, n) set, 0 <= n <= 8.
static inline __m256i v_first(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline vf v_load_n(const float *p, int64_t n) {
  return _mm256_maskload_ps(p, v_first(n));
}
static inline void v_store_n(float *p, vf x, int64_t n) {
  _mm256_maskstore_ps(p, v_first(n), x);
}

// Transposes 8 vectors in place: lane i of x[j] and lane j of x[i] change places.
static inline void v_transpose(vf x[LANES]) {
  vf t[LANES];
#pragma GCC unroll 4
  for (int i = 0; i < LANES; i += 2) {
    t[i] = _mm256_unpacklo_ps(x[i], x[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(x[i], x[i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < LANES; i += 4) {
    x[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
    x[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
    x[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
    x[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    vf low = x[r], high = x[4 + r];
    x[r] = _mm256_permute2f128_ps(low, high, 0x20);
    x[4 + r] = _mm256_permute2f128_ps(low, high, 0x31);
  }
}

// Stores with masks take AMD's processors as long as ten others.
static inline __attribute__((always_inline)) void store_run(float *p, vf x, int64_t n) {
  if (n == LANES)
    v_store(p, x);
  else
    v_store_n(p, x, n);
}

// Copies `count` runs of `length` floats, one lane every `stride` floats of the source; lanes outside [low, high)
// become zero and are not read. Consecutive runs lie `to_step` and `from_step` floats apart.
static inline __attribute__((always_inline)) void copy_runs(float *to, int64_t to_step, const float *from,
                                                            int64_t from_step, int64_t count, int64_t length,
                                                            int64_t low, int64_t high, int64_t stride) {
  for (int64_t x = 0; x < length; x += LANES) {
    int64_t left = length - x < LANES ? length - x : LANES;
    int64_t skip = low > x ? (low - x < LANES ? low - x : LANES) : 0;
    int64_t stop = high > x ? (high - x < LANES ? high - x : LANES) : 0;
    float *t = to + x;
    const float *f = from + x * stride;
    if (stride == 1) {
      __m256i valid = _mm256_andnot_si256(v_first(skip), v_first(stop));
      for (int64_t i = 0; i < count; ++i, t += to_step, f += from_step)
        store_run(t, _mm256_maskload_ps(f, valid), left);
    } else if (stride == 2) { // lane l lies at float 2 * l
      const __m256i a_lane = _mm256_setr_epi32(0, 99, 1, 99, 2, 99, 3, 99), before = _mm256_set1_epi32((int)skip - 1);
      const __m256i b_lane = _mm256_setr_epi32(4, 99, 5, 99, 6, 99, 7, 99), after = _mm256_set1_epi32((int)stop);
      __m256i a_valid = _mm256_and_si256(_mm256_cmpgt_epi32(a_lane, before), _mm256_cmpgt_epi32(after, a_lane));
      __m256i b_valid = _mm256_and_si256(_mm256_cmpgt_epi32(b_lane, before), _mm256_cmpgt_epi32(after, b_lane));
      for (int64_t i = 0; i < count; ++i, t += to_step, f += from_step) {
        vf a = _mm256_maskload_ps(f, a_valid), b = _mm256_maskload_ps(f + LANES, b_valid);
        vf even = _mm256_shuffle_ps(a, b, 0x88);
        store_run(t, (vf)_mm256_permute4x64_pd((__m256d)even, 0xd8), left);
      }
    } else {
      for (int64_t i = 0; i < count; ++i, t += to_step, f += from_step)
        for (int64_t l = 0; l < left; ++l) t[l] = l >= skip && l < stop ? f[l * stride] : 0.0f;
    }
  }
}

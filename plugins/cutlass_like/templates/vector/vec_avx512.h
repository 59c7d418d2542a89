// SPDX-License-Identifier: Apache-2.0
// 16 lanes of f32: AVX-512F. Remainders use write masks.
#include <immintrin.h>

enum { LANES = 16 };
typedef __m512 vf;
typedef int32_t vi __attribute__((vector_size(64)));

static inline vf v_zero(void) {
  return _mm512_setzero_ps();
}
static inline vf v_set1(float x) {
  return _mm512_set1_ps(x);
}
static inline vf v_load(const float *p) {
  return _mm512_loadu_ps(p);
}
static inline void v_store(float *p, vf x) {
  _mm512_storeu_ps(p, x);
}
// Stores to aligned memory past the caches. Other threads see it after v_stream_end.
static inline __attribute__((unused)) void v_stream(float *p, vf x) {
  _mm512_stream_ps(p, x);
}
static inline __attribute__((unused)) void v_stream_end(void) {
  _mm_sfence();
}
static inline vf v_fma(vf a, vf b, vf c) {
  return _mm512_fmadd_ps(a, b, c);
}
// A load that has several uses stays one load, where the compiler would read memory at each use.
static inline __attribute__((unused)) vf v_load_once(const float *p) {
  vf x = v_load(p);
  __asm__("" : "+v"(x));
  return x;
}
static inline vf v_max(vf a, vf b) {
  return _mm512_max_ps(a, b);
}
static inline vf v_min(vf a, vf b) {
  return _mm512_min_ps(a, b);
}

// The nearest whole number, and x * 2^n for whole n from -126 to 127.
static inline __attribute__((unused)) vf v_round(vf x) {
  return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
static inline __attribute__((unused)) vf v_scale2(vf x, vf n) {
  return _mm512_scalef_ps(x, n);
}

// All lanes added up, and the largest of them.
static inline __attribute__((unused)) float v_sum(vf x) {
  return _mm512_reduce_add_ps(x);
}
static inline __attribute__((unused)) float v_most(vf x) {
  return _mm512_reduce_max_ps(x);
}

// Lanes [0, n) set, 0 <= n <= 16.
static inline __mmask16 v_first(int64_t n) {
  return (__mmask16)((1u << n) - 1u);
}
static inline vf v_load_n(const float *p, int64_t n) {
  return _mm512_maskz_loadu_ps(v_first(n), p);
}
static inline void v_store_n(float *p, vf x, int64_t n) {
  _mm512_mask_storeu_ps(p, v_first(n), x);
}

// Transposes 16 vectors in place: lane i of x[j] and lane j of x[i] change places.
static inline void v_transpose(vf x[LANES]) {
  vf t[LANES];
#pragma GCC unroll 8
  for (int i = 0; i < LANES; i += 2) {
    t[i] = _mm512_unpacklo_ps(x[i], x[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < LANES; i += 4) {
    x[i] = (vf)_mm512_unpacklo_pd((__m512d)t[i], (__m512d)t[i + 2]);
    x[i + 1] = (vf)_mm512_unpackhi_pd((__m512d)t[i], (__m512d)t[i + 2]);
    x[i + 2] = (vf)_mm512_unpacklo_pd((__m512d)t[i + 1], (__m512d)t[i + 3]);
    x[i + 3] = (vf)_mm512_unpackhi_pd((__m512d)t[i + 1], (__m512d)t[i + 3]);
  }
  // x[4 * q + r] now holds column r of each 128-bit quarter, rows 4 * q to 4 * q + 3.
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    t[r] = _mm512_shuffle_f32x4(x[r], x[4 + r], 0x88);
    t[4 + r] = _mm512_shuffle_f32x4(x[r], x[4 + r], 0xdd);
    t[8 + r] = _mm512_shuffle_f32x4(x[8 + r], x[12 + r], 0x88);
    t[12 + r] = _mm512_shuffle_f32x4(x[8 + r], x[12 + r], 0xdd);
  }
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    x[r] = _mm512_shuffle_f32x4(t[r], t[8 + r], 0x88);
    x[8 + r] = _mm512_shuffle_f32x4(t[r], t[8 + r], 0xdd);
    x[4 + r] = _mm512_shuffle_f32x4(t[4 + r], t[12 + r], 0x88);
    x[12 + r] = _mm512_shuffle_f32x4(t[4 + r], t[12 + r], 0xdd);
  }
}

// Copies `count` runs of `length` floats, one lane every `stride` floats of the source; lanes outside [low, high)
// become zero and are not read. Consecutive runs lie `to_step` and `from_step` floats apart.
static inline __attribute__((always_inline)) void copy_runs(float *to, int64_t to_step, const float *from,
                                                            int64_t from_step, int64_t count, int64_t length,
                                                            int64_t low, int64_t high, int64_t stride) {
  const __m512i even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  for (int64_t x = 0; x < length; x += LANES) {
    int64_t left = length - x < LANES ? length - x : LANES;
    int64_t skip = low > x ? (low - x < LANES ? low - x : LANES) : 0;
    int64_t stop = high > x ? (high - x < LANES ? high - x : LANES) : 0;
    __mmask16 valid = (__mmask16)(v_first(stop) & ~v_first(skip)), wanted = v_first(left);
    float *t = to + x;
    const float *f = from + x * stride;
    if (stride == 1) {
      for (int64_t i = 0; i < count; ++i, t += to_step, f += from_step)
        _mm512_mask_storeu_ps(t, wanted, _mm512_maskz_loadu_ps(valid, f));
    } else if (stride == 2) { // lane l lies at float 2 * l: spread the mask over two vectors
      uint32_t spread = (uint32_t)__builtin_ia32_pdep_di(valid, 0x55555555u);
      __mmask16 low_half = (__mmask16)spread, high_half = (__mmask16)(spread >> 16);
      for (int64_t i = 0; i < count; ++i, t += to_step, f += from_step) {
        vf a = _mm512_maskz_loadu_ps(low_half, f), b = _mm512_maskz_loadu_ps(high_half, f + LANES);
        _mm512_mask_storeu_ps(t, wanted, _mm512_permutex2var_ps(a, even, b));
      }
    } else {
      for (int64_t i = 0; i < count; ++i, t += to_step, f += from_step)
        for (int64_t l = 0; l < left; ++l) t[l] = l >= skip && l < stop ? f[l * stride] : 0.0f;
    }
  }
}

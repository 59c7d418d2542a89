// SPDX-License-Identifier: Apache-2.0
// The parts of words.h that each instruction set defines, for AVX-512.
#define W_FUSED 1
#if defined(__AVX512VNNI__)
static inline vi w_dot_i8x4(vi sum, vi data, vi weights) {
  return (vi)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)data, (__m512i)weights);
}
#endif
static inline vi w_dot_i16x2(vi sum, vi a, vi b) {
  return sum + (vi)_mm512_madd_epi16((__m512i)a, (__m512i)b);
}
#if defined(__AVX512BF16__)
static inline vf w_dot_bf16x2(vf sum, vi a, vi b) {
  return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}
#endif

static inline vf w_round(vf x) {
  return _mm512_roundscale_ps(x, 0);
}
static inline vi w_integers(vf x) {
  return (vi)_mm512_cvtps_epi32(x);
}
#define HAS_PACK_ROWS 1
static inline vi w_pack_rows(const uint8_t *p, int64_t step, uint8_t flip) {
  __m128i rows[4];
  for (int r = 0; r < 4; ++r)
    rows[r] = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(const void *)(p + r * step)), _mm_set1_epi8((char)flip));
  const __m128i a = _mm_unpacklo_epi8(rows[0], rows[1]), b = _mm_unpackhi_epi8(rows[0], rows[1]);
  const __m128i c = _mm_unpacklo_epi8(rows[2], rows[3]), d = _mm_unpackhi_epi8(rows[2], rows[3]);
  const __m256i low = _mm256_set_m128i(_mm_unpackhi_epi16(a, c), _mm_unpacklo_epi16(a, c));
  const __m256i high = _mm256_set_m128i(_mm_unpackhi_epi16(b, d), _mm_unpacklo_epi16(b, d));
  return (vi)_mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

// Four words of bytes begin within 16 bytes, if the stride is 4 at most.
#define HAS_SPREAD 1
static inline vi w_spread_pairs(const void *p, int64_t stride);
static inline vi w_spread(const void *p, int64_t stride, int unit) {
  if (unit == 2) return w_spread_pairs(p, stride);
  vi x = {0};
  if (stride > 4) {
    for (int64_t l = 0; l < LANES; ++l) x[l] = w_word((const char *)p + l * stride);
    return x;
  }
  const int s = (int)stride, step = s * 0x01010101;
  const __m512i at = _mm512_setr_epi32(0, 1, 2, 3, s, s + 1, s + 2, s + 3, 2 * s, 2 * s + 1, 2 * s + 2, 2 * s + 3,
                                       3 * s, 3 * s + 1, 3 * s + 2, 3 * s + 3);
  const __m512i bytes = _mm512_broadcast_i32x4(
      _mm_setr_epi32(0x03020100, 0x03020100 + step, 0x03020100 + 2 * step, 0x03020100 + 3 * step));
  return (vi)_mm512_shuffle_epi8(_mm512_permutexvar_epi32(at, _mm512_loadu_si512(p)), bytes);
}
static inline vi w_larger(vi a, vi b) {
  return (vi)_mm512_max_epi32((__m512i)a, (__m512i)b);
}
static inline int w_any_above(vf x, float limit) {
  return _mm512_cmp_ps_mask(x, v_set1(limit), _CMP_GT_OQ) != 0;
}
static inline vf w_alone(vf x) {
  __asm__("" : "+v"(x));
  return x;
}
static inline vi w_bytes(const uint8_t *p, int64_t n, int64_t stride) {
  if (stride == 1) return (vi)_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(v_first(n), p));
  if (stride == 2) {
    __m256i pairs = _mm256_maskz_loadu_epi8((__mmask32)((UINT64_C(1) << (2 * n - 1)) - 1), p);
    return (vi)_mm512_cvtepu16_epi32(_mm256_and_si256(pairs, _mm256_set1_epi16(255)));
  }
  vi x = {0};
  for (int64_t l = 0; l < n; ++l) x[l] = p[l * stride];
  return x;
}
static inline vf w_floats(const float *p, int64_t n, int64_t stride) {
  if (stride == 1) return n == LANES ? v_load(p) : v_load_n(p, n);
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  if (stride == 2) { // two loads instead of a gather
    const uint32_t mask = (uint32_t)((UINT64_C(1) << (2 * n - 1)) - 1);
    const vf low = _mm512_maskz_loadu_ps((__mmask16)mask, p),
             high = _mm512_maskz_loadu_ps((__mmask16)(mask >> 16), p + 16);
    return _mm512_permutex2var_ps(low, _mm512_slli_epi32(lane, 1), high);
  }
  __m512i at = _mm512_mullo_epi32(lane, _mm512_set1_epi32((int)stride));
  return _mm512_mask_i32gather_ps(v_zero(), v_first(n), at, p, 4);
}
static inline void w_store_low(void *p, vi x, int64_t n, int bits) {
  if (bits == 8)
    _mm_mask_storeu_epi8(p, v_first(n), _mm512_cvtepi32_epi8((__m512i)x));
  else
    _mm256_mask_storeu_epi16(p, v_first(n), _mm512_cvtepi32_epi16((__m512i)x));
}
static inline void w_store_words(void *p, vi x, uint32_t valid) {
  if (valid == W_ALL)
    _mm512_storeu_si512(p, (__m512i)x);
  else
    _mm512_mask_storeu_epi32(p, v_first(__builtin_popcount(valid)),
                             _mm512_maskz_compress_epi32((__mmask16)valid, (__m512i)x));
}
static inline void w_store_bytes(uint8_t *p, vi x, uint32_t valid) {
  if (valid == W_ALL)
    _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8((__m512i)x));
  else
    _mm_mask_storeu_epi8(p, v_first(__builtin_popcount(valid)),
                         _mm512_cvtepi32_epi8(_mm512_maskz_compress_epi32((__mmask16)valid, (__m512i)x)));
}
static inline vf w_load_valid(const float *p, uint32_t valid) {
  return valid == W_ALL ? _mm512_loadu_ps(p) : _mm512_maskz_expandloadu_ps((__mmask16)valid, p);
}
static inline vi w_load_valid_bytes(const uint8_t *p, uint32_t valid) {
  if (valid == W_ALL) return (vi)_mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)p));
  __m512i x = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(v_first(__builtin_popcount(valid)), p));
  return (vi)_mm512_maskz_expand_epi32((__mmask16)valid, x);
}

// Products of 32-bit words that hold several terms each: four bytes, two i16 or two bf16. Data are what the model
// computes, weights what is known when it is built. Lanes of sums are i32, or f32 for bf16.
#define DOT_I8X4      1 // four u8 of data by four s8 of weights (AVX512-VNNI)
#define DOT_I16X2     2 // two i16 by two i16
#define DOT_BF16X2    3 // two bf16 by two bf16 (AVX512-BF16)
#define DOT_BF16_WIDE 4 // two f32 by two bf16, which are the upper halves of f32

// Element types of data and results.
#define AS_F32 1
#define AS_U8  2
#define AS_I8  3
#define AS_I32 6

static inline vi w_load(const void *p) {
  vi x;
  memcpy(&x, p, sizeof x);
  return x;
}
static inline int32_t w_word(const void *p) {
  int32_t x;
  memcpy(&x, p, sizeof x);
  return x;
}
static inline vi w_set1(int32_t x) {
  return x - (vi){0};
}
static inline vf w_float(vi x) {
  return __builtin_convertvector(x, vf);
}

#if defined(__AVX512VNNI__)
static inline vi w_dot_i8x4(vi sum, vi data, vi weights) {
  return (vi)_mm512_dpbusd_epi32((__m512i)sum, (__m512i)data, (__m512i)weights);
}
#endif
static inline vi w_dot_i16x2(vi sum, vi a, vi b) {
#if defined(__AVX512BW__)
  return sum + (vi)_mm512_madd_epi16((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return sum + (vi)_mm256_madd_epi16((__m256i)a, (__m256i)b);
#elif defined(__SSE2__)
  return sum + (vi)__builtin_ia32_pmaddwd128((short __attribute__((vector_size(16))))a,
                                             (short __attribute__((vector_size(16))))b);
#else
  return sum + ((a << 16) >> 16) * ((b << 16) >> 16) + (a >> 16) * (b >> 16);
#endif
}
#if defined(__AVX512BF16__)
static inline vf w_dot_bf16x2(vf sum, vi a, vi b) {
  return _mm512_dpbf16_ps(sum, (__m512bh)a, (__m512bh)b);
}
#endif

// To the nearest integer, ties to even; right for what fits i32 and of either sign beyond.
static inline vf w_round(vf x) {
#if defined(__AVX512F__)
  return _mm512_roundscale_ps(x, 0);
#elif defined(__AVX2__)
  return _mm256_round_ps(x, 0);
#else
  const vf magic = v_set1(12582912.0f); // 1.5 * 2^23: the last bit is worth one
  x = v_min(v_max(x, v_set1(-4194304.0f)), v_set1(4194303.0f));
  return (x + magic) - magic;
#endif
}

static inline vf w_abs(vf x) {
  return (vf)((vi)x & 0x7fffffff);
}

// Magnitudes as the words that hold them: their order is that of the floats, with NaN above all of them.
static inline vi w_magnitude(vf x) {
  return (vi)w_abs(x);
}
static inline vi w_larger(vi a, vi b) {
#if defined(__AVX512F__)
  return (vi)_mm512_max_epi32((__m512i)a, (__m512i)b);
#elif defined(__AVX2__)
  return (vi)_mm256_max_epi32((__m256i)a, (__m256i)b);
#else
  vi m = a > b;
  return (a & m) | (b & ~m);
#endif
}
static inline int32_t w_largest(vi x) {
  int32_t largest = x[0];
  for (int l = 1; l < LANES; ++l) largest = x[l] > largest ? x[l] : largest;
  return largest;
}

// What makes bytes of floats whose largest magnitude this is, and what one step of those bytes is worth: NaN where some
// float is none or infinite, as no byte can say so; nothing where they are too small to divide by.
static inline float w_inverse(int32_t largest) {
  float most;
  memcpy(&most, &largest, sizeof most);
  return most > 1e-36f && most < __builtin_inff() ? 127.0f / most : 0.0f;
}
static inline float w_step(int32_t largest) {
  float most;
  memcpy(&most, &largest, sizeof most);
  return most < __builtin_inff() ? most / 127.0f : __builtin_nanf("");
}
static inline int w_any_above(vf x, float limit) {
#if defined(__AVX512F__)
  return _mm512_cmp_ps_mask(x, v_set1(limit), _CMP_GT_OQ) != 0;
#else
  vi above = (vi)(x > v_set1(limit));
  int any = 0;
  for (int l = 0; l < LANES; ++l) any |= above[l];
  return any;
#endif
}

// How floats become bytes: round(x / scale) + zero, between low and high.
typedef struct w_byte_t {
  float scale, inverse, zero, low, high;
} w_byte_t;

static inline w_byte_t w_byte(float scale, float zero, float low, float high) {
  return (w_byte_t){scale, scale > 0.0f ? 1.0f / scale : 0.0f, zero, low, high};
}

// Bytes added to bytes, as floats: (own - own_zero) * own_scale and the like of the others.
typedef struct w_join_t {
  float own_zero, own_scale, other_zero, other_scale;
  w_byte_t byte; // of the sum
} w_join_t;

// x * scale as a byte. Multiplying by the inverse errs by less than 1e-4 where the result is a byte; where that could
// turn the rounding, the quotient decides, as the definition says.
static inline vi w_quantise(vf x, vf scale, const w_byte_t *byte) {
  vf near = x * (scale * v_set1(byte->inverse)), rounded = w_round(near);
  if (__builtin_expect(w_any_above(w_abs(near - rounded), 0.4998f), 0))
    rounded = w_round(x * scale / v_set1(byte->scale));
  rounded = v_min(v_max(rounded + v_set1(byte->zero), v_set1(byte->low)), v_set1(byte->high));
  return __builtin_convertvector(rounded, vi);
}

// A product that is rounded before it is added.
static inline vf w_alone(vf x) {
#if defined(__AVX512F__)
  __asm__("" : "+v"(x));
#elif defined(__SSE2__)
  __asm__("" : "+x"(x));
#endif
  return x;
}

// ---- elements of data ----

// Lane l is p[l * stride] for l < n; the others are 0.
static inline vi w_bytes(const uint8_t *p, int64_t n, int64_t stride) {
#if defined(__AVX512BW__)
  if (stride == 1) return (vi)_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(v_first(n), p));
  if (stride == 2) {
    __m256i pairs = _mm256_maskz_loadu_epi8((__mmask32)((UINT64_C(1) << (2 * n - 1)) - 1), p);
    return (vi)_mm512_cvtepu16_epi32(_mm256_and_si256(pairs, _mm256_set1_epi16(255)));
  }
#else
  if (stride == 1 && n == LANES) {
    uint8_t __attribute__((vector_size(LANES))) bytes;
    memcpy(&bytes, p, sizeof bytes);
    return __builtin_convertvector(bytes, vi);
  }
#endif
  vi x = {0};
  for (int64_t l = 0; l < n; ++l) x[l] = p[l * stride];
  return x;
}
static inline vf w_floats(const float *p, int64_t n, int64_t stride) {
  if (stride == 1) return n == LANES ? v_load(p) : v_load_n(p, n);
#if defined(__AVX512F__)
  const __m512i lane = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i at = _mm512_mullo_epi32(lane, _mm512_set1_epi32((int)stride));
  return _mm512_mask_i32gather_ps(v_zero(), v_first(n), at, p, 4);
#else
  vf x = v_zero();
  for (int64_t l = 0; l < n; ++l) x[l] = p[l * stride];
  return x;
#endif
}

// Lanes [0, n) as bytes or as i16.
static inline void w_store_low(void *p, vi x, int64_t n, int bits) {
#if defined(__AVX512BW__)
  if (bits == 8)
    _mm_mask_storeu_epi8(p, v_first(n), _mm512_cvtepi32_epi8((__m512i)x));
  else
    _mm256_mask_storeu_epi16(p, v_first(n), _mm512_cvtepi32_epi16((__m512i)x));
#else
  for (int64_t l = 0; l < n; ++l)
    if (bits == 8)
      ((uint8_t *)p)[l] = (uint8_t)x[l];
    else
      ((int16_t *)p)[l] = (int16_t)x[l];
#endif
}

// ---- lanes that are results ----
// A set bit of `valid` is a lane that exists; those lie side by side in memory.

enum { W_ALL = (1 << LANES) - 1 };

static inline void w_store_words(void *p, vi x, uint32_t valid) {
#if defined(__AVX512F__)
  if (valid == W_ALL)
    _mm512_storeu_si512(p, (__m512i)x);
  else
    _mm512_mask_storeu_epi32(p, v_first(__builtin_popcount(valid)),
                             _mm512_maskz_compress_epi32((__mmask16)valid, (__m512i)x));
#else
  char *to = p;
  if (valid == W_ALL) {
    memcpy(p, &x, sizeof x);
    return;
  }
  for (int l = 0; l < LANES; ++l)
    if (valid >> l & 1) memcpy(to, &(int32_t){x[l]}, 4), to += 4;
#endif
}
static inline void w_store_bytes(uint8_t *p, vi x, uint32_t valid) {
#if defined(__AVX512BW__)
  if (valid == W_ALL)
    _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8((__m512i)x));
  else
    _mm_mask_storeu_epi8(p, v_first(__builtin_popcount(valid)),
                         _mm512_cvtepi32_epi8(_mm512_maskz_compress_epi32((__mmask16)valid, (__m512i)x)));
#else
  for (int l = 0; l < LANES; ++l)
    if (valid >> l & 1) *p++ = (uint8_t)x[l];
#endif
}
static inline vf w_load_valid(const float *p, uint32_t valid) {
#if defined(__AVX512F__)
  return valid == W_ALL ? _mm512_loadu_ps(p) : _mm512_maskz_expandloadu_ps((__mmask16)valid, p);
#else
  vf x = v_zero();
  for (int l = 0; l < LANES; ++l)
    if (valid >> l & 1) x[l] = *p++;
  return x;
#endif
}
static inline vi w_load_valid_bytes(const uint8_t *p, uint32_t valid) {
#if defined(__AVX512BW__)
  __m512i x = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(v_first(__builtin_popcount(valid)), p));
  return (vi)_mm512_maskz_expand_epi32((__mmask16)valid, x);
#else
  vi x = {0};
  for (int l = 0; l < LANES; ++l)
    if (valid >> l & 1) x[l] = *p++;
  return x;
#endif
}

// SPDX-License-Identifier: Apache-2.0
// Products of 32-bit words that hold several terms each: four bytes, two i16 or two bf16. The
// model computes the data; the weights are known when it is built. Lanes of sums are i32, or f32 for bf16.
#define DOT_I8X4      1 // four u8 of data by four s8 of weights
#define DOT_I16X2     2 // two i16 by two i16
#define DOT_BF16X2    3 // two bf16 by two bf16
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

// ---- defined by each instruction set (words_avx512.h and the like) ----

// sum + the products of the terms of two words. w_dot_i8x4 and w_dot_bf16x2 exist if the instruction set has an
// instruction for them.
static inline vi w_dot_i16x2(vi sum, vi a, vi b);

// Rounds to the nearest integer, ties to even. Exact below 2^22; larger numbers keep their sign and stay large.
static inline vf w_round(vf x);
static inline vi w_integers(vf x); // the nearest integers, for small numbers
static inline vi w_larger(vi a, vi b);
static inline int w_any_above(vf x, float limit);

// A product that must be rounded before it is added: the compiler does not fuse the two.
static inline vf w_alone(vf x);

// Elements of data. Lane l is p[l * stride] for l < n; the others are 0.
static inline vi w_bytes(const uint8_t *p, int64_t n, int64_t stride);
static inline vf w_floats(const float *p, int64_t n, int64_t stride);

// Words of four bytes each: word l has the bytes l of four rows, `step` apart, with the bits of `flip` flipped.
static inline vi w_pack_rows(const uint8_t *p, int64_t step, uint8_t flip);

// Lane l is the word at the l * stride-th term from p, of `unit` terms a word. May read 64 bytes and a vector beyond.
static inline vi w_spread(const void *p, int64_t stride, int unit);

// Lanes [0, n) as bytes or as i16.
static inline void w_store_low(void *p, vi x, int64_t n, int bits);

// Some lanes are results: bit l of `valid` is set if lane l is one. Results lie side by side in memory.
enum { W_ALL = (1 << LANES) - 1 };
static inline void w_store_words(void *p, vi x, uint32_t valid);
static inline void w_store_bytes(uint8_t *p, vi x, uint32_t valid);
static inline vf w_load_valid(const float *p, uint32_t valid);
static inline vi w_load_valid_bytes(const uint8_t *p, uint32_t valid);

// ---- the same for all ----

// Words that begin at each second term are those of memory; at each term they are made of two loads.
static inline vi w_spread_pairs(const void *p, int64_t stride) {
  typedef uint16_t halves_t __attribute__((vector_size(LANES * 2)));
  if (stride == 2) return w_load(p);
  vi x = {0};
  if (stride == 1) {
    halves_t low, high;
    memcpy(&low, p, sizeof low);
    memcpy(&high, (const uint16_t *)p + 1, sizeof high);
    return __builtin_convertvector(low, vi) | __builtin_convertvector(high, vi) << 16;
  }
  for (int64_t l = 0; l < LANES; ++l) x[l] = w_word((const uint16_t *)p + l * stride);
  return x;
}

static inline vf w_abs(vf x) {
  return (vf)((vi)x & 0x7fffffff);
}

// The bits of the magnitudes. As integers they have the order of the floats, with NaN above all of them.
static inline vi w_magnitude(vf x) {
  return (vi)w_abs(x);
}
static inline int32_t w_largest(vi x) {
  int32_t largest = x[0];
  for (int l = 1; l < LANES; ++l) largest = x[l] > largest ? x[l] : largest;
  return largest;
}

// Floats become bytes when they are multiplied by w_inverse, and one step of such a byte is worth w_step. `largest` has
// the bits of the floats' largest magnitude. If it is too small to divide by, w_inverse is 0. If a float is NaN or
// infinite, w_step is NaN, because no byte can represent that.
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

// How floats become bytes: round(x / scale) + zero, between low and high.
typedef struct w_byte_t {
  float scale, inverse, zero, low, high;
  float rest;     // what the inverse lacks
  int is_checked; // whether the product with the inverse may differ from the quotient
} w_byte_t;

static inline w_byte_t w_byte(float scale, float zero, float low, float high) {
  return (w_byte_t){scale,        scale > 0.0f ? 1.0f / scale : 0.0f,
                    zero,         low,
                    high,         scale > 0.0f ? (float)(1.0 / (double)scale - (double)(1.0f / scale)) : 0.0f,
                    scale != 1.0f};
}

// Two tensors of bytes are added as floats: (own - own_zero) * own_scale + (other - other_zero) * other_scale + shift.
typedef struct w_join_t {
  float own_zero, own_scale, other_zero, other_scale, shift;
  w_byte_t byte; // of the sum
} w_join_t;

static inline vf w_clamp(vf rounded, const w_byte_t *byte) {
  return v_min(v_max(rounded + v_set1(byte->zero), v_set1(byte->low)), v_set1(byte->high));
}

// x * scale as a byte, in floats. Multiplying by the inverse is off by less than 1e-4 if the result fits a byte. If
// that could change the rounding, the quotient is computed, as the definition of quantisation asks.
static inline vf w_quantise(vf x, vf scale, const w_byte_t *byte) {
  vf near = x * (scale * v_set1(byte->inverse)), rounded = w_round(near);
  if (byte->is_checked && __builtin_expect(w_any_above(w_abs(near - rounded), 0.4998f), 0))
    rounded = w_round(x * scale / v_set1(byte->scale));
  return w_clamp(rounded, byte);
}

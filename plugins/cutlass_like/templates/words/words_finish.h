// SPDX-License-Identifier: Apache-2.0
// Shared by all products of words: their arguments, and the conversion of a vector of sums to results.
//   DATA, RESULT      AS_*: element types
//   DOT, UNIT, BITS   how words are multiplied; terms of a word and their size
//   PARAMETERS        words from one table to the next. Each table has an entry per channel: the summand of its
//                     sum, the sum of its weights, the factor of its sum, its bias. Where results are bytes, factors
//                     and summands follow that make bytes of sums directly (pack/exact_factor.h). A factor is 0
//                     where the inverse of the result's scale does so, and -1 where results have to be checked. Behind
//                     them lie the parameters that are the same for all channels (words_once.h).
//   TABLES            how many tables there are

#if DOT == DOT_BF16X2 || DOT == DOT_BF16_WIDE
#define SUM_T vf
#else
#define SUM_T vi
#endif
#if RESULT == AS_F32
#define RESULT_T float
#elif RESULT == AS_I32
#define RESULT_T int32_t
#else
#define RESULT_T uint8_t
#endif
#if DATA == AS_F32
#define DATA_T float
#else
#define DATA_T uint8_t
#endif

#if RESIDUAL == AS_F32
#define RESIDUAL_T float
#else
#define RESIDUAL_T uint8_t
#endif

typedef struct FN(args_t) {
  const DATA_T *input;
  const int32_t *weights, *offsets, *sums;
  const float *scales, *shifts, *factors, *summands;
  const RESIDUAL_T *residual;
  RESULT_T *output;
  int32_t *workspace;
  int32_t zero;  // of the data, as they stand in words
  float factor;  // of every sum
  w_byte_t byte; // of bytes as results
  w_join_t join; // of bytes added to them
  int64_t shares;
#if IS_OPEN
  int64_t rows; // of the slice: rows of a matrix, or one image
#endif
} FN(args_t);

static inline __attribute__((always_inline)) SUM_T FN(dot)(SUM_T sum, vi data, vi weights) {
#if DOT == DOT_I8X4
  return w_dot_i8x4(sum, data, weights);
#elif DOT == DOT_I16X2
  return w_dot_i16x2(sum, data, weights);
#elif DOT == DOT_BF16X2
  return w_dot_bf16x2(sum, data, weights);
#else
  (void)data, (void)weights;
  return sum;
#endif
}

#if RESULT == AS_U8 || RESULT == AS_I8
// Are there exact factors that this processor can use?
#define HAS_FACTORS W_FUSED

// Bytes as floats are stored, or first added to other bytes.
static inline __attribute__((always_inline)) void FN(store)(vf own, RESULT_T *to, const RESIDUAL_T *residual,
                                                            uint32_t valid, const w_join_t *join) {
  (void)residual, (void)join;
#if JOINS
  vi other = w_load_valid_bytes(residual, valid);
  if (RESIDUAL == AS_I8) other = (other ^ 128) - 128;
  vf x = w_alone((own - v_set1(join->own_zero)) * v_set1(join->own_scale)) +
         w_alone((w_float(other) - v_set1(join->other_zero)) * v_set1(join->other_scale)) + v_set1(join->shift);
  x = JOINS_RELU ? v_max(x, v_zero()) : x;
  own = join->byte.is_checked ? w_quantise(x, v_set1(1.0f), &join->byte) : w_clamp(w_round(x), &join->byte);
#endif
  w_store_bytes(to, w_integers(own), valid);
}

// One vector of sums → bytes, by exact factors.
static inline __attribute__((always_inline)) void FN(finish_exact)(vi sum, vi offset, vf factor, vf summand,
                                                                   RESULT_T *to, const RESIDUAL_T *residual,
                                                                   uint32_t valid, const w_byte_t *byte,
                                                                   const w_join_t *join) {
  vf near = v_fma(w_float(sum + offset), factor, summand);
  vf own = v_min(v_max(near, v_set1(byte->low)), v_set1(byte->high));
  FN(store)(JOINS ? w_round(own) : own, to, residual, valid, join);
}
// The same by the inverse of the result's scale.
static inline __attribute__((always_inline)) void FN(finish_inverse)(vi sum, vi offset, vf scale, RESULT_T *to,
                                                                     const RESIDUAL_T *residual, uint32_t valid,
                                                                     const w_byte_t *byte, const w_join_t *join) {
  vf x = w_float(sum + offset) * scale, rest = w_alone(x * v_set1(byte->rest));
  FN(store)(w_clamp(w_round(v_fma(x, v_set1(byte->inverse), rest)), byte), to, residual, valid, join);
}
#else
#define HAS_FACTORS 0
#endif

// One vector of sums → results, whatever they are. `offset` is added to integer sums; factors and biases are for sums
// as floats.
static inline __attribute__((always_inline)) void FN(finish)(SUM_T sum, vi offset, vf scale, vf shift, RESULT_T *to,
                                                             const RESIDUAL_T *residual, uint32_t valid,
                                                             const w_byte_t *byte, const w_join_t *join) {
  (void)join;
  (void)byte, (void)offset, (void)scale, (void)shift, (void)residual;
#if RESULT == AS_I32
  w_store_words(to, sum + offset, valid);
#elif RESULT == AS_F32
#if DOT == DOT_BF16X2 || DOT == DOT_BF16_WIDE
  vf x = sum;
#else
  vf x = w_float(sum + offset) * scale;
#endif
  vf r = HAS_RESIDUAL ? w_load_valid(residual, valid) : v_zero();
  (void)r;
  w_store_words(to, (vi)(FINISH(x, shift, r)), valid);
#else
  FN(store)(w_quantise(w_float(sum + offset), scale, byte), to, residual, valid, join);
#endif
}

#if DOT != DOT_BF16_WIDE
// Elements of data as terms of words; lanes from n on have no meaning. `inverse`: 1 / scale, for floats.
static inline __attribute__((always_inline)) vi FN(terms)(const DATA_T *from, int64_t n, int64_t stride, int32_t zero,
                                                          float inverse) {
  (void)zero, (void)inverse;
#if DOT == DOT_BF16X2 // rounded to the upper half, ties to even; NaN stays NaN
  vf data = w_floats(from, n, stride);
  vi bits = (vi)data, nan = (vi)(data != data);
  return (bits + ((0x7fff + (bits >> 16 & 1)) & ~nan)) >> 16 | (nan & 64);
#elif DATA == AS_F32 // NaN becomes some byte, but then the step is NaN
  vf scaled = w_round(w_floats(from, n, stride) * v_set1(inverse));
  vi x = __builtin_convertvector(v_min(v_max(scaled, v_set1(-127.0f)), v_set1(127.0f)), vi);
  return DOT == DOT_I8X4 ? x + 128 : x;
#elif DOT == DOT_I8X4
  vi x = w_bytes(from, n, stride);
  return DATA == AS_I8 ? x ^ 128 : x;
#else
  vi x = w_bytes(from, n, stride);
  return (DATA == AS_I8 ? (x ^ 128) - 128 : x) - zero;
#endif
}
#endif

// SPDX-License-Identifier: Apache-2.0
// Weights as words, and the tables of what each channel needs.
#include "pack/pack_words.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "pack/exact_factor.h"
#include "pack/pack_amx.h"
#include "templates/words/words_once.h"

// Words for parameters that exist once: a whole cache line.
enum { ONCE_WORDS = 16 };
_Static_assert(sizeof(byoc_cutlass_once_t) <= ONCE_WORDS * sizeof(int32_t), "one line");

// The source of weight terms: integers or floats.
typedef struct source_t {
  const byoc_cutlass_problem_t *problem;
  const int16_t *integers;
  const float *floats;
} source_t;

static uint32_t bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (isnan(value)) return bits >> 16 | 64;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static uint32_t term_at(const source_t *source, int64_t at) {
  return source->floats ? bf16(source->floats[at]) : (uint32_t)(uint16_t)source->integers[at];
}

// `unit` terms from `at` on, `step` apart, of which `left` exist.
static int32_t word_at(const void *self, int64_t at, int64_t step, int64_t left) {
  const source_t *source = self;
  uint32_t word = 0, unit = (uint32_t)byoc_cutlass_words_unit(source->problem->words.dot), bits = 32 / unit;
  for (uint32_t t = 0; t < unit && t < left; ++t)
    word |= (term_at(source, at + t * step) & ((1u << bits) - 1u)) << (t * bits);
  return (int32_t)word;
}

// [out][in][taps] of one panel → [chunk of words of in][tap][word of the chunk][out]
static int32_t *pack_panel(const source_t *source, int64_t first, int64_t width, int32_t *packed) {
  const byoc_cutlass_conv_t *c = &source->problem->conv;
  int64_t taps = c->kernel_h * c->kernel_w, unit = byoc_cutlass_words_unit(source->problem->words.dot);
  int64_t chunk = byoc_cutlass_words_chunk(source->problem) * unit;
  for (int64_t begin = 0; begin < c->in; begin += chunk)
    for (int64_t t = 0; t < taps; ++t)
      for (int64_t i = begin; i < c->in && i < begin + chunk; i += unit)
        for (int64_t o = 0; o < width; ++o)
          *packed++ = word_at(source, ((first + o) * c->in + i) * taps + t, taps, c->in - i);
  return packed;
}

// [channel][row][tap] → [channel][row][word of taps]
static void pack_depthwise(const source_t *source, int32_t *packed) {
  const byoc_cutlass_conv_t *c = &source->problem->conv;
  const int64_t taps = byoc_cutlass_words_rows(source->problem, 1).taps;
  for (int64_t row = 0; row < c->groups * c->out * c->kernel_h; ++row)
    for (int64_t x = 0; x < c->kernel_w; x += taps)
      *packed++ = word_at(source, row * c->kernel_w + x, 1, c->kernel_w - x < taps ? c->kernel_w - x : taps);
}

static void pack_conv(const source_t *source, const byoc_cutlass_plan_t *plan, int32_t *packed) {
  const byoc_cutlass_conv_t *c = &source->problem->conv;
  for (int64_t g = 0; g < c->groups; ++g)
    for (int64_t o = 0; o < c->out; o += plan->rows)
      packed = pack_panel(source, g * c->out + o, c->out - o < plan->rows ? c->out - o : plan->rows, packed);
}

// [k][n] → [panel][word of k][n of the panel, whole vectors]
static void pack_matrix(const source_t *source, const byoc_cutlass_plan_t *plan, int32_t *packed) {
  const byoc_cutlass_gemm_t *gemm = &source->problem->gemm;
  int64_t by_k = gemm->transpose_b ? 1 : gemm->n, by_n = gemm->transpose_b ? gemm->k : 1;
  int64_t lanes = byoc_cutlass_isa_lanes(plan->isa), unit = byoc_cutlass_words_unit(source->problem->words.dot);
  for (int64_t first = 0; first < gemm->n; first += plan->vectors * lanes) {
    int64_t width = byoc_cutlass_panel_width(gemm->n - first, plan->vectors * lanes, lanes);
    for (int64_t k = 0; k < gemm->k; k += unit)
      for (int64_t c = 0; c < width; ++c)
        *packed++ = first + c < gemm->n ? word_at(source, k * by_k + (first + c) * by_n, by_k, gemm->k - k) : 0;
  }
}

static void pack(const source_t *source, const byoc_cutlass_plan_t *plan, int32_t *packed) {
  if (source->problem->words.amx)
    byoc_cutlass_amx_pack(source->problem, word_at, source, packed);
  else if (byoc_cutlass_words_depthwise(source->problem))
    pack_depthwise(source, packed);
  else if (source->problem->kind == BYOC_CUTLASS_CONV)
    pack_conv(source, plan, packed);
  else
    pack_matrix(source, plan, packed);
}

size_t byoc_cutlass_words_packed(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  if (problem->words.amx) return byoc_cutlass_amx_packed(problem);
  const byoc_cutlass_conv_t *c = &problem->conv;
  int64_t unit = byoc_cutlass_words_unit(problem->words.dot), lanes = byoc_cutlass_isa_lanes(plan->isa);
  if (byoc_cutlass_words_depthwise(problem))
    return (size_t)(c->groups * c->out * c->kernel_h * byoc_cutlass_words_rows(problem, 1).row_words);
  if (problem->kind == BYOC_CUTLASS_CONV)
    return (size_t)(c->groups * c->out * c->kernel_h * c->kernel_w * byoc_cutlass_ceil_div(c->in, unit));
  return (size_t)(byoc_cutlass_ceil_div(problem->gemm.k, unit) * byoc_cutlass_ceil_div(problem->gemm.n, lanes) * lanes);
}

void byoc_cutlass_words_pack(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                             const int16_t *weights, int32_t *packed) {
  pack(&(source_t){.problem = problem, .integers = weights}, plan, packed);
}

void byoc_cutlass_words_pack_bf16(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                                  const float *weights, int32_t *packed) {
  pack(&(source_t){.problem = problem, .floats = weights}, plan, packed);
}

// Weights of a channel: where they begin, how far apart and how many they are.
typedef struct line_t {
  int64_t begin, step, count;
} line_t;

static line_t channel_line(const byoc_cutlass_problem_t *problem, int64_t channel) {
  const byoc_cutlass_conv_t *c = &problem->conv;
  const byoc_cutlass_gemm_t *gemm = &problem->gemm;
  int64_t own = c->in * c->kernel_h * c->kernel_w;
  if (problem->kind == BYOC_CUTLASS_CONV) return (line_t){channel * own, 1, own};
  return gemm->transpose_b ? (line_t){channel * gemm->k, 1, gemm->k} : (line_t){channel, gemm->n, gemm->k};
}

void byoc_cutlass_words_quantise(const byoc_cutlass_problem_t *problem, const float *weights, int16_t *quantised,
                                 float *scales) {
  int64_t channels = byoc_cutlass_words_channels(problem);
  for (int64_t c = 0; c < channels; ++c) {
    line_t line = channel_line(problem, c);
    float most = 0.0f;
    bool finite = true;
    for (int64_t i = 0; i < line.count; ++i) {
      float magnitude = fabsf(weights[line.begin + i * line.step]);
      finite = finite && isfinite(magnitude);
      most = fmaxf(most, magnitude);
    }
    // No integer represents infinity or NaN: the scale of such a channel does.
    scales[c] = finite ? most / 127.0f : NAN;
    for (int64_t i = 0; i < line.count; ++i) {
      float value = finite && most > 0.0f ? rintf(weights[line.begin + i * line.step] * 127.0f / most) : 0.0f;
      quantised[line.begin + i * line.step] = (int16_t)(value > 127.0f ? 127.0f : value < -127.0f ? -127.0f : value);
    }
  }
}

int64_t byoc_cutlass_words_table(const byoc_cutlass_problem_t *problem) {
  return (byoc_cutlass_words_channels(problem) + 15) / 16 * 16;
}

int64_t byoc_cutlass_words_table_count(const byoc_cutlass_problem_t *problem) {
  const uint32_t result = problem->words.result;
  return result == BYOC_DTYPE_U8 || result == BYOC_DTYPE_I8 ? 6 : 4;
}

int64_t byoc_cutlass_words_parameter_count(const byoc_cutlass_problem_t *problem) {
  return byoc_cutlass_words_table(problem) * byoc_cutlass_words_table_count(problem) + ONCE_WORDS;
}

// The data's zero point as it stands in words: bytes of I8X4 are unsigned, so signed ones have their highest bit
// flipped.
static int32_t words_zero(const byoc_cutlass_problem_t *problem) {
  const byoc_cutlass_words_t *words = &problem->words;
  if (words->dot == BYOC_CUTLASS_DOT_I8X4 && words->data == BYOC_DTYPE_F32) return 128;
  if (words->dot == BYOC_CUTLASS_DOT_I8X4 && words->data == BYOC_DTYPE_I8) return words->zero + 128;
  return words->zero;
}

// Factor and summand of each channel that make bytes of its sums as the definition does; a factor of 0 where the
// inverse of the result's scale does so, -1 where nothing is known to.
static void add_factors(const byoc_cutlass_problem_t *problem, const float *scales, int32_t *tables) {
  const byoc_cutlass_words_t *words = &problem->words;
  const int64_t channels = byoc_cutlass_words_channels(problem), table = byoc_cutlass_words_table(problem);
  float factor = 1.0f, summand = 0.0f;
  for (int64_t c = channels; c < table; ++c) memcpy(&tables[4 * table + c], &factor, sizeof factor); // are not results
  for (int64_t c = 0; c < channels; ++c) {
    const byoc_cutlass_rounding_t rounding = {scales[c], words->result_scale, words->result_zero, words->low,
                                              words->high};
    if (c == 0 || scales[c] != scales[c - 1]) {
      if (words->reads_factor || !byoc_cutlass_exact_inverse(&rounding))
        factor = -1.0f;
      else
        byoc_cutlass_exact_factor(&rounding, &factor, &summand);
    }
    memcpy(&tables[4 * table + c], &factor, sizeof factor);
    memcpy(&tables[5 * table + c], &summand, sizeof summand);
  }
}

void byoc_cutlass_words_parameters(const byoc_cutlass_problem_t *problem, const int16_t *weights,
                                   const int32_t *summands, const float *scales, const float *shifts, int32_t *tables) {
  int64_t channels = byoc_cutlass_words_channels(problem), table = byoc_cutlass_words_table(problem);
  const byoc_cutlass_words_t *words = &problem->words;
  const byoc_cutlass_once_t once = {.zero = words_zero(problem),
                                    .result_scale = words->result_scale,
                                    .result_zero = words->result_zero,
                                    .low = words->low,
                                    .high = words->high,
                                    .own_zero = words->own_zero,
                                    .own_scale = words->own_scale,
                                    .other_zero = words->other_zero,
                                    .other_scale = words->other_scale,
                                    .joined_shift = words->joined_shift,
                                    .joined_scale = words->joined_scale,
                                    .joined_zero = words->joined_zero,
                                    .joined_low = words->joined_low,
                                    .joined_high = words->joined_high};
  memset(tables, 0, (size_t)byoc_cutlass_words_parameter_count(problem) * sizeof *tables);
  memcpy(&tables[byoc_cutlass_words_table_count(problem) * table], &once, sizeof once);
  if (byoc_cutlass_words_table_count(problem) > 4) add_factors(problem, scales, tables);
  for (int64_t c = 0; c < channels; ++c) {
    uint32_t sum = 0, offset = summands ? (uint32_t)summands[c] : 0;
    line_t line = channel_line(problem, c);
    for (int64_t i = 0; weights && i < line.count; ++i) sum += (uint32_t)(int32_t)weights[line.begin + i * line.step];
    // Bytes keep their zero point in words; if it is known, its total is subtracted here.
    if (problem->words.dot == BYOC_CUTLASS_DOT_I8X4 && !problem->words.reads_zero)
      offset -= (uint32_t)words_zero(problem) * sum;
    tables[c] = (int32_t)offset;
    tables[table + c] = (int32_t)sum;
    memcpy(&tables[2 * table + c], &scales[c], sizeof(float));
    memcpy(&tables[3 * table + c], &shifts[c], sizeof(float));
  }
}

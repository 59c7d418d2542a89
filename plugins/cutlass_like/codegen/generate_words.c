// SPDX-License-Identifier: Apache-2.0
// Products of words: the choice of the dot, and the constants.
#include <stdlib.h>
#include <string.h>

#include "codegen/generate.h"
#include "pack/pack_words.h"
#include "plan/plan_bits.h"

// Up to this number of rows a product only waits for its weights: half the bytes take half the time, widened or not.
enum { MOST_WAITING_ROWS = 8 };
// Fewer terms than this are summed faster than they are quantised.
enum { LEAST_QUANTISED_TERMS = 16 };

static int64_t sum_terms(const byoc_cutlass_problem_t *problem) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  return problem->kind == BYOC_CUTLASS_CONV ? conv->in * conv->kernel_h * conv->kernel_w : problem->gemm.k;
}

// Why templates/words cannot compute the product, whatever its dot; NULL if they can.
static const char *find_obstacle(const byoc_cutlass_problem_t *problem) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  const byoc_cutlass_gemm_t *gemm = &problem->gemm;
  if (problem->kind == BYOC_CUTLASS_ATTENTION) return "attention is computed in f32";
  if (problem->kind == BYOC_CUTLASS_CONV) {
    if (conv->in_blocked || conv->out_blocked)
      return "the plan computes it in blocked layouts; --layout=plain makes plans without them";
    if (conv->open_h || conv->open_w) return "the height or width of its images is dynamic";
    return conv->groups > 1 && conv->in < 4 ? "its groups have fewer than 4 input channels" : NULL;
  }
  if (!gemm->constant_b) return "its weights are not constant";
  if (gemm->batch_rank > 0) return "it has several matrices of weights";
  return gemm->transpose_a ? "its data are transposed" : NULL;
}

static const char *choose_int8(const byoc_cutlass_options_t *options, byoc_cutlass_problem_t *problem) {
  if (sum_terms(problem) < LEAST_QUANTISED_TERMS) return "sums of fewer than 16 terms are faster in f32";
  problem->words.dot =
      byoc_cutlass_options_have(options, BYOC_CUTLASS_DOT_I8X4) ? BYOC_CUTLASS_DOT_I8X4 : BYOC_CUTLASS_DOT_I16X2;
  return NULL;
}

// Without a fast dot, bf16 weights are widened to f32: that pays as long as the product waits for its weights.
static const char *choose_bf16(const byoc_cutlass_options_t *options, byoc_cutlass_problem_t *problem) {
  const byoc_cutlass_gemm_t *gemm = &problem->gemm;
  const bool is_conv = problem->kind == BYOC_CUTLASS_CONV;
  const bool has_dot = byoc_cutlass_options_have(options, BYOC_CUTLASS_DOT_BF16X2);
  if (has_dot && options->fast_bf16) {
    problem->words.dot = BYOC_CUTLASS_DOT_BF16X2;
    return NULL;
  }
  if (!is_conv && (gemm->open_rows || gemm->m <= MOST_WAITING_ROWS)) {
    problem->words.dot = BYOC_CUTLASS_DOT_BF16_WIDE;
    return NULL;
  }
  if (has_dot) return "the processor, or one that -mcpu allows, multiplies bf16 more slowly than f32";
  return "-mcpu has no products of bf16, and f32 is as fast";
}

const char *byoc_cutlass_choose_dot(const byoc_cutlass_options_t *options, byoc_cutlass_match_t *match) {
  byoc_cutlass_problem_t *problem = &match->problem;
  byoc_cutlass_words_t *words = &problem->words;
  if (problem->kind == BYOC_CUTLASS_BITS) {
    if (byoc_cutlass_bits_may_be_bytes(&problem->bits) && byoc_cutlass_options_have(options, BYOC_CUTLASS_DOT_I8X4))
      words->dot = BYOC_CUTLASS_DOT_I8X4;
    return NULL;
  }
  if (match->bytes) {
    words->dot = byoc_cutlass_options_have(options, BYOC_CUTLASS_DOT_I8X4) && !match->wide ? BYOC_CUTLASS_DOT_I8X4
                                                                                           : BYOC_CUTLASS_DOT_I16X2;
    return NULL;
  }
  if (options->precision == BYOC_CUTLASS_PRECISION_F32) return NULL;
  const char *lapse = find_obstacle(problem);
  if (!lapse)
    lapse = options->precision == BYOC_CUTLASS_PRECISION_INT8 ? choose_int8(options, problem)
                                                              : choose_bf16(options, problem);
  if (lapse) return lapse;
  words->data = words->result = BYOC_DTYPE_F32;
  problem->epilogue.has_bias = true; // in the tables
  return NULL;
}

bool byoc_cutlass_words_constants(const byoc_cutlass_match_t *match, const byoc_cutlass_plan_t *plan,
                                  const float *weights, int32_t *packed, int32_t *tables) {
  const byoc_cutlass_problem_t *problem = &match->problem;
  uint32_t dot = problem->words.dot;
  size_t channels = (size_t)match->channels;
  const int16_t *integers = match->bytes;
  float *scales = malloc(channels * sizeof *scales), *shifts = malloc(channels * sizeof *shifts);
  int16_t *quantised = NULL;
  bool ok = scales && shifts;
  for (size_t i = 0; ok && i < channels; ++i) {
    scales[i] = match->bytes ? (float)match->scale[i] : 1.0f;
    shifts[i] = (float)match->shift[i];
  }
  if (ok && dot != BYOC_CUTLASS_DOT_BF16X2 && dot != BYOC_CUTLASS_DOT_BF16_WIDE && !integers) {
    const byoc_cutlass_conv_t *c = &problem->conv;
    int64_t count = problem->kind == BYOC_CUTLASS_GEMM ? problem->gemm.k : c->in * c->kernel_h * c->kernel_w;
    quantised = malloc((size_t)count * channels * sizeof *quantised);
    ok = quantised != NULL;
    if (ok) byoc_cutlass_words_quantise(problem, weights, quantised, scales);
    integers = quantised;
  }
  if (ok) {
    if (integers)
      byoc_cutlass_words_pack(problem, plan, integers, packed);
    else
      byoc_cutlass_words_pack_bf16(problem, plan, weights, packed);
    byoc_cutlass_words_parameters(problem, integers, match->summand, scales, shifts, tables);
  }
  free(quantised);
  free(shifts);
  free(scales);
  return ok;
}

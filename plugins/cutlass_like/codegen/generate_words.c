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

void byoc_cutlass_choose_dot(const byoc_cutlass_options_t *options, byoc_cutlass_match_t *match) {
  byoc_cutlass_problem_t *problem = &match->problem;
  byoc_cutlass_words_t *words = &problem->words;
  if (problem->kind == BYOC_CUTLASS_BITS) {
    if (byoc_cutlass_bits_may_be_bytes(&problem->bits) && byoc_cutlass_options_have(options, BYOC_CUTLASS_DOT_I8X4))
      words->dot = BYOC_CUTLASS_DOT_I8X4;
    return;
  }
  if (match->bytes) {
    words->dot = byoc_cutlass_options_have(options, BYOC_CUTLASS_DOT_I8X4) && !match->wide ? BYOC_CUTLASS_DOT_I8X4
                                                                                           : BYOC_CUTLASS_DOT_I16X2;
    return;
  }
  const byoc_cutlass_gemm_t *gemm = &problem->gemm;
  const byoc_cutlass_conv_t *conv = &problem->conv;
  bool is_conv = problem->kind == BYOC_CUTLASS_CONV;
  if (options->precision == BYOC_CUTLASS_PRECISION_F32) return;
  if (is_conv && (conv->in_blocked || conv->out_blocked || conv->open_batch)) return;
  if (is_conv ? conv->groups > 1 && conv->in < 4
              : !gemm->constant_b || gemm->open_rows || gemm->batch_rank > 0 || gemm->transpose_a)
    return;
  if (options->precision == BYOC_CUTLASS_PRECISION_INT8) {
    if ((is_conv ? conv->in * conv->kernel_h * conv->kernel_w : gemm->k) < LEAST_QUANTISED_TERMS) return;
    words->dot =
        byoc_cutlass_options_have(options, BYOC_CUTLASS_DOT_I8X4) ? BYOC_CUTLASS_DOT_I8X4 : BYOC_CUTLASS_DOT_I16X2;
  } else if (byoc_cutlass_options_have(options, BYOC_CUTLASS_DOT_BF16X2)) {
    words->dot = BYOC_CUTLASS_DOT_BF16X2;
  } else if (!is_conv && gemm->m <= MOST_WAITING_ROWS) {
    words->dot = BYOC_CUTLASS_DOT_BF16_WIDE;
  } else {
    return;
  }
  words->data = words->result = BYOC_DTYPE_F32;
  problem->epilogue.has_bias = true; // in the tables
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

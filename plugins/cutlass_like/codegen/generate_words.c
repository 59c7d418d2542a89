// SPDX-License-Identifier: Apache-2.0
// Products of words: the choice of the dot, and the constants.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/generate.h"
#include "pack/pack_words.h"
#include "plan/plan_amx.h"
#include "plan/plan_bits.h"
#include "plan/plan_words.h"

// Up to this number of rows a product only waits for its weights: half the bytes take half the time, widened or not.
enum { MOST_WAITING_ROWS = 8 };
// Registers for sums from which on weights are widened beside them in no more time.
enum { WIDENING_SUMS = 28 };
// Fewer terms than this are summed faster than they are quantised.
enum { LEAST_QUANTISED_TERMS = 16 };
// Multiply-adds of f32 in the time in which one datum becomes bf16: side by side, and in every second place or further
// apart. Measured on Zen 4 by byoc profile of ResNet-50 and MobileNet v2.
enum { MACS_OF_DATUM = 6, MACS_OF_STRIDED_DATUM = 20 };
static const char slower_data[] = "its data take longer to become bf16 than the products save";
static const char slower_bf16[] = "products of bf16 are not faster than those of f32 on the processors of -mcpu";
static const char open_images[] = "the height or width of its images is dynamic";
static const char faster_winograd[] = "Winograd's algorithm in f32 is faster; -winograd=0 forbids it";

static int64_t sum_terms(const byoc_cutlass_problem_t *problem) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  return problem->kind == BYOC_CUTLASS_CONV ? conv->in * conv->kernel_h * conv->kernel_w : problem->gemm.k;
}

// Why the product is computed in f32 whatever is asked for; NULL if it need not be.
static const char *find_obstacle(const byoc_cutlass_problem_t *problem) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  const byoc_cutlass_gemm_t *gemm = &problem->gemm;
  if (problem->kind == BYOC_CUTLASS_ATTENTION) return "attention is computed in f32";
  if (problem->kind == BYOC_CUTLASS_CONV) {
    if (conv->in_blocked || conv->out_blocked)
      return "the plan computes it in blocked layouts; --layout=plain makes plans without them";
    return conv->groups > 1 && conv->in < 4 ? "its groups have fewer than 4 input channels" : NULL;
  }
  if (!gemm->constant_b) return "its weights are not constant";
  if (gemm->batch_rank > 0) return "it has several matrices of weights";
  return gemm->transpose_a ? "its data are transposed" : NULL;
}

// True if the product takes so few multiplications in f32 that only products of bytes need less time.
static bool is_winograd(const byoc_cutlass_options_t *options, const byoc_cutlass_problem_t *problem) {
  byoc_cutlass_plan_t plan;
  byoc_cutlass_plan_default(problem, options->isa, options->max_threads, options->winograd, &plan);
  return plan.form == BYOC_CUTLASS_FORM_WINOGRAD;
}

// Multiplies by tiles if -mcpu has them for this dot and they are worth it.
static bool choose_tiles(const byoc_cutlass_options_t *options, byoc_cutlass_problem_t *problem, uint32_t dot) {
  const uint32_t before = problem->words.dot;
  problem->words.dot = dot;
  problem->words.amx = byoc_cutlass_options_have_tiles(options, dot) && !byoc_cutlass_open_sizes(problem) &&
                       byoc_cutlass_amx_fits(problem);
  if (!problem->words.amx) problem->words.dot = before;
  return problem->words.amx;
}

static const char *choose_int8(const byoc_cutlass_options_t *options, byoc_cutlass_problem_t *problem) {
  const bool has_dot = byoc_cutlass_options_have(options, BYOC_CUTLASS_DOT_I8X4);
  if (byoc_cutlass_open_sizes(problem)) return open_images;
  if (sum_terms(problem) < LEAST_QUANTISED_TERMS) return "sums of fewer than 16 terms are faster in f32";
  if (!has_dot && is_winograd(options, problem)) return faster_winograd;
  if (choose_tiles(options, problem, BYOC_CUTLASS_DOT_I8X4)) return NULL;
  problem->words.dot = has_dot ? BYOC_CUTLASS_DOT_I8X4 : BYOC_CUTLASS_DOT_I16X2;
  return NULL;
}

// True if products that take 1 / rate of the time save more than it takes to turn their data into bf16.
static bool saves_time(const byoc_cutlass_problem_t *problem, double rate) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  const byoc_cutlass_gemm_t *gemm = &problem->gemm;
  const double macs = (double)byoc_cutlass_macs(problem);
  if (problem->kind == BYOC_CUTLASS_GEMM)
    return macs * (1.0 - 1.0 / rate) > (double)(gemm->m * gemm->k) * MACS_OF_DATUM;
  const byoc_cutlass_spread_t spread = byoc_cutlass_words_spread(conv, 16);
  const double waste = (double)((conv->in + 1) / 2 * 2) / (double)conv->in;
  const double data = (double)(conv->batch * conv->groups * conv->in * spread.phase_count * spread.wide * spread.tall);
  return macs * (1.0 - waste / rate) > data * (conv->stride_w > 1 ? MACS_OF_STRIDED_DATUM : MACS_OF_DATUM);
}

// Without a dot that is faster than f32, sums are those of f32, and weights are stored as bf16 if the product waits for
// them, because it has few rows or may have few: they are widened in registers.
static const char *choose_bf16(const byoc_cutlass_options_t *options, byoc_cutlass_problem_t *problem) {
  const byoc_cutlass_gemm_t *gemm = &problem->gemm;
  const bool waits = problem->kind == BYOC_CUTLASS_GEMM && !gemm->open_rows && gemm->m <= MOST_WAITING_ROWS;
  if (saves_time(problem, options->bf16_rate) && choose_tiles(options, problem, BYOC_CUTLASS_DOT_BF16X2)) return NULL;
  if (is_winograd(options, problem)) return faster_winograd;
  if (byoc_cutlass_open_sizes(problem)) return open_images;
  if (options->fast_bf16) {
    if (!waits && !saves_time(problem, options->bf16_rate)) return slower_data;
    problem->words.dot = BYOC_CUTLASS_DOT_BF16X2;
    return NULL;
  }
  // With fewer registers many rows take longer than in f32, and the number of rows is not known.
  const bool may_wait = gemm->open_rows && byoc_cutlass_isa_sums(options->isa) >= WIDENING_SUMS;
  if (problem->kind != BYOC_CUTLASS_GEMM || (!waits && !may_wait)) return slower_bf16;
  problem->words.dot = BYOC_CUTLASS_DOT_BF16_WIDE;
  return NULL;
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
    words->unsigned_weights = match->wide && !match->has_negative;
    if ((!match->wide || words->unsigned_weights) && choose_tiles(options, problem, BYOC_CUTLASS_DOT_I8X4)) return NULL;
    words->unsigned_weights = false;
    words->dot = byoc_cutlass_options_have(options, BYOC_CUTLASS_DOT_I8X4) && !match->wide ? BYOC_CUTLASS_DOT_I8X4
                                                                                           : BYOC_CUTLASS_DOT_I16X2;
    return NULL;
  }
  if (options->precision == BYOC_CUTLASS_PRECISION_F32 || byoc_cutlass_has_half(problem)) return NULL;
  const char *lapse = find_obstacle(problem);
  if (!lapse)
    lapse = options->precision == BYOC_CUTLASS_PRECISION_INT8 ? choose_int8(options, problem)
                                                              : choose_bf16(options, problem);
  if (lapse) return lapse;
  if (words->dot == BYOC_CUTLASS_DOT_F32) return NULL; // only the weights are stored otherwise
  words->data = words->result = BYOC_DTYPE_F32;
  problem->epilogue.has_bias = true; // in the tables
  return NULL;
}

static const char *type_name(uint32_t type) {
  return type == BYOC_DTYPE_F16 ? "f16" : type == BYOC_DTYPE_BF16 ? "bf16" : "f32";
}

void byoc_cutlass_describe_precision(const byoc_cutlass_problem_t *problem, char text[BYOC_CUTLASS_PRECISION_TEXT]) {
  const byoc_cutlass_types_t *types = &problem->types;
  const uint32_t dot = problem->words.dot;
  const char *weights = type_name(types->weights);
  if (problem->kind == BYOC_CUTLASS_BITS)
    snprintf(text, BYOC_CUTLASS_PRECISION_TEXT, "%d-bit weights, %s sums", (int)problem->bits.bits,
             dot == BYOC_CUTLASS_DOT_I8X4 ? "int8" : "f32");
  else if (dot == BYOC_CUTLASS_DOT_I8X4 || dot == BYOC_CUTLASS_DOT_I16X2)
    snprintf(text, BYOC_CUTLASS_PRECISION_TEXT, "int8");
  else if (dot == BYOC_CUTLASS_DOT_BF16X2)
    snprintf(text, BYOC_CUTLASS_PRECISION_TEXT, "bf16");
  else if (dot == BYOC_CUTLASS_DOT_BF16_WIDE)
    snprintf(text, BYOC_CUTLASS_PRECISION_TEXT, "bf16 weights, f32 sums");
  else if (types->data == types->weights)
    snprintf(text, BYOC_CUTLASS_PRECISION_TEXT, "%s%s", weights, types->weights ? " tensors, f32 sums" : "");
  else
    snprintf(text, BYOC_CUTLASS_PRECISION_TEXT, "%s weights, f32 sums", weights);
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

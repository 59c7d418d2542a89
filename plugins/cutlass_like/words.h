// SPDX-License-Identifier: Apache-2.0
// words.h - products whose operands are 32-bit words of several terms: bytes, i16 or bf16 (templates/words*.h).
//
// Example:
//   problem.words = (byoc_cutlass_words_t){.dot = BYOC_CUTLASS_DOT_I8X4, .data = BYOC_DTYPE_U8};
//   byoc_cutlass_plan_default(&problem, isa, slots, false, &plan);
//   byoc_cutlass_words_pack(&problem, &plan, weights, packed);
//   byoc_cutlass_words_parameters(&problem, weights, summands, scales, shifts, parameters);
//   byoc_cutlass_emit(&text, &problem, &plan, "conv_0");
//
// The problem's inputs are data, packed weights and, as `bias`, the parameters. problem.h's functions serve these
// problems too, except for packing.
#ifndef BYOC_CUTLASS_WORDS_H_
#define BYOC_CUTLASS_WORDS_H_

#include "emit.h"

// Terms of a word.
int32_t byoc_cutlass_words_unit(uint32_t dot);

// Channels of a convolution or columns of a matrix product.
int64_t byoc_cutlass_words_channels(const byoc_cutlass_problem_t *problem);

void byoc_cutlass_words_plan(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan);

uint64_t byoc_cutlass_words_workspace_bytes(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

// Words per row of a matrix product's data in the workspace, and words before all data there, which hold scales.
int64_t byoc_cutlass_words_row(const byoc_cutlass_problem_t *problem);
int64_t byoc_cutlass_words_head(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

// How a convolution's image is spread out in the workspace (templates/words_conv.h).
typedef struct byoc_cutlass_spread_t {
  int64_t wide, tall;  // of a phase's plane
  int64_t phase_count; // (y, x) pairs that some tap reads
  int64_t plane;       // words from one plane of words to the next, its phases and slack included
  bool whole;          // the plane is the unchanged image
} byoc_cutlass_spread_t;
byoc_cutlass_spread_t byoc_cutlass_words_spread(const byoc_cutlass_conv_t *conv, int32_t lanes);

// The number of planes whose taps are summed before those of the next ones, so that what taps read again stays in the
// first-level cache.
int64_t byoc_cutlass_words_chunk(const byoc_cutlass_problem_t *problem);

// True if some tap reads a phase.
bool byoc_cutlass_words_phase_used(int64_t phase, int64_t kernel, int64_t stride, int64_t dilation);

// Words of packed weights.
size_t byoc_cutlass_words_packed(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

// Packs weights, laid out as in the model, minus their zero points. For bytes each must fit the dot's operand (s8 for
// I8X4).
void byoc_cutlass_words_pack(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                             const int16_t *weights, int32_t *packed);

// The same for floats, for the bf16 dots: rounded to the nearest, ties to even.
void byoc_cutlass_words_pack_bf16(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                                  const float *weights, int32_t *packed);

// f32 weights as s8: each channel times 127 / its largest magnitude. `scales`: what to multiply each channel's
// integers with; NaN for a channel with a weight that is NaN or infinite.
void byoc_cutlass_words_quantise(const byoc_cutlass_problem_t *problem, const float *weights, int16_t *quantised,
                                 float *scales);

// The data's zero point as it stands in words: bytes of I8X4 are unsigned, so signed ones have their highest bit
// flipped.
int32_t byoc_cutlass_words_zero(const byoc_cutlass_problem_t *problem);

// Words of a parameter table, and of the constant that holds all four tables and the parameters that exist once.
// Functions that differ in nothing else share their code.
int64_t byoc_cutlass_words_table(const byoc_cutlass_problem_t *problem);
int64_t byoc_cutlass_words_parameter_count(const byoc_cutlass_problem_t *problem);

// Fills the tables from `weights` (as given to pack; NULL for bf16), the summands of integer sums (NULL: none), and y =
// sum * scale + shift for floats.
void byoc_cutlass_words_parameters(const byoc_cutlass_problem_t *problem, const int16_t *weights,
                                   const int32_t *summands, const float *scales, const float *shifts, int32_t *tables);

void byoc_cutlass_words_emit(byoc_cutlass_text_t *text, byoc_cutlass_names_t *names,
                             const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

#endif // BYOC_CUTLASS_WORDS_H_

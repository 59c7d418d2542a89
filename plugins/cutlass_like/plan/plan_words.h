// SPDX-License-Identifier: Apache-2.0
// plan_words.h - products whose operands are 32-bit words of several terms: bytes, i16 or bf16 (templates/words).
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
#ifndef BYOC_CUTLASS_PLAN_WORDS_H_
#define BYOC_CUTLASS_PLAN_WORDS_H_

#include "plan/plan.h"

// Terms of a word.
int32_t byoc_cutlass_words_unit(uint32_t dot);

// Channels of a convolution or columns of a matrix product.
int64_t byoc_cutlass_words_channels(const byoc_cutlass_problem_t *problem);

void byoc_cutlass_words_plan(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan);

uint64_t byoc_cutlass_words_workspace_bytes(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

// Words per row of a matrix product's data in the workspace, and words before all data there, which hold scales.
int64_t byoc_cutlass_words_row(const byoc_cutlass_problem_t *problem);
int64_t byoc_cutlass_words_head(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

// How a convolution's image is spread out in the workspace (templates/words/words_conv.h).
typedef struct byoc_cutlass_spread_t {
  int64_t wide, tall;  // of a phase's plane
  int64_t phase_count; // (y, x) pairs that some tap reads
  int64_t plane;       // words from one plane of words to the next, its phases and slack included
  bool whole;          // the plane is the unchanged image
} byoc_cutlass_spread_t;
byoc_cutlass_spread_t byoc_cutlass_words_spread(const byoc_cutlass_conv_t *conv, int32_t lanes);

// The rows that a depthwise convolution copies for a band of results (templates/words/words_depthwise.h): how many
// terms and rows, and the words of a share's memory.
typedef struct byoc_cutlass_rows_t {
  int64_t taps, row_words; // of a word, words of a row of the kernel
  int64_t band_h, wide, tall, slot;
  bool flat;        // lanes run over the whole plane
  int64_t together; // rows of results that share words
} byoc_cutlass_rows_t;
byoc_cutlass_rows_t byoc_cutlass_words_rows(const byoc_cutlass_problem_t *problem, int32_t lanes);

// The number of planes whose taps are summed before those of the next ones, so that what taps read again stays in the
// first-level cache.
int64_t byoc_cutlass_words_chunk(const byoc_cutlass_problem_t *problem);

// True if some tap reads a phase.
bool byoc_cutlass_words_phase_used(int64_t phase, int64_t kernel, int64_t stride, int64_t dilation);

#endif // BYOC_CUTLASS_PLAN_WORDS_H_

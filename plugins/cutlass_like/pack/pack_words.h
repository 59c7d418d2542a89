// SPDX-License-Identifier: Apache-2.0
// pack_words.h - weights as words, and the tables of each channel's parameters.
//
// Example:
//   byoc_cutlass_words_pack(&problem, &plan, weights, packed);
//   byoc_cutlass_words_parameters(&problem, weights, summands, scales, shifts, parameters);
#ifndef BYOC_CUTLASS_PACK_WORDS_H_
#define BYOC_CUTLASS_PACK_WORDS_H_

#include "plan/plan_words.h"

// Words of packed weights.
size_t byoc_cutlass_words_packed(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

// Packs weights, laid out as in the model, minus their zero points. For bytes each must fit the dot's operand (s8 for
// I8X4).
void byoc_cutlass_words_pack(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                             const int16_t *weights, int32_t *packed);

// The same for floats, for the bf16 dots: rounded to the nearest, ties to even.
void byoc_cutlass_words_pack_bf16(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                                  const float *weights, int32_t *packed);

// f32 weights as s8: each channel times 127 / its largest magnitude. `scales`: the factors of each channel's
// integers; NaN for a channel with a weight that is NaN or infinite.
void byoc_cutlass_words_quantise(const byoc_cutlass_problem_t *problem, const float *weights, int16_t *quantised,
                                 float *scales);

// Words of a parameter table, and of the constant that holds all tables and the parameters that exist once.
// Functions that differ in nothing else share their code.
int64_t byoc_cutlass_words_table(const byoc_cutlass_problem_t *problem);
int64_t byoc_cutlass_words_parameter_count(const byoc_cutlass_problem_t *problem);

// Tables that there are: four, and two of exact factors and their summands if results are bytes
// (templates/words/words_finish.h).
int64_t byoc_cutlass_words_table_count(const byoc_cutlass_problem_t *problem);

// Fills the tables from `weights` (as given to pack; NULL for bf16), the summands of integer sums (NULL: none), and y =
// sum * scale + shift for floats.
void byoc_cutlass_words_parameters(const byoc_cutlass_problem_t *problem, const int16_t *weights,
                                   const int32_t *summands, const float *scales, const float *shifts, int32_t *tables);

#endif // BYOC_CUTLASS_PACK_WORDS_H_

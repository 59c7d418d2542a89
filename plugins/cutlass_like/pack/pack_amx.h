// SPDX-License-Identifier: Apache-2.0
// pack_amx.h - weights as tiles of AMX (templates/amx).
//
// Example:
//   int32_t *packed = malloc(byoc_cutlass_amx_packed(&problem) * sizeof(int32_t));
#ifndef BYOC_CUTLASS_PACK_AMX_H_
#define BYOC_CUTLASS_PACK_AMX_H_

#include "problem/problem.h"

// Words of packed weights.
size_t byoc_cutlass_amx_packed(const byoc_cutlass_problem_t *problem);

// A word of the terms `at`, `at` + `step` and so on of the model's weights, of which `left` exist.
typedef int32_t (*byoc_cutlass_word_at_t)(const void *source, int64_t at, int64_t step, int64_t left);
void byoc_cutlass_amx_pack(const byoc_cutlass_problem_t *problem, byoc_cutlass_word_at_t word_at, const void *source,
                           int32_t *packed);

#endif // BYOC_CUTLASS_PACK_AMX_H_

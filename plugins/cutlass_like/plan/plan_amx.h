// SPDX-License-Identifier: Apache-2.0
// plan_amx.h - products of words by the tiles of AMX (templates/amx).
//
// Example:
//   problem.words.amx = byoc_cutlass_amx_fits(&problem);
#ifndef BYOC_CUTLASS_PLAN_AMX_H_
#define BYOC_CUTLASS_PLAN_AMX_H_

#include "plan/plan.h"

// True if tiles compute the problem, whose dot is I8X4 or BF16X2, faster than vectors: there are enough rows, channels
// and terms to fill them.
bool byoc_cutlass_amx_fits(const byoc_cutlass_problem_t *problem);

// Sizes that template, packing and workspace agree on, in words.
typedef struct byoc_cutlass_amx_t {
  int64_t depth, steps; // the words of a row, or the planes of a convolution, are summed by `steps` tiles of this depth
  int64_t row;          // from one copied row of data to the next
} byoc_cutlass_amx_t;
byoc_cutlass_amx_t byoc_cutlass_amx_sizes(const byoc_cutlass_problem_t *problem);

void byoc_cutlass_amx_plan(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan);
uint64_t byoc_cutlass_amx_workspace_bytes(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

#endif // BYOC_CUTLASS_PLAN_AMX_H_

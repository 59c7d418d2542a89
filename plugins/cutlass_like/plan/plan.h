// SPDX-License-Identifier: Apache-2.0
// plan.h - what the default plan and its neighbours share.
#ifndef BYOC_CUTLASS_PLAN_H_
#define BYOC_CUTLASS_PLAN_H_

#include "problem/problem.h"

// True if gemm_few_rows.h takes the problem: all sums of a column fit into registers.
bool byoc_cutlass_few_rows(const byoc_cutlass_problem_t *problem, byoc_cutlass_isa_t isa);

// A plane, or a band of it, as templates/depthwise.h pads it. Sizes that template and workspace agree on.
typedef struct byoc_cutlass_depthwise_t {
  int64_t band_h, band_w; // of the output
  int64_t phase_w, padded_row, padded_h;
} byoc_cutlass_depthwise_t;
void byoc_cutlass_depthwise_sizes(const byoc_cutlass_conv_t *conv, byoc_cutlass_isa_t isa,
                                  byoc_cutlass_depthwise_t *out_sizes);

// Makes blocks fit the problem and of nearly equal length.
void byoc_cutlass_plan_normalise(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan);

// Makes blocks smaller where two threads could not share them evenly.
void byoc_cutlass_plan_spread(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan);

#endif // BYOC_CUTLASS_PLAN_H_

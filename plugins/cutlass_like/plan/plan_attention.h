// SPDX-License-Identifier: Apache-2.0
// plan_attention.h - attention in one pass over keys and values (templates/matmul/attention.h).
//
// Example:
//   byoc_cutlass_attention_plan(&problem, &plan);
//   byoc_cutlass_attention_floats(&problem, &plan); // scratch memory of one share
#ifndef BYOC_CUTLASS_PLAN_ATTENTION_H_
#define BYOC_CUTLASS_PLAN_ATTENTION_H_

#include "plan/plan.h"

// Fills plan; plan->isa is read.
void byoc_cutlass_attention_plan(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan);

// Changes such a plan to tiles of `vectors` vectors and blocks of about `keys` keys.
void byoc_cutlass_attention_plan_tiles(const byoc_cutlass_problem_t *problem, int32_t vectors, int32_t keys,
                                       byoc_cutlass_plan_t *plan);

// Sizes that template and workspace agree on.
typedef struct byoc_cutlass_attention_sizes_t {
  int64_t
      score_row; // floats between two rows of scores, chosen so that rows do not fall into the same sets of the cache
  int64_t value_row;    // floats between two copied values
  int64_t span_panels;  // panels of queries that read the same copies of keys and values
  int64_t running_rows; // rows whose largest score and sum travel from block to block; 0 if there is one block
} byoc_cutlass_attention_sizes_t;
void byoc_cutlass_attention_sizes(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                                  byoc_cutlass_attention_sizes_t *out_sizes);

// Floats of one share's workspace.
int64_t byoc_cutlass_attention_floats(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

#endif // BYOC_CUTLASS_PLAN_ATTENTION_H_

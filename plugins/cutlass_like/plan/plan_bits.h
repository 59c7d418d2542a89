// SPDX-License-Identifier: Apache-2.0
// plan_bits.h - products by weights of few bits (templates/matmul/bits*.h): how they are planned and written.
#ifndef BYOC_CUTLASS_PLAN_BITS_H_
#define BYOC_CUTLASS_PLAN_BITS_H_

#include "plan/plan.h"

// True if data may be rounded to bytes and sums of bytes fit into 32 bits.
bool byoc_cutlass_bits_may_be_bytes(const byoc_cutlass_bits_t *bits);

void byoc_cutlass_bits_plan(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan);

// Vectors of columns that a group of `rows` rows computes at once.
int32_t byoc_cutlass_bits_vectors(byoc_cutlass_isa_t isa, int64_t rows);

// Floats of a share's workspace: a group of rows, ready for its tiles.
int64_t byoc_cutlass_bits_floats(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

#endif // BYOC_CUTLASS_PLAN_BITS_H_

// SPDX-License-Identifier: Apache-2.0
// Decides how products by weights of few bits are split: into groups of rows and vectors of columns.
#include "plan/plan_bits.h"

bool byoc_cutlass_bits_may_be_bytes(const byoc_cutlass_bits_t *bits) {
  enum { MOST_BLOCK = 1 << 15 };
  return bits->rounds && bits->block <= MOST_BLOCK;
}

int32_t byoc_cutlass_bits_vectors(byoc_cutlass_isa_t isa, int64_t rows) {
  // Eight registers hold what is being added.
  return rows * 4 <= byoc_cutlass_isa_sums(isa) - 8 ? 4 : 2;
}

void byoc_cutlass_bits_plan(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_bits_t *bits = &problem->bits;
  const int32_t most = (byoc_cutlass_isa_sums(plan->isa) - 4) / 2;
  plan->form = BYOC_CUTLASS_FORM_BITS;
  plan->direct = true;
  plan->rows = bits->open_rows ? most : bits->rows > 0 ? byoc_cutlass_even_rows(bits->rows, most) : 1;
  plan->vectors = byoc_cutlass_bits_vectors(plan->isa, plan->rows);
  plan->block_depth = plan->block_panels = 1;
}

int64_t byoc_cutlass_bits_floats(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_bits_t *bits = &problem->bits;
  const int64_t blocks = byoc_cutlass_ceil_div(bits->depth, bits->block), numbers = blocks * bits->block;
  const bool are_bytes = problem->words.dot == BYOC_CUTLASS_DOT_I8X4;
  return plan->rows * ((are_bytes ? numbers / 4 : numbers) + 2 * blocks);
}

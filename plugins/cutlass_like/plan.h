// plan.h - what the choosers of plans share.
#ifndef BYOC_CUTLASS_PLAN_H_
#define BYOC_CUTLASS_PLAN_H_

#include "problem.h"

static inline int64_t byoc_cutlass_ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// How wide the panel is that starts `left` columns before the end: its remainder is rounded up to `unit`.
static inline int64_t byoc_cutlass_panel_width(int64_t left, int64_t panel, int64_t unit) {
  return left >= panel ? panel : byoc_cutlass_ceil_div(left, unit) * unit;
}

// Matrices of B: repeated ones count once.
int64_t byoc_cutlass_weight_matrices(const byoc_cutlass_gemm_t *gemm);

// Vector registers that a tile may fill with sums, two columns and one broadcast value kept aside.
int32_t byoc_cutlass_isa_sums(byoc_cutlass_isa_t isa);

// Rows of a tile, at most `most`, such that the last panel is nearly as full as the others.
int32_t byoc_cutlass_even_rows(int64_t total, int32_t most);

// The same, but a divisor of the total where one lies near `most` and is not below `least`, so that no lower tile is
// left over.
int32_t byoc_cutlass_tile_rows(int64_t total, int32_t most, int32_t least);

// Whether gemm_few_rows.h takes the problem: all sums of a column fit into registers.
bool byoc_cutlass_few_rows(const byoc_cutlass_problem_t *problem, byoc_cutlass_isa_t isa);

// Whether what is otherwise copied lies in memory as the templates can read it: pixels of a 1x1 convolution, B's rows,
// rows of A where B is constant.
bool byoc_cutlass_may_read_in_place(const byoc_cutlass_problem_t *problem);

// Whether a template exists for the layouts of a convolution's tensors.
bool byoc_cutlass_takes_layouts(const byoc_cutlass_conv_t *conv);

// A plane as templates/depthwise.h pads it. Sizes that template and workspace agree on.
typedef struct byoc_cutlass_depthwise_t {
  int64_t phase_w, padded_row, padded_h;
} byoc_cutlass_depthwise_t;
void byoc_cutlass_depthwise_sizes(const byoc_cutlass_conv_t *conv, byoc_cutlass_isa_t isa,
                                  byoc_cutlass_depthwise_t *out_sizes);

// Makes blocks fit the problem and of nearly equal length.
void byoc_cutlass_plan_normalise(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan);

#endif // BYOC_CUTLASS_PLAN_H_

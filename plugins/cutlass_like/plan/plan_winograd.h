// SPDX-License-Identifier: Apache-2.0
// plan_winograd.h - 3x3 convolutions of stride 1 by Winograd's minimal filtering (templates/conv/winograd.h).
//
// Example:
//   bool chosen = byoc_cutlass_winograd_choose(&problem, &plan); // then plan.form is BYOC_CUTLASS_FORM_WINOGRAD
#ifndef BYOC_CUTLASS_PLAN_WINOGRAD_H_
#define BYOC_CUTLASS_PLAN_WINOGRAD_H_

#include "plan/plan.h"

// Sizes that template, packing and workspace agree on.
typedef struct byoc_cutlass_winograd_t {
  int64_t points;               // products of one square
  int64_t squares_w, squares_h; // squares of the output; rows are counted through all images
  int64_t squares;              // of a block
  int64_t last_squares;         // of the last block; unused where sizes are open
  int64_t panel;                // output channels of a panel, lanes without a channel included
  int64_t weight_panels;
  int64_t patch_row, patch_step;     // floats between squares, and between points
  int64_t product_row, product_step; // the same for the products
  int64_t strip;                     // floats of the strip
  int64_t transformed;               // floats of a panel's filters, where each block transforms them; else 0
} byoc_cutlass_winograd_t;

// If the patches of a block have more bytes than these, which are those of a cache, and are read so often by panel
// after panel that it comes to this many, they are read once for all panels.
enum { BYOC_CUTLASS_LARGE_PATCHES = 600 * 1024, BYOC_CUTLASS_LARGE_READING = 4 * 1024 * 1024 };

// True if the template can compute the problem.
bool byoc_cutlass_winograd_fits(const byoc_cutlass_problem_t *problem);

// Fills plan for squares of edge x edge (plan->isa is read) and returns the cycles that it is expected to take.
double byoc_cutlass_winograd_plan(const byoc_cutlass_problem_t *problem, int32_t edge, byoc_cutlass_plan_t *plan);

// The squares multiplied at once, for the plan's blocks.
void byoc_cutlass_winograd_tile(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan);

// False if the filters of a panel, which a block transforms where weights are f16 or bf16, would outgrow its cache.
bool byoc_cutlass_winograd_transforms(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

// True if one of its plans is expected to beat the direct convolution; *plan is then the best one.
bool byoc_cutlass_winograd_choose(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan);

void byoc_cutlass_winograd_sizes(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                                 byoc_cutlass_winograd_t *out_sizes);

// Floats of one share's workspace.
int64_t byoc_cutlass_winograd_floats(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

#endif // BYOC_CUTLASS_PLAN_WINOGRAD_H_

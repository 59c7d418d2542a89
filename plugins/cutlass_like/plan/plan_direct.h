// SPDX-License-Identifier: Apache-2.0
// plan_direct.h - convolutions that read their input where it lies, each value broadcast (templates/conv/direct.h).
//
// Example:
//   byoc_cutlass_direct_plan(&problem, &plan);
//   byoc_cutlass_direct_t sizes;
//   byoc_cutlass_direct_sizes(&problem, &plan, &sizes);
#ifndef BYOC_CUTLASS_PLAN_DIRECT_H_
#define BYOC_CUTLASS_PLAN_DIRECT_H_

#include "plan/plan.h"

// Sizes that template, packing and workspace agree on.
typedef struct byoc_cutlass_direct_t {
  bool flat;                                        // pixels are counted through the whole image
  bool in_place;                                    // the input is read without a copy
  int64_t in_lanes, out_lanes;                      // channels side by side: 16 if blocked, else 1
  int64_t strip_h, strip_w;                         // rows and columns of the copied part, or of the image
  int64_t channel_step;                             // floats between two blocks of in_lanes channels
  int64_t tap_blocks, taps_h, taps_w;               // blocks of terms
  int64_t steps;                                    // terms of a block
  int64_t block_step, tap_h_step, tap_w_step, step; // floats between two blocks of terms, two terms
  int64_t pixel_step, pitch;                        // floats between two pixels, two rows of the output
  int64_t panel;                                    // output channels of a panel, including lanes without a channel
  int64_t block_tiles;                              // tiles of a block
} byoc_cutlass_direct_t;

// True if the template can compute the problem: any convolution except depthwise ones and images of dynamic sizes.
bool byoc_cutlass_direct_fits(const byoc_cutlass_problem_t *problem);

// Fills plan; plan->isa is read.
void byoc_cutlass_direct_plan(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan);

// The same with `vectors` vectors of output channels.
void byoc_cutlass_direct_plan_vectors(const byoc_cutlass_problem_t *problem, int32_t vectors,
                                      byoc_cutlass_plan_t *plan);

void byoc_cutlass_direct_sizes(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                               byoc_cutlass_direct_t *out_sizes);

// Floats of one share's copy of the input, and of a panel of weights.
int64_t byoc_cutlass_direct_floats(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);
int64_t byoc_cutlass_direct_panel_floats(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

#endif // BYOC_CUTLASS_PLAN_DIRECT_H_

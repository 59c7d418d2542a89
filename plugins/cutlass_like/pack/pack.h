// SPDX-License-Identifier: Apache-2.0
// pack.h - weights in the order in which the templates read them.
//
// Example:
//   float *packed = malloc(byoc_cutlass_packed_floats(&problem, &plan) * sizeof(float));
//   byoc_cutlass_pack_weights(&problem, &plan, weights, packed);
#ifndef BYOC_CUTLASS_PACK_H_
#define BYOC_CUTLASS_PACK_H_

#include "plan/plan.h"

// Floats (or words) of the packed weights; 0 if the model computes the weights.
size_t byoc_cutlass_packed_floats(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);

// Packs weights as the plan's template reads them. `weights` as ONNX stores them: [groups *
// out][in][kernel_h][kernel_w] or [batch...][k][n] ([n][k] with transpose_b).
void byoc_cutlass_pack_weights(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                               const float *weights, float *packed);

// --- The parts of the two: pack_winograd.c and pack_direct.c
// ----------------------------------------------------------

// [GROUPS][pass][point][panel of the pass][in][out of the panel], transformed in double precision; weights of f16 and
// bf16 are packed as they are, [groups][panel][in][tap][out of the panel].
size_t byoc_cutlass_winograd_packed_floats(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);
void byoc_cutlass_winograd_pack(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                                const float *weights, float *packed);

// [groups][panel][tap_blocks][taps_h][taps_w][steps][out of the panel]
size_t byoc_cutlass_direct_packed_floats(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan);
void byoc_cutlass_direct_pack(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                              const float *weights, float *packed);

#endif // BYOC_CUTLASS_PACK_H_

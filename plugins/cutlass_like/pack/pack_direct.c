// SPDX-License-Identifier: Apache-2.0
// Packs the weights of direct convolutions, panel by panel.
#include "pack/pack.h"
#include "plan/plan_direct.h"

size_t byoc_cutlass_direct_packed_floats(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  int64_t lanes = byoc_cutlass_isa_lanes(plan->isa);
  return (size_t)(conv->groups * conv->in * conv->kernel_h * conv->kernel_w * byoc_cutlass_ceil_div(conv->out, lanes) *
                  lanes);
}

void byoc_cutlass_direct_pack(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                              const float *weights, float *packed) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  byoc_cutlass_direct_t d;
  byoc_cutlass_direct_sizes(problem, plan, &d);
  int64_t taps = conv->kernel_h * conv->kernel_w, depth = conv->in * taps;
  bool by_channel = conv->in_blocked || taps == 1; // terms of a block are channels
  for (int64_t group = 0; group < conv->groups; ++group, weights += conv->out * depth)
    for (int64_t first = 0; first < conv->out; first += d.panel) {
      int64_t width = byoc_cutlass_panel_width(conv->out - first, d.panel, byoc_cutlass_isa_lanes(plan->isa));
      for (int64_t term = 0; term < depth; ++term) {
        int64_t i = term % d.steps, s = term / d.steps % d.taps_w, r = term / d.steps / d.taps_w % d.taps_h;
        int64_t b = term / d.steps / d.taps_w / d.taps_h, channel = by_channel ? b * d.steps + i : b;
        const float *from = weights + first * depth + channel * taps + r * conv->kernel_w + (by_channel ? s : i);
        for (int64_t o = 0; o < width; ++o) *packed++ = first + o < conv->out ? from[o * depth] : 0.0f;
      }
    }
}

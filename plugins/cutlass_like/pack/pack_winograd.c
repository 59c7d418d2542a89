// SPDX-License-Identifier: Apache-2.0
// Transforms and packs the weights of Winograd convolutions.
#include "pack/pack.h"
#include "plan/plan_winograd.h"

size_t byoc_cutlass_winograd_packed_floats(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  byoc_cutlass_winograd_t w;
  byoc_cutlass_winograd_sizes(problem, plan, &w);
  const int64_t points = byoc_cutlass_is_half(problem->types.weights) ? 9 : w.points;
  return (size_t)(problem->conv.groups * w.weight_panels * points * problem->conv.in * w.panel);
}

// One filter of 3 x 3 at every point: G f G transposed.
static void transform_filter(const float filter[9], int64_t edge, double points[36]) {
  static const double two[4][3] = {{1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
  static const double four[6][3] = {{1.0 / 4, 0, 0},
                                    {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                    {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                    {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                    {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                    {0, 0, 1}};
  const double(*g)[3] = edge == 2 ? two : four;
  int64_t patch = edge + 2;
  for (int64_t i = 0; i < patch; ++i) {
    double row[3]; // of G f
    for (int64_t x = 0; x < 3; ++x) row[x] = g[i][0] * filter[x] + g[i][1] * filter[3 + x] + g[i][2] * filter[6 + x];
    for (int64_t j = 0; j < patch; ++j) points[i * patch + j] = row[0] * g[j][0] + row[1] * g[j][1] + row[2] * g[j][2];
  }
}

// [groups * out][in][9] → [groups][panel][in][9][out of the panel]
static void pack_filters(const byoc_cutlass_conv_t *conv, const byoc_cutlass_winograd_t *w, const float *weights,
                         float *packed) {
  for (int64_t group = 0; group < conv->groups; ++group, weights += conv->out * conv->in * 9)
    for (int64_t first = 0; first < w->weight_panels * w->panel; first += w->panel)
      for (int64_t i = 0; i < conv->in * 9; ++i)
        for (int64_t o = first; o < first + w->panel; ++o)
          *packed++ = o < conv->out ? weights[o * conv->in * 9 + i] : 0.0f;
}

void byoc_cutlass_winograd_pack(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                                const float *weights, float *packed) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  byoc_cutlass_winograd_t w;
  byoc_cutlass_winograd_sizes(problem, plan, &w);
  if (byoc_cutlass_is_half(problem->types.weights)) {
    pack_filters(conv, &w, weights, packed);
    return;
  }
  int64_t block = conv->in * w.panel; // one point of one panel
  for (int64_t group = 0; group < conv->groups; ++group, packed += w.weight_panels * w.points * block)
    for (int64_t p = 0; p < w.weight_panels; ++p) {
      int64_t pass = p / plan->pass_panels * plan->pass_panels, left = w.weight_panels - pass;
      int64_t wide = left < plan->pass_panels ? left : plan->pass_panels;
      float *to = packed + (pass * w.points + p - pass) * block;
      for (int64_t o = 0; o < w.panel; ++o)
        for (int64_t i = 0; i < conv->in; ++i) {
          double points[36] = {0};
          int64_t channel = p * w.panel + o;
          if (channel < conv->out)
            transform_filter(weights + ((group * conv->out + channel) * conv->in + i) * 9, plan->edge, points);
          for (int64_t t = 0; t < w.points; ++t) to[t * wide * block + i * w.panel + o] = (float)points[t];
        }
    }
}

// SPDX-License-Identifier: Apache-2.0
// Weights in the order in which the templates read them.
#include "pack/pack.h"

#include <string.h>

#include "pack/pack_words.h"

static int64_t padded_columns(int64_t columns, int64_t panel, int64_t lanes) {
  return columns / panel * panel + byoc_cutlass_panel_width(columns % panel, panel, lanes);
}

// Columns in a panel of constant weights and the unit that its remainder is rounded up to.
static void weight_panel(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan, int64_t *panel,
                         int64_t *unit) {
  bool columns = problem->kind == BYOC_CUTLASS_GEMM || plan->transposed;
  *unit = columns ? byoc_cutlass_isa_lanes(plan->isa) : 1;
  *panel = columns ? plan->vectors * *unit : plan->rows;
}

size_t byoc_cutlass_packed_floats(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  int64_t panel, unit;
  if (problem->kind == BYOC_CUTLASS_ATTENTION || problem->kind == BYOC_CUTLASS_BITS) return 0;
  if (plan->form == BYOC_CUTLASS_FORM_WORDS) return byoc_cutlass_words_packed(problem, plan);
  if (plan->form == BYOC_CUTLASS_FORM_WINOGRAD) return byoc_cutlass_winograd_packed_floats(problem, plan);
  if (plan->form == BYOC_CUTLASS_FORM_DIRECT) return byoc_cutlass_direct_packed_floats(problem, plan);
  if (plan->form == BYOC_CUTLASS_FORM_DEPTHWISE)
    return (size_t)(problem->conv.groups * problem->conv.out * problem->conv.kernel_h * problem->conv.kernel_w);
  weight_panel(problem, plan, &panel, &unit);
  if (problem->kind == BYOC_CUTLASS_CONV) {
    const byoc_cutlass_conv_t *conv = &problem->conv;
    return (size_t)(conv->groups * conv->in * conv->kernel_h * conv->kernel_w * padded_columns(conv->out, panel, unit));
  }
  const byoc_cutlass_gemm_t *gemm = &problem->gemm;
  if (!gemm->constant_b) return 0;
  int64_t matrices = byoc_cutlass_weight_matrices(gemm);
  return (size_t)(matrices * gemm->k * padded_columns(gemm->n, panel, unit));
}

// [out][in][taps] of one group → [panel][tap][in][out of the panel]
static float *pack_conv_group(const byoc_cutlass_conv_t *conv, int64_t panel, int64_t unit, const float *weights,
                              float *packed) {
  int64_t taps = conv->kernel_h * conv->kernel_w;
  for (int64_t first = 0; first < conv->out; first += panel) {
    int64_t width = byoc_cutlass_panel_width(conv->out - first, panel, unit);
    for (int64_t o = 0; o < width; ++o) {
      const float *from = weights + (first + o) * conv->in * taps;
      for (int64_t t = 0; t < taps; ++t)
        for (int64_t i = 0; i < conv->in; ++i)
          packed[(t * conv->in + i) * width + o] = first + o < conv->out ? from[i * taps + t] : 0.0f;
    }
    packed += conv->in * taps * width;
  }
  return packed;
}

// [channel][tap] → [block][tap][channel of the block]
static void pack_depthwise(const byoc_cutlass_conv_t *conv, const float *weights, float *packed) {
  int64_t taps = conv->kernel_h * conv->kernel_w;
  for (int64_t c = 0; c < conv->groups; ++c)
    for (int64_t t = 0; t < taps; ++t)
      packed[(c / BYOC_CUTLASS_BLOCK * taps + t) * BYOC_CUTLASS_BLOCK + c % BYOC_CUTLASS_BLOCK] = weights[c * taps + t];
}

// [k][n] → [panel][k][n of the panel]
static float *pack_matrix(const byoc_cutlass_gemm_t *gemm, int64_t panel, int64_t unit, const float *weights,
                          float *packed) {
  int64_t by_k = gemm->transpose_b ? 1 : gemm->n, by_n = gemm->transpose_b ? gemm->k : 1;
  for (int64_t first = 0; first < gemm->n; first += panel) {
    int64_t width = byoc_cutlass_panel_width(gemm->n - first, panel, unit);
    for (int64_t k = 0; k < gemm->k; ++k)
      for (int64_t c = 0; c < width; ++c)
        *packed++ = first + c < gemm->n ? weights[k * by_k + (first + c) * by_n] : 0.0f;
  }
  return packed;
}

void byoc_cutlass_pack_weights(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                               const float *weights, float *packed) {
  int64_t panel, unit;
  if (plan->form == BYOC_CUTLASS_FORM_WINOGRAD) {
    byoc_cutlass_winograd_pack(problem, plan, weights, packed);
    return;
  }
  if (plan->form == BYOC_CUTLASS_FORM_DIRECT) {
    byoc_cutlass_direct_pack(problem, plan, weights, packed);
    return;
  }
  if (plan->form == BYOC_CUTLASS_FORM_DEPTHWISE && problem->conv.in_blocked) {
    pack_depthwise(&problem->conv, weights, packed);
    return;
  }
  if (plan->form == BYOC_CUTLASS_FORM_DEPTHWISE) {
    memcpy(packed, weights, byoc_cutlass_packed_floats(problem, plan) * sizeof(float));
    return;
  }
  weight_panel(problem, plan, &panel, &unit);
  if (problem->kind == BYOC_CUTLASS_CONV) {
    const byoc_cutlass_conv_t *conv = &problem->conv;
    for (int64_t g = 0; g < conv->groups; ++g, weights += conv->out * conv->in * conv->kernel_h * conv->kernel_w)
      packed = pack_conv_group(conv, panel, unit, weights, packed);
    return;
  }
  const byoc_cutlass_gemm_t *gemm = &problem->gemm;
  int64_t matrices = byoc_cutlass_weight_matrices(gemm);
  for (int64_t i = 0; i < matrices; ++i, weights += gemm->k * gemm->n)
    packed = pack_matrix(gemm, panel, unit, weights, packed);
}

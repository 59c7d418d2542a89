// SPDX-License-Identifier: Apache-2.0
// Weights as tiles of AMX, padded with zeros to whole tiles.
#include "pack/pack_amx.h"

#include "plan/plan_amx.h"
#include "plan/plan_words.h"

enum { TILE = 16 };

size_t byoc_cutlass_amx_packed(const byoc_cutlass_problem_t *problem) {
  const byoc_cutlass_conv_t *c = &problem->conv;
  const byoc_cutlass_amx_t sizes = byoc_cutlass_amx_sizes(problem);
  const int64_t words = sizes.steps * sizes.depth;
  if (problem->kind == BYOC_CUTLASS_GEMM) return (size_t)(words * byoc_cutlass_ceil_div(problem->gemm.n, TILE) * TILE);
  return (size_t)(c->groups * byoc_cutlass_ceil_div(c->out, TILE) * TILE * c->kernel_h * c->kernel_w * words);
}

// [out][in][taps] → [group][tile of channels][step][tap][channel][word of the step]
static void pack_conv(const byoc_cutlass_problem_t *problem, byoc_cutlass_word_at_t word_at, const void *source,
                      int32_t *packed) {
  const byoc_cutlass_conv_t *c = &problem->conv;
  const byoc_cutlass_amx_t sizes = byoc_cutlass_amx_sizes(problem);
  const int64_t taps = c->kernel_h * c->kernel_w, unit = byoc_cutlass_words_unit(problem->words.dot);
  const int64_t tiles = byoc_cutlass_ceil_div(c->out, TILE);
  for (int64_t tile = 0; tile < c->groups * tiles; ++tile)
    for (int64_t step = 0; step < sizes.steps; ++step)
      for (int64_t tap = 0; tap < taps; ++tap)
        for (int64_t row = 0; row < TILE; ++row)
          for (int64_t word = 0; word < sizes.depth; ++word) {
            const int64_t group = tile / tiles, out = tile % tiles * TILE + row,
                          in = (step * sizes.depth + word) * unit;
            const int64_t at = ((group * c->out + out) * c->in + in) * taps + tap;
            *packed++ = out < c->out && in < c->in ? word_at(source, at, taps, c->in - in) : 0;
          }
}

// [k][n] → [tile of columns][word of k][column]
static void pack_matrix(const byoc_cutlass_problem_t *problem, byoc_cutlass_word_at_t word_at, const void *source,
                        int32_t *packed) {
  const byoc_cutlass_gemm_t *g = &problem->gemm;
  const byoc_cutlass_amx_t sizes = byoc_cutlass_amx_sizes(problem);
  const int64_t by_k = g->transpose_b ? 1 : g->n, by_n = g->transpose_b ? g->k : 1;
  const int64_t unit = byoc_cutlass_words_unit(problem->words.dot);
  for (int64_t first = 0; first < g->n; first += TILE)
    for (int64_t k = 0; k < sizes.steps * sizes.depth * unit; k += unit)
      for (int64_t n = first; n < first + TILE; ++n)
        *packed++ = n < g->n && k < g->k ? word_at(source, k * by_k + n * by_n, by_k, g->k - k) : 0;
}

void byoc_cutlass_amx_pack(const byoc_cutlass_problem_t *problem, byoc_cutlass_word_at_t word_at, const void *source,
                           int32_t *packed) {
  if (problem->kind == BYOC_CUTLASS_CONV)
    pack_conv(problem, word_at, source, packed);
  else
    pack_matrix(problem, word_at, source, packed);
}

// SPDX-License-Identifier: Apache-2.0
// Decides whether and how tiles of AMX compute products of words.
#include "plan/plan_amx.h"

#include "plan/plan_words.h"

enum { TILE_ROWS = 16, TILE_WORDS = 16, PANEL = 32 };
// A tile takes the same time however deep it is, and one row of data waits for its weights: below these, vectors are as
// fast. Estimates by the instructions' rates (uops.info): a product of tiles takes 16 cycles, a load 8.
enum { LEAST_WORDS = 4, LEAST_ROWS = 8, LEAST_CHANNELS = 8 };

static int64_t words_of(const byoc_cutlass_problem_t *problem) {
  const int64_t terms = problem->kind == BYOC_CUTLASS_CONV ? problem->conv.in : problem->gemm.k;
  return byoc_cutlass_ceil_div(terms, byoc_cutlass_words_unit(problem->words.dot));
}

bool byoc_cutlass_amx_fits(const byoc_cutlass_problem_t *problem) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  const byoc_cutlass_gemm_t *gemm = &problem->gemm;
  if (words_of(problem) < LEAST_WORDS || byoc_cutlass_words_depthwise(problem)) return false;
  if (problem->kind == BYOC_CUTLASS_CONV) return conv->out >= LEAST_CHANNELS && conv->out_h * conv->out_w >= LEAST_ROWS;
  return problem->kind == BYOC_CUTLASS_GEMM && gemm->m >= LEAST_ROWS && gemm->n >= LEAST_CHANNELS;
}

byoc_cutlass_amx_t byoc_cutlass_amx_sizes(const byoc_cutlass_problem_t *problem) {
  const int64_t words = words_of(problem);
  byoc_cutlass_amx_t sizes = {.steps = byoc_cutlass_ceil_div(words, TILE_WORDS)};
  sizes.depth = byoc_cutlass_ceil_div(words, sizes.steps);
  // An odd number of cache lines, so that the rows of a tile spread over the sets of the cache.
  sizes.row = (byoc_cutlass_ceil_div(sizes.steps * sizes.depth, 16) | 1) * 16;
  return sizes;
}

// The largest number of panels whose moving operand, `words` words each, stays in the second-level cache.
static int32_t panels_of_block(int64_t words, int64_t all) {
  int64_t panels = 512 * 1024 / (words * 4);
  panels = panels < 2 ? 2 : panels > 32 ? 32 : panels;
  if (panels > all) panels = all;
  return (int32_t)byoc_cutlass_ceil_div(all, byoc_cutlass_ceil_div(all, panels));
}

void byoc_cutlass_amx_plan(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_amx_t sizes = byoc_cutlass_amx_sizes(problem);
  plan->form = BYOC_CUTLASS_FORM_WORDS;
  plan->block_depth = 1;
  plan->rows = PANEL;
  plan->vectors = PANEL / TILE_ROWS;
  if (problem->kind == BYOC_CUTLASS_GEMM) {
    const byoc_cutlass_gemm_t *gemm = &problem->gemm;
    // Rows that lie as tiles load them; zeros behind the end of a row are there in copies only.
    plan->direct = problem->words.data != BYOC_DTYPE_F32 &&
                   gemm->k == sizes.steps * sizes.depth * byoc_cutlass_words_unit(problem->words.dot);
    plan->block_panels = panels_of_block(PANEL * sizes.row, byoc_cutlass_ceil_div(gemm->m, PANEL));
    return;
  }
  const byoc_cutlass_conv_t *conv = &problem->conv;
  const byoc_cutlass_spread_t spread = byoc_cutlass_words_spread(conv, TILE_WORDS);
  const int64_t vectors = byoc_cutlass_ceil_div((conv->out_h - 1) * spread.wide + conv->out_w, TILE_WORDS);
  if (conv->out < plan->rows) plan->rows = (int32_t)conv->out;
  if (vectors < plan->vectors) plan->vectors = (int32_t)vectors;
  plan->block_panels = panels_of_block(sizes.steps * sizes.depth * spread.phase_count * plan->vectors * TILE_WORDS,
                                       byoc_cutlass_ceil_div(vectors, plan->vectors));
}

uint64_t byoc_cutlass_amx_workspace_bytes(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_amx_t sizes = byoc_cutlass_amx_sizes(problem);
  const byoc_cutlass_conv_t *conv = &problem->conv;
  int64_t words = plan->direct ? 0 : problem->gemm.m * sizes.row;
  if (problem->kind == BYOC_CUTLASS_CONV) {
    // The last tiles of positions read beyond the last plane.
    words = conv->batch * conv->groups * sizes.steps * sizes.depth * byoc_cutlass_words_spread(conv, TILE_WORDS).plane +
            (plan->vectors + 1) * TILE_WORDS;
  }
  return (uint64_t)(byoc_cutlass_words_head(problem, plan) + words) * 4;
}

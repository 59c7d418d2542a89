// SPDX-License-Identifier: Apache-2.0
// Decides how to compute products of words.
#include "plan/plan_words.h"

int32_t byoc_cutlass_words_unit(uint32_t dot) {
  return dot == BYOC_CUTLASS_DOT_I8X4 ? 4 : 2;
}

int64_t byoc_cutlass_words_channels(const byoc_cutlass_problem_t *problem) {
  return problem->kind == BYOC_CUTLASS_CONV ? problem->conv.groups * problem->conv.out : problem->gemm.n;
}

bool byoc_cutlass_words_phase_used(int64_t phase, int64_t kernel, int64_t stride, int64_t dilation) {
  for (int64_t k = 0; k < kernel; ++k)
    if (k * dilation % stride == phase) return true;
  return false;
}

byoc_cutlass_spread_t byoc_cutlass_words_spread(const byoc_cutlass_conv_t *c, int32_t lanes) {
  byoc_cutlass_spread_t spread = {0};
  int64_t rows = 0, columns = 0;
  for (int64_t i = 0; i < c->stride_h; ++i)
    rows += byoc_cutlass_words_phase_used(i, c->kernel_h, c->stride_h, c->dilation_h);
  for (int64_t i = 0; i < c->stride_w; ++i)
    columns += byoc_cutlass_words_phase_used(i, c->kernel_w, c->stride_w, c->dilation_w);
  spread.wide = c->out_w + (c->kernel_w - 1) * c->dilation_w / c->stride_w;
  spread.tall = c->out_h + (c->kernel_h - 1) * c->dilation_h / c->stride_h;
  spread.phase_count = rows * columns;
  spread.whole = c->stride_h == 1 && c->stride_w == 1 && c->pad_top == 0 && c->pad_left == 0 &&
                 spread.wide == c->in_w && spread.tall == c->in_h;
  // Slack for a vector that is written past the end. An odd number of cache lines, so that planes spread over the sets
  // of the cache.
  int64_t lines = byoc_cutlass_ceil_div(spread.phase_count * spread.wide * spread.tall + lanes, 16);
  spread.plane = (lines | 1) * 16;
  return spread;
}

int64_t byoc_cutlass_words_chunk(const byoc_cutlass_problem_t *problem) {
  const byoc_cutlass_conv_t *c = &problem->conv;
  int64_t planes = byoc_cutlass_ceil_div(c->in, byoc_cutlass_words_unit(problem->words.dot));
  if (c->kernel_h * c->kernel_w == 1) return planes;
  return byoc_cutlass_ceil_div(planes, byoc_cutlass_ceil_div(planes, 16));
}

byoc_cutlass_rows_t byoc_cutlass_words_rows(const byoc_cutlass_problem_t *problem, int32_t lanes) {
  enum { BAND_TERMS = 16 * 1024, FLAT_VECTORS = 64, BYTES_BEYOND = 64, TOGETHER = 4, MOST_KERNEL = 7 };
  const byoc_cutlass_conv_t *c = &problem->conv;
  const int64_t unit = byoc_cutlass_words_unit(problem->words.dot), reach = (c->kernel_h - 1) * c->dilation_h + 1;
  byoc_cutlass_rows_t rows = {.taps = c->dilation_w == 1 ? unit : 1,
                              .wide = (c->out_w - 1) * c->stride_w + (c->kernel_w - 1) * c->dilation_w + 1};
  rows.row_words = byoc_cutlass_ceil_div(c->kernel_w, rows.taps);
  rows.band_h = BAND_TERMS / rows.wide > reach ? (BAND_TERMS / rows.wide - reach) / c->stride_h + 1 : 1;
  rows.band_h = byoc_cutlass_ceil_div(c->out_h, byoc_cutlass_ceil_div(c->out_h, rows.band_h));
  rows.tall = (rows.band_h - 1) * c->stride_h + reach;
  const int64_t vectors = byoc_cutlass_ceil_div((c->out_h - 1) * rows.wide + c->out_w, lanes);
  rows.flat = c->stride_h == 1 && c->stride_w == 1 && rows.band_h == c->out_h && vectors <= FLAT_VECTORS &&
              vectors * 5 < c->out_h * byoc_cutlass_ceil_div(c->out_w, lanes) * 4;
  // As many as straight code may have, where rows share words at all.
  const bool shares = c->kernel_h > c->stride_h && c->dilation_h == 1 && c->kernel_h <= MOST_KERNEL && !rows.flat;
  rows.together = shares && rows.band_h >= TOGETHER ? TOGETHER : 1;
  // The last vector, and the last word of its last lane, reach beyond the last row.
  const int64_t terms = rows.wide * rows.tall + lanes * c->stride_w + unit;
  rows.slot = byoc_cutlass_ceil_div(terms * 4 / unit + BYTES_BEYOND, 64) * 16;
  return rows;
}

static void plan_conv(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  int32_t lanes = byoc_cutlass_isa_lanes(plan->isa), sums = byoc_cutlass_isa_sums(plan->isa);
  byoc_cutlass_spread_t spread = byoc_cutlass_words_spread(conv, lanes);
  int64_t vectors = byoc_cutlass_ceil_div((conv->out_h - 1) * spread.wide + conv->out_w, lanes);
  plan->vectors = vectors % 3 != 0 && vectors % 2 == 0 && vectors <= 8 ? 2 : 3;
  if (vectors == 4) plan->vectors = 4;
  if (vectors < plan->vectors) plan->vectors = (int32_t)vectors;
  plan->rows = byoc_cutlass_tile_rows(conv->out, sums / plan->vectors < 14 ? sums / plan->vectors : 14, 5);
  // The positions of a block stay in the second-level cache while the weights stream by.
  int64_t words = byoc_cutlass_ceil_div(conv->in, byoc_cutlass_words_unit(problem->words.dot)) * spread.phase_count;
  int64_t panels = 384 * 1024 / (words * plan->vectors * lanes * 4);
  int64_t all = byoc_cutlass_ceil_div(vectors, plan->vectors);
  panels = panels < 2 ? 2 : panels > 32 ? 32 : panels;
  if (panels > all) panels = all;
  plan->block_panels = (int32_t)byoc_cutlass_ceil_div(all, byoc_cutlass_ceil_div(all, panels));
}

// True if many rows of f32 lie so far apart that they fall into few sets of the caches: their copies are shifted.
static bool rows_share_sets(const byoc_cutlass_gemm_t *gemm) {
  return gemm->k % 256 == 0 && gemm->k >= 1024 && gemm->m > 8;
}

static void plan_gemm(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_gemm_t *gemm = &problem->gemm;
  uint32_t dot = problem->words.dot;
  int32_t lanes = byoc_cutlass_isa_lanes(plan->isa), sums = byoc_cutlass_isa_sums(plan->isa);
  int64_t vectors = byoc_cutlass_ceil_div(gemm->n, lanes);
  if (dot == BYOC_CUTLASS_DOT_BF16_WIDE) sums = sums * 6 / 7; // a widened vector is two
  plan->vectors = dot == BYOC_CUTLASS_DOT_BF16_WIDE ? 2 : 3;
  if (gemm->m <= 4) plan->vectors = gemm->m == 1 ? 8 : 4; // few rows: more columns, to keep enough sums in flight
  if (plan->vectors * gemm->m > sums && gemm->m <= 4) plan->vectors = sums / (int32_t)gemm->m;
  if (vectors < plan->vectors) plan->vectors = (int32_t)vectors;
  plan->rows = byoc_cutlass_even_rows(gemm->m, sums / plan->vectors);
  bool is_float = problem->words.data == BYOC_DTYPE_F32;
  plan->direct = (dot == BYOC_CUTLASS_DOT_I8X4 && problem->words.data == BYOC_DTYPE_U8 && gemm->k % 4 == 0) ||
                 (dot == BYOC_CUTLASS_DOT_BF16_WIDE && is_float && gemm->k % 2 == 0 && !rows_share_sets(gemm));
  int64_t row_bytes = gemm->k * (dot == BYOC_CUTLASS_DOT_I8X4 ? 1 : dot == BYOC_CUTLASS_DOT_BF16_WIDE ? 4 : 2);
  int64_t panels = 256 * 1024 / (row_bytes * plan->rows + 1), all = byoc_cutlass_ceil_div(gemm->m, plan->rows);
  panels = panels < 2 ? 2 : panels > 64 ? 64 : panels;
  if (panels > all) panels = all;
  plan->block_panels = (int32_t)byoc_cutlass_ceil_div(all, byoc_cutlass_ceil_div(all, panels));
}

void byoc_cutlass_words_plan(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan) {
  plan->form = BYOC_CUTLASS_FORM_WORDS;
  plan->block_depth = 1;
  if (byoc_cutlass_words_depthwise(problem))
    plan->rows = plan->vectors = plan->block_panels = 1;
  else if (problem->kind == BYOC_CUTLASS_CONV)
    plan_conv(problem, plan);
  else
    plan_gemm(problem, plan);
}

uint64_t byoc_cutlass_words_workspace_bytes(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_conv_t *c = &problem->conv;
  int64_t unit = byoc_cutlass_words_unit(problem->words.dot), lanes = byoc_cutlass_isa_lanes(plan->isa), words;
  if (byoc_cutlass_words_depthwise(problem)) {
    words = byoc_cutlass_shares(problem, plan) * byoc_cutlass_words_rows(problem, (int32_t)lanes).slot;
  } else if (problem->kind == BYOC_CUTLASS_CONV) {
    byoc_cutlass_spread_t spread = byoc_cutlass_words_spread(c, (int32_t)lanes);
    // The last vectors of positions read beyond the last plane.
    words = c->batch * c->groups * byoc_cutlass_ceil_div(c->in, unit) * spread.plane + (plan->vectors + 1) * lanes;
  } else {
    words = plan->direct ? 0 : problem->gemm.m * byoc_cutlass_words_row(problem);
  }
  return (uint64_t)(byoc_cutlass_words_head(problem, plan) + words) * 4;
}

int64_t byoc_cutlass_words_row(const byoc_cutlass_problem_t *problem) {
  uint32_t dot = problem->words.dot;
  int64_t words = byoc_cutlass_ceil_div(problem->gemm.k, byoc_cutlass_words_unit(dot));
  if (dot != BYOC_CUTLASS_DOT_BF16_WIDE) return words;
  return words * 2 + (rows_share_sets(&problem->gemm) ? 16 : 0);
}

int64_t byoc_cutlass_words_head(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  uint32_t dot = problem->words.dot;
  bool bytes = dot == BYOC_CUTLASS_DOT_I8X4 || dot == BYOC_CUTLASS_DOT_I16X2;
  if (!bytes || problem->words.data != BYOC_DTYPE_F32) return 0;
  bool conv = problem->kind == BYOC_CUTLASS_CONV;
  int64_t floats = conv ? problem->conv.batch * byoc_cutlass_shares(problem, plan) : problem->gemm.m;
  return byoc_cutlass_ceil_div(floats, 16) * 16;
}

// SPDX-License-Identifier: Apache-2.0
// Decides how to compute a problem: a default by rules, and the neighbours that are worth measuring.
#include "plan/plan.h"

#include "plan/plan_amx.h"
#include "plan/plan_attention.h"
#include "plan/plan_bits.h"
#include "plan/plan_direct.h"
#include "plan/plan_winograd.h"
#include "plan/plan_words.h"

// The share of the lanes that do useful work. (Rows never waste any: the last panel has a tile of its own.)
static double lane_use(int64_t columns, int32_t lanes) {
  return (double)columns / (double)(byoc_cutlass_ceil_div(columns, lanes) * lanes);
}

// Plain tensors whose pixels are read where they lie, with channels in lanes, instead of being copied tap by tap. On
// Zen 4, `cutlass_bench -p -a -w` finds this faster by a tenth to a fifth where channels fill the lanes, but for many
// channels of few terms, whose results take longer to store; of one channel it is faster with half of the lanes too:
// 1,8,28,5,1,2 takes 0.6 of the time. Blocks of taps that read nothing but padding are left out by copying only.
static bool is_better_direct(const byoc_cutlass_problem_t *problem, int32_t lanes) {
  enum { LONG_SUM = 256 };
  const byoc_cutlass_conv_t *conv = &problem->conv;
  const int64_t taps = conv->kernel_h * conv->kernel_w;
  if (lanes < 16 || taps == 1 || conv->dilation_h > 1 || conv->dilation_w > 1 || !byoc_cutlass_direct_fits(problem)) {
    return false;
  }
  if (conv->out % lanes != 0) return conv->in == 1 && conv->out < lanes;
  return conv->out <= 2 * lanes || conv->in * taps >= LONG_SUM;
}

static void plan_conv(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  int32_t lanes = byoc_cutlass_isa_lanes(plan->isa), sums = byoc_cutlass_isa_sums(plan->isa);
  int64_t pixels = conv->out_h * conv->out_w, depth = conv->in * conv->kernel_h * conv->kernel_w;
  if (conv->in == 1 && conv->groups > 1) {
    plan->form = BYOC_CUTLASS_FORM_DEPTHWISE;
    plan->direct = false;
    plan->rows = conv->out_h < 4 ? 1 : 4;
    if (lanes > 4 && conv->out_h >= 4) plan->rows = byoc_cutlass_even_rows(conv->out_h, sums >= 20 ? 8 : 4);
    if (conv->in_blocked) plan->rows = byoc_cutlass_even_rows(conv->out_w, sums < 14 ? sums / 2 : 8);
    plan->vectors = 1;
    plan->block_depth = plan->block_panels = 1;
    return;
  }
  if (is_better_direct(problem, lanes)) {
    byoc_cutlass_direct_plan(problem, plan);
    return;
  }
  plan->form = BYOC_CUTLASS_FORM_IMPLICIT_GEMM;
  // Puts channels in lanes if that wastes fewer of them and the sums are long enough to pay for the transposed store.
  // On Cascade Lake, `cutlass_bench -p -w TERMS,64,7,1,1,0` finds both equally fast with 32 terms, and channels in
  // lanes a sixth faster with 128.
  plan->transposed =
      !byoc_cutlass_open_sizes(problem) && lane_use(conv->out, lanes) > lane_use(pixels, lanes) + 0.05 && depth >= 128;
  int64_t columns = plan->transposed ? conv->out : pixels, rows = plan->transposed ? pixels : conv->out;
  // Three vectors wide and eight or nine rows high needs the fewest loads per product; with channels in lanes, results
  // are stored as squares of lanes, which want high tiles.
  int64_t vectors = byoc_cutlass_ceil_div(columns, lanes), widest = plan->transposed ? 2 : 3;
  if (byoc_cutlass_open_sizes(problem) && vectors == 4) widest = 4; // small images are one panel
  plan->vectors = (int32_t)(vectors < widest ? vectors : widest);
  plan->rows = byoc_cutlass_tile_rows(rows, sums / plan->vectors < 14 ? sums / plan->vectors : 14, 3);
  while (!plan->transposed && plan->vectors < 4 && plan->vectors < vectors && (plan->vectors + 1) * plan->rows <= sums)
    ++plan->vectors;
  plan->direct = false;
  plan->block_depth = 512;
  // As many panels of pixels as leave room for weights in the second-level cache: results are then written in long
  // runs, and each panel of weights is read rarely.
  int64_t terms = depth < plan->block_depth ? depth : plan->block_depth;
  int64_t panel_bytes = (plan->transposed ? plan->rows : plan->vectors * lanes) * terms * (int64_t)sizeof(float);
  int64_t panels = (plan->transposed ? 384 : 256) * 1024 / panel_bytes;
  plan->block_panels = (int32_t)(panels < 4 ? 4 : panels > 16 ? 16 : panels);
}

// True if gemm_few_rows.h computes the problem: all sums of a column fit into registers. Weights of 16 bits are widened
// there again and again unless a row has two vectors. By 1024 x 2816 of them on Zen 4, tiles take 1.7 times as long as
// that form with 9 rows, as long with 11, 0.9 of the time with 12 and 0.5 with 16.
static bool has_few_rows(const byoc_cutlass_problem_t *problem, byoc_cutlass_isa_t isa) {
  enum { MOST_ROWS = 16, MOST_HALF_ROWS = 11 };
  const byoc_cutlass_gemm_t *gemm = &problem->gemm;
  if (problem->kind != BYOC_CUTLASS_GEMM || !gemm->constant_b || gemm->open_rows) return false;
  const int64_t sums = byoc_cutlass_isa_sums(isa);
  if (!byoc_cutlass_is_half(problem->types.weights)) return gemm->m <= MOST_ROWS && gemm->m <= sums;
  return gemm->m <= MOST_HALF_ROWS && gemm->m <= sums / 2;
}

static void plan_few_rows(const byoc_cutlass_gemm_t *gemm, byoc_cutlass_plan_t *plan) {
  int32_t sums = byoc_cutlass_isa_sums(plan->isa);
  plan->form = BYOC_CUTLASS_FORM_FEW_ROWS;
  plan->direct = true;
  plan->rows = (int32_t)gemm->m;
  plan->vectors = gemm->m <= 4 ? 4 : 2;
  if (plan->vectors > sums / plan->rows) plan->vectors = sums / plan->rows;
  plan->streams = plan->vectors > 1 ? 4 : 2; // many rows of A would compete for the cache's sets
  plan->block_depth = plan->block_panels = 1;
}

// True if rows of A lie so far apart that those of a tile fall into few sets of a first-level cache of 64 sets.
static bool rows_share_sets(const byoc_cutlass_gemm_t *gemm, int32_t rows) {
  if (gemm->transpose_a || gemm->k % 256 != 0) return false;
  int64_t sets = 64;
  for (int64_t lines = gemm->k / 16; sets > 1 && lines % 2 == 0; lines /= 2) sets /= 2;
  return rows / sets > 4;
}

static void plan_gemm(const byoc_cutlass_gemm_t *gemm, byoc_cutlass_plan_t *plan) {
  int32_t lanes = byoc_cutlass_isa_lanes(plan->isa), sums = byoc_cutlass_isa_sums(plan->isa);
  if (!gemm->constant_b && gemm->transpose_b && !gemm->transpose_a && gemm->m <= 4 && gemm->k >= lanes) {
    *plan = (byoc_cutlass_plan_t){.isa = plan->isa,
                                  .slots = plan->slots,
                                  .form = BYOC_CUTLASS_FORM_DOT,
                                  .direct = true,
                                  .rows = 1,
                                  .vectors = 1,
                                  .block_depth = 1,
                                  .block_panels = 1};
    return;
  }
  plan->form = gemm->constant_b ? BYOC_CUTLASS_FORM_WEIGHTS : BYOC_CUTLASS_FORM_GEMM;
  plan->vectors = (int32_t)(gemm->n > 2 * lanes ? 3 : byoc_cutlass_ceil_div(gemm->n, lanes));
  plan->rows = sums / plan->vectors < 14 ? sums / plan->vectors : 14;
  if (!gemm->open_rows) plan->rows = byoc_cutlass_tile_rows(gemm->m, plan->rows, 3);
  if (gemm->m <= 4) { // few rows: more columns, to keep enough sums and loads in flight
    plan->rows = (int32_t)gemm->m;
    plan->vectors = gemm->m == 1 ? 8 : 4;
    if (plan->vectors * plan->rows > sums) plan->vectors = sums / plan->rows;
  }
  while (plan->vectors > 1 && (plan->vectors - 1) * lanes >= gemm->n) --plan->vectors;
  // Copying pays if the copy is read several times: B's columns by row panels, rows of A by column panels.
  plan->direct = gemm->constant_b ? !rows_share_sets(gemm, plan->rows) || gemm->n < (int64_t)plan->vectors * lanes * 8
                                  : !gemm->transpose_b && gemm->m <= 2 * plan->rows;
  plan->block_depth = gemm->m <= plan->rows ? (int32_t)(gemm->k < INT32_MAX ? gemm->k : INT32_MAX) : 512;
  plan->block_panels = gemm->constant_b ? 16 : 8;
}

// Panels of f16 and bf16 are widened while they are copied. Products of computed matrices sum all terms in registers if
// their result has no room for partial sums.
static void settle_half(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan) {
  enum { BLOCK_FLOATS = 128 * 1024 };
  const byoc_cutlass_types_t *types = &problem->types;
  if (byoc_cutlass_is_half(types->data) &&
      (plan->form == BYOC_CUTLASS_FORM_IMPLICIT_GEMM || plan->form == BYOC_CUTLASS_FORM_WEIGHTS))
    plan->direct = false;
  if (plan->form != BYOC_CUTLASS_FORM_GEMM || !byoc_cutlass_is_half(types->result)) return;
  const int64_t k = problem->gemm.k, wide = plan->vectors * byoc_cutlass_isa_lanes(plan->isa);
  const int64_t panels = BLOCK_FLOATS / (wide * k);
  plan->block_depth = (int32_t)(k < INT32_MAX ? k : INT32_MAX);
  if (plan->block_panels > panels) plan->block_panels = panels < 1 ? 1 : (int32_t)panels;
}

void byoc_cutlass_plan_normalise(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  if (plan->form == BYOC_CUTLASS_FORM_FEW_ROWS) {
    const byoc_cutlass_gemm_t *gemm = &problem->gemm;
    while (plan->vectors > 1 && (plan->vectors - 1) * byoc_cutlass_isa_lanes(plan->isa) >= gemm->n) --plan->vectors;
    while (plan->streams > 1 && gemm->k / plan->streams < 16) plan->streams /= 2;
    return;
  }
  if (byoc_cutlass_has_half(problem)) settle_half(problem, plan);
  int64_t depth = problem->kind == BYOC_CUTLASS_CONV ? conv->in * conv->kernel_h * conv->kernel_w : problem->gemm.k;
  if (plan->form == BYOC_CUTLASS_FORM_DEPTHWISE || plan->form == BYOC_CUTLASS_FORM_DOT ||
      plan->form == BYOC_CUTLASS_FORM_WINOGRAD || plan->form == BYOC_CUTLASS_FORM_DIRECT ||
      plan->form == BYOC_CUTLASS_FORM_ATTENTION)
    return;
  // Blocks of depth of equal length, so that no short one is left over.
  int64_t blocks = byoc_cutlass_ceil_div(depth, plan->block_depth);
  plan->block_depth = (int32_t)byoc_cutlass_ceil_div(depth, blocks);
  if (byoc_cutlass_open_sizes(problem)) return; // there may be any number of panels
  int64_t panels;
  if (problem->kind == BYOC_CUTLASS_CONV)
    panels = byoc_cutlass_ceil_div(conv->out_h * conv->out_w,
                                   plan->transposed ? plan->rows : plan->vectors * byoc_cutlass_isa_lanes(plan->isa));
  else if (problem->gemm.constant_b)
    panels = byoc_cutlass_ceil_div(problem->gemm.m, plan->rows);
  else
    panels = byoc_cutlass_ceil_div(problem->gemm.n, plan->vectors * byoc_cutlass_isa_lanes(plan->isa));
  if (plan->block_panels > panels) plan->block_panels = (int32_t)panels;
  plan->block_panels = (int32_t)byoc_cutlass_ceil_div(panels, byoc_cutlass_ceil_div(panels, plan->block_panels));
}

void byoc_cutlass_plan_default(const byoc_cutlass_problem_t *problem, byoc_cutlass_isa_t isa, int32_t slots,
                               bool winograd, byoc_cutlass_plan_t *out_plan) {
  *out_plan = (byoc_cutlass_plan_t){.isa = isa, .slots = slots};
  if (problem->kind == BYOC_CUTLASS_ATTENTION) {
    byoc_cutlass_attention_plan(problem, out_plan);
    return;
  }
  if (problem->kind == BYOC_CUTLASS_BITS) {
    byoc_cutlass_bits_plan(problem, out_plan);
    return;
  }
  if (problem->words.amx) {
    byoc_cutlass_amx_plan(problem, out_plan);
    return;
  }
  if (problem->words.dot != BYOC_CUTLASS_DOT_F32) {
    byoc_cutlass_words_plan(problem, out_plan);
    return;
  }
  if (winograd && byoc_cutlass_winograd_choose(problem, out_plan)) {
    byoc_cutlass_plan_spread(problem, out_plan);
    return;
  }
  if ((problem->conv.in_blocked || problem->conv.out_blocked) && byoc_cutlass_direct_fits(problem)) {
    byoc_cutlass_direct_plan(problem, out_plan);
    byoc_cutlass_plan_spread(problem, out_plan);
    return;
  }
  if (problem->kind == BYOC_CUTLASS_CONV)
    plan_conv(problem, out_plan);
  else if (has_few_rows(problem, isa))
    plan_few_rows(&problem->gemm, out_plan);
  else
    plan_gemm(&problem->gemm, out_plan);
  byoc_cutlass_plan_normalise(problem, out_plan);
  byoc_cutlass_plan_spread(problem, out_plan);
}

void byoc_cutlass_depthwise_sizes(const byoc_cutlass_conv_t *conv, byoc_cutlass_isa_t isa,
                                  byoc_cutlass_depthwise_t *out_sizes) {
  enum { OPEN_BAND_H = 32, OPEN_BAND_W = 128 }; // copies of up to 70 KB
  int64_t lanes = byoc_cutlass_isa_lanes(isa);
  int64_t band_h = conv->open_h ? OPEN_BAND_H : conv->out_h, band_w = conv->open_w ? OPEN_BAND_W : conv->out_w;
  // Where the last vector has lanes for the columns that the taps of a row reach, a row is whole vectors, and the loads
  // of its last taps reach into the next row.
  const int64_t reach = (conv->kernel_w - 1) * conv->dilation_w / conv->stride_w;
  const int64_t vectors_w = byoc_cutlass_ceil_div(band_w, lanes) * lanes;
  const bool is_whole = !conv->open_h && !conv->open_w && band_w + reach <= vectors_w;
  const int64_t phase_w = is_whole ? vectors_w : vectors_w + reach;
  *out_sizes = (byoc_cutlass_depthwise_t){.band_h = band_h,
                                          .band_w = band_w,
                                          .phase_w = phase_w,
                                          .padded_row = phase_w * conv->stride_w,
                                          .tail = is_whole ? reach : 0,
                                          .padded_h = (band_h - 1) * conv->stride_h +
                                                      (conv->kernel_h - 1) * conv->dilation_h + 1};
}

bool byoc_cutlass_shares_loads(const byoc_cutlass_conv_t *conv, const byoc_cutlass_plan_t *plan) {
  enum { MOST_TAPS = 8, MOST_ROWS = 64 }; // what templates/conv/depthwise.h unrolls
  const int64_t reach = (plan->rows - 1) * conv->stride_h + (conv->kernel_h - 1) * conv->dilation_h;
  return byoc_cutlass_isa_lanes(plan->isa) > 4 && conv->kernel_h <= MOST_TAPS && conv->kernel_w <= MOST_TAPS &&
         reach < MOST_ROWS;
}

static int64_t align(int64_t floats) {
  return byoc_cutlass_ceil_div(floats, 16) * 16;
}

// Where partial sums are kept: in the result, unless its numbers are f16 or bf16.
static void find_partial(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                         byoc_cutlass_scratch_t *sizes) {
  enum { PARTIAL_FLOATS = 128 * 1024 };
  const byoc_cutlass_conv_t *conv = &problem->conv;
  const bool is_conv = plan->form == BYOC_CUTLASS_FORM_IMPLICIT_GEMM;
  const int64_t depth = is_conv ? conv->in * conv->kernel_h * conv->kernel_w : problem->gemm.k;
  if (plan->block_depth >= depth || !(is_conv || plan->form == BYOC_CUTLASS_FORM_WEIGHTS)) return;
  const int64_t wide = plan->vectors * byoc_cutlass_isa_lanes(plan->isa);
  const int64_t block = plan->rows * wide * plan->block_panels;
  const int64_t all = is_conv ? byoc_cutlass_ceil_div(conv->out, plan->transposed ? wide : plan->rows)
                              : byoc_cutlass_ceil_div(problem->gemm.n, wide);
  if (plan->transposed) {
    sizes->partial = block * all;
  } else if (byoc_cutlass_is_half(problem->types.result)) {
    const int64_t fit = PARTIAL_FLOATS / block;
    sizes->partial_panels = fit < 1 ? 1 : fit < all ? fit : all;
    sizes->partial = align(block * sizes->partial_panels);
  }
}

void byoc_cutlass_scratch_sizes(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                                byoc_cutlass_scratch_t *out_sizes) {
  const byoc_cutlass_types_t *types = &problem->types;
  const int64_t wide = plan->vectors * byoc_cutlass_isa_lanes(plan->isa), depth = plan->block_depth;
  *out_sizes = (byoc_cutlass_scratch_t){0};
  if (plan->form == BYOC_CUTLASS_FORM_FEW_ROWS) {
    const byoc_cutlass_gemm_t *gemm = &problem->gemm;
    if (byoc_cutlass_is_half(types->data))
      out_sizes->widened = align(byoc_cutlass_data_matrices(gemm) * gemm->m * gemm->k);
  } else if (plan->form == BYOC_CUTLASS_FORM_DIRECT) {
    if (!byoc_cutlass_is_half(types->weights)) return;
    out_sizes->panels = byoc_cutlass_direct_floats(problem, plan);
    out_sizes->widened = byoc_cutlass_direct_panel_floats(problem, plan);
  } else if (plan->form == BYOC_CUTLASS_FORM_IMPLICIT_GEMM) {
    if (!plan->direct) out_sizes->panels = (plan->transposed ? plan->rows : wide) * plan->block_panels * depth;
    if (byoc_cutlass_is_half(types->weights)) out_sizes->widened = (plan->transposed ? wide : plan->rows) * depth;
  } else if (plan->form == BYOC_CUTLASS_FORM_WEIGHTS) {
    if (!plan->direct) out_sizes->panels = plan->rows * plan->block_panels * depth;
    if (byoc_cutlass_is_half(types->weights)) out_sizes->widened = wide * depth;
  } else if (plan->form == BYOC_CUTLASS_FORM_GEMM) {
    if (!plan->direct) out_sizes->panels = wide * plan->block_panels * depth;
    if (byoc_cutlass_is_half(types->data)) out_sizes->widened = plan->rows * depth;
  }
  if (byoc_cutlass_has_half(problem)) out_sizes->panels = align(out_sizes->panels);
  find_partial(problem, plan, out_sizes);
}

// Floats of one share's workspace.
static int64_t slot_floats(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  int64_t floats = 0;
  if (plan->form == BYOC_CUTLASS_FORM_WINOGRAD) {
    floats = byoc_cutlass_winograd_floats(problem, plan);
  } else if (plan->form == BYOC_CUTLASS_FORM_ATTENTION) {
    floats = byoc_cutlass_attention_floats(problem, plan);
  } else if (plan->form == BYOC_CUTLASS_FORM_BITS) {
    floats = byoc_cutlass_bits_floats(problem, plan);
  } else if (plan->form == BYOC_CUTLASS_FORM_DIRECT) {
    byoc_cutlass_scratch_t sizes;
    byoc_cutlass_scratch_sizes(problem, plan, &sizes);
    floats = align(byoc_cutlass_direct_floats(problem, plan)) + sizes.widened;
  } else if (plan->form == BYOC_CUTLASS_FORM_DEPTHWISE && !conv->in_blocked) {
    byoc_cutlass_depthwise_t sizes;
    byoc_cutlass_depthwise_sizes(conv, plan->isa, &sizes);
    floats = sizes.padded_row * sizes.padded_h + sizes.tail;
  } else {
    byoc_cutlass_scratch_t sizes;
    byoc_cutlass_scratch_sizes(problem, plan, &sizes);
    floats = sizes.panels + sizes.partial + sizes.widened;
  }
  return align(floats);
}

uint64_t byoc_cutlass_workspace_bytes(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  if (problem->words.amx) return byoc_cutlass_amx_workspace_bytes(problem, plan);
  if (plan->form == BYOC_CUTLASS_FORM_WORDS) return byoc_cutlass_words_workspace_bytes(problem, plan);
  return (uint64_t)slot_floats(problem, plan) * (uint64_t)byoc_cutlass_shares(problem, plan) * sizeof(float);
}

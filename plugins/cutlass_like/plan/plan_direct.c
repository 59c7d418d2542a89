// SPDX-License-Identifier: Apache-2.0
// Direct convolutions: their tiles and blocks.
#include "plan/plan_direct.h"

// Channels and pixels of a block that fit the second-level cache beside the weights, and the size of a panel of weights
// that leaves room for the next one there.
enum { BLOCK_BYTES = 448 * 1024, PANEL_BYTES = 512 * 1024 };

bool byoc_cutlass_direct_fits(const byoc_cutlass_problem_t *problem) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  if (problem->kind != BYOC_CUTLASS_CONV || (conv->in == 1 && conv->groups > 1)) return false;
  if (byoc_cutlass_open_sizes(problem)) return false;
  return conv->pad_top >= 0 && conv->pad_left >= 0 && byoc_cutlass_takes_layouts(conv);
}

static int64_t reach_h(const byoc_cutlass_conv_t *conv) {
  return (conv->kernel_h - 1) * conv->dilation_h + 1;
}

static int64_t reach_w(const byoc_cutlass_conv_t *conv) {
  return (conv->kernel_w - 1) * conv->dilation_w + 1;
}

static bool is_flat(const byoc_cutlass_problem_t *problem) {
  return byoc_cutlass_may_read_in_place(problem);
}

static bool is_padded(const byoc_cutlass_conv_t *conv) {
  return conv->pad_top > 0 || conv->pad_left > 0 || (conv->out_h - 1) * conv->stride_h + reach_h(conv) > conv->in_h ||
         (conv->out_w - 1) * conv->stride_w + reach_w(conv) > conv->in_w;
}

// The largest divisor of `in` that is at most a block of channels.
static int64_t channel_steps(int64_t in) {
  int64_t steps = in < BYOC_CUTLASS_BLOCK ? in : BYOC_CUTLASS_BLOCK;
  while (in % steps) --steps;
  return steps;
}

void byoc_cutlass_direct_sizes(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                               byoc_cutlass_direct_t *out_sizes) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  byoc_cutlass_direct_t *d = out_sizes;
  *d = (byoc_cutlass_direct_t){.flat = is_flat(problem), .in_place = conv->in_blocked && !is_padded(conv)};
  d->in_lanes = conv->in_blocked ? BYOC_CUTLASS_BLOCK : 1;
  d->out_lanes = conv->out_blocked ? BYOC_CUTLASS_BLOCK : 1;
  if (d->in_place) {
    d->strip_h = conv->in_h, d->strip_w = conv->in_w;
  } else if (d->flat) {
    d->strip_h = 1, d->strip_w = (int64_t)plan->block_panels * plan->rows;
  } else {
    d->strip_h = ((int64_t)plan->block_panels * plan->lines - 1) * conv->stride_h + reach_h(conv);
    d->strip_w = (conv->out_w - 1) * conv->stride_w + reach_w(conv);
  }
  d->channel_step = d->strip_h * d->strip_w * d->in_lanes;
  // Whole cache lines, and no planes at a distance that is a multiple of a cache way.
  if (!d->in_place) d->channel_step = byoc_cutlass_ceil_div(d->channel_step, 16) * 16;
  if (!d->in_place && d->channel_step % 256 == 0) d->channel_step += 16;
  d->pixel_step = conv->stride_w * d->in_lanes;
  d->pitch = conv->stride_h * d->strip_w * d->in_lanes;
  d->tap_h_step = conv->dilation_h * d->strip_w * d->in_lanes;
  d->tap_w_step = conv->dilation_w * d->in_lanes;
  d->taps_h = conv->kernel_h, d->taps_w = conv->kernel_w;
  d->step = 1;
  if (conv->in_blocked) {
    d->steps = BYOC_CUTLASS_BLOCK;
    d->tap_blocks = conv->in / BYOC_CUTLASS_BLOCK;
  } else if (conv->kernel_h == 1 && conv->kernel_w == 1) {
    d->steps = channel_steps(conv->in);
    d->tap_blocks = conv->in / d->steps;
    d->step = d->channel_step;
  } else { // taps of a row are the terms of a block
    d->steps = conv->kernel_w;
    d->tap_blocks = conv->in;
    d->taps_w = 1;
    d->step = conv->dilation_w;
  }
  d->block_step = d->channel_step * (d->step == d->channel_step ? d->steps : 1);
  d->panel = (int64_t)plan->vectors * byoc_cutlass_isa_lanes(plan->isa);
  d->block_tiles = plan->block_panels * (d->flat ? 1 : byoc_cutlass_ceil_div(conv->out_w, plan->rows));
}

int64_t byoc_cutlass_direct_floats(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  byoc_cutlass_direct_t d;
  byoc_cutlass_direct_sizes(problem, plan, &d);
  return d.in_place ? 0 : d.channel_step * (problem->conv.in / d.in_lanes);
}

int64_t byoc_cutlass_direct_panel_floats(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  byoc_cutlass_direct_t d;
  byoc_cutlass_direct_sizes(problem, plan, &d);
  return d.panel * d.tap_blocks * d.taps_h * d.taps_w * d.steps;
}

void byoc_cutlass_direct_plan_vectors(const byoc_cutlass_problem_t *problem, int32_t vectors,
                                      byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  int32_t most = byoc_cutlass_isa_sums(plan->isa) / vectors;
  bool flat = is_flat(problem);
  *plan = (byoc_cutlass_plan_t){.isa = plan->isa,
                                .slots = plan->slots,
                                .form = BYOC_CUTLASS_FORM_DIRECT,
                                .direct = true,
                                .vectors = vectors,
                                .lines = 1,
                                .block_depth = 1};
  int64_t along = flat ? conv->out_h * conv->out_w : conv->out_w;
  plan->rows = flat ? byoc_cutlass_tile_rows(along, most, 3) : byoc_cutlass_even_rows(along, most);
  if (!flat && along < most) // several rows of a small image
    plan->lines =
        byoc_cutlass_even_rows(conv->out_h, (int32_t)(most / along < conv->out_h ? most / along : conv->out_h));
  int64_t unit_bytes =
      (int64_t)sizeof(float) * conv->in * (flat ? plan->rows : plan->lines * conv->stride_h * conv->in_w);
  int64_t units = flat ? byoc_cutlass_ceil_div(along, plan->rows) : byoc_cutlass_ceil_div(conv->out_h, plan->lines);
  int64_t block = BLOCK_BYTES / unit_bytes;
  if (block < 1) block = 1;
  if (block > units) block = units;
  plan->block_panels = (int32_t)byoc_cutlass_ceil_div(units, byoc_cutlass_ceil_div(units, block));
}

void byoc_cutlass_direct_plan(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan) {
  int32_t lanes = byoc_cutlass_isa_lanes(plan->isa);
  const byoc_cutlass_conv_t *conv = &problem->conv;
  int64_t vectors = byoc_cutlass_ceil_div(conv->out, lanes);
  int32_t wanted = vectors >= 2 ? 2 : 1;
  if (lanes < 8 && vectors % 4 == 0) wanted = 4;
  if (lanes == 16 && vectors % 2 && vectors % 3 == 0) wanted = 3;
  int64_t vector_bytes = conv->in * conv->kernel_h * conv->kernel_w * lanes * (int64_t)sizeof(float);
  if (wanted == 2 && wanted * vector_bytes > PANEL_BYTES) wanted = 1; // one vector of channels by more pixels
  byoc_cutlass_direct_plan_vectors(problem, wanted, plan);
}

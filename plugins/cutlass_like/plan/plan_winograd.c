// SPDX-License-Identifier: Apache-2.0
// Winograd's minimal filtering: when it pays, and its blocking.
#include "plan/plan_winograd.h"

#include <math.h>

bool byoc_cutlass_winograd_fits(const byoc_cutlass_problem_t *problem) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  return problem->kind == BYOC_CUTLASS_CONV && conv->kernel_h == 3 && conv->kernel_w == 3 && conv->stride_h == 1 &&
         conv->stride_w == 1 && conv->dilation_h == 1 && conv->dilation_w == 1 && conv->pad_top >= 0 &&
         conv->pad_left >= 0 && conv->in >= 4 && conv->out >= 4 && byoc_cutlass_takes_layouts(conv);
}

void byoc_cutlass_winograd_sizes(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                                 byoc_cutlass_winograd_t *out_sizes) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  int64_t lanes = byoc_cutlass_isa_lanes(plan->isa), edge = plan->edge;
  byoc_cutlass_winograd_t *w = out_sizes;
  w->points = (edge + 2) * (edge + 2);
  w->squares_w = byoc_cutlass_ceil_div(conv->out_w, edge);
  w->squares_h = byoc_cutlass_ceil_div(conv->out_h, edge) * conv->batch;
  bool is_open = byoc_cutlass_open_sizes(problem);
  w->squares = is_open ? plan->block_panels : w->squares_w * plan->block_panels;
  w->last_squares = w->squares_w *
                    (w->squares_h - (byoc_cutlass_ceil_div(w->squares_h, plan->block_panels) - 1) * plan->block_panels);
  w->panel = plan->vectors * lanes;
  w->weight_panels = byoc_cutlass_ceil_div(conv->out, w->panel);
  // One vector more than needed, so that neither rows nor planes lie a multiple of a cache way apart.
  w->patch_row = byoc_cutlass_ceil_div(conv->in, lanes) * lanes + lanes;
  w->patch_step = w->squares * w->patch_row + lanes;
  int64_t together = is_open ? w->weight_panels : plan->pass_panels; // at most
  w->product_row = w->panel * together + (together > 1 ? lanes : 0);
  w->product_step = w->squares * w->product_row + lanes;
  // Where sizes are open, a block of one row of squares, or of one column, needs most.
  int64_t high = is_open ? 1 : plan->block_panels, wide = is_open ? w->squares : w->squares_w;
  int64_t gathered = conv->in_blocked ? w->points : (high * edge + 2) * (wide * edge + 2);
  int64_t scattered = conv->out_blocked ? 0 : edge * edge * wide + 1; // reads one vector past the end
  w->strip = (gathered > scattered ? gathered : scattered) * lanes;
  w->transformed = byoc_cutlass_is_half(problem->types.weights) ? w->points * conv->in * w->panel : 0;
}

int64_t byoc_cutlass_winograd_floats(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  byoc_cutlass_winograd_t w;
  byoc_cutlass_winograd_sizes(problem, plan, &w);
  return w.points * (w.patch_step + w.product_step) + w.strip + w.transformed;
}

// Vectors in a panel of output channels: few enough that few lanes have no channel; two if that costs nothing.
static int32_t panel_vectors(int64_t out, int32_t lanes) {
  int64_t vectors = byoc_cutlass_ceil_div(out, lanes);
  if (vectors <= 2) return (int32_t)vectors;
  return vectors % 2 == 0 || vectors % 3 != 0 ? 2 : 3;
}

// Cycles to read weights `times` times: none if the second-level cache keeps them, otherwise five bytes per cycle.
static double reading_cycles(double weight_bytes, double times) {
  return weight_bytes < 512 * 1024 ? 0 : weight_bytes * times / 5;
}

void byoc_cutlass_winograd_tile(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan) {
  int64_t squares = plan->block_panels;
  if (!byoc_cutlass_open_sizes(problem)) squares *= byoc_cutlass_ceil_div(problem->conv.out_w, plan->edge);
  const int32_t most = byoc_cutlass_isa_sums(plan->isa) / plan->vectors;
  plan->rows = byoc_cutlass_even_rows(squares, most < 14 ? most : 14);
}

double byoc_cutlass_winograd_plan(const byoc_cutlass_problem_t *problem, int32_t edge, byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  int32_t lanes = byoc_cutlass_isa_lanes(plan->isa);
  int64_t points = (edge + 2) * (edge + 2), in_vectors = byoc_cutlass_ceil_div(conv->in, lanes);
  int64_t squares_w = byoc_cutlass_ceil_div(conv->out_w, edge);
  int64_t squares_h = byoc_cutlass_ceil_div(conv->out_h, edge) * conv->batch;
  plan->form = BYOC_CUTLASS_FORM_WINOGRAD;
  plan->edge = edge;
  plan->transposed = plan->direct = false;
  plan->vectors = panel_vectors(conv->out, lanes);
  plan->block_depth = (int32_t)conv->in;
  // As many patches per block as fit half of a second-level cache of one MiB, but enough squares to pay for each
  // reading of the weights. There is no second block if it would be the only other one and the weights do not fit that
  // cache.
  int64_t square_bytes = points * 4 * (in_vectors * lanes + plan->vectors * lanes);
  int64_t squares = 512 * 1024 / square_bytes, fewest = 28, weight_bytes = points * 4 * conv->in * conv->out;
  if (squares < fewest) squares = fewest;
  if (squares_w * squares_h <= 2 * fewest && weight_bytes > 1024 * 1024) squares = squares_w * squares_h;
  int64_t rows = squares / squares_w;
  if (rows < 1) rows = 1;
  if (rows > squares_h) rows = squares_h;
  rows = byoc_cutlass_ceil_div(squares_h, byoc_cutlass_ceil_div(squares_h, rows));
  bool is_open = byoc_cutlass_open_sizes(problem);
  int64_t together = is_open ? squares : rows * squares_w;
  plan->block_panels = (int32_t)(is_open ? squares : rows);
  int64_t panels = byoc_cutlass_ceil_div(conv->out, plan->vectors * lanes);
  int64_t patch_bytes = together * points * in_vectors * lanes * (int64_t)sizeof(float);
  bool large = patch_bytes > BYOC_CUTLASS_LARGE_PATCHES && patch_bytes * panels > BYOC_CUTLASS_LARGE_READING;
  const bool is_half = byoc_cutlass_is_half(problem->types.weights); // then only one panel of filters is transformed
  plan->pass_panels = large && !is_open && !is_half ? (int32_t)panels : 1; // with open sizes each block chooses
  byoc_cutlass_winograd_tile(problem, plan);

  // Cycles. Products run at nine tenths of two multiply-adds per cycle; the transforms of a square of one vector of
  // channels, and reading weights from beyond the second-level cache, at the rates measured on Cascade Lake; three
  // tenths of the reading is not hidden behind the products, or behind the reading itself. Transforms of blocked
  // tensors need no transposing and take seven tenths. To measure them anew: `cutlass_bench -a` and `-a -p` of 3x3
  // shapes.
  double patch_cycles = edge == 4 ? 330 : 150, square_cycles = edge == 4 ? 300 : 130;
  if (conv->in_blocked) patch_cycles *= 0.7;
  if (conv->out_blocked) square_cycles *= 0.7;
  double all = (double)(conv->groups * squares_w * squares_h);
  double out_vectors = (double)(byoc_cutlass_ceil_div(conv->out, plan->vectors * lanes) * plan->vectors);
  double products = all * (double)(points * conv->in) * out_vectors / 2 / 0.9;
  double blocks = (double)byoc_cutlass_ceil_div(squares_h, rows);
  double weights = (double)(conv->groups * points * conv->in * 4 * lanes) * out_vectors;
  double reading = reading_cycles(weights, blocks);
  if (is_half) // every block transforms all filters, a vector of them in so many cycles
    reading = (double)(conv->groups * conv->in) * out_vectors * blocks * (edge == 4 ? 120 : 60);
  return fmax(products, reading) + 0.3 * fmin(products, reading) + all * (double)in_vectors * patch_cycles +
         all * (double)byoc_cutlass_ceil_div(conv->out, lanes) * square_cycles;
}

bool byoc_cutlass_winograd_transforms(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  enum { MOST_TRANSFORMED = 192 * 1024 };
  byoc_cutlass_winograd_t sizes;
  byoc_cutlass_winograd_sizes(problem, plan, &sizes);
  return sizes.transformed <= MOST_TRANSFORMED;
}

bool byoc_cutlass_winograd_choose(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan) {
  if (!byoc_cutlass_winograd_fits(problem)) return false;
  const byoc_cutlass_conv_t *conv = &problem->conv;
  int32_t lanes = byoc_cutlass_isa_lanes(plan->isa);
  double reading = reading_cycles(9.0 * 4 * (double)(conv->groups * conv->in * conv->out), 1);
  // The share of the peak that the direct convolution reaches (`cutlass_bench -w`, and `-w -p`). Winograd rounds worse,
  // so it must be faster by a twentieth.
  double direct = conv->in_blocked && conv->out_blocked ? 0.85 : 0.7;
  double best = fmax((double)byoc_cutlass_macs(problem) / lanes / 2 / direct, reading);
  bool chosen = false;
  for (int32_t edge = 2; edge <= 4; edge += 2) {
    byoc_cutlass_plan_t other = *plan;
    double cycles = byoc_cutlass_winograd_plan(problem, edge, &other);
    if (cycles > 0.95 * best || !byoc_cutlass_winograd_transforms(problem, &other)) continue;
    best = cycles;
    *plan = other;
    chosen = true;
  }
  return chosen;
}

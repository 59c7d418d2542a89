// SPDX-License-Identifier: Apache-2.0
// The plans that are worth measuring.
#include "plan/plan.h"

#include "plan/plan_attention.h"
#include "plan/plan_direct.h"
#include "plan/plan_winograd.h"

static bool plan_equal(const byoc_cutlass_plan_t *a, const byoc_cutlass_plan_t *b) {
  return a->form == b->form && a->transposed == b->transposed && a->direct == b->direct && a->rows == b->rows &&
         a->lines == b->lines && a->streams == b->streams && a->vectors == b->vectors && a->edge == b->edge &&
         a->block_depth == b->block_depth && a->block_panels == b->block_panels && a->pass_panels == b->pass_panels;
}

static size_t plan_push(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t plan, byoc_cutlass_plan_t *plans,
                        size_t count, size_t capacity) {
  if (count == capacity) return count;
  byoc_cutlass_plan_normalise(problem, &plan);
  for (size_t i = 0; i < count; ++i)
    if (plan_equal(&plan, &plans[i])) return count;
  plans[count] = plan;
  return count + 1;
}

// The number of choices in which two plans differ: candidates near the default come first.
static int plan_distance(const byoc_cutlass_plan_t *a, const byoc_cutlass_plan_t *b) {
  return (a->form != b->form) + (a->edge != b->edge) + (a->transposed != b->transposed) + (a->direct != b->direct) +
         (a->vectors != b->vectors) + (a->streams != b->streams) + (a->block_depth != b->block_depth) +
         (a->block_panels != b->block_panels);
}

// A stable insertion sort: a few hundred plans at most.
static void sort_by_distance(byoc_cutlass_plan_t *plans, size_t count) {
  for (size_t i = 2; i < count; ++i) {
    byoc_cutlass_plan_t plan = plans[i];
    size_t at = i;
    for (; at > 1 && plan_distance(&plans[at - 1], &plans[0]) > plan_distance(&plan, &plans[0]); --at)
      plans[at] = plans[at - 1];
    plans[at] = plan;
  }
}

// Every block size for one shape of register tile.
static size_t push_blocks(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t plan, byoc_cutlass_plan_t *plans,
                          size_t count, size_t capacity) {
  static const int32_t depths[] = {256, 512, 1024, 4096}, panels[] = {1, 2, 4, 8, 16};
  for (size_t d = 0; d < sizeof depths / sizeof *depths; ++d)
    for (size_t p = 0; p < sizeof panels / sizeof *panels; ++p) {
      plan.block_depth = depths[d];
      plan.block_panels = panels[p];
      count = plan_push(problem, plan, plans, count, capacity);
    }
  return count;
}

// Both sizes of squares, with blocks from half to twice of what the rule says.
static size_t push_winograd(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t plan, byoc_cutlass_plan_t *plans,
                            size_t count, size_t capacity) {
  for (int32_t edge = 4; edge >= 2; edge -= 2) {
    (void)byoc_cutlass_winograd_plan(problem, edge, &plan);
    if (!byoc_cutlass_winograd_transforms(problem, &plan)) continue;
    count = plan_push(problem, plan, plans, count, capacity);
    if (byoc_cutlass_open_sizes(problem)) continue;
    int64_t panels = byoc_cutlass_ceil_div(problem->conv.out, plan.vectors * byoc_cutlass_isa_lanes(plan.isa));
    int32_t rows = plan.block_panels,
            most = (int32_t)(byoc_cutlass_ceil_div(problem->conv.out_h, edge) * problem->conv.batch);
    int32_t together = plan.pass_panels;
    plan.pass_panels = together > 1 ? 1 : (int32_t)panels;
    if (!byoc_cutlass_is_half(problem->types.weights)) count = plan_push(problem, plan, plans, count, capacity);
    plan.pass_panels = together;
    for (int32_t half = 1; half <= 4; half *= 2) {
      plan.block_panels = (rows * half + 1) / 2;
      if (half != 2 && plan.block_panels <= most) count = plan_push(problem, plan, plans, count, capacity);
    }
  }
  return count;
}

// Every width of panel that leaves room for the sums, with one stream of memory to eight.
static size_t push_few_rows(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t plan, byoc_cutlass_plan_t *plans,
                            size_t count, size_t capacity) {
  int32_t most = byoc_cutlass_isa_sums(plan.isa) / plan.rows;
  for (plan.vectors = 1; plan.vectors <= most && plan.vectors <= 8; plan.vectors *= 2)
    for (plan.streams = 1; plan.streams <= 8; plan.streams *= 2)
      count = plan_push(problem, plan, plans, count, capacity);
  return count;
}

// Every width of a panel, with blocks from half to twice of what the rule says.
static size_t push_direct(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t plan, byoc_cutlass_plan_t *plans,
                          size_t count, size_t capacity) {
  int32_t lanes = byoc_cutlass_isa_lanes(plan.isa);
  for (int32_t vectors = 1; vectors <= 4; ++vectors) {
    if ((vectors - 1) * lanes >= problem->conv.out) continue;
    if (problem->conv.out_blocked && vectors * lanes % BYOC_CUTLASS_BLOCK) continue;
    byoc_cutlass_direct_plan_vectors(problem, vectors, &plan);
    int32_t units = plan.block_panels;
    for (int32_t half = 4; half >= 1; half /= 2) {
      plan.block_panels = (units * half + 1) / 2;
      count = plan_push(problem, plan, plans, count, capacity);
    }
  }
  return count;
}

// Every width of a tile, with blocks from a quarter to twice of what the rule says.
static size_t push_attention(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t plan,
                             byoc_cutlass_plan_t *plans, size_t count, size_t capacity) {
  static const int32_t keys[] = {512, 256, 128, 1024};
  for (int32_t vectors = 1; vectors <= 4; ++vectors)
    for (size_t i = 0; i < sizeof keys / sizeof *keys; ++i) {
      byoc_cutlass_attention_plan_tiles(problem, vectors, keys[i], &plan);
      count = plan_push(problem, plan, plans, count, capacity);
    }
  return count;
}

// The first plan of each algorithm comes before the others: a short budget compares algorithms, a long one blockings.
static void sort_by_algorithm(byoc_cutlass_plan_t *plans, size_t count) {
  size_t heads = 1;
  for (size_t i = 1; i < count; ++i) {
    byoc_cutlass_plan_t plan = plans[i];
    size_t k = 0;
    while (k < heads && (plans[k].form != plan.form || plans[k].edge != plan.edge)) ++k;
    if (k < heads) continue;
    for (k = i; k > heads; --k) plans[k] = plans[k - 1];
    plans[heads++] = plan;
  }
}

static size_t list_plans(const byoc_cutlass_problem_t *problem, byoc_cutlass_isa_t isa, int32_t slots, bool winograd,
                         byoc_cutlass_plan_t *plans, size_t capacity) {
  byoc_cutlass_plan_t plan;
  if (capacity == 0) return 0;
  byoc_cutlass_plan_default(problem, isa, slots, winograd, &plan);
  size_t count = plan_push(problem, plan, plans, 0, capacity);
  if (plan.form == BYOC_CUTLASS_FORM_ATTENTION) return push_attention(problem, plan, plans, count, capacity);
  if (plan.form == BYOC_CUTLASS_FORM_WORDS) return count;
  if (byoc_cutlass_direct_fits(problem)) count = push_direct(problem, plan, plans, count, capacity);
  if (winograd && byoc_cutlass_winograd_fits(problem)) count = push_winograd(problem, plan, plans, count, capacity);
  if (plan.form == BYOC_CUTLASS_FORM_DEPTHWISE && problem->conv.in_blocked) {
    for (plan.rows = 1; plan.rows <= byoc_cutlass_isa_sums(isa) / 2; ++plan.rows)
      count = plan_push(problem, plan, plans, count, capacity);
    return count;
  }
  if (problem->conv.in_blocked || problem->conv.out_blocked) return count;
  if (plan.form == BYOC_CUTLASS_FORM_WINOGRAD) {
    byoc_cutlass_plan_default(problem, isa, slots, false, &plan);
    count = plan_push(problem, plan, plans, count, capacity);
  }
  const byoc_cutlass_conv_t *conv = &problem->conv;
  if (plan.form == BYOC_CUTLASS_FORM_DOT) return count;
  if (plan.form == BYOC_CUTLASS_FORM_FEW_ROWS) {
    count = push_few_rows(problem, plan, plans, count, capacity);
    plan.form = BYOC_CUTLASS_FORM_WEIGHTS;
    plan.streams = 0;
  }
  if (plan.form == BYOC_CUTLASS_FORM_DEPTHWISE) {
    for (plan.rows = 1; plan.rows <= 8 && plan.rows <= conv->out_h; ++plan.rows)
      count = plan_push(problem, plan, plans, count, capacity);
    return count;
  }
  if (plan.form == BYOC_CUTLASS_FORM_DIRECT) {
    plan.form = BYOC_CUTLASS_FORM_IMPLICIT_GEMM;
    plan.lines = 0;
  }
  bool is_conv = problem->kind == BYOC_CUTLASS_CONV, in_place = byoc_cutlass_may_read_in_place(problem);
  for (int transposed = 0; transposed <= (is_conv && !byoc_cutlass_open_sizes(problem) ? 1 : 0); ++transposed)
    for (int direct = 0; direct <= (in_place && !transposed ? 1 : 0); ++direct)
      for (int32_t vectors = 1; vectors <= 4; ++vectors) {
        int64_t rows = !is_conv ? problem->gemm.m : transposed ? conv->out_h * conv->out_w : conv->out;
        int32_t most = byoc_cutlass_isa_sums(isa) / vectors;
        plan.transposed = transposed;
        plan.direct = direct;
        plan.vectors = vectors;
        plan.rows = byoc_cutlass_even_rows(rows, most < 14 ? most : 14);
        count = push_blocks(problem, plan, plans, count, capacity);
      }
  sort_by_distance(plans, count);
  return count;
}

size_t byoc_cutlass_plan_candidates(const byoc_cutlass_problem_t *problem, byoc_cutlass_isa_t isa, int32_t slots,
                                    bool winograd, byoc_cutlass_plan_t *plans, size_t capacity) {
  size_t count = list_plans(problem, isa, slots, winograd, plans, capacity);
  if (count > 1) sort_by_algorithm(plans, count);
  return count;
}

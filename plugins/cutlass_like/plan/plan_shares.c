// SPDX-License-Identifier: Apache-2.0
// Splits a run among threads: the work that is worth a share, and blocks that give two threads the same amount.
#include "plan/plan.h"
#include "plan/plan_winograd.h"

static int64_t round_up(int64_t channels, byoc_cutlass_isa_t isa) {
  const int64_t lanes = byoc_cutlass_isa_lanes(isa);
  return byoc_cutlass_ceil_div(channels, lanes) * lanes;
}

// The multiply-adds of a share that is worth starting: two microseconds or so, where beginning and ending a loop takes
// less than half a microsecond. Depthwise convolutions do fewer of them per microsecond; few rows wait for the memory
// that weights or keys come from.
int64_t byoc_cutlass_share_macs(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  switch (plan->form) {
  case BYOC_CUTLASS_FORM_WORDS:
    if (byoc_cutlass_words_depthwise(problem)) return BYOC_CUTLASS_SHARE_MACS_OF_WORDS / 4;
    return problem->words.amx ? BYOC_CUTLASS_SHARE_MACS_OF_TILES : BYOC_CUTLASS_SHARE_MACS_OF_WORDS;
  case BYOC_CUTLASS_FORM_DEPTHWISE:
    return BYOC_CUTLASS_SHARE_MACS / 3;
  case BYOC_CUTLASS_FORM_FEW_ROWS:
  case BYOC_CUTLASS_FORM_DOT:
    return BYOC_CUTLASS_SHARE_MACS / 5;
  case BYOC_CUTLASS_FORM_DIRECT: // lanes without a channel work as long as the others
    return BYOC_CUTLASS_SHARE_MACS * problem->conv.out / round_up(problem->conv.out, plan->isa);
  case BYOC_CUTLASS_FORM_ATTENTION:
    return problem->attention.queries < 4 ? BYOC_CUTLASS_SHARE_MACS / 10 : BYOC_CUTLASS_SHARE_MACS;
  default:
    return BYOC_CUTLASS_SHARE_MACS;
  }
}

static int64_t worthwhile_shares(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  return byoc_cutlass_macs(problem) / byoc_cutlass_share_macs(problem, plan);
}

int32_t byoc_cutlass_shares(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  if (byoc_cutlass_is_open(problem)) return plan->slots;
  int64_t shares = worthwhile_shares(problem, plan);
  return (int32_t)(shares < 1 ? 1 : shares < plan->slots ? shares : plan->slots);
}

bool byoc_cutlass_takes_pieces(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  return plan->form == BYOC_CUTLASS_FORM_DOT || plan->form == BYOC_CUTLASS_FORM_FEW_ROWS ||
         (plan->form == BYOC_CUTLASS_FORM_DEPTHWISE && !problem->conv.in_blocked);
}

// ---- blocks of convolutions ----

// The items that templates count: `copies` times blocks of `units`, each with all panels of weights; an item is a panel
// over a block.
typedef struct grid_t {
  int64_t copies, units, panels;
} grid_t;

static bool grid_of(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan, grid_t *out_grid) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  const int64_t wide = (int64_t)plan->vectors * byoc_cutlass_isa_lanes(plan->isa), pixels = conv->out_h * conv->out_w;
  if (problem->kind != BYOC_CUTLASS_CONV || byoc_cutlass_is_open(problem)) return false;
  switch (plan->form) {
  case BYOC_CUTLASS_FORM_IMPLICIT_GEMM:
    *out_grid = (grid_t){.copies = conv->batch * conv->groups,
                         .units = byoc_cutlass_ceil_div(pixels, plan->transposed ? plan->rows : wide),
                         .panels = byoc_cutlass_ceil_div(conv->out, plan->transposed ? wide : plan->rows)};
    return true;
  case BYOC_CUTLASS_FORM_DIRECT:
    *out_grid =
        (grid_t){.copies = conv->batch * conv->groups,
                 .units = byoc_cutlass_may_read_in_place(problem) ? byoc_cutlass_ceil_div(pixels, plan->rows)
                                                                  : byoc_cutlass_ceil_div(conv->out_h, plan->lines),
                 .panels = byoc_cutlass_ceil_div(conv->out, wide)};
    return true;
  case BYOC_CUTLASS_FORM_WINOGRAD:
    *out_grid = (grid_t){.copies = conv->groups,
                         .units = byoc_cutlass_ceil_div(conv->out_h, plan->edge) * conv->batch,
                         .panels = byoc_cutlass_ceil_div(conv->out, wide)};
    return true;
  default:
    return false;
  }
}

static int64_t item_count(const grid_t *grid, int64_t block) {
  return grid->copies * byoc_cutlass_ceil_div(grid->units, block) * grid->panels;
}

// The part of the work, in thousandths, that the slower one of two threads gets (templates/shared/panel_shares.h).
static int64_t slower_part(const grid_t *grid, int64_t block) {
  const int64_t half = item_count(grid, block) / 2, copy = byoc_cutlass_ceil_div(grid->units, block) * grid->panels;
  const int64_t whole = half % copy / grid->panels * block, left = grid->units - whole;
  const int64_t work = half / copy * grid->panels * grid->units +
                       (whole < grid->units ? whole : grid->units) * grid->panels +
                       half % grid->panels * (left < block ? left : block);
  const int64_t all = grid->copies * grid->panels * grid->units, other = all - work;
  return 1000 * (work > other ? work : other) / all;
}

// Blocks that two threads share evenly, not smaller than a quarter of those that one thread would take: small ones read
// weights more often. Four items are enough for a machine with more threads.
enum { EVEN_PART = 540, FEWEST_ITEMS = 4 };

void byoc_cutlass_plan_spread(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan) {
  grid_t grid;
  if (plan->slots < 2 || !grid_of(problem, plan, &grid)) return;
  const int64_t worthwhile = worthwhile_shares(problem, plan);
  if (worthwhile < 2) return;
  const int64_t wanted = worthwhile < FEWEST_ITEMS ? worthwhile : FEWEST_ITEMS;
  const int32_t usual = plan->block_panels;
  int64_t best = slower_part(&grid, usual);
  if (best <= EVEN_PART && item_count(&grid, usual) >= wanted) return;
  for (int32_t block = usual - 1; block >= (usual + 3) / 4; --block) {
    const int64_t part = slower_part(&grid, block);
    const bool is_even = part <= EVEN_PART && item_count(&grid, block) >= wanted;
    if (!is_even && part >= best) continue;
    best = part;
    plan->block_panels = block;
    if (is_even) break;
  }
  if (plan->form == BYOC_CUTLASS_FORM_WINOGRAD) byoc_cutlass_winograd_tile(problem, plan);
}

// SPDX-License-Identifier: Apache-2.0
// How attention is blocked: block_depth counts the keys of a block, rows the queries of a tile, vectors its width.
#include "plan/plan_attention.h"

// Keys: their copies, and those of the values, must leave room for the rest in a second-level cache.
enum { KEYS_OF_BLOCK = 512, FEW_QUERIES = 4 };

// Panels of queries that read the same copies where their number is open: copying is little work for so many.
enum { OPEN_SPAN = 64 };

// Blocks are whole panels of keys, and at most as long as there are keys, where these are known.
static void fit_block(const byoc_cutlass_attention_t *attention, byoc_cutlass_plan_t *plan) {
  int64_t panel = (int64_t)plan->vectors * byoc_cutlass_isa_lanes(plan->isa);
  int64_t panels = byoc_cutlass_ceil_div(attention->keys, panel), most = plan->block_depth / panel;
  if (most < 1) most = 1;
  if (attention->open && panels > most) panels = most;
  int64_t blocks = byoc_cutlass_ceil_div(panels, most);
  plan->block_depth = (int32_t)(byoc_cutlass_ceil_div(panels, blocks) * panel);
}

void byoc_cutlass_attention_plan(const byoc_cutlass_problem_t *problem, byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_attention_t *attention = &problem->attention;
  plan->form = BYOC_CUTLASS_FORM_ATTENTION;
  plan->direct = attention->queries <= FEW_QUERIES;
  plan->vectors = byoc_cutlass_isa_key_vectors(plan->isa);
  plan->rows = byoc_cutlass_even_rows(attention->queries, 6);
  plan->block_depth = KEYS_OF_BLOCK;
  plan->block_panels = 1;
  fit_block(attention, plan);
}

void byoc_cutlass_attention_plan_tiles(const byoc_cutlass_problem_t *problem, int32_t vectors, int32_t keys,
                                       byoc_cutlass_plan_t *plan) {
  int32_t most = byoc_cutlass_isa_sums(plan->isa) / vectors;
  plan->vectors = vectors;
  plan->rows = byoc_cutlass_even_rows(problem->attention.queries, most < 14 ? most : 14);
  plan->block_depth = keys;
  fit_block(&problem->attention, plan);
}

void byoc_cutlass_attention_sizes(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan,
                                  byoc_cutlass_attention_sizes_t *out_sizes) {
  const byoc_cutlass_attention_t *attention = &problem->attention;
  int64_t lanes = byoc_cutlass_isa_lanes(plan->isa), panels = byoc_cutlass_ceil_div(attention->queries, plan->rows);
  *out_sizes =
      (byoc_cutlass_attention_sizes_t){.score_row = plan->block_depth + 16,
                                       .value_row = byoc_cutlass_ceil_div(attention->value_size, lanes) * lanes,
                                       .span_panels = attention->open ? OPEN_SPAN : panels,
                                       .running_rows = plan->block_depth < attention->keys ? attention->queries : 0};
  if (attention->open) out_sizes->running_rows = OPEN_SPAN * plan->rows;
}

int64_t byoc_cutlass_attention_floats(const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_attention_t *attention = &problem->attention;
  byoc_cutlass_attention_sizes_t sizes;
  byoc_cutlass_attention_sizes(problem, plan, &sizes);
  int64_t tile = plan->rows * (sizes.score_row + attention->size); // scores and queries
  int64_t copies = plan->direct ? 0 : plan->block_depth * (attention->size + sizes.value_row);
  return tile + 2 * sizes.running_rows + copies;
}

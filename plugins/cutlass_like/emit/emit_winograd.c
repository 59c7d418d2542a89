// SPDX-License-Identifier: Apache-2.0
// Writes Winograd convolutions as C: the sizes that the template names, then the template.
#include <stdio.h>

#include "emit/emit.h"
#include "plan/plan_winograd.h"

// The whole tile and those that a block can end with, and the choice among them by `left`, the squares that are left.
static void emit_rests(byoc_plugin_string_t *text, byoc_plugin_string_t *pick, const byoc_cutlass_tiling_t *tiling,
                       const byoc_cutlass_winograd_t *sizes) {
  int32_t rows = tiling->tile_rows;
  int64_t rest = sizes->squares % rows, last_rest = sizes->last_squares % rows;
  if (sizes->squares >= rows) byoc_cutlass_emit_tile(text, "tile", tiling, rows, sizes->panel);
  if (rest) byoc_cutlass_emit_tile(text, "tile_rest", tiling, rest, sizes->panel);
  if (last_rest && last_rest != rest) byoc_cutlass_emit_tile(text, "tile_last_rest", tiling, last_rest, sizes->panel);
  if (sizes->squares >= rows && (rest || last_rest))
    byoc_plugin_string_add(pick, "(left) >= %d ? FN(tile) : ", rows);
  else if (sizes->squares >= rows)
    byoc_plugin_string_add(pick, "FN(tile)");
  if (last_rest && last_rest != rest && rest)
    byoc_plugin_string_add(pick, "(left) == %lld ? FN(tile_last_rest) : ", (long long)last_rest);
  if (rest)
    byoc_plugin_string_add(pick, "FN(tile_rest)");
  else if (last_rest)
    byoc_plugin_string_add(pick, "FN(tile_last_rest)");
}

// The same where a block can have any number of squares: a tile of each height.
static void emit_heights(byoc_plugin_string_t *text, byoc_plugin_string_t *pick, const byoc_cutlass_tiling_t *tiling,
                         const byoc_cutlass_winograd_t *sizes) {
  for (int32_t rows = tiling->tile_rows; rows >= 1; --rows) {
    char name[24];
    snprintf(name, sizeof name, "tile_of_%d", rows);
    byoc_cutlass_emit_tile(text, name, tiling, rows, sizes->panel);
    if (rows > 1)
      byoc_plugin_string_add(pick, "(left) == %d ? FN(%s) : ", rows, name);
    else
      byoc_plugin_string_add(pick, "FN(%s)", name);
  }
}

// TILES(left): the register tile for so many squares.
static void emit_tiles(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const byoc_cutlass_problem_t *problem,
                       const byoc_cutlass_winograd_t *sizes, const byoc_cutlass_plan_t *plan) {
  int64_t tiles = byoc_cutlass_ceil_div(sizes->squares, plan->rows); // that share the reading of the next weights
  if (byoc_cutlass_open_sizes(problem)) tiles = 1;
  byoc_cutlass_tiling_t tiling = {.tile_rows = plan->rows,
                                  .vectors = plan->vectors,
                                  .lanes = byoc_cutlass_isa_lanes(plan->isa),
                                  .a_row = sizes->patch_row,
                                  .a_depth = 1,
                                  .b_padded = true,
                                  .b_packed = true,
                                  .b_whole = true,
                                  .c_row = sizes->product_row,
                                  .float_result = true,
                                  .ahead = byoc_cutlass_ceil_div(sizes->panel, tiles)};
  byoc_cutlass_names_t own = {0};
  byoc_cutlass_epilogue_t none = {.alpha = 1.0f};
  byoc_plugin_string_t pick = {0};
  byoc_plugin_string_add(&pick, "(");
  // The epilogue comes after the transform back.
  byoc_cutlass_define(text, &own, "B_PADDED", 1);
  byoc_cutlass_emit_epilogue(text, &own, &none, "0");
  if (byoc_cutlass_open_sizes(problem))
    emit_heights(text, &pick, &tiling, sizes);
  else
    emit_rests(text, &pick, &tiling, sizes);
  byoc_plugin_string_add(text, "\n");
  byoc_cutlass_undefine_all(text, &own);
  byoc_plugin_string_add(&pick, ")");
  if (pick.failed) text->failed = true;
  byoc_cutlass_define_text(text, names, "TILES", "(left)", pick.data ? pick.data : "");
  byoc_plugin_string_deinit(&pick);
}

void byoc_cutlass_emit_winograd(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                                const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  byoc_cutlass_winograd_t sizes;
  byoc_cutlass_winograd_sizes(problem, plan, &sizes);
  byoc_cutlass_define(text, names, "EDGE", plan->edge);
  byoc_cutlass_define(text, names, "PATCH", plan->edge + 2);
  byoc_cutlass_define(text, names, "POINTS", sizes.points);
  byoc_cutlass_define(text, names, "BLOCK_ROWS", plan->block_panels);
  byoc_cutlass_define(text, names, "BLOCK_SQUARES", sizes.squares);
  byoc_cutlass_define(text, names, "SQUARE_PANEL", plan->rows);
  byoc_cutlass_define(text, names, "WEIGHT_PANEL", sizes.panel);
  byoc_cutlass_define(text, names, "PATCH_ROW", sizes.patch_row);
  byoc_cutlass_define(text, names, "PATCH_STEP", sizes.patch_step);
  byoc_cutlass_define(text, names, "PRODUCT_ROW", sizes.product_row);
  byoc_cutlass_define(text, names, "PRODUCT_STEP", sizes.product_step);
  byoc_cutlass_define(text, names, "PASS_PANELS", plan->pass_panels);
  byoc_cutlass_define(text, names, "LARGE_PATCHES", BYOC_CUTLASS_LARGE_PATCHES);
  byoc_cutlass_define(text, names, "LARGE_READING", BYOC_CUTLASS_LARGE_READING);
  byoc_cutlass_define(text, names, "IN_LANES", problem->conv.in_blocked ? BYOC_CUTLASS_BLOCK : 1);
  byoc_cutlass_define(text, names, "OUT_LANES", problem->conv.out_blocked ? BYOC_CUTLASS_BLOCK : 1);
  byoc_cutlass_define_text(text, names, "WINOGRAD_INPUT", "",
                           plan->edge == 2 ? "winograd_input_2" : "winograd_input_4");
  byoc_cutlass_define_text(text, names, "WINOGRAD_FILTER", "",
                           plan->edge == 2 ? "winograd_filter_2" : "winograd_filter_4");
  byoc_cutlass_define(text, names, "TRANSFORMED_AT",
                      sizes.points * (sizes.patch_step + sizes.product_step) + sizes.strip);
  byoc_cutlass_define_text(text, names, "WINOGRAD_OUTPUT", "",
                           plan->edge == 2 ? "winograd_output_2" : "winograd_output_4");
  emit_tiles(text, names, problem, &sizes, plan);
  byoc_cutlass_emit_epilogue(text, names, &problem->epilogue,
                             problem->conv.out_blocked ? "BIAS_OF_COLUMN" : "BIAS_OF_ROW");
  BYOC_CUTLASS_ADD_TEMPLATE(text, winograd);
  BYOC_CUTLASS_ADD_TEMPLATE(text, panel_shares);
}

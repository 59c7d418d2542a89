// SPDX-License-Identifier: Apache-2.0
// Writes direct convolutions as C: the sizes that the template names, then the template.
#include "emit/emit.h"
#include "pack/pack.h"
#include "plan/plan_direct.h"

static void emit_tile(byoc_plugin_string_t *text, const char *name, int64_t lines, int64_t columns, int64_t channels,
                      int64_t lanes) {
  int64_t vectors = byoc_cutlass_ceil_div(channels, lanes);
  byoc_cutlass_names_t names = {0};
  byoc_plugin_string_add(text, "\n#define TILE_NAME FN(%s)\n", name);
  byoc_cutlass_note_name(text, &names, "TILE_NAME");
  byoc_cutlass_define(text, &names, "TILE_H", lines);
  byoc_cutlass_define(text, &names, "TILE_W", columns);
  byoc_cutlass_define(text, &names, "TILE_VECTORS", vectors);
  byoc_cutlass_define(text, &names, "TILE_LANES", channels - (vectors - 1) * lanes);
  BYOC_CUTLASS_ADD_TEMPLATE(text, direct_tile);
  byoc_cutlass_undefine_all(text, &names);
}

// The whole tile and those of the remainders, and TILES, which picks among them by rest and panel_rest.
static void emit_tiles(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const byoc_cutlass_problem_t *problem,
                       const byoc_cutlass_plan_t *plan, const byoc_cutlass_direct_t *sizes) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  int64_t lanes = byoc_cutlass_isa_lanes(plan->isa), panel_rest = conv->out % sizes->panel;
  int64_t along = sizes->flat ? conv->out_h * conv->out_w : conv->out_w;
  int64_t columns = along % plan->rows, lines = sizes->flat ? 0 : conv->out_h % plan->lines;
  bool rest = columns || lines, panels = conv->out >= sizes->panel;
  // Tiles of several rows are as wide as the output, so only one of the two can have a remainder.
  if (!columns) columns = plan->rows;
  if (!lines) lines = plan->lines;
  if (panels) emit_tile(text, "tile", plan->lines, plan->rows, sizes->panel, lanes);
  if (panels && rest) emit_tile(text, "tile_rest", lines, columns, sizes->panel, lanes);
  if (panel_rest) emit_tile(text, "tile_last_panel", plan->lines, plan->rows, panel_rest, lanes);
  if (panel_rest && rest) emit_tile(text, "tile_corner", lines, columns, panel_rest, lanes);
  const char *whole = rest ? "(rest ? FN(tile_rest) : FN(tile))" : "FN(tile)";
  const char *last = rest ? "(rest ? FN(tile_corner) : FN(tile_last_panel))" : "FN(tile_last_panel)";
  byoc_plugin_string_add(text, "\n#define TILES(...) ((void)rest, (void)panel_rest, ");
  byoc_cutlass_note_name(text, names, "TILES");
  if (panel_rest && panels)
    byoc_plugin_string_add(text, "panel_rest ? %s : %s", last, whole);
  else
    byoc_plugin_string_add(text, "%s", panels ? whole : last);
  byoc_plugin_string_add(text, ")(__VA_ARGS__)\n");
}

void byoc_cutlass_emit_direct(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                              const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_conv_t *conv = &problem->conv;
  byoc_cutlass_direct_t d;
  byoc_cutlass_direct_sizes(problem, plan, &d);
  int64_t weights = (int64_t)byoc_cutlass_direct_packed_floats(problem, plan) / conv->groups;
  // Each tile prefetches its share of the next panel's weights, unless all of them stay in the second-level cache.
  int64_t ahead = weights * (int64_t)sizeof(float) < 384 * 1024
                      ? 0
                      : byoc_cutlass_ceil_div(d.steps * d.panel, BYOC_CUTLASS_BLOCK * d.block_tiles);
  byoc_cutlass_define(text, names, "IN_LANES", d.in_lanes);
  byoc_cutlass_define(text, names, "OUT_LANES", d.out_lanes);
  byoc_cutlass_define(text, names, "OUT_PLANE", conv->out_h * conv->out_w * d.out_lanes);
  byoc_cutlass_define(text, names, "IN_PLACE", d.in_place);
  byoc_cutlass_define(text, names, "FLAT", d.flat);
  byoc_cutlass_define(text, names, "STRIP_W", d.strip_w);
  byoc_cutlass_define(text, names, "CHANNEL_STEP", d.channel_step);
  byoc_cutlass_define(text, names, "TAP_BLOCKS", d.tap_blocks);
  byoc_cutlass_define(text, names, "TAPS_H", d.taps_h);
  byoc_cutlass_define(text, names, "TAPS_W", d.taps_w);
  byoc_cutlass_define(text, names, "STEPS", d.steps);
  byoc_cutlass_define(text, names, "BLOCK_STEP", d.block_step);
  byoc_cutlass_define(text, names, "TAP_H_STEP", d.tap_h_step);
  byoc_cutlass_define(text, names, "TAP_W_STEP", d.tap_w_step);
  byoc_cutlass_define(text, names, "STEP", d.step);
  byoc_cutlass_define(text, names, "PIXEL_STEP", d.pixel_step);
  byoc_cutlass_define(text, names, "PITCH", d.pitch);
  byoc_cutlass_define(text, names, "PANEL", d.panel);
  byoc_cutlass_define(text, names, "WEIGHTS_OF_GROUP", weights);
  byoc_cutlass_define(text, names, "TILE_LINES", plan->lines);
  byoc_cutlass_define(text, names, "TILE_COLUMNS", plan->rows);
  byoc_cutlass_define(text, names, "BLOCK_UNITS", plan->block_panels);
  byoc_cutlass_define(text, names, "AHEAD", ahead);
  // There are enough blocks of terms to prefetch the result's lines, one per term.
  int64_t lines = byoc_cutlass_ceil_div(d.panel, BYOC_CUTLASS_BLOCK) * (1 + problem->epilogue.has_residual);
  byoc_cutlass_define(text, names, "TILE_SPREAD",
                      d.in_lanes > 1 && d.out_lanes > 1 && d.tap_blocks * d.taps_h * d.taps_w >= lines);
  byoc_cutlass_emit_epilogue(text, names, &problem->epilogue, "BIAS_OF_COLUMN");
  emit_tiles(text, names, problem, plan, &d);
  byoc_plugin_string_add(text, "\n");
  BYOC_CUTLASS_ADD_TEMPLATE(text, direct);
  BYOC_CUTLASS_ADD_TEMPLATE(text, panel_shares);
}

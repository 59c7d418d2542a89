// SPDX-License-Identifier: Apache-2.0
// Register tiles: the whole one and those of the remainders, as instances of one template.
#include <stdio.h>

#include "emit/emit.h"

void byoc_cutlass_emit_tile(byoc_plugin_string_t *text, const char *name, const byoc_cutlass_tiling_t *t, int64_t rows,
                            int64_t columns) {
  int64_t vectors = (columns + t->lanes - 1) / t->lanes, lanes = columns - (vectors - 1) * t->lanes;
  byoc_cutlass_names_t names = {0};
  byoc_plugin_string_add(text, "\n#define TILE_NAME FN(%s)\n", name);
  byoc_cutlass_note_name(text, &names, "TILE_NAME");
  byoc_cutlass_define(text, &names, "TILE_ROWS", rows);
  byoc_cutlass_define(text, &names, "TILE_VECTORS", vectors);
  if (t->open_columns && lanes < t->lanes)
    byoc_cutlass_define_text(text, &names, "TILE_LANES", "", "(left - (TILE_VECTORS - 1) * LANES)");
  else
    byoc_cutlass_define(text, &names, "TILE_LANES", lanes);
  byoc_cutlass_define(text, &names, "TILE_A_ROW", t->a_packed ? 1 : t->a_row);
  byoc_cutlass_define(text, &names, "TILE_A_DEPTH", t->a_packed ? rows : t->a_depth);
  byoc_cutlass_define_text(text, &names, "TILE_PARAMETERS", "", t->open_columns ? ", int64_t c_row, int64_t left" : "");
  if (t->open_columns && !t->b_packed)
    byoc_cutlass_define_text(text, &names, "TILE_B_DEPTH", "", "c_row");
  else
    byoc_cutlass_define(text, &names, "TILE_B_DEPTH",
                        !t->b_packed ? t->b_depth : (t->b_whole ? t->vectors : vectors) * t->lanes);
  byoc_cutlass_define(text, &names, "TILE_AHEAD", t->ahead);
  byoc_cutlass_define(text, &names, "TILE_WIDENS", t->widens);
  if (t->open_columns) {
    byoc_cutlass_define_text(text, &names, "TILE_C_ROW", "", "c_row");
  } else {
    byoc_cutlass_define(text, &names, "TILE_C_ROW", t->c_row);
  }
  if (t->partial_tile)
    byoc_cutlass_define(text, &names, "TILE_PARTIAL_ROW", t->vectors * t->lanes);
  else
    byoc_cutlass_define_text(text, &names, "TILE_PARTIAL_ROW", "", "TILE_C_ROW");
  byoc_cutlass_define_text(text, &names, "TILE_B_T", "", t->b_type ? t->b_type : "float");
  byoc_cutlass_define_text(text, &names, "TILE_RESULT_T", "", t->float_result ? "float" : "RESULT_T");
  byoc_cutlass_define_text(text, &names, "TILE_RESIDUAL_T", "", t->float_result ? "float" : "RESIDUAL_T");
  BYOC_CUTLASS_ADD_TEMPLATE(text, tile);
  byoc_cutlass_undefine_all(text, &names);
}

void byoc_cutlass_emit_tiles(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const byoc_cutlass_tiling_t *t) {
  int64_t wide = (int64_t)t->vectors * t->lanes, row_rest = t->rows % t->tile_rows, column_rest = t->columns % wide;
  bool whole_rows = t->rows >= t->tile_rows, whole_columns = t->columns >= wide;
  byoc_cutlass_define(text, names, "B_PADDED", t->b_padded);
  if (whole_rows && whole_columns) byoc_cutlass_emit_tile(text, "tile", t, t->tile_rows, wide);
  if (row_rest && whole_columns) byoc_cutlass_emit_tile(text, "tile_last_rows", t, row_rest, wide);
  if (whole_rows && column_rest) byoc_cutlass_emit_tile(text, "tile_last_columns", t, t->tile_rows, column_rest);
  if (row_rest && column_rest) byoc_cutlass_emit_tile(text, "tile_corner", t, row_rest, column_rest);
  byoc_plugin_string_t pick = {0};
  const char *row_one = row_rest && whole_rows ? "row_rest ? " : "",
             *column_one = column_rest && whole_columns ? "column_rest ? " : "";
  byoc_plugin_string_add(&pick, "((void)row_rest, (void)column_rest, (");
  // Spelt out as nested conditions over the tiles that exist.
  const char *corner = "FN(tile_corner)", *last_rows = "FN(tile_last_rows)", *last_columns = "FN(tile_last_columns)",
             *whole = "FN(tile)";
  if (row_rest) {
    byoc_plugin_string_add(&pick, "%s(", row_one);
    if (column_rest) byoc_plugin_string_add(&pick, "%s%s", column_one, corner);
    if (column_rest && whole_columns) byoc_plugin_string_add(&pick, " : ");
    if (whole_columns) byoc_plugin_string_add(&pick, "%s", last_rows);
    byoc_plugin_string_add(&pick, ")");
    if (whole_rows) byoc_plugin_string_add(&pick, " : ");
  }
  if (whole_rows) {
    byoc_plugin_string_add(&pick, "(");
    if (column_rest) byoc_plugin_string_add(&pick, "%s%s", column_one, last_columns);
    if (column_rest && whole_columns) byoc_plugin_string_add(&pick, " : ");
    if (whole_columns) byoc_plugin_string_add(&pick, "%s", whole);
    byoc_plugin_string_add(&pick, ")");
  }
  byoc_plugin_string_add(&pick, ")(__VA_ARGS__))");
  if (pick.failed) text->failed = true;
  byoc_plugin_string_add(text, "\n");
  byoc_cutlass_define_text(text, names, "TILES", "(...)", pick.data ? pick.data : "");
  byoc_plugin_string_deinit(&pick);
}

// One height: the whole tile, and one for each count of vectors that the grid can end with.
static void emit_open_row(byoc_plugin_string_t *text, byoc_plugin_string_t *pick, const byoc_cutlass_tiling_t *t,
                          int64_t rows) {
  char name[40];
  snprintf(name, sizeof name, "tile_of_%lld", (long long)rows);
  byoc_cutlass_emit_tile(text, name, t, rows, (int64_t)t->vectors * t->lanes);
  byoc_plugin_string_add(pick, "(LEFT >= %d ? FN(%s)", t->vectors * t->lanes, name);
  for (int32_t vectors = t->vectors; vectors >= 1; --vectors) {
    snprintf(name, sizeof name, "tile_of_%lld_last_%d", (long long)rows, vectors);
    // One column less than the vectors have: the call says how many there are in the last one.
    byoc_cutlass_emit_tile(text, name, t, rows, (int64_t)vectors * t->lanes - 1);
    if (vectors > 1)
      byoc_plugin_string_add(pick, " : LEFT > %d ? FN(%s)", (vectors - 1) * t->lanes, name);
    else
      byoc_plugin_string_add(pick, " : FN(%s))", name);
  }
}

void byoc_cutlass_emit_open_tiles(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                                  const byoc_cutlass_tiling_t *t) {
  const int64_t row_rest = t->rows % t->tile_rows;
  byoc_plugin_string_t pick = {0};
  byoc_cutlass_define(text, names, "B_PADDED", t->b_padded);
  byoc_plugin_string_add(&pick, "((void)row_rest, (void)column_rest, ");
  if (row_rest && t->rows > row_rest) byoc_plugin_string_add(&pick, "row_rest ? ");
  if (row_rest) emit_open_row(text, &pick, t, row_rest);
  if (row_rest && t->rows > row_rest) byoc_plugin_string_add(&pick, " : ");
  if (t->rows > row_rest) emit_open_row(text, &pick, t, t->tile_rows);
  byoc_plugin_string_add(&pick, ")(__VA_ARGS__)");
  if (pick.failed) text->failed = true;
  byoc_plugin_string_add(text, "\n");
  byoc_cutlass_define_text(text, names, "TILES", "(...)", pick.data ? pick.data : "");
  byoc_plugin_string_deinit(&pick);
}

void byoc_cutlass_emit_tiles_of_heights(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const char *macro,
                                        const char *tile, const byoc_cutlass_tiling_t *t) {
  const int64_t wide = (int64_t)t->vectors * t->lanes, column_rest = t->columns % wide;
  byoc_plugin_string_t pick = {0};
  byoc_plugin_string_add(&pick, "switch ((height) * 2 + (rest)) {");
  for (int32_t height = 1; height <= t->tile_rows; ++height)
    for (int rest = 0; rest < 2; ++rest) {
      char name[40];
      if (rest ? column_rest == 0 : t->columns < wide) continue;
      snprintf(name, sizeof name, "%s_of_%d%s", tile, height, rest ? "_last_columns" : "");
      byoc_cutlass_emit_tile(text, name, t, height, rest ? column_rest : wide);
      byoc_plugin_string_add(&pick, " case %d: FN(%s)(__VA_ARGS__); break;", height * 2 + rest, name);
    }
  byoc_plugin_string_add(&pick, " }");
  if (pick.failed) text->failed = true;
  byoc_plugin_string_add(text, "\n");
  byoc_cutlass_define_text(text, names, macro, "(height, rest, ...)", pick.data ? pick.data : "");
  byoc_plugin_string_deinit(&pick);
}

// SPDX-License-Identifier: Apache-2.0
// Products by weights of few bits as C.
#include <stdio.h>

#include "emit/emit.h"
#include "plan/plan_bits.h"

// A tile of `rows` rows as the function FN(tile_of_<rows>).
static void emit_tile(byoc_plugin_string_t *text, byoc_cutlass_isa_t isa, int64_t rows) {
  byoc_cutlass_names_t names = {0};
  byoc_plugin_string_add(text, "\n#define TILE_NAME FN(tile_of_%d)\n", (int)rows);
  byoc_cutlass_note_name(text, &names, "TILE_NAME");
  byoc_cutlass_define(text, &names, "TILE_ROWS", rows);
  byoc_cutlass_define(text, &names, "TILE_VECTORS", byoc_cutlass_bits_vectors(isa, rows));
  BYOC_CUTLASS_ADD_TEMPLATE(text, bits_tile);
  byoc_cutlass_undefine_all(text, &names);
}

// The tiles of all heights that groups of rows have, and TILES, which picks among them.
static void emit_tiles(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const byoc_cutlass_bits_t *bits,
                       const byoc_cutlass_plan_t *plan) {
  byoc_plugin_string_t pick = {0};
  int64_t low = 1, high = plan->rows;
  if (!bits->open_rows && bits->rows > 0) low = bits->rows / byoc_cutlass_ceil_div(bits->rows, plan->rows);
  byoc_plugin_string_add(&pick, "switch (height) {");
  for (int64_t rows = low; rows <= high; ++rows) {
    emit_tile(text, plan->isa, rows);
    byoc_plugin_string_add(&pick, " case %d: FN(tile_of_%d)(__VA_ARGS__); break;", (int)rows, (int)rows);
  }
  byoc_plugin_string_add(&pick, " }");
  if (pick.failed) text->failed = true;
  byoc_cutlass_define_text(text, names, "TILES", "(height, ...)", pick.data ? pick.data : "");
  byoc_plugin_string_deinit(&pick);
}

void byoc_cutlass_bits_emit(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                            const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_bits_t *bits = &problem->bits;
  const int64_t shares = byoc_cutlass_shares(problem, plan);
  static const char *const zeros[] = {"0", "ZEROS_OF_WORDS", "ZEROS_OF_FLOATS"};
  byoc_plugin_string_add(text, "\n// Product %lldx%lldx%lld by weights of %lld bits\n", (long long)bits->rows,
                         (long long)bits->columns, (long long)bits->depth, (long long)bits->bits);
  byoc_cutlass_define_inputs(text, names, &problem->inputs);
  byoc_cutlass_define(text, names, "INPUT_SCALES", problem->inputs.scales);
  byoc_cutlass_define(text, names, "INPUT_ZEROS", problem->inputs.zeros);
  byoc_cutlass_emit_epilogue(text, names, &problem->epilogue, "BIAS_OF_COLUMN");
  byoc_cutlass_define(text, names, "N", bits->columns);
  byoc_cutlass_define(text, names, "K", bits->depth);
  byoc_cutlass_define(text, names, "BLOCK", bits->block);
  byoc_cutlass_define(text, names, "BITS", bits->bits);
  byoc_cutlass_define_text(text, names, "HAS_ZEROS", "", zeros[bits->zeros]);
  byoc_cutlass_define(text, names, "ZERO", bits->zero);
  byoc_cutlass_define(text, names, "ROUNDS", bits->rounds);
  byoc_cutlass_define(text, names, "BYTES", problem->words.dot == BYOC_CUTLASS_DOT_I8X4);
  byoc_cutlass_define(text, names, "GROUP_MOST", plan->rows);
  byoc_cutlass_define(text, names, "SHARE_MACS", BYOC_CUTLASS_SHARE_MACS);
  byoc_cutlass_define(text, names, "SHARES", shares);
  byoc_cutlass_define(text, names, "SLOT_FLOATS",
                      (int64_t)(byoc_cutlass_workspace_bytes(problem, plan) / sizeof(float)) / shares);
  BYOC_CUTLASS_ADD_TEMPLATE(text, bits);
  emit_tiles(text, names, bits, plan);
  BYOC_CUTLASS_ADD_TEMPLATE(text, bits_entry);
  byoc_cutlass_note_name(text, names, "WORTH");
}

// SPDX-License-Identifier: Apache-2.0
// Writes matrix products as C: the sizes that the template names, then the template.
#include "emit/emit.h"
#include "pack/pack.h"

// A matrix index from the batch index, as a macro: repeated dimensions count once.
static void emit_matrix_index(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const char *name,
                              const byoc_cutlass_gemm_t *gemm, const bool *repeat) {
  byoc_plugin_string_t value = {0};
  int64_t inner = 1, stride = 1;
  byoc_plugin_string_add(&value, "(0");
  for (uint32_t i = gemm->batch_rank; i-- > 0;) {
    if (!repeat[i] && gemm->batch[i] > 1) {
      byoc_plugin_string_add(&value, " + (batch) / %lld %% %lld * %lld", (long long)inner, (long long)gemm->batch[i],
                             (long long)stride);
      stride *= gemm->batch[i];
    }
    inner *= gemm->batch[i];
  }
  byoc_plugin_string_add(&value, ")");
  if (value.failed) text->failed = true;
  byoc_cutlass_define_text(text, names, name, "(batch)", value.data ? value.data : "");
  byoc_plugin_string_deinit(&value);
}

// Tiles of all heights; if weights are f16 or bf16, also those of the first panel of rows, which widen them in
// registers and keep them for the other ones. Those prefetch nothing: it would take the place of the loads that they
// wait for.
static void emit_open_rows(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, bool half_weights,
                           const byoc_cutlass_tiling_t *tiling) {
  byoc_cutlass_tiling_t first = *tiling;
  byoc_cutlass_define(text, names, "B_PADDED", tiling->b_padded);
  byoc_cutlass_emit_tiles_of_heights(text, names, "TILES", "tile", tiling);
  first.b_type = "WEIGHT_T";
  first.ahead = 0;
  first.widens = true;
  if (half_weights) byoc_cutlass_emit_tiles_of_heights(text, names, "FIRST_TILES", "first", &first);
}

void byoc_cutlass_emit_gemm(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                            const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_gemm_t *gemm = &problem->gemm;
  int32_t lanes = byoc_cutlass_isa_lanes(plan->isa);
  byoc_plugin_string_add(text, "\n// Matrix product %lldx%lldx%lld, %lld of them, %s\n", (long long)gemm->m,
                         (long long)gemm->n, (long long)gemm->k, (long long)byoc_cutlass_batch(gemm),
                         gemm->constant_b ? "constant B" : "computed B");
  byoc_cutlass_emit_common(text, names, problem, plan, gemm->k);
  BYOC_CUTLASS_ADD_TEMPLATE(text, args);
  byoc_cutlass_emit_epilogue(text, names, &problem->epilogue, "BIAS_OF_COLUMN");
  byoc_cutlass_define(text, names, "BATCH", byoc_cutlass_batch(gemm));
  if (!gemm->open_rows) byoc_cutlass_define(text, names, "M", gemm->m);
  byoc_cutlass_define(text, names, "N", gemm->n);
  byoc_cutlass_define(text, names, "K", gemm->k);
  byoc_cutlass_define(text, names, "A_ROW", gemm->transpose_a ? 1 : gemm->k);
  byoc_cutlass_define(text, names, "A_DEPTH", gemm->transpose_a ? gemm->m : 1);
  byoc_cutlass_define(text, names, "ROW_PANEL", plan->rows);
  byoc_cutlass_define(text, names, "COLUMN_PANEL", (int64_t)plan->vectors * lanes);
  emit_matrix_index(text, names, "A_MATRIX", gemm, gemm->repeat_a);
  emit_matrix_index(text, names, "B_MATRIX", gemm, gemm->repeat_b);
  if (plan->form == BYOC_CUTLASS_FORM_DOT) {
    BYOC_CUTLASS_ADD_TEMPLATE(text, dot);
    BYOC_CUTLASS_ADD_TEMPLATE(text, item_shares);
    return;
  }
  if (gemm->constant_b)
    byoc_cutlass_define(text, names, "WEIGHTS_OF_MATRIX",
                        (int64_t)byoc_cutlass_packed_floats(problem, plan) / byoc_cutlass_weight_matrices(gemm));
  if (plan->form == BYOC_CUTLASS_FORM_FEW_ROWS) {
    byoc_cutlass_define(text, names, "STREAMS", plan->streams);
    byoc_cutlass_define(text, names, "A_MATRICES", byoc_cutlass_data_matrices(gemm));
    BYOC_CUTLASS_ADD_TEMPLATE(text, gemm_few_rows);
    BYOC_CUTLASS_ADD_TEMPLATE(text, item_shares);
    return;
  }
  // Row panels of a block share the prefetching of the next weights. If there is only one, reading is all there is to
  // do, and the hardware prefetches by itself.
  int64_t ahead = gemm->constant_b && plan->block_panels > 1
                      ? byoc_cutlass_ceil_div((int64_t)plan->vectors * lanes, plan->block_panels)
                      : 0;
  byoc_cutlass_define(text, names, "AHEAD", ahead);
  const bool half_weights = gemm->constant_b && byoc_cutlass_is_half(problem->types.weights);
  const bool packs_rows = gemm->constant_b ? !plan->direct : byoc_cutlass_is_half(problem->types.data);
  byoc_cutlass_define(text, names, "PACKS_ROWS", packs_rows);
  byoc_cutlass_tiling_t tiling = {.rows = gemm->m,
                                  .columns = gemm->n,
                                  .tile_rows = plan->rows,
                                  .vectors = plan->vectors,
                                  .lanes = lanes,
                                  .a_packed = packs_rows,
                                  .a_row = gemm->transpose_a ? 1 : gemm->k,
                                  .a_depth = gemm->transpose_a ? gemm->m : 1,
                                  .b_padded = gemm->constant_b || !plan->direct,
                                  .b_packed = gemm->constant_b || !plan->direct,
                                  .b_whole = !gemm->constant_b,
                                  .b_depth = gemm->n,
                                  .c_row = gemm->n,
                                  .ahead = half_weights ? (ahead + 1) / 2 : ahead,
                                  .b_type = gemm->constant_b || !plan->direct ? NULL : "WEIGHT_T",
                                  .partial_tile = byoc_cutlass_is_half(problem->types.result)};
  if (gemm->open_rows)
    emit_open_rows(text, names, half_weights, &tiling);
  else
    byoc_cutlass_emit_tiles(text, names, &tiling);
  if (gemm->constant_b)
    byoc_cutlass_define_text(text, names, "WEIGHT_COLUMNS", "(n)", "(((n) + LANES - 1) / LANES * LANES)");
  if (gemm->constant_b || packs_rows) BYOC_CUTLASS_ADD_TEMPLATE(text, gemm_pack_rows);
  if (gemm->open_rows) {
    BYOC_CUTLASS_ADD_TEMPLATE(text, gemm_open_rows);
    return;
  }
  if (gemm->constant_b) {
    BYOC_CUTLASS_ADD_TEMPLATE(text, gemm_weights);
  } else {
    byoc_cutlass_define(text, names, "B_DEPTH", gemm->transpose_b ? 1 : gemm->n);
    byoc_cutlass_define(text, names, "B_COLUMN", gemm->transpose_b ? gemm->k : 1);
    BYOC_CUTLASS_ADD_TEMPLATE(text, gemm);
  }
  BYOC_CUTLASS_ADD_TEMPLATE(text, panel_shares);
}

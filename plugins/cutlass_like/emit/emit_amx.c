// SPDX-License-Identifier: Apache-2.0
// Writes the parts of products of words that use the tiles of AMX.
#include "emit/emit_amx.h"

#include "plan/plan_amx.h"
#include "plan/plan_words.h"

// The product of the two operands of a tile. Data are the first operand of matrix products and the second one of
// convolutions, where bytes are unsigned: those of signed data have their highest bit flipped.
static const char *find_product(const byoc_cutlass_problem_t *problem) {
  const byoc_cutlass_words_t *words = &problem->words;
  if (words->dot == BYOC_CUTLASS_DOT_BF16X2) return "_tile_dpbf16ps";
  if (problem->kind == BYOC_CUTLASS_CONV) return words->unsigned_weights ? "_tile_dpbuud" : "_tile_dpbsud";
  if (words->data == BYOC_DTYPE_I8) return words->unsigned_weights ? "_tile_dpbsud" : "_tile_dpbssd";
  return words->unsigned_weights ? "_tile_dpbuud" : "_tile_dpbusd";
}

void byoc_cutlass_amx_emit(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                           const byoc_cutlass_problem_t *problem) {
  const byoc_cutlass_amx_t sizes = byoc_cutlass_amx_sizes(problem);
  byoc_cutlass_define(text, names, "AMX_DEPTH", sizes.depth);
  byoc_cutlass_define(text, names, "AMX_STEPS", sizes.steps);
  byoc_cutlass_define_text(text, names, "AMX_PRODUCT", "", find_product(problem));
  byoc_cutlass_define_text(text, names, "AMX_HEIGHT", "",
                           problem->kind == BYOC_CUTLASS_CONV ? "16" : "(M < 16 ? M : 16)");
  BYOC_CUTLASS_ADD_TEMPLATE(text, amx);
}

void byoc_cutlass_amx_emit_gemm(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                                const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_gemm_t *gemm = &problem->gemm;
  if (gemm->open_rows)
    byoc_cutlass_define_text(text, names, "M", "", "args->rows");
  else
    byoc_cutlass_define(text, names, "M", gemm->m);
  byoc_cutlass_define(text, names, "N", gemm->n);
  byoc_cutlass_define(text, names, "K", gemm->k);
  byoc_cutlass_define(text, names, "IN_PLACE", plan->direct);
  byoc_cutlass_define(text, names, "ROW_WORDS", byoc_cutlass_amx_sizes(problem).row);
  byoc_cutlass_define(text, names, "RAW_SIGNED", problem->words.data == BYOC_DTYPE_I8);
  BYOC_CUTLASS_ADD_TEMPLATE(text, amx_gemm);
}

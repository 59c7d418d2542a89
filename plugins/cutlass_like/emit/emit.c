// SPDX-License-Identifier: Apache-2.0
// A problem and its plan as C: the constants that a template names, then the template.
#include "emit/emit.h"

// Adds vectors of f32, and what products of words need of the instruction set.
static void add_isa_template(byoc_plugin_string_t *text, byoc_cutlass_isa_t isa) {
  switch (isa) {
#define BYOC_ISA(NAME, id, ...)                                                                                        \
  case BYOC_CUTLASS_ISA_##NAME:                                                                                        \
    BYOC_CUTLASS_ADD_TEMPLATE(text, vec_##id);                                                                         \
    break;
#include "byoc/isa.def"
  }
}

static void add_isa_words(byoc_plugin_string_t *text, byoc_cutlass_isa_t isa) {
  switch (isa) {
#define BYOC_ISA(NAME, id, ...)                                                                                        \
  case BYOC_CUTLASS_ISA_##NAME:                                                                                        \
    BYOC_CUTLASS_ADD_TEMPLATE(text, words_##id);                                                                       \
    break;
#include "byoc/isa.def"
  }
}

void byoc_cutlass_emit_half(byoc_plugin_string_t *text, byoc_cutlass_isa_t isa) {
  BYOC_CUTLASS_ADD_TEMPLATE(text, half_bits);
  switch (isa) {
#define BYOC_ISA(NAME, id, ...)                                                                                        \
  case BYOC_CUTLASS_ISA_##NAME:                                                                                        \
    BYOC_CUTLASS_ADD_TEMPLATE(text, half_##id);                                                                        \
    break;
#include "byoc/isa.def"
  }
  BYOC_CUTLASS_ADD_TEMPLATE(text, half);
}

void byoc_cutlass_emit_prelude(byoc_plugin_string_t *text, byoc_cutlass_isa_t isa) {
  BYOC_CUTLASS_ADD_TEMPLATE(text, prelude);
  byoc_plugin_string_add(text, "\n");
  add_isa_template(text, isa);
  byoc_plugin_string_add(text, "\n");
  BYOC_CUTLASS_ADD_TEMPLATE(text, vec_math);
  byoc_plugin_string_add(text, "\n");
  BYOC_CUTLASS_ADD_TEMPLATE(text, winograd_math);
  byoc_plugin_string_add(text, "\n");
  BYOC_CUTLASS_ADD_TEMPLATE(text, words_once);
  byoc_plugin_string_add(text, "\n");
  BYOC_CUTLASS_ADD_TEMPLATE(text, words);
  byoc_plugin_string_add(text, "\n");
  add_isa_words(text, isa);
  byoc_plugin_string_add(text, "\n");
  BYOC_CUTLASS_ADD_TEMPLATE(text, words_lanes);
}

void byoc_cutlass_emit(byoc_plugin_string_t *text, const byoc_cutlass_problem_t *problem,
                       const byoc_cutlass_plan_t *plan, const char *symbol) {
  byoc_cutlass_names_t names = {0};
  byoc_plugin_string_add(text, "\n// ---- %s ----\n", symbol);
  if (byoc_cutlass_has_half(problem)) byoc_cutlass_emit_half(text, plan->isa);
  byoc_cutlass_define_text(text, &names, "SYMBOL", "", symbol);
  if (problem->kind == BYOC_CUTLASS_BITS || problem->words.dot != BYOC_CUTLASS_DOT_F32) {
    if (problem->kind == BYOC_CUTLASS_BITS)
      byoc_cutlass_bits_emit(text, &names, problem, plan);
    else
      byoc_cutlass_words_emit(text, &names, problem, plan);
    byoc_cutlass_undefine_all(text, &names);
    return;
  }
  if (problem->kind == BYOC_CUTLASS_ATTENTION)
    byoc_cutlass_emit_attention(text, &names, problem, plan);
  else if (problem->kind == BYOC_CUTLASS_CONV)
    byoc_cutlass_emit_conv(text, &names, problem, plan);
  else
    byoc_cutlass_emit_gemm(text, &names, problem, plan);
  byoc_plugin_string_add(text, "\n");
  BYOC_CUTLASS_ADD_TEMPLATE(text, entry);
  byoc_cutlass_undefine_all(text, &names);
}

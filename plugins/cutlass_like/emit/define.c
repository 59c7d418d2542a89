// SPDX-License-Identifier: Apache-2.0
// The constants that templates name: numbers, floats, epilogues, and what every template reads.
#include <math.h>

#include "emit/emit.h"

void byoc_cutlass_note_name(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const char *name) {
  if (names->count == sizeof names->name / sizeof *names->name)
    text->failed = true;
  else
    names->name[names->count++] = name;
}

void byoc_cutlass_define(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const char *name, int64_t value) {
  byoc_cutlass_note_name(text, names, name);
  byoc_plugin_string_add(text, "#define %s %lld\n", name, (long long)value);
}

void byoc_cutlass_define_text(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const char *name,
                              const char *arguments, const char *value) {
  byoc_cutlass_note_name(text, names, name);
  byoc_plugin_string_add(text, "#define %s%s %s\n", name, arguments, value);
}

void byoc_cutlass_undefine_all(byoc_plugin_string_t *text, const byoc_cutlass_names_t *names) {
  for (size_t i = 0; i < names->count; ++i) byoc_plugin_string_add(text, "#undef %s\n", names->name[i]);
}

// A float as a C literal that reads back as the same bits; infinities and NaN as builtins of the compiler.
static void add_float(byoc_plugin_string_t *text, float value) {
  if (isnan(value))
    byoc_plugin_string_add(text, "__builtin_nanf(\"\")");
  else if (isinf(value))
    byoc_plugin_string_add(text, "%s__builtin_inff()", value < 0 ? "-" : "");
  else
    byoc_plugin_string_add(text, "%af", (double)value);
}

void byoc_cutlass_define_float(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const char *name, float value) {
  byoc_cutlass_note_name(text, names, name);
  byoc_plugin_string_add(text, "#define %s ", name);
  add_float(text, value);
  byoc_plugin_string_add(text, "\n");
}

void byoc_cutlass_emit_epilogue(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                                const byoc_cutlass_epilogue_t *epilogue, const char *bias_kind) {
  byoc_cutlass_define_text(text, names, "HAS_BIAS", "", epilogue->has_bias ? bias_kind : "0");
  byoc_cutlass_define(text, names, "HAS_RESIDUAL", epilogue->has_residual);
  static const char *const call[BYOC_CUTLASS_ACT_COUNT] = {
      "",       "v_relu",      "v_leaky_relu",   "v_clip",       "v_sigmoid", "v_tanh",
      "v_gelu", "v_gelu_tanh", "v_hard_sigmoid", "v_hard_swish", "v_silu"};
  static const uint32_t parameters[BYOC_CUTLASS_ACT_COUNT] = {
      [BYOC_CUTLASS_ACT_LEAKY_RELU] = 1, [BYOC_CUTLASS_ACT_CLIP] = 2, [BYOC_CUTLASS_ACT_HARD_SIGMOID] = 2};
  byoc_plugin_string_t value = {0};
  byoc_plugin_string_add(&value, "%s(", call[epilogue->activation]);
  if (epilogue->alpha != 1.0f) {
    byoc_plugin_string_add(&value, "(sum) * ");
    add_float(&value, epilogue->alpha);
  } else {
    byoc_plugin_string_add(&value, "(sum)");
  }
  if (epilogue->has_bias) byoc_plugin_string_add(&value, " + (bias)");
  byoc_plugin_string_t residual = {0};
  if (epilogue->has_residual) {
    byoc_plugin_string_add(&residual, " + (residual)");
    if (epilogue->beta != 1.0f) {
      byoc_plugin_string_add(&residual, " * ");
      add_float(&residual, epilogue->beta);
    }
    if (!epilogue->residual_last && residual.data) byoc_plugin_string_add(&value, "%s", residual.data);
  }
  if (parameters[epilogue->activation] > 0) {
    byoc_plugin_string_add(&value, ", ");
    add_float(&value, epilogue->p0);
  }
  if (parameters[epilogue->activation] > 1) {
    byoc_plugin_string_add(&value, ", ");
    add_float(&value, epilogue->p1);
  }
  byoc_plugin_string_add(&value, ")");
  if (epilogue->has_residual && epilogue->residual_last && residual.data)
    byoc_plugin_string_add(&value, "%s", residual.data);
  if (value.failed || residual.failed) text->failed = true;
  byoc_cutlass_define_text(text, names, "FINISH", "(sum, bias, residual)", value.data ? value.data : "");
  byoc_plugin_string_deinit(&value);
  byoc_plugin_string_deinit(&residual);
}

void byoc_cutlass_define_inputs(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                                const byoc_cutlass_inputs_t *inputs) {
  byoc_cutlass_define(text, names, "INPUT_DATA", inputs->data);
  byoc_cutlass_define(text, names, "INPUT_WEIGHTS", inputs->weights);
  byoc_cutlass_define(text, names, "INPUT_BIAS", inputs->bias);
  byoc_cutlass_define(text, names, "INPUT_RESIDUAL", inputs->residual);
}

static const char *type_name(uint32_t type) {
  return type == BYOC_DTYPE_F16 ? "f16_t" : type == BYOC_DTYPE_BF16 ? "bf16_t" : "float";
}

void byoc_cutlass_define_types(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                               const byoc_cutlass_types_t *types) {
  byoc_cutlass_define_text(text, names, "DATA_T", "", type_name(types->data));
  byoc_cutlass_define_text(text, names, "WEIGHT_T", "", type_name(types->weights));
  byoc_cutlass_define_text(text, names, "RESIDUAL_T", "", type_name(types->residual));
  byoc_cutlass_define_text(text, names, "RESULT_T", "", type_name(types->result));
  byoc_cutlass_define(text, names, "HALF_DATA", byoc_cutlass_is_half(types->data));
  byoc_cutlass_define(text, names, "HALF_WEIGHTS", byoc_cutlass_is_half(types->weights));
  byoc_cutlass_define(text, names, "HALF_RESULT", byoc_cutlass_is_half(types->result));
}

// What a share keeps in its workspace, and what is prefetched: addresses and steps count floats.
static void emit_scratch(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const byoc_cutlass_problem_t *problem,
                         const byoc_cutlass_plan_t *plan) {
  const byoc_cutlass_types_t *types = &problem->types;
  const bool is_half = byoc_cutlass_has_half(problem);
  byoc_cutlass_scratch_t sizes;
  byoc_cutlass_scratch_sizes(problem, plan, &sizes);
  byoc_cutlass_define(text, names, "PANEL_FLOATS", sizes.panels);
  byoc_cutlass_define(text, names, "WEIGHTS_AT", sizes.panels + sizes.partial);
  byoc_cutlass_define(text, names, "PARTIAL_PANELS", sizes.partial_panels);
  byoc_cutlass_define_text(text, names, "PARTIAL_AT", "(at)",
                           sizes.partial_panels ? "(partial + ((w - first) * BLOCK_PANELS + p) * TILE_FLOATS)"
                           : byoc_cutlass_is_half(types->result) ? "NULL"
                                                                 : "(args->output + (at))");
  byoc_cutlass_define(text, names, "TILE_FLOATS",
                      (int64_t)plan->rows * plan->vectors * byoc_cutlass_isa_lanes(plan->isa));
  byoc_cutlass_define_text(text, names, "AHEAD_OF", "(p)", is_half ? "((const float *)(const void *)(p))" : "(p)");
  byoc_cutlass_define_text(text, names, "AHEAD_STEP", "",
                           byoc_cutlass_is_half(types->weights) ? "((AHEAD + 1) / 2)" : "AHEAD");
  byoc_cutlass_define_text(text, names, "AHEAD_PIXEL_STEP", "(n)",
                           byoc_cutlass_is_half(types->data) ? "((n) / 2)" : "(n)");
  byoc_cutlass_define(text, names, "PREPARES", plan->form == BYOC_CUTLASS_FORM_FEW_ROWS && sizes.widened > 0);
}

void byoc_cutlass_emit_common(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                              const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan, int64_t depth) {
  byoc_cutlass_define_inputs(text, names, &problem->inputs);
  byoc_cutlass_define_types(text, names, &problem->types);
  emit_scratch(text, names, problem, plan);
  byoc_cutlass_define(text, names, "IS_OPEN", byoc_cutlass_is_open(problem));
  bool is_conv = problem->kind == BYOC_CUTLASS_CONV; // whose sizes are functions of the call
  byoc_cutlass_define(text, names, "OPEN_SIZES", byoc_cutlass_open_sizes(problem));
  byoc_cutlass_define_text(text, names, "BLOCKS", "", is_conv ? "FN(blocks)(args)" : "FN(blocks)");
  byoc_cutlass_define_text(text, names, "UNITS", "",
                           byoc_cutlass_is_open(problem) ? "args->items"
                           : is_conv                     ? "FN(items)(args)"
                                                         : "FN(items)");
  byoc_cutlass_define(text, names, "SHARE_MACS", byoc_cutlass_share_macs(problem, plan));
  byoc_cutlass_define(text, names, "TRANSPOSED", plan->transposed);
  byoc_cutlass_define(text, names, "DIRECT", plan->direct);
  byoc_cutlass_define(text, names, "BLOCK_DEPTH", plan->block_depth);
  byoc_cutlass_define(text, names, "BLOCK_PANELS", plan->block_panels);
  byoc_cutlass_define(text, names, "SPLIT_DEPTH", plan->block_depth < depth);
  byoc_cutlass_define(text, names, "TAKES_PIECES", byoc_cutlass_takes_pieces(problem, plan));
  int64_t shares = byoc_cutlass_shares(problem, plan);
  byoc_cutlass_define(text, names, "SHARES", shares);
  byoc_cutlass_define(text, names, "SLOT_FLOATS",
                      (int64_t)(byoc_cutlass_workspace_bytes(problem, plan) / sizeof(float)) / shares);
}

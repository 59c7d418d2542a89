// SPDX-License-Identifier: Apache-2.0
// Writes attention as C: the sizes that the template names, then the template.
#include <stdio.h>
#include <string.h>

#include "emit/emit.h"
#include "plan/plan_attention.h"

// The floats between two batches, heads and rows of an operand; `heads`, `length` and `size` are names of its sizes.
static void emit_steps(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const char *const steps[3], bool flat,
                       const char *heads, const char *length, const char *size) {
  char batch[96], head[96], row[96];
  snprintf(batch, sizeof(batch), "((int64_t)%s * %s * %s)", heads, length, size);
  snprintf(head, sizeof(head), "((int64_t)%s * %s)", length, size);
  snprintf(row, sizeof(row), "((int64_t)%s * %s)", heads, size);
  byoc_cutlass_define_text(text, names, steps[0], "", batch);
  byoc_cutlass_define_text(text, names, steps[1], "", flat ? size : head);
  byoc_cutlass_define_text(text, names, steps[2], "", flat ? row : size);
}

// The floats between two of the mask's batches, heads, rows and keys.
static void emit_mask_steps(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const bool axes[4]) {
  static const char *const steps[] = {"MASK_BATCH", "MASK_HEAD", "MASK_ROW", "MASK_KEY"};
  static const char *const sizes[] = {"BATCH", "HEADS", "QUERIES", "KEYS"};
  char step[96] = "((int64_t)1)";
  for (int i = 4; i-- > 0;) {
    byoc_cutlass_define_text(text, names, steps[i], "", axes[i] ? step : "0");
    const size_t length = strlen(step);
    if (axes[i]) snprintf(step + length - 1, sizeof(step) - length + 1, " * %s)", sizes[i]);
  }
}

// Batches, heads and lengths, where they are not those of a call.
static void emit_sizes(byoc_plugin_string_t *text, byoc_cutlass_names_t *names, const byoc_cutlass_attention_t *a) {
  byoc_cutlass_define(text, names, "HEADS", a->heads);
  byoc_cutlass_define(text, names, "KV_HEADS", a->kv_heads);
  byoc_cutlass_define(text, names, "SIZE", a->size);
  byoc_cutlass_define(text, names, "VALUE_SIZE", a->value_size);
  byoc_cutlass_define(text, names, "HAS_PAST", a->past > 0);
  byoc_cutlass_define_text(text, names, "ROW_PANELS", "", a->open ? "args->row_panels" : "FN(row_panels)");
  if (a->open) {
    byoc_cutlass_define_text(text, names, "BATCH", "", "args->batch");
    byoc_cutlass_define_text(text, names, "QUERIES", "", "args->queries");
    byoc_cutlass_define_text(text, names, "KEYS", "", "args->keys");
    byoc_cutlass_define_text(text, names, "PAST", "", a->past > 0 ? "args->past" : "0");
    return;
  }
  byoc_cutlass_define(text, names, "BATCH", a->batch);
  byoc_cutlass_define(text, names, "QUERIES", a->queries);
  byoc_cutlass_define(text, names, "KEYS", a->keys);
  byoc_cutlass_define(text, names, "PAST", a->past);
}

void byoc_cutlass_emit_attention(byoc_plugin_string_t *text, byoc_cutlass_names_t *names,
                                 const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  static const char *const q[] = {"Q_BATCH", "Q_HEAD", "Q_ROW"}, *const k[] = {"K_BATCH", "K_HEAD", "K_ROW"};
  static const char *const v[] = {"V_BATCH", "V_HEAD", "V_ROW"}, *const y[] = {"Y_BATCH", "Y_HEAD", "Y_ROW"};
  const byoc_cutlass_attention_t *a = &problem->attention;
  byoc_cutlass_attention_sizes_t sizes;
  byoc_cutlass_attention_sizes(problem, plan, &sizes);
  int64_t lanes = byoc_cutlass_isa_lanes(plan->isa), panel = plan->vectors * lanes;
  if (a->open)
    byoc_plugin_string_add(text,
                           "\n// Attention of a number of queries and keys that a call decides, %lld heads of %lld\n",
                           (long long)a->heads, (long long)a->size);
  else
    byoc_plugin_string_add(text, "\n// Attention of %lld queries to %lld keys, %lld heads of %lld\n",
                           (long long)a->queries, (long long)a->keys, (long long)a->heads, (long long)a->size);
  byoc_cutlass_emit_common(text, names, problem, plan, plan->block_depth);
  byoc_cutlass_define(text, names, "HAS_BIAS", 1); // the values
  byoc_cutlass_define(text, names, "HAS_RESIDUAL", a->has_mask);
  byoc_cutlass_define(text, names, "CAUSAL", a->causal);
  emit_sizes(text, names, a);
  byoc_cutlass_define(text, names, "WHOLE_VECTORS", a->size % lanes == 0 && a->value_size % lanes == 0);
  byoc_cutlass_define(text, names, "INPUT_PAST_KEYS", problem->inputs.past_keys);
  byoc_cutlass_define(text, names, "INPUT_PAST_VALUES", problem->inputs.past_values);
  byoc_cutlass_define(text, names, "ROW_PANEL", plan->rows);
  byoc_cutlass_define(text, names, "KEY_PANEL", panel);
  byoc_cutlass_define(text, names, "KEY_BLOCK", plan->block_depth);
  byoc_cutlass_define(text, names, "VALUE_VECTORS", plan->vectors);
  byoc_cutlass_define(text, names, "SCORE_ROW", sizes.score_row);
  byoc_cutlass_define(text, names, "VALUE_ROW", sizes.value_row);
  byoc_cutlass_define(text, names, "SPAN_PANELS", sizes.span_panels);
  byoc_cutlass_define(text, names, "RUNNING_ROWS", sizes.running_rows);
  byoc_cutlass_define_float(text, names, "SCALE", a->scale);
  emit_steps(text, names, q, a->flat, "HEADS", "QUERIES", "SIZE");
  emit_steps(text, names, k, a->flat, "KV_HEADS", "(KEYS - PAST)", "SIZE");
  emit_steps(text, names, v, a->flat, "KV_HEADS", "(KEYS - PAST)", "VALUE_SIZE");
  emit_steps(text, names, y, a->flat, "HEADS", "QUERIES", "VALUE_SIZE");
  emit_mask_steps(text, names, a->mask_axes);
  BYOC_CUTLASS_ADD_TEMPLATE(text, attention);
}

// Attention as C.
#include "attention.h"
#include "emit.h"

// The floats between two batches, heads and rows of an operand of `heads` heads, `length` rows and `size` columns.
static void emit_steps(byoc_cutlass_text_t *text, byoc_cutlass_names_t *names, const char *const steps[3], bool flat,
                       int64_t heads, int64_t length, int64_t size) {
  byoc_cutlass_define(text, names, steps[0], heads * length * size);
  byoc_cutlass_define(text, names, steps[1], flat ? size : length * size);
  byoc_cutlass_define(text, names, steps[2], flat ? heads * size : size);
}

// The next cache is written past the processor's caches if it would push out too much there, and if vectors fit its
// rows.
static bool streams_cache(const byoc_cutlass_attention_t *a, int64_t lanes) {
  enum { LEAST_BYTES = 256 * 1024 };
  int64_t floats = a->batch * a->kv_heads * a->keys * (a->size + a->value_size);
  return floats * (int64_t)sizeof(float) >= LEAST_BYTES && a->size % lanes == 0 && a->value_size % lanes == 0;
}

void byoc_cutlass_emit_attention(byoc_cutlass_text_t *text, byoc_cutlass_names_t *names,
                                 const byoc_cutlass_problem_t *problem, const byoc_cutlass_plan_t *plan) {
  static const char *const q[] = {"Q_BATCH", "Q_HEAD", "Q_ROW"}, *const k[] = {"K_BATCH", "K_HEAD", "K_ROW"};
  static const char *const v[] = {"V_BATCH", "V_HEAD", "V_ROW"}, *const y[] = {"Y_BATCH", "Y_HEAD", "Y_ROW"};
  static const char *const mask[] = {"MASK_BATCH", "MASK_HEAD", "MASK_ROW", "MASK_KEY"};
  const byoc_cutlass_attention_t *a = &problem->attention;
  byoc_cutlass_attention_sizes_t sizes;
  byoc_cutlass_attention_sizes(problem, plan, &sizes);
  int64_t panel = (int64_t)plan->vectors * byoc_cutlass_isa_lanes(plan->isa);
  byoc_cutlass_text_add(text, "\n// Attention of %lld queries to %lld keys, %lld heads of %lld\n",
                        (long long)a->queries, (long long)a->keys, (long long)a->heads, (long long)a->size);
  byoc_cutlass_emit_common(text, names, problem, plan, plan->block_depth);
  byoc_cutlass_define(text, names, "HAS_BIAS", 1); // the values
  byoc_cutlass_define(text, names, "HAS_RESIDUAL", a->has_mask);
  byoc_cutlass_define(text, names, "CAUSAL", a->causal);
  byoc_cutlass_define(text, names, "BATCH", a->batch);
  byoc_cutlass_define(text, names, "HEADS", a->heads);
  byoc_cutlass_define(text, names, "GROUP", a->heads / a->kv_heads);
  byoc_cutlass_define(text, names, "QUERIES", a->queries);
  byoc_cutlass_define(text, names, "KEYS", a->keys);
  byoc_cutlass_define(text, names, "PAST", a->past);
  byoc_cutlass_define(text, names, "STREAM", streams_cache(a, panel / plan->vectors));
  byoc_cutlass_define(text, names, "INPUT_PAST_KEYS", problem->inputs.past_keys);
  byoc_cutlass_define(text, names, "INPUT_PAST_VALUES", problem->inputs.past_values);
  byoc_cutlass_define(text, names, "SIZE", a->size);
  byoc_cutlass_define(text, names, "VALUE_SIZE", a->value_size);
  byoc_cutlass_define(text, names, "ROW_PANEL", plan->rows);
  byoc_cutlass_define(text, names, "KEY_PANEL", panel);
  byoc_cutlass_define(text, names, "KEY_BLOCK", plan->block_depth);
  byoc_cutlass_define(text, names, "VALUE_VECTORS", plan->vectors);
  byoc_cutlass_define(text, names, "SCORE_ROW", sizes.score_row);
  byoc_cutlass_define(text, names, "VALUE_ROW", sizes.value_row);
  byoc_cutlass_define(text, names, "RUNNING_ROWS", sizes.running_rows);
  byoc_cutlass_define_float(text, names, "SCALE", a->scale);
  emit_steps(text, names, q, a->flat, a->heads, a->queries, a->size);
  emit_steps(text, names, k, a->flat, a->kv_heads, a->keys - a->past, a->size);
  emit_steps(text, names, v, a->flat, a->kv_heads, a->keys - a->past, a->value_size);
  emit_steps(text, names, y, a->flat, a->heads, a->queries, a->value_size);
  for (int i = 0; i < 4; ++i) byoc_cutlass_define(text, names, mask[i], a->mask_steps[i]);
  BYOC_CUTLASS_ADD_TEMPLATE(text, attention);
}

// SPDX-License-Identifier: Apache-2.0
// The rule about what functions show of a run, and what users set: a run that wants steps, counters and tensors gives
// the same results, all reports can be shown, and engines and drivers start with each value of their run-time options.
#include <stdlib.h>
#include <string.h>

#include "core/module/runtime_options.h"
#include "tools/plugin_check/trial.h"

enum { MOST_SPECIMENS = 60 };

typedef struct shown_t {
  size_t tensors, steps, counters;
} shown_t;

static void see_tensor(void *self, const byoc_trace_event_t *event) {
  ((shown_t *)self)->tensors += strcmp(event->op, BYOC_TRACE_INNER) == 0;
}

static void see_step(void *self, const char *name, uint64_t duration_ns) {
  (void)name, (void)duration_ns;
  ((shown_t *)self)->steps += 1;
}

static void see_counter(void *self, const char *name, const char *unit, double value) {
  (void)name, (void)unit, (void)value;
  ((shown_t *)self)->counters += 1;
}

// One run of the specimens; `shown` NULL: nothing is wanted.
static byoc_status_t run(trial_t *trial, const trial_build_t *built, shown_t *shown, byoc_diag_t *diag,
                         tensors_t *out_outputs) {
  const byoc_host_program_t *program = built->build.result.program;
  byoc_build_evaluation_t evaluation;
  *out_outputs = (tensors_t){0};
  BYOC_RETURN_IF_ERROR(byoc_build_evaluate(&built->build, 1, diag, &evaluation));
  tensors_t inputs;
  tensors_init(&inputs, program->inputs.data, program->inputs.count);
  tensors_init(out_outputs, program->outputs.data, program->outputs.count);
  tensors_fill(trial, &inputs);
  tensors_spoil(out_outputs);
  byoc_status_t status = BYOC_OK;
  if (shown != NULL) {
    status = byoc_evaluator_trace(evaluation.evaluator, see_tensor, shown, diag);
    byoc_evaluator_profile(evaluation.evaluator, see_step, see_counter, shown);
  }
  if (status == BYOC_OK) {
    status = byoc_evaluator_run(evaluation.evaluator, (const void *const *)inputs.data, out_outputs->data, diag);
  }
  tensors_deinit(&inputs);
  byoc_build_evaluation_end(&evaluation);
  return status;
}

static void compare_bytes(trial_t *trial, const tensors_t *plain, const tensors_t *shown) {
  for (size_t i = 0; i < plain->count; ++i) {
    if (memcmp(plain->data[i], shown->data[i], plain->sizes_bytes[i]) == 0) continue;
    const int64_t specimen = specimen_of_name(plain->names[i]);
    const bool is_known = specimen >= 0 && (size_t)specimen < trial->specimens.items.count;
    check_fail(trial->check, "%s: the result is another one if the run is profiled and traced",
               is_known ? trial->specimens.items.data[specimen]->label : plain->names[i]);
    return;
  }
}

// ---- run-time options ----

static void try_value(trial_t *trial, trial_build_t *built, const char *owner, const char *name, const char *value) {
  byoc_diag_t diag = {0};
  tensors_t outputs = {0};
  char full[200];
  snprintf(full, sizeof(full), "%.90s.%.90s", owner, name);
  const byoc_option_value_t set = {.name = full, .value = value};
  built->build.options.runtime_values = (byoc_runtime_values_t){&set, 1};
  check_doing(trial->check, "running with the run-time option %s=%.60s", full, value);
  if (run(trial, built, NULL, &diag, &outputs) != BYOC_OK) {
    check_fail_diag(trial->check, &diag, "with the run-time option %s=%.60s", full, value);
  }
  built->build.options.runtime_values = (byoc_runtime_values_t){0};
  tensors_deinit(&outputs);
}

static void try_option(trial_t *trial, trial_build_t *built, const char *owner, const byoc_runtime_option_row_t *row) {
  char low[64], high[64];
  snprintf(low, sizeof(low), "%lld", (long long)row->minimum);
  snprintf(high, sizeof(high), "%lld", (long long)row->maximum);
  if (row->type == BYOC_RUNTIME_OPTION_FLOAT) {
    snprintf(low, sizeof(low), "%.17g", row->minimum_f64);
    snprintf(high, sizeof(high), "%.17g", row->maximum_f64);
  }
  if (row->type == BYOC_RUNTIME_OPTION_BOOL) snprintf(high, sizeof(high), "1");
  for (const char *at = row->choices; at != NULL && *at != '\0';) {
    const size_t size = strcspn(at, "|");
    snprintf(low, sizeof(low), "%.*s", (int)size, at);
    try_value(trial, built, owner, row->name, low);
    at += size + (at[size] == '|');
  }
  if (row->type == BYOC_RUNTIME_OPTION_CHOICE || row->type == BYOC_RUNTIME_OPTION_STRING) return;
  try_value(trial, built, owner, row->name, low);
  if (strcmp(low, high) != 0) try_value(trial, built, owner, row->name, high);
}

static bool is_used(const byoc_host_program_t *program, const byoc_runtime_module_t *module) {
  for (size_t i = 0; i < program->engines.count; ++i) {
    if (program->engines.data[i].engine == module) return true;
  }
  for (size_t i = 0; i < program->devices.count; ++i) {
    if (strcmp(program->devices.data[i]->driver, byoc_runtime_module_given_name(module)) == 0) return true;
  }
  return false;
}

static void try_options(trial_t *trial, trial_build_t *built) {
  byoc_arena_t arena;
  byoc_arena_init(&arena, byoc_allocator_system());
  for (size_t i = 0; i < built->module->runtime_modules.count; ++i) {
    const byoc_runtime_module_t *module = built->module->runtime_modules.data[i];
    byoc_diag_t diag = {0};
    byoc_runtime_schema_t schema;
    if (module->runtime_options == NULL || !is_used(built->build.result.program, module)) continue;
    check_ok(trial->check, byoc_runtime_module_read_options(module, &arena, &diag, &schema), &diag,
             "reading its run-time options");
    for (uint32_t k = 0; k < schema.count; ++k) try_option(trial, built, schema.owner, &schema.rows[k]);
    check_property(trial->check, "'%s' has %u run-time options", schema.owner, (unsigned)schema.count);
  }
  byoc_arena_deinit(&arena);
}

// ---- the rule ----

static void show(trial_t *trial) {
  byoc_diag_t diag = {0};
  trial_build_t built;
  tensors_t plain = {0}, seen = {0};
  shown_t shown = {0};
  trial_add_usual(trial, MOST_SPECIMENS);
  const size_t count = trial->specimens.items.count;
  check_ok(trial->check,
           trial_open(trial, 0, count, &trial->targets, (byoc_placer_t){0}, BYOC_BUILD_ALL, byoc_allocator_system(),
                      &diag, &built),
           &diag, "compiling specimens of its rules");
  check_doing(trial->check, "running %zu specimens", count);
  check_ok(trial->check, run(trial, &built, NULL, &diag, &plain), &diag, "running specimens of its rules");
  check_doing(trial->check, "running %zu specimens, profiled and traced", count);
  check_ok(trial->check, run(trial, &built, &shown, &diag, &seen), &diag,
           "running specimens of its rules, profiled and traced");
  compare_bytes(trial, &plain, &seen);
  check_property(trial->check, "it reports %zu steps, %zu counters and %zu tensors of these specimens", shown.steps,
                 shown.counters, shown.tensors);
  try_options(trial, &built);
  tensors_deinit(&seen);
  tensors_deinit(&plain);
  trial_close(&built);
}

void check_results_shown(check_t *check) {
  trial_each(check, NULL, false, show);
}

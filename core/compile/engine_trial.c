// SPDX-License-Identifier: Apache-2.0
// Compiles a model in child processes to learn whose code needs an engine.
#include "core/compile/engine_trial.h"

#include <string.h>

#include "core/base/child.h"
#include "core/base/log.h"
#include "core/base/string.h"
#include "core/base/task.h"
#include "core/module/runtime_module.h"

// A target without a backend is the native one, and code for a device is no engine's.
static bool may_use_engine(const byoc_target_t *target) {
  return target->kind->backend != NULL && !byoc_target_runs_on_device(target);
}

static bool is_open(const byoc_engine_trial_t *trial, const bool *uses_engine) {
  for (size_t t = 0; t < trial->targets->targets.count; ++t) {
    if (!uses_engine[t] && may_use_engine(trial->targets->targets.data[t])) return true;
  }
  return false;
}

// ---- in the child ----

typedef struct attempt_t {
  const byoc_engine_trial_t *trial;
  const bool *uses_engine;
} attempt_t;

// `answer`: a bool for each target, and one that is true if the trial came to its end.
static void attempt(void *self, void *answer) {
  const attempt_t *a = self;
  const byoc_target_list_t *targets = a->trial->targets;
  const byoc_graph_module_t *module = a->trial->module;
  bool *found = answer;
  if (a->trial->compile(a->trial->self, a->uses_engine, NULL) != BYOC_OK) return;
  for (size_t t = 0; t < targets->targets.count; ++t) {
    for (size_t k = 0; k < module->runtime_modules.count; ++k) {
      const byoc_runtime_module_t *made = module->runtime_modules.data[k];
      // Every function that an engine runs has a description of its own.
      const bool is_its =
          made->kind == BYOC_RUNTIME_MODULE_JSON && strcmp(made->target, targets->targets.data[t]->text) == 0;
      found[t] = found[t] || is_its;
    }
  }
  found[targets->targets.count] = true;
}

// ---- the trials ----

static void report(const byoc_engine_trial_t *trial, const bool *uses_engine) {
  for (size_t t = 0; t < trial->targets->targets.count; ++t) {
    if (!uses_engine[t]) continue;
    byoc_log(BYOC_LOG_INFO, "the plan without engines leaves out '%s'", trial->targets->targets.data[t]->kind->name);
  }
}

static byoc_status_t try_once(const byoc_engine_trial_t *trial, bool *found, byoc_diag_t *diag, bool *uses_engine,
                              bool *out_grew) {
  const size_t count = trial->targets->targets.count;
  attempt_t work = {trial, uses_engine};
  byoc_diag_t reason = {0};
  *out_grew = false;
  const byoc_status_t status = byoc_child_run(&(byoc_child_limits_t){.contains_foreign = true}, attempt, &work, found,
                                              (count + 1) * sizeof(*found), &reason);
  BYOC_RETURN_IF_ERROR(byoc_task_check(diag)); // the build was cancelled
  if (status != BYOC_OK) {
    byoc_log(BYOC_LOG_WARNING,
             "it is not known which targets need engines, so that --fallback may lack a plan without "
             "them: %s",
             reason.message);
    return BYOC_OK;
  }
  for (size_t t = 0; t < count && found[count]; ++t) {
    *out_grew = *out_grew || (found[t] && !uses_engine[t]);
    uses_engine[t] = uses_engine[t] || found[t];
  }
  return BYOC_OK;
}

byoc_status_t byoc_engine_trial_run(const byoc_engine_trial_t *trial, byoc_diag_t *diag, bool *uses_engine) {
  const size_t count = trial->targets->targets.count;
  bool *found = byoc_allocate(trial->allocator, count + 1, sizeof(*found));
  if (found == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status = BYOC_OK;
  for (bool grew = true; grew && status == BYOC_OK && is_open(trial, uses_engine);) {
    status = try_once(trial, found, diag, uses_engine, &grew);
  }
  report(trial, uses_engine);
  byoc_free(trial->allocator, found);
  return status;
}

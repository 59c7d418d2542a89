// SPDX-License-Identifier: Apache-2.0
// Finds the targets of a build whose code needs an engine (byoc/engine.h). Only their hooks know, so that the model is
// compiled as far as their code, in a child process. Internal to core/compile.
#ifndef BYOC_CORE_COMPILE_ENGINE_TRIAL_H_
#define BYOC_CORE_COMPILE_ENGINE_TRIAL_H_

#include "core/ir/graph.h"
#include "core/targets/target.h"

typedef struct byoc_engine_trial_t {
  byoc_graph_module_t *module; // as placing gets it; it stays as it is
  const byoc_target_list_t *targets;
  // Compiles the module with a plan without the engines of these targets, as far as the backends' code.
  byoc_status_t (*compile)(void *self, const bool *uses_engine, byoc_diag_t *diag);
  void *self;
  byoc_allocator_t allocator;
} byoc_engine_trial_t;

// Sets uses_engine[t] for each target that has an engine in a trial. The plan without engines may use further targets,
// so that trials are repeated until no target joins. If a trial fails, so will the build; a failure that the build may
// not meet is a warning.
byoc_status_t byoc_engine_trial_run(const byoc_engine_trial_t *trial, byoc_diag_t *diag, bool *uses_engine);

#endif // BYOC_CORE_COMPILE_ENGINE_TRIAL_H_

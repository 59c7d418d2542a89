// SPDX-License-Identifier: Apache-2.0
// A model, compiled or interpreted such that values inside of it can be seen. Internal to core/quantise.
//
// Example:
//   const byoc_probe_options_t options = {.registry = registry};
//   byoc_probe_t *probe;
//   BYOC_RETURN_IF_ERROR(byoc_probe_open(&options, model, names, count, diag, &probe));
//   const byoc_argument_t *values;
//   BYOC_RETURN_IF_ERROR(byoc_probe_run(probe, inputs, diag, &values));
//   byoc_probe_close(probe);
#ifndef BYOC_CORE_QUANTISE_PROBE_H_
#define BYOC_CORE_QUANTISE_PROBE_H_

#include "core/compile/setup.h"
#include "core/frontend/onnx_edit.h"

typedef struct byoc_probe_options_t {
  byoc_plugin_registry_t *registry;
  const byoc_onnx_dim_binding_t *dims; // values of symbolic dimensions
  size_t dim_count;
  int64_t thread_count; // 0: decided when running
  const char *folder;   // of the model's external data
  bool evaluates;       // interpret the model: for so little work that compiling it would take longer
} byoc_probe_options_t;

typedef struct byoc_probe_t byoc_probe_t;

// Compiles the model; `names` are values of its main graph. Its message stays as it is.
byoc_status_t byoc_probe_open(const byoc_probe_options_t *options, byoc_onnx_model_t *model, const char *const *names,
                              size_t count, byoc_diag_t *diag, byoc_probe_t **out_probe);
// Runs it. `inputs` are those of the model, in its order. `out_values` has one for each name, until the next run.
byoc_status_t byoc_probe_run(byoc_probe_t *probe, const byoc_argument_t *inputs, byoc_diag_t *diag,
                             const byoc_argument_t **out_values);
void byoc_probe_close(byoc_probe_t *probe); // accepts NULL

#endif // BYOC_CORE_QUANTISE_PROBE_H_

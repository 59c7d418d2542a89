// SPDX-License-Identifier: Apache-2.0
// The state of a quantisation, for the files of its steps. Internal to core/quantise.
#ifndef BYOC_CORE_QUANTISE_QUANTISE_INTERNAL_H_
#define BYOC_CORE_QUANTISE_QUANTISE_INTERNAL_H_

#include "core/compile/setup.h"
#include "core/quantise/layers.h"
#include "core/quantise/probe.h"
#include "core/quantise/quantise.h"
#include "core/quantise/rewrite.h"

struct byoc_quantise_t {
  byoc_arena_t arena;
  byoc_plugin_registry_t *registry;
  const char *path;
  char *folder;
  byoc_setup_options_t setup_options;
  byoc_setup_t setup;              // holds the module of the model as it was read
  byoc_setup_t smoothed;           // the same after smoothing, if that was asked for
  byoc_onnx_model_t *model;        // floats
  byoc_onnx_model_t *result;       // NULL until the end
  byoc_quantise_options_t options; // of the run
  byoc_onnx_dim_binding_t *dims;   // symbolic dimensions of which all samples have one value
  size_t dim_count;
  bool is_small; // runs of all samples take less time than compiling the model
  byoc_qform_t form;
  byoc_qgraph_t graph; // of `model`
  byoc_qplan_t plan;
  byoc_map_t observers; // text map: value → byoc_observer_t *
  byoc_map_t rounded;   // text map: result of a layer → byoc_rounded_t *; layers may share one
  byoc_quantise_report_t report;
};

static inline bool byoc_quantise_is_of_groups(const byoc_quantise_t *q) {
  return q->options.scheme == BYOC_QUANTISE_INT4_WEIGHTS || q->options.scheme == BYOC_QUANTISE_INT8_WEIGHTS;
}
static inline bool byoc_quantise_is_of_halves(const byoc_quantise_t *q) {
  return q->options.scheme == BYOC_QUANTISE_F16_WEIGHTS || q->options.scheme == BYOC_QUANTISE_BF16_WEIGHTS;
}
void byoc_quantise_begin(const byoc_quantise_t *q, const char *step, int64_t total);
void byoc_quantise_advance(const byoc_quantise_t *q, int64_t done);
// The module whose types the graph has.
const byoc_graph_module_t *byoc_quantise_current_module(const byoc_quantise_t *q);
byoc_status_t byoc_quantise_open_probe(const byoc_quantise_t *q, byoc_onnx_model_t *model, const char *const *names,
                                       size_t count, byoc_diag_t *diag, byoc_probe_t **out_probe);

// ---- the steps: observe.c ----
// Runs the samples and watches all values of the plan that are not known yet.
byoc_status_t byoc_quantise_observe(byoc_quantise_t *q, byoc_diag_t *diag);
// Watches the inputs of products and smooths them; opens the graph anew.
byoc_status_t byoc_quantise_smooth(byoc_quantise_t *q, byoc_diag_t *diag);
// Rounds the weights of all layers in groups, perhaps with feedback.
byoc_status_t byoc_quantise_round(byoc_quantise_t *q, byoc_diag_t *diag);

// ---- compare.c ----
// Measures each layer of the plan by itself, on the samples. Fills report.layers.
byoc_status_t byoc_quantise_compare_layers(byoc_quantise_t *q, byoc_diag_t *diag);
// Measures layers and outputs of the result, which is complete.
byoc_status_t byoc_quantise_compare_result(byoc_quantise_t *q, byoc_diag_t *diag);

#endif // BYOC_CORE_QUANTISE_QUANTISE_INTERNAL_H_

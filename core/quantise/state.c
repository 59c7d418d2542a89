// SPDX-License-Identifier: Apache-2.0
// What the steps of a quantisation share.
#include "core/quantise/quantise_internal.h"

void byoc_quantise_begin(const byoc_quantise_t *q, const char *step, int64_t total) {
  if (q->options.begin != NULL) q->options.begin(q->options.self, step, total);
}

void byoc_quantise_advance(const byoc_quantise_t *q, int64_t done) {
  if (q->options.advance != NULL) q->options.advance(q->options.self, done);
}

const byoc_graph_module_t *byoc_quantise_current_module(const byoc_quantise_t *q) {
  return q->smoothed.build.module != NULL ? q->smoothed.build.module : q->setup.build.module;
}

byoc_status_t byoc_quantise_open_probe(const byoc_quantise_t *q, byoc_onnx_model_t *model, const char *const *names,
                                       size_t count, byoc_diag_t *diag, byoc_probe_t **out_probe) {
  const byoc_probe_options_t options = {.registry = q->registry,
                                        .dims = q->dims,
                                        .dim_count = q->dim_count,
                                        .thread_count = q->options.thread_count,
                                        .folder = q->folder,
                                        .evaluates = q->is_small};
  byoc_quantise_begin(q, "compiling the model to be watched", 0);
  const byoc_status_t status = byoc_probe_open(&options, model, names, count, diag, out_probe);
  return byoc_diag_context(diag, status, "compiling the model to be watched");
}

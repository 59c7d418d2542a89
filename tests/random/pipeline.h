// SPDX-License-Identifier: Apache-2.0
// The whole pipeline in process: a model in memory becomes a host program; both executors run it.
#ifndef BYOC_TESTS_RANDOM_PIPELINE_H_
#define BYOC_TESTS_RANDOM_PIPELINE_H_

#include "core/compile/build.h"
#include "core/plugin/registry.h"
#include "tests/support/support.h"

typedef struct pipeline_t {
  byoc_plugin_registry_t *registry;
  byoc_target_list_t targets;
  byoc_build_t build;
} pipeline_t;

// Plugins are those of the build tree.
byoc_status_t pipeline_open(pipeline_t *pipeline, const void *model, size_t size_bytes, const char *targets,
                            byoc_diag_t *diag);
// The same; on the way each input is cut along an axis that is drawn, where the pass stream-axis can. *out_cuts counts
// them.
byoc_status_t pipeline_open_cut(pipeline_t *pipeline, const void *model, size_t size_bytes, const char *targets,
                                byoc_test_random_t *random, byoc_diag_t *diag, size_t *out_cuts);
// The same for a file, ONNX or a module as text.
byoc_status_t pipeline_open_file(pipeline_t *pipeline, const char *path, const char *targets, byoc_diag_t *diag);
void pipeline_close(pipeline_t *pipeline);
// Memory for each input and output, zeroed.
typedef struct pipeline_buffers_t {
  void **inputs, **outputs;
} pipeline_buffers_t;
byoc_status_t pipeline_buffers_init(const pipeline_t *pipeline, pipeline_buffers_t *buffers, byoc_diag_t *diag);
void pipeline_buffers_deinit(const pipeline_t *pipeline, pipeline_buffers_t *buffers);

// Runs it through an artifact, which is made at `path` and loaded, on `thread_count` threads.
byoc_status_t pipeline_run_compiled(const pipeline_t *pipeline, const char *path, int32_t thread_count,
                                    const pipeline_buffers_t *buffers, byoc_diag_t *diag);
byoc_status_t pipeline_run_evaluated(const pipeline_t *pipeline, const pipeline_buffers_t *buffers, byoc_diag_t *diag);

// The same for any shapes, which may differ from call to call. `look` sees the outputs before they go.
typedef void (*pipeline_look_t)(void *self, const byoc_argument_t *outputs);
typedef struct pipeline_call_t {
  const byoc_argument_t *inputs;
  size_t output_count;
  pipeline_look_t look;
  void *self;
} pipeline_call_t;
// Makes the calls in order, in one context of that many threads, and each once more behind the last one.
byoc_status_t pipeline_call_compiled(const pipeline_t *pipeline, const char *path, int32_t thread_count,
                                     const pipeline_call_t *calls, size_t call_count, byoc_diag_t *diag);
byoc_status_t pipeline_call_evaluated(const pipeline_t *pipeline, const pipeline_call_t *calls, size_t call_count,
                                      byoc_diag_t *diag);
// The artifact is written as C source to the folder `path`, which ends in ".c", made a shared object by make and cc,
// and run from there.
byoc_status_t pipeline_call_source(const pipeline_t *pipeline, const char *path, const pipeline_call_t *calls,
                                   size_t call_count, byoc_diag_t *diag);

#endif // BYOC_TESTS_RANDOM_PIPELINE_H_

// SPDX-License-Identifier: Apache-2.0
// From a model in memory to results, with the plugin under test: the parts of the pipeline that rules look at.
#ifndef BYOC_TOOLS_PLUGIN_CHECK_PIPELINE_H_
#define BYOC_TOOLS_PLUGIN_CHECK_PIPELINE_H_

#include "core/compile/build.h"
#include "core/loader/loader.h"
#include "tools/plugin_check/cases.h"

typedef struct check_pipeline_t {
  byoc_target_list_t targets;
  byoc_build_t build;
} check_pipeline_t;

// Reads the model and takes it along the pipeline. check_pipeline_close in any case.
byoc_status_t check_pipeline_open(check_pipeline_t *pipeline, byoc_plugin_registry_t *registry,
                                  const check_model_t *model, const char *targets, byoc_build_extent_t extent,
                                  byoc_allocator_t allocator, byoc_diag_t *diag);
void check_pipeline_close(check_pipeline_t *pipeline);
byoc_status_t check_pipeline_compose(const check_pipeline_t *pipeline, const char *path, byoc_diag_t *diag);
// One run in this process.
byoc_status_t check_pipeline_evaluate(const check_pipeline_t *pipeline, void *const *inputs, void *const *outputs,
                                      byoc_diag_t *diag);
// `runs` runs in a context of its own.
byoc_status_t check_artifact_run(const byoc_loaded_artifact_t *artifact, int32_t thread_count, int runs,
                                 void *const *inputs, void *const *outputs, byoc_diag_t *diag);

// A tensor for each port of a program; they live until the rule ends.
typedef struct check_ports_t {
  size_t count;
  char (*names)[80];
  byoc_dtype_t *dtypes;
  int64_t *element_counts;
  size_t *sizes_bytes;
  void **data;
} check_ports_t;
// The inputs hold values that depend on the names alone (see cases.h); the outputs hold 0xA5, which no result is made
// of.
check_ports_t check_inputs(check_t *check, const check_pipeline_t *pipeline);
check_ports_t check_outputs(check_t *check, const check_pipeline_t *pipeline);

// Fails for each case of the file with an output that is not as expected; `way` says where the outputs come from.
void check_compare(check_t *check, const check_case_file_t *file, const check_ports_t *outputs,
                   const check_ports_t *expected, const char *way);
// Fails for each case whose output is not the same bytes.
void check_compare_bytes(check_t *check, const check_case_file_t *file, const check_ports_t *outputs,
                         const check_ports_t *expected, const char *way);

// Of each file, the cases of which the plugin takes something with these targets, greedily; files without such cases
// are left out. Ends the rule as skipped if there are none.
check_cases_t check_taken_cases(check_t *check, const char *targets);
// What the target "c" gives for the cases of the file, evaluated: kernels as they are written, without a C compiler in
// between.
check_ports_t check_expected(check_t *check, const check_case_file_t *file);

#endif // BYOC_TOOLS_PLUGIN_CHECK_PIPELINE_H_

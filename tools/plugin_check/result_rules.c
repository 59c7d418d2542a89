// SPDX-License-Identifier: Apache-2.0
// Rules about results: what the backend takes of the cases gives what the target "c" gives, in both executors, and the
// same on several threads.
#include <pthread.h>
#include <string.h>

#include "core/base/file.h"
#include "core/targets/cpu.h"
#include "tools/plugin_check/pipeline.h"
#include "tools/plugin_check/statics.h"

static char *path_in(check_t *check, const char *name) {
  char *path = byoc_path_join(byoc_allocator_system(), check->folder, name);
  if (path == NULL) check_stop(check, NULL, "out of memory");
  return path;
}

// Builds the cases of a file and loads the artifact.
static byoc_status_t build(check_t *check, const check_case_file_t *file, const char *targets, const char *path,
                           check_pipeline_t *pipeline, byoc_loaded_artifact_t *out_artifact, byoc_diag_t *diag) {
  const check_model_t model = check_case_file_model(check, file);
  *out_artifact = (byoc_loaded_artifact_t){0};
  check_doing(check, "generating code for %s with '%s'", file->name, targets);
  byoc_status_t status =
      check_pipeline_open(pipeline, check->registry, &model, targets, BYOC_BUILD_ALL, byoc_allocator_system(), diag);
  if (status == BYOC_OK) status = check_pipeline_compose(pipeline, path, diag);
  if (status == BYOC_OK) status = byoc_artifact_load(path, diag, out_artifact);
  return status;
}

// A file that failed as a whole is tried case by case, so that the message names the case.
static void find_culprits(check_t *check, const check_case_file_t *file, const char *targets, const char *path) {
  for (size_t i = 0; i < file->count; ++i) {
    const check_case_file_t one = {.name = file->name, .cases = &file->cases[i], .count = 1};
    byoc_diag_t diag = {0};
    check_pipeline_t pipeline;
    byoc_loaded_artifact_t artifact;
    byoc_status_t status = build(check, &one, targets, path, &pipeline, &artifact, &diag);
    if (status == BYOC_OK) {
      const check_ports_t inputs = check_inputs(check, &pipeline), outputs = check_outputs(check, &pipeline);
      check_doing(check, "running %s/%s, built with '%s'", file->name, one.cases[0].name, targets);
      status = check_artifact_run(&artifact, 1, 1, inputs.data, outputs.data, &diag);
      byoc_artifact_unload(&artifact);
    }
    if (status != BYOC_OK) check_fail_diag(check, &diag, "%s/%s", file->name, one.cases[0].name);
    check_pipeline_close(&pipeline);
  }
}

// ---- compiled ----

typedef struct worker_t {
  const byoc_loaded_artifact_t *artifact;
  const check_ports_t *inputs;
  check_ports_t outputs;
  pthread_barrier_t *start; // so that both run at the same time
  byoc_status_t status;
  byoc_diag_t diag;
} worker_t;

static void *run_worker(void *self) {
  worker_t *worker = self;
  (void)pthread_barrier_wait(worker->start);
  worker->status =
      check_artifact_run(worker->artifact, 1, 3, worker->inputs->data, worker->outputs.data, &worker->diag);
  return NULL;
}

// Two contexts at once on two threads: each gives the result that one alone gives.
static void run_side_by_side(check_t *check, const check_case_file_t *file, const check_pipeline_t *pipeline,
                             const byoc_loaded_artifact_t *artifact, const check_ports_t *inputs,
                             const check_ports_t *alone) {
  worker_t workers[2];
  pthread_t threads[2];
  pthread_barrier_t start;
  (void)pthread_barrier_init(&start, NULL, 2);
  for (int i = 0; i < 2; ++i) {
    workers[i] =
        (worker_t){.artifact = artifact, .inputs = inputs, .outputs = check_outputs(check, pipeline), .start = &start};
    if (pthread_create(&threads[i], NULL, run_worker, &workers[i]) != 0) check_stop(check, NULL, "no thread starts");
  }
  for (int i = 0; i < 2; ++i) {
    (void)pthread_join(threads[i], NULL);
    if (workers[i].status != BYOC_OK) check_fail_diag(check, &workers[i].diag, "%s, two contexts at once", file->name);
    if (workers[i].status == BYOC_OK) {
      check_compare_bytes(check, file, &workers[i].outputs, alone, "of two contexts at once and alone");
    }
  }
  (void)pthread_barrier_destroy(&start);
}

// Threads that happen to meet in a kernel are few; what a kernel keeps between its runs is there each time.
static void watch_statics(check_t *check, const check_case_file_t *file, const byoc_loaded_artifact_t *artifact,
                          const check_ports_t *inputs, const check_ports_t *outputs) {
  const size_t changed = check_statics_changed(check, artifact, inputs, outputs);
  if (changed == 0) return;
  check_warn(check,
             "%s: a run changes %zu bytes of static variables, which all contexts share: unless locks or atomics guard "
             "them, keep them in the call's workspace, in the engine's instance or by runtime->keep",
             file->name, changed);
}

static byoc_status_t run_on_threads(check_t *check, const check_case_file_t *file, const check_pipeline_t *pipeline,
                                    byoc_loaded_artifact_t *artifact, byoc_diag_t *diag) {
  const check_ports_t inputs = check_inputs(check, pipeline), alone = check_outputs(check, pipeline);
  const check_ports_t two = check_outputs(check, pipeline);
  check_doing(check, "running the artifact of %s on several threads", file->name);
  BYOC_RETURN_IF_ERROR(check_artifact_run(artifact, 1, 1, inputs.data, alone.data, diag));
  watch_statics(check, file, artifact, &inputs, &two);
  // Before a context of two threads: a library may share its threads among contexts, and so round differently then.
  run_side_by_side(check, file, pipeline, artifact, &inputs, &alone);
  BYOC_RETURN_IF_ERROR(check_artifact_run(artifact, 2, 2, inputs.data, two.data, diag));
  check_compare(check, file, &two, &alone, "2 threads against 1");
  return BYOC_OK;
}

// The backend may not ask for more than the target "c" of the list allows.
static void check_features(check_t *check, const check_case_file_t *file, const check_pipeline_t *pipeline) {
  byoc_diag_t diag = {0};
  uint64_t required = 0;
  const byoc_target_t *native = byoc_target_list_native(&pipeline->targets);
  const char *asked = pipeline->build.result.required_cpu_features.data;
  const uint64_t allowed = byoc_target_cpu_features(native, "mcpu");
  check_ok(check, byoc_cpu_parse_list(asked, &diag, &required), &diag, asked);
  if ((required & ~allowed) == 0) return;
  check_fail(check, "%s requires '%s', more than '%s' allows", file->name, asked, native->text);
}

// --waive=operators.wild is about NaN and infinities wherever they are, also in wild.cases.
static void compare(check_t *check, const check_case_file_t *file, const check_ports_t *outputs,
                    const check_ports_t *expected, const char *way) {
  const bool is_special = strncmp(file->name, "wild", 4) == 0;
  if (strcmp(file->name, "wild_nan.cases") == 0 && !check_asks_for_nan(check)) return;
  if (!is_special || !check_is_waived(check, "operators.wild")) check_compare(check, file, outputs, expected, way);
}

static byoc_status_t run_both_ways(check_t *check, const check_case_file_t *file, const check_pipeline_t *pipeline,
                                   byoc_loaded_artifact_t *artifact, byoc_diag_t *diag) {
  const check_ports_t expected = check_expected(check, file), inputs = check_inputs(check, pipeline);
  const check_ports_t outputs = check_outputs(check, pipeline);
  check_features(check, file, pipeline);
  check_doing(check, "running the artifact of %s", file->name);
  BYOC_RETURN_IF_ERROR(check_artifact_run(artifact, 1, 2, inputs.data, outputs.data, diag));
  compare(check, file, &outputs, &expected, "compiled");
  // The evaluator runs the same code, so that one of the targets is enough.
  if (check->current_target != check->targets.items[0]) return BYOC_OK;
  byoc_artifact_unload(artifact); // so that only one of the two is there at a time
  *artifact = (byoc_loaded_artifact_t){0};
  const check_ports_t evaluated = check_outputs(check, pipeline);
  check_doing(check, "evaluating %s", file->name);
  BYOC_RETURN_IF_ERROR(check_pipeline_evaluate(pipeline, inputs.data, evaluated.data, diag));
  compare(check, file, &evaluated, &expected, "evaluated");
  return BYOC_OK;
}

typedef byoc_status_t (*run_fn_t)(check_t *check, const check_case_file_t *file, const check_pipeline_t *pipeline,
                                  byoc_loaded_artifact_t *artifact, byoc_diag_t *diag);

// Builds what is taken of the cases with each of the targets, and runs it. `run` may unload the artifact and clear it.
static void run_all(check_t *check, run_fn_t run) {
  char *path = path_in(check, "cases.so");
  for (size_t t = 0; t < check->targets.count; ++t) {
    const char *targets = check->current_target = check->targets.items[t];
    const check_cases_t cases = check_taken_cases(check, targets);
    for (size_t f = 0; f < cases.file_count; ++f) {
      byoc_diag_t diag = {0};
      check_pipeline_t pipeline;
      byoc_loaded_artifact_t artifact;
      byoc_status_t status = build(check, &cases.files[f], targets, path, &pipeline, &artifact, &diag);
      if (status == BYOC_OK) status = run(check, &cases.files[f], &pipeline, &artifact, &diag);
      if (artifact.library != NULL) byoc_artifact_unload(&artifact);
      check_pipeline_close(&pipeline);
      if (status == BYOC_OK) continue;
      check_fail_diag(check, &diag, "%s, with '%s'", cases.files[f].name, targets);
      find_culprits(check, &cases.files[f], targets, path);
    }
  }
}

void check_results_cases(check_t *check) {
  run_all(check, run_both_ways);
}

void check_results_threads(check_t *check) {
  check->targets.count = 1;
  run_all(check, run_on_threads);
}

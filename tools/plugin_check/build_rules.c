// SPDX-License-Identifier: Apache-2.0
// Rules about building several times: the same bytes, and nothing that one build leaves for the next.
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/file.h"
#include "tools/plugin_check/pipeline.h"

// The first file of which something is taken, but `preferred` if it is among them.
static const check_case_file_t *choose_file(const check_cases_t *cases, const char *preferred) {
  for (size_t f = 0; f < cases->file_count; ++f) {
    if (strcmp(cases->files[f].name, preferred) == 0) return &cases->files[f];
  }
  return &cases->files[0];
}

// ---- the same bytes again ----

typedef struct bytes_t {
  char *data;
  size_t size;
} bytes_t;

static char *path_in(check_t *check, const char *folder, const char *name) {
  char *path = byoc_path_join(byoc_allocator_system(), folder, name);
  if (path == NULL) check_stop(check, NULL, "out of memory");
  return path;
}

static void open_pipeline(check_t *check, const check_case_file_t *file, check_pipeline_t *pipeline) {
  byoc_diag_t diag = {0};
  const check_model_t model = check_case_file_model(check, file);
  check_doing(check, "generating code for %s with '%s'", file->name, check->targets.items[0]);
  check_ok(check,
           check_pipeline_open(pipeline, check->registry, &model, check->targets.items[0], BYOC_BUILD_ALL,
                               byoc_allocator_system(), &diag),
           &diag, file->name);
}

// Builds the cases in a folder of their own, with an empty cache; returns the artifact's path.
static char *build_in(check_t *check, const check_case_file_t *file, const char *folder_name) {
  byoc_diag_t diag = {0};
  char *folder = path_in(check, check->folder, folder_name), *path = path_in(check, folder, "cases.so");
  check_ok(check, byoc_make_private_directories(folder, &diag), &diag, "making a folder");
  (void)setenv("BYOC_CACHE_DIR", folder, 1);
  check_pipeline_t pipeline;
  open_pipeline(check, file, &pipeline);
  check_ok(check, check_pipeline_compose(&pipeline, path, &diag), &diag, file->name);
  check_pipeline_close(&pipeline);
  return path;
}

static void compare_files(check_t *check, const check_case_file_t *file, const char *one_path, const char *other_path) {
  byoc_diag_t diag = {0};
  bytes_t one, other;
  check_ok(check, byoc_file_read(one_path, byoc_allocator_system(), &diag, &one.data, &one.size), &diag, file->name);
  check_ok(check, byoc_file_read(other_path, byoc_allocator_system(), &diag, &other.data, &other.size), &diag,
           file->name);
  size_t at = 0;
  while (at < one.size && at < other.size && one.data[at] == other.data[at]) ++at;
  if (at == one.size && at == other.size) return;
  check_fail(check, "'%s': two builds of %s differ at byte %zu of %zu and %zu", check->targets.items[0], file->name, at,
             one.size, other.size);
}

void check_builds_again(check_t *check) {
  const check_cases_t cases = check_taken_cases(check, check->targets.items[0]);
  const check_case_file_t *file = choose_file(&cases, "adversity.cases");
  compare_files(check, file, build_in(check, file, "first"), build_in(check, file, "second"));
}

typedef struct builder_t {
  const check_case_file_t *file;
  const char *folder_name;
  size_t shift_bytes; // where the plugin is loaded
} builder_t;

// Runs in a process of its own, in which the plugin is loaded afresh and at another address.
static void build_elsewhere(check_t *check, void *self) {
  const builder_t *builder = self;
  byoc_plugin_registry_destroy(check->registry);
  if (mmap(NULL, builder->shift_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) {
    check_stop(check, NULL, "out of memory");
  }
  check->registry = check_load(check, byoc_allocator_system());
  (void)build_in(check, builder->file, builder->folder_name);
}

static char *build_apart(check_t *check, const check_case_file_t *file, const char *folder_name, size_t shift_bytes) {
  builder_t builder = {file, folder_name, shift_bytes};
  check_apart(check, 0, build_elsewhere, &builder);
  if (check->answer->failure_count > 0) check_end(check);
  char *folder = path_in(check, check->folder, folder_name);
  return path_in(check, folder, "cases.so");
}

void check_builds_reproducible(check_t *check) {
  enum { ONE_SHIFT = 1 << 16, OTHER_SHIFT = 5 << 20 };
  const check_cases_t cases = check_taken_cases(check, check->targets.items[0]);
  const check_case_file_t *file = choose_file(&cases, "chains.cases"); // they have a bit of everything
  compare_files(check, file, build_apart(check, file, "one", ONE_SHIFT),
                build_apart(check, file, "other", OTHER_SHIFT));
}

// ---- side by side ----

typedef struct loaded_t {
  const check_case_file_t *file;
  check_pipeline_t pipeline;
  byoc_loaded_artifact_t artifact;
  check_ports_t inputs, alone;
  byoc_context_t *context;
} loaded_t;

static void load_artifact(check_t *check, loaded_t *loaded, const char *path) {
  byoc_diag_t diag = {0};
  const byoc_context_options_t options = {.struct_size = sizeof(options), .thread_count = 1};
  check_doing(check, "loading an artifact of it");
  check_ok(check, byoc_artifact_load(path, &diag, &loaded->artifact), &diag, "loading an artifact of it");
  byoc_status_t status = loaded->artifact.table->create(&options, &loaded->context);
  if (status != BYOC_OK) {
    check_stop(check, NULL, "creating a context: %s", loaded->artifact.table->last_error(loaded->context));
  }
}

static check_ports_t run_loaded(check_t *check, loaded_t *loaded, const char *way) {
  const check_ports_t outputs = check_outputs(check, &loaded->pipeline);
  check_doing(check, "running an artifact of it, %s", way);
  byoc_status_t status =
      loaded->artifact.table->run(loaded->context, (const void *const *)loaded->inputs.data, outputs.data);
  if (status == BYOC_OK) return outputs;
  check_stop(check, NULL, "%s: %s", way, loaded->artifact.table->last_error(loaded->context));
}

static void run_again(check_t *check, loaded_t *loaded, const char *way) {
  const check_ports_t outputs = run_loaded(check, loaded, way);
  check_compare(check, loaded->file, &outputs, &loaded->alone, way);
}

static void unload_artifact(loaded_t *loaded) {
  loaded->artifact.table->destroy(loaded->context);
  byoc_artifact_unload(&loaded->artifact);
}

// Three artifacts that the plugin had a part in, two of them of the same model: each alone, all at once, the last one
// after the others are gone.
void check_builds_together(check_t *check) {
  enum { COUNT = 3 };
  const check_cases_t cases = check_taken_cases(check, check->targets.items[0]);
  loaded_t loaded[COUNT];
  char *paths[COUNT];
  for (size_t i = 0; i < COUNT; ++i) {
    byoc_diag_t diag = {0};
    char name[16];
    snprintf(name, sizeof(name), "%zu.so", i);
    paths[i] = path_in(check, check->folder, name);
    loaded[i] = (loaded_t){.file = &cases.files[i == 1 ? cases.file_count - 1 : 0]};
    open_pipeline(check, loaded[i].file, &loaded[i].pipeline);
    loaded[i].inputs = check_inputs(check, &loaded[i].pipeline);
    check_ok(check, check_pipeline_compose(&loaded[i].pipeline, paths[i], &diag), &diag, loaded[i].file->name);
    load_artifact(check, &loaded[i], paths[i]);
    loaded[i].alone = run_loaded(check, &loaded[i], "alone");
    unload_artifact(&loaded[i]);
  }
  for (size_t i = 0; i < COUNT; ++i) load_artifact(check, &loaded[i], paths[i]);
  for (size_t turn = 0; turn < 2 * COUNT; ++turn) run_again(check, &loaded[turn % COUNT], "beside other artifacts");
  for (size_t i = 0; i + 1 < COUNT; ++i) unload_artifact(&loaded[i]);
  run_again(check, &loaded[COUNT - 1], "after other artifacts were unloaded");
  unload_artifact(&loaded[COUNT - 1]);
}

// ---- unloading ----

static bool is_mapped(check_t *check) {
  byoc_diag_t diag = {0};
  char *maps = NULL;
  size_t size = 0;
  check_ok(check, byoc_file_read("/proc/self/maps", byoc_allocator_system(), &diag, &maps, &size), &diag, "the maps");
  const bool found = strstr(maps, check->plugin) != NULL;
  byoc_free(byoc_allocator_system(), maps);
  return found;
}

// The registry is destroyed while runtime modules of the plugin are still in use, as the host may do.
void check_builds_unload(check_t *check) {
  const check_cases_t cases = check_taken_cases(check, check->targets.items[0]);
  const check_case_file_t *file = choose_file(&cases, "adversity.cases");
  byoc_diag_t diag = {0};
  check_pipeline_t pipeline;
  byoc_build_evaluation_t evaluation;
  open_pipeline(check, file, &pipeline);
  const check_ports_t inputs = check_inputs(check, &pipeline), before = check_outputs(check, &pipeline);
  const check_ports_t after = check_outputs(check, &pipeline);
  check_ok(check, byoc_build_evaluate(&pipeline.build, 1, &diag, &evaluation), &diag, file->name);
  check_doing(check, "evaluating what it made");
  check_ok(check, byoc_evaluator_run(evaluation.evaluator, (const void *const *)inputs.data, before.data, &diag), &diag,
           file->name);
  byoc_target_list_deinit(&pipeline.targets);
  byoc_plugin_registry_destroy(check->registry);
  check_doing(check, "evaluating what it made after its registry is gone");
  check_ok(check, byoc_evaluator_run(evaluation.evaluator, (const void *const *)inputs.data, after.data, &diag), &diag,
           file->name);
  check_compare(check, file, &after, &before, "after its registry is gone");
  check_doing(check, "the host unloads it with the last thing that it made");
  byoc_build_evaluation_end(&evaluation);
  byoc_build_deinit(&pipeline.build);
  if (is_mapped(check)) check_fail(check, "it is still mapped after everything that it made is gone");
  check_doing(check, "nothing: it is unloaded");
  (void)usleep(20000); // for threads that it may have left behind
}

// ---- memory that runs out ----

typedef struct shortage_t {
  check_t *check;
  const check_case_file_t *file;
  check_model_t model;
  byoc_plugin_registry_t *registry;
  byoc_failing_allocator_t counter;
  check_ports_t expected; // results, whichever request failed
} shortage_t;

// Goes along the pipeline as far as `extent` says while request n for memory fails.
static byoc_status_t open_short_pipeline(shortage_t *shortage, int64_t n, byoc_build_extent_t extent,
                                         check_pipeline_t *pipeline, byoc_diag_t *diag) {
  check_t *check = shortage->check;
  check_doing(check, "generating code for %s while request %lld for memory fails", shortage->file->name, (long long)n);
  shortage->counter.count = 0;
  shortage->counter.fail_at = n;
  const byoc_status_t status =
      check_pipeline_open(pipeline, shortage->registry, &shortage->model, check->targets.items[0], extent,
                          byoc_failing_allocator(&shortage->counter), diag);
  shortage->counter.fail_at = -1;
  return status;
}

// A build that does without request n computes the same as any other.
static void check_survivor(shortage_t *shortage, int64_t n) {
  byoc_diag_t diag = {0};
  check_pipeline_t pipeline;
  char way[80];
  if (open_short_pipeline(shortage, n, BYOC_BUILD_ALL, &pipeline, &diag) == BYOC_OK) {
    const check_ports_t inputs = check_inputs(shortage->check, &pipeline),
                        outputs = check_outputs(shortage->check, &pipeline);
    snprintf(way, sizeof(way), "in a build that did without request %lld for memory", (long long)n);
    check_doing(shortage->check, "evaluating what it made %s", way);
    check_ok(shortage->check, check_pipeline_evaluate(&pipeline, inputs.data, outputs.data, &diag), &diag, way);
    check_compare(shortage->check, shortage->file, &outputs, &shortage->expected, way);
  }
  check_pipeline_close(&pipeline);
}

// The n-th request of plugin and host fails: out of memory or a right result, and nothing is left. A few hundred
// values of n, densest at the start.
void check_builds_allocations(check_t *check) {
  const check_cases_t cases = check_taken_cases(check, check->targets.items[0]);
  const check_case_file_t *file = choose_file(&cases, "adversity.cases");
  shortage_t shortage = {.check = check,
                         .file = file,
                         .model = check_case_file_model(check, file),
                         .counter = {.base = byoc_allocator_system(), .fail_at = -1},
                         .expected = check_expected(check, file)};
  // A plugin may keep its host in a static variable, so that only one registry may have it.
  byoc_plugin_registry_destroy(check->registry);
  shortage.registry = check_load(check, byoc_failing_allocator(&shortage.counter));
  int64_t total = 0;
  for (int64_t n = -1; n <= total; n += n < 40 ? 1 : 1 + total / 160) {
    byoc_diag_t diag = {0};
    check_pipeline_t pipeline;
    const byoc_status_t status = open_short_pipeline(&shortage, n, BYOC_BUILD_GENERATED, &pipeline, &diag);
    const int64_t count = shortage.counter.count;
    check_pipeline_close(&pipeline);
    if (n < 0) {
      check_ok(check, status, &diag, "with all the memory that it wants");
      total = count;
    }
    if (status != BYOC_OK && status != BYOC_OUT_OF_MEMORY) {
      check_fail_diag(check, &diag, "request %lld of %lld failing gives '%s'", (long long)n, (long long)total,
                      byoc_status_name(status));
    }
    if (status == BYOC_OK && n >= 0 && count > n) check_survivor(&shortage, n);
  }
  byoc_plugin_registry_destroy(shortage.registry);
  const int64_t left = shortage.counter.live_count;
  if (left != 0) check_fail(check, "%lld blocks are left after unloading", (long long)left);
}

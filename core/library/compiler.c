// SPDX-License-Identifier: Apache-2.0
// libbyoc: compilers, and builds by the road that the command takes too.
#include "byoc/compiler.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/task.h"
#include "core/build/outputs.h"
#include "core/build/setup.h"
#include "core/build/weights.h"
#include "core/collage/plan_json.h"
#include "core/library/result.h"

struct byoc_compiler_t {
  pthread_mutex_t lock; // builds take turns
  byoc_plugin_registry_t *registry;
  atomic_uint cancellations; // so far: a build is cancelled if there were more than when it was asked for
};

const char *byoc_compiler_version(void) {
  return BYOC_VERSION_TEXT;
}

// What both sides know of a struct of the caller; the rest of ours is zero.
static byoc_status_t read_struct(const void *given, size_t size_bytes, const char *name, void *out, byoc_diag_t *diag) {
  uint32_t given_bytes = 0;
  memset(out, 0, size_bytes);
  memcpy(&given_bytes, given, sizeof(given_bytes));
  if (given_bytes < sizeof(given_bytes)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "struct_size of %s is %u; set it to sizeof(%s)", name,
                           given_bytes, name);
  }
  memcpy(out, given, given_bytes < size_bytes ? given_bytes : size_bytes);
  return BYOC_OK;
}

static byoc_status_t check_list(const void *items, uint64_t count, const char *name, byoc_diag_t *diag) {
  if (items != NULL || count == 0) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%s is NULL, but there are said to be %llu", name,
                         (unsigned long long)count);
}

// Ends a call: notes the error, and gives the result to the caller, who wants it or not.
static int32_t finish(byoc_result_t *result, byoc_status_t status, const byoc_diag_t *diag,
                      const byoc_compiler_result_t **out_result) {
  byoc_diag_t unsaid = {0};
  if (status != BYOC_OK && diag->status == BYOC_OK) { // an allocation failed on the way to the sentence
    (void)byoc_diag_error(&unsaid, status, "%s", byoc_status_name(status));
    diag = &unsaid;
  }
  if (status != BYOC_OK && !byoc_result_add_error(result, diag)) status = BYOC_OUT_OF_MEMORY;
  result->shown.status = status;
  if (out_result != NULL) {
    *out_result = &result->shown;
  } else {
    byoc_result_destroy(result);
  }
  return status;
}

void byoc_compiler_result_destroy(const byoc_compiler_result_t *result) {
  byoc_result_destroy((byoc_result_t *)(uintptr_t)result);
}

// ---- compilers ----

static void take_line(void *self, byoc_log_level_t level, const char *message) {
  byoc_result_add_line(self, level, message);
}

static byoc_status_t create(const byoc_compiler_options_t *given, byoc_diag_t *diag, byoc_compiler_t *compiler) {
  byoc_compiler_options_t options = {0};
  if (given != NULL) {
    BYOC_RETURN_IF_ERROR(read_struct(given, sizeof(options), "byoc_compiler_options_t", &options, diag));
  }
  BYOC_RETURN_IF_ERROR(check_list(options.plugins, options.plugin_count, "plugins", diag));
  BYOC_RETURN_IF_ERROR(check_list(options.preferred, options.preferred_count, "preferred", diag));
  const byoc_plugin_options_t plugins = {.paths = options.plugins,
                                         .path_count = options.plugin_count,
                                         .preferred = options.preferred,
                                         .preferred_count = options.preferred_count,
                                         .installation = options.plugin_folder};
  return byoc_setup_find_plugins(&plugins, byoc_allocator_system(), diag, &compiler->registry);
}

int32_t byoc_compiler_create(const byoc_compiler_options_t *options, byoc_compiler_t **out_compiler,
                             const byoc_compiler_result_t **out_result) {
  const byoc_allocator_t allocator = byoc_allocator_system();
  *out_compiler = NULL;
  if (out_result != NULL) *out_result = NULL;
  byoc_result_t *result = byoc_result_create();
  byoc_compiler_t *compiler = byoc_allocate(allocator, 1, sizeof(*compiler));
  if (result == NULL || compiler == NULL || pthread_mutex_init(&compiler->lock, NULL) != 0) {
    byoc_result_destroy(result);
    byoc_free(allocator, compiler);
    return BYOC_OUT_OF_MEMORY;
  }
  byoc_diag_t diag = {0};
  const byoc_task_t task = {.self = result, .log_level = BYOC_LOG_WARNING, .log = take_line};
  const byoc_task_t *before = byoc_task_enter(&task);
  const byoc_status_t status = create(options, &diag, compiler);
  (void)byoc_task_enter(before);
  if (status != BYOC_OK) {
    byoc_compiler_destroy(compiler);
    compiler = NULL;
  }
  *out_compiler = compiler;
  return finish(result, status, &diag, out_result);
}

void byoc_compiler_destroy(byoc_compiler_t *compiler) {
  if (compiler == NULL) return;
  byoc_plugin_registry_destroy(compiler->registry);
  (void)pthread_mutex_destroy(&compiler->lock);
  byoc_free(byoc_allocator_system(), compiler);
}

void byoc_compiler_cancel(byoc_compiler_t *compiler) {
  (void)atomic_fetch_add(&compiler->cancellations, 1);
}

// ---- builds ----

typedef struct call_t {
  byoc_compiler_t *compiler;
  byoc_compiler_build_t build; // as both sides know it
  byoc_result_t *result;
  unsigned cancellations;  // of the compiler when the build was asked for
  atomic_bool is_unwanted; // the caller's progress said so
  const char *step;
  char name[128]; // of the model
} call_t;

static bool is_cancelled(void *self) {
  call_t *call = self;
  return atomic_load(&call->is_unwanted) || atomic_load(&call->compiler->cancellations) != call->cancellations;
}

static void hear_line(void *self, byoc_log_level_t level, const char *message) {
  const call_t *call = self;
  byoc_result_add_line(call->result, level, message);
}

static void hear_progress(void *self, const char *title, int64_t done, int64_t total, const char *detail) {
  call_t *call = self;
  if (call->build.progress == NULL) return;
  const byoc_compiler_progress_t progress = {.struct_size = sizeof(progress),
                                             .step = call->step,
                                             .title = title,
                                             .detail = detail != NULL ? detail : "",
                                             .done = done,
                                             .total = total};
  (void)pthread_mutex_lock(&call->result->lock);
  if (call->build.progress(call->build.self, &progress) != 0) atomic_store(&call->is_unwanted, true);
  (void)pthread_mutex_unlock(&call->result->lock);
}

static bool begin_step(void *self, const char *step) {
  call_t *call = self;
  call->step = step;
  hear_progress(self, "", 0, 0, NULL);
  return !is_cancelled(self);
}

static byoc_status_t check_build(const byoc_compiler_build_t *build, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(check_list(build->targets, build->target_count, "targets", diag));
  BYOC_RETURN_IF_ERROR(check_list(build->dims, build->dim_count, "dims", diag));
  BYOC_RETURN_IF_ERROR(check_list(build->aliases, build->alias_count, "aliases", diag));
  BYOC_RETURN_IF_ERROR(check_list(build->disabled_passes, build->disabled_pass_count, "disabled_passes", diag));
  BYOC_RETURN_IF_ERROR(check_list(build->model_data, build->model_size_bytes, "model_data", diag));
  if ((build->model_path != NULL) == (build->model_data != NULL)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "a build takes one of model_path and model_data");
  }
  if (build->thread_count < 0 || build->queue_count < 0 || !(build->cost_budget_s >= 0)) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "thread_count, queue_count and cost_budget_s are not negative");
  }
  for (uint64_t i = 0; i < build->dim_count; ++i) {
    if (build->dims[i].name != NULL && build->dims[i].value >= 0) continue;
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "dims[%llu] has no name or a negative value",
                           (unsigned long long)i);
  }
  for (uint64_t i = 0; i < build->dim_count; ++i) {
    for (uint64_t k = 0; k < i; ++k) {
      if (build->dims[k].value != build->dims[i].value || strcmp(build->dims[k].name, build->dims[i].name) != 0)
        continue;
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "dims[%llu] and dims[%llu] are the same",
                             (unsigned long long)k, (unsigned long long)i);
    }
  }
  for (uint64_t i = 0; i < build->alias_count; ++i) {
    if (build->aliases[i].output != NULL && build->aliases[i].input != NULL) continue;
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "aliases[%llu] lacks a name", (unsigned long long)i);
  }
  return byoc_setup_check_name("name", build->name, sizeof(((call_t *)0)->name), diag);
}

static byoc_status_t check_output(const byoc_compiler_build_t *build, byoc_diag_t *diag) {
  const byoc_allocator_t allocator = byoc_allocator_system();
  byoc_compose_options_t options = {.output = build->output};
  BYOC_RETURN_IF_ERROR(byoc_build_parse_weights("weights", build->weights, &options, diag));
  if (build->output == NULL && options.weights == BYOC_COMPOSE_WEIGHTS_EXTERNAL) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                           "weights go to a file beside the artifact's; without `output` it has none");
  }
  if (build->output == NULL) return BYOC_OK;
  if (byoc_compose_is_source(build->output)) { // a folder of its own
    const byoc_output_t model = {"the model", build->model_path};
    return byoc_outputs_check_outside(&model, 1, build->output, diag);
  }
  char *weights = NULL;
  BYOC_RETURN_IF_ERROR(byoc_build_weights_path(&options, allocator, diag, &weights));
  char *header = byoc_file_is_special(build->output) ? NULL : byoc_compose_header_path(build->output, allocator);
  const byoc_output_t outputs[] = {
      {"output", build->output}, {"the header of output", header}, {"the weights file of output", weights}};
  const byoc_status_t status = byoc_outputs_check(outputs, 3, build->model_path, diag);
  byoc_free(allocator, header);
  byoc_free(allocator, weights);
  return status;
}

static byoc_status_t read_model(const call_t *call, const byoc_setup_options_t *options, byoc_setup_t *setup,
                                byoc_diag_t *diag) {
  const byoc_compiler_build_t *build = &call->build;
  if (build->model_path != NULL) return byoc_setup_read_file(setup, options, build->model_path, diag);
  return byoc_setup_read_memory(setup, options, build->model_data, build->model_size_bytes, diag);
}

static byoc_status_t keep_plan(const call_t *call, const byoc_setup_t *setup, byoc_diag_t *diag) {
  byoc_result_t *result = call->result;
  byoc_string_t plan, placement;
  byoc_string_init(&plan, setup->allocator);
  byoc_string_init(&placement, setup->allocator);
  byoc_status_t status = byoc_plan_print(&setup->build.result.plan, &plan, diag);
  byoc_setup_format_placement(setup, &placement);
  const char *plan_text = byoc_arena_copy_string(&result->arena, plan.data);
  const char *placement_text = byoc_arena_copy_string(&result->arena, placement.data);
  if (status == BYOC_OK && (placement.failed || plan_text == NULL || placement_text == NULL)) {
    status = byoc_diag_out_of_memory(diag);
  }
  if (status == BYOC_OK) {
    result->shown.plan = plan_text;
    result->shown.placement = placement_text;
  }
  byoc_string_deinit(&placement);
  byoc_string_deinit(&plan);
  return status;
}

static byoc_status_t keep_artifact(byoc_result_t *result, const char *path, byoc_diag_t *diag) {
  const byoc_allocator_t allocator = byoc_allocator_system();
  size_t size = 0, header_size = 0;
  char *header_path = byoc_compose_header_path(path, allocator), *header = NULL;
  if (header_path == NULL) return byoc_diag_out_of_memory(diag);
  byoc_status_t status = byoc_file_read(path, allocator, diag, &result->artifact, &size);
  if (status == BYOC_OK) {
    status = byoc_file_read(header_path, byoc_arena_allocator(&result->arena), diag, &header, &header_size);
  }
  byoc_free(allocator, header_path);
  BYOC_RETURN_IF_ERROR(status);
  result->shown.artifact = result->artifact;
  result->shown.artifact_size_bytes = size;
  result->shown.header = header;
  result->shown.header_size_bytes = header_size;
  return BYOC_OK;
}

// Without an output, the artifact is made in a temporary folder and read from there.
static byoc_status_t compose(const call_t *call, const byoc_setup_t *setups, size_t count, byoc_diag_t *diag) {
  const byoc_allocator_t allocator = setups[0].allocator;
  const byoc_build_t *builds[BYOC_CPU_MOST_LEVELS];
  for (size_t i = 0; i < count; ++i) builds[i] = &setups[i].build;
  const byoc_compiler_build_t *build = &call->build;
  char *folder = NULL, *path = NULL, header_name[128];
  if (build->output == NULL) {
    BYOC_RETURN_IF_ERROR(byoc_make_temporary_directory("byoc-library", allocator, diag, &folder));
    path = byoc_path_join(allocator, folder, "model.so");
  }
  byoc_model_name(build->output != NULL ? build->output : call->name, header_name, sizeof(header_name));
  byoc_compose_options_t output = {.output = build->output != NULL ? build->output : path,
                                   .model_name = call->name,
                                   .header_name = build->name != NULL ? build->name : header_name,
                                   .profile = build->profile != 0,
                                   .keep_header = true,
                                   .huge_pages = build->huge_pages != 0};
  if (folder != NULL)
    output.weights = BYOC_COMPOSE_WEIGHTS_INTERNAL; // an artifact in memory is all that the caller gets
  (void)byoc_build_parse_weights("weights", build->weights, &output, NULL); // it was checked
  byoc_status_t status = output.output != NULL ? byoc_build_compose_entries(builds, NULL, 0, &output, diag)
                                               : byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK && folder != NULL) status = keep_artifact(call->result, path, diag);
  if (folder != NULL) (void)byoc_remove_tree(folder, NULL);
  byoc_free(allocator, path);
  byoc_free(allocator, folder);
  return status;
}

static byoc_status_t open_setup(const call_t *call, const byoc_setup_options_t *options, size_t level,
                                byoc_setup_t *setup, byoc_diag_t *diag) {
  byoc_setup_options_t of_level = *options;
  of_level.level = level;
  BYOC_RETURN_IF_ERROR(byoc_setup_open(setup, &of_level, call->compiler->registry, byoc_allocator_system(), diag));
  BYOC_RETURN_IF_ERROR(byoc_setup_parse_targets(setup, &of_level, diag));
  return read_model(call, &of_level, setup, diag);
}

// One build for each processor that -mcpu names, the best first; the plan is that of the first.
static byoc_status_t build_with(const call_t *call, const byoc_setup_options_t *options, byoc_setup_t *setups,
                                byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(open_setup(call, options, 1, &setups[0], diag));
  const size_t levels = setups[0].targets.levels.count, count = levels > 0 ? levels : 1;
  const bool is_host = setups[0].build.result.program != NULL; // it was read, and nothing is placed
  for (size_t i = 0; i < count; ++i) {
    if (i > 0) BYOC_RETURN_IF_ERROR(open_setup(call, options, i + 1, &setups[i], diag));
    BYOC_RETURN_IF_ERROR(byoc_setup_compile(&setups[i], BYOC_BUILD_ALL, diag));
  }
  if (!is_host) BYOC_RETURN_IF_ERROR(keep_plan(call, &setups[0], diag));
  return compose(call, setups, count, diag);
}

// Dimensions with one value each, and those with several.
static byoc_status_t read_dims(const call_t *call, byoc_diag_t *diag, byoc_setup_options_t *out_options) {
  const byoc_compiler_dim_t *given = call->build.dims;
  const uint64_t count = call->build.dim_count;
  byoc_arena_t *arena = &call->result->arena;
  byoc_onnx_dim_binding_t *dims = BYOC_ARENA_ARRAY(arena, byoc_onnx_dim_binding_t, count);
  byoc_variant_dim_t *variants = BYOC_ARENA_ARRAY(arena, byoc_variant_dim_t, count);
  int64_t *sizes = BYOC_ARENA_ARRAY(arena, int64_t, count); // those of one name stand together
  if (dims == NULL || variants == NULL || sizes == NULL) return byoc_diag_out_of_memory(diag);
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t first = 0;
    while (strcmp(given[first].name, given[i].name) != 0) ++first;
    if (first < i) continue;
    size_t size_count = 0;
    for (uint64_t k = i; k < count; ++k) {
      if (strcmp(given[k].name, given[i].name) == 0) sizes[size_count++] = given[k].value;
    }
    if (size_count == 1) {
      dims[out_options->dim_count++] = (byoc_onnx_dim_binding_t){.name = given[i].name, .value = sizes[0]};
    } else {
      variants[out_options->variant_count++] =
          (byoc_variant_dim_t){.name = given[i].name, .sizes = sizes, .size_count = size_count};
    }
    sizes += size_count;
  }
  out_options->dims = dims;
  out_options->variants = variants;
  return BYOC_OK;
}

static byoc_status_t read_aliases(const call_t *call, byoc_diag_t *diag, byoc_setup_options_t *out_options) {
  const uint64_t count = call->build.alias_count;
  byoc_host_pair_t *pairs = BYOC_ARENA_ARRAY(&call->result->arena, byoc_host_pair_t, count);
  if (pairs == NULL) return byoc_diag_out_of_memory(diag);
  for (uint64_t i = 0; i < count; ++i) {
    pairs[i] = (byoc_host_pair_t){.output = call->build.aliases[i].output, .input = call->build.aliases[i].input};
  }
  out_options->pairs = pairs;
  out_options->pair_count = count;
  return BYOC_OK;
}

static byoc_status_t run_build(call_t *call, byoc_diag_t *diag) {
  const byoc_compiler_build_t *build = &call->build;
  BYOC_RETURN_IF_ERROR(check_build(build, diag));
  BYOC_RETURN_IF_ERROR(check_output(build, diag));
  byoc_setup_options_t options = {.targets = build->targets,
                                  .target_count = build->target_count,
                                  .installed_by_default = true,
                                  .disabled = build->disabled_passes,
                                  .disabled_count = build->disabled_pass_count,
                                  .data_folder = build->data_folder,
                                  .triple = build->triple,
                                  .plan = build->plan,
                                  .cost = build->cost,
                                  .cost_budget_s = build->cost_budget_s,
                                  .size_price = build->size_price,
                                  .thread_count = build->thread_count,
                                  .threads = {.counts = {build->thread_count}, .count = build->thread_count > 0},
                                  .layout = build->layout,
                                  .queue_count = build->queue_count,
                                  .stream_axis = build->stream_axis,
                                  .fallback = build->fallback != 0,
                                  .trace = build->trace != 0,
                                  .as_source = byoc_compose_is_source(build->output),
                                  .watcher = {.self = call, .begin = begin_step}};
  BYOC_RETURN_IF_ERROR(read_dims(call, diag, &options));
  BYOC_RETURN_IF_ERROR(read_aliases(call, diag, &options));
  byoc_model_name(build->model_path != NULL ? build->model_path : "model", call->name, sizeof(call->name));
  if (build->name != NULL) (void)snprintf(call->name, sizeof(call->name), "%s", build->name);
  byoc_setup_t setups[BYOC_CPU_MOST_LEVELS] = {0};
  const byoc_status_t status = build_with(call, &options, setups, diag);
  for (size_t i = 0; i < BYOC_CPU_MOST_LEVELS; ++i) byoc_setup_close(&setups[i]);
  if (status == BYOC_OK) return BYOC_OK;
  return byoc_diag_context(diag, status, "building %s", build->model_path != NULL ? build->model_path : call->name);
}

int32_t byoc_compiler_build(byoc_compiler_t *compiler, const byoc_compiler_build_t *build,
                            const byoc_compiler_result_t **out_result) {
  if (out_result != NULL) *out_result = NULL;
  call_t call = {.compiler = compiler,
                 .result = byoc_result_create(),
                 .cancellations = atomic_load(&compiler->cancellations),
                 .step = ""};
  if (call.result == NULL) return BYOC_OUT_OF_MEMORY;
  byoc_diag_t diag = {0};
  byoc_status_t status = read_struct(build, sizeof(call.build), "byoc_compiler_build_t", &call.build, &diag);
  if (status == BYOC_OK) {
    call.result->self = call.build.self;
    call.result->heard = call.build.diagnostic;
    const bool is_chatty = call.build.verbosity >= BYOC_COMPILER_NOTE;
    const bool is_terse = call.build.verbosity == BYOC_COMPILER_ERROR;
    const byoc_task_t task = {.self = &call,
                              .log_level = is_chatty  ? BYOC_LOG_INFO
                                           : is_terse ? BYOC_LOG_ERROR
                                                      : BYOC_LOG_WARNING,
                              .log = hear_line,
                              .progress = hear_progress,
                              .is_cancelled = is_cancelled};
    const byoc_task_t *before = byoc_task_enter(&task);
    (void)pthread_mutex_lock(&compiler->lock);
    status = run_build(&call, &diag);
    (void)pthread_mutex_unlock(&compiler->lock);
    (void)byoc_task_enter(before);
  }
  return finish(call.result, status, &diag, out_result);
}

// SPDX-License-Identifier: Apache-2.0
// Implements libbyoc: compilers, and builds by the same pipeline as the command.
#include "byoc/compiler.h"

#include <locale.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/task.h"
#include "core/collage/plan_json.h"
#include "core/compile/setup.h"
#include "core/compile/weights.h"
#include "core/library/check_options.h"
#include "core/library/result.h"

struct byoc_compiler_t {
  pthread_mutex_t lock; // builds take turns
  byoc_plugin_registry_t *registry;
  atomic_uint cancellations; // so far: a build is cancelled if there were more than when it was asked for
};

const char *byoc_compiler_version(void) {
  return BYOC_VERSION_TEXT;
}

// Ends a call: notes the error, and gives the result to the caller if the caller wants it.
static int32_t finish(byoc_result_t *result, byoc_status_t status, const byoc_diag_t *diag,
                      const byoc_compiler_result_t **out_result) {
  byoc_diag_t unsaid = {0};
  if (status != BYOC_OK && diag->status == BYOC_OK) { // an allocation failed on the way to the message
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

// ---- the caller's locale ----

// Numbers are read and written with a point, whatever the program's language says. Threads that are started meanwhile
// read and write no numbers. All of the locale is C's: glibc has that one at hand, while a mixture with the program's
// would be made by newlocale, which loses memory under LOCPATH (glibc 2.36).
static locale_t enter_plain_locale(void) {
  const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  return plain != (locale_t)0 ? uselocale(plain) : (locale_t)0;
}

static void leave_plain_locale(locale_t before) {
  if (before == (locale_t)0) return;
  const locale_t plain = uselocale(before);
  freelocale(plain);
}

// ---- compilers ----

static void take_line(void *self, byoc_log_level_t level, const char *message) {
  byoc_result_add_line(self, level, message);
}

static byoc_status_t create(const byoc_compiler_options_t *given, byoc_diag_t *diag, byoc_compiler_t *compiler) {
  byoc_compiler_options_t options = {0};
  if (given != NULL) {
    BYOC_RETURN_IF_ERROR(byoc_library_read_struct(given, sizeof(options), "byoc_compiler_options_t", &options, diag));
  }
  BYOC_RETURN_IF_ERROR(byoc_library_check_strings(options.plugins, options.plugin_count, "plugins", diag));
  BYOC_RETURN_IF_ERROR(byoc_library_check_strings(options.preferred, options.preferred_count, "preferred", diag));
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
  if (out_result != NULL) *out_result = NULL;
  if (out_compiler == NULL) return BYOC_INVALID_ARGUMENT;
  *out_compiler = NULL;
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
  const locale_t before_plain = enter_plain_locale();
  const byoc_status_t status = create(options, &diag, compiler);
  leave_plain_locale(before_plain);
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
  if (compiler != NULL) (void)atomic_fetch_add(&compiler->cancellations, 1);
}

// ---- builds ----

typedef struct call_t {
  byoc_compiler_t *compiler;
  byoc_compiler_build_t build; // as both sides know it
  byoc_result_t *result;
  unsigned cancellations;  // of the compiler when the build was asked for
  atomic_bool is_unwanted; // the caller's progress said so
  const char *step;
  char name[BYOC_LIBRARY_NAME_BYTES]; // of the model
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

static byoc_status_t keep_plan(byoc_result_t *result, const byoc_setup_t *setup, byoc_diag_t *diag,
                               const char **out_plan, const char **out_placement) {
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
    *out_plan = plan_text;
    *out_placement = placement_text;
  }
  byoc_string_deinit(&placement);
  byoc_string_deinit(&plan);
  return status;
}

// The programs of an artifact: its one model, or its entries, for each processor that -mcpu names, the best first.
typedef struct programs_t {
  byoc_setup_t *setups;
  const char **plans, **placements; // for the result
  size_t model_count, count;
} programs_t;

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
static byoc_status_t compose(const call_t *call, const programs_t *programs, byoc_diag_t *diag) {
  const byoc_allocator_t allocator = byoc_allocator_system();
  const byoc_compiler_build_t *build = &call->build;
  const byoc_build_t *builds[BYOC_COMPOSE_MOST_ENTRIES];
  const char *names[BYOC_COMPOSE_MOST_ENTRIES];
  for (size_t k = 0; k < programs->count; ++k) builds[k] = &programs->setups[k].build;
  for (size_t k = 0; k < build->entry_count; ++k) names[k] = build->entries[k].name;
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
    output.weights = BYOC_COMPOSE_WEIGHTS_INTERNAL; // the caller gets an artifact in memory and no other file
  (void)byoc_build_parse_weights("weights", build->weights, &output, NULL); // it was checked
  byoc_status_t status = output.output != NULL
                             ? byoc_build_compose_entries(builds, names, build->entry_count, &output, diag)
                             : byoc_diag_out_of_memory(diag);
  if (status == BYOC_OK && folder != NULL) status = keep_artifact(call->result, path, diag);
  if (folder != NULL) (void)byoc_remove_tree(folder, NULL);
  byoc_free(allocator, path);
  byoc_free(allocator, folder);
  return status;
}

// `level`: from 1.
static byoc_status_t open_setup(const call_t *call, const byoc_setup_options_t *options, size_t level, size_t index,
                                byoc_setup_t *setup, byoc_diag_t *diag) {
  const byoc_compiler_entry_t model = byoc_library_model(&call->build, index);
  byoc_setup_options_t own = *options;
  own.level = level;
  own.data_folder = model.data_folder;
  BYOC_RETURN_IF_ERROR(byoc_setup_open(setup, &own, call->compiler->registry, byoc_allocator_system(), diag));
  BYOC_RETURN_IF_ERROR(byoc_setup_parse_targets(setup, &own, diag));
  if (model.model_path != NULL) return byoc_setup_read_file(setup, &own, model.model_path, diag);
  return byoc_setup_read_memory(setup, &own, model.model_data, model.model_size_bytes, diag);
}

static byoc_status_t build_programs(const call_t *call, const byoc_setup_options_t *options, programs_t *programs,
                                    byoc_diag_t *diag) {
  for (size_t k = 0; k < programs->count; ++k) {
    const size_t model = k % programs->model_count;
    byoc_setup_t *setup = &programs->setups[k];
    byoc_status_t status = open_setup(call, options, k / programs->model_count + 1, model, setup, diag);
    if (status == BYOC_OK && k == 0) { // the first build gives the number of processors
      const size_t levels = setup->targets.levels.count;
      programs->count = programs->model_count * (levels > 0 ? levels : 1);
      BYOC_RETURN_IF_ERROR(byoc_setup_check_programs(programs->model_count, levels, diag));
    }
    const bool is_host = setup->build.result.program != NULL; // it was read, and nothing is placed
    if (status == BYOC_OK) status = byoc_setup_compile(setup, BYOC_BUILD_ALL, diag);
    if (status == BYOC_OK && !is_host)
      status = keep_plan(call->result, setup, diag, &programs->plans[k], &programs->placements[k]);
    if (status != BYOC_OK && call->build.entry_count > 0) {
      return byoc_diag_context(diag, status, "the entry '%s'", call->build.entries[model].name);
    }
    BYOC_RETURN_IF_ERROR(status);
  }
  byoc_compiler_result_t *shown = &call->result->shown;
  shown->plan = programs->plans[0], shown->placement = programs->placements[0];
  shown->plans = programs->plans, shown->placements = programs->placements;
  shown->plan_count = programs->count;
  return compose(call, programs, diag);
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
  BYOC_RETURN_IF_ERROR(byoc_library_check_build(build, diag));
  byoc_setup_options_t options = {.targets = build->targets,
                                  .target_count = build->target_count,
                                  .installed_by_default = true,
                                  .disabled = build->disabled_passes,
                                  .disabled_count = build->disabled_pass_count,
                                  .triple = build->triple,
                                  .plan = build->plan,
                                  .cost = build->cost,
                                  .cost_budget_s = build->cost_budget_s,
                                  .check_budget_s = build->check_budget_s,
                                  .size_price = build->size_price,
                                  .thread_count = build->thread_count,
                                  .threads = {.counts = {build->thread_count}, .count = build->thread_count > 0},
                                  .layout = build->layout,
                                  .queue_count = build->queue_count,
                                  .stream_axis = build->stream_axis,
                                  .strictness = build->reading == BYOC_COMPILER_READ_STRICT    ? BYOC_ONNX_STRICT
                                                : build->reading == BYOC_COMPILER_READ_LENIENT ? BYOC_ONNX_LENIENT
                                                                                               : BYOC_ONNX_USUAL,
                                  .optional_inputs = build->optional_inputs,
                                  .optional_input_count = build->optional_input_count,
                                  .fallback = build->fallback != 0,
                                  .trace = build->trace != 0,
                                  .as_source = byoc_compose_is_source(build->output),
                                  .watcher = {.self = call, .begin = begin_step}};
  BYOC_RETURN_IF_ERROR(read_dims(call, diag, &options));
  BYOC_RETURN_IF_ERROR(read_aliases(call, diag, &options));
  if (build->plan_thread_count > 0) {
    BYOC_RETURN_IF_ERROR(byoc_placing_check_threads("plan_threads", build->plan_threads, build->plan_thread_count, diag,
                                                    &options.threads));
  }
  // Several models are called after the artifact.
  const char *called = build->entry_count > 0 ? build->output : build->model_path;
  byoc_model_name(called != NULL ? called : "model", call->name, sizeof(call->name));
  if (build->name != NULL) (void)snprintf(call->name, sizeof(call->name), "%s", build->name);
  byoc_setup_t setups[BYOC_COMPOSE_MOST_ENTRIES] = {0};
  const size_t model_count = build->entry_count > 0 ? build->entry_count : 1;
  programs_t programs = {.setups = setups,
                         .plans = BYOC_ARENA_ARRAY(&call->result->arena, const char *, BYOC_COMPOSE_MOST_ENTRIES),
                         .placements = BYOC_ARENA_ARRAY(&call->result->arena, const char *, BYOC_COMPOSE_MOST_ENTRIES),
                         .model_count = model_count,
                         .count = 1};
  if (programs.plans == NULL || programs.placements == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < BYOC_COMPOSE_MOST_ENTRIES; ++i) programs.plans[i] = programs.placements[i] = "";
  const byoc_status_t status = build_programs(call, &options, &programs, diag);
  for (size_t i = 0; i < BYOC_COMPOSE_MOST_ENTRIES; ++i) byoc_setup_close(&setups[i]);
  if (status == BYOC_OK) return BYOC_OK;
  return byoc_diag_context(diag, status, "building %s", called != NULL ? called : call->name);
}

int32_t byoc_compiler_build(byoc_compiler_t *compiler, const byoc_compiler_build_t *build,
                            const byoc_compiler_result_t **out_result) {
  if (out_result != NULL) *out_result = NULL;
  call_t call = {.compiler = compiler,
                 .result = byoc_result_create(),
                 .cancellations = compiler != NULL ? atomic_load(&compiler->cancellations) : 0,
                 .step = ""};
  if (call.result == NULL) return BYOC_OUT_OF_MEMORY;
  byoc_diag_t diag = {0};
  byoc_status_t status =
      byoc_library_read_struct(build, sizeof(call.build), "byoc_compiler_build_t", &call.build, &diag);
  if (compiler == NULL) status = byoc_diag_error(&diag, BYOC_INVALID_ARGUMENT, "the compiler is NULL");
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
    const locale_t before_plain = enter_plain_locale();
    (void)pthread_mutex_lock(&compiler->lock);
    status = run_build(&call, &diag);
    (void)pthread_mutex_unlock(&compiler->lock);
    leave_plain_locale(before_plain);
    (void)byoc_task_enter(before);
  }
  return finish(call.result, status, &diag, out_result);
}

// SPDX-License-Identifier: Apache-2.0
// Compose: the steps from a host program to the files on disk.
#include "core/compose/compose.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/elf.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/compose/compiler.h"
#include "core/compose/cross.h"
#include "core/compose/data_object.h"
#include "core/compose/host_c.h"
#include "core/compose/install.h"
#include "core/compose/libc.h"
#include "core/compose/link_files.h"
#include "core/compose/native.h"
#include "core/compose/seal.h"
#include "core/compose/source_folder.h"
#include "core/compose/static.h"
#include "core/compose/tool.h"
#include "core/compose/weights_file.h"
#include "core/kernel/emit_c.h"
#include "core/module/symbols.h"

// Instructions of the longest host program that is compiled at the full level.
enum { MOST_OPTIMISED = 4096 };

// One build, from its parts to a linked file in a temporary folder.
typedef struct build_t {
  const byoc_host_program_t *program;
  const byoc_compose_options_t *options;
  byoc_compose_options_t own_options; // with a path of the weights
  byoc_allocator_t allocator;
  byoc_diag_t *diag;
  byoc_arena_t arena;
  byoc_native_flags_t native;
  const char *compiler_version;
  byoc_data_layout_t layout;
  bool has_layout;
  char *metadata;
  char *folder;
  BYOC_VECTOR(byoc_compile_job_t) jobs; // host, kernels, then the backends' C sources
  BYOC_VECTOR(byoc_bytes_t) objects;    // parallel to jobs
  BYOC_VECTOR(byoc_string_t) texts;     // of the sources made here
  byoc_string_t runtime;                // the archive, if it was made here
} build_t;

// Settles own_options.weights.
static byoc_status_t decide_weights(build_t *build) {
  const bool is_shared =
      build->options->output == NULL || byoc_compose_form(build->options->output) == BYOC_COMPOSE_SHARED;
  build->own_options = *build->options;
  build->options = &build->own_options;
  byoc_compose_weights_t *weights = &build->own_options.weights;
  uint64_t sum_bytes = 0;
  if (*weights == BYOC_COMPOSE_WEIGHTS_APPENDED && !is_shared) {
    return byoc_diag_error(build->diag, BYOC_INVALID_ARGUMENT, "weights are appended to shared objects; '%s' is none",
                           build->options->output);
  }
  if (*weights != BYOC_COMPOSE_WEIGHTS_AUTO && *weights != BYOC_COMPOSE_WEIGHTS_INTERNAL) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_data_layout_sum(build->program, build->allocator, build->diag, &sum_bytes));
  const bool is_large = sum_bytes >= BYOC_COMPOSE_WEIGHTS_MOST_BYTES;
  if (*weights == BYOC_COMPOSE_WEIGHTS_INTERNAL && is_large && is_shared) *weights = BYOC_COMPOSE_WEIGHTS_APPENDED;
  if (*weights != BYOC_COMPOSE_WEIGHTS_AUTO) return BYOC_OK;
  *weights = is_large ? BYOC_COMPOSE_WEIGHTS_EXTERNAL : BYOC_COMPOSE_WEIGHTS_INTERNAL;
  return BYOC_OK;
}

static byoc_status_t choose_weights_path(build_t *build) {
  const char *output = build->options->output != NULL ? build->options->output : "model.so";
  if (build->own_options.weights_path != NULL) return BYOC_OK;
  if (byoc_file_is_special(output)) {
    byoc_status_t status =
        byoc_diag_error(build->diag, BYOC_INVALID_ARGUMENT,
                        "the weights have no place beside '%s', which is not a regular file", output);
    byoc_diag_hint(build->diag, "name a file for them, or leave them in the artifact: --weights internal");
    return status;
  }
  build->own_options.weights_path = byoc_compose_weights_path(output, byoc_arena_allocator(&build->arena));
  return build->own_options.weights_path != NULL ? BYOC_OK : byoc_diag_out_of_memory(build->diag);
}

static byoc_status_t build_init(build_t *build) {
  byoc_arena_init(&build->arena, build->allocator);
  byoc_string_init(&build->runtime, build->allocator);
  BYOC_RETURN_IF_ERROR(byoc_host_check_places(build->program, build->diag));
  BYOC_RETURN_IF_ERROR(byoc_native_flags(build->options->targets, &build->arena, build->diag, &build->native));
  static const char hasty_level[] = "-O1"; // the last -O on a command line counts
  if (build->options->in_haste &&
      !byoc_vector_push(&build->native.kernel, byoc_arena_allocator(&build->arena), hasty_level)) {
    return byoc_diag_out_of_memory(build->diag);
  }
  BYOC_RETURN_IF_ERROR(decide_weights(build));
  const byoc_compose_weights_t weights = build->options->weights;
  if (weights == BYOC_COMPOSE_WEIGHTS_EXTERNAL) BYOC_RETURN_IF_ERROR(choose_weights_path(build));
  BYOC_RETURN_IF_ERROR(byoc_data_layout_create(build->program, weights != BYOC_COMPOSE_WEIGHTS_INTERNAL,
                                               build->allocator, build->diag, &build->layout));
  build->has_layout = true;
  return BYOC_OK;
}

static void build_deinit(build_t *build) {
  for (size_t i = 0; i < build->objects.count; i++) {
    byoc_free(build->allocator, (void *)(uintptr_t)build->objects.data[i].data);
  }
  for (size_t i = 0; i < build->texts.count; i++) byoc_string_deinit(&build->texts.data[i]);
  byoc_string_deinit(&build->runtime);
  byoc_vector_deinit(&build->objects, build->allocator);
  byoc_vector_deinit(&build->texts, build->allocator);
  byoc_vector_deinit(&build->jobs, build->allocator);
  if (build->has_layout) byoc_data_layout_deinit(&build->layout);
  if (build->folder != NULL) (void)byoc_remove_tree(build->folder, NULL);
  byoc_free(build->allocator, build->folder);
  byoc_free(build->allocator, build->metadata);
  byoc_arena_deinit(&build->arena);
}

// ---- texts ----

static byoc_string_t *new_text(build_t *build) {
  byoc_string_t text;
  byoc_string_init(&text, build->allocator);
  if (!byoc_vector_push(&build->texts, build->allocator, text)) return NULL;
  return &build->texts.data[build->texts.count - 1];
}

static byoc_status_t emit_host(build_t *build, byoc_string_t *out) {
  BYOC_RETURN_IF_ERROR(byoc_compose_metadata(build->program, build->options, &build->layout, build->compiler_version,
                                             build->allocator, build->diag, &build->metadata));
  byoc_host_c_t host;
  BYOC_RETURN_IF_ERROR(
      byoc_host_c_init(build->program, build->options, &build->layout, build->allocator, build->diag, &host));
  byoc_status_t status = byoc_host_c_emit(&host, build->metadata, out);
  byoc_host_c_deinit(&host);
  return status;
}

static byoc_status_t emit_kernels(build_t *build, size_t unit, byoc_string_t *out) {
  size_t first = unit * BYOC_KERNELS_A_UNIT, count = build->program->kernels.count - first;
  if (count > BYOC_KERNELS_A_UNIT) count = BYOC_KERNELS_A_UNIT;
  byoc_status_t status = byoc_kernel_emit_c(build->program->kernels.data + first, count, out);
  if (status == BYOC_OUT_OF_MEMORY) return byoc_diag_out_of_memory(build->diag);
  if (status != BYOC_OK) {
    return byoc_diag_error(build->diag, status, "the kernels from '%s' on cannot be emitted as C",
                           build->program->kernels.data[first]->name);
  }
  return BYOC_OK;
}

// ---- jobs ----

static byoc_status_t add_job(build_t *build, const byoc_compile_job_t *job) {
  if (!byoc_vector_push(&build->jobs, build->allocator, *job) ||
      !byoc_vector_push(&build->objects, build->allocator, (byoc_bytes_t){0})) {
    return byoc_diag_out_of_memory(build->diag);
  }
  return BYOC_OK;
}

static byoc_status_t add_jobs(build_t *build) {
  // The glue of very long programs gains nothing from a better level, which would take twice the time.
  static const char *const host_flags[] = {"-O2"}, *const long_flags[] = {"-O1"};
  const bool is_long = build->program->instruction_count > MOST_OPTIMISED;
  const byoc_native_flags_t *native = &build->native;
  size_t units = byoc_kernel_unit_count(build->program);
  // Texts must not move, because jobs point into them.
  if (!byoc_vector_reserve(&build->texts, build->allocator, units + 1)) return byoc_diag_out_of_memory(build->diag);
  byoc_string_t *text = new_text(build);
  BYOC_RETURN_IF_ERROR(emit_host(build, text));
  byoc_compile_job_t host = {.name = "host",
                             .source = text->data,
                             .compiler = native->compiler,
                             .flags = is_long ? long_flags : host_flags,
                             .flag_count = 1};
  BYOC_RETURN_IF_ERROR(add_job(build, &host));
  for (size_t i = 0; i < units; i++) {
    text = new_text(build);
    BYOC_RETURN_IF_ERROR(emit_kernels(build, i, text));
    byoc_compile_job_t job = {.name = byoc_arena_format(&build->arena, "kernels_%zu", i),
                              .source = text->data,
                              .compiler = native->compiler,
                              .flags = native->kernel.data,
                              .flag_count = native->kernel.count};
    if (job.name == NULL) return byoc_diag_out_of_memory(build->diag);
    BYOC_RETURN_IF_ERROR(add_job(build, &job));
  }
  for (size_t i = 0; i < build->program->libraries.count; i++) {
    const byoc_runtime_module_t *module = build->program->libraries.data[i];
    if (!byoc_runtime_module_has(module, BYOC_MODULE_LINKABLE | BYOC_MODULE_SERIALISABLE)) continue;
    byoc_compile_job_t job = {.name = module->name,
                              .source = module->source,
                              .compiler = module->compiler != NULL ? module->compiler : native->compiler,
                              .flags = module->flags.data,
                              .flag_count = module->flags.count};
    BYOC_RETURN_IF_ERROR(add_job(build, &job));
  }
  return BYOC_OK;
}

static byoc_status_t compile(build_t *build) {
  int64_t start_ns = byoc_now_ns();
  BYOC_RETURN_IF_ERROR(
      byoc_compile_all(build->jobs.data, build->jobs.count, 0, build->allocator, build->diag, build->objects.data));
  byoc_log(BYOC_LOG_INFO, "compiled %zu translation units in %.2f s", build->jobs.count,
           (double)(byoc_now_ns() - start_ns) / 1e9);
  return BYOC_OK;
}

// ---- link ----

static byoc_status_t check_linkable(const byoc_runtime_module_t *module, byoc_diag_t *diag) {
  if (byoc_runtime_module_has(module, BYOC_MODULE_LINKABLE)) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "runtime module '%s' (%s) has no objects, and the program calls it",
                         module->name, byoc_runtime_module_kind_name(module->kind));
}

static bool uses_driver(const byoc_host_program_t *program, const byoc_runtime_module_t *module) {
  for (size_t i = 0; i < program->devices.count && module->kind == BYOC_RUNTIME_MODULE_DRIVER; i++) {
    if (strcmp(program->devices.data[i]->driver, byoc_runtime_module_given_name(module)) == 0) return true;
  }
  return false;
}

// The one for this machine travels as an archive, those for others as sources.
static byoc_status_t add_runtime(build_t *build, byoc_link_files_t *files) {
  if (build->options->targets == NULL || build->options->targets->triple == NULL) {
    return byoc_link_files_add_runtime(files, build->diag);
  }
  BYOC_RETURN_IF_ERROR(byoc_cross_runtime(build->native.compiler, build->allocator, build->diag, &build->runtime));
  return byoc_link_files_add(files, build->runtime.data, build->runtime.size, build->diag);
}

// Objects in order: the host's, the kernels', then each library where it was produced, the engines, drivers, data and
// runtime.
static byoc_status_t lay_down(build_t *build, byoc_link_files_t *files) {
  const byoc_host_program_t *program = build->program;
  size_t job = 0, own = 1 + byoc_kernel_unit_count(program);
  for (; job < own; job++) {
    const byoc_bytes_t *object = &build->objects.data[job];
    BYOC_RETURN_IF_ERROR(byoc_link_files_add(files, object->data, object->size_bytes, build->diag));
  }
  for (size_t i = 0; i < program->libraries.count; i++) {
    const byoc_runtime_module_t *module = program->libraries.data[i];
    BYOC_RETURN_IF_ERROR(check_linkable(module, build->diag));
    if (byoc_runtime_module_has(module, BYOC_MODULE_SERIALISABLE)) { // compiled above
      const byoc_bytes_t *object = &build->objects.data[job++];
      BYOC_RETURN_IF_ERROR(byoc_runtime_module_check_objects(module, object, 1, build->diag));
      BYOC_RETURN_IF_ERROR(byoc_link_files_add_module(files, module, object, build->diag));
    } else {
      BYOC_RETURN_IF_ERROR(byoc_runtime_module_check_symbols(module, build->diag));
      BYOC_RETURN_IF_ERROR(byoc_link_files_add_module(files, module, NULL, build->diag));
    }
  }
  for (size_t i = 0; i < program->engines.count; i++) {
    const byoc_runtime_module_t *engine = program->engines.data[i].engine;
    BYOC_RETURN_IF_ERROR(check_linkable(engine, build->diag));
    BYOC_RETURN_IF_ERROR(byoc_runtime_module_check_symbols(engine, build->diag));
    BYOC_RETURN_IF_ERROR(byoc_link_files_add_module(files, engine, NULL, build->diag));
  }
  for (size_t i = 0; program->module != NULL && i < program->module->runtime_modules.count; i++) {
    const byoc_runtime_module_t *driver = program->module->runtime_modules.data[i];
    if (!uses_driver(program, driver)) continue;
    BYOC_RETURN_IF_ERROR(check_linkable(driver, build->diag));
    BYOC_RETURN_IF_ERROR(byoc_runtime_module_check_symbols(driver, build->diag));
    BYOC_RETURN_IF_ERROR(byoc_link_files_add_module(files, driver, NULL, build->diag));
  }
  static const char *const data_symbols[] = {"byoc_data", "byoc_metadata"};
  BYOC_RETURN_IF_ERROR(byoc_link_files_add_path(files, "data.o", data_symbols, 2, build->diag));
  const char *data = byoc_arena_format(&build->arena, "%s/data.o", build->folder);
  if (data == NULL) return byoc_diag_out_of_memory(build->diag);
  BYOC_RETURN_IF_ERROR(
      byoc_data_object_write(&build->layout, build->metadata, &build->objects.data[0], data, build->diag));
  BYOC_RETURN_IF_ERROR(add_runtime(build, files));
  return byoc_link_files_write(files, program->module, build->diag);
}

static byoc_status_t link_artifact(build_t *build, const char *output) {
  static const char *const exports[] = {"byoc_artifact_entry"};
  byoc_link_files_t files;
  byoc_link_files_init(&files, build->folder, build->allocator);
  files.machine = build->native.machine;
  int64_t start_ns = byoc_now_ns();
  byoc_status_t status = lay_down(build, &files);
  byoc_link_job_t job = {0};
  byoc_libc_t libc = {0};
  const bool is_shared = byoc_compose_form(build->options->output) == BYOC_COMPOSE_SHARED;
  if (is_shared && !build->options->in_haste) byoc_libc_open(build->native.compiler, &libc);
  if (status == BYOC_OK) {
    job = (byoc_link_job_t){.output = output,
                            .compiler = build->native.compiler,
                            .files = files.paths.data,
                            .file_count = files.paths.count,
                            .names = files.names.data,
                            .needed = files.needed.data,
                            .needed_count = files.needed.count,
                            .search = files.search.data,
                            .search_count = files.search.count,
                            .exports = exports,
                            .export_count = 1,
                            .needs_parts_of_libc = libc.is_whole,
                            .has_build_id = true};
    status = byoc_link_shared(&job, build->diag);
    byoc_log(BYOC_LOG_INFO, "linked in %.2f s", (double)(byoc_now_ns() - start_ns) / 1e9);
  }
  if (status == BYOC_OK) {
    status = byoc_compose_verify_linked(output, files.needed.data, files.needed.count, build->diag);
  }
  if (status == BYOC_OK && libc.is_whole) status = byoc_libc_lower_versions(&libc, output, build->diag);
  byoc_libc_close(&libc);
  if (status == BYOC_OK && !is_shared) {
    status = byoc_compose_make_static(&job, build->options, build->allocator, build->diag);
  } else if (status == BYOC_OK) {
    if (build->options->weights == BYOC_COMPOSE_WEIGHTS_APPENDED && build->layout.weights.count > 0) {
      status = byoc_weights_file_append(&build->layout, output, build->diag);
    }
    if (status == BYOC_OK) status = byoc_compose_seal(output, build->diag);
  }
  byoc_link_files_deinit(&files);
  return status;
}

// ---- the whole ----

static byoc_status_t compose_source(build_t *build) {
  BYOC_RETURN_IF_ERROR(byoc_source_folder_check(build->program, build->diag));
  if (build->options->weights == BYOC_COMPOSE_WEIGHTS_EXTERNAL ||
      build->options->weights == BYOC_COMPOSE_WEIGHTS_APPENDED) {
    return byoc_diag_error(build->diag, BYOC_INVALID_ARGUMENT, "C source holds its weights: --weights is for files");
  }
  if (build->options->targets != NULL && build->options->targets->triple != NULL) {
    return byoc_diag_error(build->diag, BYOC_INVALID_ARGUMENT, "C source is for any machine: leave out --triple");
  }
  build->own_options = *build->options;
  build->own_options.weights = BYOC_COMPOSE_WEIGHTS_INTERNAL;
  build->options = &build->own_options;
  BYOC_RETURN_IF_ERROR(build_init(build));
  BYOC_RETURN_IF_ERROR(add_jobs(build));
  byoc_string_t header;
  byoc_string_init(&header, build->allocator);
  byoc_status_t status = byoc_compose_emit_header(build->program, build->options, &header, build->diag);
  const byoc_source_folder_t source = {.program = build->program,
                                       .options = build->options,
                                       .jobs = build->jobs.data,
                                       .job_count = build->jobs.count,
                                       .kernel_flags = build->native.kernel.data,
                                       .kernel_flag_count = build->native.kernel.count,
                                       .layout = &build->layout,
                                       .metadata = build->metadata,
                                       .header = &header};
  if (status == BYOC_OK) status = byoc_source_folder_write(&source, build->allocator, build->diag);
  byoc_string_deinit(&header);
  return status;
}

// An artifact looks for its weights in its own folder, wherever they were written.
static void note_place_of_weights(const byoc_compose_options_t *options) {
  const byoc_allocator_t allocator = byoc_allocator_system();
  char *own = byoc_path_directory(allocator, options->output);
  char *theirs = byoc_path_directory(allocator, options->weights_path);
  struct stat left, right;
  if (own != NULL && theirs != NULL && !byoc_file_is_special(options->output) && stat(own, &left) == 0 &&
      stat(theirs, &right) == 0 && (left.st_dev != right.st_dev || left.st_ino != right.st_ino)) {
    byoc_log(BYOC_LOG_WARNING,
             "'%s' looks for '%s' in its own folder: move the weights there, or name them in BYOC_WEIGHTS when it runs",
             options->output, byoc_path_base(options->weights_path));
  }
  byoc_free(allocator, own);
  byoc_free(allocator, theirs);
}

static byoc_status_t compose_linked(build_t *build) {
  const byoc_compose_options_t *options = build->options;
  byoc_diag_t *diag = build->diag;
  byoc_string_t header;
  byoc_string_init(&header, build->allocator);
  char *linked = NULL;
  byoc_status_t status = byoc_file_check_place(options->output, diag);
  if (status == BYOC_OK) status = build_init(build);
  if (status == BYOC_OK) status = byoc_c_compiler_version(build->native.compiler, diag, &build->compiler_version);
  if (status == BYOC_OK) status = add_jobs(build);
  if (status == BYOC_OK) status = compile(build);
  if (status == BYOC_OK) {
    status = byoc_make_temporary_directory("byoc-compose", build->allocator, diag, &build->folder);
  }
  if (status == BYOC_OK) {
    linked = byoc_path_join(build->allocator, build->folder, "model.so");
    status = linked == NULL ? byoc_diag_out_of_memory(diag) : link_artifact(build, linked);
  }
  if (status == BYOC_OK && options->keep_header) {
    status = byoc_compose_emit_header(build->program, options, &header, diag);
  }
  byoc_file_set_t own_files = {0}, *files = options->files != NULL ? options->files : &own_files;
  if (status == BYOC_OK && build->options->weights == BYOC_COMPOSE_WEIGHTS_EXTERNAL &&
      build->layout.weights.count > 0) {
    if (options->weights_path != NULL) note_place_of_weights(options);
    status =
        byoc_weights_file_add(&build->layout, build->options->weights_path, options->weights_path != NULL, files, diag);
  }
  if (status == BYOC_OK) {
    status = byoc_compose_install(linked, options->output, options->keep_header ? &header : NULL, files,
                                  build->allocator, diag);
  }
  byoc_file_set_abandon(&own_files);
  byoc_free(build->allocator, linked);
  byoc_string_deinit(&header);
  return status;
}

byoc_status_t byoc_compose_artifact(const byoc_host_program_t *program, const byoc_compose_options_t *options,
                                    byoc_allocator_t allocator, byoc_diag_t *diag) {
  build_t build = {.program = program, .options = options, .allocator = allocator, .diag = diag};
  byoc_status_t status =
      byoc_compose_form(options->output) == BYOC_COMPOSE_SOURCE ? compose_source(&build) : compose_linked(&build);
  build_deinit(&build);
  if (status != BYOC_OK) return byoc_diag_context(diag, status, "composing '%s'", options->output);
  return BYOC_OK;
}

byoc_status_t byoc_compose_emit_c(const byoc_host_program_t *program, const byoc_compose_options_t *options,
                                  byoc_string_t *out, byoc_diag_t *diag) {
  build_t build = {.program = program, .options = options, .allocator = out->allocator, .diag = diag};
  byoc_status_t status = build_init(&build);
  // Printing the C needs no compiler; if there is none, its version is left out of the metadata.
  const char *compiler = NULL;
  if (status == BYOC_OK && byoc_c_compiler_find(build.native.compiler, NULL, &compiler) == BYOC_OK) {
    status = byoc_c_compiler_version(build.native.compiler, diag, &build.compiler_version);
  }
  byoc_string_append(out, "// ---- host.c ----\n");
  if (status == BYOC_OK) status = emit_host(&build, out);
  for (size_t i = 0; i < byoc_kernel_unit_count(program) && status == BYOC_OK; i++) {
    byoc_string_appendf(out, "\n// ---- kernels_%zu.c ----\n", i);
    status = emit_kernels(&build, i, out);
  }
  build_deinit(&build);
  if (status == BYOC_OK && out->failed) status = byoc_diag_out_of_memory(diag);
  return status;
}

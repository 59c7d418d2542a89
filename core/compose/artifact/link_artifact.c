// SPDX-License-Identifier: Apache-2.0
// Links the compiled objects and the files of backends into the file of an artifact.
#include <string.h>

#include "core/base/log.h"
#include "core/compose/artifact/composing.h"
#include "core/compose/artifact/data_object.h"
#include "core/compose/artifact/install.h"
#include "core/compose/artifact/seal.h"
#include "core/compose/artifact/static.h"
#include "core/compose/artifact/weights_file.h"
#include "core/compose/cc/cross.h"
#include "core/compose/cc/libc.h"
#include "core/module/symbols.h"

// Names of the program that no module may define.
static const char *const own_symbols[] = {"byoc_data", "byoc_metadata"};
enum { OWN_SYMBOLS = sizeof(own_symbols) / sizeof(own_symbols[0]) };
static const char data_file[] = "data.o";

// The inputs of the link, of all entries.
typedef struct linking_t {
  byoc_composing_t *composing;
  byoc_link_files_t *files; // one for each entry
  byoc_joined_t joined;     // of several entries
  byoc_link_job_t job;
} linking_t;

static byoc_status_t check_linkable(const byoc_runtime_module_t *module, byoc_diag_t *diag) {
  if (byoc_runtime_module_has(module, BYOC_MODULE_LINKABLE)) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_INVALID_DATA, "runtime module '%s' (%s) has no objects, and the program calls it",
                         module->name, byoc_runtime_module_kind_name(module->kind));
}

bool byoc_composing_uses_driver(const byoc_host_program_t *program, const byoc_runtime_module_t *module) {
  for (size_t i = 0; i < program->devices.count && module->kind == BYOC_RUNTIME_MODULE_DRIVER; i++) {
    if (strcmp(program->devices.data[i]->driver, byoc_runtime_module_given_name(module)) == 0) return true;
  }
  return false;
}

// The one for this machine travels as an archive, those for others as sources.
static byoc_status_t add_runtime(byoc_composing_t *composing, byoc_link_files_t *files) {
  if (composing->options->targets == NULL || composing->options->targets->triple == NULL) {
    return byoc_link_files_add_runtime(files, composing->diag);
  }
  if (composing->runtime.size == 0) {
    BYOC_RETURN_IF_ERROR(
        byoc_cross_runtime(composing->native->compiler, composing->allocator, composing->diag, &composing->runtime));
  }
  return byoc_link_files_add(files, composing->runtime.data, composing->runtime.size, composing->diag);
}

static byoc_status_t add_library(const byoc_composing_t *composing, const byoc_runtime_module_t *module, size_t *job,
                                 byoc_link_files_t *files) {
  BYOC_RETURN_IF_ERROR(check_linkable(module, composing->diag));
  if (byoc_runtime_module_has(module, BYOC_MODULE_SERIALISABLE)) { // it was compiled
    const byoc_bytes_t *object = &composing->objects.data[(*job)++];
    BYOC_RETURN_IF_ERROR(byoc_runtime_module_check_objects(module, object, 1, composing->diag));
    return byoc_link_files_add_module(files, module, object, composing->diag);
  }
  BYOC_RETURN_IF_ERROR(byoc_runtime_module_check_symbols(module, composing->diag));
  return byoc_link_files_add_module(files, module, NULL, composing->diag);
}

static byoc_status_t add_whole_module(const byoc_composing_t *composing, const byoc_runtime_module_t *module,
                                      byoc_link_files_t *files) {
  BYOC_RETURN_IF_ERROR(check_linkable(module, composing->diag));
  BYOC_RETURN_IF_ERROR(byoc_runtime_module_check_symbols(module, composing->diag));
  return byoc_link_files_add_module(files, module, NULL, composing->diag);
}

// Objects in order: the host's, the kernels', then each library where it was produced, the engines, drivers, data and
// runtime. The data of several entries is one file, which joins the link later.
static byoc_status_t lay_down(byoc_composing_t *composing, const byoc_composing_entry_t *entry,
                              byoc_link_files_t *files) {
  const byoc_host_program_t *program = entry->program;
  size_t job = entry->first_job;
  const size_t own = job + 1 + entry->kernel_unit_count;
  for (; job < own; job++) {
    const byoc_bytes_t *object = &composing->objects.data[job];
    BYOC_RETURN_IF_ERROR(byoc_link_files_add(files, object->data, object->size_bytes, composing->diag));
  }
  for (size_t i = 0; i < program->libraries.count; i++) {
    BYOC_RETURN_IF_ERROR(add_library(composing, program->libraries.data[i], &job, files));
  }
  for (size_t i = 0; i < program->engines.count; i++) {
    BYOC_RETURN_IF_ERROR(add_whole_module(composing, program->engines.data[i].engine, files));
  }
  for (size_t i = 0; program->module != NULL && i < program->module->runtime_modules.count; i++) {
    const byoc_runtime_module_t *driver = program->module->runtime_modules.data[i];
    if (byoc_composing_uses_driver(program, driver)) BYOC_RETURN_IF_ERROR(add_whole_module(composing, driver, files));
  }
  if (composing->entry_count == 1) {
    BYOC_RETURN_IF_ERROR(byoc_link_files_add_path(files, data_file, own_symbols, OWN_SYMBOLS, composing->diag));
  } else {
    BYOC_RETURN_IF_ERROR(byoc_link_files_reserve(files, own_symbols, OWN_SYMBOLS, composing->diag));
  }
  BYOC_RETURN_IF_ERROR(add_runtime(composing, files));
  return byoc_link_files_write(files, program->module, composing->diag);
}

static const char *path_in(byoc_composing_t *composing, const char *name) {
  const char *path = byoc_arena_format(&composing->arena, "%s/%s", composing->folder, name);
  if (path == NULL) (void)byoc_diag_out_of_memory(composing->diag);
  return path;
}

static byoc_status_t write_data(byoc_composing_t *composing) {
  const char *path = path_in(composing, data_file);
  if (path == NULL) return byoc_diag_failure(composing->diag);
  const byoc_bytes_t metadata = {.data = composing->metadata.data, .size_bytes = composing->metadata.size};
  BYOC_RETURN_IF_ERROR(
      byoc_data_object_write(&composing->layout, &metadata, &composing->objects.data[0], path, composing->diag));
  byoc_data_layout_forget(&composing->layout); // the linker needs the memory now
  return BYOC_OK;
}

// ---- several entries ----

static byoc_status_t add_joined(linking_t *linking, const char *path) {
  byoc_joined_t *joined = &linking->joined;
  const byoc_allocator_t allocator = linking->composing->allocator;
  if (path == NULL) return byoc_diag_failure(linking->composing->diag);
  return byoc_vector_push(&joined->paths, allocator, path) && byoc_vector_push(&joined->names, allocator, NULL)
             ? BYOC_OK
             : byoc_diag_out_of_memory(linking->composing->diag);
}

// The objects of all entries, of the kernels that they share, and their data.
static byoc_status_t join(linking_t *linking) {
  byoc_composing_t *composing = linking->composing;
  BYOC_RETURN_IF_ERROR(byoc_composing_join(composing, linking->files, &linking->joined));
  for (size_t i = 0; i < composing->shared_unit_count; i++) {
    char name[48];
    snprintf(name, sizeof(name), "shared_%zu.o", i);
    const char *path = path_in(composing, name);
    BYOC_RETURN_IF_ERROR(add_joined(linking, path));
    const byoc_bytes_t *object = &composing->objects.data[i];
    BYOC_RETURN_IF_ERROR(byoc_file_write(path, object->data, object->size_bytes, composing->diag));
  }
  return add_joined(linking, path_in(composing, data_file));
}

static bool holds(const char *const *texts, size_t count, const char *text) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(texts[i], text) == 0) return true;
  }
  return false;
}

// Libraries that an entry needs from outside go to the first one's list.
static byoc_status_t add_outside(byoc_link_files_t *to, const byoc_link_files_t *from, byoc_diag_t *diag) {
  const byoc_allocator_t allocator = to->arena.allocator;
  bool ok = true;
  for (size_t i = 0; i < from->needed.count && ok; i++) {
    const char *name = from->needed.data[i];
    if (!holds(to->needed.data, to->needed.count, name)) ok = byoc_vector_push(&to->needed, allocator, name);
  }
  for (size_t i = 0; i < from->search.count && ok; i++) {
    const char *folder = from->search.data[i];
    if (!holds(to->search.data, to->search.count, folder)) ok = byoc_vector_push(&to->search, allocator, folder);
  }
  return ok ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// ---- the link ----

static byoc_status_t lay_down_all(linking_t *linking) {
  byoc_composing_t *composing = linking->composing;
  BYOC_RETURN_IF_ERROR(write_data(composing));
  for (size_t k = 0; k < composing->entry_count; k++) {
    byoc_link_files_t *files = &linking->files[k];
    const char *folder = composing->folder;
    if (composing->entry_count > 1) {
      char name[48];
      snprintf(name, sizeof(name), "entry_%zu", k);
      folder = path_in(composing, name);
      if (folder == NULL) return byoc_diag_failure(composing->diag);
      BYOC_RETURN_IF_ERROR(byoc_make_directories(folder, composing->diag));
    }
    files->folder = folder;
    files->machine = composing->native->machine;
    BYOC_RETURN_IF_ERROR(lay_down(composing, &composing->entries[k], files));
    if (k > 0) BYOC_RETURN_IF_ERROR(add_outside(&linking->files[0], files, composing->diag));
  }
  return composing->entry_count > 1 ? join(linking) : BYOC_OK;
}

static byoc_status_t link_files(linking_t *linking, const char *output) {
  static const char *const exports[] = {"byoc_artifact_entry"};
  byoc_composing_t *composing = linking->composing;
  const byoc_compose_options_t *options = composing->options;
  const byoc_link_files_t *files = &linking->files[0];
  const bool is_joined = composing->entry_count > 1;
  const bool is_shared = byoc_compose_form(options->output) == BYOC_COMPOSE_SHARED;
  byoc_libc_t libc = {0};
  int64_t start_ns = byoc_now_ns();
  if (is_shared && !options->in_haste) {
    BYOC_RETURN_IF_ERROR(byoc_libc_open(composing->native->compiler, composing->diag, &libc));
  }
  linking->job = (byoc_link_job_t){.output = output,
                                   .compiler = composing->native->compiler,
                                   .files = is_joined ? linking->joined.paths.data : files->paths.data,
                                   .file_count = is_joined ? linking->joined.paths.count : files->paths.count,
                                   .names = is_joined ? linking->joined.names.data : files->names.data,
                                   .needed = files->needed.data,
                                   .needed_count = files->needed.count,
                                   .search = files->search.data,
                                   .search_count = files->search.count,
                                   .exports = exports,
                                   .export_count = 1,
                                   .needs_parts_of_libc = libc.is_whole,
                                   .has_build_id = true};
  byoc_status_t status = byoc_link_shared(&linking->job, composing->diag);
  byoc_log(BYOC_LOG_INFO, "linked in %.2f s", (double)(byoc_now_ns() - start_ns) / 1e9);
  if (status == BYOC_OK) {
    status = byoc_compose_verify_linked(output, files->needed.data, files->needed.count, composing->diag);
  }
  if (status == BYOC_OK && libc.is_whole) status = byoc_libc_lower_versions(&libc, output, composing->diag);
  byoc_libc_close(&libc);
  return status;
}

byoc_status_t byoc_composing_seal(byoc_composing_t *composing, const char *output) {
  if (composing->options->weights == BYOC_COMPOSE_WEIGHTS_APPENDED && composing->layout.weights.count > 0) {
    BYOC_RETURN_IF_ERROR(byoc_weights_file_append(&composing->layout, output, composing->diag));
  }
  return byoc_compose_seal(output, composing->diag);
}

static byoc_status_t finish(const linking_t *linking, const char *output) {
  byoc_composing_t *composing = linking->composing;
  const byoc_compose_options_t *options = composing->options;
  if (byoc_compose_form(options->output) != BYOC_COMPOSE_SHARED) {
    return byoc_compose_make_static(&linking->job, options, composing->allocator, composing->diag);
  }
  return byoc_composing_seal(composing, output);
}

byoc_status_t byoc_composing_link(byoc_composing_t *composing, const char *output) {
  linking_t linking = {.composing = composing};
  linking.files = BYOC_ARENA_ARRAY(&composing->arena, byoc_link_files_t, composing->entry_count);
  if (linking.files == NULL) return byoc_diag_out_of_memory(composing->diag);
  for (size_t k = 0; k < composing->entry_count; k++) {
    byoc_link_files_init(&linking.files[k], composing->folder, composing->allocator);
  }
  byoc_status_t status = lay_down_all(&linking);
  if (status == BYOC_OK) status = link_files(&linking, output);
  if (status == BYOC_OK) status = finish(&linking, output);
  for (size_t k = 0; k < composing->entry_count; k++) byoc_link_files_deinit(&linking.files[k]);
  byoc_joined_deinit(&linking.joined);
  return status;
}

// SPDX-License-Identifier: Apache-2.0
// Writes the inputs of a link as files of one folder, each content once.
#include "core/compose/cc/link_files.h"

#include <stdio.h>
#include <string.h>

#include "core/base/elf.h"
#include "core/compose/cc/scopes.h"
#include "core/module/linkage.h"
#include "core/module/outside.h"

extern const unsigned char byoc_embed_artifact_runtime[];
extern const unsigned long long byoc_embed_artifact_runtime_size;

void byoc_link_files_init(byoc_link_files_t *files, const char *folder, byoc_allocator_t allocator) {
  *files = (byoc_link_files_t){.folder = folder, .machine = byoc_machine_host()};
  byoc_arena_init(&files->arena, allocator);
  byoc_string_map_init(&files->contents, allocator);
}

void byoc_link_files_deinit(byoc_link_files_t *files) {
  byoc_map_deinit(&files->contents);
  byoc_vector_deinit(&files->files, files->arena.allocator);
  byoc_vector_deinit(&files->reserved, files->arena.allocator);
  byoc_vector_deinit(&files->paths, files->arena.allocator);
  byoc_vector_deinit(&files->names, files->arena.allocator);
  byoc_vector_deinit(&files->outside, files->arena.allocator);
  byoc_vector_deinit(&files->needed, files->arena.allocator);
  byoc_vector_deinit(&files->search, files->arena.allocator);
  byoc_arena_deinit(&files->arena);
}

// ---- collecting ----

typedef struct machine_check_t {
  const byoc_link_files_t *files;
  const byoc_runtime_module_t *module;
  const char *name;
  byoc_diag_t *diag;
} machine_check_t;

static byoc_status_t check_machine_of(void *self, const char *member, const uint8_t *data, size_t size_bytes) {
  const machine_check_t *check = self;
  byoc_elf_t elf;
  if (!byoc_is_elf(data, size_bytes)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_elf_open(data, size_bytes, member, check->diag, &elf));
  if (elf.machine == byoc_machine_elf(check->files->machine)) return BYOC_OK;
  char name[BYOC_MACHINE_NAME_BYTES], of_target[128] = "";
  if (check->module != NULL) snprintf(of_target, sizeof(of_target), " of target '%s'", check->module->target);
  byoc_status_t status =
      byoc_diag_error(check->diag, BYOC_UNSUPPORTED, "%s%s is code for %s, and the artifact is for %s", check->name,
                      of_target, byoc_machine_print_elf(elf.machine, name), byoc_machine_name(check->files->machine));
  if (check->module != NULL && check->module->sources.count == 0) {
    byoc_diag_hint(check->diag, "its plugin can announce the code for that machine (byoc_runtime_code_t in "
                                "byoc/plugin.h)");
  } else {
    byoc_diag_hint(check->diag, "check the compiler (-cc of target c, or CC), and the machine of --triple");
  }
  return status;
}

static byoc_status_t check_machine(const machine_check_t *check, const void *data, size_t size_bytes) {
  machine_check_t copy = *check;
  if (!byoc_is_ar(data, size_bytes)) return check_machine_of(&copy, check->name, data, size_bytes);
  return byoc_ar_visit(data, size_bytes, check->name, check_machine_of, &copy, check->diag);
}

static byoc_status_t add_file(byoc_link_files_t *files, const byoc_runtime_module_t *module, const char *name,
                              const void *data, size_t size_bytes, byoc_diag_t *diag) {
  byoc_link_file_t file = {.module = module, .name = name, .data = data, .size_bytes = size_bytes};
  const machine_check_t check = {.files = files, .module = module, .name = name, .diag = diag};
  if (data != NULL) BYOC_RETURN_IF_ERROR(check_machine(&check, data, size_bytes));
  if (data != NULL) file.hash = byoc_content_hash(data, size_bytes);
  return byoc_vector_push(&files->files, files->arena.allocator, file) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_link_files_add(byoc_link_files_t *files, const void *data, size_t size_bytes, byoc_diag_t *diag) {
  return add_file(files, NULL, "an object of the program", data, size_bytes, diag);
}

byoc_status_t byoc_link_files_reserve(byoc_link_files_t *files, const char *const *symbols, size_t symbol_count,
                                      byoc_diag_t *diag) {
  for (size_t i = 0; i < symbol_count; i++) {
    if (!byoc_vector_push(&files->reserved, files->arena.allocator, symbols[i])) return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

byoc_status_t byoc_link_files_add_path(byoc_link_files_t *files, const char *name, const char *const *symbols,
                                       size_t symbol_count, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_link_files_reserve(files, symbols, symbol_count, diag));
  return add_file(files, NULL, name, NULL, 0, diag);
}

static bool holds(const char *const *texts, size_t count, const char *text) {
  for (size_t i = 0; i < count; i++) {
    if (strcmp(texts[i], text) == 0) return true;
  }
  return false;
}

static byoc_status_t add_needed(byoc_link_files_t *files, const char *name, byoc_diag_t *diag) {
  if (holds(files->needed.data, files->needed.count, name)) return BYOC_OK;
  return byoc_vector_push(&files->needed, files->arena.allocator, name) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static byoc_status_t add_search(byoc_link_files_t *files, const char *folder, byoc_diag_t *diag) {
  if (holds(files->search.data, files->search.count, folder)) return BYOC_OK;
  return byoc_vector_push(&files->search, files->arena.allocator, folder) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// The names of symbols from outside cannot be changed, so those of files give way.
static byoc_status_t add_outside(byoc_link_files_t *files, const byoc_runtime_module_t *module, byoc_diag_t *diag) {
  for (size_t i = 0; i <= module->symbols.count; i++) {
    const char *symbol = i < module->symbols.count ? module->symbols.data[i] : module->setup_symbol;
    if (symbol == NULL) continue;
    for (size_t k = 0; k < files->outside.count; k++) {
      const byoc_runtime_module_t *other = files->outside.data[k];
      if (!byoc_runtime_module_lists(other, symbol)) continue;
      byoc_status_t status = byoc_diag_error(
          diag, BYOC_ALREADY_EXISTS, "the symbol '%s' comes from '%s' for target '%s' and from '%s' for target '%s'",
          symbol, other->needed.data[0], other->target, module->needed.data[0], module->target);
      byoc_diag_hint(diag,
                     "a process has one symbol of that name outside of artifacts: link one of the two from files");
      return status;
    }
    if (!byoc_vector_push(&files->reserved, files->arena.allocator, symbol)) return byoc_diag_out_of_memory(diag);
  }
  return byoc_vector_push(&files->outside, files->arena.allocator, module) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

byoc_status_t byoc_link_files_add_module(byoc_link_files_t *files, const byoc_runtime_module_t *module,
                                         const byoc_bytes_t *object, byoc_diag_t *diag) {
  if (object != NULL) {
    BYOC_RETURN_IF_ERROR(add_file(files, module, module->name, object->data, object->size_bytes, diag));
  }
  for (size_t i = 0; i < module->files.count; i++) {
    const byoc_file_bytes_t *file = &module->files.data[i];
    if (!byoc_is_ar(file->data, file->size_bytes) && !byoc_is_elf(file->data, file->size_bytes)) {
      return byoc_diag_error(diag, BYOC_INVALID_DATA,
                             "the file '%s' of runtime module '%s' is neither an ELF object nor an archive", file->name,
                             module->name);
    }
    BYOC_RETURN_IF_ERROR(add_file(files, module, file->name, file->data, file->size_bytes, diag));
  }
  for (size_t i = 0; i < module->needed.count; i++)
    BYOC_RETURN_IF_ERROR(add_needed(files, module->needed.data[i], diag));
  for (size_t i = 0; i < module->search.count; i++)
    BYOC_RETURN_IF_ERROR(add_search(files, module->search.data[i], diag));
  return byoc_runtime_module_is_outside(module) ? add_outside(files, module, diag) : BYOC_OK;
}

byoc_status_t byoc_link_files_add_runtime(byoc_link_files_t *files, byoc_diag_t *diag) {
  return byoc_link_files_add(files, byoc_embed_artifact_runtime, (size_t)byoc_embed_artifact_runtime_size, diag);
}

// ---- writing ----

static byoc_status_t list_path(byoc_link_files_t *files, const byoc_link_file_t *file, const char *name,
                               byoc_diag_t *diag) {
  const byoc_runtime_module_t *module = file->module;
  const char *path = byoc_arena_format(&files->arena, "%s/%s", files->folder, name), *shown = NULL;
  if (module != NULL) {
    shown = byoc_arena_format(&files->arena, "'%s' of target '%s'", file->name, module->target);
    if (shown == NULL) return byoc_diag_out_of_memory(diag);
  }
  if (path == NULL || !byoc_vector_push(&files->paths, files->arena.allocator, path) ||
      !byoc_vector_push(&files->names, files->arena.allocator, shown)) {
    return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

// A content that was written before is left out.
static byoc_status_t write_content(byoc_link_files_t *files, const byoc_link_file_t *file, const void *data,
                                   size_t size_bytes, byoc_content_hash_t hash, byoc_diag_t *diag) {
  char digits[33], key[64];
  byoc_content_hash_format(hash, digits);
  snprintf(key, sizeof(key), "%s-%zu", digits, size_bytes);
  if (byoc_string_map_find(&files->contents, key) != NULL) return BYOC_OK;
  // Names by position: the order of the link is the order of the module, independent of the files' own names.
  char name[32];
  snprintf(name, sizeof(name), "%04zu.%s", files->paths.count, byoc_is_ar(data, size_bytes) ? "a" : "o");
  BYOC_RETURN_IF_ERROR(list_path(files, file, name, diag));
  if (!byoc_string_map_put(&files->contents, key, files)) return byoc_diag_out_of_memory(diag);
  return byoc_file_write(files->paths.data[files->paths.count - 1], data, size_bytes, diag);
}

static byoc_status_t write_file(byoc_link_files_t *files, byoc_scopes_t *scopes, size_t index, byoc_diag_t *diag) {
  const byoc_link_file_t *file = &files->files.data[index];
  if (file->data == NULL) return list_path(files, file, file->name, diag);
  if (!byoc_scopes_change(scopes, index))
    return write_content(files, file, file->data, file->size_bytes, file->hash, diag);
  byoc_string_t changed;
  byoc_string_init(&changed, files->arena.allocator);
  byoc_status_t status = byoc_scopes_rename(scopes, index, &changed, diag);
  if (status == BYOC_OK) {
    byoc_content_hash_t hash = byoc_content_hash(changed.data, changed.size);
    status = write_content(files, file, changed.data, changed.size, hash, diag);
  }
  byoc_string_deinit(&changed);
  return status;
}

byoc_status_t byoc_link_files_write(byoc_link_files_t *files, const byoc_graph_module_t *graph, byoc_diag_t *diag) {
  byoc_scopes_t *scopes = NULL;
  byoc_status_t status = byoc_scopes_create(files, graph, files->arena.allocator, diag, &scopes);
  for (size_t i = 0; i < files->files.count && status == BYOC_OK; i++) {
    const byoc_link_file_t *file = &files->files.data[i];
    status = write_file(files, scopes, i, diag);
    if (status != BYOC_OK && file->module != NULL) {
      status = byoc_diag_context(diag, status, "laying down '%s' of runtime module '%s' (target '%s')", file->name,
                                 file->module->name, file->module->target);
    }
  }
  byoc_scopes_destroy(scopes);
  return status;
}

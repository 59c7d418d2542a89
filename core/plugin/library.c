// SPDX-License-Identifier: Apache-2.0
// Loads a plugin's library, queries it, and unloads it with its last reference.
#include "core/plugin/library.h"

#include <dlfcn.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/foreign.h"
#include "core/base/hash.h"
#include "core/base/machine.h"
#include "core/plugin/identity.h"
#include "core/plugin/negotiate.h"
#include "core/targets/runtime_code.h"

// ---- the host table ----

byoc_plugin_library_t *byoc_plugin_library_of(const byoc_host_t *host) {
  return (byoc_plugin_library_t *)(uintptr_t)host; // its first member; the library itself is not const
}

static void *host_resize(const byoc_host_t *host, void *memory, uint64_t size_bytes) {
  const byoc_allocator_t allocator = byoc_plugin_library_of(host)->allocator;
  if (size_bytes > SIZE_MAX) return NULL;
  return allocator.resize(allocator.self, memory, (size_t)size_bytes);
}

static int32_t host_error(const byoc_host_t *host, int32_t status, const char *message) {
  byoc_plugin_library_t *library = byoc_plugin_library_of(host);
  snprintf(library->error, sizeof(library->error), "%s", message != NULL ? message : "");
  return status;
}

static uint32_t smaller(uint32_t a, uint32_t b) {
  return a < b ? a : b;
}

static void fill_host(byoc_plugin_library_t *library, const byoc_plugin_note_t *note) {
  library->host = (byoc_host_t){
      .header = BYOC_HEADER(byoc_host_t, 1),
      .abi_major = BYOC_ABI_MAJOR,
      .abi_minor = smaller(note->abi_minor_built, BYOC_ABI_MINOR),
      .version = BYOC_VERSION_TEXT,
      .resize = host_resize,
      .error = host_error,
  };
}

// ---- loading ----

// Records what the plugin does now: its constructors and destructors, query and destroy run its code, too, besides the
// hooks of its targets.
static byoc_foreign_t enter(const byoc_plugin_library_t *library, const char *where) {
  const byoc_foreign_t entered = {.kind = "plugin", .name = library->name, .version = library->version, .where = where};
  return byoc_foreign_enter(&entered);
}

// Hashes a file when it is loaded: costs depend on its content, and versions are not always raised.
static byoc_status_t hash_file(byoc_plugin_library_t *library, const char *path, byoc_diag_t *diag) {
  byoc_file_view_t view;
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, diag, &view));
  byoc_hasher_update(&library->content, view.data, view.size_bytes);
  byoc_file_view_close(&view);
  return BYOC_OK;
}

static byoc_status_t note_folder(byoc_plugin_library_t *library, const char *path, byoc_diag_t *diag) {
  library->folder = byoc_path_directory(byoc_arena_allocator(&library->arena), path);
  return library->folder != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

static byoc_status_t read_table(byoc_plugin_library_t *library, const char *path, byoc_diag_t *diag) {
  if (path == NULL) return BYOC_OK;
  const byoc_allocator_t arena = byoc_arena_allocator(&library->arena);
  char *text = NULL;
  BYOC_RETURN_IF_ERROR(byoc_file_read(path, arena, diag, &text, &library->table_size_bytes));
  library->table = text;
  byoc_hasher_update(&library->content, text, library->table_size_bytes);
  return BYOC_OK;
}

static byoc_status_t open_library(byoc_plugin_library_t *library, const char *path, byoc_plugin_query_t *out_query,
                                  byoc_diag_t *diag) {
  const byoc_foreign_t outer = enter(library, "constructors");
  library->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  byoc_foreign_leave(&outer);
  if (library->handle == NULL) {
    const char *reason = dlerror();
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "it cannot be loaded: %s", reason != NULL ? reason : "no reason");
  }
  void *symbol = dlsym(library->handle, "byoc_plugin_query");
  if (symbol == NULL) return byoc_diag_error(diag, BYOC_INVALID_DATA, "it does not export byoc_plugin_query");
  memcpy(out_query, &symbol, sizeof(symbol)); // POSIX: pointers to functions and to objects look alike
  return BYOC_OK;
}

// Calls query on a struct with a guard after it: a plugin with a larger struct must not write beyond the given size.
static byoc_status_t query_plugin(byoc_plugin_library_t *library, byoc_plugin_query_t query, byoc_diag_t *diag) {
  enum { GUARD_BYTES = 256, GUARD = 0xA5 };
  struct {
    byoc_plugin_t plugin;
    unsigned char guard[GUARD_BYTES];
  } answer = {.plugin = {.header = BYOC_HEADER(byoc_plugin_t, 1)}};
  memset(answer.guard, GUARD, sizeof(answer.guard));
  library->operators.is_open = true;
  const byoc_foreign_t outer = enter(library, "hook query");
  const int32_t status = query(&library->host, &answer.plugin);
  byoc_foreign_leave(&outer);
  library->operators.is_open = false;
  if (library->operators.failure.status != BYOC_OK) {
    library->queried = status == BYOC_OK;
    library->plugin = answer.plugin;
    return byoc_diag_adopt(diag, &library->operators.failure);
  }
  if (status != BYOC_OK && library->table != NULL && library->error[0] != '\0') {
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "%s", library->error); // the fault of the table
  }
  if (status != BYOC_OK) {
    byoc_diag_error(diag, BYOC_INVALID_DATA, "its query failed (%s)%s%s", byoc_status_name(status),
                    library->error[0] != '\0' ? ": " : "", library->error);
    return BYOC_INVALID_DATA;
  }
  library->queried = true;
  library->plugin = answer.plugin;
  for (size_t i = 0; i < GUARD_BYTES; ++i) {
    if (answer.guard[i] == GUARD) continue;
    return byoc_diag_error(diag, BYOC_INVALID_DATA, "its query wrote past the %zu bytes of byoc_plugin_t",
                           sizeof(byoc_plugin_t));
  }
  library->plugin.header = (byoc_header_t)BYOC_HEADER(byoc_plugin_t, 1);
  return BYOC_OK;
}

static void destroy_library(byoc_plugin_library_t *library) {
  byoc_plugin_operators_withdraw(&library->operators);
  const byoc_foreign_t outer = enter(library, "hook destroy");
  if (library->queried && library->plugin.destroy != NULL) library->plugin.destroy(library->plugin.self);
  byoc_foreign_leave(&outer);
  (void)enter(library, "destructors");
  if (library->handle != NULL) dlclose(library->handle);
  byoc_foreign_leave(&outer);
  (void)byoc_hasher_finish(&library->content); // frees its state, unless the kinds have been labelled
  byoc_arena_deinit(&library->arena);
  byoc_free(library->allocator, library);
}

static void hash_if_there(byoc_plugin_library_t *library, const byoc_file_content_t *files, uint32_t count) {
  byoc_diag_t unused = {0};
  for (uint32_t i = 0; i < count; ++i) {
    if (files[i].path != NULL && !byoc_is_directory(files[i].path)) (void)hash_file(library, files[i].path, &unused);
  }
}

// Code that this machine runs may lie beside the plugin. A file that is missing is reported when a build needs it.
static void hash_code(byoc_plugin_library_t *library) {
  for (size_t i = 0; i < library->kind_count; ++i) {
    const byoc_backend_t *backend = library->kinds[i].backend;
    for (uint32_t k = 0; k < backend->runtime_code_count; ++k) {
      const byoc_runtime_code_t *code = &backend->runtime_code[k];
      const char *lost = NULL;
      const byoc_machine_code_t *archives = byoc_runtime_code_archives(code, byoc_machine_host_triple(), &lost);
      if (archives != NULL) hash_if_there(library, archives->files, archives->file_count);
      hash_if_there(library, code->sources, code->source_count);
      hash_if_there(library, code->headers, code->header_count);
    }
  }
}

// Labels the kinds with the hash of the plugin's content.
static byoc_status_t label_kinds(byoc_plugin_library_t *library, const char **out_content, byoc_diag_t *diag) {
  char text[33];
  byoc_content_hash_format(byoc_hasher_finish(&library->content), text);
  const char *content = byoc_arena_copy_string(&library->arena, text);
  *out_content = content;
  if (content == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < library->kind_count; ++i) {
    library->kinds[i].library = library;
    library->kinds[i].plugin_content = content;
  }
  return BYOC_OK;
}

// Opens the file and queries it, without checks of its answers.
static byoc_status_t ask_library(const char *path, const char *table, const byoc_plugin_note_t *note,
                                 byoc_host_fill_fn_t fill_tables, byoc_allocator_t allocator, byoc_diag_t *diag,
                                 byoc_plugin_library_t **out_library) {
  *out_library = NULL;
  byoc_plugin_library_t *library = byoc_allocate(allocator, 1, sizeof(*library));
  if (library == NULL) return byoc_diag_out_of_memory(diag);
  library->reference_count = 1;
  library->allocator = allocator;
  byoc_arena_init(&library->arena, allocator);
  library->abi_minor_built = note->abi_minor_built;
  snprintf(library->name, sizeof(library->name), "%s", note->name);
  snprintf(library->version, sizeof(library->version), "%s", note->version);
  byoc_hasher_init(&library->content);
  fill_host(library, note);
  fill_tables(&library->host);
  byoc_plugin_query_t query = NULL;
  byoc_status_t status = hash_file(library, path, diag);
  if (status == BYOC_OK) status = note_folder(library, table != NULL ? table : path, diag);
  if (status == BYOC_OK) status = read_table(library, table, diag);
  if (status == BYOC_OK) status = open_library(library, path, &query, diag);
  if (status == BYOC_OK) status = query_plugin(library, query, diag);
  if (status != BYOC_OK) {
    destroy_library(library);
    return status;
  }
  *out_library = library;
  return BYOC_OK;
}

byoc_status_t byoc_plugin_library_ask(const char *path, const byoc_plugin_note_t *note, byoc_host_fill_fn_t fill_tables,
                                      byoc_allocator_t allocator, byoc_diag_t *diag,
                                      byoc_plugin_library_t **out_library) {
  return ask_library(path, NULL, note, fill_tables, allocator, diag, out_library);
}

byoc_status_t byoc_plugin_library_load_table(const char *path, const char *table, const byoc_plugin_note_t *note,
                                             byoc_host_fill_fn_t fill_tables, byoc_allocator_t allocator,
                                             byoc_diag_t *diag, byoc_plugin_library_t **out_library) {
  *out_library = NULL;
  byoc_plugin_library_t *library = NULL;
  BYOC_RETURN_IF_ERROR(ask_library(path, table, note, fill_tables, allocator, diag, &library));
  byoc_status_t status = byoc_plugin_negotiate(&library->plugin, note, library->folder, &library->arena, diag,
                                               &library->kinds, &library->kind_count);
  const char *content = NULL;
  char domains[256];
  if (status == BYOC_OK) hash_code(library);
  if (status == BYOC_OK) status = label_kinds(library, &content, diag);
  if (status == BYOC_OK) status = byoc_plugin_domains_read(path, diag, domains);
  if (status == BYOC_OK) {
    status = byoc_plugin_operators_commit(&library->operators, domains, note->name, note->version, path, content,
                                          &library->arena, diag);
  }
  if (status != BYOC_OK) {
    destroy_library(library);
    return status;
  }
  *out_library = library;
  return BYOC_OK;
}

byoc_status_t byoc_plugin_library_load(const char *path, const byoc_plugin_note_t *note,
                                       byoc_host_fill_fn_t fill_tables, byoc_allocator_t allocator, byoc_diag_t *diag,
                                       byoc_plugin_library_t **out_library) {
  return byoc_plugin_library_load_table(path, NULL, note, fill_tables, allocator, diag, out_library);
}

void byoc_plugin_library_retain(byoc_plugin_library_t *library) {
  (void)__atomic_add_fetch(&library->reference_count, 1, __ATOMIC_RELAXED);
}

void byoc_plugin_library_release(byoc_plugin_library_t *library) {
  if (library != NULL && __atomic_sub_fetch(&library->reference_count, 1, __ATOMIC_ACQ_REL) == 0) {
    destroy_library(library);
  }
}

// SPDX-License-Identifier: Apache-2.0
// The host's table for the plugin that reads tables.
#include "core/plugin/host.h"
#include "core/plugin/library.h"
#include "core/plugin/session.h"
#include "core/plugin/trust.h"

#include "core/base/file.h"
#include "core/plugin/abi.h"

static int32_t report(byoc_plugin_library_t *library, byoc_status_t status, const byoc_diag_t *diag) {
  if (status != BYOC_OK) byoc_diag_format(diag, library->error, sizeof(library->error));
  return status;
}

static const char *text(const byoc_host_t *host, uint64_t *out_size_bytes) {
  const byoc_plugin_library_t *library = byoc_plugin_library_of(host);
  *out_size_bytes = library->table_size_bytes;
  return library->table;
}

static const char *folder(const byoc_host_t *host) {
  const byoc_plugin_library_t *library = byoc_plugin_library_of(host);
  return library->table != NULL ? library->folder : NULL;
}

static byoc_status_t find(byoc_plugin_library_t *library, const char *name, byoc_diag_t *diag, const char **out_path) {
  if (library->table == NULL) return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "no table is being read");
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(name, "the name of a file", 4096, false, &library->arena, diag, &name));
  const char *path =
      name[0] == '/' ? name : byoc_path_join(byoc_arena_allocator(&library->arena), library->folder, name);
  if (path == NULL) return byoc_diag_out_of_memory(diag);
  char *real = NULL;
  bool is_file = false;
  byoc_status_t status = byoc_plugin_check_trust(path, byoc_arena_allocator(&library->arena), diag, &real, &is_file);
  byoc_file_view_t view;
  if (status == BYOC_OK) status = byoc_file_view_open(real, diag, &view);
  if (status != BYOC_OK) return byoc_diag_context(diag, status, "the file '%s'", path);
  byoc_hasher_update(&library->content, view.data, view.size_bytes);
  byoc_file_view_close(&view);
  *out_path = real;
  return BYOC_OK;
}

static int32_t find_file(const byoc_host_t *host, const char *name, const char **out_path) {
  byoc_plugin_library_t *library = byoc_plugin_library_of(host);
  byoc_diag_t diag = {0};
  *out_path = NULL;
  return report(library, find(library, name, &diag, out_path), &diag);
}

static byoc_status_t check(byoc_plugin_library_t *library, const byoc_static_library_t *given, byoc_diag_t *diag) {
  byoc_static_library_t read;
  BYOC_RETURN_IF_ERROR(byoc_abi_read(given, byoc_abi_of(byoc_static_library_t), "the library", &read, diag));
  const char *name = NULL;
  BYOC_RETURN_IF_ERROR(byoc_abi_copy_string(read.name, "the library's name", 255, false, &library->arena, diag, &name));
  byoc_runtime_module_t *module = NULL;
  BYOC_RETURN_IF_ERROR(byoc_runtime_module_create(BYOC_RUNTIME_MODULE_STATIC_LIBRARY, name, library->name,
                                                  library->allocator, diag, &module));
  byoc_status_t status = byoc_session_fill_library(NULL, module, &read, diag);
  byoc_runtime_module_release(module);
  return status;
}

static int32_t check_library(const byoc_host_t *host, const byoc_static_library_t *given) {
  byoc_plugin_library_t *library = byoc_plugin_library_of(host);
  byoc_diag_t diag = {0};
  return report(library, check(library, given, &diag), &diag);
}

const byoc_table_api_t *byoc_host_table_api(void) {
  static const byoc_table_api_t api = {
      .header = BYOC_HEADER(byoc_table_api_t, 1),
      .text = text,
      .folder = folder,
      .find_file = find_file,
      .check_library = check_library,
  };
  return &api;
}

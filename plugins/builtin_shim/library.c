// SPDX-License-Identifier: Apache-2.0
// Adds the library behind a table to artifacts, and opens it for the evaluator.
#define _GNU_SOURCE // memfd_create
#include "library.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "byoc/memory_library.h"

// Files that the build put into the plugin; a table that names files of the system needs neither.
#ifdef BYOC_SHIM_ARCHIVE
extern const unsigned char BYOC_SHIM_ARCHIVE[], BYOC_SHIM_SHARED[];
extern const unsigned long long BYOC_SHIM_ARCHIVE_SIZE, BYOC_SHIM_SHARED_SIZE;
#else
static const unsigned char BYOC_SHIM_ARCHIVE[1], BYOC_SHIM_SHARED[1];
static const unsigned long long BYOC_SHIM_ARCHIVE_SIZE, BYOC_SHIM_SHARED_SIZE;
#endif

// `text` with every {option} replaced by the target's value of it.
static bool fill_in(const byoc_host_t *host, const byoc_target_t *target, const char *text, char *out, size_t size) {
  size_t used = 0;
  while (*text != '\0') {
    const char *end = *text == '{' ? strchr(text, '}') : NULL;
    char name[64];
    const char *piece = text;
    size_t length = 1;
    if (end != NULL) {
      snprintf(name, sizeof(name), "%.*s", (int)(end - text - 1), text + 1);
      piece = host->target->option_string(target, name);
      length = strlen(piece);
    }
    if (length >= size - used) return false;
    memcpy(out + used, piece, length);
    used += length;
    text = end != NULL ? end + 1 : text + 1;
  }
  out[used] = '\0';
  return true;
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

// The whole file with a NUL behind it; NULL with the reason in errno. Free it with free().
static char *read_source(const char *path) {
  FILE *file = fopen(path, "rbe");
  char *text = NULL;
  size_t size = 0;
  while (file != NULL) {
    char *longer = realloc(text, size + 4097);
    if (longer == NULL) break;
    text = longer;
    const size_t count = fread(text + size, 1, 4096, file);
    size += count;
    text[size] = '\0';
    if (count == 0) break;
  }
  const bool failed = file == NULL || text == NULL || ferror(file) != 0;
  const int reason = errno;
  if (file != NULL) (void)fclose(file);
  if (!failed) return text;
  free(text);
  errno = reason;
  return NULL;
}

// Compiles a source of the table; its folder is searched for headers.
static int32_t compile_source(const byoc_shim_library_t *library, byoc_codegen_t *codegen, const char *path,
                              byoc_file_content_t *out_object) {
  const byoc_shim_table_t *table = &library->table;
  const byoc_codegen_api_t *api = library->host->codegen;
  char include[4096 + 8], message[4096 + 256];
  const char *flags[BYOC_SHIM_MAX_FILES + 1] = {include};
  memcpy(flags + 1, table->flags, table->flag_count * sizeof(*flags));
  snprintf(include, sizeof(include), "-I%.*s", (int)(base_name(path) - path), path);
  char *source = read_source(path);
  if (source == NULL) {
    snprintf(message, sizeof(message), "the source '%s' cannot be read: %s", path, strerror(errno));
    return api->error(codegen, BYOC_IO, message);
  }
  const byoc_compile_request_t request = {.header = BYOC_HEADER(byoc_compile_request_t, 1),
                                          .name = base_name(path),
                                          .source = source,
                                          .flags = {flags, table->flag_count + 1}};
  *out_object = (byoc_file_content_t){.header = BYOC_HEADER(byoc_file_content_t, 1), .name = base_name(path)};
  const int32_t status = api->compile(codegen, &request, &out_object->data, &out_object->size_bytes);
  free(source);
  return status;
}

static int32_t report(const byoc_runtime_t *runtime, int32_t status, const char *what, const char *reason) {
  char message[512];
  snprintf(message, sizeof(message), "%s: %s", what, reason != NULL ? reason : "unknown error");
  if (runtime != NULL && runtime->set_error != NULL) runtime->set_error(runtime->self, message);
  return status;
}

// Opens the library for the evaluator, once; `self` is a byoc_shim_library_t. It stays open until deinit.
static int32_t open_in_process(void *self, const byoc_runtime_t *runtime, void **out_handle) {
  byoc_shim_library_t *library = self;
  const char *shared = library->table.shared;
  int32_t status = BYOC_OK;
  *out_handle = NULL;
  if (library->handle == NULL && strcmp(shared, "embedded") == 0) {
    char reason[256];
    library->handle = byoc_memory_library_open(library->table.library_name, BYOC_SHIM_SHARED, BYOC_SHIM_SHARED_SIZE,
                                               RTLD_NOW | RTLD_LOCAL, reason, sizeof(reason));
    if (library->handle == NULL) status = report(runtime, BYOC_IO, "the library that the plugin carries", reason);
  } else if (library->handle == NULL) {
    library->handle = dlopen(shared, RTLD_NOW | RTLD_LOCAL);
    if (library->handle == NULL) status = report(runtime, BYOC_NOT_FOUND, shared, dlerror());
  }
  if (status == BYOC_OK) *out_handle = library->handle;
  return status;
}

// Then the host takes what was announced (code.h), if that is there.
static bool is_for_this_machine(const byoc_host_t *host, const byoc_codegen_t *codegen) {
  if (host->abi_minor < 5) return true;
  return host->codegen->triple(codegen) == NULL && !host->codegen->wants_source(codegen);
}

int32_t byoc_shim_library_add(byoc_shim_library_t *library, byoc_codegen_t *codegen) {
  const byoc_host_t *host = library->host;
  const byoc_shim_table_t *table = &library->table;
  const char *setup = table->setup != NULL ? table->setup : "";
  if (!fill_in(host, host->codegen->target(codegen), setup, library->setup, sizeof(library->setup))) {
    return host->codegen->error(codegen, BYOC_INVALID_DATA, "the table's setup symbol is too long");
  }
  byoc_file_content_t files[2 * BYOC_SHIM_MAX_FILES];
  for (uint32_t i = 0; i < table->file_count; ++i) {
    files[i] = (byoc_file_content_t){
        .header = BYOC_HEADER(byoc_file_content_t, 1), .name = base_name(table->files[i]), .path = table->files[i]};
    if (strcmp(table->files[i], "embedded") != 0) continue;
    files[i].name = "shim.a";
    files[i].path = NULL;
    files[i].data = BYOC_SHIM_ARCHIVE;
    files[i].size_bytes = BYOC_SHIM_ARCHIVE_SIZE;
  }
  const uint32_t source_count = is_for_this_machine(host, codegen) ? table->source_count : 0;
  for (uint32_t i = 0; i < source_count; ++i) {
    const int32_t status = compile_source(library, codegen, table->sources[i], &files[table->file_count + i]);
    if (status != BYOC_OK) return status;
  }
  const char *symbols[BYOC_SHIM_MAX_SYMBOLS + 1];
  uint32_t symbol_count = table->symbol_count;
  memcpy(symbols, table->symbols, symbol_count * sizeof(*symbols));
  if (library->setup[0] != '\0') symbols[symbol_count++] = library->setup;
  const byoc_static_library_t module = {.header = BYOC_HEADER(byoc_static_library_t, 1),
                                        .name = table->library_name,
                                        .files = files,
                                        .file_count = table->file_count + source_count,
                                        .file_stride = sizeof(*files),
                                        .symbols = {symbols, symbol_count},
                                        .needed = {table->needed, table->needed_count},
                                        .search = {table->search, table->search_count},
                                        .setup_symbol = library->setup[0] != '\0' ? library->setup : NULL,
                                        .open_in_process = table->shared != NULL ? open_in_process : NULL};
  return host->codegen->add_static_library(codegen, &module);
}

void byoc_shim_library_deinit(byoc_shim_library_t *library) {
  if (library->handle != NULL) dlclose(library->handle);
  library->handle = NULL;
  byoc_shim_table_deinit(&library->table);
}

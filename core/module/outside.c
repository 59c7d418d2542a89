// SPDX-License-Identifier: Apache-2.0
// Finds shared libraries as a linker does, and reads the symbols that they define.
#include "core/module/outside.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/elf.h"
#include "core/base/file.h"
#include "core/base/map.h"

#if defined(__x86_64__)
#define MULTIARCH "x86_64-linux-gnu"
#elif defined(__aarch64__)
#define MULTIARCH "aarch64-linux-gnu"
#else
#define MULTIARCH "."
#endif

enum { MAX_PATH_BYTES = 4096 };

typedef struct library_t {
  const char *name;    // the name that the module requires
  byoc_map_t *symbols; // symbols found so far
  bool other_name;     // its own name differs
  char own_name[256];
  byoc_diag_t *diag;
} library_t;

bool byoc_runtime_module_is_outside(const byoc_runtime_module_t *module) {
  return module->kind == BYOC_RUNTIME_MODULE_STATIC_LIBRARY && module->files.count == 0 && module->sources.count == 0 &&
         module->archives.count == 0 && module->needed.count > 0;
}

static bool is_there(const char *folder, const char *name, char out_path[MAX_PATH_BYTES]) {
  const int size = snprintf(out_path, MAX_PATH_BYTES, "%s/%s", folder, name);
  return size < MAX_PATH_BYTES && access(out_path, R_OK) == 0;
}

static byoc_status_t find(const byoc_runtime_module_t *module, const char *name, byoc_diag_t *diag,
                          char out_path[MAX_PATH_BYTES]) {
  static const char *const of_system[] = {"/usr/local/lib/" MULTIARCH,
                                          "/lib/" MULTIARCH,
                                          "/usr/lib/" MULTIARCH,
                                          "/usr/local/lib",
                                          "/lib64",
                                          "/usr/lib64",
                                          "/lib",
                                          "/usr/lib"};
  for (size_t i = 0; i < module->search.count; ++i) {
    if (byoc_runtime_module_search_is_of_artifact(module->search.data[i])) continue;
    if (is_there(module->search.data[i], name, out_path)) return BYOC_OK;
  }
  for (size_t i = 0; i < sizeof(of_system) / sizeof(of_system[0]); ++i) {
    if (is_there(of_system[i], name, out_path)) return BYOC_OK;
  }
  char where[MAX_PATH_BYTES + 64] = "which is not in the system's folders";
  if (module->search.count == 1) {
    snprintf(where, sizeof(where), "which is neither in '%s' nor in the system's folders", module->search.data[0]);
  } else if (module->search.count > 1) {
    snprintf(where, sizeof(where), "which is in none of its %zu folders nor in the system's", module->search.count);
  }
  byoc_status_t status = byoc_diag_error(diag, BYOC_NOT_FOUND, "runtime module '%s' needs the shared library '%s', %s",
                                         module->name, name, where);
  byoc_diag_hint(diag, "install it, or name its folder in the module's search list");
  return status;
}

static byoc_status_t visit_symbol(void *self, const byoc_elf_symbol_t *symbol) {
  const library_t *library = self;
  if (!symbol->defined || !symbol->global || symbol->hidden) return BYOC_OK;
  byoc_map_entry_t *entry = byoc_string_map_find(library->symbols, symbol->name);
  if (entry != NULL) entry->value = library->symbols;
  return BYOC_OK;
}

static byoc_status_t visit_name(void *self, const char *name, bool soname) {
  library_t *library = self;
  if (!soname || strcmp(name, library->name) == 0) return BYOC_OK;
  library->other_name = true;
  snprintf(library->own_name, sizeof(library->own_name), "%s", name);
  return BYOC_OK;
}

static byoc_status_t read_library(library_t *library, const char *path) {
  byoc_file_view_t view;
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, library->diag, &view));
  byoc_elf_t elf;
  byoc_status_t status = byoc_elf_open(view.data, view.size_bytes, path, library->diag, &elf);
  if (status == BYOC_OK && elf.type != ET_DYN) {
    status = byoc_diag_error(library->diag, BYOC_INVALID_DATA, "'%s' is not a shared library", path);
  }
  if (status == BYOC_OK) status = byoc_elf_visit_needed(&elf, visit_name, library, library->diag);
  if (status == BYOC_OK) status = byoc_elf_visit_symbols(&elf, true, visit_symbol, library, library->diag);
  byoc_file_view_close(&view);
  if (status != BYOC_OK || !library->other_name) return status;
  status = byoc_diag_error(library->diag, BYOC_INVALID_DATA, "the shared library '%s' calls itself '%s'", path,
                           library->own_name);
  byoc_diag_hint(library->diag, "an artifact finds it by that name: need '%s'", library->own_name);
  return status;
}

static byoc_status_t check_symbols(const byoc_runtime_module_t *module, const byoc_map_t *symbols, byoc_diag_t *diag) {
  for (size_t i = 0; i < symbols->count; ++i) {
    if (symbols->entries[i].value != NULL) continue;
    byoc_status_t status = byoc_diag_error(diag, BYOC_INVALID_DATA,
                                           "runtime module '%s' lists the symbol '%s', but '%s'%s does not define it",
                                           module->name, symbols->entries[i].text, module->needed.data[0],
                                           module->needed.count > 1 ? " or another library that it needs" : "");
    byoc_diag_hint(diag, "correct the symbols that target '%s' lists", module->target);
    return status;
  }
  return BYOC_OK;
}

byoc_status_t byoc_runtime_module_check_outside(const byoc_runtime_module_t *module, byoc_diag_t *diag) {
  if (module->needed.count == 0) return BYOC_OK;
  byoc_map_t symbols;
  byoc_string_map_init(&symbols, module->allocator);
  bool ok = true;
  for (size_t i = 0; i < module->symbols.count && ok; ++i) {
    ok = byoc_string_map_put(&symbols, module->symbols.data[i], NULL);
  }
  if (ok && module->setup_symbol != NULL) ok = byoc_string_map_put(&symbols, module->setup_symbol, NULL);
  byoc_status_t status = ok ? BYOC_OK : byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < module->needed.count && status == BYOC_OK; ++i) {
    char path[MAX_PATH_BYTES];
    library_t library = {.name = module->needed.data[i], .symbols = &symbols, .diag = diag};
    status = find(module, library.name, diag, path);
    if (status == BYOC_OK) status = read_library(&library, path);
  }
  if (status == BYOC_OK && byoc_runtime_module_is_outside(module)) status = check_symbols(module, &symbols, diag);
  byoc_map_deinit(&symbols);
  return status;
}

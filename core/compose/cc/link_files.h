// SPDX-License-Identifier: Apache-2.0
// The files of a link: objects and archives in one folder, each content once. Internal to core/compose.
//
// Files are collected first. byoc_link_files_write writes them once it is known which symbols occur in several modules
// (core/compose/cc/scopes.h). Contents are borrowed until then.
#ifndef BYOC_CORE_COMPOSE_CC_LINK_FILES_H_
#define BYOC_CORE_COMPOSE_CC_LINK_FILES_H_

#include "core/base/arena.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/machine.h"
#include "core/base/map.h"
#include "core/base/vector.h"
#include "core/module/runtime_module.h"

// A file of one module, or of the program itself.
typedef struct byoc_link_file_t {
  const byoc_runtime_module_t *module; // NULL: of the program itself
  const char *name;                    // for messages
  const void *data;                    // NULL: it lies in the folder already, under `name`
  size_t size_bytes;
  byoc_content_hash_t hash;
} byoc_link_file_t;

typedef struct byoc_link_files_t {
  byoc_arena_t arena;
  const char *folder;
  byoc_machine_t machine; // that all files must be for
  BYOC_VECTOR(byoc_link_file_t) files;
  BYOC_VECTOR(const char *) reserved; // reserved names: no file may define them in place of their owner
  // Modules whose symbols come from shared libraries.
  BYOC_VECTOR(const byoc_runtime_module_t *) outside;
  byoc_map_t contents;              // hash and size of written contents → any pointer
  BYOC_VECTOR(const char *) paths;  // once written, in the order of the link
  BYOC_VECTOR(const char *) names;  // parallel to paths: names for messages; NULL: the path
  BYOC_VECTOR(const char *) needed; // shared libraries that stay outside, each once
  BYOC_VECTOR(const char *) search; // folders that may hold them, each once
} byoc_link_files_t;

void byoc_link_files_init(byoc_link_files_t *files, const char *folder, byoc_allocator_t allocator);
void byoc_link_files_deinit(byoc_link_files_t *files);
// Lists an object or archive of the program itself; its content says which of the two it is.
byoc_status_t byoc_link_files_add(byoc_link_files_t *files, const void *data, size_t size_bytes, byoc_diag_t *diag);
// Lists a file of the program itself that is in the folder already, with the symbols that it defines.
byoc_status_t byoc_link_files_add_path(byoc_link_files_t *files, const char *name, const char *const *symbols,
                                       size_t symbol_count, byoc_diag_t *diag);
// Reserves names: no file may define them in place of their owner.
byoc_status_t byoc_link_files_reserve(byoc_link_files_t *files, const char *const *symbols, size_t symbol_count,
                                      byoc_diag_t *diag);
// Lists the files of a library or an engine, and the libraries that it needs from outside. The object of its C source
// comes first (NULL: there is none). BYOC_ALREADY_EXISTS if two modules without files list one symbol: a process finds
// only one of them. BYOC_UNSUPPORTED if a file is for another machine.
byoc_status_t byoc_link_files_add_module(byoc_link_files_t *files, const byoc_runtime_module_t *module,
                                         const byoc_bytes_t *object, byoc_diag_t *diag);
// The runtime that travels in every artifact.
byoc_status_t byoc_link_files_add_runtime(byoc_link_files_t *files, byoc_diag_t *diag);
// Writes them all, and lists their paths. `graph` (may be NULL) has the names by which programs call listed symbols.
byoc_status_t byoc_link_files_write(byoc_link_files_t *files, const byoc_graph_module_t *graph, byoc_diag_t *diag);

#endif // BYOC_CORE_COMPOSE_CC_LINK_FILES_H_

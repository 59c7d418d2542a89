// What goes into a link: objects and archives as files of one folder, each content once. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_LINK_FILES_H_
#define BYOC_CORE_COMPOSE_LINK_FILES_H_

#include "core/base/arena.h"
#include "core/base/file.h"
#include "core/base/map.h"
#include "core/base/vector.h"
#include "core/module/runtime_module.h"

typedef struct byoc_link_files_t {
  byoc_arena_t arena;
  const char *folder;
  byoc_map_t contents; // hash and size → anything
  BYOC_VECTOR(const char *) paths;
  BYOC_VECTOR(const char *) needed; // shared libraries that stay outside, each once
} byoc_link_files_t;

void byoc_link_files_init(byoc_link_files_t *files, const char *folder, byoc_allocator_t allocator);
void byoc_link_files_deinit(byoc_link_files_t *files);
// Writes an object or archive (told apart by content) and lists it; a content that is there already is left out.
byoc_status_t byoc_link_files_add(byoc_link_files_t *files, const void *data, size_t size_bytes, byoc_diag_t *diag);
// A file that is in the folder already.
byoc_status_t byoc_link_files_add_path(byoc_link_files_t *files, const char *name, byoc_diag_t *diag);
// The files of a library or an engine, and what it needs from outside.
byoc_status_t byoc_link_files_add_module(byoc_link_files_t *files, const byoc_runtime_module_t *module,
                                         byoc_diag_t *diag);
// The runtime that travels in every artifact.
byoc_status_t byoc_link_files_add_runtime(byoc_link_files_t *files, byoc_diag_t *diag);

#endif // BYOC_CORE_COMPOSE_LINK_FILES_H_

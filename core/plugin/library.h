// SPDX-License-Identifier: Apache-2.0
// A loaded plugin, with a reference count: the registry and every runtime module that its code made hold a reference,
// and the last release unloads it.
#ifndef BYOC_CORE_PLUGIN_LIBRARY_H_
#define BYOC_CORE_PLUGIN_LIBRARY_H_

#include "core/base/arena.h"
#include "core/base/hash.h"
#include "core/plugin/operators.h"
#include "core/targets/target.h"

typedef struct byoc_plugin_library_t {
  // The table that the plugin sees. It comes first so that the host's functions can find the rest from it.
  byoc_host_t host;
  char name[32], version[32]; // of its note
  uint32_t abi_minor_built;   // of its note
  uint32_t reference_count;
  byoc_allocator_t allocator;
  byoc_arena_t arena; // owns everything below
  void *handle;       // of dlopen
  bool queried;       // query succeeded: destroy must be called
  const char *folder; // of relative file names: that of the plugin's file, or of its table
  // The table for which a reader is loaded; NULL: none.
  const char *table;
  size_t table_size_bytes;
  byoc_hasher_t content; // of the files that make the backend
  byoc_plugin_t plugin;
  byoc_target_kind_t *kinds; // in the order of the plugin's backends
  size_t kind_count;
  char error[1024]; // the message given to host->error
  byoc_plugin_operators_t operators;
} byoc_plugin_library_t;

// The library to which a host table belongs.
byoc_plugin_library_t *byoc_plugin_library_of(const byoc_host_t *host);

// Gives a host its tables. It is byoc_host_fill_tables of core/plugin/host.h, which stands above this file.
typedef void (*byoc_host_fill_fn_t)(byoc_host_t *host);

// Opens the file in this process, queries it and checks its answers against its note. On failure nothing stays open.
byoc_status_t byoc_plugin_library_load(const char *path, const byoc_plugin_note_t *note,
                                       byoc_host_fill_fn_t fill_tables, byoc_allocator_t allocator, byoc_diag_t *diag,
                                       byoc_plugin_library_t **out_library);
// Opens the file and queries it without checks of its answers: `plugin` is as query filled it, `kinds` are empty.
byoc_status_t byoc_plugin_library_ask(const char *path, const byoc_plugin_note_t *note, byoc_host_fill_fn_t fill_tables,
                                      byoc_allocator_t allocator, byoc_diag_t *diag,
                                      byoc_plugin_library_t **out_library);
// The same as byoc_plugin_library_load for a table, by the reader's shared object: the backend is that of the table.
byoc_status_t byoc_plugin_library_load_table(const char *reader, const char *table, const byoc_plugin_note_t *note,
                                             byoc_host_fill_fn_t fill_tables, byoc_allocator_t allocator,
                                             byoc_diag_t *diag, byoc_plugin_library_t **out_library);
void byoc_plugin_library_retain(byoc_plugin_library_t *library);
void byoc_plugin_library_release(byoc_plugin_library_t *library); // accepts NULL

// Does the same in a child process, which then ends. A plugin that crashes, hangs, exits, prints or disturbs the
// process does so there, and the reason is returned.
byoc_status_t byoc_plugin_try(const char *path, const byoc_plugin_note_t *note, int64_t timeout_ms, byoc_diag_t *diag);

#endif // BYOC_CORE_PLUGIN_LIBRARY_H_

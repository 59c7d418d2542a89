// SPDX-License-Identifier: Apache-2.0
// A temporary shared object whose functions this process calls. Functions of backends are hidden, so a table of their
// addresses is linked in and exported. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_C_ADDRESSES_H_
#define BYOC_CORE_COMPOSE_C_ADDRESSES_H_

#include "core/compose/cc/link_files.h"

// The exported table: void *const byoc_addresses[], in the order of the symbols.
#define BYOC_ADDRESSES "byoc_addresses"

// Compiles the table and links it with `files` into `output`, with this compiler (NULL: the default). `symbols` are the
// names in the link (core/module/linkage.h), for which `graph` (may be NULL) is asked. Undefined symbols are left to
// the loader.
byoc_status_t byoc_link_addresses(byoc_link_files_t *files, const byoc_graph_module_t *graph,
                                  const char *const *symbols, size_t symbol_count, const char *compiler,
                                  const char *output, byoc_allocator_t allocator, byoc_diag_t *diag);

#endif // BYOC_CORE_COMPOSE_C_ADDRESSES_H_

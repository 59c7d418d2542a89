// SPDX-License-Identifier: Apache-2.0
// Symbols of a module are its own. If two modules of a link have a symbol of the same name, one of them keeps the name
// and the other gets a copy of its files with another name for it, in definitions and references alike, so that any two
// libraries can go into one artifact. A file that several modules bring stays one file if it means the same in each. A
// link without such clashes is not changed by a byte. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_CC_SCOPES_H_
#define BYOC_CORE_COMPOSE_CC_SCOPES_H_

#include "core/compose/cc/link_files.h"

typedef struct byoc_scopes_t byoc_scopes_t;

// Reads the symbols of all files and decides. The files must outlive the scopes.
byoc_status_t byoc_scopes_create(const byoc_link_files_t *files, const byoc_graph_module_t *graph,
                                 byoc_allocator_t allocator, byoc_diag_t *diag, byoc_scopes_t **out_scopes);
void byoc_scopes_destroy(byoc_scopes_t *scopes); // accepts NULL
// Says whether the file, given by its index, needs a copy with other names.
bool byoc_scopes_change(const byoc_scopes_t *scopes, size_t file);
// Appends that copy to `out`.
byoc_status_t byoc_scopes_rename(byoc_scopes_t *scopes, size_t file, byoc_string_t *out, byoc_diag_t *diag);

#endif // BYOC_CORE_COMPOSE_CC_SCOPES_H_

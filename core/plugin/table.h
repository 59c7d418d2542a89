// SPDX-License-Identifier: Apache-2.0
// Tables: JSON files that describe a backend. The host reads their identity; the installed reader makes backends of
// them.
#ifndef BYOC_CORE_PLUGIN_TABLE_H_
#define BYOC_CORE_PLUGIN_TABLE_H_

#include <stdbool.h>

#include "byoc/plugin.h"
#include "core/base/diag.h"

// The installed plugin that makes backends of tables.
#define BYOC_TABLE_READER "table_reader.so"

// Is it the path of a table, not of a shared object?
bool byoc_plugin_is_table(const char *path);
// Reads a table's target, version and description as a note; the plugin's name is that of the target.
// *out_has_note is true if *out_note has a valid note, also after a failure.
byoc_status_t byoc_plugin_table_identity(const char *path, byoc_diag_t *diag, byoc_plugin_note_t *out_note,
                                         bool *out_has_note);
// The identity of a plugin of either kind: a shared object's note, or that of a table.
byoc_status_t byoc_plugin_any_identity(const char *path, byoc_diag_t *diag, byoc_plugin_note_t *out_note,
                                       bool *out_has_note);

#endif // BYOC_CORE_PLUGIN_TABLE_H_

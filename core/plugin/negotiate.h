// SPDX-License-Identifier: Apache-2.0
// Checks, copies and completes the answer of a plugin's query.
#ifndef BYOC_CORE_PLUGIN_NEGOTIATE_H_
#define BYOC_CORE_PLUGIN_NEGOTIATE_H_

#include "core/base/arena.h"
#include "core/targets/target.h"

// Makes target kinds, in `arena`, of the plugin's backends. Checks that required slots are set, that targets are those
// of the note, and that option schemas and rules are valid. An error names the backend, the rule or option, and the
// field. `folder` is that of the plugin's file, where relative paths begin.
byoc_status_t byoc_plugin_negotiate(const byoc_plugin_t *plugin, const byoc_plugin_note_t *note, const char *folder,
                                    byoc_arena_t *arena, byoc_diag_t *diag, byoc_target_kind_t **out_kinds,
                                    size_t *out_count);

#endif // BYOC_CORE_PLUGIN_NEGOTIATE_H_

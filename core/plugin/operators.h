// SPDX-License-Identifier: Apache-2.0
// The operators that a plugin declares: read while its query runs, checked behind it, in the operator table from then
// until the plugin is unloaded.
#ifndef BYOC_CORE_PLUGIN_OPERATORS_H_
#define BYOC_CORE_PLUGIN_OPERATORS_H_

#include "byoc/operator_plugin.h"
#include "core/base/vector.h"
#include "core/op/declared.h"

typedef struct byoc_plugin_operators_t {
  byoc_op_extension_t extension;
  BYOC_VECTOR(const byoc_op_t *) rows; // in the arena of the library
  bool is_open;                        // query runs
  bool is_extended;                    // the table has them
  byoc_diag_t failure;                 // of the first declaration that was wrong
} byoc_plugin_operators_t;

// Reads declarations into `arena`.
byoc_status_t byoc_plugin_operators_add(byoc_plugin_operators_t *operators, const byoc_operator_t *declared,
                                        uint32_t count, uint32_t stride, byoc_arena_t *arena, byoc_diag_t *diag);
// Behind query: adds them to the table and tries their definitions. `domains` is what the file's note announces (""
// without one): each operator's domain is in it, and each of its domains has an operator. `name`, `version`, `path` and
// `content` (a hash) say whose they are.
byoc_status_t byoc_plugin_operators_commit(byoc_plugin_operators_t *operators, const char *domains, const char *name,
                                           const char *version, const char *path, const char *content,
                                           byoc_arena_t *arena, byoc_diag_t *diag);
void byoc_plugin_operators_withdraw(byoc_plugin_operators_t *operators);

#endif // BYOC_CORE_PLUGIN_OPERATORS_H_

// SPDX-License-Identifier: Apache-2.0
// The operators that a plugin declares: they are read while its query runs, checked after it, and in the operator table
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
  byoc_diag_t failure;                 // of the first wrong declaration
} byoc_plugin_operators_t;

// Reads declarations into `arena`.
byoc_status_t byoc_plugin_operators_add(byoc_plugin_operators_t *operators, const byoc_operator_t *declared,
                                        uint32_t count, uint32_t stride, byoc_arena_t *arena, byoc_diag_t *diag);
// Called after query: adds them to the table and tries their definitions. `domains` is the list in the file's note (""
// without one): each operator's domain must be in it, and each of its domains must have an operator. `name`, `version`,
// `path` and `content` (a hash) are those of the plugin.
byoc_status_t byoc_plugin_operators_commit(byoc_plugin_operators_t *operators, const char *domains, const char *name,
                                           const char *version, const char *path, const char *content,
                                           byoc_arena_t *arena, byoc_diag_t *diag);
void byoc_plugin_operators_withdraw(byoc_plugin_operators_t *operators);

#endif // BYOC_CORE_PLUGIN_OPERATORS_H_

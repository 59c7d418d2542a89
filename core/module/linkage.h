// SPDX-License-Identifier: Apache-2.0
// The names of runtime modules' symbols after all modules are linked into one file. Each module keeps its symbols to
// itself: others may have symbols with the same names.
#ifndef BYOC_CORE_MODULE_LINKAGE_H_
#define BYOC_CORE_MODULE_LINKAGE_H_

#include "core/module/runtime_module.h"

// Does the program call the module by this symbol? The symbols of its set-up and its engine count, too.
bool byoc_runtime_module_lists(const byoc_runtime_module_t *module, const char *symbol);
// Was the module handed back by this target, or shared with it?
bool byoc_runtime_module_serves(const byoc_runtime_module_t *module, const char *target);
// The first module that lists the symbol, among those of `target` (NULL: of any); NULL if there is none.
const byoc_runtime_module_t *byoc_linkage_find(const byoc_graph_module_t *graph, const char *target,
                                               const char *symbol);
// The name by which the rest of a program calls a listed symbol, from `arena`. It is the symbol's own name if `module`
// is the first of `graph` (may be NULL) that lists it, or if the symbol is in a shared library; otherwise a name that
// no other module has. NULL if out of memory.
const char *byoc_linkage_name(const byoc_graph_module_t *graph, const byoc_runtime_module_t *module, const char *symbol,
                              byoc_arena_t *arena);

#endif // BYOC_CORE_MODULE_LINKAGE_H_

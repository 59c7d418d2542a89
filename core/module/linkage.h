// What symbols of runtime modules are called where all modules are linked into one file: each module keeps its symbols
// to itself, however many others have symbols of the same names.
#ifndef BYOC_CORE_MODULE_LINKAGE_H_
#define BYOC_CORE_MODULE_LINKAGE_H_

#include "core/module/runtime_module.h"

// On byoc::CallC nodes (string): the text of the target whose library the symbol is looked up in. Missing where only
// one module had listed the symbol when the call was made.
#define BYOC_ATTRIBUTE_OF_TARGET "byoc.target"

// Is it one of the symbols by which the program calls the module? Those of its set-up and its engine are.
bool byoc_runtime_module_lists(const byoc_runtime_module_t *module, const char *symbol);
// Was the module handed back by this target, or shared with it?
bool byoc_runtime_module_serves(const byoc_runtime_module_t *module, const char *target);
// The first module that lists the symbol, among those of `target` (NULL: of any); NULL where there is none.
const byoc_runtime_module_t *byoc_linkage_find(const byoc_graph_module_t *graph, const char *target,
                                               const char *symbol);
// The name that the rest of a program calls a listed symbol by: its own where `module` is the first of `graph` (may be
// NULL) that lists it, else one that is the module's alone, from `arena`. NULL when out of memory.
const char *byoc_linkage_name(const byoc_graph_module_t *graph, const byoc_runtime_module_t *module, const char *symbol,
                              byoc_arena_t *arena);

#endif // BYOC_CORE_MODULE_LINKAGE_H_

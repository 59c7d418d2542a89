// SPDX-License-Identifier: Apache-2.0
// Finds the module that a symbol comes from, and the symbol's name in the program.
#include "core/module/linkage.h"

#include <string.h>

#include "core/module/outside.h"

static bool is_text(const char *text, const char *symbol) {
  return text != NULL && strcmp(text, symbol) == 0;
}

bool byoc_runtime_module_lists(const byoc_runtime_module_t *module, const char *symbol) {
  if (is_text(module->setup_symbol, symbol) || is_text(module->engine_symbol, symbol)) return true;
  for (size_t i = 0; i < module->symbols.count; i++) {
    if (strcmp(module->symbols.data[i], symbol) == 0) return true;
  }
  return false;
}

bool byoc_runtime_module_serves(const byoc_runtime_module_t *module, const char *target) {
  if (strcmp(module->target, target) == 0) return true;
  for (size_t i = 0; i < module->users.count; i++) {
    if (strcmp(module->users.data[i], target) == 0) return true;
  }
  return false;
}

const byoc_runtime_module_t *byoc_linkage_find(const byoc_graph_module_t *graph, const char *target,
                                               const char *symbol) {
  for (size_t i = 0; graph != NULL && i < graph->runtime_modules.count; i++) {
    const byoc_runtime_module_t *module = graph->runtime_modules.data[i];
    if (target != NULL && !byoc_runtime_module_serves(module, target)) continue;
    if (byoc_runtime_module_lists(module, symbol)) return module;
  }
  return NULL;
}

// The module whose symbol keeps its name: one outside of artifacts, because it cannot be changed; otherwise the first
// that lists it.
static const byoc_runtime_module_t *find_keeper(const byoc_graph_module_t *graph, const char *symbol) {
  for (size_t i = 0; graph != NULL && i < graph->runtime_modules.count; i++) {
    const byoc_runtime_module_t *module = graph->runtime_modules.data[i];
    if (byoc_runtime_module_is_outside(module) && byoc_runtime_module_lists(module, symbol)) return module;
  }
  return byoc_linkage_find(graph, NULL, symbol);
}

const char *byoc_linkage_name(const byoc_graph_module_t *graph, const byoc_runtime_module_t *module, const char *symbol,
                              byoc_arena_t *arena) {
  const byoc_runtime_module_t *keeper = find_keeper(graph, symbol);
  if (keeper == NULL || keeper == module || !byoc_runtime_module_lists(module, symbol)) return symbol;
  size_t index = 0;
  while (index < graph->runtime_modules.count && graph->runtime_modules.data[index] != module) index++;
  return byoc_arena_format(arena, "%s__of_module%zu", symbol, index);
}

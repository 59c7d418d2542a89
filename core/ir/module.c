// SPDX-License-Identifier: Apache-2.0
// Makes modules, keeps their functions and constants, and gives names that are not taken.
#include <string.h>

#include "core/ir/graph.h"

byoc_status_t byoc_graph_module_create(byoc_allocator_t allocator, byoc_diag_t *diag,
                                       byoc_graph_module_t **out_module) {
  *out_module = NULL;
  byoc_graph_module_t *module = byoc_allocate(allocator, 1, sizeof(*module));
  if (!module) return byoc_diag_out_of_memory(diag);
  module->allocator = allocator;
  byoc_arena_init(&module->arena, allocator);
  byoc_string_map_init(&module->function_names, allocator);
  byoc_string_map_init(&module->constant_names, allocator);
  module->attributes.arena = &module->arena;
  *out_module = module;
  return BYOC_OK;
}

void byoc_graph_module_drop_runtime_modules(byoc_graph_module_t *module) {
  while (module->runtime_modules.count > 0) {
    struct byoc_runtime_module_t *last = module->runtime_modules.data[--module->runtime_modules.count];
    if (module->release_runtime_module) module->release_runtime_module(last);
  }
}

void byoc_graph_module_destroy(byoc_graph_module_t *module) {
  if (!module) return;
  byoc_graph_module_drop_runtime_modules(module);
  for (size_t i = module->mappings.count; i-- > 0;) byoc_file_view_close(&module->mappings.data[i]);
  byoc_file_memory_release(module->file_memory);
  byoc_allocator_t allocator = module->allocator;
  byoc_vector_deinit(&module->runtime_modules, allocator);
  byoc_vector_deinit(&module->mappings, allocator);
  byoc_vector_deinit(&module->functions, allocator);
  byoc_vector_deinit(&module->constants, allocator);
  byoc_map_deinit(&module->function_names);
  byoc_map_deinit(&module->constant_names);
  byoc_arena_deinit(&module->arena);
  byoc_free(allocator, module);
}

byoc_function_t *byoc_graph_module_find(const byoc_graph_module_t *module, const char *name) {
  return byoc_string_map_get(&module->function_names, name);
}

byoc_constant_t *byoc_graph_module_find_constant(const byoc_graph_module_t *module, const char *name) {
  return byoc_string_map_get(&module->constant_names, name);
}

byoc_function_t *byoc_graph_module_main(const byoc_graph_module_t *module) {
  byoc_function_t *function = byoc_graph_module_find(module, "main");
  if (!function && module->functions.count > 0) function = module->functions.data[0];
  return function;
}

bool byoc_function_is_in_scope(const byoc_function_t *function) {
  const byoc_map_t *scope = function->module->scope;
  return scope == NULL || byoc_pointer_map_find(scope, function) != NULL;
}

byoc_function_t *byoc_graph_module_next(const byoc_graph_module_t *module, size_t *index) {
  while (*index < module->functions.count) {
    byoc_function_t *function = module->functions.data[(*index)++];
    if (byoc_function_is_in_scope(function)) return function;
  }
  return NULL;
}

void byoc_graph_module_keep_functions(byoc_graph_module_t *module, bool (*keeps)(void *self, const byoc_function_t *),
                                      void *self) {
  size_t kept = 0;
  for (size_t f = 0; f < module->functions.count; ++f) {
    byoc_function_t *function = module->functions.data[f];
    if (keeps(self, function)) {
      module->functions.data[kept++] = function;
    } else {
      // The map already has the name, so storing NULL over it needs no memory.
      (void)byoc_string_map_put(&module->function_names, function->name, NULL);
    }
  }
  module->functions.count = kept;
}

static bool name_is_free(const byoc_graph_module_t *module, const char *name) {
  return !byoc_graph_module_find(module, name) && !byoc_graph_module_find_constant(module, name);
}

const char *byoc_graph_module_unique_name(byoc_graph_module_t *module, const char *name) {
  if (name_is_free(module, name)) return byoc_arena_copy_string(&module->arena, name);
  size_t size = strlen(name) + 24;
  char *candidate = byoc_arena_allocate(&module->arena, size, 1);
  if (!candidate) return NULL;
  uint64_t number = 1;
  do {
    snprintf(candidate, size, "%s_%llu", name, (unsigned long long)number++);
  } while (!name_is_free(module, candidate));
  return candidate;
}

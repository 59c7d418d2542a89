// SPDX-License-Identifier: Apache-2.0
// Merges functions that compute the same, and redirects their calls to the first one.
#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/ir/outline.h"
#include "core/ir/structural.h"

// Compares the attributes, except the symbol, which differs between equal functions.
static bool attributes_equal(const byoc_function_t *a, const byoc_function_t *b) {
  if (a->attributes.count != b->attributes.count) return false;
  for (size_t i = 0; i < a->attributes.count; ++i) {
    const byoc_attribute_t *left = &a->attributes.items[i];
    const byoc_attribute_t *right = byoc_attributes_find(&b->attributes, left->name);
    if (right == NULL) return false;
    if (strcmp(left->name, BYOC_ATTRIBUTE_GLOBAL_SYMBOL) == 0) continue;
    const byoc_attributes_t one = {.items = (byoc_attribute_t *)(uintptr_t)left, .count = 1};
    const byoc_attributes_t other = {.items = (byoc_attribute_t *)(uintptr_t)right, .count = 1};
    if (!byoc_attributes_equal(&one, &other)) return false;
  }
  return true;
}

// `self` maps functions to their clones.
static bool redirect_call(void *self, byoc_node_t *node) {
  byoc_function_t *clone = node->callee != NULL ? byoc_pointer_map_get(self, node->callee) : NULL;
  if (clone != NULL) node->callee = clone;
  return true;
}

static void redirect_calls(byoc_graph_module_t *module, byoc_map_t *clones) {
  for (size_t f = 0; f < module->functions.count && clones->count > 0; ++f) {
    byoc_block_walk(module->functions.data[f]->body, redirect_call, clones);
  }
}

typedef struct seen_t {
  byoc_function_t *function;
  uint64_t hash;
} seen_t;

byoc_status_t byoc_merge_equal_functions(byoc_graph_module_t *module,
                                         bool (*wants)(void *self, const byoc_function_t *function),
                                         void (*merged)(void *self, byoc_function_t *kept, byoc_function_t *erased),
                                         void *self, byoc_diag_t *diag, size_t *out_count) {
  *out_count = 0;
  size_t seen_count = 0;
  byoc_map_t clones;
  byoc_pointer_map_init(&clones, module->allocator);
  seen_t *seen = byoc_allocate(module->allocator, module->functions.count, sizeof(*seen));
  byoc_status_t status = seen != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
  for (size_t f = 0; f < module->functions.count && status == BYOC_OK; ++f) {
    byoc_function_t *function = module->functions.data[f], *clone = NULL;
    if (!byoc_function_is_in_scope(function) || !wants(self, function)) continue;
    uint64_t hash = byoc_function_structural_hash(function, BYOC_STRUCTURAL_IGNORE_FUNCTION_ATTRIBUTES);
    for (size_t s = 0; s < seen_count && clone == NULL; ++s) {
      byoc_function_t *candidate = seen[s].function;
      if (seen[s].hash == hash && attributes_equal(candidate, function) &&
          byoc_function_structural_equal(candidate, function, BYOC_STRUCTURAL_IGNORE_FUNCTION_ATTRIBUTES)) {
        clone = candidate;
      }
    }
    if (clone == NULL) {
      seen[seen_count++] = (seen_t){.function = function, .hash = hash};
    } else if (!byoc_pointer_map_put(&clones, function, clone)) {
      status = byoc_diag_out_of_memory(diag);
    }
  }
  if (status == BYOC_OK) redirect_calls(module, &clones);
  for (size_t t = 0; t < clones.count && status == BYOC_OK; ++t) {
    byoc_function_t *function = (byoc_function_t *)(uintptr_t)clones.entries[t].pointer;
    if (merged != NULL) merged(self, clones.entries[t].value, function);
    byoc_function_erase(function);
    *out_count += 1;
  }
  byoc_map_deinit(&clones);
  byoc_free(module->allocator, seen);
  return status;
}

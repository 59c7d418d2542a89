// SPDX-License-Identifier: Apache-2.0
// The tree of runtime modules, read back from an artifact's metadata: the maker and the imports of each module.
//
// Example:
//   byoc_module_tree_t tree;
//   BYOC_RETURN_IF_ERROR(byoc_module_tree_read(table->metadata, allocator, diag, &tree));
//   byoc_module_tree_deinit(&tree);
#ifndef BYOC_CORE_COMPOSE_ARTIFACT_MODULE_TREE_H_
#define BYOC_CORE_COMPOSE_ARTIFACT_MODULE_TREE_H_

#include "core/module/runtime_module.h"

typedef struct byoc_module_tree_t {
  byoc_allocator_t allocator;
  BYOC_VECTOR(byoc_runtime_module_t *) modules; // one reference each, in order of production
  BYOC_VECTOR(const char *) contents;           // parallel: ", 960 bytes, for 'npu-2'", or ""
} byoc_module_tree_t;

// Reads kind, name, target, symbols and imports of each module; contents are not in the metadata. An unknown kind, a
// missing import and a cycle are BYOC_INVALID_DATA; the message names the module.
byoc_status_t byoc_module_tree_read(const char *metadata, byoc_allocator_t allocator, byoc_diag_t *diag,
                                    byoc_module_tree_t *out_tree);
void byoc_module_tree_deinit(byoc_module_tree_t *tree);

// "name: c_source by 'cutlass -O=3', imports a, b", one line per module; for engines and devices also sizes, and what
// they fit: "f: json by 'npu', imports npu, 960 bytes, workspace 64 bytes, for 'npu-2'".
void byoc_module_tree_print(const byoc_module_tree_t *tree, byoc_string_t *out);

#endif // BYOC_CORE_COMPOSE_ARTIFACT_MODULE_TREE_H_

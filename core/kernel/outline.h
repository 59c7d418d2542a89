// SPDX-License-Identifier: Apache-2.0
// Moves the nodes of one fusion group into a new function and replaces them by a call. Internal to core/kernel.
#ifndef BYOC_CORE_KERNEL_OUTLINE_H_
#define BYOC_CORE_KERNEL_OUTLINE_H_

#include "core/kernel/fuse.h"

// The kernels of a module, so that groups which compute the same share one.
typedef struct byoc_kernel_table_t {
  byoc_graph_module_t *module;
  byoc_allocator_t allocator;
  struct {
    byoc_function_t **data;
    size_t count, capacity;
  } functions;
  struct {
    uint64_t *data;
    size_t count, capacity;
  } hashes; // of functions, same order
} byoc_kernel_table_t;

// Outlines `group`, lowers it unless an equal kernel exists, and replaces it by a call. Inlined producers are copied;
// the caller erases those that have no uses left.
byoc_status_t byoc_outline_group(byoc_kernel_table_t *table, const byoc_fusion_t *fusion, byoc_fuse_group_t *group,
                                 byoc_diag_t *diag);

#endif // BYOC_CORE_KERNEL_OUTLINE_H_

// SPDX-License-Identifier: Apache-2.0
// Lowers graph functions to kernels: nodes that no backend claimed become fused loop nests of the native target "c".
//
// Example:
//   const byoc_kernel_options_t options = {.fuse = true};
//   BYOC_RETURN_IF_ERROR(byoc_kernel_lower_module(module, &options, diag));
//
// Afterwards a host function holds only calls (of kernels and externs), views, byoc::CallC nodes and control flow.
// Lowering takes these steps: expand operators that are defined by others, drop dead nodes, group (fuse.h), outline
// each group as a function of kind BYOC_FUNCTION_KERNEL, and make its loops. A kernel's function keeps the group's
// graph as its body. Constants of one element are literals in it; larger ones are operands of the call, after the other
// operands, in the order of first use. Groups that compute the same share one kernel.
#ifndef BYOC_CORE_KERNEL_LOWER_MODULE_H_
#define BYOC_CORE_KERNEL_LOWER_MODULE_H_

#include "core/op/op.h"

typedef struct byoc_kernel_options_t {
  bool fuse; // false: one kernel per node
} byoc_kernel_options_t;

// Lowers every graph function that the host runs: those without a Compiler attribute and not Extern. `options` may be
// NULL for the defaults. If an operator has no definition, returns BYOC_UNSUPPORTED, naming node and operator; the
// module is then partly lowered and of no further use.
byoc_status_t byoc_kernel_lower_module(byoc_graph_module_t *module, const byoc_kernel_options_t *options,
                                       byoc_diag_t *diag);

#endif // BYOC_CORE_KERNEL_LOWER_MODULE_H_

// SPDX-License-Identifier: Apache-2.0
// Operators that stand for several others (byoc_node_is_fused) and that a rule of the build names: when they are
// written out after all.
#ifndef BYOC_CORE_COMPILE_FUSED_H_
#define BYOC_CORE_COMPILE_FUSED_H_

#include "core/pass/pass.h"

// Before partitioning: writes out those that no backend would take, and simplifies the module. `options` has the
// targets.
byoc_status_t byoc_fused_settle(byoc_graph_module_t *module, const byoc_pass_options_t *options, byoc_diag_t *diag);

// After partitioning: writes out those that no backend took, and simplifies what is in no region. *out_written is their
// number. If `asks_for_all` is false, the other nodes that no backend took will not be proposed again.
byoc_status_t byoc_fused_write_out_left(byoc_graph_module_t *module, const byoc_pass_options_t *options,
                                        bool asks_for_all, byoc_diag_t *diag, size_t *out_written);

#endif // BYOC_CORE_COMPILE_FUSED_H_

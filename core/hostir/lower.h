// From a lowered graph module to a host program. The main function then holds calls of kernels and of extern functions,
// views and byoc::CallC nodes only; every type in it is static.
#ifndef BYOC_CORE_HOSTIR_LOWER_H_
#define BYOC_CORE_HOSTIR_LOWER_H_

#include "core/hostir/program.h"

// `module` must outlive the program. Errors: a dynamic shape (naming the value and its symbols), a node that nothing
// implements, an extern function without a binding.
byoc_status_t byoc_host_lower(const byoc_graph_module_t *module, byoc_allocator_t allocator, byoc_diag_t *diag,
                              byoc_host_program_t **out_program);

// Puts allocate in front of the first use of each local buffer and free behind the last one.
byoc_status_t byoc_host_place_lifetimes(byoc_host_program_t *program, byoc_diag_t *diag);

// Gives each local buffer its place in one workspace, so that buffers share bytes where their lives do not meet: first
// fit, the largest first. Sets workspace_size_bytes and workspace_bound_bytes.
byoc_status_t byoc_host_plan_memory(byoc_host_program_t *program, byoc_diag_t *diag);

#endif // BYOC_CORE_HOSTIR_LOWER_H_

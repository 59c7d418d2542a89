// Kernels as C11 source for the artifact.
//
//   byoc_string_t text;
//   byoc_string_init(&text, allocator);
//   BYOC_RETURN_IF_ERROR(byoc_kernel_emit_c(kernels, count, &text));
//
// The text includes "byoc/call.h", <math.h> and <stdint.h> and defines one packed function a kernel, named as the
// kernel is, and nothing else with external linkage. It is the same for the same kernels, compiles without warnings
// under gcc and clang, and needs nothing of the floating-point environment but its default. Parallel loops go through
// call->runtime->parallel_for where they hold enough work to be worth it.
#ifndef BYOC_CORE_KERNEL_EMIT_C_H_
#define BYOC_CORE_KERNEL_EMIT_C_H_

#include "core/base/string.h"
#include "core/ir/loop.h"

// Appends to `out`. BYOC_OUT_OF_MEMORY when memory is out, BYOC_INTERNAL for a kernel that does not verify.
byoc_status_t byoc_kernel_emit_c(const byoc_loop_kernel_t *const *kernels, size_t count, byoc_string_t *out);

#endif // BYOC_CORE_KERNEL_EMIT_C_H_

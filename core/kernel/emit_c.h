// SPDX-License-Identifier: Apache-2.0
// Emits kernels as C11 source for the artifact.
//
// Example:
//   byoc_string_t text;
//   byoc_string_init(&text, allocator);
//   BYOC_RETURN_IF_ERROR(byoc_kernel_emit_c(kernels, count, &text));
//
// The text includes "byoc/call.h", <math.h> and <stdint.h>. It defines one packed function per kernel, which has the
// kernel's name, and nothing else with external linkage. The same kernels give the same text. It compiles without
// warnings under gcc and clang and relies on the default floating-point environment only. Parallel loops use
// call->runtime->parallel_for if they have enough work.
#ifndef BYOC_CORE_KERNEL_EMIT_C_H_
#define BYOC_CORE_KERNEL_EMIT_C_H_

#include "core/base/string.h"
#include "core/ir/loop.h"

// Appends to `out`. BYOC_OUT_OF_MEMORY if out of memory, BYOC_INTERNAL for a kernel that does not verify.
byoc_status_t byoc_kernel_emit_c(const byoc_loop_kernel_t *const *kernels, size_t count, byoc_string_t *out);

#endif // BYOC_CORE_KERNEL_EMIT_C_H_

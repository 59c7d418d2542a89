// SPDX-License-Identifier: Apache-2.0
// Kernels that would take long to interpret, cut down to some of their iterations. Internal to core/measure and
// core/compile.
#ifndef BYOC_CORE_MEASURE_WINDOW_H_
#define BYOC_CORE_MEASURE_WINDOW_H_

#include "core/ir/graph.h"
#include "core/ir/loop.h"

// The interpreter's time for a whole run of a kernel that computes `function` (NULL: 0), roughly.
double byoc_interpreting_ns(const byoc_function_t *function);
// The same where windows are taken if they can be.
double byoc_interpreting_windows_ns(const byoc_loop_kernel_t *kernel, const byoc_function_t *function);

// If interpreting all of it would take long, a copy of the kernel that runs windows of its last loop, whose iterations
// are independent: the first iterations and the last, and if they are short some in the middle. Results stay as they
// were where those write nothing. NULL: the kernel is not cut, because it is short or has no such loop, or memory ran
// out.
const byoc_loop_kernel_t *byoc_kernel_take_windows(const byoc_loop_kernel_t *kernel, const byoc_function_t *function,
                                                   byoc_arena_t *arena);

#endif // BYOC_CORE_MEASURE_WINDOW_H_

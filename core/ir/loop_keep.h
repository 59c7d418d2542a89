// SPDX-License-Identifier: Apache-2.0
// Kernels that keep most of an operand: they copy its elements to the same positions of a result, and write other
// elements.
//
//   parallel i in 0..4096 { y[i] = x[i] }    a copy that can be left out if y and x are the same bytes
//   y[at] = new[0]
#ifndef BYOC_CORE_IR_LOOP_KEEP_H_
#define BYOC_CORE_IR_LOOP_KEEP_H_

#include "core/ir/loop.h"

// True if the kernel reads operand `input` only for such copies into result `output`, and is right even if both begin
// at the same byte. Returns false in doubt.
bool byoc_loop_keeps(const byoc_loop_kernel_t *kernel, uint32_t input, uint32_t output);
// True if the statement consists of such copies.
bool byoc_loop_is_kept_copy(const byoc_loop_kernel_t *kernel, const byoc_loop_stmt_t *stmt, uint32_t input,
                            uint32_t output);
// The number of elements of operand `input` in such copies; -1: not known.
int64_t byoc_loop_kept_count(const byoc_loop_kernel_t *kernel, uint32_t input, uint32_t output);

#endif // BYOC_CORE_IR_LOOP_KEEP_H_

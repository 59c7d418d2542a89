// SPDX-License-Identifier: Apache-2.0
// May a kernel write a result over one of its operands?
#ifndef BYOC_CORE_IR_LOOP_IN_PLACE_H_
#define BYOC_CORE_IR_LOOP_IN_PLACE_H_

#include "core/ir/loop.h"

// True if the only element of operand `input` that an iteration reads is the element of result `output` that it writes
// afterwards, and no other iteration reads or writes that element. Returns false in doubt.
bool byoc_loop_may_overwrite(const byoc_loop_kernel_t *kernel, uint32_t input, uint32_t output);

#endif // BYOC_CORE_IR_LOOP_IN_PLACE_H_

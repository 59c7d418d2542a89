// May a kernel write a result over one of its operands?
#ifndef BYOC_CORE_IR_LOOP_IN_PLACE_H_
#define BYOC_CORE_IR_LOOP_IN_PLACE_H_

#include "core/ir/loop.h"

// Does each iteration read of operand `input` nothing but the element that it then writes of result `output`, and does
// no other iteration read or write it? Says no where that is not plain to see.
bool byoc_loop_may_overwrite(const byoc_loop_kernel_t *kernel, uint32_t input, uint32_t output);

#endif // BYOC_CORE_IR_LOOP_IN_PLACE_H_

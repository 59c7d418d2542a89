// SPDX-License-Identifier: Apache-2.0
// The calling thread's stack. Internal to artifacts.
#ifndef BYOC_CORE_RUNTIME_STACK_H_
#define BYOC_CORE_RUNTIME_STACK_H_

#include <stddef.h>

// The bytes of stack that the calling thread has left; SIZE_MAX if they are not known.
size_t byoc_stack_left_bytes(void);

#endif // BYOC_CORE_RUNTIME_STACK_H_

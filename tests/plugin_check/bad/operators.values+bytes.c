// SPDX-License-Identifier: Apache-2.0
// Takes bytes only, and is one step off in one of them, though nothing is rounded.
#define ELEMENT      BYOC_DTYPE_I8
#define ELEMENT_IN_C "signed char"
#define KERNEL_LAST  "if (n > 2) y[2] = (signed char)(y[2] + 1);"
#include "base.h"

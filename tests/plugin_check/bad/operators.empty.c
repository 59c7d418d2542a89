// SPDX-License-Identifier: Apache-2.0
// Fails where there is nothing to do.
#define KERNEL_FIRST "if (n == 0) return 5;"
#include "base.h"

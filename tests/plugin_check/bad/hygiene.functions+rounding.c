// SPDX-License-Identifier: Apache-2.0
// Leaves another rounding mode behind.
#define KERNEL_BEFORE "#include <fenv.h>"
#define KERNEL_FIRST  "fesetround(FE_UPWARD);"
#include "base.h"

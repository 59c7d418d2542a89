// SPDX-License-Identifier: Apache-2.0
// Fails without a reason.
#define KERNEL_FIRST "return 5;"
#include "base.h"

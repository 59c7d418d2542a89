// SPDX-License-Identifier: Apache-2.0
// Crashes when it runs.
#define KERNEL_FIRST "*(volatile int *)8 = 1;"
#include "base.h"

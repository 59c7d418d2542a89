// SPDX-License-Identifier: Apache-2.0
// Reads one element too many.
#define KERNEL_LAST "static volatile float sink; sink = x[n]; (void)sink;"
#include "base.h"

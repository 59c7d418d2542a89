// SPDX-License-Identifier: Apache-2.0
// Writes one element too many.
#define KERNEL_LAST "y[n] = 7;"
#include "base.h"

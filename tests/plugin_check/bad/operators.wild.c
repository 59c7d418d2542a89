// SPDX-License-Identifier: Apache-2.0
// Makes 0 of NaN.
#define KERNEL_VALUE "x[i] != x[i] ? 0 : %s"
#include "base.h"

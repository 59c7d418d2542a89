// SPDX-License-Identifier: Apache-2.0
// Is off by a hundredth.
#define KERNEL_VALUE "%s + 0.01f"
#include "base.h"

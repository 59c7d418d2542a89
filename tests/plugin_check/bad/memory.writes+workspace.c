// SPDX-License-Identifier: Apache-2.0
// Uses more of its workspace than it asked for.
#define WORKSPACE_BYTES 64
#define KERNEL_FIRST    "((volatile float *)call->workspace)[16] = 1;"
#include "base.h"

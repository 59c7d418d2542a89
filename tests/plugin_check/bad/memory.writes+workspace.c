// SPDX-License-Identifier: Apache-2.0
// Uses more of its workspace than it asked for, where nothing else lies in an artifact.
#define WORKSPACE_BYTES 60
#define KERNEL_FIRST    "((volatile float *)call->workspace)[15] = 1;"
#include "base.h"

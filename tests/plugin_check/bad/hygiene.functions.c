// SPDX-License-Identifier: Apache-2.0
// Prints when it runs.
#define KERNEL_BEFORE "#include <stdio.h>"
#define KERNEL_FIRST  "puts(\"running\");"
#include "base.h"

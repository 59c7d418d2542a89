// SPDX-License-Identifier: Apache-2.0
// Ends the process when it runs.
#define KERNEL_BEFORE "#include <stdlib.h>"
#define KERNEL_FIRST  "exit(0);"
#include "base.h"

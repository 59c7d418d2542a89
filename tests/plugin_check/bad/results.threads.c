// SPDX-License-Identifier: Apache-2.0
// Its kernels notice when two contexts run them at once.
#define KERNEL_BEFORE "#include <time.h>\nstatic _Atomic int inside;\n"
#define KERNEL_FIRST                                                                                                   \
  "const struct timespec pause = {0, 5000000};\n"                                                                      \
  "  const int is_alone = inside++ == 0;\n"                                                                            \
  "  nanosleep(&pause, 0);\n"
#define KERNEL_LAST "inside--;\n  if (!is_alone && n > 0) y[0] = 1000;"
#include "base.h"

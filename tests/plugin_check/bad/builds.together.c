// SPDX-License-Identifier: Apache-2.0
// Its kernels keep a file by which they tell that they are the only ones.
#define KERNEL_BEFORE                                                                                                  \
  "#include <fcntl.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <unistd.h>\n"                                 \
  "static char lock[4096];\n"                                                                                          \
  "__attribute__((destructor)) static void leave(void) { if (lock[0]) unlink(lock); }\n"
#define KERNEL_FIRST                                                                                                   \
  "if (lock[0] == 0) {\n"                                                                                              \
  "    snprintf(lock, sizeof(lock), \"%s/%.200s.lock\", getenv(\"TMPDIR\"), __func__);\n"                              \
  "    int file = open(lock, O_CREAT | O_EXCL | O_WRONLY, 0600);\n"                                                    \
  "    if (file < 0) { lock[0] = 0; return 1; }\n"                                                                     \
  "    close(file);\n"                                                                                                 \
  "  }\n"
#include "base.h"

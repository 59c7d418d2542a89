// SPDX-License-Identifier: Apache-2.0
// Its kernels are wrong in an artifact, where its file is called cases.so.
#define KERNEL_BEFORE "#include <stdio.h>\n#include <string.h>\n"
#define KERNEL_FIRST                                                                                                   \
  "char line[512];\n"                                                                                                  \
  "  int is_artifact = 0;\n"                                                                                           \
  "  FILE *maps = fopen(\"/proc/self/maps\", \"r\");\n"                                                                \
  "  while (maps != 0 && fgets(line, sizeof(line), maps)) is_artifact |= strstr(line, \"/cases.so\") != 0;\n"          \
  "  if (maps != 0) fclose(maps);\n"
#define KERNEL_LAST "if (is_artifact && n > 0) y[0] = 1000;"
#include "base.h"

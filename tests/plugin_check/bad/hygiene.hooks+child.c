// SPDX-License-Identifier: Apache-2.0
// Leaves a child process behind in generate.
int fork(void);
void _exit(int code);
#define GENERATE_FIRST                                                                                                 \
  if (fork() == 0) _exit(0);
#include "base.h"

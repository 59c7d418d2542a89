// SPDX-License-Identifier: Apache-2.0
// Blocks a signal from its first run on.
#define KERNEL_BEFORE                                                                                                  \
  "#define _GNU_SOURCE 1\n"                                                                                            \
  "#include <pthread.h>\n"                                                                                             \
  "#include <signal.h>\n"
#define KERNEL_FIRST "sigset_t set; sigemptyset(&set); sigaddset(&set, SIGUSR2); pthread_sigmask(SIG_BLOCK, &set, 0);"
#include "base.h"

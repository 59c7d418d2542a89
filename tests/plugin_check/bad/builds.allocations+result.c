// SPDX-License-Identifier: Apache-2.0
// Goes on where the host has no memory for the lines of its kernels, which then are wrong.
static int starved;
#define GENERATE_FIRST                                                                                                 \
  starved = 0;                                                                                                         \
  for (int line = 0; line < 500; ++line) {                                                                             \
    void *text = host->resize(host, NULL, 100);                                                                        \
    starved |= text == NULL;                                                                                           \
    host->resize(host, text, 0);                                                                                       \
  }
#define KERNEL_LAST starved ? "if (n > 0) y[0] = 1000;" : ""
#include "base.h"

// SPDX-License-Identifier: Apache-2.0
// Takes memory of the host for the lines of a file and ends the process where there is none. (The rule tries some of a
// build's requests, so that there are many lines.)
#define GENERATE_FIRST                                                                                                 \
  for (int line = 0; line < 500; ++line) {                                                                             \
    void *text = host->resize(host, NULL, 100);                                                                        \
    if (text == NULL) __builtin_trap();                                                                                \
    host->resize(host, text, 0);                                                                                       \
  }
#include "base.h"

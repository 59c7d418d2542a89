// SPDX-License-Identifier: Apache-2.0
// Crashes in accept.
#define ACCEPT_FIRST                                                                                                   \
  int *volatile nowhere = NULL;                                                                                        \
  *nowhere = 1;
#include "base.h"

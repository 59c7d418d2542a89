// SPDX-License-Identifier: Apache-2.0
// Ignores a signal from generate on.
#include <signal.h>
#define GENERATE_FIRST (void)signal(SIGWINCH, SIG_IGN);
#include "base.h"

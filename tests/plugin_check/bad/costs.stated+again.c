// SPDX-License-Identifier: Apache-2.0
// It counts the questions, and states more each time.
static double asked;
#define STATED_NS (asked += 1)
#include "base.h"

// SPDX-License-Identifier: Apache-2.0
// A function costs less if it is asked for among others.
#define STATED_NS (10.0 / query->function_count)
#include "base.h"

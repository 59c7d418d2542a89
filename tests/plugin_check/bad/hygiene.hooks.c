// SPDX-License-Identifier: Apache-2.0
// Prints in generate.
#define GENERATE_FIRST puts("generating");
#include "base.h"

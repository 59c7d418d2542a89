// SPDX-License-Identifier: Apache-2.0
// Loses memory of its own with each load.
#include <stdlib.h>
static void *volatile lost;
#define QUERY_FIRST lost = malloc(64);
#include "base.h"

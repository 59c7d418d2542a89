// SPDX-License-Identifier: Apache-2.0
// Prints when it is queried.
#define QUERY_FIRST puts("hello");
#include "base.h"

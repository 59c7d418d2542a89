// SPDX-License-Identifier: Apache-2.0
// Crashes in query.
#define QUERY_FIRST __builtin_trap();
#include "base.h"

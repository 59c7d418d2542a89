// SPDX-License-Identifier: Apache-2.0
// Has a rule with neither a pattern nor a list of operators.
#define RULE_PATTERN NULL
#include "base.h"

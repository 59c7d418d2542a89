// SPDX-License-Identifier: Apache-2.0
// Leaves a required slot of the backend empty.
#define GENERATE NULL
#include "base.h"

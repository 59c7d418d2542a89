// SPDX-License-Identifier: Apache-2.0
// Its functions take less than no time.
#define STATED_NS (-1.0)
#include "base.h"

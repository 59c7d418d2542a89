// SPDX-License-Identifier: Apache-2.0
// Its backend has no description.
#define DESCRIPTION ""
#include "base.h"

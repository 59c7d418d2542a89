// SPDX-License-Identifier: Apache-2.0
// Does as if it had not been asked to refuse.
#define REFUSES
#include "base.h"

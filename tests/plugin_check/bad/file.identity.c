// SPDX-License-Identifier: Apache-2.0
// Has no identity note.
#define IDENTITY typedef int no_identity_t
#include "base.h"

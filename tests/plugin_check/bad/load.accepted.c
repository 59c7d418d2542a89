// SPDX-License-Identifier: Apache-2.0
// Describes its backend in two lines, where one is wanted.
#define DESCRIPTION "Relu and Neg\nas C source"
#include "base.h"

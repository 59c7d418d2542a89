// SPDX-License-Identifier: Apache-2.0
// The number of the build is in what it generates.
static int build_count;
#define GENERATE_FIRST build_count += 1;
#define KERNEL_NUMBER  build_count
#include "base.h"

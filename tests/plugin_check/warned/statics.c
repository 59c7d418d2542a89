// SPDX-License-Identifier: Apache-2.0
// Its kernels keep their input in a static variable. No result depends on it unless two contexts run at once.
#define KERNEL_BEFORE "static float kept[64];\n"
#define KERNEL_FIRST  "for (long long i = 0; i < n && i < 64; ++i) kept[i] = x[i];"
#include "tests/plugin_check/bad/base.h"

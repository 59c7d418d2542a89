// SPDX-License-Identifier: Apache-2.0
// The number of the process is in what it generates.
#include <unistd.h>
#define KERNEL_NUMBER getpid()
#include "base.h"

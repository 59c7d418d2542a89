// SPDX-License-Identifier: Apache-2.0
// Links to a library (see CMakeLists.txt).
#include "base.h"

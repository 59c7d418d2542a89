// SPDX-License-Identifier: Apache-2.0
// Cannot be unloaded (see CMakeLists.txt).
#include "base.h"

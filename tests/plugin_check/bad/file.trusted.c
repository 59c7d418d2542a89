// SPDX-License-Identifier: Apache-2.0
// Its file may be written by the group (see CMakeLists.txt).
#include "base.h"

// SPDX-License-Identifier: Apache-2.0
// One of its operators is misspelt.
#define PATTERN "op:{Relu|Neg|Tanhh}(%x)"
#include "base.h"

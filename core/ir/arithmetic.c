// SPDX-License-Identifier: Apache-2.0
// Maps types of arithmetic to the names that profiles and host programs have for them, and back.
#include "core/ir/arithmetic.h"

#include <string.h>

static const char *const names[BYOC_ARITHMETIC_COUNT] = {
#define BYOC_ARITHMETIC_NAME(NAME, text) [BYOC_ARITHMETIC_##NAME] = text,
    BYOC_ARITHMETIC_LIST(BYOC_ARITHMETIC_NAME)
#undef BYOC_ARITHMETIC_NAME
};

const char *byoc_arithmetic_name(byoc_arithmetic_t type) {
  return (unsigned)type < BYOC_ARITHMETIC_COUNT ? names[type] : "";
}

byoc_arithmetic_t byoc_arithmetic_find(const char *name, size_t size) {
  size_t i = 0;
  while (i < BYOC_ARITHMETIC_COUNT && (strlen(names[i]) != size || memcmp(names[i], name, size) != 0)) ++i;
  return (byoc_arithmetic_t)i;
}

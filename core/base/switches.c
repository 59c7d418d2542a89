// SPDX-License-Identifier: Apache-2.0
// Keeps the names that are switched off.
#include "core/base/switches.h"

#include <string.h>

bool byoc_switches_is_on(const byoc_switches_t *switches, const char *name) {
  for (size_t i = 0; switches != NULL && i < switches->count; ++i) {
    if (strcmp(switches->off[i], name) == 0) return false;
  }
  return true;
}

bool byoc_switches_turn_off(byoc_switches_t *switches, const char *name) {
  if (!byoc_switches_is_on(switches, name)) return true;
  if (switches->count == BYOC_SWITCHES_MAX) return false;
  switches->off[switches->count++] = name;
  return true;
}

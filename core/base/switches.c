// SPDX-License-Identifier: Apache-2.0
// Keeps the names that are switched off.
#include "core/base/switches.h"

#include <string.h>

static size_t find(const byoc_switches_t *switches, const char *name) {
  size_t i = 0;
  while (i < switches->count && strcmp(switches->off[i], name) != 0) ++i;
  return i;
}

bool byoc_switches_is_on(const byoc_switches_t *switches, const char *name) {
  return switches == NULL || find(switches, name) == switches->count;
}

bool byoc_switches_set(byoc_switches_t *switches, const char *name, bool on) {
  const size_t at = find(switches, name);
  const bool is_on = at == switches->count;
  if (is_on == on) return true;
  if (on) {
    switches->off[at] = switches->off[--switches->count];
    return true;
  }
  if (switches->count == BYOC_SWITCHES_MAX) return false;
  switches->off[switches->count++] = name;
  return true;
}

byoc_switch_guard_t byoc_switch_guard_begin(byoc_switches_t *switches, const char *name, bool on) {
  const byoc_switch_guard_t guard = {.switches = switches, .before = *switches};
  (void)byoc_switches_set(switches, name, on);
  return guard;
}

void byoc_switch_guard_end(const byoc_switch_guard_t *guard) {
  *guard->switches = guard->before;
}

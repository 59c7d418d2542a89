// SPDX-License-Identifier: Apache-2.0
// Switches for steps by name, such as passes, and guards that switch one temporarily.
//
// Example:
//   byoc_switches_t switches = {0};
//   byoc_switches_set(&switches, "fold-pad", false);
//   byoc_switch_guard_t guard = byoc_switch_guard_begin(&switches, "fold-pad", true);
//   // The pass runs here, and behind the guard as little as before.
//   byoc_switch_guard_end(&guard);
#ifndef BYOC_CORE_BASE_SWITCHES_H_
#define BYOC_CORE_BASE_SWITCHES_H_

#include <stdbool.h>
#include <stddef.h>

enum { BYOC_SWITCHES_MAX = 64 };

typedef struct byoc_switches_t {
  const char *off[BYOC_SWITCHES_MAX]; // not copied: they must live as long as this struct
  size_t count;
} byoc_switches_t;

// Is the step on? `switches` NULL: all steps are on.
bool byoc_switches_is_on(const byoc_switches_t *switches, const char *name);
// False if too many are off.
bool byoc_switches_set(byoc_switches_t *switches, const char *name, bool on);

typedef struct byoc_switch_guard_t {
  byoc_switches_t *switches, before;
} byoc_switch_guard_t;
// Switches one name until the guard ends. Guards end in the opposite order.
byoc_switch_guard_t byoc_switch_guard_begin(byoc_switches_t *switches, const char *name, bool on);
void byoc_switch_guard_end(const byoc_switch_guard_t *guard);

#endif // BYOC_CORE_BASE_SWITCHES_H_

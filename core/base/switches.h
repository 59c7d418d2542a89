// SPDX-License-Identifier: Apache-2.0
// Switches for steps by name, such as passes. A copy can switch off more of them for a while.
//
// Example:
//   byoc_switches_t switches = {0};
//   bool fits = byoc_switches_turn_off(&switches, "fold-pad");
//   bool runs = fits && byoc_switches_is_on(&switches, "fold-pad"); // false
//   (void)runs;
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
bool byoc_switches_turn_off(byoc_switches_t *switches, const char *name);

#endif // BYOC_CORE_BASE_SWITCHES_H_

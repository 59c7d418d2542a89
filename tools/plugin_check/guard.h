// SPDX-License-Identifier: Apache-2.0
// Guarded memory: areas between pages that may not be touched, and an allocator whose freed memory may not be touched
// any more. Whoever touches them ends the running rule with a failure that says what it was.
#ifndef BYOC_TOOLS_PLUGIN_CHECK_GUARD_H_
#define BYOC_TOOLS_PLUGIN_CHECK_GUARD_H_

#include "tools/plugin_check/check.h"

typedef enum guard_place_t {
  GUARD_LOOSE,    // a page of slack on both sides
  GUARD_AT_END,   // its end is that of a page, as closely as `alignment` allows, and the page behind is guarded
  GUARD_AT_START, // its start is that of a page, and the page in front is guarded
} guard_place_t;

typedef struct guard_area_t {
  uint8_t *pages; // all of them, guards included
  size_t pages_size;
  uint8_t *data;
  size_t size;
  char what[96]; // "output 0 of 'main_0'"
  bool is_dead;  // it may not be touched any more
} guard_area_t;

// From now on, a forbidden access to an area or to freed memory ends the rule. `check` outlives everything.
void guard_begin(check_t *check);

// An area of the rule's. The bytes around it on its pages are filled with a pattern. Never returns NULL.
guard_area_t *guard_create(size_t size, size_t alignment, guard_place_t place, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
// Where the pattern around it was written over, says so as a failure of `who`. Not for GUARD_LOOSE areas.
void guard_check(const guard_area_t *area, const char *who);
// From now on it may only be read; nobody may touch it; it is gone.
void guard_seal(const guard_area_t *area);
void guard_kill(guard_area_t *area);
void guard_destroy(guard_area_t *area);

// The name of freed memory in a report: "a view of an earlier hook".
void guard_name_freed(const char *what);
// Not for several threads.
byoc_allocator_t guard_allocator(void);

#endif // BYOC_TOOLS_PLUGIN_CHECK_GUARD_H_

// SPDX-License-Identifier: Apache-2.0
// Checks that a plugin has not changed the working folder, the umask, the locale, the environment, signal handlers and
// the floating-point mode of the process, and the signals that its thread blocks.
#ifndef BYOC_CORE_PLUGIN_HYGIENE_H_
#define BYOC_CORE_PLUGIN_HYGIENE_H_

#include <limits.h>

#include "core/base/diag.h"

typedef struct byoc_hygiene_t {
  char folder[PATH_MAX];
  char umask[16];
  char locale[256];
  uint64_t environment, signals, blocked_signals;
  uint32_t floating_point;
} byoc_hygiene_t;

void byoc_hygiene_take(byoc_hygiene_t *out);
// The change since then, "changed the locale of the process"; NULL: none.
const char *byoc_hygiene_changed(const byoc_hygiene_t *before);
// Returns BYOC_INVALID_DATA with the change since then, or BYOC_OK.
byoc_status_t byoc_hygiene_check(const byoc_hygiene_t *before, byoc_diag_t *diag);

#endif // BYOC_CORE_PLUGIN_HYGIENE_H_

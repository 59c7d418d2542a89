// SPDX-License-Identifier: Apache-2.0
// Statuses and messages for errno values, for code that calls the system.
#ifndef BYOC_CORE_BASE_SYSTEM_ERROR_H_
#define BYOC_CORE_BASE_SYSTEM_ERROR_H_

#include "core/base/diag.h"

// Records "cannot <verb> '<path>': <the system's reason>", and a hint for usual causes.
byoc_status_t byoc_diag_system_error(byoc_diag_t *diag, int error, const char *verb, const char *path);

#endif // BYOC_CORE_BASE_SYSTEM_ERROR_H_

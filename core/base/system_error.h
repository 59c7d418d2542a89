// SPDX-License-Identifier: Apache-2.0
// Statuses for errno values. For the files of core/base only.
#ifndef BYOC_CORE_BASE_SYSTEM_ERROR_H_
#define BYOC_CORE_BASE_SYSTEM_ERROR_H_

#include "core/base/diag.h"

// Records "cannot <verb> '<path>': <what the system said>", and a hint if there is a usual cure.
byoc_status_t byoc_diag_system_error(byoc_diag_t *diag, int error, const char *verb, const char *path);

#endif // BYOC_CORE_BASE_SYSTEM_ERROR_H_

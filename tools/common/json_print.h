// SPDX-License-Identifier: Apache-2.0
// JSON for --json: one document on standard output.
#ifndef BYOC_TOOLS_COMMON_JSON_PRINT_H_
#define BYOC_TOOLS_COMMON_JSON_PRINT_H_

#include "core/base/diag.h"
#include "core/base/json.h"

// Prints and releases `value`; NULL is reported as running out of memory.
byoc_status_t byoc_json_print(json_t *value, byoc_diag_t *diag);

#endif // BYOC_TOOLS_COMMON_JSON_PRINT_H_

// JSON for --json: one document on standard output.
#ifndef BYOC_TOOLS_BYOC_JSON_PRINT_H_
#define BYOC_TOOLS_BYOC_JSON_PRINT_H_

#include <jansson.h>

#include "core/base/diag.h"

// Prints and releases `value`; NULL is reported as running out of memory.
byoc_status_t byoc_json_print(json_t *value, byoc_diag_t *diag);
// A text that may hold bytes that are not UTF-8 (a damaged name): those become '?'.
json_t *byoc_json_text(const char *text);

#endif // BYOC_TOOLS_BYOC_JSON_PRINT_H_

// SPDX-License-Identifier: Apache-2.0
// Functions on JSON that jansson lacks.
#ifndef BYOC_CORE_BASE_JSON_H_
#define BYOC_CORE_BASE_JSON_H_

#include <jansson.h>
#include <stdbool.h>

// A JSON string of characters that may not be UTF-8 (a name from a damaged model, a message that was cut); then every
// byte beyond ASCII becomes '?'. NULL if out of memory.
json_t *byoc_json_string(const char *text);
// json_loadb that reports a lack of memory as such. Without this, jansson may report it as a syntax error. Any thread.
json_t *byoc_json_load(const void *text, size_t size_bytes, size_t flags, json_error_t *out_error);
// Did byoc_json_load return NULL because memory ran out?
bool byoc_json_out_of_memory(const json_error_t *error);
// json_dumps, with everything that is not safe to show (core/base/visible.h) as an escape: "\u202e". Free it with
// free(). NULL if `value` is NULL or out of memory.
char *byoc_json_dump(const json_t *value, size_t flags);

#endif // BYOC_CORE_BASE_JSON_H_

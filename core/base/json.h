// What every writer of JSON needs in addition to jansson.
#ifndef BYOC_CORE_BASE_JSON_H_
#define BYOC_CORE_BASE_JSON_H_

#include <jansson.h>

// A JSON string of a text that may hold bytes that are not UTF-8 (a name from a damaged model, a message that was cut);
// in that case every byte beyond ASCII becomes '?'. NULL if out of memory.
json_t *byoc_json_text(const char *text);

#endif // BYOC_CORE_BASE_JSON_H_

// What every writer of JSON needs beside jansson.
#ifndef BYOC_CORE_BASE_JSON_H_
#define BYOC_CORE_BASE_JSON_H_

#include <jansson.h>

// A string value of a text that may hold bytes that are not UTF-8 (a name out of a damaged model, a message that was
// cut): then all beyond ASCII become '?'. NULL when memory is out.
json_t *byoc_json_text(const char *text);

#endif // BYOC_CORE_BASE_JSON_H_

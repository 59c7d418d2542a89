// Makes JSON strings of texts that may not be UTF-8.
#include "core/base/json.h"

#include <stdlib.h>
#include <string.h>

json_t *byoc_json_text(const char *text) {
  json_t *value = json_string(text);
  if (value != NULL) return value;
  char *copy = strdup(text);
  if (copy == NULL) return NULL;
  for (char *at = copy; *at != '\0'; ++at) {
    if ((unsigned char)*at >= 0x80) *at = '?';
  }
  value = json_string(copy);
  free(copy);
  return value;
}

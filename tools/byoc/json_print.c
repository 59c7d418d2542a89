#include "json_print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

byoc_status_t byoc_json_print(json_t *value, byoc_diag_t *diag) {
  char *text = value ? json_dumps(value, JSON_INDENT(2)) : NULL;
  json_decref(value);
  if (text == NULL) return byoc_diag_out_of_memory(diag);
  int written = printf("%s\n", text);
  free(text);
  return written > 0 ? BYOC_OK : byoc_diag_error(diag, BYOC_IO, "cannot write to standard output");
}

json_t *byoc_json_text(const char *text) {
  json_t *value = json_string(text);
  if (value != NULL) return value;
  char *copy = strdup(text);
  if (copy == NULL) return NULL;
  for (char *c = copy; *c; ++c) {
    if ((unsigned char)*c >= 128) *c = '?';
  }
  value = json_string(copy);
  free(copy);
  return value;
}

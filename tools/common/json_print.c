// SPDX-License-Identifier: Apache-2.0
// Prints a JSON document on standard output.
#include "tools/common/json_print.h"

#include <stdio.h>
#include <stdlib.h>

byoc_status_t byoc_json_print(json_t *value, byoc_diag_t *diag) {
  char *text = value ? byoc_json_dump(value, JSON_INDENT(2)) : NULL;
  json_decref(value);
  if (text == NULL) return byoc_diag_out_of_memory(diag);
  int written = printf("%s\n", text); // safe to show already
  free(text);
  return written > 0 ? BYOC_OK : byoc_diag_error(diag, BYOC_IO, "cannot write to standard output");
}

// SPDX-License-Identifier: Apache-2.0
// Reports what went wrong as a status and a sentence.
#include "engine/library/error.h"

#include <stdarg.h>
#include <stdio.h>

int32_t byoc_dnnl_fail(byoc_dnnl_error_t *error, int32_t status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(error->text, sizeof(error->text), format, arguments); // a cut sentence is still a sentence
  va_end(arguments);
  return status;
}

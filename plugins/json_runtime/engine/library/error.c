// SPDX-License-Identifier: Apache-2.0
// Reports a failure as a status and a message.
#include "engine/library/error.h"

#include <stdarg.h>
#include <stdio.h>

int32_t byoc_dnnl_fail(byoc_dnnl_error_t *error, int32_t status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(error->text, sizeof(error->text), format, arguments); // a message that is cut off is enough
  va_end(arguments);
  return status;
}

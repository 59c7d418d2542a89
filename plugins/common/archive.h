// SPDX-License-Identifier: Apache-2.0
// archive.h - functions for archives that artifacts carry: drivers of devices and engines.
//
// Example:
//   if (!byoc_plugin_resolve(library, "cuInit", &api->cuInit))
//     return byoc_plugin_fail(runtime, BYOC_VERSION, "%s lacks cuInit: install a newer driver", name);
//
// They are inline, because an artifact may carry archives of several plugins and of several versions: none of their
// symbols may meet.
#ifndef BYOC_PLUGIN_ARCHIVE_H_
#define BYOC_PLUGIN_ARCHIVE_H_

#include <dlfcn.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "byoc/call.h"

// Reports the message, cut after 511 bytes, to the runtime and returns `status`.
__attribute__((format(printf, 3, 4))) static inline int32_t byoc_plugin_fail(const byoc_runtime_t *runtime,
                                                                             int32_t status, const char *format, ...) {
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(message, sizeof(message), format, arguments);
  va_end(arguments);
  runtime->set_error(runtime->self, message);
  return status;
}

// Writes the address of a function of a library to *out_function, which is a pointer to a function. Returns false and
// writes nothing if the library has no such function. ISO C has no conversion from an object pointer to a function
// pointer; POSIX guarantees that their bytes are the same.
static inline bool byoc_plugin_resolve(void *library, const char *name, void *out_function) {
  void *symbol = dlsym(library, name);
  if (symbol != NULL) memcpy(out_function, &symbol, sizeof(symbol));
  return symbol != NULL;
}

#endif // BYOC_PLUGIN_ARCHIVE_H_

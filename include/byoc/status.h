// SPDX-License-Identifier: Apache-2.0
// byoc/status.h - status codes shared by the host, its plugins and its artifacts.
//
// Example:
//   int32_t status = table->run(context, inputs, outputs);
//   if (status != BYOC_OK) fprintf(stderr, "%s: %s\n", byoc_status_name(status), table->last_error(context));
//
// A status crosses every boundary as int32_t; the constants below never change their number. A reader that meets a
// number it does not know treats it as BYOC_INTERNAL. Everything here is a constant or a pure function: callable from
// any thread.
#ifndef BYOC_STATUS_H_
#define BYOC_STATUS_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// X(NAME, number, "text")
#define BYOC_STATUS_LIST(X)                                                                                            \
  X(OK, 0, "ok")                                                                                                       \
  X(INVALID_ARGUMENT, 1, "invalid argument")                                                                           \
  X(NOT_FOUND, 2, "not found")                                                                                         \
  X(ALREADY_EXISTS, 3, "already exists")                                                                               \
  X(UNSUPPORTED, 4, "unsupported")                                                                                     \
  X(INVALID_DATA, 5, "invalid data")                                                                                   \
  X(OUT_OF_MEMORY, 6, "out of memory")                                                                                 \
  X(IO, 7, "input/output error")                                                                                       \
  X(PERMISSION, 8, "permission refused")                                                                               \
  X(VERSION, 9, "version mismatch")                                                                                    \
  X(TOOL, 10, "external tool failed")                                                                                  \
  X(MISMATCH, 11, "results differ")                                                                                    \
  X(CANCELLED, 12, "cancelled")                                                                                        \
  X(INTERNAL, 13, "internal error")                                                                                    \
  X(TIMED_OUT, 14, "timed out")

#define BYOC_STATUS_CONSTANT(NAME, number, text) BYOC_##NAME = number,
enum { BYOC_STATUS_LIST(BYOC_STATUS_CONSTANT) };
#undef BYOC_STATUS_CONSTANT

typedef int32_t byoc_status_t;

// The name of a status, e.g. "not found". Never NULL; static storage.
static inline const char *byoc_status_name(byoc_status_t status) {
  switch (status) {
#define BYOC_STATUS_CASE(NAME, number, text)                                                                           \
  case number:                                                                                                         \
    return text;
    BYOC_STATUS_LIST(BYOC_STATUS_CASE)
#undef BYOC_STATUS_CASE
  default:
    return "unknown status";
  }
}

#ifdef __cplusplus
}
#endif
#endif // BYOC_STATUS_H_

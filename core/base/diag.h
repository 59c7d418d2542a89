// SPDX-License-Identifier: Apache-2.0
// A diagnostic that the caller owns: the first error of an operation, its location, and a hint.
//
// Example:
//   byoc_diag_t diag = {0};
//   if (byoc_graph_parse(text, "add.byoc", allocator, &diag, &module) != BYOC_OK) byoc_diag_print(&diag, stderr);
//
// Its storage is fixed, so that a lack of memory can be reported, too; longer strings are cut with "...". The first
// error stays and later ones are dropped. Callers add context on the way up. Every function accepts a NULL diag.
#ifndef BYOC_CORE_BASE_DIAG_H_
#define BYOC_CORE_BASE_DIAG_H_

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "byoc/status.h"

typedef struct byoc_diag_t {
  byoc_status_t status; // BYOC_OK: no error
  char message[1024];   // the error
  char context[1024];   // the work, outermost first: "building model.onnx: folding node 'a'"
  char hint[512];       // the remedy; may be empty
  char file[256];       // source position; empty if there is none
  int line, column;     // from 1
  char source_line[256];
} byoc_diag_t;

// Is it one of the statuses of byoc/status.h? A plugin or a child process may return anything.
bool byoc_status_is_known(int32_t status);

// Records an error and returns `status`. Nothing is recorded over an earlier error (the status is still returned).
byoc_status_t byoc_diag_error(byoc_diag_t *diag, byoc_status_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
byoc_status_t byoc_diag_errorv(byoc_diag_t *diag, byoc_status_t status, const char *format, va_list arguments);
byoc_status_t byoc_diag_out_of_memory(byoc_diag_t *diag);
// The status of the recorded error; BYOC_OUT_OF_MEMORY if none was recorded or if `diag` is NULL.
byoc_status_t byoc_diag_failure(byoc_diag_t *diag);
// Puts "context: " before the recorded context. Returns `status`.
byoc_status_t byoc_diag_context(byoc_diag_t *diag, byoc_status_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void byoc_diag_hint(byoc_diag_t *diag, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Sets file, line, column and the line itself, cut out of `text` at `offset` bytes.
void byoc_diag_locate(byoc_diag_t *diag, const char *file, const char *text, size_t offset);
// Records the whole error of another diagnostic, context and hint included, and returns its status.
byoc_status_t byoc_diag_adopt(byoc_diag_t *diag, const byoc_diag_t *other);
void byoc_diag_clear(byoc_diag_t *diag);

// Prints "file:line:column: error: context: message", the line, a caret and "hint: ...". Without a file (for a string
// of the command line) only the caret shows the position.
void byoc_diag_print(const byoc_diag_t *diag, FILE *stream);
// The same without the position, on one line, cut at `size`.
void byoc_diag_format(const byoc_diag_t *diag, char *buffer, size_t size);

// The entry of `names` nearest to `word` by edit distance; NULL if none is near enough.
const char *byoc_nearest_match(const char *word, const char *const *names, size_t count);

#define BYOC_RETURN_IF_ERROR(expr)                                                                                     \
  do {                                                                                                                 \
    byoc_status_t byoc_status_ = (expr);                                                                               \
    if (byoc_status_ != BYOC_OK) return byoc_status_;                                                                  \
  } while (0)

// As above, adding context: BYOC_RETURN_IF_ERROR_IN(diag, expr, "folding %s", name).
#define BYOC_RETURN_IF_ERROR_IN(diag, expr, ...)                                                                       \
  do {                                                                                                                 \
    byoc_status_t byoc_status_ = (expr);                                                                               \
    if (byoc_status_ != BYOC_OK) return byoc_diag_context((diag), byoc_status_, __VA_ARGS__);                          \
  } while (0)

#endif // BYOC_CORE_BASE_DIAG_H_

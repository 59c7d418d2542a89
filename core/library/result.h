// SPDX-License-Identifier: Apache-2.0
// The result of a call of libbyoc while it is being made: diagnostics come from any thread that works for the call,
// strings and bytes at its end. Internal to core/library.
#ifndef BYOC_CORE_LIBRARY_RESULT_H_
#define BYOC_CORE_LIBRARY_RESULT_H_

#include <pthread.h>

#include "byoc/compiler.h"
#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/log.h"
#include "core/base/vector.h"

typedef struct byoc_result_t {
  byoc_compiler_result_t shown; // the public part; the first field
  byoc_arena_t arena;           // of its strings
  BYOC_VECTOR(const byoc_compiler_diagnostic_t *) diagnostics;
  pthread_mutex_t lock; // of the fields above, and of the caller's callbacks
  void *self;
  void (*heard)(void *self, const byoc_compiler_diagnostic_t *diagnostic); // NULL: there is no callback
  char *artifact;                                                          // its bytes, of the system's allocator
} byoc_result_t;

// NULL if out of memory.
byoc_result_t *byoc_result_create(void);
void byoc_result_destroy(byoc_result_t *result); // accepts NULL

// Adds a line of the log. One for which there is no memory is dropped.
void byoc_result_add_line(byoc_result_t *result, byoc_log_level_t level, const char *message);
// Adds the error with which the call ends, and notes its status. False if out of memory.
bool byoc_result_add_error(byoc_result_t *result, const byoc_diag_t *diag);

#endif // BYOC_CORE_LIBRARY_RESULT_H_

// SPDX-License-Identifier: Apache-2.0
// error.h - how the engine's parts report a failure: a status, and one message in a buffer that travels along.
#ifndef BYOC_DNNL_ERROR_H_
#define BYOC_DNNL_ERROR_H_

#include <stdint.h>

#include "byoc/status.h"

// As long as byoc_runtime_t.set_error keeps.
typedef struct byoc_dnnl_error_t {
  char text[512];
} byoc_dnnl_error_t;

// Records the message (cut off if it is too long) and returns `status`, so that a caller writes
// return byoc_dnnl_fail(error, BYOC_INVALID_DATA, "...").
int32_t byoc_dnnl_fail(byoc_dnnl_error_t *error, int32_t status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif // BYOC_DNNL_ERROR_H_

// SPDX-License-Identifier: Apache-2.0
// Turns errno values into statuses and messages.
#define _GNU_SOURCE
#include "core/base/system_error.h"

#include <errno.h>
#include <string.h>

static byoc_status_t status_of(int error) {
  switch (error) {
  case ENOENT:
  case ENOTDIR:
    return BYOC_NOT_FOUND;
  case EACCES:
  case EPERM:
  case EROFS:
    return BYOC_PERMISSION;
  case EEXIST:
    return BYOC_ALREADY_EXISTS;
  case ENOMEM:
    return BYOC_OUT_OF_MEMORY;
  default:
    return BYOC_IO;
  }
}

byoc_status_t byoc_diag_system_error(byoc_diag_t *diag, int error, const char *verb, const char *path) {
  char buffer[128];
  // GNU's strerror_r returns a text that other threads do not change.
  byoc_status_t status = byoc_diag_error(diag, status_of(error), "cannot %s '%s': %s", verb, path,
                                         strerror_r(error, buffer, sizeof(buffer)));
  if (error == ENOSPC || error == EDQUOT) byoc_diag_hint(diag, "free some space, or write to another file system");
  if (error == EROFS) byoc_diag_hint(diag, "the file system is mounted read-only; write somewhere else");
  return status;
}

// SPDX-License-Identifier: Apache-2.0
// Contains the code of plugins and artifacts in the process of the command.
#include "contain.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/foreign.h"
#include "core/base/jobs.h"

enum { HOOK_TIMEOUT_S = 300, MAX_HOOK_TIMEOUT_S = 1000000 };

byoc_status_t byoc_contain(byoc_diag_t *diag) {
  const char *text = getenv("BYOC_HOOK_TIMEOUT");
  long long limit_s = HOOK_TIMEOUT_S;
  if (text != NULL && text[0] != '\0') {
    char *end = NULL;
    errno = 0;
    limit_s = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0' || limit_s < 0 || limit_s > MAX_HOOK_TIMEOUT_S) {
      return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT,
                             "BYOC_HOOK_TIMEOUT is '%s', which is not a number of seconds from 0 to %d", text,
                             MAX_HOOK_TIMEOUT_S);
    }
  }
  byoc_foreign_contain(limit_s);
  int32_t jobs = 0;
  return byoc_jobs_read(diag, &jobs);
}

// SPDX-License-Identifier: Apache-2.0
// Reads how many jobs of a build run at once.
#include "core/base/jobs.h"

#include <stdlib.h>
#include <string.h>

#include "core/runtime/processors.h"

byoc_status_t byoc_jobs_read(byoc_diag_t *diag, int32_t *out_count) {
  enum { MOST = 1024 };
  const char *text = getenv("BYOC_JOBS");
  *out_count = byoc_model_processor_count();
  if (text == NULL || text[0] == '\0') return BYOC_OK;
  const size_t digits = strspn(text, "0123456789");
  const long count = digits > 0 && digits < 6 && text[digits] == '\0' ? strtol(text, NULL, 10) : 0;
  if (count < 1 || count > MOST) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "BYOC_JOBS is '%s', which is not a number from 1 to %d", text,
                           MOST);
  }
  *out_count = (int32_t)count;
  return BYOC_OK;
}

int32_t byoc_job_count(void) {
  int32_t count = 1;
  byoc_diag_t ignored = {0}; // the command has refused a wrong one
  (void)byoc_jobs_read(&ignored, &count);
  return count;
}

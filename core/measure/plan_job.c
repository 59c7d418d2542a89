// SPDX-License-Identifier: Apache-2.0
// One build in a child process, which answers with a status and a message.
#define _GNU_SOURCE
#include "core/measure/plan_job.h"

#include <stdio.h>
#include <stdlib.h>

static void build_body(void *self, void *answer) {
  const byoc_plan_job_t *job = self;
  byoc_plan_answer_t *out = answer;
  byoc_diag_t diag = {0};
  const bool has_folder = setenv("TMPDIR", job->folder, 1) == 0;
  out->status = has_folder ? job->build(&job->plan, &diag) : byoc_diag_out_of_memory(&diag);
  if (out->status != BYOC_OK) snprintf(out->message, sizeof(out->message), "%s", diag.message);
}

byoc_status_t byoc_plan_job_start(byoc_plan_job_t *job, uint32_t timeout_ms, byoc_diag_t *diag) {
  const byoc_child_limits_t limits = {.timeout_ms = timeout_ms, .contains_foreign = true};
  return byoc_child_start(&limits, build_body, job, &job->answer, sizeof(job->answer), diag, &job->child);
}

byoc_status_t byoc_plan_job_wait(byoc_plan_job_t *job, byoc_diag_t *diag) {
  BYOC_RETURN_IF_ERROR(byoc_child_wait(&job->child, diag));
  job->answer.message[sizeof(job->answer.message) - 1] = '\0';
  if (job->answer.status == BYOC_OK) return BYOC_OK;
  return byoc_diag_error(diag, job->answer.status, "%s", job->answer.message);
}

// SPDX-License-Identifier: Apache-2.0
// The part of measuring that runs in the child process. Internal to core/measure.
#ifndef BYOC_CORE_MEASURE_PACKED_CHILD_H_
#define BYOC_CORE_MEASURE_PACKED_CHILD_H_

#include "byoc/call.h"

// The job of the child; prepared by the parent, shared by fork.
typedef struct byoc_measure_job_t {
  const char
      *library; // defines the table of addresses: the function, and the thread pool's functions if threads are wanted
  byoc_call_t call;
  int32_t thread_count;
  int64_t limit_ns; // the job stays well within this
} byoc_measure_job_t;

// Its answer.
typedef struct byoc_measure_result_t {
  int32_t status;
  int32_t reserved;
  double median_ns;
  char message[512];
} byoc_measure_result_t;

// Loads, warms up, measures: the body of byoc_child_run, on a byoc_measure_job_t and a byoc_measure_result_t.
void byoc_measure_child(void *self, void *answer);

#endif // BYOC_CORE_MEASURE_PACKED_CHILD_H_

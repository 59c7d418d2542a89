// SPDX-License-Identifier: Apache-2.0
// What functions of backends show of themselves in a run: steps and counters for a profile, tensors for a trace
// (byoc_runtime_t in byoc/call.h). Artifacts and the evaluator share it.
//
// What a function reports is checked here. The first report that cannot be shown is kept, and ends the run.
#ifndef BYOC_CORE_RUNTIME_REPORT_H_
#define BYOC_CORE_RUNTIME_REPORT_H_

#include "byoc/artifact.h"
#include "byoc/call.h"
#include "core/runtime/trace.h"

typedef struct byoc_reporter_t {
  byoc_profile_sink_t profile; // of this run; NULL: it is not profiled
  void *profile_argument;
  byoc_counter_sink_t counter; // of the context; NULL: nobody wants counters
  void *counter_argument;
  const byoc_observer_t *observer; // of this run; NULL: none
  const byoc_trace_row_t *row;     // of the instruction that runs, in a traced run
  const char *function;            // that runs; NULL: not known
  uint32_t count;                  // of reports in this run
  char reason[320];                // why a report cannot be shown; "": all can
} byoc_reporter_t;

// A run begins. What it wants stays.
void byoc_reporter_begin(byoc_reporter_t *reporter);
// BYOC_OK, or BYOC_INVALID_DATA if a report of the run could not be shown: `reason` has why.
int32_t byoc_reporter_status(const byoc_reporter_t *reporter);

// The functions of byoc_runtime_t.
uint32_t byoc_reporter_wanted(const byoc_reporter_t *reporter);
int32_t byoc_reporter_step(byoc_reporter_t *reporter, const char *name, uint64_t duration_ns);
int32_t byoc_reporter_counter(byoc_reporter_t *reporter, const char *name, const char *unit, double value);
int32_t byoc_reporter_tensor(byoc_reporter_t *reporter, const char *name, const DLTensor *tensor);

#endif // BYOC_CORE_RUNTIME_REPORT_H_

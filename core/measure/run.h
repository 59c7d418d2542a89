// SPDX-License-Identifier: Apache-2.0
// Runs whole artifacts in a child process and times them against each other. Internal to core/measure.
#ifndef BYOC_CORE_MEASURE_RUN_H_
#define BYOC_CORE_MEASURE_RUN_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BYOC_COST_RUN_MAX = 16 };

typedef struct byoc_cost_run_t {
  const char *artifacts[BYOC_COST_RUN_MAX]; // of one model
  size_t artifact_count;
  bool once; // run each just once, to see whether it works
  int32_t thread_count;
  int64_t budget_ns; // for the samples of one artifact
  int64_t limit_ns;  // for all artifacts: beyond it each gets only two samples
} byoc_cost_run_t;

typedef struct byoc_cost_run_answer_t {
  int32_t status;
  int32_t reserved;
  // Times: the first artifact's is its median; the others' are that times the median of their ratio to it, round by
  // round, because other load slows down both. With one thread, processor time is used if the artifacts keep the
  // processor busy: beside other work it is the better measure.
  double median_ns[BYOC_COST_RUN_MAX];
  double error; // relative standard error of those ratios (the middle artifact's); 0 with one artifact
  char message[480];
} byoc_cost_run_answer_t;

// The body of byoc_child_run, on a byoc_cost_run_t and a byoc_cost_run_answer_t. Inputs are byoc_measure_fill's.
void byoc_cost_run(void *self, void *answer);

#endif // BYOC_CORE_MEASURE_RUN_H_

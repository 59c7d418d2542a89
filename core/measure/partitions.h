// SPDX-License-Identifier: Apache-2.0
// Running artifacts of several parts in a child process: check, then time each part by itself. Internal to
// core/measure.
//
// A time is that of one call of the part as the model would make it. Between two calls of a part at least `cold_bytes`
// of other data go through the caches (first the other parts' data, then a walk over memory for the rest), so that its
// weights are where a model of that size would find them. The memory for its results was last used a while ago, and its
// inputs were just written.
//
// What a part does on a device is timed by the device's own time stamps: the host's processor only waits for it, or
// does something else. A device whose stamps are all zero is timed by the clock, from outside.
//
// Parts report into memory shared with the parent: if the process dies, the parent knows the part that ended it and the
// earlier times.
#ifndef BYOC_CORE_MEASURE_PARTITIONS_H_
#define BYOC_CORE_MEASURE_PARTITIONS_H_

#include <stdbool.h>
#include <stddef.h>

#include "core/measure/candidate.h"
#include "core/measure/special_values.h"

enum { BYOC_COST_ARTIFACTS_MAX = 4 };

typedef struct byoc_cost_partition_t {
  uint32_t input_count, output_count;
  uint64_t bytes;                // bytes that a call touches
  const char *expect;            // file with the results to compare with; NULL: not checked
  double relative_error;         // the error that the target states for floats: byoc_target_relative_error
  const char *record;            // file to write the results to; NULL: none
  byoc_special_values_t special; // how it is compared on special values, and whether such results are recorded
  uint32_t limit_ms;             // for one call; 0: only the limit of the process
  bool is_left_out;              // its backend declined it, so other code runs in its place
} byoc_cost_partition_t;

typedef struct byoc_cost_artifact_t {
  const char *path;
  size_t partition_count;
  byoc_cost_partition_t partitions[BYOC_COST_PARTITIONS_MAX];
  uint32_t step_count, host_steps;     // the steps behind these are commands of devices
  uint8_t owners[BYOC_COST_STEPS_MAX]; // byoc_cost_build_answer_t's
} byoc_cost_artifact_t;

typedef struct byoc_cost_outcome_t {
  int32_t status; // BYOC_MISMATCH: the results differ from the expected ones
  int32_t reserved;
  double median_ns;
  char message[240];
} byoc_cost_outcome_t;

// Shared by parent and child.
typedef struct byoc_cost_board_t {
  volatile int32_t artifact, partition; // those running now; negative: none
  byoc_cost_outcome_t outcomes[BYOC_COST_ARTIFACTS_MAX][BYOC_COST_PARTITIONS_MAX];
} byoc_cost_board_t;

typedef struct byoc_cost_partitions_t {
  const byoc_cost_artifact_t *artifacts[BYOC_COST_ARTIFACTS_MAX]; // timed in turns
  size_t artifact_count;
  bool once;       // only check and record
  bool is_checked; // the results were checked earlier
  int32_t thread_count;
  uint64_t cold_bytes;
  int64_t limit_ns; // the job stays well within this
  byoc_cost_board_t *board;
} byoc_cost_partitions_t;

typedef struct byoc_cost_partitions_answer_t {
  int32_t status;
  char message[480];
} byoc_cost_partitions_answer_t;

// The body of byoc_child_run, on a byoc_cost_partitions_t and a byoc_cost_partitions_answer_t.
void byoc_cost_run_partitions(void *self, void *answer);

#endif // BYOC_CORE_MEASURE_PARTITIONS_H_

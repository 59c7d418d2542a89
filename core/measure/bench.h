// SPDX-License-Identifier: Apache-2.0
// Builds and runs functions: several of one target at once, in child processes. Internal to core/measure.
#ifndef BYOC_CORE_MEASURE_BENCH_H_
#define BYOC_CORE_MEASURE_BENCH_H_

#include "core/base/child.h"
#include "core/base/map.h"
#include "core/collage/estimate.h"
#include "core/measure/partitions.h"

typedef struct byoc_cost_bench_t {
  byoc_allocator_t allocator;
  byoc_candidate_builder_t build;
  const byoc_target_t *native;
  int32_t thread_count;
  uint32_t build_timeout_ms, run_timeout_ms;
  uint64_t memory_limit_bytes; // of a child, beyond what this process has mapped
  uint64_t cold_bytes;         // see partitions.h
  byoc_arena_t arena;          // lives as long as the bench
  char *folder;
  byoc_map_t references; // structural hash → path of the results; NULL if there are none
  byoc_map_t built;      // operators and signature → the fastest artifact so far
  uint64_t kept_bytes, file_count;
  double *code_mib;         // by target: the least of its artifacts, weights apart; 0: none was built
  byoc_cost_board_t *board; // shared with children
  bool is_confined;         // this process has limits (ulimit) at which sound code fails too
} byoc_cost_bench_t;

// The caller fills in the settings first.
byoc_status_t byoc_cost_bench_init(byoc_cost_bench_t *bench, byoc_diag_t *diag);
void byoc_cost_bench_deinit(byoc_cost_bench_t *bench); // accepts one that is all zeros

typedef struct byoc_cost_task_t {
  const byoc_function_t *function;
  const byoc_target_t *target;
  const char *computes; // tasks with equal strings may be compared with each other
  byoc_work_t work;
  double cost_ns;         // the answer; INFINITY if it cannot be used,
  const char *reason;     // and why, in `scratch`
  bool is_fallback;       // because the backend declined it
  bool is_wrong;          // it computed something else, at least once
  bool is_compared;       // there was a reference
  uint32_t failure_count; // how often it failed by itself
  bool is_lasting;        // the answer may be remembered (core/measure/batch.h)
} byoc_cost_task_t;

// A fresh path in the bench's folder, in the long-lived arena.
const char *byoc_cost_bench_path(byoc_cost_bench_t *bench, const char *ending);
// A build in a child. The caller sets `function`s, `results`, `target`, `output` and `in_haste`.
typedef struct byoc_cost_building_t {
  byoc_cost_build_t build;
  byoc_cost_build_answer_t answer;
  byoc_child_t child;
  byoc_status_t status;
  bool failed_by_itself; // it crashed, hung or exited; returning a status does not count
  byoc_diag_t why;       // why it could not be built
  int64_t start_ns;
} byoc_cost_building_t;
// Each build that was started must be finished; the status is that of the build.
void byoc_cost_bench_start(byoc_cost_bench_t *bench, byoc_cost_building_t *building);
byoc_status_t byoc_cost_bench_finish(byoc_cost_building_t *building);
// Runs artifacts in a child, with time for these tasks.
byoc_status_t byoc_cost_bench_run(byoc_cost_bench_t *bench, byoc_cost_partitions_t *partitions,
                                  byoc_cost_task_t *const *tasks, size_t count, byoc_diag_t *why);
// An artifact of these tasks that was built at `path`; NULL when out of memory.
byoc_cost_artifact_t *byoc_cost_bench_artifact(byoc_cost_bench_t *bench, byoc_cost_task_t *const *tasks, size_t count,
                                               const char *path, const byoc_cost_build_answer_t *answer);

#endif // BYOC_CORE_MEASURE_BENCH_H_

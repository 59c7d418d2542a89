// SPDX-License-Identifier: Apache-2.0
// Costs by measuring: functions go through the pipeline of every model, with targets "<their target>; c", into
// artifacts of their own, and these are checked and timed.
//
// Functions of one target that are measured together share one artifact: one run of the backend's hook, one link, one
// child process to time them. Each step runs in a child process with a limit of time and memory: building (the
// backend's hook included), computing the reference, and running. The results of the first run are compared with the
// reference: the same function by the native target, evaluated, or compiled if evaluating would be slow. Then the cost
// is the median of many rounds. A crash, a hang, a failing status, a wrong result and a refusal to generate each cost
// INFINITY with the reason; the other functions are measured without that one. Answers go into the database; infinite
// ones only if the candidate itself is the reason, seen twice (core/measure/batch.h). The native target costs INFINITY
// only if its result is wrong, which is not remembered; if it cannot be measured, it is estimated. Builds that measure
// at the same time take turns in timing (a lock in the cache folder).
//
// A cost is the time of one call in a model of `model_bytes`: weights are as far from the processor as a run of that
// model leaves them, inputs were just written (core/measure/partitions.h). If another target's artifact for the same
// function is about as fast, both are timed once more in turns, and the difference counts.
//
// Functions with symbolic dimensions, sequences, optionals or strings are not measured but estimated
// (core/collage/estimate.h). Random operators are not checked, and neither are large functions of the native target,
// which is the reference itself.
#ifndef BYOC_CORE_MEASURE_COSTS_H_
#define BYOC_CORE_MEASURE_COSTS_H_

#include "core/collage/cost.h"
#include "core/collage/cost_database.h"
#include "core/measure/candidate.h"

typedef struct byoc_cost_measure_options_t {
  byoc_candidate_builder_t build;    // byoc_build_candidates
  const byoc_target_list_t *targets; // of the build, "c" last; outlives the measurer
  byoc_cost_database_t *database;    // outlives the measurer; NULL: nothing is remembered
  int32_t thread_count;              // threads of the contexts that are timed; 0: 1
  uint32_t build_timeout_ms;         // 0: 300000 (a backend may tune)
  uint32_t run_timeout_ms;           // 0: 10000; plus ten seconds per billion operations
  uint64_t memory_limit_bytes;       // of a child, beyond what this process has mapped; 0: 8 GiB
  uint64_t model_bytes;              // bytes that a run of the model touches; rounded to a power of two for the key
} byoc_cost_measure_options_t;

// For progress and --verbose.
typedef struct byoc_cost_statistics_t {
  uint64_t measured;  // built and timed, or found unusable
  uint64_t unusable;  // the unusable ones among them
  uint64_t hits;      // answered by the database
  uint64_t estimated; // neither measured nor in the database
  int64_t measuring_ns;
} byoc_cost_statistics_t;

typedef struct byoc_cost_measurer_t byoc_cost_measurer_t;
// BYOC_NOT_FOUND, with what to do, if there is no C compiler.
byoc_status_t byoc_cost_measurer_create(const byoc_cost_measure_options_t *options, byoc_allocator_t allocator,
                                        byoc_diag_t *diag, byoc_cost_measurer_t **out_measurer);
void byoc_cost_measurer_destroy(byoc_cost_measurer_t *measurer); // accepts NULL
// The measurer must outlive the pricer.
byoc_function_pricer_t byoc_cost_measurer_pricer(byoc_cost_measurer_t *measurer);
byoc_cost_statistics_t byoc_cost_measurer_statistics(const byoc_cost_measurer_t *measurer);

#endif // BYOC_CORE_MEASURE_COSTS_H_

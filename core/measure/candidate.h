// SPDX-License-Identifier: Apache-2.0
// Candidates for measuring: functions of one target, built into one artifact. Internal to core/measure and
// core/compile.
//
// Several functions ("parts") of one target become one artifact: its main function calls them in turn, each on inputs
// of its own. The backend's hook, the compiler and the linker then run once for all of them.
//
// Candidates go through the pipeline of every model. The code of that pipeline is in a layer above this one, because
// backends measure while they tune. So the caller passes a builder in (byoc_candidate_builder_t, in
// core/compile/candidates.h).
#ifndef BYOC_CORE_MEASURE_CANDIDATE_H_
#define BYOC_CORE_MEASURE_CANDIDATE_H_

#include "core/device/cost.h"
#include "core/ir/graph.h"
#include "core/measure/special_values.h"
#include "core/targets/target.h"

enum { BYOC_COST_PARTITIONS_MAX = 32, BYOC_COST_STEPS_MAX = 4096 };

typedef struct byoc_cost_build_t {
  const byoc_function_t *functions[BYOC_COST_PARTITIONS_MAX]; // of one module
  size_t count;
  const byoc_target_t *target;
  const byoc_target_t *native; // "c"; may be `target`
  int32_t thread_count;
  bool is_for_device; // nothing is run or composed: the device of the target is measured
  bool in_haste;      // compile fast: they run once
  const char *folder; // where temporary files may be left: the parent removes it
  const char *output; // the artifact; NULL: run them by the evaluator, on the data of byoc_measure_fill
  const char *results[BYOC_COST_PARTITIONS_MAX];           // files for the evaluator's results, by part
  byoc_special_values_t special[BYOC_COST_PARTITIONS_MAX]; // by part: whether and how it is compared on special values
  bool compares; // the files hold results of another target: the evaluator computes some of them, and they are compared
  double relative_error; // of that target
  uint32_t run_limit_s;  // an evaluation that runs longer ends the process by SIGALRM; 0: never
} byoc_cost_build_t;

typedef struct byoc_cost_build_answer_t {
  int32_t status;
  bool was_built;             // its build succeeded, and its run failed
  byoc_device_costs_t device; // of is_for_device, and its identity
  char device_identity[BYOC_DEVICE_IDENTITY_SIZE];
  double code_mib;     // of the artifact, without the constants of its functions
  uint32_t step_count; // steps that the artifact's profile entry reports
  uint32_t host_steps; // of these, the first ones: the others are commands of devices
  char message[1000];
  struct {
    bool is_fallback; // the backend declined it
    char reason[200]; // why the backend declined it, or the difference
    bool is_wrong;    // of `compares`
  } partitions[BYOC_COST_PARTITIONS_MAX];
  // For each step the part that it belongs to, in the order of the profile: commands of devices come last. Copies
  // belong to no part: operands are on the part's device.
  uint8_t owners[BYOC_COST_STEPS_MAX];
} byoc_cost_build_answer_t;

// The body of byoc_child_run that builds, on a byoc_cost_build_t and a byoc_cost_build_answer_t. It runs in a child
// process, where the functions' module is a copy, so it may take the module apart.
typedef void (*byoc_candidate_builder_t)(void *self, void *answer);

// True if the function can be run on generated data: its shapes are known, and there are no strings.
bool byoc_cost_can_be_run(const byoc_function_t *function);

#endif // BYOC_CORE_MEASURE_CANDIDATE_H_

// SPDX-License-Identifier: Apache-2.0
// What is measured: functions of one target, built into one artifact. Internal to core/measure and core/compile.
//
// Several functions ("parts") of one target become one artifact: its main function calls them in turn, each on inputs
// of its own. The backend's hook, the compiler and the linker then run once for all of them.
//
// Candidates travel the road of every model, and the code of that road stands above this room, because backends measure
// while they tune. So whoever asks for costs passes the builder in (byoc_candidate_builder_t, in
// core/compile/candidates.h).
#ifndef BYOC_CORE_MEASURE_CANDIDATE_H_
#define BYOC_CORE_MEASURE_CANDIDATE_H_

#include "core/device/cost.h"
#include "core/ir/graph.h"
#include "core/measure/wild.h"
#include "core/targets/target.h"

enum { BYOC_COST_PARTS_MAX = 32, BYOC_COST_STEPS_MAX = 4096 };

typedef struct byoc_cost_build_t {
  const byoc_function_t *functions[BYOC_COST_PARTS_MAX]; // of one module
  size_t count;
  const byoc_target_t *target;
  const byoc_target_t *native; // "c"; may be `target`
  int32_t thread_count;
  bool is_for_device; // nothing is run or composed: the device of the target is measured
  bool in_haste;      // compile fast: they run once
  const char *folder; // where temporary files may be left: the parent removes it
  const char *output; // the artifact; NULL: run them by the evaluator, on the data of byoc_measure_fill
  const char *results[BYOC_COST_PARTS_MAX]; // files for what the evaluator computed, by part
  byoc_wild_t wild[BYOC_COST_PARTS_MAX];    // by part: whether and how on wild data too
  bool
      compares; // the files hold what another target computed: the evaluator computes some of it, and they are compared
  double relative_error; // of that target
  uint32_t run_limit_s;  // what is evaluated ends the process with SIGALRM if it runs longer; 0: never
} byoc_cost_build_t;

typedef struct byoc_cost_build_answer_t {
  int32_t status;
  bool was_built;             // what failed is not its making but its run
  byoc_device_costs_t device; // of is_for_device, and what it is
  char device_identity[BYOC_DEVICE_IDENTITY_SIZE];
  double code_mib;     // of the artifact, without the constants of its functions
  uint32_t step_count; // steps that the artifact's profile entry reports
  char message[1000];
  struct {
    bool is_given_back; // the backend gave it back
    char reason[200];   // why it gave it back, or what is wrong
    bool is_wrong;      // of `compares`
  } parts[BYOC_COST_PARTS_MAX];
  // For each step the part that it belongs to, in the order of the profile: commands of devices come last. Copies
  // belong to nobody: operands are where the part wants them.
  uint8_t owners[BYOC_COST_STEPS_MAX];
} byoc_cost_build_answer_t;

// The body of byoc_child_run that builds, on a byoc_cost_build_t and a byoc_cost_build_answer_t. It runs in a child
// process, where the functions' module is a copy, so it may take the module apart.
typedef void (*byoc_candidate_builder_t)(void *self, void *answer);

// True if the function can be run on made-up data: its shapes are known, and there are no strings.
bool byoc_cost_can_be_run(const byoc_function_t *function);

#endif // BYOC_CORE_MEASURE_CANDIDATE_H_

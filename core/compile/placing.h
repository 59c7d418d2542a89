// SPDX-License-Identifier: Apache-2.0
// The placer that a build asks for: greedy, collage with costs measured or estimated, or a saved plan.
//
// Example:
//   byoc_placing_t placing = {.plan = "collage", .cost = BYOC_COST_MEASURE, .budget_s = BYOC_COST_BUDGET_S};
//   byoc_build_options_t options = {.targets = targets, .placer = byoc_placing_placer(&placing)};
//
// A thin layer above building (core/compile/build.h) and measuring, which builds its candidates by the former.
#ifndef BYOC_CORE_COMPILE_PLACING_H_
#define BYOC_CORE_COMPILE_PLACING_H_

#include "core/collage/place.h"
#include "core/measure/samples.h"

// Seconds for measuring parts and whole plans together. With this budget a ResNet-50 with four targets is built from an
// empty cache in well under two minutes.
#define BYOC_COST_BUDGET_S 60.0
// The same with an error budget: there are several times as many candidates, and errors are measured, too.
#define BYOC_ERROR_COST_BUDGET_S (3 * BYOC_COST_BUDGET_S)

enum { BYOC_COLLAGE_LIMIT = 64 };

typedef enum byoc_cost_kind_t {
  BYOC_COST_MEASURE,
  BYOC_COST_ESTIMATE, // by the analytic model; no child processes
} byoc_cost_kind_t;

enum { BYOC_THREAD_LIST_MAX = 8 };
// Numbers of threads, rising, each at least 1.
typedef struct byoc_thread_list_t {
  int32_t counts[BYOC_THREAD_LIST_MAX];
  size_t count;
} byoc_thread_list_t;

typedef struct byoc_placing_t {
  const char *plan; // "collage", "greedy", or the path of a saved plan
  byoc_cost_kind_t cost;
  double budget_s;        // shared evenly by the numbers of threads
  uint32_t run_timeout_s; // that a measured run may take, beside ten seconds per billion operations; 0: the default
  bool spend_budget;      // see byoc_collage_options_t
  // The most operators in a group that collage enumerates, and how many of them may wait for each other; 0: the
  // default. Costs grow with these: at most BYOC_COLLAGE_LIMIT.
  uint32_t collage_nodes, collage_depth;
  // Threads that costs are for, one by default. With several numbers, collage and saved plans partition the model for
  // each of them, and a context takes the plan for its threads. Greedy partitioning asks for no costs, and its plan
  // serves them all.
  byoc_thread_list_t threads;
  bool plain_layouts;           // no blocked layouts between regions, even if targets claim them
  double size_price;            // of a MiB, as a share of a plan's time (core/collage/place_collage.h)
  double error;                 // the largest relative error of outputs; 0: there is no error budget
  byoc_error_samples_t samples; // that it is measured on
} byoc_placing_t;

// Reads "1,2,4". `option` is for the message of BYOC_INVALID_ARGUMENT.
byoc_status_t byoc_placing_read_threads(const char *option, const char *text, byoc_diag_t *diag,
                                        byoc_thread_list_t *out_threads);

// The same of numbers.
byoc_status_t byoc_placing_check_threads(const char *option, const int32_t *counts, size_t count, byoc_diag_t *diag,
                                         byoc_thread_list_t *out_threads);

// The placing must outlive the placer.
byoc_placer_t byoc_placing_placer(byoc_placing_t *placing);

#endif // BYOC_CORE_COMPILE_PLACING_H_

// SPDX-License-Identifier: Apache-2.0
// The pipeline from a module as it was read to a planned host program: simplify, partition, generate, mark extern,
// lower, plan. Internal to core/compile: core/compile/build.h is the way to it.
#ifndef BYOC_CORE_COMPILE_PIPELINE_H_
#define BYOC_CORE_COMPILE_PIPELINE_H_

#include "core/collage/place.h"
#include "core/compile/checker.h"
#include "core/compile/variants.h"
#include "core/hostir/verify/in_place.h"
#include "core/pass/pass.h"
#include "core/targets/target.h"

// The last step to run.
typedef enum byoc_build_extent_t {
  BYOC_BUILD_ALL, // to a planned host program
  BYOC_BUILD_SIMPLIFIED,
  BYOC_BUILD_PLACED,
  BYOC_BUILD_GENERATED, // while backends may still decline regions
} byoc_build_extent_t;

// A watcher is called when a step of a build begins ("read", "simplify", "place", "generate", "lower", "compose"), and
// may end the build there: if it returns false, the build ends with BYOC_CANCELLED. It is called on the build's own
// thread.
typedef struct byoc_build_watcher_t {
  void *self;
  bool (*begin)(void *self, const char *step); // NULL: there is no watcher
} byoc_build_watcher_t;
byoc_status_t byoc_build_watcher_begin(const byoc_build_watcher_t *watcher, const char *step, byoc_diag_t *diag);

typedef struct byoc_pipeline_options_t {
  const byoc_target_list_t *targets; // outlives the program
  byoc_pass_options_t passes;        // what to print after which pass; "place" and "generate" are steps, not passes
  byoc_build_extent_t extent;        // below BYOC_BUILD_ALL the module is left there, and there is no program
  byoc_placer_t placer;              // for the first round; place NULL: greedy. Later rounds are greedy
  bool fallback;                     // add plans without devices and engines (core/compile/fallback.h)
  bool is_simplified;                // the module is simplified already: begin with placing
  const byoc_build_watcher_t *watcher;
  const byoc_host_pair_t *pairs; // outputs that may be written over inputs
  size_t pair_count;
  int32_t queue_count;                // queues of each device, for the iterations of loops; 0 and 1: one
  const byoc_variant_dim_t *variants; // dimensions that get several sizes
  size_t variant_count;
  bool as_source;         // the artifact is to be C source
  byoc_checker_t checker; // of regions, before their code is made
} byoc_pipeline_options_t;

// A function that a backend claimed and declined later. Strings live in the plan's arena.
typedef struct byoc_declined_function_t {
  const char *function, *reason;
} byoc_declined_function_t;

typedef struct byoc_pipeline_result_t {
  byoc_placement_t placement;          // functions in it are stubs by now
  byoc_plan_t plan;                    // the regions, and the reasons
  byoc_host_program_t *program;        // NULL if the pipeline ended before it
  byoc_string_t required_cpu_features; // space-separated: features that backends need and that -mcpu of "c" allows
  BYOC_VECTOR(byoc_declined_function_t) declined;
} byoc_pipeline_result_t;
void byoc_pipeline_result_init(byoc_pipeline_result_t *result, byoc_allocator_t allocator);
void byoc_pipeline_result_deinit(byoc_pipeline_result_t *result);

// Runs the pipeline on `module`; it and the targets must outlive the program. The result must be initialised; it is
// filled as far as the pipeline went.
byoc_status_t byoc_pipeline_run(byoc_graph_module_t *module, const byoc_pipeline_options_t *options,
                                byoc_allocator_t allocator, byoc_diag_t *diag, byoc_pipeline_result_t *result);

// The last steps for a host program that was read: result->program is planned, unless it is already, and verified.
byoc_status_t byoc_pipeline_finish(const byoc_pipeline_options_t *options, byoc_diag_t *diag,
                                   byoc_pipeline_result_t *result);

#endif // BYOC_CORE_COMPILE_PIPELINE_H_

// What one outlined function costs on one target: the seam between placement and where costs come from.
//
// A pricer knows nothing of candidates. Two exist: measuring (core/compose/cost_measure.h) and the analytic estimate
// (core/collage/estimate.h). Placement wires them so:
//
//   1. Open the database and make the pricer, once a build; both outlive the search:
//        byoc_cost_database_open(NULL, allocator, diag, &database);
//        byoc_cost_measurer_create(&(byoc_cost_measure_options_t){.targets = targets, .database = database,
//                                  .thread_count = 1}, allocator, diag, &measurer);
//        byoc_function_pricer_t pricer = byoc_cost_measurer_pricer(measurer);
//      or, for --cost=estimate, byoc_estimator_init and byoc_estimator_pricer.
//   2. In byoc_cost_provider_t's `price` (core/collage/candidate.h): outline the candidate's nodes in a scratch clone
//   of
//      the block's function as it will be outlined in the end, composites included (a candidate of the native target:
//      the nodes alone), with constants bound into the body, whatever BYOC_RULE_PASS_CONSTANTS says. Attributes
//      Compiler and Target need not be set: the pricer sets them on a copy of its own. Call pricer.price, copy the
//      reason into the candidate's arena, erase the scratch functions.
//   3. Status BYOC_OK with INFINITY is an answer ("this one cannot be used, because ..."); any other status ends the
//      build. BYOC_NOT_FOUND says that there is no C compiler: the caller may go on with the estimate.
//
// Structurally equal functions (the data of large constants aside) are measured once: the database answers for the
// rest.
#ifndef BYOC_CORE_COLLAGE_COST_H_
#define BYOC_CORE_COLLAGE_COST_H_

#include <math.h>

#include "core/base/diag.h"
#include "core/ir/graph.h"
#include "core/target/target.h"

typedef struct byoc_function_pricer_t {
  void *self;
  // The time of one call of `function`, with its constants, on `target` (of the list that the pricer was made with).
  // INFINITY where it cannot be used there; *out_reason then says why, valid until the next call (NULL otherwise). The
  // function is not changed. One thread at a time.
  byoc_status_t (*price)(void *self, const byoc_function_t *function, const byoc_target_t *target, byoc_diag_t *diag,
                         double *out_ns, const char **out_reason);
} byoc_function_pricer_t;

#endif // BYOC_CORE_COLLAGE_COST_H_

// SPDX-License-Identifier: Apache-2.0
// The cost of one outlined function on one target: the interface between partitioning and the sources of costs.
//
// A pricer knows nothing of candidates. Two exist: measuring (core/measure/costs.h) and the analytic estimate
// (core/collage/estimate.h). The caller outlines a candidate's nodes beside the block, composites included, with
// constants bound into the body (core/collage/outline_regions.h), asks, and erases the function (price_list.h).
//
// Status BYOC_OK with INFINITY is an answer ("this one cannot be used, because ..."); any other status ends the build.
//
// Structurally equal functions (apart from the data of large constants) are measured once: the database answers for the
// others.
#ifndef BYOC_CORE_COLLAGE_COST_H_
#define BYOC_CORE_COLLAGE_COST_H_

#include <math.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/device/cost.h"
#include "core/ir/graph.h"
#include "core/targets/target.h"

// A cost as far as it is known without measuring.
typedef struct byoc_known_price_t {
  const char *id;     // equal ids have one cost; in the given arena; NULL: not known
  double cost_ns;     // NaN: it would have to be measured
  const char *reason; // if cost_ns is INFINITY; in the given arena
  bool is_fallback;   // the reason came from the backend, which declined it
  bool is_estimate;   // from the analytic model, and measuring would not change it
  bool is_stated;     // by the backend (core/collage/stated.h)
} byoc_known_price_t;

typedef struct byoc_price_request_t {
  const byoc_function_t *function;
  const byoc_target_t *target;
  double cost_ns; // answers, as of `price`
  const char *reason;
  bool is_fallback; // the reason came from the backend, which declined it
  bool is_passing;  // the next build may get another cost: not the function failed, but something around it
  bool is_wrong;    // it cannot be used because it computed something else
} byoc_price_request_t;

typedef struct byoc_function_pricer_t {
  void *self;
  // Finds the cost of one call of `function`, with its constants, on `target` (of the list that the pricer was made
  // with). The cost is INFINITY if it cannot be used there; *out_reason then has the reason, valid until the next call
  // (otherwise NULL). The function is not changed. One thread at a time.
  byoc_status_t (*price)(void *self, const byoc_function_t *function, const byoc_target_t *target, byoc_diag_t *diag,
                         double *out_ns, const char **out_reason);
  // Finds the costs of several functions of one module at once, which takes less time than one by one. NULL: `price` is
  // called for each.
  byoc_status_t (*price_all)(void *self, byoc_price_request_t *requests, size_t count, byoc_diag_t *diag);
  // Looks a cost up without measuring. NULL: `price` is cheap, and its results are estimates.
  byoc_status_t (*look_up)(void *self, const byoc_function_t *function, const byoc_target_t *target,
                           byoc_arena_t *arena, byoc_diag_t *diag, byoc_known_price_t *out_price);
  // Measures the device of a target, once: building `function`, which the target may claim, brings its driver.
  // BYOC_NOT_FOUND, BYOC_TOOL and the like say why it could not be measured. NULL: devices are not measured.
  byoc_status_t (*measure_device)(void *self, const byoc_function_t *function, const byoc_target_t *target,
                                  byoc_diag_t *diag, byoc_device_costs_t *out_costs);
  // MiB by which an artifact grows once it has any code of the target (a library that travels along); 0 if less than
  // one, NaN if nothing of the target was built yet. NULL: sizes do not count.
  double (*size_mib)(void *self, const byoc_target_t *target);
  // What backends state comes before these functions. NULL: nothing is stated.
  struct byoc_stated_costs_t *stated;
} byoc_function_pricer_t;

#endif // BYOC_CORE_COLLAGE_COST_H_

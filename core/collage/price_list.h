// SPDX-License-Identifier: Apache-2.0
// Costs of a problem's candidates, as far as they are known. Structurally equal candidates share one cost.
//
// Example:
//   byoc_price_list_t prices;
//   BYOC_RETURN_IF_ERROR(byoc_price_list_init(&prices, problem, targets, pricer, estimator, diag));
//   BYOC_RETURN_IF_ERROR(byoc_price_list_measure(&prices, &candidate, 1, diag)); // one of unknown cost
//   byoc_price_list_set_costs(&prices, BYOC_PRICE_BOUND);                    // into the candidates, for the search
//   byoc_price_list_deinit(&prices);
#ifndef BYOC_CORE_COLLAGE_PRICE_LIST_H_
#define BYOC_CORE_COLLAGE_PRICE_LIST_H_

#include "core/collage/estimate.h"
#include "core/collage/plan.h"
#include "core/collage/problem.h"
#include "core/collage/stated.h"

typedef struct byoc_price_t {
  double cost_ns;  // NaN: not known; INFINITY: cannot be used
  double bound_ns; // a lower bound of its cost
  double estimate_ns;
  const char *reason; // in the candidates' arena
  bool is_fallback;   // the reason came from the backend, which declined it
  bool is_wrong;      // it computed something else
  byoc_cost_source_t source;
  uint32_t target;
  bool has_products;
  double moved_bytes, energy_nj; // stated ones; 0: not known
  bool is_trusted;               // may be used unmeasured when the time for measuring has ended
} byoc_price_t;

typedef struct byoc_price_list_t {
  byoc_problem_t *problem;
  const byoc_target_list_t *targets;
  byoc_function_pricer_t pricer;
  const byoc_estimator_t *estimator;
  byoc_arena_t arena;
  BYOC_VECTOR(byoc_price_t) prices;
  byoc_map_t ids;     // of a cost → its number, from 1
  uint32_t *price_of; // by candidate
  // If a target states costs:
  byoc_stated_figures_t *figures; // by candidate; NaN: nothing is stated, or an equal candidate has the cost
  const char **failures; // by candidate: why it has no cost, which the backend should have stated; NULL: it has
  bool limits_error;     // covers may have errors up to `error_limit` (core/collage/error_budget.h)
  double error_limit;
  size_t priced;   // candidates that have a cost entry
  size_t known;    // costs known at the start: measured or found unusable earlier
  size_t measured; // in this build
  size_t passing;  // measured ones that may differ in the next build
} byoc_price_list_t;

// Outlines every candidate once, beside the block, to get its identity, its bound and its estimate, and looks it up.
// Nodes with nested blocks, and calls, are estimated for the native target: no other target claims them.
byoc_status_t byoc_price_list_init(byoc_price_list_t *list, byoc_problem_t *problem, const byoc_target_list_t *targets,
                                   byoc_function_pricer_t pricer, const byoc_estimator_t *estimator, byoc_diag_t *diag);
void byoc_price_list_deinit(byoc_price_list_t *list);
// Adds the candidates that joined the problem since. Targets that state costs are asked for those of all of them first.
byoc_status_t byoc_price_list_extend(byoc_price_list_t *list, byoc_diag_t *diag);
// Looks the costs of targets up again whose statements ended (core/collage/stated.h).
byoc_status_t byoc_price_list_drop_stated(byoc_price_list_t *list, byoc_diag_t *diag);

bool byoc_price_list_knows(const byoc_price_list_t *list, uint32_t candidate);
// Measures those of unknown cost, all at once, and structurally equal ones only once.
byoc_status_t byoc_price_list_measure(byoc_price_list_t *list, const uint32_t *candidates, size_t count,
                                      byoc_diag_t *diag);

// Trusts regions of greedy partitioning whether or not there is time to measure them: they follow the backend's own
// rules.
void byoc_price_list_trust(byoc_price_list_t *list, uint32_t candidate);
bool byoc_price_list_trusts(const byoc_price_list_t *list, uint32_t candidate);

typedef enum byoc_price_mode_t {
  BYOC_PRICE_BOUND,    // an unknown cost is replaced by its bound: the search then finds a lower bound
  BYOC_PRICE_EXPECTED, // by its estimate, corrected by measurements of the same target
  BYOC_PRICE_KNOWN,    // candidates of unknown cost cannot be used, but for the native target's and trusted ones
} byoc_price_mode_t;
void byoc_price_list_set_costs(byoc_price_list_t *list, byoc_price_mode_t mode);

// Sets the costs for the plan: an unknown one stands with its bound. Strings are in the candidates' arena.
byoc_status_t byoc_price_list_settle(byoc_price_list_t *list, byoc_diag_t *diag);

#endif // BYOC_CORE_COLLAGE_PRICE_LIST_H_

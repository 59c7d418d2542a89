// SPDX-License-Identifier: Apache-2.0
// The cheapest cover of a block: disjoint candidates that hold every node, that do not wait for each other in a circle,
// and that cost least, including the cost of passing values from one place to another.
//
// Example:
//   byoc_cover_t cover;
//   byoc_cover_costs_t costs = {.self = &machine, .transition = transition_ns};
//   BYOC_RETURN_IF_ERROR(byoc_cover_search(&flow, candidates.items.data, candidates.items.count, &costs, NULL,
//                                          allocator, diag, &cover));
//   for (uint32_t i = 0; i < cover.count; ++i) outline(candidates.items.data[cover.chosen[i]]);
//   byoc_cover_deinit(&cover);
//
// How it works. Nodes are taken in a topological order. A state is a set of covered nodes, and the next step covers the
// first uncovered node by each candidate that fits. That order is canonical: every cover is reached by exactly one
// path, and the cheapest path to the last node is the cheapest cover. Two states are one if they agree on (1) the first
// uncovered node, (2) the parts of chosen candidates behind it, (3) the places of the covered nodes that uncovered ones
// still read, and the devices that they were copied to, and (4) which of these values depend on a chosen candidate that
// itself still waits for something uncovered (this keeps circles out). So states collapse wherever the graph is narrow:
// at a node that all paths pass through, at most one state per place is left.
//
// A state is dropped, without losing the least cost, if its cost plus an admissible bound of the rest (a dual solution
// of the cover without transitions) reaches the cost of a known plan. It is also dropped if another state is cheaper by
// more than the largest difference of later transitions. If more states are left than the budget allows, the worst are
// dropped, and the least bound among them says how much cheaper the optimum could be: `lower_bound_ns`, `is_proven`.
//
// With a limit on errors, a state also has the sum of its candidates' errors. States that agree in (1) to (4) stay
// apart unless one of them has both the lower cost and the smaller error. The bound then is Lagrange's: errors cost a
// fixed price, the dual solution is one of costs with this price, and the limit is worth so much. It is admissible for
// any price; the one with the highest bound is taken.
#ifndef BYOC_CORE_COLLAGE_COVER_H_
#define BYOC_CORE_COLLAGE_COVER_H_

#include "core/collage/candidate.h"

// Devices of one search.
enum { BYOC_COVER_HOST = 0, BYOC_COVER_DEVICES = 4 };

// A value from around the block, which is in the host's memory.
typedef struct byoc_cover_input_t {
  const uint32_t *readers; // nodes, each once
  uint32_t reader_count;
} byoc_cover_input_t;

typedef struct byoc_cover_costs_t {
  void *self;
  // Returns the nanoseconds to hand the results of `node` from a candidate in place `from_place` to one in `to_place`:
  // copies and conversions, by bytes. They are paid once for each candidate that reads the node, and must be at least 0
  // and finite. The function is called once for each triple before the search, equal places included. NULL: all
  // transitions cost nothing.
  double (*transition)(void *self, uint32_t node, uint32_t from_place, uint32_t to_place);
  // Copies between devices, which come on top: one for each value and each other device with a reader of it,
  // independent of the number of readers, and one to the host for results of the block. They cost nanoseconds, at least
  // 0 and finite. 0 or 1 devices: there are none, and the rest is not read.
  uint32_t device_count;                          // at most BYOC_COVER_DEVICES
  uint32_t (*device)(void *self, uint32_t place); // on which a place is
  double (*copy)(void *self, uint32_t node, uint32_t from_device, uint32_t to_device);
  double (*input_copy)(void *self, uint32_t input, uint32_t to_device);
  const byoc_cover_input_t *inputs;
  uint32_t input_count;
} byoc_cover_costs_t;

typedef struct byoc_cover_options_t {
  // The budget of work, in states (a state of a wide graph counts as several); 0: 2,000,000, which take about two
  // seconds at most. It is a count and not a time, so that equal inputs give equal plans.
  uint64_t state_budget;
  bool keep_all_candidates; // do not drop dominated candidates first (they change the work, never the cost)
  bool no_dominance;        // do not drop dominated states
  bool limits_error;        // the sum of the candidates' errors must be at most `error_limit`
  double error_limit;       // 0: without candidates of inexact targets
} byoc_cover_options_t;

// The result of the search.
typedef struct byoc_cover_t {
  byoc_allocator_t allocator;
  uint32_t *chosen; // indices into the candidates, in an order in which they can run
  uint32_t count;
  double cost_ns; // candidates and transitions
  double transition_ns;
  double error;          // the sum of the candidates'
  double lower_bound_ns; // no cover costs less than this
  bool is_proven;        // cost_ns is the least (within 1e-9 of it)
  uint64_t state_count;  // number of states made
  uint32_t peak_states;  // the largest number of states at one node
} byoc_cover_t;

// BYOC_NOT_FOUND: every cover costs infinity; the message names the nodes that no finite candidate holds, with the
// reasons. BYOC_MISMATCH: the same, and the code of a candidate for such a node computed something else.
// BYOC_UNSUPPORTED: there may be a cover, but none was found within the budget (this cannot happen if every node has a
// finite candidate of its own). BYOC_INVALID_ARGUMENT: a cost is negative or missing, or there are more than 250
// places. Candidates must not be NULL. Among equal costs lower target indices win, then fewer candidates.
byoc_status_t byoc_cover_search(const byoc_dataflow_t *flow, byoc_candidate_t *const *candidates,
                                size_t candidate_count, const byoc_cover_costs_t *costs,
                                const byoc_cover_options_t *options, byoc_allocator_t allocator, byoc_diag_t *diag,
                                byoc_cover_t *out_cover);
void byoc_cover_deinit(byoc_cover_t *cover);

// Computes the cost of these candidates together, transitions included, and checks that they are a cover:
// BYOC_INVALID_DATA if a node is missing or held twice, or if the candidates wait for each other in a circle. `chosen`
// is brought into an order in which they can run. Used for replayed plans and for the search's own last check.
byoc_status_t byoc_cover_evaluate(const byoc_dataflow_t *flow, byoc_candidate_t *const *candidates, uint32_t *chosen,
                                  uint32_t count, const byoc_cover_costs_t *costs, byoc_allocator_t allocator,
                                  byoc_diag_t *diag, double *out_cost_ns, double *out_transition_ns);

#endif // BYOC_CORE_COLLAGE_COVER_H_

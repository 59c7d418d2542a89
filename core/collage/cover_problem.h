// SPDX-License-Identifier: Apache-2.0
// The cover search's own view of its input: nodes by position in the search's order, candidates by their first node,
// costs in tables. Private to core/collage/cover*.c.
#ifndef BYOC_CORE_COLLAGE_COVER_PROBLEM_H_
#define BYOC_CORE_COLLAGE_COVER_PROBLEM_H_

#include <math.h>

#include "core/collage/cover.h"

#define BYOC_COVER_NONE     UINT32_MAX
#define BYOC_COVER_NO_PLACE 0xff

// Costs that differ by less than this share are equal: the rounding of a sum depends on the order of its terms.
#define BYOC_COVER_EPSILON 1e-12

// A candidate that takes part in the search.
typedef struct byoc_cover_item_t {
  const uint32_t *nodes; // positions, rising
  uint32_t count;
  uint32_t source; // index among the caller's candidates
  uint32_t rest;   // its nodes behind the first one, as a tail
  uint8_t place;
  double cost, error;
  double weight; // cost, and error by its price
  uint64_t rank; // preference among equal costs: the lower the better
} byoc_cover_item_t;

// The nodes of a candidate from some position on, and its place: a list, shared by all candidates that end alike.
// `node` is BYOC_COVER_NONE at its end.
typedef struct byoc_cover_tail_t {
  uint32_t node, next, last;
  uint8_t place;
} byoc_cover_tail_t;

typedef struct byoc_cover_problem_t {
  byoc_allocator_t allocator;
  byoc_arena_t arena;
  const byoc_dataflow_t *flow;
  uint32_t node_count;
  uint32_t *order, *position;                                                    // position → node, node → position
  uint32_t *predecessor_offsets, *predecessors, *successor_offsets, *successors; // by position, rising

  byoc_cover_item_t *items; // by first position, then cost
  size_t item_count;
  uint32_t *first_item; // of each position, and the end
  byoc_cover_tail_t *tails;

  uint32_t place_count;
  uint32_t *place_names; // dense place → the caller's
  bool has_transitions;  // any that is not 0
  double *transitions;   // [position][from][to]
  uint8_t *alike;        // [position][place]: the first place with the same row of `transitions`
  double *disadvantages; // [position][a][b]: the most that b's row exceeds a's by anywhere

  // Copies between devices (cover_copies.c). A state's byte for a value that is still read is then its place, times
  // `masks`, plus a bit for each device that has it; for inputs, which have the first slots, those bits alone.
  uint32_t device_count, masks; // 1: no copies
  uint8_t *devices;             // [place]
  double *copies;               // [position][from device][to device]
  bool *is_result;              // [position]: the host reads it in the end
  uint32_t input_count;
  uint32_t *input_offsets, *inputs; // by position
  uint32_t *last_reader;            // [input]: a position
  double *input_copies;             // [input][to device]

  bool limits_error;
  double error_limit, error_price; // of all items together; what an error costs in bounds
  double *potentials;              // a dual solution: over the nodes of any item they add up to its weight at most
  double *remaining;               // sum of potentials from a position on

  uint32_t *slots;      // where a state keeps a node's place while it is read: small numbers, reused
  uint32_t *slot_count; // at each position: slots in use by then
} byoc_cover_problem_t;

byoc_status_t byoc_cover_problem_init(byoc_cover_problem_t *problem, const byoc_dataflow_t *flow,
                                      byoc_candidate_t *const *candidates, size_t candidate_count,
                                      const byoc_cover_costs_t *costs, const byoc_cover_options_t *options,
                                      byoc_allocator_t allocator, byoc_diag_t *diag);
void byoc_cover_problem_deinit(byoc_cover_problem_t *problem);

static inline double byoc_cover_transition(const byoc_cover_problem_t *p, uint32_t position, uint8_t from, uint8_t to) {
  return p->transitions[((size_t)position * p->place_count + from) * p->place_count + to];
}
static inline double byoc_cover_disadvantage(const byoc_cover_problem_t *p, uint32_t position, uint8_t a, uint8_t b) {
  return p->disadvantages[((size_t)position * p->place_count + a) * p->place_count + b];
}

// By the device that it is copied to.
static inline const double *byoc_cover_copies(const byoc_cover_problem_t *p, uint32_t position, uint32_t from_device) {
  return p->copies + ((size_t)position * p->device_count + from_device) * p->device_count;
}

// No cover that goes on from here costs less, if its items cost and err so much and the potentials of the other nodes
// sum to `rest`.
static inline double byoc_cover_bound_of(const byoc_cover_problem_t *p, double cost, double error, double rest) {
  return cost + rest + p->error_price * (error - p->error_limit);
}
// Sums are rounded.
static inline bool byoc_cover_allows(const byoc_cover_problem_t *p, double error) {
  return !p->limits_error || error <= p->error_limit * (1 + 1e-9);
}

// With a limit of 0, candidates of inexact targets are left out, those without an error on the samples as well.
static inline bool byoc_cover_admits(const byoc_cover_problem_t *p, const byoc_candidate_t *candidate) {
  if (p->limits_error && !(p->error_limit > 0) && candidate->is_inexact) return false;
  return !isinf(candidate->cost_ns) && byoc_cover_allows(p, candidate->error);
}

// Its stages, in this order.
// Sets order, position and the neighbours: the order of search is the block's own or one that keeps fewer values
// waiting, whichever is narrower (cover_order.c).
byoc_status_t byoc_cover_order(byoc_cover_problem_t *problem, byoc_diag_t *diag);
// Sets the fields about devices (cover_copies.c).
byoc_status_t byoc_cover_ask_copies(byoc_cover_problem_t *problem, const byoc_cover_costs_t *costs, byoc_diag_t *diag);
// Drops items that another one replaces at no higher cost, wherever they would be used (cover_prune.c).
byoc_status_t byoc_cover_prune(byoc_cover_problem_t *problem, byoc_diag_t *diag);
// The price of errors, and potentials (cover_bound.c).
byoc_status_t byoc_cover_bound(byoc_cover_problem_t *problem, byoc_diag_t *diag);

// For problems with copies. The first uncovered position moves beyond `node`, which is covered in this place: pays for
// the copies that it needs, and updates the bytes of a state.
double byoc_cover_pass(const byoc_cover_problem_t *problem, uint32_t node, uint8_t place, uint8_t *codes);
// The most that copies to come can cost more with one byte of a slot than with the other; `node` has the slot.
double byoc_cover_copy_excess(const byoc_cover_problem_t *problem, uint32_t slot, uint32_t node, uint8_t code,
                              uint8_t by_code);
// The most that copies can cost more if another candidate with these nodes, in another place, replaces the item.
double byoc_cover_replacing_excess(const byoc_cover_problem_t *problem, const byoc_cover_item_t *item,
                                   uint8_t by_place);

// The search proper (cover_search.c). *out_sources: the chosen candidates, from `allocator`.
typedef struct byoc_cover_search_t {
  double cost, lower_bound;
  uint32_t *sources;
  uint32_t count;
  uint64_t state_count;
  uint32_t peak_states;
  uint32_t furthest; // the last position that any state reached, if there is no plan
  bool was_cut;      // states were dropped because the budget was used up
} byoc_cover_search_t;
byoc_status_t byoc_cover_run(const byoc_cover_problem_t *problem, const byoc_cover_options_t *options,
                             byoc_diag_t *diag, byoc_cover_search_t *out_search);

#endif // BYOC_CORE_COLLAGE_COVER_PROBLEM_H_

// SPDX-License-Identifier: Apache-2.0
// An error budget: how far the outputs of a plan may be from exact ones, as a second resource beside time.
//
// The error of an output y against the exact one r is |y - r| / |r|, with Euclidean norms over all elements. The error
// of a plan is the largest one of any output on any sample of the inputs.
//
// Targets whose hook relative_error is above 0 are inexact. Their smallest candidates are sites: disjoint sets of nodes
// that the target can compute by itself. The error of each site and target is measured: the model is built once with a
// switch for each of them, and runs with one switch on. A larger candidate has the errors of all sites that it touches.
// Rounding errors of several sites are as good as independent, so that their squares add up: a candidate's `error` is
// a square, and the limit of the search is the square of the allowed error. This rule is not conservative if errors
// agree. So the plan is run with all its switches on, and if its error is too large the limit shrinks by as much as the
// rule was wrong, and the search gives up what gains the least time for its error (collage_error.c).
//
// Example:
//   byoc_error_budget_t budget;
//   BYOC_RETURN_IF_ERROR(byoc_error_budget_init(&budget, targets, allocator, diag));
//   BYOC_RETURN_IF_ERROR(byoc_error_budget_find_sites(&budget, problem, diag));
//   for (size_t s = 0; s < budget.switch_count; ++s) budget.switches[s].error = measure(s); // squares
//   byoc_error_budget_assign(&budget, problem); // into the candidates
#ifndef BYOC_CORE_COLLAGE_ERROR_BUDGET_H_
#define BYOC_CORE_COLLAGE_ERROR_BUDGET_H_

#include "core/collage/problem.h"

// The largest error of a setting on the samples that it has seen.
typedef struct byoc_measured_error_t {
  double error;
  size_t sample_count;
} byoc_measured_error_t;

// Measures errors of whole models. `apply` makes a plan of the module as it is, in a child process.
typedef byoc_status_t (*byoc_error_apply_t)(void *context, byoc_placement_t *placement, byoc_diag_t *diag);
typedef struct byoc_error_meter_t {
  void *self;
  size_t sample_count;
  uint64_t samples_hash;
  bool is_generated; // the samples
  // Builds the model with switches: `apply` adds a last input to main, an array of booleans.
  byoc_status_t (*open)(void *self, byoc_error_apply_t apply, void *context, size_t switch_count, byoc_diag_t *diag);
  // Runs it with each setting of the switches (`count` rows of one byte for each switch), on the first `sample_count`
  // samples, and compares with all switches off. If the time ends, the errors are those of the samples that the
  // settings have seen, fewer than asked for; NaN without any. INFINITY: the results are not finite. A budget of 0 is
  // no limit.
  byoc_status_t (*measure)(void *self, const uint8_t *settings, size_t count, size_t sample_count, int64_t budget_ns,
                           byoc_diag_t *diag, byoc_measured_error_t *out_errors);
  // Builds a plan, and compares it with all switches off on all samples. NaN: its runs took too long.
  byoc_status_t (*check)(void *self, byoc_error_apply_t apply, void *context, byoc_diag_t *diag, double *out_error);
} byoc_error_meter_t;

// What the error on these samples promises of other inputs: few samples say little of them, many say more.
double byoc_error_promise(const byoc_error_meter_t *meter, double error);

// A set of nodes that inexact targets can compute by themselves.
typedef struct byoc_error_site_t {
  byoc_index_set_t nodes;
  const byoc_candidate_t *exact; // of an exact target; NULL: the native target computes the nodes
  uint32_t first_switch, switch_count;
} byoc_error_site_t;

// A site with one target.
typedef struct byoc_error_switch_t {
  const byoc_candidate_t *candidate;
  uint32_t site;
  double error; // the square of the relative error; NaN: not measured; INFINITY: cannot be used
} byoc_error_switch_t;

typedef struct byoc_error_budget_t {
  byoc_arena_t arena;
  const byoc_target_list_t *targets;
  bool *is_inexact;          // by target
  byoc_function_t *function; // the body of the model
  byoc_problem_t *problem;   // that the sites are of; NULL: there are none
  byoc_error_site_t *sites;
  size_t site_count;
  byoc_error_switch_t *switches; // by site
  size_t switch_count;
  byoc_map_t site_of; // byoc_node_t * → its site + 1: nodes outlive a second search with changes of layout
} byoc_error_budget_t;

byoc_status_t byoc_error_budget_init(byoc_error_budget_t *budget, const byoc_target_list_t *targets,
                                     byoc_allocator_t allocator, byoc_diag_t *diag);
void byoc_error_budget_deinit(byoc_error_budget_t *budget); // accepts one that is all zeros
// Is it the body of the model? Inexact targets compute nothing in nested blocks, which may run any number of times.
bool byoc_error_budget_is_main(const byoc_problem_t *problem);
// Finds the sites of the problem, whose candidates must be known; errors are NaN.
byoc_status_t byoc_error_budget_find_sites(byoc_error_budget_t *budget, byoc_problem_t *problem, byoc_diag_t *diag);
// Sets the errors of all candidates of this problem: 0 for exact targets, INFINITY where nothing was measured.
void byoc_error_budget_assign(const byoc_error_budget_t *budget, byoc_problem_t *problem);
// The sum of the errors of some candidates.
double byoc_error_budget_sum(const byoc_problem_t *problem, const byoc_choice_t *choice);
// Is no candidate of the choice one of an inexact target? A sum of 0 does not say so: few samples may miss an error.
bool byoc_error_budget_is_exact(const byoc_problem_t *problem, const byoc_choice_t *choice);
// Turns on the switches of a choice.
void byoc_error_budget_select(const byoc_error_budget_t *budget, const byoc_problem_t *problem,
                              const byoc_choice_t *choice, uint8_t *switches);
// Places the module with switches: each site becomes an If of its targets, and exact targets claim the rest greedily.
// Without sites there is no input for switches. Afterwards the problem is stale.
byoc_status_t byoc_error_budget_place(const byoc_error_budget_t *budget, byoc_diag_t *diag,
                                      byoc_placement_t *placement);

#endif // BYOC_CORE_COLLAGE_ERROR_BUDGET_H_

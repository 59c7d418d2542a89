// SPDX-License-Identifier: Apache-2.0
// One collage placement at work. Private to core/collage/place_collage.c and collage_*.c.
#ifndef BYOC_CORE_COLLAGE_COLLAGE_INTERNAL_H_
#define BYOC_CORE_COLLAGE_COLLAGE_INTERNAL_H_

#include "core/collage/lazy_search.h"
#include "core/collage/place_collage.h"
#include "core/collage/transition.h"

// One way to place the whole module: a choice for each problem.
typedef struct byoc_collage_alternative_t {
  const char *name;
  const byoc_target_t *target; // "T;c"; NULL: all of them
  byoc_choice_t *greedy;       // by problem: the regions of greedy claims by these targets
  byoc_lazy_cover_t *covers;   // by problem: the same, completed by the native target's best cover of the other nodes
  bool is_possible;
  double sum_ns, expected_ns, whole_ns; // the sum is set only if all parts are measured
  double size_ns;                       // the cost of the size of its targets' libraries, as far as it is known
  double whole_mib;                     // of the artifact; NaN: it was not built
  bool is_of_any_size;                  // the fastest, which a smaller plan of this search has beaten
  const char *id;                       // the key of its time in the database
  double error;                         // on the samples of an error budget; NaN: not measured, or there is no budget
} byoc_collage_alternative_t;

// The error budget of a placement, shared by its searches.
typedef struct byoc_collage_errors_t {
  byoc_error_budget_t budget;
  double goal;       // the largest error on the samples: the allowed one, less a margin for other inputs
  double aim;        // the largest error with switches; below the goal if plans err more than their switches
  double limit;      // of the sum of squares in a search
  bool is_open;      // the model with switches is built
  uint64_t weights;  // a hash of them
  uint8_t *settings; // one for each switch, and a row for the plan at hand
} byoc_collage_errors_t;

typedef struct byoc_collage_t byoc_collage_t;
struct byoc_collage_t {
  const byoc_collage_options_t *options;
  byoc_graph_module_t *module;
  byoc_collage_t *plain; // the search without layout changes; NULL: this one is
  bool is_overlaid;      // layout changes have been put between its nodes
  byoc_problems_t problems;
  byoc_price_list_t *prices;                // by problem
  byoc_transitions_t *transitions;          // by problem
  size_t ready;                             // problems with both
  byoc_collage_alternative_t *alternatives; // the last one: the result of the search
  size_t alternative_count;
  byoc_estimator_t estimator;    // the options', with the costs of devices
  byoc_device_costs_t *devices;  // by target
  bool *is_device_known;         // by target
  bool *has_boundary;            // by target: it states the costs of entering and leaving
  byoc_collage_errors_t *errors; // of the plain search; NULL: there is no error budget
  byoc_collage_errors_t own_errors;
  byoc_measuring_t measuring;
  int64_t budget_ns;       // to begin with, for this search's parts
  int64_t whole_budget_ns; // for whole models
  byoc_arena_t arena;
  byoc_allocator_t allocator;
  byoc_diag_t *diag;
};

// Alternative plans (collage_alternatives.c): greedy partitioning, each backend alone, and as the last one the result
// of the search.
byoc_status_t byoc_collage_make_alternatives(byoc_collage_t *c);
// Adds one more, at the end.
byoc_status_t byoc_collage_add_alternative(byoc_collage_t *c, const char *name, const byoc_target_t *target);
// Candidates of every target, and the regions of the alternative plans, which enumeration may not reach.
byoc_status_t byoc_collage_collect(byoc_collage_t *c, size_t index);
// Finds the cost of an alternative plan, measured as far as the budget goes.
byoc_status_t byoc_collage_cover_alternative(byoc_collage_t *c, byoc_collage_alternative_t *alternative);
// Makes the choices of the alternative plan those of the problems.
byoc_status_t byoc_collage_choose(byoc_collage_t *c, const byoc_collage_alternative_t *alternative);
// Partitions by an alternative plan of this search. Layout changes that a later search inserted are removed first.
byoc_status_t byoc_collage_apply(byoc_collage_t *c, const byoc_collage_alternative_t *alternative, byoc_diag_t *diag,
                                 byoc_placement_t *placement);

// Size (collage_size.c).
// Looks for a plan that brings fewer libraries and costs less, with their size, than the plan that was found. If there
// is one, it is added as the last alternative and counts as the result of the search.
byoc_status_t byoc_collage_weigh(byoc_collage_t *c);
// The cost of so many MiB in a plan that takes base_ns.
double byoc_collage_size_ns(const byoc_collage_t *c, double mib, double base_ns);

// The error budget (collage_error.c). Measures the errors of all sites, and gives them to the candidates.
byoc_status_t byoc_collage_open_errors(byoc_collage_t *c, byoc_collage_errors_t *errors);
// Gives errors to new candidates; nothing without a budget.
void byoc_collage_assign_errors(byoc_collage_t *c, size_t index);
void byoc_collage_limit_errors(byoc_collage_t *c, double limit);
// Measures the error of an alternative plan with its switches; it is impossible if that is too large.
byoc_status_t byoc_collage_measure_error(byoc_collage_t *c, byoc_collage_alternative_t *alternative);
// Builds an alternative plan and measures its error.
byoc_status_t byoc_collage_check_error(byoc_collage_t *c, byoc_collage_alternative_t *alternative);
// The sum of the squares that the search counted.
double byoc_collage_error_sum(const byoc_collage_t *c, const byoc_collage_alternative_t *alternative);
// Records the budget, and the trade-off between time and error as far as costs are known.
byoc_status_t byoc_collage_record_errors(byoc_collage_t *c, const byoc_collage_alternative_t *plan,
                                         byoc_plan_t *record);
// What a budget gained in an earlier build of this model, for builds without one (collage_error.c).
byoc_status_t byoc_collage_recall_gain(byoc_collage_t *c, byoc_plan_t *record);

// Whole models and their records (collage_whole.c). The hash covers the module's blocks and the costs of its devices.
uint64_t byoc_collage_hash(const byoc_collage_t *c);
// The key of a record about the whole module: `what` names the kind of record, the other arguments tell records apart.
byoc_status_t byoc_collage_key(const byoc_collage_t *c, const char *what, uint64_t hash, byoc_arena_t *arena,
                               byoc_cost_key_t *out_key);
// Notes: numbers that are not costs but that the next build needs. Returns false if there is no note.
bool byoc_collage_recall_note(const byoc_collage_t *c, const char *id, double *out_value);
void byoc_collage_note(const byoc_collage_t *c, const char *id, double value);
// The plan that is fastest as a whole, of this search or the plain one; the result of the search if no times decide
// otherwise.
byoc_status_t byoc_collage_find_winner(byoc_collage_t *c, byoc_collage_t **out_search,
                                       byoc_collage_alternative_t **out_winner);

#endif // BYOC_CORE_COLLAGE_COLLAGE_INTERNAL_H_

// SPDX-License-Identifier: Apache-2.0
// A plan: the candidate of each node of the model, its cost, and the alternatives. Partitioning makes one
// (core/collage/place.h); `byoc explain` prints it, --html draws it, --save-plan writes it as JSON, --plan FILE replays
// it.
//
// A plan stands by itself: it holds strings and numbers, no pointers into the module, so that it outlives generating
// and lowering. Nodes have numbers in the topological order of their block after simplifying.
#ifndef BYOC_CORE_COLLAGE_PLAN_H_
#define BYOC_CORE_COLLAGE_PLAN_H_

#include <math.h>

#include "core/base/arena.h"
#include "core/base/diag.h"
#include "core/base/string.h"
#include "core/base/vector.h"

// Where a cost came from.
// X(NAME, "text")
#define BYOC_COST_SOURCE_LIST(X)                                                                                       \
  X(NONE, "none")         /* not priced    */                                                                          \
  X(BOUND, "bound")       /* an optimistic bound was enough to rule it out */                                          \
  X(ESTIMATE, "estimate") /* the analytic model */                                                                     \
  X(MEASURED, "measured") /* in this build */                                                                          \
  X(DATABASE, "database") /* measured by an earlier build */                                                           \
  X(STATED, "stated")     /* by the backend, in its own model */

#define BYOC_COST_SOURCE_ENUM(NAME, text) BYOC_COST_SOURCE_##NAME,
typedef enum byoc_cost_source_t { BYOC_COST_SOURCE_LIST(BYOC_COST_SOURCE_ENUM) } byoc_cost_source_t;
#undef BYOC_COST_SOURCE_ENUM
const char *byoc_cost_source_name(byoc_cost_source_t source);

typedef struct byoc_plan_edge_t {
  uint32_t from;    // node of the same block
  const char *type; // of the value handed over: "f32[1,64,56,56]"
} byoc_plan_edge_t;

typedef struct byoc_plan_node_t {
  const char *op;          // "Conv", "com.example::Fancy"
  const char *name;        // the model's; "" where it has none
  const char *result_type; // of its first result
  const byoc_plan_edge_t *edges;
  uint32_t edge_count;
  uint32_t region; // index in regions; UINT32_MAX: left to the native target
} byoc_plan_node_t;

typedef struct byoc_plan_candidate_t {
  uint32_t target;    // in targets
  const char *rule;   // "cutlass.conv_relu"
  const char *reason; // why it costs infinity; otherwise NULL
  const uint32_t *nodes;
  uint32_t node_count;
  double cost_ns; // NaN: not known; INFINITY: cannot be used
  byoc_cost_source_t source;
  double moved_bytes, energy_nj; // of a stated cost; 0: not known
  double error; // that it adds to the model's outputs, by itself; 0: none; INFINITY: cannot be used within a budget
  bool is_chosen;
  bool is_fallback; // it costs infinity because the backend declined it; this is not a failure
} byoc_plan_candidate_t;

typedef struct byoc_plan_region_t {
  uint32_t target;
  uint32_t candidate; // in candidates; UINT32_MAX: none (greedy, or replayed)
  const char *rule;
  const uint32_t *nodes; // rising
  uint32_t node_count;
  double cost_ns; // NaN: not known
  byoc_cost_source_t source;
  double moved_bytes, energy_nj; // of a stated cost; 0: not known
  double error;                  // that it adds to the model's outputs, by itself; 0: none
  bool falls_back;               // the backend claimed it and declined it later
  bool is_later;     // it has nodes, too, that partitioning made by writing out others; a replay asks the rules again
  const char *types; // that it reads and gives: "u8, i8 -> u8"; NULL: not known
  const char *precision; // of its arithmetic: "int8", "bf16 weights, f32 sums"; NULL: not known
  const char *lapse;     // why this is not what an option of the target asks for; NULL: it is
} byoc_plan_region_t;

// A target that did not claim some nodes.
typedef struct byoc_plan_decline_t {
  uint32_t target;
  const char *rule, *reason;
  const uint32_t *nodes;
  uint32_t node_count;
} byoc_plan_decline_t;

// The cost of a whole model under an alternative plan: one backend alone with "c" behind it, or greedy.
typedef struct byoc_plan_alternative_t {
  const char *name; // "greedy", "cutlass;c"
  double sum_ns;    // of the costs of its parts; NaN: some are not known
  double whole_ns;  // measured as one model; NaN: it was not
  double whole_mib; // of the artifact that was measured; NaN: it was not
  double error;     // of the outputs on the samples; 0: exact, or there is no budget
} byoc_plan_alternative_t;

// The error budget (core/collage/error_budget.h).
typedef struct byoc_plan_point_t {
  double cost_ns, error; // by the sums of costs and of squares
} byoc_plan_point_t;

// What an earlier build with an error budget found for the same model, machine and targets.
typedef struct byoc_plan_gain_t {
  double error; // allowed; 0: there was none
  double ratio; // of the time of the plan within the budget to that of the best exact one
} byoc_plan_gain_t;

typedef struct byoc_plan_budget_t {
  double allowed; // 0: there is no budget
  double measured, promised;
  uint32_t sample_count;
  bool is_generated;                    // the samples
  BYOC_VECTOR(byoc_plan_point_t) curve; // the fastest plans for each error, rising
} byoc_plan_budget_t;

// One block: the body of a function, or a nested block.
typedef struct byoc_plan_block_t {
  const char *name; // "main", "main/if_1.then_branch"
  uint64_t hash;    // of the nodes with their types, attributes and edges; a saved plan must have the same
  BYOC_VECTOR(byoc_plan_node_t) nodes;
  BYOC_VECTOR(byoc_plan_candidate_t) candidates;
  BYOC_VECTOR(byoc_plan_region_t) regions; // in order of their first nodes
  BYOC_VECTOR(byoc_plan_decline_t) declines;
  double cost_ns; // regions and transitions; NaN: not known
  double transition_ns;
  double lower_bound_ns; // no cover of these candidates costs less; NaN: not searched
  bool is_proven;        // cost_ns is the least
} byoc_plan_block_t;

typedef struct byoc_plan_t {
  byoc_arena_t arena;                // all strings and node lists
  const char *model;                 // name of the main function's model
  const char *strategy;              // "greedy", "collage", or the path of the plan that was replayed
  BYOC_VECTOR(const char *) targets; // as target strings, "c" last
  BYOC_VECTOR(byoc_plan_block_t) blocks;
  BYOC_VECTOR(byoc_plan_alternative_t) alternatives;
  double whole_ns;  // this plan, measured as one model; NaN: it was not
  double whole_mib; // of the artifact that was measured; NaN: it was not
  byoc_plan_budget_t budget;
  byoc_plan_gain_t gain; // of a plan without a budget
  // How far candidates were enumerated (byoc_collect_options_t); 0: they were not.
  uint32_t max_nodes, max_depth;
  bool was_written_out; // operators that no target took were written out after the first round
} byoc_plan_t;
void byoc_plan_init(byoc_plan_t *plan, byoc_allocator_t allocator);
void byoc_plan_deinit(byoc_plan_t *plan);

#endif // BYOC_CORE_COLLAGE_PLAN_H_

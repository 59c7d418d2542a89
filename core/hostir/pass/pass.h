// SPDX-License-Identifier: Apache-2.0
// Passes over host programs, as rows of one table, and the manager that runs lists of them.
//
// A pass says what must stand in the program before it (needs), what stands there after it (gives), and what is still
// right after its changes (keeps). The manager refuses a pass that needs what is not there, and takes away what a pass
// did not keep, so that a later pass makes it anew.
#ifndef BYOC_CORE_HOSTIR_PASS_PASS_H_
#define BYOC_CORE_HOSTIR_PASS_PASS_H_

#include "core/base/string.h"
#include "core/base/switches.h"
#include "core/hostir/program/facts.h"

// X(NAME, "name", needs, gives, keeps, "summary"): each row has a function byoc_host_pass_<NAME> in core/hostir.
#define BYOC_HOST_PASS_LIST(X)                                                                                         \
  X(alias_results, "alias-results", 0, 0, 0, "let results of kernels use the bytes of operands without other readers") \
  X(elide_copies, "elide-copies", 0, 0, 0, "write values that are only copied directly to the copy's destination")     \
  X(place_lifetimes, "place-lifetimes", 0, BYOC_HOST_LIFETIMES, 0,                                                     \
    "allocate local buffers before their first use and free them after the last")                                      \
  X(hoist_allocations, "hoist-allocations", BYOC_HOST_LIFETIMES, 0, BYOC_HOST_LIFETIMES,                               \
    "allocate once before a loop instead of in each iteration")                                                        \
  X(plan_memory, "plan-memory", BYOC_HOST_LIFETIMES, BYOC_HOST_PLAN, BYOC_HOST_LIFETIMES,                              \
    "give local buffers their offsets in one workspace")                                                               \
  X(gather_segments, "gather-segments", 0, 0, BYOC_HOST_LIFETIMES,                                                     \
    "move instructions of one backend together, as far as data and symbols allow")                                     \
  X(spread_loops, "spread-loops", 0, 0, 0, "alternate the iterations of a loop among the queues of a set")             \
  X(order_queues, "order-queues", 0, BYOC_HOST_ORDER, BYOC_HOST_LIFETIMES | BYOC_HOST_PLAN,                            \
    "add the events, and waits for them, that shared memory needs")                                                    \
  X(drop_covered_waits, "drop-covered-waits", 0, 0, BYOC_HOST_LIFETIMES | BYOC_HOST_PLAN,                              \
    "drop waits for work that has ended anyway, and events without waits")                                             \
  X(overlap_collectives, "overlap-collectives", 0, 0, BYOC_HOST_LIFETIMES,                                             \
    "let collectives end where their results are needed, with work in between")                                        \
  X(drop_repeated_copies, "drop-repeated-copies", 0, 0, BYOC_HOST_LIFETIMES | BYOC_HOST_PLAN,                          \
    "drop copies of values that are there already, or that are overwritten before they are read")

// Those that a build runs, in order; byoc_host_write_over (core/hostir/verify/in_place.h) comes between the two groups.
// Hoisting is not among them: it takes memory for the whole loop. Nor is gathering, which is for who pays for each
// change between backends: it lets buffers live longer.
#define BYOC_HOST_ALIAS_PASSES "alias-results"
#define BYOC_HOST_ORDER_PASSES "order-queues,drop-covered-waits" // behind lifetimes: to end a value is to touch it
#define BYOC_HOST_MEMORY_PASSES                                                                                        \
  "elide-copies,drop-repeated-copies,overlap-collectives,place-lifetimes," BYOC_HOST_ORDER_PASSES ",plan-memory"
#define BYOC_HOST_STANDARD_PASSES BYOC_HOST_ALIAS_PASSES "," BYOC_HOST_MEMORY_PASSES

#define BYOC_HOST_PASS_DECLARE(NAME, text, needs, gives, keeps, summary)                                               \
  byoc_status_t byoc_host_pass_##NAME(byoc_host_program_t *program, byoc_diag_t *diag, size_t *changes);
BYOC_HOST_PASS_LIST(BYOC_HOST_PASS_DECLARE)
#undef BYOC_HOST_PASS_DECLARE

typedef struct byoc_host_pass_t {
  const char *name, *summary;
  byoc_status_t (*run)(byoc_host_program_t *program, byoc_diag_t *diag, size_t *changes);
  uint32_t needs, gives, keeps; // byoc_host_fact_t
} byoc_host_pass_t;

// The table; NULL behind the end.
const byoc_host_pass_t *byoc_host_pass_at(size_t index);
const byoc_host_pass_t *byoc_host_pass_find(const char *name);
// A build cannot do without a pass that gives something.
static inline bool byoc_host_pass_is_needed(const byoc_host_pass_t *pass) {
  return pass->gives != 0;
}

typedef struct byoc_host_pass_options_t {
  const char *print_after;         // name of a pass, or "all"; NULL: none
  byoc_string_t *print_out;        // where to print; NULL: standard output
  const byoc_switches_t *switches; // passes that are off do nothing; NULL: all are on
} byoc_host_pass_options_t;

// Runs one pass: logs its name and changes, checks the edits, verifies the program if it has lifetimes (debug builds,
// whenever it was changed, and after the one that plans the memory), its order if memory is planned, and prints the
// program if asked to. `options` may be NULL. A failure names the pass.
byoc_status_t byoc_host_pass_run(const byoc_host_pass_t *pass, byoc_host_program_t *program,
                                 const byoc_host_pass_options_t *options, byoc_diag_t *diag, size_t *out_changes);
// Runs a comma-separated list. An unknown name is BYOC_INVALID_ARGUMENT with the nearest match.
byoc_status_t byoc_host_pass_run_list(const char *names, byoc_host_program_t *program,
                                      const byoc_host_pass_options_t *options, byoc_diag_t *diag);

#endif // BYOC_CORE_HOSTIR_PASS_PASS_H_

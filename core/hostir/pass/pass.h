// SPDX-License-Identifier: Apache-2.0
// Passes over host programs: one table of rows.
#ifndef BYOC_CORE_HOSTIR_PASS_PASS_H_
#define BYOC_CORE_HOSTIR_PASS_PASS_H_

#include "core/hostir/pass/pass_manager.h"

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
// hoist-allocations is not among them: it takes memory for the whole loop. Nor is gather-segments: it lets buffers live
// longer, and pays only if each change between backends costs.
#define BYOC_HOST_ALIAS_PASSES "alias-results"
#define BYOC_HOST_ORDER_PASSES "order-queues,drop-covered-waits" // behind lifetimes: to end a value is to touch it
#define BYOC_HOST_MEMORY_PASSES                                                                                        \
  "elide-copies,drop-repeated-copies,overlap-collectives,place-lifetimes," BYOC_HOST_ORDER_PASSES ",plan-memory"
#define BYOC_HOST_STANDARD_PASSES BYOC_HOST_ALIAS_PASSES "," BYOC_HOST_MEMORY_PASSES

#define BYOC_HOST_PASS_DECLARE(NAME, text, needs, gives, keeps, summary)                                               \
  byoc_status_t byoc_host_pass_##NAME(byoc_host_program_t *program, byoc_diag_t *diag, size_t *changes);
BYOC_HOST_PASS_LIST(BYOC_HOST_PASS_DECLARE)
#undef BYOC_HOST_PASS_DECLARE

extern const byoc_passes_t byoc_host_passes;

// Runs a list of these passes (byoc_passes_run).
byoc_status_t byoc_host_pass_run_list(const char *names, byoc_host_program_t *program,
                                      const byoc_pass_options_t *options, byoc_diag_t *diag);

#endif // BYOC_CORE_HOSTIR_PASS_PASS_H_

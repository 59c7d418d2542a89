// SPDX-License-Identifier: Apache-2.0
// Partition rules make the candidates of a target. Rules are trees: the leaves look at the graph, the others work on
// the proposals of those below them:
//
//   pattern     each match of a pattern, at whatever node it ends (core/plugin/pattern.h)
//   by kind     connected groups of listed operators: all up to a size, at most so many per node
//   host        each node by itself, whatever it is
//   layout      pairs of layout changes, and operators that the host computes in blocks between them
//   union       all proposals of several rules
//   composite   marks matches with the name that their function carries (attribute Composite)
//   primitive   marks candidates that become a function of their own (attribute Primitive)
//   combine     adds unions of neighbours that are worth fusing (BYOC_COMBINE_*)
//   only valid  drops candidates that break limits or are not convex, and keeps the reason
//
// A backend's table becomes
//
//   primitive(only valid(combine(union(composite(pattern) ..., by kind ...))))
//
// In addition, the target's regions of greedy partitioning are candidates, so that with one backend no plan is worse
// than the greedy one. So are the halves of these, their halves and so on, down to the size that is enumerated. The
// claims of the backend's partition hook (core/collage/hook_claims.h) are candidates as they are. The accept hook is
// asked once for each region and its reason is kept (byoc_candidates_t.refusals).
//
// Example:
//   byoc_candidates_t list;
//   byoc_candidates_init(&list, allocator);
//   BYOC_RETURN_IF_ERROR(byoc_candidates_collect(&list, &flow, targets, NULL, diag)); // all targets, unpriced
#ifndef BYOC_CORE_COLLAGE_RULES_H_
#define BYOC_CORE_COLLAGE_RULES_H_

#include "core/collage/candidate.h"
#include "core/collage/subgraph.h"
#include "core/targets/target.h"

#define BYOC_PARTITION_RULE_LIST(X)                                                                                    \
  X(PATTERN, "pattern")                                                                                                \
  X(BY_KIND, "by kind")                                                                                                \
  X(HOST, "host")                                                                                                      \
  X(LAYOUT, "layout")                                                                                                  \
  X(UNION, "union")                                                                                                    \
  X(COMPOSITE, "composite")                                                                                            \
  X(PRIMITIVE, "primitive")                                                                                            \
  X(COMBINE, "combine")                                                                                                \
  X(ONLY_VALID, "only valid")

typedef enum byoc_partition_rule_kind_t {
#define BYOC_PARTITION_RULE_ENUM(NAME, text) BYOC_PARTITION_##NAME,
  BYOC_PARTITION_RULE_LIST(BYOC_PARTITION_RULE_ENUM)
#undef BYOC_PARTITION_RULE_ENUM
} byoc_partition_rule_kind_t;

// Which neighbours `combine` joins; a feeds b.
enum {
  BYOC_COMBINE_ELEMENTWISE = 1, // b is elementwise or moves data only: b's work happens where a's results are made
  BYOC_COMBINE_REDUCTION = 2,   // a is elementwise, b reduces: a's results need not be stored
  BYOC_COMBINE_TUPLE = 4,       // b only joins several values (Concat), or a only splits one
  BYOC_COMBINE_CONSTANT = 8,    // a reads nothing but constants
  BYOC_COMBINE_MERGE = 16,      // both rules allow it (BYOC_RULE_MERGE)
};

typedef struct byoc_partition_rule_t byoc_partition_rule_t;
struct byoc_partition_rule_t {
  byoc_partition_rule_kind_t kind;
  const char *name;              // leaves: the name of their candidates
  const byoc_rule_t *definition; // PATTERN, BY_KIND: the backend's row
  byoc_subgraph_limits_t limits; // BY_KIND, COMBINE: max_nodes and max_depth of the result; ONLY_VALID: all of them
  uint32_t max_each;             // BY_KIND, COMBINE: proposals for each node to begin with
  uint32_t combine;              // COMBINE: BYOC_COMBINE_*
  const byoc_partition_rule_t *const *parts; // its children: UNION has any number, the other inner rules have one
  uint32_t part_count;
};

// How far the rules of whole targets go by default.
enum { BYOC_COLLECT_NODES = 6, BYOC_COLLECT_DEPTH = 6 };

typedef struct byoc_collect_options_t {
  uint32_t max_nodes; // of an enumerated group or a combination; 0: as above. Greedy regions may be larger.
  uint32_t max_depth; // of the same; 0: as above
  uint32_t max_each;  // groups, and combinations, that begin at one node; 0: twice max_nodes
} byoc_collect_options_t;
// Fills in what is 0 in the limits; `options` may be NULL.
byoc_collect_options_t byoc_collect_limits(const byoc_collect_options_t *options);

// Collects the candidates of all targets, in the order of targets. The last one, "c", can compute each node alone.
// Calls, and nodes that a target declined (BYOC_ATTRIBUTE_DECLINED_BY), are not proposed to it again.
byoc_status_t byoc_candidates_collect(byoc_candidates_t *list, const byoc_dataflow_t *flow,
                                      const byoc_target_list_t *targets, const byoc_collect_options_t *options,
                                      byoc_diag_t *diag);

#endif // BYOC_CORE_COLLAGE_RULES_H_

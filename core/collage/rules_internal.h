// SPDX-License-Identifier: Apache-2.0
// One target's rules at work. Private to core/collage/rules*.c.
#ifndef BYOC_CORE_COLLAGE_RULES_INTERNAL_H_
#define BYOC_CORE_COLLAGE_RULES_INTERNAL_H_

#include "core/collage/rules.h"

// The answer of a hook for a region: the region's nodes, and the nodes behind the names of the pattern.
typedef struct byoc_verdict_t {
  const byoc_rule_t *definition;
  byoc_index_set_t nodes;
  const byoc_region_binding_t *bindings;
  size_t binding_count;
  bool accepted;
} byoc_verdict_t;

typedef struct byoc_ruling_t {
  const byoc_dataflow_t *flow;
  const byoc_target_t *target;
  byoc_candidates_t *list; // sets, parts and refusals go into it straight away
  byoc_allocator_t allocator;
  byoc_subgraph_space_t space;
  byoc_arena_t scratch;
  BYOC_VECTOR(byoc_verdict_t) verdicts;
  uint32_t *verdict_slots; // open addressing: index + 1
  size_t verdict_slot_count;
  byoc_diag_t *diag;
} byoc_ruling_t;

byoc_status_t byoc_ruling_init(byoc_ruling_t *ruling, const byoc_target_t *target, const byoc_dataflow_t *flow,
                               byoc_candidates_t *list, byoc_diag_t *diag);
void byoc_ruling_deinit(byoc_ruling_t *ruling);

// May the target claim this node at all? A filter for patterns; `self` is the ruling.
bool byoc_ruling_may_take(void *self, const byoc_node_t *node);
// Asks the hook of a rule, once for each region. `nodes` are those of `set`.
byoc_status_t byoc_ruling_ask(byoc_ruling_t *ruling, const byoc_rule_t *definition, const byoc_index_set_t *set,
                              byoc_node_t *const *nodes, const byoc_region_binding_t *bindings, size_t binding_count,
                              bool *out_accepted);
// Does a group rule list the node's operator?
bool byoc_rule_lists(const byoc_rule_t *definition, const byoc_node_t *node);
// A set of nodes of the block.
byoc_status_t byoc_ruling_set(byoc_ruling_t *ruling, byoc_node_t *const *nodes, size_t count,
                              byoc_index_set_t *out_set);
// Proposes one candidate, and fills in the fields that all candidates of the target share.
byoc_status_t byoc_ruling_propose(byoc_ruling_t *ruling, byoc_candidate_t candidate, byoc_candidates_t *out,
                                  byoc_candidate_t **out_candidate);

// Leaves and combinations (rules_match.c, rules_layout.c, rules_combine.c).
byoc_status_t byoc_ruling_match(byoc_ruling_t *ruling, const byoc_partition_rule_t *rule, byoc_candidates_t *out);
byoc_status_t byoc_ruling_group(byoc_ruling_t *ruling, const byoc_partition_rule_t *rule, byoc_candidates_t *out);
byoc_status_t byoc_ruling_layout(byoc_ruling_t *ruling, const byoc_partition_rule_t *rule, byoc_candidates_t *out);
byoc_status_t byoc_ruling_combine(byoc_ruling_t *ruling, const byoc_partition_rule_t *rule, byoc_candidates_t *out);
// The regions of greedy claims by this target alone (rules_greedy.c), and the parts that they are cut into.
byoc_status_t byoc_ruling_greedy(byoc_ruling_t *ruling, const byoc_partition_rule_t *rule, uint32_t max_nodes,
                                 byoc_candidates_t *out);
// Proposes the halves of a region, their halves and so on, as long as they have more than `max_nodes` nodes: the sizes
// between enumeration and the whole. Each halving puts a node into at most one of these.
byoc_status_t byoc_ruling_cut(byoc_ruling_t *ruling, const byoc_candidate_t *region, uint32_t max_nodes,
                              byoc_candidates_t *out);

#endif // BYOC_CORE_COLLAGE_RULES_INTERNAL_H_

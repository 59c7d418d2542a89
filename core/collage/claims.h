// SPDX-License-Identifier: Apache-2.0
// Claims: which region each node of a block belongs to while placement goes on, and whether regions may be joined.
#ifndef BYOC_CORE_COLLAGE_CLAIMS_H_
#define BYOC_CORE_COLLAGE_CLAIMS_H_

#include "core/collage/candidate.h"
#include "core/collage/dataflow.h"
#include "core/ir/graph.h"
#include "core/plugin/region.h"

typedef struct byoc_claim_t byoc_claim_t;
struct byoc_claim_t {
  const byoc_target_t *target;
  const byoc_rule_t *rule;
  byoc_claim_t *merged_into;   // union-find; NULL: not joined into another
  BYOC_VECTOR(uint32_t) nodes; // indices, rising
  uint32_t part_count;         // matches or nodes that it was made of
  uint32_t match_number;       // of one match (core/plugin/accepted_match.h)
  uint32_t size, limit;        // number of nodes, including those of called composites; its maximum, 0: no limit
};

// One block's nodes by number, in topological order.
typedef struct byoc_claims_t {
  byoc_allocator_t allocator;
  byoc_block_t *block;
  byoc_dataflow_t flow; // of the block as it was at the start
  byoc_node_t **nodes;  // the flow's
  size_t node_count;
  byoc_claim_t **owners;              // parallel to nodes; NULL: the node is free
  BYOC_VECTOR(byoc_claim_t *) claims; // in order of creation
  byoc_arena_t arena;
  // Scratch of the search for cycles: by node, the last walk that saw it; nodes to go on from.
  uint32_t *seen, stamp, *stack;
  // Runs of nodes; no claim crosses the border of a run (claims.c). `run_links`: union-find to the first node;
  // `run_ends`: the last node, by the first one.
  uint32_t *run_links, *run_ends;
} byoc_claims_t;

// Starts with no node of the block claimed. Call deinit after a failure too.
byoc_status_t byoc_claims_init(byoc_claims_t *claims, byoc_block_t *block, byoc_allocator_t allocator,
                               byoc_diag_t *diag);
void byoc_claims_deinit(byoc_claims_t *claims);
// Makes all nodes free again; only those in the set are claimed.
void byoc_claims_release(byoc_claims_t *claims, const byoc_index_set_t *within);

// The claim that a node belongs to now; NULL if it is free.
byoc_claim_t *byoc_claims_owner(const byoc_claims_t *claims, size_t node);
// Claims free nodes.
byoc_status_t byoc_claims_add(byoc_claims_t *claims, const byoc_target_t *target, const byoc_rule_t *rule,
                              byoc_node_t *const *nodes, size_t node_count, byoc_diag_t *diag,
                              byoc_claim_t **out_claim);
// Claims free nodes, which need not have a single exit. If the regions would then wait for each other in a circle, they
// stay free, and *out_claim is NULL.
byoc_status_t byoc_claims_try(byoc_claims_t *claims, const byoc_target_t *target, const byoc_rule_t *rule,
                              byoc_node_t *const *nodes, size_t node_count, byoc_diag_t *diag,
                              byoc_claim_t **out_claim);
// Joins the claim of each node with those that its operands come from, where their rules allow it and no cycle appears.
// Only nodes of the set are claimed, if there is one.
byoc_status_t byoc_claims_join_neighbours(byoc_claims_t *claims, const byoc_index_set_t *within, byoc_diag_t *diag);
// Describes a claim as a candidate, unpriced, in `arena`. Matches that were joined become its parts, so that each can
// become its composite function. The rule must live as long as the candidate.
byoc_status_t byoc_claims_candidate(const byoc_claims_t *claims, const byoc_claim_t *region, byoc_arena_t *arena,
                                    byoc_diag_t *diag, byoc_candidate_t *out_candidate);

#endif // BYOC_CORE_COLLAGE_CLAIMS_H_

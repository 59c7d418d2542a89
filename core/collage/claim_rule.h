// SPDX-License-Identifier: Apache-2.0
// How a rule of a target claims nodes that are still free.
#ifndef BYOC_CORE_COLLAGE_CLAIM_RULE_H_
#define BYOC_CORE_COLLAGE_CLAIM_RULE_H_

#include "core/collage/claims.h"

typedef struct byoc_rule_claimer_t {
  byoc_claims_t *claims;
  const byoc_target_t *target;
  const byoc_index_set_t *within; // claims only these nodes; NULL: any
  byoc_arena_t *arena;            // parsed patterns go there
  byoc_diag_t *diag;
  // The answer of the rule's hook for a region.
  byoc_status_t (*ask)(void *self, const byoc_rule_t *rule, byoc_node_t *const *nodes, size_t node_count,
                       const byoc_region_binding_t *bindings, size_t binding_count, bool *out_accepted);
  void *self;
} byoc_rule_claimer_t;

// A pattern rule claims its matches. Those nearest to the results go first, so that the largest are claimed first; of
// several ways to match, the first accepted one is taken. A group rule claims each node that is accepted; joining makes
// groups of them. The rule must live as long as the claims.
byoc_status_t byoc_claim_by_rule(const byoc_rule_claimer_t *claimer, const byoc_rule_t *rule);

#endif // BYOC_CORE_COLLAGE_CLAIM_RULE_H_

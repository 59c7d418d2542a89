// SPDX-License-Identifier: Apache-2.0
// The claims of a backend's partition hook in one block, checked. Each is a candidate beside the matches of rules.
//
// Example:
//   const byoc_hook_claims_t *claims = NULL;
//   BYOC_RETURN_IF_ERROR(byoc_hook_claims_of(&list, &flow, target, diag, &claims));
//   for (size_t i = 0; i < claims->count; ++i) use(&claims->items[i]);
//
// A hook is asked once for a list of candidates. The reasons of nodes that it declines become refusals of the list. So
// do claims with a node that the target may not take. The user is warned of claims that are wrong and of hooks that
// fail.
#ifndef BYOC_CORE_COLLAGE_HOOK_CLAIMS_H_
#define BYOC_CORE_COLLAGE_HOOK_CLAIMS_H_

#include "core/collage/candidate.h"
#include "core/targets/target.h"

typedef struct byoc_hook_claim_t {
  byoc_index_set_t nodes; // convex, on one device; the target may take each
  // Stands for the claim as the rule of its candidate: its name and flags, without pattern and operators.
  byoc_rule_t rule;
} byoc_hook_claim_t;

typedef struct byoc_hook_claims_t byoc_hook_claims_t;
struct byoc_hook_claims_t {
  uint32_t target;
  const byoc_hook_claim_t *items; // in the hook's order; they may overlap
  size_t count;
  const char *const *wrong; // a sentence for each claim that is not used, or for the hook that failed
  size_t wrong_count;
  const byoc_hook_claims_t *next; // of the list
};

// The target's claims, in the list's arena; none if its backend has no hook. The rules live as long as the list.
byoc_status_t byoc_hook_claims_of(byoc_candidates_t *list, const byoc_dataflow_t *flow, const byoc_target_t *target,
                                  byoc_diag_t *diag, const byoc_hook_claims_t **out_claims);
// The same for tools that check plugins: asks each time, in this process, and warns nobody.
byoc_status_t byoc_hook_claims_here(byoc_candidates_t *list, const byoc_dataflow_t *flow, const byoc_target_t *target,
                                    byoc_diag_t *diag, const byoc_hook_claims_t **out_claims);

// The claim of the target with exactly these nodes; NULL: there is none.
const byoc_hook_claim_t *byoc_hook_claims_find(const byoc_hook_claims_t *claims, const byoc_index_set_t *nodes);
// Describes a claim as a candidate, unpriced.
byoc_candidate_t byoc_hook_claim_candidate(const byoc_hook_claim_t *claim, const byoc_target_t *target);

#endif // BYOC_CORE_COLLAGE_HOOK_CLAIMS_H_

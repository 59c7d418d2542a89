// SPDX-License-Identifier: Apache-2.0
// The region that one target's rules make of exactly the given nodes: for plans that people edit, and for neighbouring
// regions that may become one.
//
// Example:
//   byoc_exact_regions_t regions;
//   byoc_status_t status = byoc_exact_regions_init(&regions, &candidates, &flow, diag);
//   if (status == BYOC_OK) status = byoc_exact_region(&regions, target, &nodes, &candidate, &reason); // any number
//   byoc_exact_regions_deinit(&regions);
#ifndef BYOC_CORE_COLLAGE_EXACT_REGION_H_
#define BYOC_CORE_COLLAGE_EXACT_REGION_H_

#include "core/collage/candidate.h"
#include "core/collage/claims.h"
#include "core/targets/target.h"

typedef struct byoc_exact_regions_t {
  byoc_claims_t claims; // empty between two questions, each of which takes time for its own nodes only
  byoc_candidates_t *list;
  const byoc_dataflow_t *flow;
  byoc_diag_t *diag;
} byoc_exact_regions_t;

// The list and the flow must live as long. Call deinit after a failure too.
byoc_status_t byoc_exact_regions_init(byoc_exact_regions_t *regions, byoc_candidates_t *list,
                                      const byoc_dataflow_t *flow, byoc_diag_t *diag);
void byoc_exact_regions_deinit(byoc_exact_regions_t *regions);

// Takes the claim of the target's partition hook with exactly these nodes, if there is one. Otherwise it claims them
// greedily, as if there were no others, and joins neighbours. If that gives one region of all of
// them, it is added to the list, unpriced (or found there). Otherwise *out_candidate is NULL and *out_reason says why,
// in the list's arena.
byoc_status_t byoc_exact_region(byoc_exact_regions_t *regions, const byoc_target_t *target,
                                const byoc_index_set_t *nodes, byoc_candidate_t **out_candidate,
                                const char **out_reason);

#endif // BYOC_CORE_COLLAGE_EXACT_REGION_H_

// The region that one target's rules make of exactly the given nodes: for plans that people edit, and for neighbouring
// regions that may become one.
#ifndef BYOC_CORE_COLLAGE_EXACT_REGION_H_
#define BYOC_CORE_COLLAGE_EXACT_REGION_H_

#include "core/collage/candidate.h"
#include "core/target/target.h"

// Claims these nodes greedily, as if there were no others, and joins neighbours. If that gives one region of all of
// them, it is added to the list, unpriced (or found there). Otherwise *out_candidate is NULL and *out_reason says why,
// in the list's arena.
byoc_status_t byoc_exact_region(byoc_candidates_t *list, const byoc_dataflow_t *flow, const byoc_target_t *target,
                                const byoc_index_set_t *nodes, byoc_diag_t *diag, byoc_candidate_t **out_candidate,
                                const char **out_reason);

#endif // BYOC_CORE_COLLAGE_EXACT_REGION_H_

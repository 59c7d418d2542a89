// Greedy claims: in the order of targets each rule takes what it matches, from the results upwards; then claims that
// may be merged are, as long as no cycle appears.
#ifndef BYOC_CORE_COLLAGE_GREEDY_H_
#define BYOC_CORE_COLLAGE_GREEDY_H_

#include "core/collage/candidate.h"
#include "core/target/target.h"

typedef BYOC_VECTOR(uint32_t) byoc_choice_t; // indices of candidates

// What `targets` (any part of the build's list; the native one takes nothing) would make of the block behind `flow`:
// the regions join `list` where they are not in it yet, with what was declined, and *out_choice (allocated by the
// list's allocator) names them in the order of their first nodes.
byoc_status_t byoc_greedy_claim(const byoc_dataflow_t *flow, const byoc_target_t *const *targets, size_t target_count,
                                byoc_candidates_t *list, byoc_diag_t *diag, byoc_choice_t *out_choice);

#endif // BYOC_CORE_COLLAGE_GREEDY_H_

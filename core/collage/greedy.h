// SPDX-License-Identifier: Apache-2.0
// Greedy claims: in the order of targets, the partition hook claims its sub-graphs, and then each rule claims its
// matches, from the results upwards. Then claims that may be merged are merged, as long as no cycle appears.
#ifndef BYOC_CORE_COLLAGE_GREEDY_H_
#define BYOC_CORE_COLLAGE_GREEDY_H_

#include "core/collage/candidate.h"
#include "core/targets/target.h"

typedef BYOC_VECTOR(uint32_t) byoc_choice_t; // indices of candidates

// Computes the regions of greedy claims by `targets` (any part of the build's list; the native one claims nothing) in
// the block behind `flow`. The regions join `list` if they are not in it yet, together with declined ones; *out_choice
// (allocated by the list's allocator) names them in the order of their first nodes.
byoc_status_t byoc_greedy_claim(const byoc_dataflow_t *flow, const byoc_target_t *const *targets, size_t target_count,
                                byoc_candidates_t *list, byoc_diag_t *diag, byoc_choice_t *out_choice);

#endif // BYOC_CORE_COLLAGE_GREEDY_H_

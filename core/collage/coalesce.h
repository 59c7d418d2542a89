// SPDX-License-Identifier: Apache-2.0
// Joins neighbouring regions of one target: a plan that the search found is cut where its candidates ended, and many
// pieces cost more calls than few.
#ifndef BYOC_CORE_COLLAGE_COALESCE_H_
#define BYOC_CORE_COLLAGE_COALESCE_H_

#include "core/collage/plan.h"
#include "core/collage/problem.h"

// Adds candidates without costs that unite regions of this choice: all connected regions, and each region with its
// neighbours behind it, if the target's rules and their limits make one region of them. Adds at most 2 per region of
// the choice. The next search decides whether they pay: it still has the old candidates, so no plan gets worse.
byoc_status_t byoc_coalesce(byoc_problem_t *problem, const byoc_target_list_t *targets, const byoc_choice_t *choice,
                            byoc_diag_t *diag, size_t *out_added);

#endif // BYOC_CORE_COLLAGE_COALESCE_H_

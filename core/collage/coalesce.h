// Neighbouring regions of one target as one: what the search found is cut where its candidates ended, and many pieces
// cost more calls than few.
#ifndef BYOC_CORE_COLLAGE_COALESCE_H_
#define BYOC_CORE_COLLAGE_COALESCE_H_

#include "core/collage/plan.h"
#include "core/collage/problem.h"

// Adds candidates, unpriced, that unite regions of this choice: all that hang together, and each region with its
// neighbours behind it, as far as the target's rules and their limits make one region of them. At most 2 for each
// region of the choice. Whether they are worth it, the next search says: it has the old candidates too, and so no plan
// gets worse.
byoc_status_t byoc_coalesce(byoc_problem_t *problem, const byoc_target_list_t *targets, const byoc_choice_t *choice,
                            byoc_diag_t *diag, size_t *out_added);

#endif // BYOC_CORE_COLLAGE_COALESCE_H_

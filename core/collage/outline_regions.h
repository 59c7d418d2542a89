// SPDX-License-Identifier: Apache-2.0
// Makes a function of a candidate, as its backend will see it. Its attributes are Compiler, Target (index in the list),
// Composite for pattern matches, and Primitive. Matches that a region was joined from become composite functions within
// it.
#ifndef BYOC_CORE_COLLAGE_OUTLINE_REGIONS_H_
#define BYOC_CORE_COLLAGE_OUTLINE_REGIONS_H_

#include "core/collage/candidate.h"
#include "core/targets/target.h"

// Moves the candidate's nodes (indices into `nodes`, a block's nodes by number) into a function; a call of it replaces
// them.
byoc_status_t byoc_outline_candidate(byoc_node_t *const *nodes, const byoc_candidate_t *candidate,
                                     const byoc_target_t *target, const char *name, byoc_diag_t *diag,
                                     byoc_function_t **out_function, byoc_node_t **out_call);

// Makes the same function beside the block, which does not change, with all constants bound into the body: for pricing.
// For a candidate of the native target the function holds just its nodes. If the rule wants constants passed, the
// function is marked Inline and calls the one that the backend will see, with the constants. The caller erases it with
// byoc_erase_candidate.
byoc_status_t byoc_outline_candidate_copy(byoc_node_t *const *nodes, const byoc_candidate_t *candidate,
                                          const byoc_target_t *target, byoc_diag_t *diag,
                                          byoc_function_t **out_function);
// The function in such a copy that the backend will see: the copy itself, or its callee.
byoc_function_t *byoc_candidate_region(const byoc_function_t *function);
// Erases the copy and its composites. Nothing else may have been added to the module since.
void byoc_erase_candidate(byoc_function_t *function);

#endif // BYOC_CORE_COLLAGE_OUTLINE_REGIONS_H_

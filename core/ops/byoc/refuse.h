// SPDX-License-Identifier: Apache-2.0
// Branches that cannot run: their nodes contradict each other, which matters only if the condition chooses them.
//
//   byoc::Refuse   ends the run with a message; its results are what the If expects, of types that nobody knows
//   byoc::Fail     the same as the host program does it: one text, no results
#ifndef BYOC_CORE_OPS_BYOC_REFUSE_H_
#define BYOC_CORE_OPS_BYOC_REFUSE_H_

#include "core/base/diag.h"
#include "core/ir/graph.h"

// Replaces what a branch of an If does by Refuse with the text of `fault`. Its results get unknown types, so that the
// types of the If's results are those of the other branch.
byoc_status_t byoc_refuse_branch(byoc_block_t *branch, const char *name, const byoc_diag_t *fault, byoc_diag_t *diag);
// Was the branch replaced? The message, or NULL.
const char *byoc_refusal_of(const byoc_block_t *branch);

#endif // BYOC_CORE_OPS_BYOC_REFUSE_H_

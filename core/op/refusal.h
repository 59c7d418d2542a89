// SPDX-License-Identifier: Apache-2.0
// Branches that cannot run: their nodes contradict each other, which matters only if the condition chooses them.
#ifndef BYOC_CORE_OP_REFUSAL_H_
#define BYOC_CORE_OP_REFUSAL_H_

#include "core/base/diag.h"
#include "core/ir/graph.h"

// The attribute of byoc::Refuse (core/ops/byoc/refuse.c) that holds its message.
#define BYOC_REFUSE_MESSAGE "message"

// Replaces the nodes of a branch of an If by one byoc::Refuse with the text of `fault`. Its results get unknown types,
// so that the types of the If's results are those of the other branch.
byoc_status_t byoc_refuse_branch(byoc_block_t *branch, const char *name, const byoc_diag_t *fault, byoc_diag_t *diag);
// The message of a branch that was replaced; NULL for any other.
const char *byoc_refusal_of(const byoc_block_t *branch);

#endif // BYOC_CORE_OP_REFUSAL_H_

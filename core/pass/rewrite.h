// SPDX-License-Identifier: Apache-2.0
// What passes that rewrite nodes share. Internal to core/pass.
#ifndef BYOC_CORE_PASS_REWRITE_H_
#define BYOC_CORE_PASS_REWRITE_H_

#include "core/base/diag.h"
#include "core/ir/graph.h"

// Replaces the node's first result by `by` for all readers and removes the node, whose other results are unused; this
// counts as one change. A value that was made for this takes the result's name; one that has a name keeps it. NULL for
// `by` means that it could not be made: `diag` says why, or memory ran out.
byoc_status_t byoc_pass_replace(byoc_node_t *node, byoc_value_t *by, byoc_diag_t *diag, size_t *changes);
// A constant of other sizes with the name, element type and place of `like`, for the caller to fill; NULL if out of
// memory.
byoc_value_t *byoc_pass_constant_like(const byoc_node_t *node, const byoc_value_t *like, int32_t rank,
                                      const int64_t *sizes, void **out_data);
// True if nobody reads the node's results and it has no other effect.
bool byoc_pass_is_unused(const byoc_node_t *node);

#endif // BYOC_CORE_PASS_REWRITE_H_

// SPDX-License-Identifier: Apache-2.0
// Blocked layouts as nodes: byoc::ToBlocked and byoc::FromBlocked (core/ops/byoc/blocked.c defines them).
#ifndef BYOC_CORE_OPS_BYOC_BLOCKED_H_
#define BYOC_CORE_OPS_BYOC_BLOCKED_H_

#include "core/ir/graph.h"

// Elements of the innermost dimension when passes choose it: one AVX-512 vector of f32.
#define BYOC_LAYOUT_BLOCK 16

static inline bool byoc_is_to_blocked(const byoc_node_t *node) {
  return node != NULL && byoc_node_is(node, "byoc", "ToBlocked");
}
static inline bool byoc_is_from_blocked(const byoc_node_t *node) {
  return node != NULL && byoc_node_is(node, "byoc", "FromBlocked");
}
static inline bool byoc_is_layout_change(const byoc_node_t *node) {
  return byoc_is_to_blocked(node) || byoc_is_from_blocked(node);
}
// Do two changes of layout use the same blocked layout?
bool byoc_same_blocks(const byoc_node_t *a, const byoc_node_t *b);
// Is it the layout of the functions below: axis 1 in blocks of BYOC_LAYOUT_BLOCK?
bool byoc_is_usual_layout(const byoc_node_t *node);

// x in blocks along axis 1, and back; types are inferred. NULL if out of memory or if the types do not fit.
byoc_node_t *byoc_create_to_blocked(byoc_block_t *block, byoc_node_t *before, byoc_value_t *x);
byoc_node_t *byoc_create_from_blocked(byoc_block_t *block, byoc_node_t *before, byoc_value_t *x);

#endif // BYOC_CORE_OPS_BYOC_BLOCKED_H_

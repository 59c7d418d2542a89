// SPDX-License-Identifier: Apache-2.0
// Fusion: decides which nodes of a block share a kernel.
//
// Example:
//   byoc_fusion_t fusion;
//   BYOC_RETURN_IF_ERROR(byoc_fuse_block(block, true, &scratch, diag, &fusion));
//   for (size_t i = 0; i < fusion.groups.count; ++i) make_kernel(fusion.groups.data[i]); // one for each group
//
// A group is an anchor (a loop nest, or a point definition whose result's elements are the iteration space) and its
// epilogue: the elementwise nodes that follow it at the same shape. Point producers that are read once per element, or
// that cost next to nothing, are inlined into their consumers and do not form groups. Groups are convex (no path leaves
// a group and comes back), so that calls can replace them, and nothing is moved in front of a check that came before
// it. Nodes with nested blocks, calls and views are never in a group; values that nested blocks read count as read from
// outside.
#ifndef BYOC_CORE_KERNEL_FUSE_H_
#define BYOC_CORE_KERNEL_FUSE_H_

#include "core/ir/numbering.h"
#include "core/op/op.h"

typedef enum byoc_fuse_class_t {
  BYOC_FUSE_KEEP,  // stays in the host function: views, calls, control flow
  BYOC_FUSE_POINT, // one expression per element
  BYOC_FUSE_LOOPS, // a loop nest
} byoc_fuse_class_t;

typedef struct byoc_fuse_group_t byoc_fuse_group_t;

// The analysis of one node of the block.
typedef struct byoc_fuse_node_t {
  byoc_node_t *node;
  const byoc_op_t *op; // NULL for calls
  byoc_fuse_class_t kind;
  uint32_t position;         // in the block
  uint32_t checks;           // number of byoc::CheckDims in front of it
  uint32_t cost;             // operations per element, with inlined producers; POINT
  uint32_t loads;            // distinct elements of tensors read per element, without scalar constants; POINT
  uint32_t reads;            // how often they occur in the expression; POINT
  bool inlined;              // computed inside its consumers
  byoc_fuse_group_t *group;  // NULL if inlined or kept
  const uint32_t *producers; // positions of nodes of this block that it, or its nested blocks, read
  uint32_t producer_count;
  uint32_t visited; // stamp of the last search
} byoc_fuse_node_t;

struct byoc_fuse_group_t {
  byoc_node_t *anchor;
  BYOC_VECTOR(byoc_node_t *) nodes; // anchor first, in block order; inlined producers are not listed
  uint32_t first, last;             // positions
  uint32_t size;                    // its nodes and their operands
};

typedef struct byoc_fusion_t {
  byoc_numbering_t numbers; // positions
  byoc_fuse_node_t *nodes;  // by position
  uint32_t node_count;
  BYOC_VECTOR(byoc_fuse_group_t *) groups; // by position of their anchors
  uint32_t stamp;
} byoc_fusion_t;

// Groups the nodes of `block` (not those of nested blocks). Everything in `out_fusion` lives in `arena`. If `fuse` is
// false, every node is a group. BYOC_UNSUPPORTED names a node whose operator has no definition.
byoc_status_t byoc_fuse_block(byoc_block_t *block, bool fuse, byoc_arena_t *arena, byoc_diag_t *diag,
                              byoc_fusion_t *out_fusion);
// The entry of a node of that block; NULL for nodes of other blocks.
byoc_fuse_node_t *byoc_fusion_find(const byoc_fusion_t *fusion, const byoc_node_t *node);

// Fills cost, loads and reads of a point definition by a trial lowering. False if that fails (the real lowering then
// reports why).
bool byoc_point_cost(byoc_fuse_node_t *entry, byoc_allocator_t allocator);

#endif // BYOC_CORE_KERNEL_FUSE_H_

// SPDX-License-Identifier: Apache-2.0
// Tensors that lie inside of one another, in a graph whose kernels are about to be outlined:
//
//   byoc::Join(%a, %b, ...)            the bytes of its operands, one after the other, under its result's type
//   byoc::Part(%x) {offset_bytes = n}  as many bytes of %x as its result has, from byte n on: no code at all
//   byoc::Part(%x, %turn) {offset_bytes = n, step_bytes = m}
//                                      inside of a Loop whose shapes are known, with its iteration: from byte n + turn
//                                      * m
//
// The host program writes the operands of a Join directly into its result where it can, and copies the others.
#ifndef BYOC_CORE_OPS_BYOC_STORAGE_H_
#define BYOC_CORE_OPS_BYOC_STORAGE_H_

#include "core/op/op.h"

#define BYOC_PART_OFFSET "offset_bytes"
#define BYOC_PART_STEP   "step_bytes"

// Are the bytes of a Concat's operands contiguous in its result? Shapes must be known, and dimensions before the axis
// must be 1.
bool byoc_concat_joins(const byoc_node_t *node);

// Is this result of a Split or Slice a contiguous part of operand 0? Then *out_offset_bytes is its begin.
bool byoc_result_is_part(const byoc_node_t *node, uint32_t result, uint64_t *out_offset_bytes);

// Is the node a Gather of one contiguous slice whose position follows from the iteration of a surrounding Loop with
// known shapes? Then *out_turn is the iteration, and the slice begins at *out_offset_bytes + turn * *out_step_bytes.
bool byoc_gathers_turning_part(const byoc_node_t *node, byoc_value_t **out_turn, int64_t *out_offset_bytes,
                               int64_t *out_step_bytes);

// All insert the node before `before` (the last one at the end of its block if that is NULL); NULL if out of memory.
byoc_node_t *byoc_join_create(byoc_node_t *before, byoc_value_t *const *operands, uint32_t operand_count,
                              const byoc_type_t *type);
byoc_node_t *byoc_part_create(byoc_node_t *before, byoc_value_t *operand, uint64_t offset_bytes,
                              const byoc_type_t *type);
byoc_node_t *byoc_turning_part_create(byoc_block_t *block, byoc_node_t *before, byoc_value_t *operand,
                                      byoc_value_t *iteration, int64_t offset_bytes, int64_t step_bytes,
                                      const byoc_type_t *type);

#endif // BYOC_CORE_OPS_BYOC_STORAGE_H_

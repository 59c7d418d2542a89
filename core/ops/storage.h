// Tensors that lie inside of one another, in a graph whose kernels are about to be outlined:
//
//   byoc::Join(%a, %b, ...)            the bytes of its operands, one behind the other, under its result's type
//   byoc::Part(%x) {offset_bytes = n}  as many bytes of %x as its result has, from byte n on: no code at all
//
// The host program writes the operands of a Join directly to their places, and copies those for which it cannot.
#ifndef BYOC_CORE_OPS_STORAGE_H_
#define BYOC_CORE_OPS_STORAGE_H_

#include "core/ops/op.h"

#define BYOC_PART_OFFSET "offset_bytes"

// Are the bytes of a Concat's operands contiguous in its result? That needs known shapes, and dimensions of 1 in front
// of the axis.
bool byoc_concat_joins(const byoc_node_t *node);

// Is this result of a Split or Slice a contiguous part of operand 0? Then *out_offset_bytes is where it begins.
bool byoc_result_is_part(const byoc_node_t *node, uint32_t result, uint64_t *out_offset_bytes);

// Both are made in front of `before`; NULL if out of memory.
byoc_node_t *byoc_join_create(byoc_node_t *before, byoc_value_t *const *operands, uint32_t operand_count,
                              const byoc_type_t *type);
byoc_node_t *byoc_part_create(byoc_node_t *before, byoc_value_t *operand, uint64_t offset_bytes,
                              const byoc_type_t *type);

#endif // BYOC_CORE_OPS_STORAGE_H_

// What operators with nested blocks share: types of what leaves a block.
#ifndef BYOC_CORE_OPS_CONTROL_H_
#define BYOC_CORE_OPS_CONTROL_H_

#include "core/ops/util.h"

// The dimensions that are known around a node with nested blocks: those of its operands and of the values that its
// blocks read from outside.
typedef struct byoc_around_t {
  const byoc_infer_t *infer;
  byoc_map_t known; // text map: the dimensions' symbols and unknowns as text
  bool failed;
} byoc_around_t;

void byoc_around_init(byoc_around_t *around, const byoc_infer_t *infer);
void byoc_around_deinit(byoc_around_t *around);

// The type that holds both, seen from outside: dimensions that differ, or that come to be inside of a block, are
// unknown; ranks that differ leave it unranked. NULL where kinds or element types differ, or memory is out
// (around->failed). An optional holds what its element is held by.
const byoc_type_t *byoc_join_types(byoc_around_t *around, const byoc_type_t *a, const byoc_type_t *b);

#endif // BYOC_CORE_OPS_CONTROL_H_

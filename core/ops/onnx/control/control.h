// SPDX-License-Identifier: Apache-2.0
// Types of values that leave a nested block, for operators with nested blocks.
#ifndef BYOC_CORE_OPS_ONNX_CONTROL_CONTROL_H_
#define BYOC_CORE_OPS_ONNX_CONTROL_CONTROL_H_

#include "core/op/util.h"

// The dimensions that are known around a node with nested blocks: those of its operands and of outside values that its
// blocks read.
typedef struct byoc_around_t {
  const byoc_infer_t *infer;
  byoc_map_t known; // text map: the dimensions' symbols and unknowns as text
  bool failed;
} byoc_around_t;

void byoc_around_init(byoc_around_t *around, const byoc_infer_t *infer);
void byoc_around_deinit(byoc_around_t *around);

// The common type of both, as seen from outside: dimensions that differ, or that are made inside a block, become
// unknown; different ranks make it unranked. NULL if kinds or element types differ, or if out of memory
// (around->failed). For optionals this applies to the elements.
const byoc_type_t *byoc_join_types(byoc_around_t *around, const byoc_type_t *a, const byoc_type_t *b);

// Is everything but the chosen branch known before the run, so that a host program needs no cells? Operands, results
// and nested values must have known shapes. Inside, the host may run only such nodes, Joins, operators on strings and
// checks of values. The branches of an If must have the same types. A Loop must have a constant number of iterations,
// no condition, and the same types in each iteration.
bool byoc_control_is_static(const byoc_node_t *node);
// The number of iterations of such a Loop.
int64_t byoc_static_loop_iterations(const byoc_node_t *loop);

#endif // BYOC_CORE_OPS_ONNX_CONTROL_CONTROL_H_

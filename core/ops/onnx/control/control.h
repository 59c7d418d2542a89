// SPDX-License-Identifier: Apache-2.0
// Types of values that leave a nested block: what operators with nested blocks share.
#ifndef BYOC_CORE_OPS_ONNX_CONTROL_CONTROL_H_
#define BYOC_CORE_OPS_ONNX_CONTROL_CONTROL_H_

#include "core/op/util.h"

// The dimensions known around a node with nested blocks: those of its operands and of the outside values that its
// blocks read.
typedef struct byoc_around_t {
  const byoc_infer_t *infer;
  byoc_map_t known; // text map: the dimensions' symbols and unknowns as text
  bool failed;
} byoc_around_t;

void byoc_around_init(byoc_around_t *around, const byoc_infer_t *infer);
void byoc_around_deinit(byoc_around_t *around);

// The type that holds both, seen from outside: dimensions that differ, or that are made inside a block, become unknown;
// ranks that differ make it unranked. NULL if kinds or element types differ, or if out of memory (around->failed). For
// optionals this applies to the elements.
const byoc_type_t *byoc_join_types(byoc_around_t *around, const byoc_type_t *a, const byoc_type_t *b);

// Is everything known before the run but which case it is, so that a host program needs no cells for it? Operands,
// results and all that is nested have known shapes, and the host runs nothing inside but such nodes, Joins, texts and
// checks of values. The cases of an If give the same types; a Loop has a constant number of turns, no condition, and
// carries the same types from turn to turn.
bool byoc_control_is_static(const byoc_node_t *node);
// The number of turns of such a Loop.
int64_t byoc_static_loop_turns(const byoc_node_t *loop);

#endif // BYOC_CORE_OPS_ONNX_CONTROL_CONTROL_H_

// SPDX-License-Identifier: Apache-2.0
// The context of core/op/lowering.h, for its callers: it lowers one outlined group to one kernel. A trial records the
// loads and the cost of a definition instead.
//
// Example:
//   byoc_lower_t lower;
//   byoc_lower_init(&lower, &arena, "kernel", find_point, diag);
//   lower.function = function, lower.members = members, lower.member_count = member_count;
//   // Buffers of parameters and results go into lower.buffers; then byoc_lower_point and byoc_lower_store make loops.
//   byoc_lower_deinit(&lower);
#ifndef BYOC_CORE_OP_LOWERING_CONTEXT_H_
#define BYOC_CORE_OP_LOWERING_CONTEXT_H_

#include "core/base/diag.h"
#include "core/base/map.h"
#include "core/base/vector.h"
#include "core/op/lowering.h"

// The point definition of a node. The caller looks it up, because the context does not know the operator table.
typedef struct byoc_lower_definition_t {
  byoc_lower_point_fn_t point; // NULL if the node has none
  bool is_elementwise;         // false: the definition may guard its loads, and nothing is hoisted out of it
} byoc_lower_definition_t;

typedef byoc_lower_definition_t (*byoc_lower_find_fn_t)(const byoc_node_t *node);

// The value of an element that was already computed, and its indices.
typedef struct byoc_lower_element_t {
  const byoc_value_t *value;
  const byoc_loop_expr_t *indices[BYOC_MAX_RANK];
  int32_t rank;
  const byoc_loop_expr_t *expr;
} byoc_lower_element_t;

struct byoc_lower_t {
  byoc_loop_builder_t builder;
  byoc_diag_t *diag;
  byoc_lower_find_fn_t find;
  byoc_function_t *function;   // the outlined group; NULL in a trial
  byoc_map_t buffers;          // pointer map: parameter or result value → byoc_loop_buffer_t *
  byoc_node_t *const *members; // anchor and epilogue in order; every other node of the body is inlined
  uint32_t member_count;
  // Known elements, while one element of the anchor is computed and stored; in a trial, the elements that were loaded.
  BYOC_VECTOR(byoc_lower_element_t) elements;
  int frames;   // nested evaluations in progress; elements are forgotten when the last one ends
  int guarded;  // inside definitions that may guard their loads: nothing is hoisted out of them
  bool refused; // a definition asked for an element that does not exist or has no value
};

// Makes an empty context, which is a trial until `function` is set. Everything that it makes lives in `arena`. When
// memory runs out, lower->builder.failed is set. byoc_lower_deinit must be called even after a failure.
void byoc_lower_init(byoc_lower_t *lower, byoc_arena_t *arena, const char *name, byoc_lower_find_fn_t find,
                     byoc_diag_t *diag);
void byoc_lower_deinit(byoc_lower_t *lower);
// Did the context fail because memory ran out, and not because a definition loaded an element that does not exist?
bool byoc_lower_is_out_of_memory(const byoc_lower_t *lower);

// Between the two calls, one element is computed and stored; values computed for it are reused.
size_t byoc_lower_begin_element(byoc_lower_t *lower);
void byoc_lower_end_element(byoc_lower_t *lower, size_t mark);

// The element of a node that has a point definition; NULL after a failure.
const byoc_loop_expr_t *byoc_lower_point(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                         const byoc_loop_expr_t *const *indices);

#endif // BYOC_CORE_OP_LOWERING_CONTEXT_H_

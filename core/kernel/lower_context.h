// The lowering of one outlined group to one kernel, and the trial lowering that costs come from. Internal to
// core/kernel.
#ifndef BYOC_CORE_KERNEL_LOWER_CONTEXT_H_
#define BYOC_CORE_KERNEL_LOWER_CONTEXT_H_

#include "core/ops/op.h"

// The value of an element that was computed already, at the indices it was computed for.
typedef struct byoc_lower_element_t {
  const byoc_value_t *value;
  const byoc_loop_expr_t *indices[BYOC_MAX_RANK];
  int32_t rank;
  const byoc_loop_expr_t *expr;
} byoc_lower_element_t;

struct byoc_lower_t {
  byoc_loop_builder_t builder;
  byoc_diag_t *diag;
  byoc_function_t *function;   // the outlined group; NULL in a trial
  byoc_map_t buffers;          // pointer map: parameter or result value → byoc_loop_buffer_t *
  byoc_node_t *const *members; // anchor and epilogue in order; every other node of the body is inlined
  uint32_t member_count;
  const byoc_loop_buffer_t *trial; // what a trial loads from
  // Elements known while one element of the anchor is computed and stored.
  BYOC_VECTOR(byoc_lower_element_t) elements;
  int frames;   // nested evaluations in progress; elements are forgotten when the last one ends
  int guarded;  // inside definitions that may guard their loads: nothing is hoisted out of them
  bool refused; // a definition asked for an element that cannot be had
};

// Makes function->kernel from its body. members[0] is the anchor, the rest its epilogue, all in function->body.
byoc_status_t byoc_lower_function(byoc_function_t *function, byoc_node_t *const *members, uint32_t member_count,
                                  byoc_diag_t *diag);

// Loops over the elements of the anchor's results, for anchors with a point definition.
byoc_status_t byoc_lower_point_anchor(byoc_lower_t *lower, const byoc_node_t *anchor, const byoc_op_t *op);

#endif // BYOC_CORE_KERNEL_LOWER_CONTEXT_H_

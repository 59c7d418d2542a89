// SPDX-License-Identifier: Apache-2.0
// build.h - functions for the builders of operators (op_*.c). They work on a function that is being built, record
// failures in function->error, and return a status.
#ifndef BYOC_DNNL_BUILD_H_
#define BYOC_DNNL_BUILD_H_

#include "engine/function/function.h"
#include "engine/graph/layout.h"

#define BYOC_DNNL_RETURN_IF_ERROR(expression)                                                                          \
  do {                                                                                                                 \
    int32_t status_ = (expression);                                                                                    \
    if (status_ != BYOC_OK) return status_;                                                                            \
  } while (0)

// At most this many post-ops become part of one primitive (oneDNN's limit is 32).
#define BYOC_DNNL_FUSED_LIMIT 16

// Reports "symbol, node: what".
int32_t byoc_dnnl_node_fail(byoc_dnnl_function_t *function, int32_t status, const char *what);
// The same for a call of oneDNN, if it failed.
int32_t byoc_dnnl_check(byoc_dnnl_function_t *function, dnnl_status_t status, const char *what);

// Fails if memory ran out while oneDNN made something since building began.
int32_t byoc_dnnl_check_memory(byoc_dnnl_function_t *function);

// --- Versions -------------------------------------------------------------------------------------------------------

// A version on a buffer of its own in the arena.
int32_t byoc_dnnl_create_version(byoc_dnnl_function_t *function, const dnnl_memory_desc_t *desc, int32_t *out_version);
// Another view of the buffer of `version`.
int32_t byoc_dnnl_create_view(byoc_dnnl_function_t *function, int32_t version, const dnnl_memory_desc_t *desc,
                              int32_t *out_version);
// A version for a result of the current node: on the caller's output tensor where that has the layout.
int32_t byoc_dnnl_create_result(byoc_dnnl_function_t *function, int32_t value, const dnnl_memory_desc_t *desc,
                                int32_t *out_version);
// Makes `version` one of the value's.
void byoc_dnnl_define(byoc_dnnl_function_t *function, int32_t value, int32_t version);

// The value in the layout `wanted`, reordered at most once; NULL: in a layout that it has.
int32_t byoc_dnnl_read(byoc_dnnl_function_t *function, int32_t value, const dnnl_memory_desc_t *wanted,
                       int32_t *out_version);
// The value in a layout that it has and that leaves no gaps (slices do), so that a result can have the same.
int32_t byoc_dnnl_read_dense(byoc_dnnl_function_t *function, int32_t value, int32_t *out_version);
int32_t byoc_dnnl_read_plain(byoc_dnnl_function_t *function, int32_t value, int32_t *out_version);
// A layout under other dimensions of the same element count; dnnl_unimplemented if it has none. Padded layouts are
// refused here: oneDNN 2.7 drops a blocked dimension of 1 as if it had no padding.
dnnl_status_t byoc_dnnl_reshape(const byoc_dnnl_function_t *function, const dnnl_memory_desc_t *desc, int32_t rank,
                                const dnnl_dims_t dims, dnnl_memory_desc_t *out_desc);
// The value with other dimensions of the same element count, on the memory of a version where that is possible.
int32_t byoc_dnnl_read_reshaped(byoc_dnnl_function_t *function, int32_t value, int32_t rank, const dnnl_dims_t dims,
                                int32_t *out_version);
// The value as the second operand of a result with these dimensions: leading dimensions of 1 added.
int32_t byoc_dnnl_read_broadcast(byoc_dnnl_function_t *function, int32_t value, int32_t rank, const dnnl_dims_t dims,
                                 int32_t *out_version);
// A new version in the layout `wanted`, filled from another (once, at creation, where that is constant).
int32_t byoc_dnnl_reorder(byoc_dnnl_function_t *function, int32_t from_version, const dnnl_memory_desc_t *wanted,
                          int32_t *out_version);
// A fresh copy of the value in that layout, which nobody else will read.
int32_t byoc_dnnl_read_copy(byoc_dnnl_function_t *function, int32_t value, const dnnl_memory_desc_t *wanted,
                            int32_t *out_version);

static inline const dnnl_memory_desc_t *byoc_dnnl_desc(const byoc_dnnl_function_t *function, int32_t version) {
  return &function->versions[version].desc;
}
// Whether the version's memory may be overwritten by the current node's result: nothing later reads the value.
int byoc_dnnl_can_overwrite(const byoc_dnnl_function_t *function, int32_t value, int32_t version);

// --- Steps ----------------------------------------------------------------------------------------------------------

// Creates the step; `primitive_desc` is its own then, and destroyed on failure.
int32_t byoc_dnnl_add_step(byoc_dnnl_function_t *function, dnnl_primitive_desc_t primitive_desc,
                           const byoc_dnnl_argument_t *arguments, int32_t argument_count);
int32_t byoc_dnnl_add_reorder(byoc_dnnl_function_t *function, int32_t from_version, int32_t to_version);
// The same for plain loops: from x, and z if there are three arguments, to the second one.
int32_t byoc_dnnl_add_plain_step(byoc_dnnl_function_t *function, const byoc_dnnl_plain_t *plain,
                                 const byoc_dnnl_argument_t *arguments, int32_t argument_count);
// Attributes that every primitive gets: the scratchpad is the instance's.
int32_t byoc_dnnl_create_attributes(byoc_dnnl_function_t *function, dnnl_primitive_attr_t *out_attributes);

// --- Primitives with post-ops (post_ops.c) ---------------------------------------------------------------------------

// A node's primitive, and how many of its post-ops are part of it; the others become steps of their own.
typedef struct byoc_dnnl_fusion_t {
  dnnl_primitive_desc_t primitive_desc;
  uint32_t fused_count;
  int32_t sum_value; // the value whose memory the result takes over because it is added to it, or -1
  struct {
    int32_t role, value;
    int32_t version; // -1: in the layout that the primitive asks for
  } operands[BYOC_DNNL_FUSED_LIMIT];
  uint32_t operand_count;
} byoc_dnnl_fusion_t;

// Creates the primitive descriptor for the operation `op_desc`, whose result has the given dimensions, with as many
// post-ops as an optimised kernel supports.
int32_t byoc_dnnl_fuse(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node, const void *op_desc,
                       int32_t result_rank, const dnnl_dims_t result_dims, float scale, byoc_dnnl_fusion_t *out_fusion);
// Adds the step, with DNNL_ARG_DST and the post-ops' operands added to `arguments`, then the post-ops left over, and
// defines the node's output. `overwrite` is a version that the result may take over, or -1.
int32_t byoc_dnnl_finish_node(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node, byoc_dnnl_fusion_t *fusion,
                              const byoc_dnnl_argument_t *arguments, int32_t argument_count, int32_t overwrite);
// Defines the node's output as `version`, after its post-ops from `first` on.
int32_t byoc_dnnl_apply_post_ops(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node, uint32_t first,
                                 int32_t version);

// --- Nodes of x, weights and maybe a bias (weighted.c) --------------------------------------------------------------

typedef struct byoc_dnnl_weighted_t {
  const byoc_dnnl_value_t *input, *weights, *output;
  const byoc_dnnl_value_t *bias;                            // or NULL
  dnnl_memory_desc_t input_desc, weights_desc, output_desc; // the primitive chooses the layouts
} byoc_dnnl_weighted_t;

// Fails if the node has no weights.
int32_t byoc_dnnl_weighted(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node,
                           byoc_dnnl_weighted_t *out_weighted);
// Adds the step of the primitive that `fusion` has, with the operands in the layouts that it chose.
int32_t byoc_dnnl_finish_weighted(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node,
                                  byoc_dnnl_fusion_t *fusion);

// --- Careful functions (plain_step.c) --------------------------------------------------------------------------------

// Whether the current function has to compute it by plain loops; notes that it may lose a NaN if it does not.
int byoc_dnnl_is_plain(byoc_dnnl_function_t *function, dnnl_alg_kind_t algorithm, float alpha);
// The node as a step of plain loops, and its post-ops. Dimensions are filled in, but those of a reduction's result.
int32_t byoc_dnnl_build_plain(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node,
                              const byoc_dnnl_plain_t *plain);
// Applies a post-op to *version, in place or in another one.
int32_t byoc_dnnl_plain_post_op(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node,
                                const byoc_dnnl_post_op_t *post_op, int32_t *version);

// --- Operators (operators.def) --------------------------------------------------------------------------------------

typedef int32_t (*byoc_dnnl_operator_t)(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node);
#define BYOC_DNNL_OPERATOR(name)                                                                                       \
  int32_t byoc_dnnl_build_##name(byoc_dnnl_function_t *function, const byoc_dnnl_node_t *node);
#include "engine/function/operators.def"
#undef BYOC_DNNL_OPERATOR

#endif // BYOC_DNNL_BUILD_H_

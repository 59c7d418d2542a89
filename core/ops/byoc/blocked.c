// SPDX-License-Identifier: Apache-2.0
// The `byoc` domain: blocked layouts, in which kernels read and write one vector of channels as the innermost
// dimension.
//
//   ToBlocked     one axis is cut into blocks, which become the innermost dimension: [N,C,H,W] → [N,C/16,H,W,16]
//   FromBlocked   the inverse
//
// Attributes: `axis` (default 1; of the plain tensor) and `block` (default 16), which divides that axis.
#include "core/ops/byoc/blocked.h"

#include "core/op/util.h"

typedef struct blocked_t {
  int32_t rank, axis; // of the plain tensor
  int64_t block;
} blocked_t;

// The attributes, for a plain tensor of rank `rank`.
static byoc_status_t read_blocked(const byoc_infer_t *infer, int32_t rank, blocked_t *out) {
  out->rank = rank;
  out->block = byoc_node_int(infer->node, "block");
  if (out->block < 1 || out->block > INT16_MAX) {
    return byoc_infer_error(infer, "attribute 'block': expected 1 to %d, got %lld", INT16_MAX, (long long)out->block);
  }
  return byoc_infer_axis(infer, "axis", rank, &out->axis);
}

static blocked_t blocked_of(const byoc_node_t *node, int32_t rank) {
  return (blocked_t){rank, byoc_node_axis(node, "axis", rank), byoc_node_int(node, "block")};
}

bool byoc_same_blocks(const byoc_node_t *a, const byoc_node_t *b) {
  const byoc_node_t *nodes[] = {a, b};
  blocked_t blocked[2];
  for (int i = 0; i < 2; ++i) {
    const byoc_type_t *type = byoc_is_to_blocked(nodes[i]) ? nodes[i]->operands[0]->type : nodes[i]->results[0]->type;
    if (!byoc_is_ranked(type)) return false;
    blocked[i] = blocked_of(nodes[i], type->rank);
  }
  return blocked[0].rank == blocked[1].rank && blocked[0].axis == blocked[1].axis &&
         blocked[0].block == blocked[1].block;
}

bool byoc_is_usual_layout(const byoc_node_t *node) {
  return byoc_node_int(node, "axis") == 1 && byoc_node_int(node, "block") == BYOC_LAYOUT_BLOCK;
}

byoc_node_t *byoc_create_to_blocked(byoc_block_t *block, byoc_node_t *before, byoc_value_t *x) {
  return byoc_op_create(block, before, "byoc", "ToBlocked", &x, 1, 1, NULL);
}

byoc_node_t *byoc_create_from_blocked(byoc_block_t *block, byoc_node_t *before, byoc_value_t *x) {
  return byoc_op_create(block, before, "byoc", "FromBlocked", &x, 1, 1, NULL);
}

static byoc_status_t infer_to_blocked(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, BYOC_MAX_RANK - 1));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  blocked_t blocked;
  BYOC_RETURN_IF_ERROR(read_blocked(infer, x->rank, &blocked));
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  if (!byoc_dim_is_constant(x->dims[blocked.axis]) || x->dims[blocked.axis].constant % blocked.block != 0) {
    char text[BYOC_TYPE_TEXT_SIZE];
    return byoc_infer_error(infer, "operand 0: expected a multiple of %lld in dimension %d, got %s",
                            (long long)blocked.block, blocked.axis, byoc_type_text(x, text));
  }
  dims[blocked.axis] = byoc_dim_constant(x->dims[blocked.axis].constant / blocked.block);
  dims[x->rank] = byoc_dim_constant(blocked.block);
  return byoc_infer_set(infer, 0, x->dtype, x->rank + 1, dims);
}

static byoc_status_t infer_from_blocked(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 2, BYOC_MAX_RANK));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  blocked_t blocked;
  bool failed = false;
  BYOC_RETURN_IF_ERROR(read_blocked(infer, x->rank - 1, &blocked));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 0, blocked.rank, byoc_dim_constant(blocked.block)));
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < blocked.rank; ++d) dims[d] = x->dims[d];
  dims[blocked.axis] =
      byoc_infer_dim(infer, BYOC_DIM_MUL, dims[blocked.axis], byoc_dim_constant(blocked.block), &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, x->dtype, blocked.rank, dims);
}

static const byoc_loop_expr_t *point_to_blocked(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                                const byoc_loop_expr_t *const *indices) {
  (void)result;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  blocked_t blocked = blocked_of(node, node->operands[0]->type->rank);
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *block = byoc_loop_int(b, blocked.block);
  for (int32_t d = 0; d < blocked.rank; ++d) at[d] = indices[d];
  at[blocked.axis] = BYOC_LADD(b, BYOC_LMUL(b, indices[blocked.axis], block), indices[blocked.rank]);
  return byoc_lower_load(lower, node, 0, at);
}

static const byoc_loop_expr_t *point_from_blocked(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                                  const byoc_loop_expr_t *const *indices) {
  (void)result;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  blocked_t blocked = blocked_of(node, node->operands[0]->type->rank - 1);
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *block = byoc_loop_int(b, blocked.block);
  for (int32_t d = 0; d < blocked.rank; ++d) at[d] = indices[d];
  at[blocked.axis] = BYOC_LDIV(b, indices[blocked.axis], block);
  at[blocked.rank] = BYOC_LMOD(b, indices[blocked.axis], block);
  return byoc_lower_load(lower, node, 0, at);
}

static const byoc_op_attribute_t blocked_attributes[] = {
    {BYOC_ATTR_INT("axis", 1)},
    {BYOC_ATTR_INT("block", BYOC_LAYOUT_BLOCK)},
    BYOC_ATTR_END,
};

#define ROW(op_name, function)                                                                                         \
  {                                                                                                                    \
    .domain = "byoc", .name = #op_name, .since_version = 1, .min_inputs = 1, .max_inputs = 1, .min_outputs = 1,        \
    .max_outputs = 1, .traits = BYOC_OP_INJECTIVE, .attributes = blocked_attributes, .infer = infer_##function,        \
    .point = point_##function                                                                                          \
  }

const byoc_op_t byoc_ops_blocked[] = {ROW(ToBlocked, to_blocked), ROW(FromBlocked, from_blocked)};
const size_t byoc_ops_blocked_count = sizeof byoc_ops_blocked / sizeof *byoc_ops_blocked;

// SPDX-License-Identifier: Apache-2.0
// Collectives of ranks as nodes. The pass `shard` makes them, and the host program runs them.
//
// Blocks lie along dimension 0: AllGather and GatherBlocks make it `members` times as long, ScatterBlocks and
// ReduceScatter cut it, AllToAll exchanges its parts. The group is that of core/runtime/collective.h. Results
// that a rank does not receive are zeros.
#include "byoc/communicator_reduce.h"
#include "core/op/util.h"

static bool can_be_sent(byoc_dtype_t dtype) {
  return dtype != BYOC_DTYPE_STRING && byoc_dtype_bits(dtype) % 8 == 0;
}

static byoc_status_t check_group(const byoc_infer_t *infer) {
  const int64_t members = byoc_node_int(infer->node, "members"), stride = byoc_node_int(infer->node, "stride");
  if (members < 1 || members > INT16_MAX) return byoc_infer_error(infer, "attribute 'members': there are no ranks");
  if (stride < 1 || stride > INT16_MAX) return byoc_infer_error(infer, "attribute 'stride': must be 1 or more");
  if (byoc_node_takes(infer->node, "root")) {
    const int64_t root = byoc_node_int(infer->node, "root");
    if (root < 0 || root >= members) return byoc_infer_error(infer, "attribute 'root': no member of the group");
  }
  if (byoc_node_takes(infer->node, "reduction") &&
      !byoc_can_reduce(byoc_operand_type(infer->node, 0)->dtype,
                       (uint32_t)byoc_node_choice(infer->node, "reduction"))) {
    return byoc_infer_error(infer, "elements of this type have no such reduction");
  }
  return byoc_infer_need(infer, 0, can_be_sent, "a tensor of whole bytes");
}

static byoc_status_t infer_same(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  BYOC_RETURN_IF_ERROR(check_group(infer));
  return byoc_infer_same(infer);
}

static byoc_status_t infer_permute(byoc_infer_t *infer) {
  size_t count = 0;
  const int64_t *targets = byoc_node_ints(infer->node, "targets", &count);
  const int64_t members = byoc_node_int(infer->node, "members");
  if (targets == NULL || (int64_t)count != members) {
    return byoc_infer_error(infer, "attribute 'targets': one for each member is needed");
  }
  for (size_t i = 0; i < count; ++i) {
    if (targets[i] < -1 || targets[i] >= members) {
      return byoc_infer_error(infer, "attribute 'targets': %lld is no member", (long long)targets[i]);
    }
  }
  return infer_same(infer);
}

// Dimension 0 holds a block for each member.
static byoc_status_t check_shares(const byoc_infer_t *infer, const byoc_type_t *x) {
  const int64_t members = byoc_node_int(infer->node, "members");
  if (x->rank == 0) return byoc_infer_error(infer, "operand 0: has no dimension for the blocks");
  if (!byoc_dim_is_constant(x->dims[0])) return byoc_infer_need_multiple(infer, 0, 0, members);
  if (x->dims[0].constant % members == 0) return BYOC_OK;
  return byoc_infer_error(infer, "operand 0: %lld rows cannot be shared by %lld ranks", (long long)x->dims[0].constant,
                          (long long)members);
}

static byoc_status_t infer_all_to_all(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(infer_same(infer));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  return byoc_is_ranked(x) ? check_shares(infer, x) : BYOC_OK;
}

// Dimension 0 grows or shrinks.
static byoc_status_t infer_blocks(byoc_infer_t *infer, byoc_dim_kind_t kind) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  BYOC_RETURN_IF_ERROR(check_group(infer));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  if (x->rank == 0) return byoc_infer_error(infer, "operand 0: has no dimension for the blocks");
  if (kind == BYOC_DIM_FLOORDIV) BYOC_RETURN_IF_ERROR(check_shares(infer, x));
  byoc_dim_t dims[BYOC_MAX_RANK];
  bool failed = false;
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  dims[0] = byoc_infer_dim(infer, kind, dims[0], byoc_dim_constant(byoc_node_int(infer->node, "members")), &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, x->dtype, x->rank, dims);
}

static byoc_status_t infer_gather(byoc_infer_t *infer) {
  return infer_blocks(infer, BYOC_DIM_MUL);
}

static byoc_status_t infer_scatter(byoc_infer_t *infer) {
  return infer_blocks(infer, BYOC_DIM_FLOORDIV);
}

#define GROUP                                                                                                          \
  {BYOC_ATTR_REQUIRED(INT, "members")}, {                                                                              \
    BYOC_ATTR_INT("stride", 1)                                                                                         \
  }
#define ROOT                                                                                                           \
  { BYOC_ATTR_INT("root", 0) }
#define REDUCTION                                                                                                      \
  { BYOC_ATTR_CHOICE("reduction", "sum", "product", "min", "max") } // in the order of byoc_reduction_t

static const byoc_op_attribute_t group_attributes[] = {GROUP, BYOC_ATTR_END};
static const byoc_op_attribute_t root_attributes[] = {GROUP, ROOT, BYOC_ATTR_END};
static const byoc_op_attribute_t reduce_attributes[] = {GROUP, ROOT, REDUCTION, BYOC_ATTR_END};
static const byoc_op_attribute_t all_reduce_attributes[] = {GROUP, REDUCTION, BYOC_ATTR_END};
static const byoc_op_attribute_t permute_attributes[] = {GROUP, {BYOC_ATTR_REQUIRED(INTS, "targets")}, BYOC_ATTR_END};

// Equal collectives are not merged, and none is folded: every rank must take part in each, even if its own operand is
// constant.
#define ROW(op_name, table, infer_function)                                                                            \
  {                                                                                                                    \
    .domain = "byoc", .name = #op_name, .since_version = 1, .min_inputs = 1, .max_inputs = 1, .min_outputs = 1,        \
    .max_outputs = 1, .traits = BYOC_OP_HOST | BYOC_OP_OPAQUE | BYOC_OP_RANDOM, .attributes = table,                   \
    .infer = infer_function                                                                                            \
  }

const byoc_op_t byoc_ops_collective[] = {
    ROW(Broadcast, root_attributes, infer_same),
    ROW(GatherBlocks, root_attributes, infer_gather),
    ROW(AllGather, group_attributes, infer_gather),
    ROW(ScatterBlocks, root_attributes, infer_scatter),
    ROW(Reduce, reduce_attributes, infer_same),
    ROW(AllReduce, all_reduce_attributes, infer_same),
    ROW(ReduceScatter, all_reduce_attributes, infer_scatter),
    ROW(AllToAll, group_attributes, infer_all_to_all),
    ROW(Send, root_attributes, infer_same),    // sends its operand to `root`; its result is the operand
    ROW(Receive, root_attributes, infer_same), // receives from `root`; its operand gives the type
    ROW(Permute, permute_attributes, infer_permute),
};
const size_t byoc_ops_collective_count = sizeof byoc_ops_collective / sizeof *byoc_ops_collective;

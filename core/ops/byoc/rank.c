// SPDX-License-Identifier: Apache-2.0
// byoc::RankIs and byoc::AsRank: tensors whose rank is known only when the model runs.
//
//   byoc::RankIs   has the tensor `rank` dimensions?
//   byoc::AsRank   the tensor itself, with its rank in its type; a run in which it has another one fails
#include "core/op/util.h"

static byoc_status_t infer_rank_is(byoc_infer_t *infer) {
  if (!byoc_type_is_tensor(byoc_operand_type(infer->node, 0))) {
    return byoc_infer_error(infer, "operand 0: expected a tensor");
  }
  return byoc_infer_set(infer, 0, BYOC_DTYPE_BOOL, 0, NULL);
}

static byoc_status_t infer_as_rank(byoc_infer_t *infer) {
  const byoc_type_t *type = byoc_operand_type(infer->node, 0);
  const int64_t rank = byoc_node_int(infer->node, "rank");
  if (!byoc_type_is_tensor(type)) return byoc_infer_error(infer, "operand 0: expected a tensor");
  if (rank < 0 || rank > BYOC_MAX_RANK || (byoc_is_ranked(type) && type->rank != rank)) {
    return byoc_infer_error(infer, "attribute 'rank': %lld is not the operand's", (long long)rank);
  }
  if (byoc_is_ranked(type)) return byoc_infer_set_like(infer, 0, type->dtype, type);
  return byoc_infer_set_unknown(infer, 0, type->dtype, (int32_t)rank);
}

static const byoc_op_attribute_t rank_attributes[] = {
    {BYOC_ATTR_REQUIRED(INT, "rank")},
    BYOC_ATTR_END,
};

#define ROW(op_name, function)                                                                                         \
  {                                                                                                                    \
    .domain = "byoc", .name = op_name, .since_version = 1, .min_inputs = 1, .max_inputs = 1, .min_outputs = 1,         \
    .max_outputs = 1, .traits = BYOC_OP_HOST, .attributes = rank_attributes, .infer = function                         \
  }

const byoc_op_t byoc_ops_rank[] = {
    ROW("RankIs", infer_rank_is),
    ROW("AsRank", infer_as_rank),
};
const size_t byoc_ops_rank_count = sizeof byoc_ops_rank / sizeof *byoc_ops_rank;

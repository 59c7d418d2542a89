// SPDX-License-Identifier: Apache-2.0
// com.microsoft: short operators: distances, and operators that optimisers of diffusion models fuse. Each is written as
// operators of ai.onnx.
#include "core/ops/microsoft/common.h"

// ---- CDist ----

// The distance between each row of one matrix and each row of another.
static byoc_status_t infer_distances(byoc_infer_t *infer) {
  for (uint32_t i = 0; i < 2; ++i) BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, i, 2, 2));
  const byoc_type_t *a = byoc_operand_type(infer->node, 0), *b = byoc_operand_type(infer->node, 1);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 1, 1, a->dims[1]));
  const byoc_dim_t dims[2] = {a->dims[0], b->dims[0]};
  return byoc_infer_set(infer, 0, a->dtype, 2, dims);
}

static byoc_status_t expand_distances(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  static const int64_t first = 0, second = 1, last = -1;
  byoc_writer_t w = {.node = node, .diag = diag};
  const byoc_attribute_t keep = byoc_write_int("keepdims", 0);
  byoc_value_t *a = byoc_microsoft_unsqueeze(&w, node->operands[0], &second, 1);
  byoc_value_t *x = byoc_write_plain(&w, "Sub", a, byoc_microsoft_unsqueeze(&w, node->operands[1], &first, 1));
  x = byoc_write_plain(&w, "Mul", x, x);
  x = byoc_write_node(&w, "", "ReduceSum", x, byoc_write_vector(&w, "axes", BYOC_DTYPE_I64, 1, &last), NULL, &keep, 1);
  const bool is_root = byoc_node_choice(node, "metric") == 1;
  return byoc_write_end(&w, is_root ? byoc_write_plain(&w, "Sqrt", x, NULL) : x, out_changed);
}

// ---- BiasAdd, BiasSplitGelu ----

// x of rank 3, and a bias for each element of its last dimension.
static byoc_status_t need_biased(const byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, 0, 3, 3));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, 1));
  return byoc_infer_need_dims(infer, 1, 1, &byoc_operand_type(infer->node, 0)->dims[2]);
}

static byoc_status_t infer_bias_add(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(need_biased(infer));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, 2));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, 2, 3, byoc_operand_type(infer->node, 0)->dims));
  return byoc_infer_same(infer);
}

static byoc_status_t expand_bias_add(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *x = byoc_write_plain(&w, "Add", node->operands[0], node->operands[1]);
  return byoc_write_end(&w, byoc_write_plain(&w, "Add", x, node->operands[2]), out_changed);
}

static byoc_status_t infer_split_gelu(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(need_biased(infer));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (!byoc_dim_is_constant(x->dims[2]) || x->dims[2].constant % 2 != 0) {
    return byoc_infer_unsupported(infer, "operand 0: its last dimension must be known and even");
  }
  const byoc_dim_t dims[3] = {x->dims[0], x->dims[1], byoc_dim_constant(x->dims[2].constant / 2)};
  return byoc_infer_set(infer, 0, x->dtype, 3, dims);
}

// One half times Gelu of the other half.
static byoc_status_t expand_split_gelu(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const byoc_attribute_t attributes[] = {byoc_write_int("axis", -1), byoc_write_int("num_outputs", 2)};
  byoc_value_t *x = byoc_write_plain(&w, "Add", node->operands[0], node->operands[1]);
  w.failed |= !x;
  byoc_node_t *halves = byoc_write_many(&w, "", "Split", &x, 1, 2, attributes, 2);
  if (!halves) return byoc_diag_failure(diag);
  byoc_value_t *gate = byoc_write_plain(&w, "Gelu", halves->results[1], NULL);
  return byoc_write_end(&w, byoc_write_plain(&w, "Mul", halves->results[0], gate), out_changed);
}

// ---- GroupNorm, SkipGroupNorm ----

enum { X, GAMMA, BETA, SKIP, BIAS };

static int32_t channels_at(const byoc_node_t *node) {
  return byoc_node_flag(node, "channels_last") ? 3 : 1;
}

static byoc_status_t infer_group_norm(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, X, 4, 4));
  const byoc_dim_t channels = byoc_operand_type(node, X)->dims[channels_at(node)];
  const int64_t groups = byoc_node_int(node, "groups"), activation = byoc_node_int(node, "activation");
  for (uint32_t i = GAMMA; i <= BETA; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, byoc_dtype_is_float, "floats"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, i, 1, &channels));
  }
  if (!byoc_dim_is_constant(channels)) return byoc_infer_unsupported(infer, "the number of channels must be known");
  if (groups < 1 || channels.constant % groups != 0) {
    return byoc_infer_error(infer, "%lld channels do not divide into %lld groups", (long long)channels.constant,
                            (long long)groups);
  }
  if (activation != 0 && activation != 1) {
    return byoc_infer_error(infer, "attribute 'activation' is %lld; expected 0 or 1", (long long)activation);
  }
  return byoc_infer_same(infer);
}

static byoc_status_t infer_skip_group_norm(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(infer_group_norm(infer));
  const byoc_type_t *x = byoc_operand_type(node, X);
  if (channels_at(node) != 3) return byoc_infer_unsupported(infer, "attribute 'channels_last' is 0");
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, SKIP, 2, 4));
  const byoc_type_t *skip = byoc_operand_type(node, SKIP);
  if (skip->rank == 3) return byoc_infer_error(infer, "operand 3: expected rank 2 or 4");
  if (skip->rank == 4) BYOC_RETURN_IF_ERROR(byoc_infer_need_broadcast(infer, SKIP, 4, x->dims));
  const byoc_dim_t each[2] = {x->dims[0], x->dims[3]};
  if (skip->rank == 2) BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, SKIP, 2, each));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, BIAS));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, BIAS, 1, &x->dims[3]));
  return byoc_infer_set(infer, 1, x->dtype, 4, x->dims);
}

static byoc_status_t write_group_norm(byoc_writer_t *w, byoc_value_t *x, bool *out_changed) {
  static const int64_t second[] = {0, 3, 1, 2}, last[] = {0, 2, 3, 1};
  const byoc_node_t *node = w->node;
  const bool is_last = channels_at(node) == 3;
  const byoc_dtype_t dtype = node->operands[X]->type->dtype;
  const byoc_attribute_t attributes[] = {
      byoc_write_int("num_groups", byoc_node_int(node, "groups")),
      {.name = "epsilon", .kind = BYOC_ATTRIBUTE_FLOAT, .f = byoc_node_float(node, "epsilon")}};
  if (is_last) x = byoc_write_transpose(w, x, second, 4);
  x = byoc_write_node(w, "", "GroupNormalization", x, byoc_write_cast(w, node->operands[GAMMA], dtype),
                      byoc_write_cast(w, node->operands[BETA], dtype), attributes, 2);
  if (byoc_node_int(node, "activation") == 1) x = byoc_write_plain(w, "Swish", x, NULL);
  return byoc_write_end(w, is_last ? byoc_write_transpose(w, x, last, 4) : x, out_changed);
}

static byoc_status_t expand_group_norm(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  return write_group_norm(&w, node->operands[X], out_changed);
}

static byoc_status_t expand_skip_group_norm(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  static const int64_t between[] = {1, 2};
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *skip = node->operands[SKIP];
  if (skip->type->rank == 2) skip = byoc_microsoft_unsqueeze(&w, skip, between, 2);
  byoc_value_t *sum = byoc_write_plain(&w, "Add", node->operands[X], skip);
  sum = byoc_microsoft_add(&w, sum, byoc_operand(node, BIAS));
  byoc_microsoft_replace(&w, 1, sum);
  return write_group_norm(&w, sum, out_changed);
}

// ---- the table ----

static const byoc_op_attribute_t distance_attributes[] = {{BYOC_ATTR_CHOICE("metric", "sqeuclidean", "euclidean")},
                                                          BYOC_ATTR_END};
static const byoc_op_attribute_t group_attributes[] = {{BYOC_ATTR_INT("channels_last", 1)},
                                                       {BYOC_ATTR_REQUIRED(INT, "activation")},
                                                       {BYOC_ATTR_REQUIRED(INT, "groups")},
                                                       {BYOC_ATTR_FLOAT("epsilon", 1e-5)},
                                                       BYOC_ATTR_END};

const byoc_op_t byoc_ops_microsoft_plain[] = {
    BYOC_MICROSOFT_ROW("CDist", 2, 2, 1, distance_attributes, distances),
    BYOC_MICROSOFT_ROW("BiasAdd", 3, 3, 1, NULL, bias_add),
    BYOC_MICROSOFT_ROW("BiasSplitGelu", 2, 2, 1, NULL, split_gelu),
    BYOC_MICROSOFT_ROW("GroupNorm", 3, 3, 1, group_attributes, group_norm),
    BYOC_MICROSOFT_ROW("SkipGroupNorm", 4, 5, 2, group_attributes, skip_group_norm),
};
const size_t byoc_ops_microsoft_plain_count = sizeof byoc_ops_microsoft_plain / sizeof *byoc_ops_microsoft_plain;

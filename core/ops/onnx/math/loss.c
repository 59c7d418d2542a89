// SPDX-License-Identifier: Apache-2.0
// Losses of classifiers: NegativeLogLikelihoodLoss, and SoftmaxCrossEntropyLoss as LogSoftmax before it.
#include <string.h>

#include "core/op/util.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

static bool is_label(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I32 || dtype == BYOC_DTYPE_I64;
}

typedef enum { REDUCTION_MEAN, REDUCTION_SUM, REDUCTION_NONE } reduction_t; // as in loss_attributes

static reduction_t reduction_of(const byoc_node_t *node) {
  return (reduction_t)byoc_node_choice(node, "reduction");
}

static byoc_status_t infer_loss(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor of scores"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, is_label, "labels of i32 or i64"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, 2));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 2, BYOC_MAX_RANK));
  const byoc_type_t *x = byoc_operand_type(node, 0), *labels = byoc_operand_type(node, 1);
  if (byoc_is_ranked(x)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 1, x->rank - 1, x->rank - 1));
    for (int32_t d = 0; byoc_is_ranked(labels) && d < labels->rank; ++d) {
      BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 1, d, x->dims[d == 0 ? 0 : d + 1]));
    }
    bool failed = false;
    byoc_dim_t count = byoc_is_ranked(labels) ? byoc_infer_count(infer, labels, &failed) : byoc_dim_constant(1);
    BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_some(infer, 0, 1, count));
    const byoc_attribute_t *ignored = byoc_node_given(node, "ignore_index");
    const byoc_limit_t limit = {.operand = 1,
                                .name = "the labels",
                                .kind = BYOC_RANGE_COUNT,
                                .less = 1,
                                .count = 1,
                                .extents = {byoc_side_of(infer, 0, 1)},
                                .ignores = ignored != NULL,
                                .ignored = ignored ? ignored->i : 0};
    BYOC_RETURN_IF_ERROR(byoc_infer_limit(infer, &limit));
    if (byoc_has_operand(node, 2)) {
      BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 2, 1, 1));
      BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 2, 0, x->dims[1]));
    }
  }
  bool none = reduction_of(node) == REDUCTION_NONE;
  BYOC_RETURN_IF_ERROR(byoc_infer_set_like(infer, 1, x->dtype, x)); // the log probabilities
  return none ? byoc_infer_set_like(infer, 0, x->dtype, labels) : byoc_infer_set(infer, 0, x->dtype, 0, NULL);
}

// The weighted loss of one label and its weight; both are 0 if the label is to be ignored.
static void emit_loss(byoc_lower_t *lower, const byoc_node_t *node, const byoc_loop_expr_t *const *at,
                      const byoc_loop_expr_t **out_loss, const byoc_loop_expr_t **out_weight) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  byoc_dtype_t dtype = byoc_compute_dtype(x->dtype);
  const byoc_loop_expr_t *zero = byoc_loop_const(b, dtype, 0.0);
  const byoc_loop_expr_t *label = byoc_emit_as(b, BYOC_DTYPE_I64, byoc_lower_load(lower, node, 1, at));
  label = byoc_loop_let(b, "label", label);
  // A label beyond the classes is refused; nothing outside of the scores is read.
  const byoc_loop_expr_t *last = BYOC_LSUB(b, byoc_emit_dim(b, x, 1), byoc_loop_int(b, 1));
  const byoc_loop_expr_t *class = byoc_loop_let(b, "c", BYOC_LMAX(b, byoc_loop_int(b, 0), BYOC_LMIN(b, label, last)));
  const byoc_loop_expr_t *indices[BYOC_MAX_RANK] = {at[0], class};
  for (int32_t d = 2; d < x->rank; ++d) indices[d] = at[d - 1];
  const byoc_loop_expr_t *weight = byoc_loop_const(b, dtype, 1.0);
  if (byoc_has_operand(node, 2)) weight = byoc_emit_load(lower, node, 2, &class);
  const byoc_attribute_t *ignored = byoc_node_given(node, "ignore_index");
  if (ignored) weight = byoc_loop_select(b, BIN(EQ, label, byoc_loop_int(b, ignored->i)), zero, weight);
  *out_weight = byoc_loop_let(b, "weight", weight);
  const byoc_loop_expr_t *score = byoc_emit_load(lower, node, 0, indices);
  *out_loss = byoc_loop_unary(b, BYOC_LOOP_OP_NEG, BYOC_LMUL(b, score, *out_weight));
  // An ignored score may be infinite.
  if (ignored) *out_loss = byoc_loop_select(b, BIN(EQ, *out_weight, zero), zero, *out_loss);
}

static byoc_status_t loops_nll(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *labels = node->operands[1]->type;
  byoc_dtype_t dtype = byoc_compute_dtype(node->operands[0]->type->dtype);
  reduction_t reduction = reduction_of(node);
  bool none = reduction == REDUCTION_NONE;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *loss = NULL, *weight = NULL, *sum = NULL, *weights = NULL;
  if (!none) {
    sum = byoc_loop_mutable(b, "sum", byoc_loop_const(b, dtype, 0.0));
    weights = byoc_loop_mutable(b, "weights", byoc_loop_const(b, dtype, 0.0));
  }
  int32_t opened = byoc_emit_open(b, labels, 0, labels->rank, none, at);
  emit_loss(lower, node, at, &loss, &weight);
  if (none) {
    byoc_emit_store(lower, node, 0, at, loss);
  } else {
    byoc_loop_assign(b, sum, BYOC_LADD(b, sum, loss));
    byoc_loop_assign(b, weights, BYOC_LADD(b, weights, weight));
  }
  byoc_emit_close(b, opened);
  if (!none) {
    byoc_emit_store(lower, node, 0, NULL, reduction == REDUCTION_MEAN ? BIN(DIV, sum, weights) : sum);
  }
  return BYOC_OK;
}

// SoftmaxCrossEntropyLoss(x, labels, weights) → NegativeLogLikelihoodLoss(LogSoftmax(x), labels, weights)
static byoc_status_t expand_softmax_loss(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  const byoc_attribute_t axis = {.name = "axis", .kind = BYOC_ATTRIBUTE_INT, .i = 1};
  byoc_node_t *softmax = byoc_op_create_with(node->block, node, "", "LogSoftmax", node->operands, 1, 1, &axis, 1, diag);
  if (!softmax) return byoc_diag_failure(diag);
  byoc_value_t *operands[] = {softmax->results[0], node->operands[1],
                              byoc_has_operand(node, 2) ? node->operands[2] : NULL};
  byoc_node_t *loss = byoc_op_create_with(node->block, node, "", "NegativeLogLikelihoodLoss", operands,
                                          operands[2] ? 3 : 2, 1, node->attributes.items, node->attributes.count, diag);
  if (!loss || !byoc_value_replace_uses(node->results[0], loss->results[0])) return byoc_diag_failure(diag);
  if (byoc_has_result(node, 1) && !byoc_value_replace_uses(node->results[1], softmax->results[0])) {
    return byoc_diag_out_of_memory(diag);
  }
  *out_changed = true;
  return BYOC_OK;
}

static const byoc_op_attribute_t loss_attributes[] = {
    {BYOC_ATTR(INT, "ignore_index")},
    {BYOC_ATTR_CHOICE("reduction", "mean", "sum", "none")},
    BYOC_ATTR_END,
};

#define NLL(version)                                                                                                   \
  {                                                                                                                    \
    .domain = "", .name = "NegativeLogLikelihoodLoss", .since_version = version, .min_inputs = 2, .max_inputs = 3,     \
    .min_outputs = 1, .max_outputs = 1, .traits = BYOC_OP_LIMITS, .attributes = loss_attributes, .infer = infer_loss,  \
    .loops = loops_nll                                                                                                 \
  }
#define SOFTMAX_LOSS(version)                                                                                          \
  {                                                                                                                    \
    .domain = "", .name = "SoftmaxCrossEntropyLoss", .since_version = version, .min_inputs = 2, .max_inputs = 3,       \
    .min_outputs = 1, .max_outputs = 2, .traits = BYOC_OP_LIMITS, .attributes = loss_attributes, .infer = infer_loss,  \
    .expand = expand_softmax_loss                                                                                      \
  }

const byoc_op_t byoc_ops_loss[] = {NLL(12), NLL(13), NLL(22), SOFTMAX_LOSS(12), SOFTMAX_LOSS(13)};
const size_t byoc_ops_loss_count = sizeof byoc_ops_loss / sizeof *byoc_ops_loss;

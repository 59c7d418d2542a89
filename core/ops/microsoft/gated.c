// SPDX-License-Identifier: Apache-2.0
// com.microsoft: gates and norms of hybrid language models (Qwen 3 Next, Mamba 2): ScaledSiLU, GatedAdd, GatedRMSNorm.
// Each is written as operators of ai.onnx.
#include "core/ops/microsoft/common.h"

enum { X, SECOND, GATE, GATE_WEIGHT };

// ---- ScaledSiLU, GatedAdd ----

static byoc_status_t infer_scaled_silu(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, X));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, SECOND));
  if (byoc_has_operand(infer->node, SECOND)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, SECOND, byoc_dtype_is_float, "a scale"));
  }
  return byoc_infer_same(infer);
}

// z * sigmoid(z), where z is x times the scale
static byoc_status_t expand_scaled_silu(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *x = node->operands[X], *scale = byoc_operand(node, SECOND);
  scale = scale ? byoc_write_cast(&w, byoc_write_scalar(&w, scale), x->type->dtype)
                : byoc_microsoft_number(&w, x, byoc_node_float(node, "alpha"));
  byoc_value_t *z = byoc_write_plain(&w, "Mul", x, scale);
  byoc_value_t *gate = z ? byoc_write_plain(&w, "Sigmoid", z, NULL) : NULL;
  return byoc_write_end(&w, byoc_write_plain(&w, "Mul", z, gate), out_changed);
}

static byoc_status_t infer_gated_add(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, X, 1, BYOC_MAX_RANK));
  const byoc_type_t *x = byoc_operand_type(infer->node, X);
  byoc_dim_t gates[BYOC_MAX_RANK];
  for (int32_t d = 0; d < x->rank; ++d) gates[d] = d == x->rank - 1 ? byoc_dim_constant(1) : x->dims[d];
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_absent(infer, GATE_WEIGHT, "the weight of gates"));
  for (uint32_t i = SECOND; i <= GATE; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, i));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, i, x->rank, i == GATE ? gates : x->dims));
  }
  return byoc_infer_same(infer);
}

static byoc_status_t expand_gated_add(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *gated = byoc_write_plain(&w, "Mul", node->operands[SECOND], node->operands[GATE]);
  return byoc_write_end(&w, byoc_write_plain(&w, "Add", node->operands[X], gated), out_changed);
}

// ---- GatedRMSNorm ----

static byoc_status_t infer_gated_norm(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, X, 1, BYOC_MAX_RANK));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_ranked(infer, SECOND, 1, 1));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, GATE));
  const byoc_type_t *x = byoc_operand_type(node, X);
  const byoc_dim_t size = byoc_operand_type(node, SECOND)->dims[0], last = x->dims[x->rank - 1];
  if (!byoc_dim_is_constant(size) || !byoc_dim_is_constant(last)) {
    return byoc_infer_unsupported(infer, "the size of heads must be known");
  }
  if (size.constant < 1 || last.constant % size.constant != 0) {
    return byoc_infer_error(infer, "operand 0: %lld elements do not divide into heads of %lld",
                            (long long)last.constant, (long long)size.constant);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, GATE, x->rank, x->dims));
  return byoc_infer_same(infer);
}

// RMSNormalization of each head, times the activation of the gate. It is computed in f32.
static byoc_status_t expand_gated_norm(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  enum { SIGMOID = 2 };
  byoc_writer_t w = {.node = node, .diag = diag};
  const byoc_dtype_t dtype = node->operands[X]->type->dtype;
  const byoc_dtype_t wide = dtype == BYOC_DTYPE_F64 ? dtype : BYOC_DTYPE_F32;
  const int64_t heads[] = {-1, node->operands[SECOND]->type->dims[0].constant};
  const byoc_attribute_t attributes[] = {
      byoc_write_int("axis", -1),
      {.name = "epsilon", .kind = BYOC_ATTRIBUTE_FLOAT, .f = byoc_node_float(node, "epsilon")}};
  byoc_value_t *x = byoc_write_reshape(&w, byoc_write_cast(&w, node->operands[X], wide), heads, 2);
  x = byoc_write_node(&w, "", "RMSNormalization", x, byoc_write_cast(&w, node->operands[SECOND], wide), NULL,
                      attributes, 2);
  x = byoc_write_plain(&w, "Reshape", x, byoc_write_plain(&w, "Shape", node->operands[X], NULL));
  const bool is_sigmoid = byoc_node_choice(node, "activation") == SIGMOID;
  byoc_value_t *gate = byoc_write_cast(&w, node->operands[GATE], wide);
  gate = byoc_write_plain(&w, is_sigmoid ? "Sigmoid" : "Swish", gate, NULL);
  return byoc_write_end(&w, byoc_write_cast(&w, byoc_write_plain(&w, "Mul", x, gate), dtype), out_changed);
}

// ---- the table ----

static const byoc_op_attribute_t silu_attributes[] = {{BYOC_ATTR_FLOAT("alpha", 1.0)}, BYOC_ATTR_END};
static const byoc_op_attribute_t norm_attributes[] = {
    {BYOC_ATTR_CHOICE("activation", "silu", "swish", "sigmoid")}, {BYOC_ATTR_FLOAT("epsilon", 1e-5)}, BYOC_ATTR_END};

const byoc_op_t byoc_ops_microsoft_gated[] = {
    BYOC_MICROSOFT_ROW("ScaledSiLU", 1, 2, 1, silu_attributes, scaled_silu),
    BYOC_MICROSOFT_ROW("GatedAdd", 3, 4, 1, NULL, gated_add),
    BYOC_MICROSOFT_ROW("GatedRMSNorm", 3, 3, 1, norm_attributes, gated_norm),
};
const size_t byoc_ops_microsoft_gated_count = sizeof byoc_ops_microsoft_gated / sizeof *byoc_ops_microsoft_gated;

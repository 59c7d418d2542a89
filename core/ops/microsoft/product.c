// SPDX-License-Identifier: Apache-2.0
// com.microsoft: activations, and products that are fused with later operators.
#include <string.h>

#include "core/ops/loops/window.h"
#include "core/ops/microsoft/common.h"
#include "core/ops/onnx/math/product.h"

// ---- Gelu, BiasGelu, FastGelu, QuickGelu ----

static byoc_status_t infer_gelu(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, 0));
  if (!byoc_has_operand(infer->node, 1)) return byoc_infer_same(infer);
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, 1));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 1, BYOC_MAX_RANK));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_unsupported(infer, "operand 0: its rank must be known");
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, 1, 1, &x->dims[x->rank - 1]));
  return byoc_infer_same(infer);
}

static byoc_status_t expand_gelu(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const bool is_fast = strcmp(node->op, "FastGelu") == 0;
  const byoc_attribute_t way = {.name = "approximate", .kind = BYOC_ATTRIBUTE_STRING, .s = "tanh", .count = 4};
  byoc_value_t *x = byoc_microsoft_add(&w, node->operands[0], byoc_operand(node, 1));
  return byoc_write_end(&w, byoc_write_node(&w, "", "Gelu", x, NULL, NULL, &way, is_fast ? 1 : 0), out_changed);
}

// x * sigmoid(alpha * x)
static byoc_status_t expand_quick_gelu(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const byoc_attribute_t alpha = {.name = "alpha", .kind = BYOC_ATTRIBUTE_FLOAT, .f = byoc_node_float(node, "alpha")};
  return byoc_write_end(&w, byoc_write_node(&w, "", "Swish", node->operands[0], NULL, NULL, &alpha, 1), out_changed);
}

// ---- the activations of FusedConv and FusedGemm ----

// The names of an activation's parameters, in their order.
static const struct activation_t {
  const char *name, *numbers[2];
} activations[] = {{"Relu", {NULL}},
                   {"Sigmoid", {NULL}},
                   {"Tanh", {NULL}},
                   {"Softplus", {NULL}},
                   {"Softsign", {NULL}},
                   {"LeakyRelu", {"alpha"}},
                   {"Elu", {"alpha"}},
                   {"ThresholdedRelu", {"alpha"}},
                   {"Selu", {"alpha", "gamma"}},
                   {"HardSigmoid", {"alpha", "beta"}},
                   {"Clip", {"min", "max"}}};

static const struct activation_t *find_activation(const char *name) {
  for (size_t i = 0; i < sizeof(activations) / sizeof(activations[0]); ++i) {
    if (strcmp(activations[i].name, name) == 0) return &activations[i];
  }
  return NULL;
}

static byoc_status_t need_activation(const byoc_infer_t *infer, bool has_clip) {
  const char *name = byoc_node_text(infer->node, "activation");
  if (name == NULL || name[0] == '\0') return BYOC_OK;
  if (!find_activation(name) || (strcmp(name, "Clip") == 0 && !has_clip)) {
    return byoc_infer_unsupported(infer, "the activation '%.40s' is not supported", name);
  }
  return BYOC_OK;
}

// `numbers` has `count` of them; the rest have the defaults of the operator.
static byoc_value_t *write_activation(byoc_writer_t *w, byoc_value_t *x, const double *numbers, size_t count) {
  const char *name = byoc_node_text(w->node, "activation");
  const struct activation_t *activation = name ? find_activation(name) : NULL;
  if (!activation || w->failed || !x) return x;
  if (strcmp(name, "Clip") == 0) {
    byoc_value_t *bounds[2] = {NULL, NULL};
    for (size_t i = 0; i < 2 && i < count; ++i) bounds[i] = byoc_microsoft_number(w, x, numbers[i]);
    return byoc_write_node(w, "", "Clip", x, bounds[0], bounds[1], NULL, 0);
  }
  byoc_attribute_t attributes[2];
  size_t given = 0;
  for (; given < 2 && given < count && activation->numbers[given] != NULL; ++given) {
    attributes[given] =
        (byoc_attribute_t){.name = activation->numbers[given], .kind = BYOC_ATTRIBUTE_FLOAT, .f = numbers[given]};
  }
  return byoc_write_node(w, "", name, x, NULL, NULL, attributes, given);
}

// The attributes of the node that another operator takes, too.
static size_t keep_attributes(const byoc_node_t *node, const char *const *names, byoc_attribute_t *out) {
  size_t count = 0;
  for (; *names != NULL; ++names) {
    const byoc_attribute_t *given = byoc_node_given(node, *names);
    if (given != NULL) out[count++] = *given;
  }
  return count;
}

// ---- FusedGemm ----

static byoc_status_t infer_fused_gemm(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(need_activation(infer, false));
  return byoc_infer_gemm(infer);
}

static byoc_status_t expand_fused_gemm(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  static const char *const names[] = {"alpha", "beta", "transA", "transB", NULL};
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_attribute_t attributes[4];
  const size_t count = keep_attributes(node, names, attributes);
  byoc_value_t *y =
      byoc_write_node(&w, "", "Gemm", node->operands[0], node->operands[1], byoc_operand(node, 2), attributes, count);
  // alpha comes first; the second one is called beta or gamma.
  double numbers[2];
  size_t given = 0;
  const byoc_attribute_t *alpha = byoc_node_given(node, "activation_alpha");
  const byoc_attribute_t *second = byoc_node_given(node, "activation_beta");
  if (second == NULL) second = byoc_node_given(node, "activation_gamma");
  if (alpha != NULL) numbers[given++] = alpha->f;
  if (alpha != NULL && second != NULL) numbers[given++] = second->f;
  return byoc_write_end(&w, write_activation(&w, y, numbers, given), out_changed);
}

// ---- FusedConv ----

byoc_status_t byoc_microsoft_infer_fused_conv(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(need_activation(infer, true));
  BYOC_RETURN_IF_ERROR(byoc_infer_conv(infer));
  const byoc_type_t *y = infer->node->results[0]->type;
  if (!byoc_has_operand(infer->node, 3)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, 3));
  return byoc_is_ranked(y) ? byoc_infer_need_dims(infer, 3, y->rank, y->dims) : BYOC_OK;
}

static byoc_status_t infer_fused_conv(byoc_infer_t *infer) {
  return byoc_microsoft_infer_fused_conv(infer);
}

// activation(Conv(x, weights, bias) + z)
static byoc_status_t expand_fused_conv(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  static const char *const names[] = {"auto_pad", "dilations", "group", "kernel_shape", "pads", "strides", NULL};
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_attribute_t attributes[6];
  const size_t kept = keep_attributes(node, names, attributes);
  byoc_value_t *y =
      byoc_write_node(&w, "", "Conv", node->operands[0], node->operands[1], byoc_operand(node, 2), attributes, kept);
  y = byoc_microsoft_add(&w, y, byoc_operand(node, 3));
  size_t count = 0;
  const double *numbers = byoc_node_floats(node, "activation_params", &count);
  return byoc_write_end(&w, write_activation(&w, y, numbers, count), out_changed);
}

// ---- FusedMatMul, TransposeMatMul ----

// The order in which a product reads the dimensions of an operand of that rank.
static bool order_of(const byoc_node_t *node, uint32_t index, int32_t rank, int64_t order[BYOC_MAX_RANK]) {
  const char *batch = index == 0 ? "transBatchA" : "transBatchB", *last = index == 0 ? "transA" : "transB";
  for (int32_t d = 0; d < rank; ++d) order[d] = d;
  if (rank < 2) return false;
  bool is_changed = false;
  if (byoc_node_takes(node, batch) && byoc_node_flag(node, batch) && rank > 2) {
    for (int32_t d = 0; d < rank - 2; ++d) order[d] = d + 1;
    order[rank - 2] = 0;
    is_changed = true;
  }
  if (byoc_node_flag(node, last)) {
    const int64_t row = order[rank - 2];
    order[rank - 2] = order[rank - 1], order[rank - 1] = row;
    is_changed = true;
  }
  return is_changed;
}

static byoc_status_t infer_fused_matmul(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  for (uint32_t i = 0; i < 2; ++i) BYOC_RETURN_IF_ERROR(byoc_microsoft_need_float(infer, i));
  const byoc_type_t *types[2] = {byoc_operand_type(node, 0), byoc_operand_type(node, 1)};
  if (!byoc_is_ranked(types[0]) || !byoc_is_ranked(types[1])) {
    return byoc_infer_unsupported(infer, "the ranks of the operands must be known");
  }
  int64_t order[2][BYOC_MAX_RANK];
  for (uint32_t i = 0; i < 2; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, i, 1, BYOC_MAX_RANK));
    order_of(node, i, types[i]->rank, order[i]);
  }
  const int32_t ranks[2] = {types[0]->rank, types[1]->rank};
  const int32_t left = ranks[0] > 2 ? ranks[0] - 2 : 0, right = ranks[1] > 2 ? ranks[1] - 2 : 0;
  const int64_t depth = order[1][ranks[1] == 1 ? 0 : ranks[1] - 2];
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 1, (int32_t)depth, types[0]->dims[order[0][ranks[0] - 1]]));
  byoc_dim_t dims[BYOC_MAX_RANK + 2];
  bool failed = false;
  int32_t rank = left > right ? left : right;
  for (int32_t d = 0; d < rank; ++d) {
    const int32_t i = d - (rank - left), j = d - (rank - right);
    const byoc_side_t x = i >= 0 ? byoc_side_of(infer, 0, (int32_t)order[0][i]) : byoc_side_number(1);
    const byoc_side_t y = j >= 0 ? byoc_side_of(infer, 1, (int32_t)order[1][j]) : byoc_side_number(1);
    if (!byoc_broadcast_dim(infer, x, y, &dims[d], &failed)) {
      return byoc_infer_error(infer, "the batches of the operands do not broadcast (dimension %d)", (int)d);
    }
  }
  if (ranks[0] > 1) dims[rank++] = types[0]->dims[order[0][ranks[0] - 2]];
  if (ranks[1] > 1) dims[rank++] = types[1]->dims[order[1][ranks[1] - 1]];
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, types[0]->dtype, rank, dims);
}

static byoc_status_t expand_fused_matmul(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *operands[2];
  for (uint32_t i = 0; i < 2; ++i) {
    int64_t order[BYOC_MAX_RANK];
    const int32_t rank = node->operands[i]->type->rank;
    operands[i] = node->operands[i];
    if (order_of(node, i, rank, order)) operands[i] = byoc_write_transpose(&w, operands[i], order, (size_t)rank);
  }
  byoc_value_t *y = byoc_write_plain(&w, "MatMul", operands[0], operands[1]);
  const double alpha = byoc_node_float(node, "alpha");
  if (alpha != 1.0) y = byoc_write_plain(&w, "Mul", y, byoc_microsoft_number(&w, y, alpha));
  return byoc_write_end(&w, y, out_changed);
}

// ---- the table ----

static const byoc_op_attribute_t quick_attributes[] = {{BYOC_ATTR_FLOAT("alpha", 1.702)}, BYOC_ATTR_END};
static const byoc_op_attribute_t gemm_attributes[] = {{BYOC_ATTR_FLOAT("alpha", 1.0)},
                                                      {BYOC_ATTR_FLOAT("beta", 1.0)},
                                                      {BYOC_ATTR_INT("transA", 0)},
                                                      {BYOC_ATTR_INT("transB", 0)},
                                                      {BYOC_ATTR(STRING, "activation")},
                                                      {BYOC_ATTR(FLOAT, "activation_alpha")},
                                                      {BYOC_ATTR(FLOAT, "activation_beta")},
                                                      {BYOC_ATTR(FLOAT, "activation_gamma")},
                                                      BYOC_ATTR_END};
static const byoc_op_attribute_t fused_conv_attributes[] = {{BYOC_ATTR(INTS, "kernel_shape")},
                                                            BYOC_WINDOW_ATTRIBUTES,
                                                            BYOC_AUTO_PAD_ATTRIBUTE,
                                                            {BYOC_ATTR_INT("group", 1)},
                                                            {BYOC_ATTR(STRING, "activation")},
                                                            {BYOC_ATTR(FLOATS, "activation_params")},
                                                            BYOC_ATTR_END};
static const byoc_op_attribute_t matmul_attributes[] = {
    {BYOC_ATTR_FLOAT("alpha", 1.0)},   {BYOC_ATTR_INT("transA", 0)},      {BYOC_ATTR_INT("transB", 0)},
    {BYOC_ATTR_INT("transBatchA", 0)}, {BYOC_ATTR_INT("transBatchB", 0)}, BYOC_ATTR_END};
static const byoc_op_attribute_t transpose_attributes[] = {
    {BYOC_ATTR_FLOAT("alpha", 1.0)}, {BYOC_ATTR_INT("transA", 0)}, {BYOC_ATTR_INT("transB", 0)}, BYOC_ATTR_END};

static byoc_status_t infer_quick_gelu(byoc_infer_t *infer) {
  return infer_gelu(infer);
}

const byoc_op_t byoc_ops_microsoft_product[] = {
    BYOC_MICROSOFT_ROW("Gelu", 1, 1, 1, NULL, gelu),
    BYOC_MICROSOFT_ROW("BiasGelu", 2, 2, 1, NULL, gelu),
    BYOC_MICROSOFT_ROW("FastGelu", 1, 2, 1, NULL, gelu),
    BYOC_MICROSOFT_ROW("QuickGelu", 1, 1, 1, quick_attributes, quick_gelu),
    BYOC_MICROSOFT_WORK_ROW("FusedGemm", 2, 3, 1, gemm_attributes, fused_gemm, PRODUCT, 1),
    BYOC_MICROSOFT_WORK_ROW("FusedConv", 2, 4, 1, fused_conv_attributes, fused_conv, CONVOLUTION, 1),
    BYOC_MICROSOFT_WORK_ROW("FusedMatMul", 2, 2, 1, matmul_attributes, fused_matmul, PRODUCT, 1),
    BYOC_MICROSOFT_WORK_ROW("TransposeMatMul", 2, 2, 1, transpose_attributes, fused_matmul, PRODUCT, 1),
};
const size_t byoc_ops_microsoft_product_count = sizeof byoc_ops_microsoft_product / sizeof *byoc_ops_microsoft_product;

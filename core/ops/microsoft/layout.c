// SPDX-License-Identifier: Apache-2.0
// com.microsoft: convolutions and pools whose channels are the last dimension, which ONNX Runtime's optimiser writes.
// They are those of ai.onnx between two Transposes.
#include <string.h>

#include "core/op/axes.h"
#include "core/ops/loops/window.h"
#include "core/ops/microsoft/quantize.h"

enum { X, SUMMAND = 3, MOST_OPERANDS = 9 };

// The permutation that puts the channels second, or last.
static void read_order(int32_t rank, bool is_last, int64_t order[BYOC_MAX_RANK]) {
  for (int32_t d = 0; d < rank; ++d) order[d] = d;
  for (int32_t d = 1; d < rank; ++d) order[d] = is_last ? (d == rank - 1 ? 1 : d + 1) : (d == 1 ? rank - 1 : d - 1);
}

static const byoc_type_t *turned(const byoc_infer_t *infer, const byoc_type_t *type, byoc_dtype_t dtype, bool is_last) {
  byoc_dim_t dims[BYOC_MAX_RANK];
  int64_t order[BYOC_MAX_RANK];
  read_order(type->rank, is_last, order);
  for (int32_t d = 0; d < type->rank; ++d) dims[d] = type->dims[order[d]];
  return byoc_type_tensor(infer->arena, dtype, type->rank, dims);
}

// Infers the node as `operator_infer` does with the channels in second place; x has the element type `dtype` there.
static byoc_status_t infer_turned(byoc_infer_t *infer, byoc_status_t (*operator_infer)(byoc_infer_t *),
                                  byoc_dtype_t dtype) {
  static const uint32_t layouts[] = {X, SUMMAND};
  byoc_node_t stand_in = *infer->node;
  byoc_value_t *operands[MOST_OPERANDS], values[2];
  byoc_infer_t inner = *infer;
  inner.node = &stand_in, stand_in.operands = operands;
  for (uint32_t i = 0; i < stand_in.operand_count; ++i) operands[i] = infer->node->operands[i];
  const bool has_summand = strcmp(stand_in.op, "NhwcFusedConv") == 0 && byoc_has_operand(infer->node, SUMMAND);
  for (uint32_t i = 0; i < (has_summand ? 2 : 1); ++i) {
    const uint32_t index = layouts[i];
    const byoc_type_t *type = byoc_operand_type(infer->node, index);
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, index, byoc_dtype_is_value, "a tensor"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, index, 3, BYOC_MAX_RANK));
    if (!byoc_is_ranked(type)) return byoc_infer_unsupported(infer, "operand %u: its rank must be known", index);
    values[i] = *operands[index];
    values[i].type = turned(infer, type, index == X ? dtype : type->dtype, false);
    if (!values[i].type) return byoc_diag_out_of_memory(infer->diag);
    operands[index] = &values[i];
  }
  BYOC_RETURN_IF_ERROR(operator_infer(&inner));
  const byoc_type_t *y = infer->node->results[0]->type;
  if (!byoc_is_ranked(y)) return BYOC_OK;
  y = turned(infer, y, y->dtype, true);
  if (!y) return byoc_diag_out_of_memory(infer->diag);
  infer->node->results[0]->type = y;
  return BYOC_OK;
}

// x with the channels in second place, or y with the channels in last place.
static byoc_value_t *write_turned(byoc_writer_t *w, byoc_value_t *x, bool is_last) {
  int64_t order[BYOC_MAX_RANK];
  if (!x || w->failed) return NULL;
  read_order(x->type->rank, is_last, order);
  return byoc_write_transpose(w, x, order, (size_t)x->type->rank);
}

// The operator with the channels as second dimension and the node's own attributes, without its flag of the layout.
static byoc_value_t *write_inner(byoc_writer_t *w, const char *domain, const char *op, byoc_value_t *const *operands) {
  const byoc_node_t *node = w->node;
  byoc_attribute_t *kept =
      BYOC_ARENA_ARRAY(&node->function->module->arena, byoc_attribute_t, node->attributes.count + 1);
  if (!kept) w->failed = true;
  size_t count = 0;
  for (size_t i = 0; kept && i < node->attributes.count; ++i) {
    if (strcmp(node->attributes.items[i].name, "channels_last") != 0) kept[count++] = node->attributes.items[i];
  }
  if (!operands[X]) w->failed = true;
  byoc_node_t *made = byoc_write_many(w, domain, op, operands, node->operand_count, 1, kept, count);
  return made ? made->results[0] : NULL;
}

// ---- NhwcConv, NhwcFusedConv, NhwcMaxPool, QLinearConv ----

static byoc_status_t infer_conv(byoc_infer_t *infer) {
  const byoc_type_t *x = byoc_operand_type(infer->node, X);
  return infer_turned(infer, byoc_infer_conv, x ? x->dtype : BYOC_DTYPE_NONE);
}

static byoc_status_t infer_fused_conv(byoc_infer_t *infer) {
  const byoc_type_t *x = byoc_operand_type(infer->node, X);
  return infer_turned(infer, byoc_microsoft_infer_fused_conv, x ? x->dtype : BYOC_DTYPE_NONE);
}

static byoc_status_t infer_max_pool(byoc_infer_t *infer) {
  const byoc_type_t *x = byoc_operand_type(infer->node, X);
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, X, byoc_dtype_is_byte, "a tensor of bytes"));
  return infer_turned(infer, byoc_infer_pool, x->dtype);
}

static byoc_status_t infer_bytes_conv(byoc_infer_t *infer) {
  const byoc_type_t *x = byoc_operand_type(infer->node, X);
  if (!byoc_node_flag(infer->node, "channels_last")) return byoc_infer_quantised_conv(infer);
  return infer_turned(infer, byoc_infer_quantised_conv, x ? x->dtype : BYOC_DTYPE_NONE);
}

static byoc_status_t expand_as(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed, const char *domain,
                               const char *op, bool is_last) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *operands[MOST_OPERANDS];
  for (uint32_t i = 0; i < node->operand_count; ++i) operands[i] = node->operands[i];
  if (is_last) operands[X] = write_turned(&w, operands[X], false);
  const bool has_summand = strcmp(node->op, "NhwcFusedConv") == 0 && byoc_has_operand(node, SUMMAND);
  if (has_summand) operands[SUMMAND] = write_turned(&w, operands[SUMMAND], false);
  byoc_value_t *y = write_inner(&w, domain, op, operands);
  return byoc_write_end(&w, is_last ? write_turned(&w, y, true) : y, out_changed);
}

static byoc_status_t expand_conv(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  return expand_as(node, diag, out_changed, "", "Conv", true);
}

static byoc_status_t expand_fused_conv(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  return expand_as(node, diag, out_changed, "com.microsoft", "FusedConv", true);
}

static byoc_status_t expand_max_pool(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  return expand_as(node, diag, out_changed, "", "MaxPool", true);
}

static byoc_status_t expand_bytes_conv(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  return expand_as(node, diag, out_changed, "", "QLinearConv", byoc_node_flag(node, "channels_last"));
}

// ---- QLinearAveragePool ----

enum { POOL_SCALE = 3 };

static byoc_status_t infer_as_floats(byoc_infer_t *infer) {
  const byoc_dtype_t dtype = byoc_operand_type(infer->node, X)->dtype;
  byoc_node_t stand_in = *infer->node;
  byoc_value_t x = *infer->node->operands[X], *operands[] = {&x};
  byoc_infer_t inner = *infer;
  inner.node = &stand_in, stand_in.operands = operands, stand_in.operand_count = 1;
  x.type = byoc_is_ranked(x.type) ? byoc_type_tensor(infer->arena, BYOC_DTYPE_F32, x.type->rank, x.type->dims) : NULL;
  if (!x.type) return byoc_infer_unsupported(infer, "operand 0: its rank must be known");
  BYOC_RETURN_IF_ERROR(byoc_infer_pool(&inner));
  const byoc_type_t *y = infer->node->results[0]->type;
  return byoc_infer_set(infer, 0, dtype, y->rank, y->dims);
}

static byoc_status_t infer_average(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_integers(infer, X));
  BYOC_RETURN_IF_ERROR(byoc_microsoft_need_scale(infer, POOL_SCALE, X));
  if (!byoc_node_flag(infer->node, "channels_last")) return infer_as_floats(infer);
  return infer_turned(infer, infer_as_floats, byoc_operand_type(infer->node, X)->dtype);
}

static bool axes_average(const byoc_node_t *node, byoc_axis_t *axis) {
  return !byoc_node_flag(node, "channels_last") && byoc_axes_channelwise(node, axis);
}

// The mean of floats, which are rounded as ONNX Runtime does it: for bytes, the zero point is added first.
static byoc_status_t expand_average(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  static const char *const names[] = {"auto_pad", "ceil_mode", "count_include_pad", "kernel_shape", "pads", "strides"};
  byoc_writer_t w = {.node = node, .diag = diag};
  const bool is_last = byoc_node_flag(node, "channels_last");
  byoc_attribute_t kept[sizeof(names) / sizeof(names[0])];
  size_t count = 0;
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) {
    const byoc_attribute_t *given = byoc_node_given(node, names[i]);
    if (given) kept[count++] = *given;
  }
  byoc_value_t *x = byoc_microsoft_floats(&w, X);
  if (is_last) x = write_turned(&w, x, false);
  const byoc_dtype_t dtype = node->operands[X]->type->dtype;
  byoc_value_t *y = byoc_write_node(&w, "", "AveragePool", x, NULL, NULL, kept, count);
  if (byoc_dtype_is_byte(dtype)) {
    y = byoc_write_plain(&w, "Div", y, byoc_write_scalar(&w, node->operands[POOL_SCALE]));
    y = byoc_microsoft_rounded(&w, y, POOL_SCALE + 1, dtype);
  } else {
    y = byoc_microsoft_quantised(&w, y, POOL_SCALE, dtype);
  }
  return byoc_write_end(&w, is_last ? write_turned(&w, y, true) : y, out_changed);
}

// ---- the table ----

#define CONV_ATTRIBUTES                                                                                                \
  {BYOC_ATTR(INTS, "kernel_shape")}, BYOC_WINDOW_ATTRIBUTES, {                                                         \
    BYOC_ATTR_INT("group", 1)                                                                                          \
  }

static const byoc_op_attribute_t conv_attributes[] = {CONV_ATTRIBUTES, BYOC_AUTO_PAD_ATTRIBUTE, BYOC_ATTR_END};
static const byoc_op_attribute_t fused_conv_attributes[] = {CONV_ATTRIBUTES,
                                                            BYOC_AUTO_PAD_ATTRIBUTE,
                                                            {BYOC_ATTR(STRING, "activation")},
                                                            {BYOC_ATTR(FLOATS, "activation_params")},
                                                            BYOC_ATTR_END};
static const byoc_op_attribute_t bytes_conv_attributes[] = {
    CONV_ATTRIBUTES, BYOC_AUTO_PAD_ATTRIBUTE, {BYOC_ATTR_INT("channels_last", 0)}, BYOC_ATTR_END};
static const byoc_op_attribute_t max_pool_attributes[] = {{BYOC_ATTR_REQUIRED(INTS, "kernel_shape")},
                                                          BYOC_WINDOW_ATTRIBUTES,
                                                          BYOC_AUTO_PAD_ATTRIBUTE,
                                                          {BYOC_ATTR_INT("ceil_mode", 0)},
                                                          BYOC_ATTR_END};
static const byoc_op_attribute_t average_attributes[] = {{BYOC_ATTR_REQUIRED(INTS, "kernel_shape")},
                                                         {BYOC_ATTR(INTS, "pads")},
                                                         {BYOC_ATTR(INTS, "strides")},
                                                         BYOC_AUTO_PAD_ATTRIBUTE,
                                                         {BYOC_ATTR_INT("ceil_mode", 0)},
                                                         {BYOC_ATTR_INT("count_include_pad", 0)},
                                                         {BYOC_ATTR_INT("channels_last", 0)},
                                                         BYOC_ATTR_END};

const byoc_op_t byoc_ops_microsoft_layout[] = {
    BYOC_MICROSOFT_WORK_ROW("NhwcConv", 2, 3, 1, conv_attributes, conv, CONVOLUTION, 1),
    BYOC_MICROSOFT_WORK_ROW("NhwcFusedConv", 2, 4, 1, fused_conv_attributes, fused_conv, CONVOLUTION, 1),
    BYOC_MICROSOFT_ROW("NhwcMaxPool", 1, 1, 1, max_pool_attributes, max_pool),
    BYOC_SPELLING_ROW("QLinearConv", 8, 9, 1, bytes_conv_attributes, bytes_conv),
    BYOC_UNIT_ROWS("QLinearAveragePool", 4, 5, 0, average_attributes, average, axes_average),
};
const size_t byoc_ops_microsoft_layout_count = sizeof byoc_ops_microsoft_layout / sizeof *byoc_ops_microsoft_layout;

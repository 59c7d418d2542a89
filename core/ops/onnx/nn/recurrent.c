// SPDX-License-Identifier: Apache-2.0
// Recurrent networks: RNN, GRU, LSTM with all their attributes, and LSTM on bytes. They are rewritten into one product
// of all inputs with the input weights, and the steps (core/ops/onnx/nn/recurrent_steps.c).
#include "core/ops/onnx/nn/recurrent.h"

#include <string.h>

#include "core/op/write.h"

enum { IN_X, IN_W, IN_R, IN_B, IN_LENGTHS, IN_H, IN_C, IN_P }; // only LSTM has C and P

static bool is_i32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I32;
}

// ---- types ----

byoc_status_t byoc_recurrent_infer(const byoc_infer_t *infer, const byoc_type_t *x, byoc_dim_t hidden,
                                   uint32_t peepholes) {
  const byoc_node_t *node = infer->node;
  bool batchwise = byoc_node_flag(node, "layout");
  int64_t directions = byoc_node_choice(node, "direction") == BYOC_DIRECTION_BOTH ? 2 : 1;
  byoc_dim_t count = byoc_dim_constant(directions), steps = x->dims[batchwise ? 1 : 0],
             batch = x->dims[batchwise ? 0 : 1];
  const byoc_dim_t all[] = {steps, count, batch, hidden}, all_batchwise[] = {batch, steps, count, hidden};
  const byoc_dim_t last[] = {count, batch, hidden}, last_batchwise[] = {batch, count, hidden};
  const byoc_dim_t peephole_dims[] = {count, byoc_dim_constant(3 * hidden.constant)};
  byoc_activation_t functions[3];
  if (!byoc_recurrent_activations(node, (int32_t)directions - 1, functions)) {
    return byoc_infer_unsupported(infer, "attribute 'activations' names a function that is not known, or too few");
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, IN_LENGTHS, 1, &batch));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_within(infer, IN_LENGTHS, "the lengths of the sequences",
                                              byoc_side_of(infer, IN_X, batchwise ? 1 : 0)));
  for (uint32_t i = IN_H; i <= IN_C; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, i, 3, batchwise ? last_batchwise : last));
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, peepholes, 2, peephole_dims));
  BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, 0, x->dtype, 4, batchwise ? all_batchwise : all));
  for (uint32_t i = 1; i < node->result_count; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, i, x->dtype, 3, batchwise ? last_batchwise : last));
  }
  return BYOC_OK;
}

static byoc_status_t infer_recurrent(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  int64_t gates = byoc_net_gates(byoc_net_of(node));
  int64_t directions = byoc_node_choice(node, "direction") == BYOC_DIRECTION_BOTH ? 2 : 1;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, IN_X, byoc_dtype_is_float, "a float tensor"));
  for (uint32_t i = IN_X; i <= IN_R; ++i) BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, i, 3, 3));
  for (uint32_t i = IN_W; i <= IN_P; ++i) {
    if (i != IN_LENGTHS) BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, i));
  }
  if (byoc_has_operand(node, IN_LENGTHS)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, IN_LENGTHS, is_i32, "lengths of i32"));
  }
  const byoc_type_t *x = byoc_operand_type(node, IN_X), *w = byoc_operand_type(node, IN_W),
                    *r = byoc_operand_type(node, IN_R);
  if (!byoc_is_ranked(x) || !byoc_is_ranked(w) || !byoc_is_ranked(r)) {
    for (uint32_t i = 0; i < node->result_count; ++i) {
      BYOC_RETURN_IF_ERROR(byoc_infer_set_unknown(infer, i, x->dtype, i == 0 ? 4 : 3));
    }
    return BYOC_OK;
  }
  byoc_dim_t hidden = r->dims[2], count = byoc_dim_constant(directions);
  int64_t asked = byoc_node_int(node, "hidden_size");
  if (!byoc_dim_is_constant(hidden) || hidden.constant > INT32_MAX) {
    return byoc_infer_unsupported(infer, "a hidden size that is not constant, or too large, is not supported");
  }
  if (asked != 0 && asked != hidden.constant) {
    return byoc_infer_error(infer, "attribute 'hidden_size': expected %lld as in operand 2, got %lld",
                            (long long)hidden.constant, (long long)asked);
  }
  for (uint32_t i = IN_W; i <= IN_R; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, i, 0, count));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, i, 1, byoc_dim_constant(gates * hidden.constant)));
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, IN_W, 2, x->dims[2]));
  const byoc_dim_t bias[] = {count, byoc_dim_constant(2 * gates * hidden.constant)};
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, IN_B, 2, bias));
  return byoc_recurrent_infer(infer, x, hidden, IN_P);
}

// ---- the rewrite ----

// W [directions, rows, size] → x * W^T for all directions, side by side
static byoc_value_t *write_products(byoc_writer_t *w, byoc_value_t *x, byoc_value_t *weights, int64_t rows) {
  const byoc_dim_t size = weights->type->dims[2];
  const int64_t dims[] = {rows, byoc_dim_is_constant(size) ? size.constant : -1}, permutation[] = {1, 0};
  byoc_value_t *columns = byoc_write_transpose(w, byoc_write_reshape(w, weights, dims, 2), permutation, 2);
  return byoc_write_node(w, "", "MatMul", x, columns, NULL, NULL, 0);
}

// B's half `half`: 0 for the inputs, 1 for the state.
static byoc_value_t *write_half(byoc_writer_t *w, byoc_value_t *bias, int64_t directions, int64_t rows, int64_t half) {
  const int64_t dims[] = {directions, 2, rows};
  const byoc_attribute_t axis = {.name = "axis", .kind = BYOC_ATTRIBUTE_INT, .i = 1};
  return byoc_write_node(w, "", "Gather", byoc_write_reshape(w, bias, dims, 3),
                         byoc_write_vector(w, "half", BYOC_DTYPE_I64, 1, &half), NULL, &axis, 1);
}

// R [directions, gates * hidden, hidden] → panels of columns
static byoc_value_t *write_panels(byoc_writer_t *w, byoc_value_t *weights, int64_t directions, int64_t gates,
                                  int64_t hidden) {
  const int64_t panels = (hidden + BYOC_STEPS_WIDTH - 1) / BYOC_STEPS_WIDTH;
  const int64_t by_gate[] = {directions, gates, hidden, hidden};
  const int64_t by_panel[] = {directions, gates * panels, BYOC_STEPS_WIDTH, hidden}, permutation[] = {0, 1, 3, 2};
  const int64_t pads[] = {0, 0, 0, 0, 0, 0, panels * BYOC_STEPS_WIDTH - hidden, 0};
  if (pads[6] > 0) {
    weights = byoc_write_node(w, "", "Pad", byoc_write_reshape(w, weights, by_gate, 4),
                              byoc_write_vector(w, "pads", BYOC_DTYPE_I64, 8, pads), NULL, NULL, 0);
  }
  return byoc_write_transpose(w, byoc_write_reshape(w, weights, by_panel, 4), permutation, 4);
}

// The biases of the inputs, and those of the state unless the reset gate scales their sum.
static byoc_value_t *write_bias(byoc_writer_t *w, byoc_value_t *bias, int64_t directions, int64_t rows, bool linear,
                                byoc_value_t **out_of_state) {
  byoc_value_t *of_inputs = write_half(w, bias, directions, rows, 0);
  byoc_value_t *of_state = write_half(w, bias, directions, rows, 1);
  const int64_t flat[] = {directions * rows}, by_direction[] = {directions, rows};
  if (linear) {
    *out_of_state = byoc_write_reshape(w, of_state, by_direction, 2);
  } else {
    of_inputs = byoc_write_node(w, "", "Add", of_inputs, of_state, NULL, NULL, 0);
  }
  return byoc_write_reshape(w, of_inputs, flat, 1);
}

static int64_t directions_of(const byoc_node_t *node) {
  return byoc_node_choice(node, "direction") == BYOC_DIRECTION_BOTH ? 2 : 1;
}

// R is [directions, gates * hidden, hidden], and with bytes [directions, hidden, gates * hidden].
static int64_t hidden_of(const byoc_node_t *node) {
  const byoc_dim_t *dims = node->operands[IN_R]->type->dims;
  return dims[byoc_node_is(node, "com.microsoft", "DynamicQuantizeLSTM") ? 1 : 2].constant;
}

// The operands of a recurrent network where ONNX has them; those that are left out are NULL.
static void read_operands(const byoc_node_t *node, byoc_value_t *in[IN_P + 1]) {
  for (uint32_t i = 0; i <= IN_P; ++i) in[i] = byoc_has_operand(node, i) ? node->operands[i] : NULL;
}

static byoc_value_t *as_type(byoc_writer_t *w, byoc_value_t *x, byoc_dtype_t dtype) {
  return x ? byoc_write_cast(w, x, dtype) : NULL;
}

// Leaves out functions that are the defaults: exporters write them, and readers of the steps need not know their names.
static void drop_default_activations(const byoc_node_t *node, int64_t directions, byoc_node_t *steps) {
  static const byoc_activation_kind_t gated[] = {BYOC_ACTIVATION_Sigmoid, BYOC_ACTIVATION_Tanh, BYOC_ACTIVATION_Tanh};
  const byoc_net_t net = byoc_net_of(node);
  const size_t count = net == BYOC_NET_RNN ? 1 : net == BYOC_NET_GRU ? 2 : 3;
  for (int64_t d = 0; d < directions; ++d) {
    byoc_activation_t given[3];
    if (!byoc_recurrent_activations(node, (int32_t)d, given)) return;
    for (size_t i = 0; i < count; ++i)
      if (given[i].kind != (net == BYOC_NET_RNN ? BYOC_ACTIVATION_Tanh : gated[i])) return;
  }
  byoc_attributes_remove(&steps->attributes, "activations");
}

// Adds B to the products with the inputs, but for the half that the steps add to those with the state.
static void add_bias(byoc_writer_t *w, byoc_value_t *given, byoc_value_t *operands[BYOC_STEPS_OPERANDS]) {
  const byoc_node_t *node = w->node;
  const byoc_net_t net = byoc_net_of(node);
  const bool linear = net == BYOC_NET_GRU && byoc_node_flag(node, "linear_before_reset");
  byoc_value_t **products = &operands[BYOC_STEPS_PRODUCTS];
  if (!given || !*products) return;
  byoc_value_t *bias = as_type(w, given, (*products)->type->dtype);
  bias = write_bias(w, bias, directions_of(node), byoc_net_gates(net) * hidden_of(node), linear,
                    &operands[BYOC_STEPS_BIAS]);
  *products = byoc_write_plain(w, "Add", *products, bias);
}

// The steps of a network: `operands` has the products with the inputs, the bias and the packed R; the others are those
// of the network.
static byoc_status_t write_steps(byoc_writer_t *w, const char *name, byoc_value_t *const in[IN_P + 1],
                                 byoc_value_t *operands[BYOC_STEPS_OPERANDS], const byoc_attribute_t *attributes,
                                 size_t attribute_count) {
  byoc_node_t *node = w->node;
  if (w->failed) return byoc_diag_failure(w->diag);
  const byoc_dtype_t given = in[IN_X]->type->dtype, dtype = byoc_compute_dtype(given);
  operands[BYOC_STEPS_PEEPHOLES] = as_type(w, in[IN_P], dtype);
  operands[BYOC_STEPS_LENGTHS] = in[IN_LENGTHS];
  operands[BYOC_STEPS_H] = as_type(w, in[IN_H], dtype);
  operands[BYOC_STEPS_C] = as_type(w, in[IN_C], dtype);
  uint32_t count = BYOC_STEPS_OPERANDS;
  while (count > 0 && !operands[count - 1]) --count;
  byoc_node_t *made =
      byoc_write_many(w, "byoc", name, operands, count, node->result_count, attributes, attribute_count);
  if (!made || !byoc_node_set_name(made, node->name)) return byoc_diag_failure(w->diag);
  drop_default_activations(node, directions_of(node), made);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    byoc_value_t *value = byoc_write_cast(w, made->results[i], given);
    if (!value || !byoc_value_replace_uses(node->results[i], value)) return byoc_diag_failure(w->diag);
    byoc_value_set_name(value, node->results[i]->name);
  }
  return BYOC_OK;
}

// LSTM(x, W, R, B, ...) → byoc::LSTMSteps(x * W^T + B, panels of R, ...)
static byoc_status_t expand_recurrent(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *in[IN_P + 1];
  *out_changed = false;
  for (uint32_t i = IN_X; i <= IN_R; ++i) {
    if (!byoc_is_ranked(node->operands[i]->type)) return BYOC_OK;
  }
  read_operands(node, in);
  static const char *const names[] = {"RNNSteps", "GRUSteps", "LSTMSteps"};
  const byoc_dtype_t dtype = byoc_compute_dtype(in[IN_X]->type->dtype);
  const int64_t directions = directions_of(node), gates = byoc_net_gates(byoc_net_of(node)), hidden = hidden_of(node);
  byoc_value_t *operands[BYOC_STEPS_OPERANDS] = {NULL};
  operands[BYOC_STEPS_PRODUCTS] =
      write_products(&w, as_type(&w, in[IN_X], dtype), as_type(&w, in[IN_W], dtype), directions * gates * hidden);
  add_bias(&w, in[IN_B], operands);
  operands[BYOC_STEPS_PANELS] = write_panels(&w, as_type(&w, in[IN_R], dtype), directions, gates, hidden);
  BYOC_RETURN_IF_ERROR(
      write_steps(&w, names[byoc_net_of(node)], in, operands, node->attributes.items, node->attributes.count));
  *out_changed = true;
  return BYOC_OK;
}

// ---- DynamicQuantizeLSTM of com.microsoft ----

enum { IN_W_SCALE = IN_P + 1, IN_W_ZERO, IN_R_SCALE, IN_R_ZERO };

static bool is_f32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_F32;
}

// Scales or zero points: one for each direction, or one for each of the columns too.
static byoc_status_t need_columns(const byoc_infer_t *infer, uint32_t index, const byoc_dim_t dims[2]) {
  const byoc_type_t *type = byoc_operand_type(infer->node, index);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, index, 1, 2));
  if (!byoc_is_ranked(type)) return byoc_infer_unsupported(infer, "operand %u: its rank must be known", index);
  return byoc_infer_need_dims(infer, index, type->rank, dims);
}

static byoc_status_t infer_dynamic(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  const int64_t directions = byoc_node_choice(node, "direction") == BYOC_DIRECTION_BOTH ? 2 : 1;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, IN_X, is_f32, "a tensor of f32"));
  for (uint32_t i = IN_X; i <= IN_R; ++i) {
    if (i != IN_X) BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, byoc_dtype_is_byte, "a tensor of bytes"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, i, 3, 3));
    if (!byoc_is_ranked(byoc_operand_type(node, i))) {
      return byoc_infer_unsupported(infer, "operand %u: its rank must be known", i);
    }
  }
  const byoc_type_t *x = byoc_operand_type(node, IN_X), *r = byoc_operand_type(node, IN_R);
  const byoc_dim_t hidden = r->dims[1], count = byoc_dim_constant(directions);
  if (!byoc_dim_is_constant(hidden) || hidden.constant < 1 || hidden.constant > INT32_MAX / 8) {
    return byoc_infer_unsupported(infer, "a hidden size that is not constant, or too large, is not supported");
  }
  const int64_t asked = byoc_node_int(node, "hidden_size");
  if (asked != 0 && asked != hidden.constant) {
    return byoc_infer_error(infer, "attribute 'hidden_size': expected %lld as in operand 2, got %lld",
                            (long long)hidden.constant, (long long)asked);
  }
  const byoc_dim_t columns[2] = {count, byoc_dim_constant(4 * hidden.constant)};
  const byoc_dim_t bias[2] = {count, byoc_dim_constant(8 * hidden.constant)};
  for (uint32_t i = IN_W; i <= IN_R; ++i) {
    const uint32_t scale = i == IN_W ? IN_W_SCALE : IN_R_SCALE;
    const byoc_dim_t wanted[3] = {count, i == IN_W ? x->dims[2] : hidden, columns[1]};
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, i, 3, wanted));
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, scale, is_f32, "scales of f32"));
    BYOC_RETURN_IF_ERROR(need_columns(infer, scale, columns));
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, scale + 1, byoc_dtype_is_byte, "zero points"));
    BYOC_RETURN_IF_ERROR(need_columns(infer, scale + 1, columns));
    if (byoc_operand_type(node, scale + 1)->dtype == byoc_operand_type(node, i)->dtype) continue;
    return byoc_infer_error(infer, "operand %u: expected the type of operand %u", scale + 1, i);
  }
  for (uint32_t i = IN_B; i <= IN_P; ++i) {
    if (i != IN_LENGTHS) BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, i));
  }
  if (byoc_has_operand(node, IN_LENGTHS)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, IN_LENGTHS, is_i32, "lengths of i32"));
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, IN_B, 2, bias));
  return byoc_recurrent_infer(infer, x, hidden, IN_P);
}

// Numbers of each direction, or of each of its columns → [directions, columns]
static byoc_value_t *write_columns(byoc_writer_t *w, uint32_t index, const int64_t dims[2]) {
  byoc_value_t *x = w->node->operands[index];
  if (x->type->rank == 2) return x;
  const int64_t column[] = {dims[0], 1};
  return byoc_write_plain(w, "Expand", byoc_write_reshape(w, x, column, 2),
                          byoc_write_vector(w, "dims", BYOC_DTYPE_I64, 2, dims));
}

// Zero points of `index` as write_columns has them; NULL if all are 0.
static byoc_value_t *write_zeros(byoc_writer_t *w, uint32_t index, const int64_t dims[2]) {
  return byoc_all_are(w->node->operands[index], 0) ? NULL : write_columns(w, index, dims);
}

// x in bytes, and its scale and zero point, times W [directions, size, columns] → f32[..., directions * columns]
static byoc_value_t *write_byte_products(byoc_writer_t *w, const int64_t dims[2]) {
  static const int64_t turn[] = {1, 0, 2};
  const int64_t all = dims[0] * dims[1], matrix[] = {-1, all};
  byoc_value_t *x = w->node->operands[IN_X], *zeros = write_zeros(w, IN_W_ZERO, dims);
  byoc_node_t *rounded = byoc_write_many(w, "", "DynamicQuantizeLinear", &x, 1, 3, NULL, 0);
  if (!rounded) return NULL;
  byoc_value_t *weights = byoc_write_transpose(w, w->node->operands[IN_W], turn, 3);
  byoc_value_t *const operands[] = {rounded->results[0], byoc_write_reshape(w, weights, matrix, 2), rounded->results[2],
                                    zeros ? byoc_write_reshape(w, zeros, &all, 1) : NULL};
  byoc_node_t *product = byoc_write_many(w, "", "MatMulInteger", operands, zeros ? 4 : 3, 1, NULL, 0);
  byoc_value_t *scales = byoc_write_reshape(w, write_columns(w, IN_W_SCALE, dims), &all, 1);
  scales = byoc_write_plain(w, "Mul", scales, rounded->results[1]);
  return product ? byoc_write_plain(w, "Mul", byoc_write_cast(w, product->results[0], BYOC_DTYPE_F32), scales) : NULL;
}

enum { GATES = 4 };

// Numbers of R's columns [directions, gates * hidden] in panels
static byoc_value_t *write_panel_columns(byoc_writer_t *w, byoc_value_t *x, int64_t directions, int64_t hidden) {
  const int64_t panels = (hidden + BYOC_STEPS_WIDTH - 1) / BYOC_STEPS_WIDTH, width = panels * BYOC_STEPS_WIDTH;
  const int64_t by_gate[] = {directions, GATES, hidden}, pads[] = {0, 0, 0, 0, 0, width - hidden};
  const int64_t by_panel[] = {directions, GATES * panels, BYOC_STEPS_WIDTH};
  x = byoc_write_reshape(w, x, by_gate, 3);
  if (width > hidden) x = byoc_write_plain(w, "Pad", x, byoc_write_vector(w, "pads", BYOC_DTYPE_I64, 6, pads));
  return byoc_write_reshape(w, x, by_panel, 3);
}

// R [directions, hidden, gates * hidden] of bytes → panels of words, each of four signed bytes of a column
static byoc_value_t *write_words(byoc_writer_t *w, byoc_value_t *x, int64_t directions, int64_t hidden) {
  static const int64_t turn[] = {0, 2, 1, 3}, axis = 2;
  static const uint32_t places[] = {1, UINT32_C(1) << 8, UINT32_C(1) << 16, UINT32_C(1) << 24};
  static const uint8_t sign = 128;
  const int64_t panels = (hidden + BYOC_STEPS_WIDTH - 1) / BYOC_STEPS_WIDTH, width = panels * BYOC_STEPS_WIDTH;
  const int64_t lines = (hidden + 3) / 4, by_gate[] = {directions, hidden, GATES, hidden};
  const int64_t pads[] = {0, 0, 0, 0, 0, 4 * lines - hidden, 0, width - hidden};
  const int64_t by_word[] = {directions, lines, 4, GATES * width};
  const int64_t by_panel[] = {directions, lines, GATES * panels, BYOC_STEPS_WIDTH}, column[] = {4, 1};
  const byoc_attribute_t as_u8 = byoc_write_int("to", BYOC_DTYPE_U8);
  const byoc_attribute_t as_i32 = byoc_write_int("to", BYOC_DTYPE_I32);
  const byoc_attribute_t drop = byoc_write_int("keepdims", 0);
  if (x->type->dtype == BYOC_DTYPE_U8) {
    x = byoc_write_plain(w, "BitwiseXor", x, byoc_write_vector(w, "sign", BYOC_DTYPE_U8, 1, &sign));
  } else {
    x = byoc_write_node(w, "", "BitCast", x, NULL, NULL, &as_u8, 1);
  }
  x = byoc_write_reshape(w, x, by_gate, 4);
  x = byoc_write_plain(w, "Pad", x, byoc_write_vector(w, "pads", BYOC_DTYPE_I64, 8, pads));
  x = byoc_write_cast(w, byoc_write_reshape(w, x, by_word, 4), BYOC_DTYPE_U32);
  byoc_value_t *factors = byoc_write_reshape(w, byoc_write_vector(w, "places", BYOC_DTYPE_U32, 4, places), column, 2);
  x = byoc_write_node(w, "", "ReduceSum", byoc_write_plain(w, "Mul", x, factors),
                      byoc_write_vector(w, "axis", BYOC_DTYPE_I64, 1, &axis), NULL, &drop, 1);
  x = byoc_write_transpose(w, byoc_write_reshape(w, x, by_panel, 4), turn, 4);
  return byoc_write_node(w, "", "BitCast", x, NULL, NULL, &as_i32, 1);
}

// The operands of the steps for R: its words, scales, sums and zero points.
static void write_byte_weights(byoc_writer_t *w, byoc_value_t *operands[BYOC_STEPS_OPERANDS], const int64_t dims[2]) {
  static const int64_t axis = 1;
  const byoc_attribute_t drop = byoc_write_int("keepdims", 0);
  byoc_value_t *x = w->node->operands[IN_R], *zeros = w->node->operands[IN_R_ZERO];
  const int64_t directions = dims[0], hidden = dims[1] / GATES;
  const int32_t shift = x->type->dtype == BYOC_DTYPE_U8 ? 128 : 0;
  byoc_value_t *sums = byoc_write_node(w, "", "ReduceSum", byoc_write_cast(w, x, BYOC_DTYPE_I32),
                                       byoc_write_vector(w, "axis", BYOC_DTYPE_I64, 1, &axis), NULL, &drop, 1);
  operands[BYOC_STEPS_PANELS] = write_words(w, x, directions, hidden);
  operands[BYOC_STEPS_SCALES] = write_panel_columns(w, write_columns(w, IN_R_SCALE, dims), directions, hidden);
  if (!byoc_all_are(zeros, 0)) {
    const int32_t depth = (int32_t)hidden;
    byoc_value_t *of_columns = byoc_write_cast(w, write_columns(w, IN_R_ZERO, dims), BYOC_DTYPE_I32);
    byoc_value_t *less = byoc_write_vector(w, "depth", BYOC_DTYPE_I32, 1, &depth);
    sums = byoc_write_plain(w, "Sub", sums, byoc_write_plain(w, "Mul", of_columns, less));
  }
  operands[BYOC_STEPS_SUMS] = write_panel_columns(w, sums, directions, hidden);
  if (byoc_all_are(zeros, shift)) return;
  byoc_value_t *signed_zeros = byoc_write_cast(w, write_columns(w, IN_R_ZERO, dims), BYOC_DTYPE_I32);
  signed_zeros = byoc_write_plain(w, "Sub", signed_zeros, byoc_write_vector(w, "shift", BYOC_DTYPE_I32, 1, &shift));
  operands[BYOC_STEPS_ZEROS] = write_panel_columns(w, signed_zeros, directions, hidden);
}

// DynamicQuantizeLSTM(x, W, R, B, ...) → byoc::DynamicLSTMSteps(bytes of x * W + B, words of R, ...)
static byoc_status_t expand_dynamic(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_value_t *in[IN_P + 1], *operands[BYOC_STEPS_OPERANDS] = {NULL};
  const int64_t hidden = hidden_of(node), dims[] = {directions_of(node), GATES * hidden};
  *out_changed = false;
  read_operands(node, in);
  operands[BYOC_STEPS_PRODUCTS] = write_byte_products(&w, dims);
  if (w.failed) return byoc_diag_failure(diag);
  add_bias(&w, in[IN_B], operands);
  write_byte_weights(&w, operands, dims);
  const size_t count = node->attributes.count;
  byoc_attribute_t *attributes = BYOC_ARENA_ARRAY(&node->function->module->arena, byoc_attribute_t, count + 1);
  if (!attributes) return byoc_diag_out_of_memory(diag);
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(node->attributes.items[i].name, "hidden_size") != 0) attributes[kept++] = node->attributes.items[i];
  }
  attributes[kept++] = byoc_write_int("hidden_size", hidden);
  BYOC_RETURN_IF_ERROR(write_steps(&w, "DynamicLSTMSteps", in, operands, attributes, kept));
  *out_changed = true;
  return BYOC_OK;
}

// ---- rows ----

static const byoc_op_attribute_t rnn_attributes[] = {
    BYOC_RECURRENT_ATTRIBUTES(14),
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t gru_attributes[] = {
    BYOC_RECURRENT_ATTRIBUTES(14),
    {BYOC_ATTR_INT("linear_before_reset", 0)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t lstm_attributes[] = {
    BYOC_RECURRENT_ATTRIBUTES(14),
    {BYOC_ATTR_INT("input_forget", 0)},
    BYOC_ATTR_END,
};

#define ROW(table, op_name, version, operands, results)                                                                \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = 3, .max_inputs = operands,                 \
    .min_outputs = 0, .max_outputs = results, .traits = BYOC_OP_HEAVY | BYOC_OP_LIMITS, .attributes = table,           \
    .infer = infer_recurrent, .expand = expand_recurrent                                                               \
  }

const byoc_op_t byoc_ops_recurrent[] = {
    ROW(rnn_attributes, RNN, 7, 6, 2),
    ROW(rnn_attributes, RNN, 14, 6, 2),
    ROW(rnn_attributes, RNN, 22, 6, 2),
    ROW(gru_attributes, GRU, 7, 6, 2),
    ROW(gru_attributes, GRU, 14, 6, 2),
    ROW(gru_attributes, GRU, 22, 6, 2),
    ROW(lstm_attributes, LSTM, 7, 8, 3),
    ROW(lstm_attributes, LSTM, 14, 8, 3),
    ROW(lstm_attributes, LSTM, 22, 8, 3),
    {.domain = "com.microsoft",
     .name = "DynamicQuantizeLSTM",
     .since_version = 1,
     .min_inputs = 3,
     .max_inputs = IN_R_ZERO + 1,
     .min_outputs = 0,
     .max_outputs = 3,
     .traits = BYOC_OP_HEAVY | BYOC_OP_LIMITS,
     .attributes = lstm_attributes,
     .infer = infer_dynamic,
     .expand = expand_dynamic},
};
const size_t byoc_ops_recurrent_count = sizeof byoc_ops_recurrent / sizeof *byoc_ops_recurrent;

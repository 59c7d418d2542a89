// Recurrent networks: RNN, GRU, LSTM with all their attributes. They are rewritten into one product of all inputs with
// the input weights, and the steps (core/ops/recurrent_steps.c).
#include "core/ops/recurrent.h"

#include "core/ops/write.h"

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

// The biases of the inputs and, unless the reset gate scales what they are added to, those of the state.
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

static byoc_value_t *operand_as(byoc_writer_t *w, uint32_t index, byoc_dtype_t dtype) {
  return byoc_has_operand(w->node, index) ? byoc_write_cast(w, w->node->operands[index], dtype) : NULL;
}

// LSTM(x, W, R, B, ...) → byoc::LSTMSteps(x * W^T + B, panels of R, ...)
static byoc_status_t expand_recurrent(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  for (uint32_t i = IN_X; i <= IN_R; ++i) {
    if (!byoc_is_ranked(node->operands[i]->type)) return BYOC_OK;
  }
  static const char *const names[] = {"RNNSteps", "GRUSteps", "LSTMSteps"};
  byoc_writer_t w = {.node = node, .diag = diag};
  const byoc_net_t net = byoc_net_of(node);
  const byoc_dtype_t given = node->operands[IN_X]->type->dtype, dtype = byoc_compute_dtype(given);
  const int64_t directions = byoc_node_choice(node, "direction") == BYOC_DIRECTION_BOTH ? 2 : 1;
  const int64_t gates = byoc_net_gates(net), hidden = node->operands[IN_R]->type->dims[2].constant;
  byoc_value_t *operands[BYOC_STEPS_OPERANDS] = {NULL}, *bias = operand_as(&w, IN_B, dtype);
  byoc_value_t *products =
      write_products(&w, operand_as(&w, IN_X, dtype), operand_as(&w, IN_W, dtype), directions * gates * hidden);
  if (bias) {
    const bool linear = net == BYOC_NET_GRU && byoc_node_flag(node, "linear_before_reset");
    bias = write_bias(&w, bias, directions, gates * hidden, linear, &operands[BYOC_STEPS_BIAS]);
    products = byoc_write_node(&w, "", "Add", products, bias, NULL, NULL, 0);
  }
  operands[BYOC_STEPS_PRODUCTS] = products;
  operands[BYOC_STEPS_PANELS] = write_panels(&w, operand_as(&w, IN_R, dtype), directions, gates, hidden);
  operands[BYOC_STEPS_PEEPHOLES] = operand_as(&w, IN_P, dtype);
  operands[BYOC_STEPS_LENGTHS] = byoc_has_operand(node, IN_LENGTHS) ? node->operands[IN_LENGTHS] : NULL;
  operands[BYOC_STEPS_H] = operand_as(&w, IN_H, dtype);
  operands[BYOC_STEPS_C] = operand_as(&w, IN_C, dtype);
  uint32_t count = BYOC_STEPS_OPERANDS;
  while (count > 0 && !operands[count - 1]) --count;
  byoc_node_t *made = byoc_write_many(&w, "byoc", names[net], operands, count, node->result_count,
                                      node->attributes.items, node->attributes.count);
  if (!made || !byoc_node_set_name(made, node->name)) return byoc_diag_failure(diag);
  for (uint32_t i = 0; i < node->result_count; ++i) {
    byoc_value_t *value = byoc_write_cast(&w, made->results[i], given);
    if (!value || !byoc_value_replace_uses(node->results[i], value)) return byoc_diag_failure(diag);
    byoc_value_set_name(value, node->results[i]->name);
  }
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
    ROW(rnn_attributes, RNN, 7, 6, 2),   ROW(rnn_attributes, RNN, 14, 6, 2),   ROW(rnn_attributes, RNN, 22, 6, 2),
    ROW(gru_attributes, GRU, 7, 6, 2),   ROW(gru_attributes, GRU, 14, 6, 2),   ROW(gru_attributes, GRU, 22, 6, 2),
    ROW(lstm_attributes, LSTM, 7, 8, 3), ROW(lstm_attributes, LSTM, 14, 8, 3), ROW(lstm_attributes, LSTM, 22, 8, 3),
};
const size_t byoc_ops_recurrent_count = sizeof byoc_ops_recurrent / sizeof *byoc_ops_recurrent;

// SPDX-License-Identifier: Apache-2.0
// The steps of recurrent networks: byoc::RNNSteps, byoc::GRUSteps, byoc::LSTMSteps. The products with the inputs are
// given; those with the state (recurrent_product.c) use panels of weights with contiguous columns, and sums in
// registers. byoc::DynamicLSTMSteps rounds the state to bytes and has weights of bytes. Each parallel iteration
// computes all steps of a few sequences of the batch in one direction. Their state is in local buffers, and each panel
// is read once for all of them.
#include "core/ops/onnx/nn/recurrent_lowering.h"

#define NUM(value) byoc_loop_const(b, s->dtype, (value))

// ---- types ----

static bool is_i32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I32;
}

// Further operands for weights of bytes: numbers for each column, in panels.
static byoc_status_t need_bytes(byoc_infer_t *infer, byoc_dim_t directions, byoc_dim_t panels) {
  const byoc_dim_t columns[] = {directions, panels, byoc_dim_constant(BYOC_STEPS_WIDTH)};
  for (uint32_t i = BYOC_STEPS_SCALES; i <= BYOC_STEPS_SUMS; ++i) {
    if (!byoc_has_operand(infer->node, i)) return byoc_infer_error(infer, "operand %u is left out", i);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, BYOC_STEPS_PANELS, is_i32, "words of i32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, BYOC_STEPS_SCALES));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, BYOC_STEPS_SUMS, is_i32, "sums of i32"));
  if (byoc_has_operand(infer->node, BYOC_STEPS_ZEROS)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, BYOC_STEPS_ZEROS, is_i32, "zero points of i32"));
  }
  for (uint32_t i = BYOC_STEPS_SCALES; i <= BYOC_STEPS_ZEROS; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, i, 3, columns));
  }
  return BYOC_OK;
}

static bool has_bytes(const byoc_node_t *node) {
  return byoc_node_is(node, "byoc", "DynamicLSTMSteps");
}

static byoc_status_t infer_steps(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  const int64_t gates = byoc_net_gates(byoc_net_of(node));
  const int64_t directions = byoc_node_choice(node, "direction") == BYOC_DIRECTION_BOTH ? 2 : 1;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, BYOC_STEPS_PRODUCTS, byoc_dtype_is_float, "a float tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, BYOC_STEPS_PRODUCTS, 3, 3));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, BYOC_STEPS_PANELS, 4, 4));
  for (uint32_t i = has_bytes(node) ? BYOC_STEPS_BIAS : BYOC_STEPS_PANELS; i <= BYOC_STEPS_C; ++i) {
    if (i != BYOC_STEPS_LENGTHS) BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, i));
  }
  if (byoc_has_operand(node, BYOC_STEPS_LENGTHS)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, BYOC_STEPS_LENGTHS, is_i32, "lengths of i32"));
  }
  const byoc_type_t *products = byoc_operand_type(node, BYOC_STEPS_PRODUCTS),
                    *panels = byoc_operand_type(node, BYOC_STEPS_PANELS);
  if (!byoc_is_ranked(products) || !byoc_is_ranked(panels)) {
    for (uint32_t i = 0; i < node->result_count; ++i) {
      BYOC_RETURN_IF_ERROR(byoc_infer_set_unknown(infer, i, products->dtype, i == 0 ? 4 : 3));
    }
    return BYOC_OK;
  }
  const byoc_dim_t hidden = has_bytes(node) ? byoc_dim_constant(byoc_node_int(node, "hidden_size")) : panels->dims[2];
  if (!byoc_dim_is_constant(hidden) || hidden.constant > INT32_MAX) {
    return byoc_infer_unsupported(infer, "a hidden size that is not constant, or too large, is not supported");
  }
  const int64_t width = BYOC_STEPS_WIDTH, count = (hidden.constant + width - 1) / width;
  const byoc_dim_t lines = has_bytes(node) ? byoc_dim_constant((hidden.constant + 3) / 4) : hidden;
  const byoc_dim_t dims[] = {byoc_dim_constant(directions), byoc_dim_constant(gates * count), lines,
                             byoc_dim_constant(width)};
  const byoc_dim_t bias[] = {dims[0], byoc_dim_constant(gates * hidden.constant)};
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, BYOC_STEPS_PANELS, 4, dims));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, BYOC_STEPS_BIAS, 2, bias));
  if (has_bytes(node)) BYOC_RETURN_IF_ERROR(need_bytes(infer, dims[0], dims[1]));
  BYOC_RETURN_IF_ERROR(
      byoc_infer_need_dim(infer, BYOC_STEPS_PRODUCTS, 2, byoc_dim_constant(directions * gates * hidden.constant)));
  return byoc_recurrent_infer(infer, products, hidden, BYOC_STEPS_PEEPHOLES);
}

// ---- lowering ----

static const byoc_loop_expr_t *load_state(const byoc_steps_t *s, const byoc_loop_buffer_t *state,
                                          const byoc_loop_expr_t *j) {
  return byoc_loop_load(s->b, state, byoc_steps_state_at(s, j));
}

static const byoc_loop_expr_t *open_hidden(const byoc_steps_t *s) {
  byoc_loop_builder_t *b = s->b;
  return byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", byoc_loop_int(b, 0), byoc_loop_int(b, s->hidden));
}

// An element of [direction][batch][hidden], or batch first.
static void state_indices(const byoc_steps_t *s, const byoc_loop_expr_t *j, const byoc_loop_expr_t *out[3]) {
  out[0] = s->batchwise ? s->batch : s->direction;
  out[1] = s->batchwise ? s->direction : s->batch;
  out[2] = j;
}

static void start_state(byoc_steps_t *s, const byoc_loop_buffer_t *state, uint32_t operand) {
  byoc_loop_builder_t *b = s->b;
  byoc_steps_open_rows(s, true);
  const byoc_loop_expr_t *j = open_hidden(s), *at[3], *value = NUM(0.0);
  state_indices(s, j, at);
  if (byoc_has_operand(s->node, operand)) value = byoc_emit_load(s->lower, s->node, operand, at);
  byoc_loop_store(b, state, byoc_steps_state_at(s, j), byoc_emit_as(b, s->dtype, value));
  byoc_loop_end(b);
  byoc_steps_close_rows(s);
}

// The state after an empty sequence is 0, as in ONNX Runtime, even if its initial state is not.
static void store_last(byoc_steps_t *s, uint32_t result, const byoc_loop_buffer_t *state) {
  byoc_loop_builder_t *b = s->b;
  if (!byoc_has_result(s->node, result)) return;
  byoc_steps_open_rows(s, false);
  const byoc_loop_expr_t *j = open_hidden(s), *at[3], *value = load_state(s, state, j);
  state_indices(s, j, at);
  if (s->length) {
    const byoc_loop_expr_t *is_empty = byoc_loop_binary(b, BYOC_LOOP_OP_EQ, s->length, byoc_loop_int(b, 0));
    value = byoc_loop_select(b, is_empty, NUM(0.0), value);
  }
  byoc_emit_store(s->lower, s->node, result, at, value);
  byoc_loop_end(s->b);
  byoc_steps_close_rows(s);
}

static void store_step(const byoc_steps_t *s, const byoc_loop_expr_t *time, const byoc_loop_expr_t *j,
                       const byoc_loop_expr_t *value) {
  const byoc_loop_expr_t *at[] = {time, s->direction, s->batch, j}, *batchwise[] = {s->batch, time, s->direction, j};
  if (byoc_has_result(s->node, 0)) byoc_emit_store(s->lower, s->node, 0, s->batchwise ? batchwise : at, value);
}

// The product with the state, and its bias, if it has one of its own.
static const byoc_loop_expr_t *of_state(const byoc_steps_t *s, int64_t index, const byoc_loop_expr_t *j) {
  byoc_loop_builder_t *b = s->b;
  const byoc_loop_expr_t *row = byoc_steps_times(s, s->row, byoc_steps_gates(s));
  const byoc_loop_expr_t *at = BYOC_LADD(b, byoc_loop_int(b, index * s->panels * BYOC_STEPS_WIDTH), j);
  const byoc_loop_expr_t *sum = byoc_loop_load(b, s->gates, BYOC_LADD(b, row, at));
  if (!byoc_has_operand(s->node, BYOC_STEPS_BIAS)) return sum;
  const byoc_loop_expr_t *bias[] = {s->direction, BYOC_LADD(b, byoc_loop_int(b, index * s->hidden), j)};
  const byoc_loop_expr_t *value = byoc_emit_load(s->lower, s->node, BYOC_STEPS_BIAS, bias);
  return BYOC_LADD(b, sum, byoc_emit_as(b, s->dtype, value));
}

// The product with the input.
static const byoc_loop_expr_t *of_input(const byoc_steps_t *s, int64_t index, const byoc_loop_expr_t *j) {
  byoc_loop_builder_t *b = s->b;
  const byoc_loop_expr_t *column = byoc_steps_times(s, s->direction, byoc_net_gates(s->net) * s->hidden);
  column = BYOC_LADD(b, BYOC_LADD(b, column, byoc_loop_int(b, index * s->hidden)), j);
  const byoc_loop_expr_t *at[] = {s->batchwise ? s->batch : s->time, s->batchwise ? s->time : s->batch, column};
  return byoc_emit_as(b, s->dtype, byoc_emit_load(s->lower, s->node, BYOC_STEPS_PRODUCTS, at));
}

static const byoc_loop_expr_t *clipped(const byoc_steps_t *s, const byoc_loop_expr_t *x) {
  byoc_loop_builder_t *b = s->b;
  return s->clip > 0 ? BYOC_LMAX(b, NUM(-s->clip), BYOC_LMIN(b, NUM(s->clip), x)) : x;
}

static const byoc_loop_expr_t *activated(const byoc_steps_t *s, int32_t function, const byoc_loop_expr_t *x) {
  return byoc_recurrent_activate(s->b, &s->f[function], clipped(s, x));
}

static const byoc_loop_expr_t *gate(const byoc_steps_t *s, int64_t index, const byoc_loop_expr_t *j) {
  byoc_loop_builder_t *b = s->b;
  return BYOC_LADD(b, of_input(s, index, j), of_state(s, index, j));
}

static void next_state(const byoc_steps_t *s, const byoc_loop_expr_t *j, const byoc_loop_expr_t *value) {
  byoc_loop_builder_t *b = s->b;
  const byoc_loop_expr_t *h = byoc_loop_let(b, "next", value);
  byoc_loop_store(b, s->h, byoc_steps_state_at(s, j), h);
  store_step(s, s->time, j, h);
}

// h = f(W x + R h + biases)
static void step_rnn(byoc_steps_t *s) {
  byoc_steps_multiply(s, 0, 1, s->h);
  byoc_steps_open_rows(s, false);
  const byoc_loop_expr_t *j = open_hidden(s);
  next_state(s, j, activated(s, 0, gate(s, 0, j)));
  byoc_loop_end(s->b);
  byoc_steps_close_rows(s);
}

// reset = r * h, for R (r * h)
static void reset_state(byoc_steps_t *s) {
  byoc_loop_builder_t *b = s->b;
  byoc_steps_open_rows(s, false);
  const byoc_loop_expr_t *j = open_hidden(s), *r = activated(s, 0, gate(s, 1, j));
  byoc_loop_store(b, s->reset, byoc_steps_state_at(s, j), BYOC_LMUL(b, r, load_state(s, s->h, j)));
  byoc_loop_end(b);
  byoc_steps_close_rows(s);
}

// z, r = f(gates); candidate = g(W x + R (r * h)), or with linear_before_reset g(W x + r * (R h)); h = (1 - z) *
// candidate + z * h
static void step_gru(byoc_steps_t *s) {
  byoc_loop_builder_t *b = s->b;
  byoc_steps_multiply(s, 0, s->is_linear ? 3 : 2, s->h);
  if (!s->is_linear) {
    reset_state(s);
    byoc_steps_multiply(s, 2, 3, s->reset);
  }
  byoc_steps_open_rows(s, false);
  const byoc_loop_expr_t *j = open_hidden(s), *sum = of_state(s, 2, j);
  if (s->is_linear) sum = BYOC_LMUL(b, sum, activated(s, 0, gate(s, 1, j)));
  const byoc_loop_expr_t *z = byoc_loop_let(b, "z", activated(s, 0, gate(s, 0, j)));
  const byoc_loop_expr_t *candidate = activated(s, 1, BYOC_LADD(b, of_input(s, 2, j), sum));
  const byoc_loop_expr_t *fresh = BYOC_LMUL(b, BYOC_LSUB(b, NUM(1.0), z), candidate);
  next_state(s, j, BYOC_LADD(b, fresh, BYOC_LMUL(b, z, load_state(s, s->h, j))));
  byoc_loop_end(b);
  byoc_steps_close_rows(s);
}

// A gate with its peephole. P holds input, output, forget.
static const byoc_loop_expr_t *peeking(const byoc_steps_t *s, int64_t index, int64_t peephole,
                                       const byoc_loop_expr_t *j, const byoc_loop_expr_t *c) {
  byoc_loop_builder_t *b = s->b;
  const byoc_loop_expr_t *sum = gate(s, index, j);
  if (!byoc_has_operand(s->node, BYOC_STEPS_PEEPHOLES)) return activated(s, 0, sum);
  const byoc_loop_expr_t *at[] = {s->direction, BYOC_LADD(b, byoc_loop_int(b, peephole * s->hidden), j)};
  const byoc_loop_expr_t *p = byoc_emit_load(s->lower, s->node, BYOC_STEPS_PEEPHOLES, at);
  return activated(s, 0, BYOC_LADD(b, sum, BYOC_LMUL(b, byoc_emit_as(b, s->dtype, p), c)));
}

// c = f(forget) * c + f(input) * g(cell); h = f(output) * h(c). Gates lie in the order input, output, forget, cell.
static void step_lstm(byoc_steps_t *s) {
  byoc_loop_builder_t *b = s->b;
  byoc_steps_round_state(s);
  byoc_steps_multiply(s, 0, 4, s->h);
  byoc_steps_open_rows(s, false);
  const byoc_loop_expr_t *j = open_hidden(s);
  const byoc_loop_expr_t *old = byoc_loop_let(b, "old", load_state(s, s->c, j));
  const byoc_loop_expr_t *in = byoc_loop_let(b, "in", peeking(s, 0, 0, j, old));
  const bool coupled = byoc_node_flag(s->node, "input_forget");
  const byoc_loop_expr_t *forget = coupled ? BYOC_LSUB(b, NUM(1.0), in) : peeking(s, 2, 2, j, old);
  const byoc_loop_expr_t *kept = byoc_loop_let(b, "kept", BYOC_LMUL(b, forget, old));
  const byoc_loop_expr_t *fresh = BYOC_LMUL(b, in, activated(s, 1, gate(s, 3, j)));
  const byoc_loop_expr_t *c = byoc_loop_let(b, "c", BYOC_LADD(b, kept, fresh));
  byoc_loop_store(b, s->c, byoc_steps_state_at(s, j), c);
  const byoc_loop_expr_t *out = byoc_loop_let(b, "out", peeking(s, 1, 1, j, c));
  next_state(s, j, BYOC_LMUL(b, out, byoc_recurrent_activate(b, &s->f[2], c)));
  byoc_loop_end(b);
  byoc_steps_close_rows(s);
}

// Opens the parallel loop over the sequences of `count` directions from `direction` on.
static void open_sequences(byoc_steps_t *s, const byoc_loop_expr_t *batch, int64_t direction, int64_t count) {
  byoc_loop_builder_t *b = s->b;
  const byoc_loop_expr_t *rows = byoc_loop_int(b, s->block), *one = byoc_loop_int(b, 1);
  const byoc_loop_expr_t *blocks = BYOC_LDIV(b, BYOC_LADD(b, batch, BYOC_LSUB(b, rows, one)), rows);
  const byoc_loop_expr_t *i =
      byoc_loop_for(b, BYOC_LOOP_PARALLEL, "n", byoc_loop_int(b, 0), byoc_steps_times(s, blocks, count));
  s->direction = byoc_loop_int(b, direction);
  if (count > 1) {
    s->direction = byoc_loop_let(b, "direction", BYOC_LDIV(b, i, blocks));
    i = BYOC_LMOD(b, i, blocks);
  }
  s->first = byoc_loop_let(b, "first", BYOC_LMUL(b, i, rows));
  int64_t known = 0;
  bool is_whole = s->block == 1 || (byoc_loop_is_int(batch, &known) && known % s->block == 0);
  s->used = is_whole ? rows : byoc_loop_let(b, "used", BYOC_LMIN(b, rows, BYOC_LSUB(b, batch, s->first)));
}

static const byoc_loop_expr_t *time_of(const byoc_steps_t *s, const byoc_loop_expr_t *step,
                                       const byoc_loop_expr_t *length) {
  byoc_loop_builder_t *b = s->b;
  const byoc_loop_expr_t *one = byoc_loop_int(b, 1), *back = BYOC_LSUB(b, BYOC_LSUB(b, length, one), step);
  int32_t direction = (int32_t)byoc_node_choice(s->node, "direction");
  if (direction == BYOC_DIRECTION_FORWARD) return step;
  if (direction == BYOC_DIRECTION_REVERSE) return byoc_loop_let(b, "t", back);
  const byoc_loop_expr_t *forward = byoc_loop_binary(b, BYOC_LOOP_OP_EQ, s->direction, byoc_loop_int(b, 0));
  return byoc_loop_let(b, "t", byoc_loop_select(b, forward, step, back));
}

static void lower_directions(byoc_steps_t *s, int64_t direction, int64_t count) {
  byoc_loop_builder_t *b = s->b;
  const byoc_type_t *products = s->node->operands[BYOC_STEPS_PRODUCTS]->type;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0);
  const byoc_loop_expr_t *steps = byoc_emit_dim(b, products, s->batchwise ? 1 : 0), *length = steps;
  open_sequences(s, byoc_emit_dim(b, products, s->batchwise ? 0 : 1), direction, count);
  s->h = byoc_loop_allocate(b, "h", s->dtype, byoc_steps_rows(s) * s->hidden);
  s->gates = byoc_loop_allocate(b, "gates", s->dtype, byoc_steps_rows(s) * byoc_steps_gates(s));
  start_state(s, s->h, BYOC_STEPS_H);
  if (s->net == BYOC_NET_GRU && !s->is_linear) {
    s->reset = byoc_loop_allocate(b, "reset", s->dtype, byoc_steps_rows(s) * s->hidden);
    start_state(s, s->reset, BYOC_STEPS_H);
  }
  if (s->net == BYOC_NET_LSTM) {
    s->c = byoc_loop_allocate(b, "c", s->dtype, byoc_steps_rows(s) * s->hidden);
    start_state(s, s->c, BYOC_STEPS_C);
    byoc_steps_begin_bytes(s);
  }
  if (byoc_has_operand(s->node, BYOC_STEPS_LENGTHS)) {
    // Clamped, because a kernel that is measured alone runs without the check of lengths.
    length = byoc_emit_as(b, BYOC_DTYPE_I64, byoc_lower_load(s->lower, s->node, BYOC_STEPS_LENGTHS, &s->first));
    s->length = length = byoc_loop_let(b, "length", BYOC_LMAX(b, zero, BYOC_LMIN(b, length, steps)));
  }
  const byoc_loop_expr_t *step = byoc_loop_for(b, BYOC_LOOP_SERIAL, "step", zero, length);
  s->step = step;
  s->time = time_of(s, step, length);
  if (s->net == BYOC_NET_RNN) step_rnn(s);
  if (s->net == BYOC_NET_GRU) step_gru(s);
  if (s->net == BYOC_NET_LSTM) step_lstm(s);
  byoc_loop_end(b);
  if (length != steps) { // after a shorter sequence's end the result is 0
    step = byoc_loop_for(b, BYOC_LOOP_SERIAL, "step", length, steps);
    byoc_steps_open_rows(s, false);
    store_step(s, step, open_hidden(s), NUM(0.0));
    byoc_loop_end(b);
    byoc_steps_close_rows(s);
    byoc_loop_end(b);
  }
  store_last(s, 1, s->h);
  if (s->net == BYOC_NET_LSTM) store_last(s, 2, s->c);
  byoc_loop_end(b);
}

// Chooses the number of sequences of an iteration so that blocks and tiles are equal. Sequences of different lengths
// are computed one by one.
static void choose_block(byoc_steps_t *s) {
  const byoc_dim_t batch = s->node->operands[BYOC_STEPS_PRODUCTS]->type->dims[s->batchwise ? 0 : 1];
  const int64_t most = BYOC_STEPS_MOST_STATE / s->hidden < BYOC_STEPS_MOST_BLOCK ? BYOC_STEPS_MOST_STATE / s->hidden
                                                                                 : BYOC_STEPS_MOST_BLOCK;
  s->is_open = !byoc_dim_is_constant(batch);
  s->block = most;
  if (byoc_has_operand(s->node, BYOC_STEPS_LENGTHS)) {
    s->block = 1;
  } else if (!s->is_open) {
    const int64_t count = batch.constant > 0 ? batch.constant : 1, blocks = (count + most - 1) / most;
    s->block = (count + blocks - 1) / blocks;
  }
  const int32_t bytes = byoc_lower_vector_bytes(s->lower);
  const int64_t tile = s->most = bytes >= 64 ? BYOC_STEPS_MOST_TILE : bytes >= 32 ? BYOC_STEPS_MOST_AVX2_TILE : 1;
  s->tiles = (s->block + tile - 1) / tile;
  s->tile = (s->block + s->tiles - 1) / s->tiles;
}

static bool same_functions(const byoc_activation_t *a, const byoc_activation_t *b) {
  for (int i = 0; i < 3; ++i) {
    if (a[i].kind != b[i].kind || a[i].alpha != b[i].alpha || a[i].beta != b[i].beta) return false;
  }
  return true;
}

static byoc_status_t loops_steps(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_steps_t s = {.lower = lower, .b = byoc_lower_builder(lower), .node = node, .net = byoc_net_of(node)};
  const int64_t directions = byoc_node_choice(node, "direction") == BYOC_DIRECTION_BOTH ? 2 : 1;
  s.dtype = byoc_compute_dtype(node->operands[BYOC_STEPS_PRODUCTS]->type->dtype);
  s.batchwise = byoc_node_flag(node, "layout");
  s.is_linear = s.net == BYOC_NET_GRU && byoc_node_flag(node, "linear_before_reset");
  s.clip = byoc_node_float(node, "clip");
  s.hidden =
      has_bytes(node) ? byoc_node_int(node, "hidden_size") : node->operands[BYOC_STEPS_PANELS]->type->dims[2].constant;
  s.panels = (s.hidden + BYOC_STEPS_WIDTH - 1) / BYOC_STEPS_WIDTH;
  s.weights = byoc_lower_operand_buffer(lower, node, BYOC_STEPS_PANELS);
  if (s.hidden < 1 || s.hidden > BYOC_STEPS_MOST_HIDDEN) {
    return byoc_lower_unsupported(lower, "a hidden size of %lld is not between 1 and %d", (long long)s.hidden,
                                  BYOC_STEPS_MOST_HIDDEN);
  }
  const byoc_dtype_t packed = has_bytes(node) ? BYOC_DTYPE_I32 : s.dtype;
  if (!s.weights || s.weights->dtype != packed) {
    return byoc_lower_unsupported(lower, "the packed weights must be a buffer of %s", byoc_dtype_name(packed));
  }
  choose_block(&s);
  byoc_activation_t back[3] = {{0}};
  if (!byoc_recurrent_activations(node, 0, s.f) || (directions == 2 && !byoc_recurrent_activations(node, 1, back))) {
    return byoc_lower_unsupported(lower, "attribute 'activations' lacks a function, or names one that is not known");
  }
  if (directions == 1 || same_functions(s.f, back)) {
    lower_directions(&s, 0, directions);
    return BYOC_OK;
  }
  lower_directions(&s, 0, 1);
  for (int i = 0; i < 3; ++i) s.f[i] = back[i];
  lower_directions(&s, 1, 1);
  return BYOC_OK;
}

// ---- rows ----

static const byoc_op_attribute_t rnn_attributes[] = {
    BYOC_RECURRENT_ATTRIBUTES(0),
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t gru_attributes[] = {
    BYOC_RECURRENT_ATTRIBUTES(0),
    {BYOC_ATTR_INT("linear_before_reset", 0)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t lstm_attributes[] = {
    BYOC_RECURRENT_ATTRIBUTES(0),
    {BYOC_ATTR_INT("input_forget", 0)},
    BYOC_ATTR_END,
};

#define ROW(table, op_name, operands, results)                                                                         \
  {                                                                                                                    \
    .domain = "byoc", .name = #op_name, .since_version = 1, .min_inputs = 2, .max_inputs = operands, .min_outputs = 0, \
    .max_outputs = results, .traits = BYOC_OP_HEAVY | BYOC_OP_OPAQUE | BYOC_OP_LIMITS, .attributes = table,            \
    .infer = infer_steps, .loops = loops_steps                                                                         \
  }

const byoc_op_t byoc_ops_recurrent_steps[] = {
    ROW(rnn_attributes, RNNSteps, BYOC_STEPS_C, 2),
    ROW(gru_attributes, GRUSteps, BYOC_STEPS_C, 2),
    ROW(lstm_attributes, LSTMSteps, BYOC_STEPS_C + 1, 3),
    ROW(lstm_attributes, DynamicLSTMSteps, BYOC_STEPS_OPERANDS, 3),
};
const size_t byoc_ops_recurrent_steps_count = sizeof byoc_ops_recurrent_steps / sizeof *byoc_ops_recurrent_steps;

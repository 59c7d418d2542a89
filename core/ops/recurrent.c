// Recurrent networks: RNN, GRU, LSTM with all their attributes. Each parallel iteration runs one sequence of the batch
// through all its steps, with its state in local buffers.
#include <string.h>
#include <strings.h>

#include "core/ops/util.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))
#define UN(op, x)     byoc_loop_unary(b, BYOC_LOOP_OP_##op, (x))
#define NUM(value)    byoc_loop_const(b, dtype, (value))

enum { MOST_GATES = 4, MOST_HIDDEN = 8192 };
// Operands; only LSTM has P.
enum { IN_X, IN_W, IN_R, IN_B, IN_LENGTHS, IN_H, IN_C, IN_P };

typedef enum { NET_RNN, NET_GRU, NET_LSTM } net_t;

static net_t net_of(const byoc_node_t *node) {
  return node->op[0] == 'R' ? NET_RNN : node->op[0] == 'G' ? NET_GRU : NET_LSTM;
}

static int32_t gates_of(net_t net) {
  return net == NET_RNN ? 1 : net == NET_GRU ? 3 : 4;
}

// ---- types ----
enum { DIRECTION_FORWARD, DIRECTION_REVERSE, DIRECTION_BOTH }; // as in COMMON_ATTRIBUTES

static bool is_i32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I32;
}

static byoc_status_t infer_recurrent(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  int64_t gates = gates_of(net_of(node));
  int64_t directions = byoc_node_choice(node, "direction") == DIRECTION_BOTH ? 2 : 1;
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
  bool batchwise = byoc_node_flag(node, "layout");
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
  byoc_dim_t steps = x->dims[batchwise ? 1 : 0], batch = x->dims[batchwise ? 0 : 1];
  const byoc_dim_t all[] = {steps, count, batch, hidden}, all_batchwise[] = {batch, steps, count, hidden};
  const byoc_dim_t last[] = {count, batch, hidden}, last_batchwise[] = {batch, count, hidden};
  const byoc_dim_t bias[] = {count, byoc_dim_constant(2 * gates * hidden.constant)};
  const byoc_dim_t peepholes[] = {count, byoc_dim_constant(3 * hidden.constant)};
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, IN_B, 2, bias));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, IN_LENGTHS, 1, &batch));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_within(infer, IN_LENGTHS, "the lengths of the sequences",
                                              byoc_side_of(infer, IN_X, batchwise ? 1 : 0)));
  for (uint32_t i = IN_H; i <= IN_C; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, i, 3, batchwise ? last_batchwise : last));
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, IN_P, 2, peepholes));
  BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, 0, x->dtype, 4, batchwise ? all_batchwise : all));
  for (uint32_t i = 1; i < node->result_count; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, i, x->dtype, 3, batchwise ? last_batchwise : last));
  }
  return BYOC_OK;
}

// ---- activations ----
// X(name, takes alpha, its default, takes beta, its default)
#define ACTIVATION_LIST(X)                                                                                             \
  X(Sigmoid, false, 0, false, 0)                                                                                       \
  X(Tanh, false, 0, false, 0)                                                                                          \
  X(Relu, false, 0, false, 0)                                                                                          \
  X(Affine, true, 1.0, true, 0.0)                                                                                      \
  X(LeakyRelu, true, 0.01, false, 0)                                                                                   \
  X(ThresholdedRelu, true, 1.0, false, 0)                                                                              \
  X(ScaledTanh, true, 1.0, true, 1.0)                                                                                  \
  X(HardSigmoid, true, 0.2, true, 0.5)                                                                                 \
  X(Elu, true, 1.0, false, 0)                                                                                          \
  X(Softsign, false, 0, false, 0)                                                                                      \
  X(Softplus, false, 0, false, 0)

#define ACTIVATION_ENUM(name, has_alpha, alpha, has_beta, beta) ACTIVATION_##name,
typedef enum { ACTIVATION_LIST(ACTIVATION_ENUM) ACTIVATION_COUNT } activation_kind_t;
#define ACTIVATION_ROW(name, has_alpha, alpha, has_beta, beta) {#name, has_alpha, has_beta, alpha, beta},
static const struct {
  const char *name;
  bool has_alpha, has_beta;
  double alpha, beta;
} activations[] = {ACTIVATION_LIST(ACTIVATION_ROW)};

typedef struct {
  activation_kind_t kind;
  double alpha, beta;
} activation_t;

// The three functions of direction `direction`. Factors are used up in order by the functions that take them.
static bool read_activations(const byoc_node_t *node, net_t net, int32_t direction, activation_t out[3]) {
  const byoc_attribute_t *names = byoc_node_given(node, "activations");
  size_t alpha_count = 0, beta_count = 0, alpha = 0, beta = 0, each = net == NET_RNN ? 1 : net == NET_GRU ? 2 : 3;
  const double *alphas = byoc_node_floats(node, "activation_alpha", &alpha_count);
  const double *betas = byoc_node_floats(node, "activation_beta", &beta_count);
  bool given = names && names->kind == BYOC_ATTRIBUTE_STRINGS && names->count > 0;
  for (size_t i = 0; i < each * (size_t)(direction + 1); ++i) {
    size_t at = i % each;
    activation_t *f = &out[at];
    *f = (activation_t){.kind = at == 0 && net != NET_RNN ? ACTIVATION_Sigmoid : ACTIVATION_Tanh};
    if (given) {
      if (i >= names->count) return false;
      int32_t kind = 0;
      while (kind < ACTIVATION_COUNT && strcasecmp(activations[kind].name, names->strings[i]) != 0) ++kind;
      if (kind == ACTIVATION_COUNT) return false;
      f->kind = (activation_kind_t)kind;
    }
    f->alpha = activations[f->kind].alpha, f->beta = activations[f->kind].beta;
    if (activations[f->kind].has_alpha && alpha < alpha_count) f->alpha = alphas[alpha++];
    if (activations[f->kind].has_beta && beta < beta_count) f->beta = betas[beta++];
  }
  return true;
}

static const byoc_loop_expr_t *activate(byoc_loop_builder_t *b, const activation_t *f, const byoc_loop_expr_t *x) {
  byoc_dtype_t dtype = x ? x->dtype : BYOC_DTYPE_F32;
  const byoc_loop_expr_t *zero = NUM(0.0), *one = NUM(1.0), *alpha = NUM(f->alpha), *beta = NUM(f->beta);
  x = byoc_loop_let(b, "x", x);
  switch (f->kind) {
  case ACTIVATION_Sigmoid:
    return BIN(DIV, one, BYOC_LADD(b, one, UN(EXP, UN(NEG, x))));
  case ACTIVATION_Tanh:
    return UN(TANH, x);
  case ACTIVATION_Relu:
    return BYOC_LMAX(b, x, zero);
  case ACTIVATION_Affine:
    return BYOC_LADD(b, BYOC_LMUL(b, alpha, x), beta);
  case ACTIVATION_LeakyRelu:
    return byoc_loop_select(b, BIN(LT, x, zero), BYOC_LMUL(b, alpha, x), x);
  case ACTIVATION_ThresholdedRelu:
    return byoc_loop_select(b, BIN(LT, alpha, x), x, zero);
  case ACTIVATION_ScaledTanh:
    return BYOC_LMUL(b, alpha, UN(TANH, BYOC_LMUL(b, beta, x)));
  case ACTIVATION_HardSigmoid:
    return BYOC_LMIN(b, BYOC_LMAX(b, BYOC_LADD(b, BYOC_LMUL(b, alpha, x), beta), zero), one);
  case ACTIVATION_Elu:
    return byoc_loop_select(b, BIN(LT, x, zero), BYOC_LMUL(b, alpha, UN(EXPM1, x)), x);
  case ACTIVATION_Softsign:
    return BIN(DIV, x, BYOC_LADD(b, one, UN(ABS, x)));
  case ACTIVATION_Softplus:
    return BYOC_LADD(b, BYOC_LMAX(b, x, zero), UN(LOG1P, UN(EXP, UN(NEG, UN(ABS, x)))));
  case ACTIVATION_COUNT:
    break;
  }
  return NULL;
}

// ---- lowering ----
typedef struct {
  byoc_lower_t *lower;
  byoc_loop_builder_t *b;
  const byoc_node_t *node;
  net_t net;
  byoc_dtype_t dtype;
  bool batchwise, reverse;
  int32_t direction;
  int64_t hidden;
  double clip;
  activation_t f[3];
  const byoc_loop_buffer_t *h, *c, *gates, *reset;
  const byoc_loop_expr_t *batch, *time; // the current ones
} cell_t;

static const byoc_loop_expr_t *load3(const cell_t *s, uint32_t operand, const byoc_loop_expr_t *row,
                                     const byoc_loop_expr_t *column) {
  const byoc_loop_expr_t *at[] = {byoc_loop_int(s->b, s->direction), row, column};
  return byoc_emit_as(s->b, s->dtype, byoc_emit_load(s->lower, s->node, operand, at));
}

// [direction][batch][hidden], or batch first.
static const byoc_loop_expr_t *load_state(const cell_t *s, uint32_t operand, const byoc_loop_expr_t *j) {
  byoc_loop_builder_t *b = s->b;
  if (!byoc_has_operand(s->node, operand)) return byoc_loop_const(b, s->dtype, 0.0);
  const byoc_loop_expr_t *direction = byoc_loop_int(b, s->direction);
  const byoc_loop_expr_t *at[] = {s->batchwise ? s->batch : direction, s->batchwise ? direction : s->batch, j};
  return byoc_emit_as(b, s->dtype, byoc_emit_load(s->lower, s->node, operand, at));
}

// A bias: the `recurrent` one of gate row `row`, or that of the input; 0 if there is none.
static const byoc_loop_expr_t *load_bias(const cell_t *s, bool recurrent, const byoc_loop_expr_t *row) {
  byoc_loop_builder_t *b = s->b;
  if (!byoc_has_operand(s->node, IN_B)) return byoc_loop_const(b, s->dtype, 0.0);
  const byoc_loop_expr_t *offset = byoc_loop_int(b, recurrent ? gates_of(s->net) * s->hidden : 0);
  const byoc_loop_expr_t *at[] = {byoc_loop_int(b, s->direction), BYOC_LADD(b, offset, row)};
  return byoc_emit_as(b, s->dtype, byoc_emit_load(s->lower, s->node, IN_B, at));
}

// sum += row of the input weights * x
static void add_input(const cell_t *s, const byoc_loop_expr_t *sum, const byoc_loop_expr_t *row) {
  byoc_loop_builder_t *b = s->b;
  const byoc_type_t *x = s->node->operands[IN_X]->type;
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", byoc_loop_int(b, 0), byoc_emit_dim(b, x, 2));
  const byoc_loop_expr_t *at[] = {s->batchwise ? s->batch : s->time, s->batchwise ? s->time : s->batch, i};
  const byoc_loop_expr_t *value = byoc_emit_as(b, s->dtype, byoc_emit_load(s->lower, s->node, IN_X, at));
  byoc_loop_assign(b, sum, BYOC_LADD(b, sum, BYOC_LMUL(b, value, load3(s, IN_W, row, i))));
  byoc_loop_end(b);
}

// sum += row of the recurrent weights * state
static void add_state(const cell_t *s, const byoc_loop_expr_t *sum, const byoc_loop_expr_t *row,
                      const byoc_loop_buffer_t *state) {
  byoc_loop_builder_t *b = s->b;
  const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", byoc_loop_int(b, 0), byoc_loop_int(b, s->hidden));
  byoc_loop_assign(b, sum, BYOC_LADD(b, sum, BYOC_LMUL(b, byoc_loop_load(b, state, k), load3(s, IN_R, row, k))));
  byoc_loop_end(b);
}

static const byoc_loop_expr_t *clipped(const cell_t *s, const byoc_loop_expr_t *x) {
  byoc_loop_builder_t *b = s->b;
  if (s->clip <= 0) return x;
  const byoc_loop_expr_t *high = byoc_loop_const(b, s->dtype, s->clip), *low = byoc_loop_const(b, s->dtype, -s->clip);
  return BYOC_LMAX(b, low, BYOC_LMIN(b, high, x));
}

// gates[begin, end) = W x + R h + biases, in rows of the weights
static void compute_gates(const cell_t *s, int64_t begin, int64_t end) {
  byoc_loop_builder_t *b = s->b;
  const byoc_loop_expr_t *row =
      byoc_loop_for(b, BYOC_LOOP_SERIAL, "g", byoc_loop_int(b, begin * s->hidden), byoc_loop_int(b, end * s->hidden));
  const byoc_loop_expr_t *sum =
      byoc_loop_mutable(b, "sum", BYOC_LADD(b, load_bias(s, false, row), load_bias(s, true, row)));
  add_input(s, sum, row);
  add_state(s, sum, row, s->h);
  byoc_loop_store(b, s->gates, row, sum);
  byoc_loop_end(b);
}

static const byoc_loop_expr_t *gate(const cell_t *s, int64_t index, const byoc_loop_expr_t *j) {
  byoc_loop_builder_t *b = s->b;
  return byoc_loop_load(b, s->gates, BYOC_LADD(b, byoc_loop_int(b, index * s->hidden), j));
}

static const byoc_loop_expr_t *open_hidden(const cell_t *s) {
  byoc_loop_builder_t *b = s->b;
  return byoc_loop_for(b, BYOC_LOOP_SERIAL, "j", byoc_loop_int(b, 0), byoc_loop_int(b, s->hidden));
}

// h = f(W x + R h + biases)
static void step_rnn(const cell_t *s) {
  byoc_loop_builder_t *b = s->b;
  compute_gates(s, 0, 1);
  const byoc_loop_expr_t *j = open_hidden(s);
  byoc_loop_store(b, s->h, j, activate(b, &s->f[0], clipped(s, gate(s, 0, j))));
  byoc_loop_end(b);
}

// z, r = f(gates); candidate = g(W x + R (r * h)), or with linear_before_reset g(W x + r * (R h)); h = (1 - z) *
// candidate + z * h
static void step_gru(const cell_t *s) {
  byoc_loop_builder_t *b = s->b;
  bool linear = byoc_node_flag(s->node, "linear_before_reset");
  compute_gates(s, 0, 2);
  const byoc_loop_expr_t *j = open_hidden(s);
  const byoc_loop_expr_t *r = activate(b, &s->f[0], clipped(s, gate(s, 1, j)));
  byoc_loop_store(b, s->reset, j, linear ? r : BYOC_LMUL(b, r, byoc_loop_load(b, s->h, j)));
  byoc_loop_end(b);
  j = open_hidden(s);
  const byoc_loop_expr_t *row = BYOC_LADD(b, byoc_loop_int(b, 2 * s->hidden), j);
  const byoc_loop_expr_t *sum = byoc_loop_mutable(b, "sum", load_bias(s, true, row));
  add_state(s, sum, row, linear ? s->h : s->reset);
  if (linear) byoc_loop_assign(b, sum, BYOC_LMUL(b, sum, byoc_loop_load(b, s->reset, j)));
  byoc_loop_assign(b, sum, BYOC_LADD(b, sum, load_bias(s, false, row)));
  add_input(s, sum, row);
  byoc_loop_store(b, s->gates, row, sum);
  byoc_loop_end(b);
  j = open_hidden(s);
  const byoc_loop_expr_t *z = byoc_loop_let(b, "z", activate(b, &s->f[0], clipped(s, gate(s, 0, j))));
  const byoc_loop_expr_t *candidate = activate(b, &s->f[1], clipped(s, gate(s, 2, j)));
  const byoc_loop_expr_t *fresh = BYOC_LMUL(b, BYOC_LSUB(b, byoc_loop_const(b, s->dtype, 1.0), z), candidate);
  byoc_loop_store(b, s->h, j, BYOC_LADD(b, fresh, BYOC_LMUL(b, z, byoc_loop_load(b, s->h, j))));
  byoc_loop_end(b);
}

// A gate with its peephole. P holds input, output, forget.
static const byoc_loop_expr_t *peeking(const cell_t *s, int64_t index, int64_t peephole, const byoc_loop_expr_t *j,
                                       const byoc_loop_expr_t *c) {
  byoc_loop_builder_t *b = s->b;
  const byoc_loop_expr_t *sum = gate(s, index, j);
  if (!byoc_has_operand(s->node, IN_P)) return clipped(s, sum);
  const byoc_loop_expr_t *at[] = {byoc_loop_int(b, s->direction),
                                  BYOC_LADD(b, byoc_loop_int(b, peephole * s->hidden), j)};
  const byoc_loop_expr_t *p = byoc_emit_as(b, s->dtype, byoc_emit_load(s->lower, s->node, IN_P, at));
  return clipped(s, BYOC_LADD(b, sum, BYOC_LMUL(b, p, c)));
}

// c = f(forget) * c + f(input) * g(cell); h = f(output) * h(c). Gates lie in the order input, output, forget, cell.
static void step_lstm(const cell_t *s) {
  byoc_loop_builder_t *b = s->b;
  compute_gates(s, 0, 4);
  const byoc_loop_expr_t *j = open_hidden(s);
  const byoc_loop_expr_t *old = byoc_loop_let(b, "old", byoc_loop_load(b, s->c, j));
  const byoc_loop_expr_t *in = byoc_loop_let(b, "in", activate(b, &s->f[0], peeking(s, 0, 0, j, old))), *forget = NULL;
  if (byoc_node_flag(s->node, "input_forget")) {
    forget = BYOC_LSUB(b, byoc_loop_const(b, s->dtype, 1.0), in);
  } else {
    forget = activate(b, &s->f[0], peeking(s, 2, 2, j, old));
  }
  const byoc_loop_expr_t *kept = byoc_loop_let(b, "kept", BYOC_LMUL(b, forget, old));
  const byoc_loop_expr_t *fresh = BYOC_LMUL(b, in, activate(b, &s->f[1], clipped(s, gate(s, 3, j))));
  const byoc_loop_expr_t *c = byoc_loop_let(b, "c", BYOC_LADD(b, kept, fresh));
  byoc_loop_store(b, s->c, j, c);
  const byoc_loop_expr_t *out = byoc_loop_let(b, "out", activate(b, &s->f[0], peeking(s, 1, 1, j, c)));
  byoc_loop_store(b, s->h, j, BYOC_LMUL(b, out, activate(b, &s->f[2], c)));
  byoc_loop_end(b);
}

static void store_all(const cell_t *s, const byoc_loop_expr_t *time, const byoc_loop_expr_t *j,
                      const byoc_loop_expr_t *value) {
  const byoc_loop_expr_t *direction = byoc_loop_int(s->b, s->direction);
  const byoc_loop_expr_t *at[] = {time, direction, s->batch, j}, *batchwise[] = {s->batch, time, direction, j};
  if (byoc_has_result(s->node, 0)) byoc_emit_store(s->lower, s->node, 0, s->batchwise ? batchwise : at, value);
}

static void store_last(const cell_t *s, uint32_t result, const byoc_loop_buffer_t *state) {
  if (!byoc_has_result(s->node, result)) return;
  const byoc_loop_expr_t *direction = byoc_loop_int(s->b, s->direction), *j = open_hidden(s);
  const byoc_loop_expr_t *at[] = {s->batchwise ? s->batch : direction, s->batchwise ? direction : s->batch, j};
  byoc_emit_store(s->lower, s->node, result, at, byoc_loop_load(s->b, state, j));
  byoc_loop_end(s->b);
}

static void start_state(const cell_t *s, const byoc_loop_buffer_t *state, uint32_t operand) {
  const byoc_loop_expr_t *j = open_hidden(s);
  byoc_loop_store(s->b, state, j, load_state(s, operand, j));
  byoc_loop_end(s->b);
}

static void lower_direction(cell_t *s) {
  byoc_loop_builder_t *b = s->b;
  const byoc_type_t *x = s->node->operands[IN_X]->type;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *one = byoc_loop_int(b, 1);
  const byoc_loop_expr_t *steps = byoc_emit_dim(b, x, s->batchwise ? 1 : 0), *length = steps;
  s->batch = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "n", zero, byoc_emit_dim(b, x, s->batchwise ? 0 : 1));
  s->h = byoc_loop_allocate(b, "h", s->dtype, s->hidden);
  s->gates = byoc_loop_allocate(b, "gates", s->dtype, s->hidden * gates_of(s->net));
  start_state(s, s->h, IN_H);
  if (s->net == NET_GRU) s->reset = byoc_loop_allocate(b, "reset", s->dtype, s->hidden);
  if (s->net == NET_LSTM) {
    s->c = byoc_loop_allocate(b, "c", s->dtype, s->hidden);
    start_state(s, s->c, IN_C);
  }
  if (byoc_has_operand(s->node, IN_LENGTHS)) {
    // Clamped, because a kernel that is measured alone runs without the check of lengths.
    length = byoc_emit_as(b, BYOC_DTYPE_I64, byoc_lower_load(s->lower, s->node, IN_LENGTHS, &s->batch));
    length = byoc_loop_let(b, "length", BYOC_LMAX(b, zero, BYOC_LMIN(b, length, steps)));
  }
  const byoc_loop_expr_t *step = byoc_loop_for(b, BYOC_LOOP_SERIAL, "step", zero, length);
  s->time = s->reverse ? byoc_loop_let(b, "t", BYOC_LSUB(b, BYOC_LSUB(b, length, one), step)) : step;
  if (s->net == NET_RNN) step_rnn(s);
  if (s->net == NET_GRU) step_gru(s);
  if (s->net == NET_LSTM) step_lstm(s);
  const byoc_loop_expr_t *j = open_hidden(s);
  store_all(s, s->time, j, byoc_loop_load(b, s->h, j));
  byoc_emit_close(b, 2);
  if (length != steps) { // after a shorter sequence's end the result is 0
    step = byoc_loop_for(b, BYOC_LOOP_SERIAL, "step", length, steps);
    j = open_hidden(s);
    store_all(s, step, j, byoc_loop_const(b, s->dtype, 0.0));
    byoc_emit_close(b, 2);
  }
  store_last(s, 1, s->h);
  if (s->net == NET_LSTM) store_last(s, 2, s->c);
  byoc_loop_end(b);
}

static byoc_status_t loops_recurrent(byoc_lower_t *lower, const byoc_node_t *node) {
  const byoc_type_t *w = node->operands[IN_W]->type;
  bool reverse = byoc_node_choice(node, "direction") == DIRECTION_REVERSE;
  cell_t s = {.lower = lower, .b = byoc_lower_builder(lower), .node = node, .net = net_of(node)};
  s.dtype = byoc_compute_dtype(node->operands[IN_X]->type->dtype);
  s.batchwise = byoc_node_flag(node, "layout");
  s.clip = byoc_node_float(node, "clip");
  s.hidden = node->operands[IN_R]->type->dims[2].constant;
  if (s.hidden < 1 || s.hidden > MOST_HIDDEN || !byoc_dim_is_constant(w->dims[0])) return BYOC_UNSUPPORTED;
  for (int32_t d = 0; d < w->dims[0].constant; ++d) {
    s.direction = d;
    s.reverse = reverse || d == 1;
    if (!read_activations(node, s.net, d, s.f)) return BYOC_UNSUPPORTED;
    lower_direction(&s);
  }
  return BYOC_OK;
}

#define COMMON_ATTRIBUTES                                                                                              \
  {BYOC_ATTR(INT, "hidden_size")}, {BYOC_ATTR_CHOICE("direction", "forward", "reverse", "bidirectional")},             \
      {BYOC_ATTR(STRINGS, "activations")}, {BYOC_ATTR(FLOATS, "activation_alpha")},                                    \
      {BYOC_ATTR(FLOATS, "activation_beta")}, {BYOC_ATTR(FLOAT, "clip")}, {                                            \
    BYOC_ATTR_INT("layout", 0), .since = 14                                                                            \
  }
static const byoc_op_attribute_t rnn_attributes[] = {
    COMMON_ATTRIBUTES,
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t gru_attributes[] = {
    COMMON_ATTRIBUTES,
    {BYOC_ATTR_INT("linear_before_reset", 0)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t lstm_attributes[] = {
    COMMON_ATTRIBUTES,
    {BYOC_ATTR_INT("input_forget", 0)},
    BYOC_ATTR_END,
};

#define ROW(table, op_name, version, operands, results)                                                                \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = 3, .max_inputs = operands,                 \
    .min_outputs = 0, .max_outputs = results, .traits = BYOC_OP_HEAVY | BYOC_OP_LIMITS, .attributes = table,           \
    .infer = infer_recurrent, .loops = loops_recurrent                                                                 \
  }

const byoc_op_t byoc_ops_recurrent[] = {
    ROW(rnn_attributes, RNN, 7, 6, 2),   ROW(rnn_attributes, RNN, 14, 6, 2),   ROW(rnn_attributes, RNN, 22, 6, 2),
    ROW(gru_attributes, GRU, 7, 6, 2),   ROW(gru_attributes, GRU, 14, 6, 2),   ROW(gru_attributes, GRU, 22, 6, 2),
    ROW(lstm_attributes, LSTM, 7, 8, 3), ROW(lstm_attributes, LSTM, 14, 8, 3), ROW(lstm_attributes, LSTM, 22, 8, 3),
};
const size_t byoc_ops_recurrent_count = sizeof byoc_ops_recurrent / sizeof *byoc_ops_recurrent;

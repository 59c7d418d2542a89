// SPDX-License-Identifier: Apache-2.0
// LinearAttention: each head keeps a matrix of state, which every token fades, corrects and adds to, and then reads.
//
// The state of a head lives on the stack of the thread while the tokens go by, in f32, and all inner loops run along
// its rows.
#include <math.h>

#include "core/op/util.h"

enum { Q, K, V, PAST, DECAY, BETA };        // operands
enum { Y, PRESENT };                        // results
enum { GATED_DELTA, LINEAR, GATED, DELTA }; // as in the table below

enum { MOST_STATE = 1 << 16 }; // elements of one head

typedef struct {
  int64_t q_heads, kv_heads, key_size, value_size;
} heads_t;

static bool is_gated(const byoc_node_t *node) {
  const int rule = byoc_node_choice(node, "update_rule");
  return rule == GATED || rule == GATED_DELTA;
}
static bool is_corrected(const byoc_node_t *node) {
  const int rule = byoc_node_choice(node, "update_rule");
  return rule == DELTA || rule == GATED_DELTA;
}

static heads_t heads_of(const byoc_node_t *node) {
  heads_t h = {.q_heads = byoc_node_int(node, "q_num_heads"), .kv_heads = byoc_node_int(node, "kv_num_heads")};
  h.key_size = node->operands[K]->type->dims[2].constant / h.kv_heads;
  h.value_size = node->operands[V]->type->dims[2].constant / h.kv_heads;
  return h;
}

// ---- types ----

// The element types that f32 holds exactly: the state is computed in f32.
static bool is_single(byoc_dtype_t dtype) {
  return byoc_dtype_is_float(dtype) && dtype != BYOC_DTYPE_F64;
}

// [batch, tokens, size]: the size must be a known multiple of the number of heads.
static byoc_status_t need_packed(const byoc_infer_t *infer, uint32_t operand, int64_t heads) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, operand, is_single, "a tensor of f16, bf16 or f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, operand));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, operand, 3, 3));
  const byoc_type_t *type = byoc_operand_type(infer->node, operand), *q = byoc_operand_type(infer->node, Q);
  if (!byoc_is_ranked(type) || !byoc_dim_is_constant(type->dims[2])) {
    return byoc_infer_unsupported(infer, "operand %u: its rank and last dimension must be known", operand);
  }
  const int64_t size = type->dims[2].constant;
  if (size % heads != 0) {
    return byoc_infer_error(infer, "operand %u: its last dimension %lld does not divide into %lld heads", operand,
                            (long long)size, (long long)heads);
  }
  for (int32_t d = 0; d < 2; ++d) BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, operand, d, q->dims[d]));
  return BYOC_OK;
}

// Decay and beta must be given exactly if the rule reads them, with `one` or `other` numbers for each token.
static byoc_status_t need_gate(const byoc_infer_t *infer, uint32_t operand, bool is_read, int64_t one, int64_t other) {
  if (byoc_has_operand(infer->node, operand) != is_read) {
    return byoc_infer_error(infer, "operand %u: update_rule \"%s\" %s it", operand,
                            byoc_node_text(infer->node, "update_rule"), is_read ? "needs" : "does not take");
  }
  if (!is_read) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(need_packed(infer, operand, 1));
  const int64_t size = byoc_operand_type(infer->node, operand)->dims[2].constant;
  if (size == one || size == other) return BYOC_OK;
  return byoc_infer_error(infer, "operand %u: its last dimension is %lld, expected %lld or %lld", operand,
                          (long long)size, (long long)one, (long long)other);
}

static byoc_status_t infer_linear_attention(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  const int64_t q_heads = byoc_node_int(node, "q_num_heads"), kv_heads = byoc_node_int(node, "kv_num_heads");
  if (kv_heads < 1 || q_heads < kv_heads || q_heads % kv_heads != 0) {
    return byoc_infer_error(infer, "%lld heads of queries are not a multiple of %lld heads of keys and values",
                            (long long)q_heads, (long long)kv_heads);
  }
  BYOC_RETURN_IF_ERROR(need_packed(infer, Q, q_heads));
  BYOC_RETURN_IF_ERROR(need_packed(infer, K, kv_heads));
  BYOC_RETURN_IF_ERROR(need_packed(infer, V, kv_heads));
  const byoc_type_t *q = byoc_operand_type(node, Q), *past = byoc_operand_type(node, PAST);
  const heads_t h = heads_of(node);
  if (q->dims[2].constant / q_heads != h.key_size) {
    return byoc_infer_error(infer, "the head sizes of queries and keys differ: %lld and %lld",
                            (long long)(q->dims[2].constant / q_heads), (long long)h.key_size);
  }
  if (h.key_size < 1 || h.value_size < 1) return byoc_infer_error(infer, "the heads have no elements");
  if (h.key_size > MOST_STATE / h.value_size) {
    return byoc_infer_unsupported(infer, "a state of %lld by %lld numbers for each head; at most %d are supported",
                                  (long long)h.key_size, (long long)h.value_size, (int)MOST_STATE);
  }
  if (q_heads > INT32_MAX) {
    return byoc_infer_unsupported(infer, "%lld heads of queries are not supported", (long long)q_heads);
  }
  const byoc_dim_t state[] = {q->dims[0], byoc_dim_constant(kv_heads), byoc_dim_constant(h.key_size),
                              byoc_dim_constant(h.value_size)};
  if (past) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, PAST, is_single, "a tensor of f16, bf16 or f32"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, PAST, 4, state));
  }
  BYOC_RETURN_IF_ERROR(need_gate(infer, DECAY, is_gated(node), kv_heads, kv_heads * h.key_size));
  BYOC_RETURN_IF_ERROR(need_gate(infer, BETA, is_corrected(node), kv_heads, 1));
  const byoc_dim_t y[] = {q->dims[0], q->dims[1], byoc_dim_constant(q_heads * h.value_size)};
  BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, Y, q->dtype, 3, y));
  return byoc_infer_set(infer, PRESENT, past ? past->dtype : q->dtype, 4, state);
}

// ---- loops ----

typedef struct {
  byoc_lower_t *lower;
  byoc_loop_builder_t *b;
  const byoc_node_t *node;
  heads_t h;
  const byoc_loop_buffer_t *state, *row; // [key_size, value_size], [value_size]
  const byoc_loop_expr_t *batch, *head, *token;
} nest_t;

static const byoc_loop_expr_t *serial(const nest_t *n, const char *name, int64_t extent) {
  return byoc_loop_for(n->b, BYOC_LOOP_SERIAL, name, byoc_loop_int(n->b, 0), byoc_loop_int(n->b, extent));
}

// a * size + b
static const byoc_loop_expr_t *place(const nest_t *n, const byoc_loop_expr_t *a, int64_t size,
                                     const byoc_loop_expr_t *b) {
  return BYOC_LADD(n->b, BYOC_LMUL(n->b, a, byoc_loop_int(n->b, size)), b);
}

static const byoc_loop_expr_t *f32(const nest_t *n, const byoc_loop_expr_t *value) {
  return value ? byoc_emit_as(n->b, BYOC_DTYPE_F32, value) : byoc_loop_const(n->b, BYOC_DTYPE_F32, 0.0);
}

// Element [batch, token, of * size + i] of an operand.
static const byoc_loop_expr_t *packed(const nest_t *n, uint32_t operand, const byoc_loop_expr_t *of, int64_t size,
                                      const byoc_loop_expr_t *i) {
  const byoc_loop_expr_t *const at[] = {n->batch, n->token, place(n, of, size, i)};
  return f32(n, byoc_emit_load(n->lower, n->node, operand, at));
}

// state = past, or zeros
static void start_state(const nest_t *n) {
  const byoc_loop_expr_t *i = serial(n, "i", n->h.key_size), *j = serial(n, "j", n->h.value_size);
  const byoc_loop_expr_t *const at[] = {n->batch, n->head, i, j};
  const bool has_past = byoc_has_operand(n->node, PAST);
  byoc_loop_store(n->b, n->state, place(n, i, n->h.value_size, j),
                  f32(n, has_past ? byoc_emit_load(n->lower, n->node, PAST, at) : NULL));
  byoc_emit_close(n->b, 2);
}

// state[i] *= exp(decay), for each key dimension or for the head
static void fade_state(const nest_t *n) {
  const bool is_for_head = n->node->operands[DECAY]->type->dims[2].constant == n->h.kv_heads;
  const byoc_loop_expr_t *i = serial(n, "i", n->h.key_size), *zero = byoc_loop_int(n->b, 0);
  const byoc_loop_expr_t *decay = packed(n, DECAY, n->head, is_for_head ? 1 : n->h.key_size, is_for_head ? zero : i);
  const byoc_loop_expr_t *factor = byoc_loop_let(n->b, "fade", byoc_loop_unary(n->b, BYOC_LOOP_OP_EXP, decay));
  const byoc_loop_expr_t *at = place(n, i, n->h.value_size, serial(n, "j", n->h.value_size));
  byoc_loop_store(n->b, n->state, at, BYOC_LMUL(n->b, byoc_loop_load(n->b, n->state, at), factor));
  byoc_emit_close(n->b, 2);
}

// row = factor[0] * state[0] + factor[1] * state[1] ..., with the keys or the queries of a head as factors
static void read_state(const nest_t *n, uint32_t operand, const byoc_loop_expr_t *head) {
  byoc_loop_builder_t *b = n->b;
  byoc_loop_store(b, n->row, serial(n, "j", n->h.value_size), f32(n, NULL));
  byoc_loop_end(b);
  const byoc_loop_expr_t *i = serial(n, "i", n->h.key_size);
  const byoc_loop_expr_t *factor = byoc_loop_let(b, "factor", packed(n, operand, head, n->h.key_size, i));
  const byoc_loop_expr_t *j = serial(n, "j", n->h.value_size);
  const byoc_loop_expr_t *held = byoc_loop_load(b, n->state, place(n, i, n->h.value_size, j));
  byoc_loop_store(b, n->row, j, BYOC_LADD(b, byoc_loop_load(b, n->row, j), BYOC_LMUL(b, factor, held)));
  byoc_emit_close(b, 2);
}

// state[i] += k[i] * v, or k[i] * beta * (v - the value of the state for k)
static void add_to_state(const nest_t *n) {
  byoc_loop_builder_t *b = n->b;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *beta = NULL;
  if (is_corrected(n->node)) {
    const bool is_for_head = n->node->operands[BETA]->type->dims[2].constant == n->h.kv_heads;
    read_state(n, K, n->head);
    beta = byoc_loop_let(b, "beta", packed(n, BETA, is_for_head ? n->head : zero, 1, zero));
  }
  const byoc_loop_expr_t *j = serial(n, "j", n->h.value_size);
  const byoc_loop_expr_t *added = packed(n, V, n->head, n->h.value_size, j);
  if (beta) added = BYOC_LMUL(b, beta, BYOC_LSUB(b, added, byoc_loop_load(b, n->row, j)));
  byoc_loop_store(b, n->row, j, added);
  byoc_loop_end(b);
  const byoc_loop_expr_t *i = serial(n, "i", n->h.key_size);
  const byoc_loop_expr_t *key = byoc_loop_let(b, "key", packed(n, K, n->head, n->h.key_size, i));
  j = serial(n, "j", n->h.value_size);
  const byoc_loop_expr_t *at = place(n, i, n->h.value_size, j);
  const byoc_loop_expr_t *more = BYOC_LMUL(b, key, byoc_loop_load(b, n->row, j));
  byoc_loop_store(b, n->state, at, BYOC_LADD(b, byoc_loop_load(b, n->state, at), more));
  byoc_emit_close(b, 2);
}

// y = scale * q * state, for each head of queries that shares the state
static void answer_queries(const nest_t *n) {
  byoc_loop_builder_t *b = n->b;
  const int64_t group = n->h.q_heads / n->h.kv_heads;
  double scale = byoc_node_float(n->node, "scale");
  if (scale == 0) scale = 1 / sqrt((double)n->h.key_size);
  const byoc_loop_expr_t *head = place(n, n->head, group, serial(n, "member", group));
  head = byoc_loop_let(b, "q_head", head);
  read_state(n, Q, head);
  const byoc_loop_expr_t *j = serial(n, "j", n->h.value_size);
  const byoc_loop_expr_t *const at[] = {n->batch, n->token, place(n, head, n->h.value_size, j)};
  const byoc_loop_expr_t *sum = byoc_loop_load(b, n->row, j);
  byoc_emit_store(n->lower, n->node, Y, at, BYOC_LMUL(b, sum, byoc_loop_const(b, BYOC_DTYPE_F32, scale)));
  byoc_emit_close(b, 2);
}

static void end_state(const nest_t *n) {
  const byoc_loop_expr_t *i = serial(n, "i", n->h.key_size), *j = serial(n, "j", n->h.value_size);
  const byoc_loop_expr_t *const at[] = {n->batch, n->head, i, j};
  byoc_emit_store(n->lower, n->node, PRESENT, at, byoc_loop_load(n->b, n->state, place(n, i, n->h.value_size, j)));
  byoc_emit_close(n->b, 2);
}

static byoc_status_t loops_linear_attention(byoc_lower_t *lower, const byoc_node_t *node) {
  nest_t n = {.lower = lower, .b = byoc_lower_builder(lower), .node = node, .h = heads_of(node)};
  byoc_loop_builder_t *b = n.b;
  const byoc_type_t *q = node->operands[Q]->type;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *heads = byoc_loop_int(b, n.h.kv_heads);
  const byoc_loop_expr_t *both =
      byoc_loop_for(b, BYOC_LOOP_PARALLEL, "both", zero, BYOC_LMUL(b, byoc_emit_dim(b, q, 0), heads));
  n.batch = byoc_loop_let(b, "batch", BYOC_LDIV(b, both, heads));
  n.head = byoc_loop_let(b, "head", BYOC_LMOD(b, both, heads));
  n.state = byoc_loop_allocate(b, "state", BYOC_DTYPE_F32, n.h.key_size * n.h.value_size);
  n.row = byoc_loop_allocate(b, "row", BYOC_DTYPE_F32, n.h.value_size);
  if (!n.state || !n.row) return BYOC_OUT_OF_MEMORY;
  start_state(&n);
  n.token = byoc_loop_for(b, BYOC_LOOP_SERIAL, "token", zero, byoc_emit_dim(b, q, 1));
  if (is_gated(node)) fade_state(&n);
  add_to_state(&n);
  answer_queries(&n);
  byoc_loop_end(b);
  if (byoc_has_result(node, PRESENT)) end_state(&n);
  byoc_loop_end(b);
  return BYOC_OK;
}

static const byoc_op_attribute_t attributes[] = {
    {BYOC_ATTR_INT("chunk_size", 64)},
    {BYOC_ATTR_REQUIRED(INT, "kv_num_heads")},
    {BYOC_ATTR_REQUIRED(INT, "q_num_heads")},
    {BYOC_ATTR_FLOAT("scale", 0.0)},
    {BYOC_ATTR_CHOICE("update_rule", "gated_delta", "linear", "gated", "delta")},
    BYOC_ATTR_END,
};

const byoc_op_t byoc_ops_linear_attention[] = {
    {.domain = "",
     .name = "LinearAttention",
     .since_version = 27,
     .min_inputs = 3,
     .max_inputs = 6,
     .min_outputs = 1,
     .max_outputs = 2,
     .traits = BYOC_OP_OPAQUE,
     .attributes = attributes,
     .infer = infer_linear_attention,
     .loops = loops_linear_attention},
};
const size_t byoc_ops_linear_attention_count = sizeof byoc_ops_linear_attention / sizeof *byoc_ops_linear_attention;

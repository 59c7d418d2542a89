// SPDX-License-Identifier: Apache-2.0
// The products of recurrent networks with their state: of floats, or of the state rounded to bytes and weights of
// bytes. With bytes, four lines of a panel's columns lie in one word, and zero points are subtracted from the sums:
//   sum (h - p) (r - q) = sum h r - p sum (r - q) - q sum h
#include "core/ops/loops/tile.h"
#include "core/ops/onnx/nn/recurrent_lowering.h"

// With few sequences, a product is divided into several sums, so that more sums are independent than a multiply-add has
// cycles of latency.
enum { FLOAT_CHAINS = 2, BYTE_CHAINS = 4, MOST_SUMS = BYOC_STEPS_MOST_TILE + BYTE_CHAINS };

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

static bool takes_bytes(const byoc_steps_t *s) {
  return s->bytes.state != NULL;
}

// Lines of a panel: one for each element of the state, or for four bytes of it.
static int64_t lines_of(const byoc_steps_t *s) {
  return takes_bytes(s) ? (s->hidden + 3) / 4 : s->hidden;
}

const byoc_loop_expr_t *byoc_steps_state_at(const byoc_steps_t *s, const byoc_loop_expr_t *j) {
  byoc_loop_builder_t *b = s->b;
  return BYOC_LADD(b, byoc_steps_times(s, s->row, s->hidden), j);
}

void byoc_steps_open_rows(byoc_steps_t *s, bool all) {
  byoc_loop_builder_t *b = s->b;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0);
  s->row = zero;
  const int64_t rows = byoc_steps_rows(s);
  if (rows > 1) s->row = byoc_loop_for(b, BYOC_LOOP_SERIAL, "r", zero, all ? byoc_loop_int(b, rows) : s->used);
  s->batch = BYOC_LADD(b, s->first, s->row);
  if (!all || rows == 1) return;
  // Rows after the last sequence start like that one; they are not stored.
  const byoc_loop_expr_t *last = BYOC_LSUB(b, BYOC_LADD(b, s->first, s->used), byoc_loop_int(b, 1));
  s->batch = byoc_loop_let(b, "n", BYOC_LMIN(b, s->batch, last));
}

void byoc_steps_close_rows(const byoc_steps_t *s) {
  if (byoc_steps_rows(s) > 1) byoc_loop_end(s->b);
}

// ---- the state as bytes ----

static const byoc_loop_expr_t *open_vector(byoc_loop_builder_t *b, int64_t count) {
  return byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", byoc_loop_int(b, 0), byoc_loop_int(b, count));
}

void byoc_steps_begin_bytes(byoc_steps_t *s) {
  byoc_loop_builder_t *b = s->b;
  if (s->weights->dtype != BYOC_DTYPE_I32) return;
  byoc_steps_bytes_t *bytes = &s->bytes;
  const int64_t rows = byoc_steps_rows(s), count = rows * ((s->hidden + 3) / 4 * 4);
  bytes->scales = byoc_lower_operand_buffer(s->lower, s->node, BYOC_STEPS_SCALES);
  bytes->sums = byoc_lower_operand_buffer(s->lower, s->node, BYOC_STEPS_SUMS);
  const bool has_zeros = byoc_has_operand(s->node, BYOC_STEPS_ZEROS);
  bytes->zeros = has_zeros ? byoc_lower_operand_buffer(s->lower, s->node, BYOC_STEPS_ZEROS) : NULL;
  bytes->state = byoc_loop_allocate(b, "bytes", BYOC_DTYPE_U8, count);
  bytes->scale = byoc_loop_allocate(b, "scale", BYOC_DTYPE_F32, rows);
  bytes->zero = byoc_loop_allocate(b, "zero", BYOC_DTYPE_I32, rows);
  bytes->sum = has_zeros ? byoc_loop_allocate(b, "bytesum", BYOC_DTYPE_I32, rows) : NULL;
  const byoc_loop_expr_t *j = open_vector(b, count); // those after the last element stay 0
  byoc_loop_store(b, bytes->state, j, byoc_loop_const_int(b, BYOC_DTYPE_U8, 0));
  byoc_loop_end(b);
}

// The least and the largest element of a row, and 0, by lanes.
typedef struct {
  const byoc_loop_buffer_t *least, *most;
} range_t;

static void widen(const byoc_steps_t *s, const range_t *range, const byoc_loop_expr_t *from, int64_t count) {
  byoc_loop_builder_t *b = s->b;
  const byoc_loop_expr_t *j = open_vector(b, count);
  const byoc_loop_expr_t *x = byoc_loop_let(b, "x", byoc_loop_load(b, s->h, BYOC_LADD(b, from, j)));
  byoc_loop_store(b, range->least, j, BYOC_LMIN(b, byoc_loop_load(b, range->least, j), x));
  byoc_loop_store(b, range->most, j, BYOC_LMAX(b, byoc_loop_load(b, range->most, j), x));
  byoc_loop_end(b);
}

// Lane 0 becomes the least and the largest of all lanes.
static void join_lanes(const byoc_steps_t *s, const range_t *range) {
  byoc_loop_builder_t *b = s->b;
  for (int64_t half = BYOC_STEPS_WIDTH / 2; half > 0; half /= 2) {
    const byoc_loop_expr_t *j = open_vector(b, half), *other = BYOC_LADD(b, j, byoc_loop_int(b, half));
    const byoc_loop_expr_t *low = byoc_loop_load(b, range->least, j), *high = byoc_loop_load(b, range->most, j);
    byoc_loop_store(b, range->least, j, BYOC_LMIN(b, low, byoc_loop_load(b, range->least, other)));
    byoc_loop_store(b, range->most, j, BYOC_LMAX(b, high, byoc_loop_load(b, range->most, other)));
    byoc_loop_end(b);
  }
}

static range_t range_of_row(const byoc_steps_t *s) {
  byoc_loop_builder_t *b = s->b;
  const range_t range = {byoc_loop_allocate(b, "least", s->dtype, BYOC_STEPS_WIDTH),
                         byoc_loop_allocate(b, "most", s->dtype, BYOC_STEPS_WIDTH)};
  const byoc_loop_expr_t *zero = byoc_loop_const(b, s->dtype, 0.0), *j = open_vector(b, BYOC_STEPS_WIDTH);
  byoc_loop_store(b, range.least, j, zero);
  byoc_loop_store(b, range.most, j, zero);
  byoc_loop_end(b);
  const int64_t blocks = s->hidden / BYOC_STEPS_WIDTH, rest = s->hidden % BYOC_STEPS_WIDTH;
  const byoc_loop_expr_t *block =
      byoc_loop_for(b, BYOC_LOOP_SERIAL, "block", byoc_loop_int(b, 0), byoc_loop_int(b, blocks));
  const byoc_loop_expr_t *from = byoc_steps_state_at(s, byoc_steps_times(s, block, BYOC_STEPS_WIDTH));
  widen(s, &range, byoc_loop_let(b, "from", from), BYOC_STEPS_WIDTH);
  byoc_loop_end(b);
  if (rest > 0) widen(s, &range, byoc_steps_state_at(s, byoc_loop_int(b, blocks * BYOC_STEPS_WIDTH)), rest);
  join_lanes(s, &range);
  return range;
}

// Each sequence has a scale and a zero point of its own. (ONNX Runtime rounds the states of all sequences of a thread
// together.)
static void round_row(byoc_steps_t *s) {
  byoc_loop_builder_t *b = s->b;
  const range_t range = range_of_row(s);
  const byoc_loop_expr_t *lane = byoc_loop_int(b, 0), *none = byoc_loop_const(b, s->dtype, 0.0);
  const byoc_loop_expr_t *limit = byoc_loop_const(b, s->dtype, 255.0);
  const byoc_loop_expr_t *least = byoc_loop_load(b, range.least, lane), *most = byoc_loop_load(b, range.most, lane);
  const byoc_loop_expr_t *scale = byoc_loop_let(b, "step", BIN(DIV, BYOC_LSUB(b, most, least), limit));
  const byoc_loop_expr_t *one = byoc_loop_const(b, s->dtype, 1.0);
  scale = byoc_loop_let(b, "scale", byoc_loop_select(b, BIN(EQ, scale, none), one, scale));
  const byoc_loop_expr_t *zero = byoc_loop_unary(b, BYOC_LOOP_OP_ROUND, BIN(DIV, BYOC_LSUB(b, none, least), scale));
  zero = byoc_loop_let(b, "zero", BYOC_LMAX(b, none, BYOC_LMIN(b, limit, zero)));
  byoc_loop_store(b, s->bytes.scale, s->row, scale);
  byoc_loop_store(b, s->bytes.zero, s->row, byoc_emit_as(b, BYOC_DTYPE_I32, zero));
  const byoc_loop_expr_t *to = byoc_loop_let(b, "to", byoc_steps_times(s, s->row, 4 * lines_of(s)));
  const byoc_loop_expr_t *j = open_vector(b, s->hidden);
  const byoc_loop_expr_t *quotient = BIN(DIV, byoc_loop_load(b, s->h, byoc_steps_state_at(s, j)), scale);
  const byoc_loop_expr_t *byte = BYOC_LADD(b, byoc_loop_unary(b, BYOC_LOOP_OP_ROUND, quotient), zero);
  byte = BYOC_LMAX(b, none, BYOC_LMIN(b, limit, byte));
  byoc_loop_store(b, s->bytes.state, BYOC_LADD(b, to, j), byoc_emit_as(b, BYOC_DTYPE_U8, byte));
  byoc_loop_end(b);
  if (s->bytes.sum == NULL) return;
  const byoc_loop_expr_t *sum = byoc_loop_mutable(b, "total", byoc_loop_const_int(b, BYOC_DTYPE_I32, 0));
  j = byoc_loop_for(b, BYOC_LOOP_SERIAL, "j", byoc_loop_int(b, 0), byoc_loop_int(b, s->hidden));
  const byoc_loop_expr_t *x = byoc_loop_load(b, s->bytes.state, BYOC_LADD(b, to, j));
  byoc_loop_assign(b, sum, BYOC_LADD(b, sum, byoc_emit_as(b, BYOC_DTYPE_I32, x)));
  byoc_loop_end(b);
  byoc_loop_store(b, s->bytes.sum, s->row, sum);
}

void byoc_steps_round_state(byoc_steps_t *s) {
  if (!takes_bytes(s)) return;
  byoc_steps_open_rows(s, true);
  round_row(s);
  byoc_steps_close_rows(s);
}

// ---- products ----

// The sequences of a tile, whose sums are in registers.
typedef struct {
  const byoc_loop_buffer_t *state;
  const byoc_loop_expr_t *index, *panel, *first; // the panel's number, its begin, and the first sequence
  const byoc_loop_expr_t *from;                  // the begin of the first sequence's state
  int64_t rows, chains;
  const byoc_loop_buffer_t *sums[MOST_SUMS];
} tile_t;

static const byoc_loop_expr_t *line_at(const byoc_steps_t *s, const tile_t *tile, const byoc_loop_expr_t *line) {
  byoc_loop_builder_t *b = s->b;
  return byoc_loop_let(b, "line", BYOC_LADD(b, tile->panel, byoc_steps_times(s, line, BYOC_STEPS_WIDTH)));
}

// The factor of line `line` of the panel for row r: an element of the state, or four bytes of it.
static const byoc_loop_expr_t *factor_at(const byoc_steps_t *s, const tile_t *tile, const byoc_loop_expr_t *line,
                                         int64_t r) {
  byoc_loop_builder_t *b = s->b;
  if (!takes_bytes(s)) {
    const byoc_loop_expr_t *row = BYOC_LADD(b, tile->from, byoc_loop_int(b, r * s->hidden));
    return byoc_loop_let(b, "a", byoc_loop_load(b, tile->state, BYOC_LADD(b, row, line)));
  }
  const byoc_loop_expr_t *row = BYOC_LADD(b, tile->from, byoc_loop_int(b, r * 4 * lines_of(s)));
  return byoc_loop_let(b, "a",
                       byoc_tile_word(b, s->bytes.state, BYOC_LADD(b, row, byoc_steps_times(s, line, 4)), NULL));
}

// sums[row][.] += factor of the row * line k of the panel, for the lines of so many chains
static void add_products(const byoc_steps_t *s, const tile_t *tile, const byoc_loop_expr_t *k, int64_t chains) {
  byoc_loop_builder_t *b = s->b;
  const byoc_loop_expr_t *factors[MOST_SUMS], *lines[BYTE_CHAINS];
  for (int64_t chain = 0; chain < chains; ++chain) {
    const byoc_loop_expr_t *at = BYOC_LADD(b, k, byoc_loop_int(b, chain));
    lines[chain] = line_at(s, tile, at);
    for (int64_t r = 0; r < tile->rows; ++r) factors[chain * tile->rows + r] = factor_at(s, tile, at, r);
  }
  const byoc_loop_expr_t *j = open_vector(b, BYOC_STEPS_WIDTH);
  for (int64_t chain = 0; chain < chains; ++chain) {
    const byoc_loop_expr_t *x = byoc_loop_load(b, s->weights, BYOC_LADD(b, lines[chain], j));
    if (!takes_bytes(s)) x = byoc_loop_let(b, "x", x);
    for (int64_t r = 0; r < tile->rows; ++r) {
      const byoc_loop_buffer_t *sum = tile->sums[chain * tile->rows + r];
      const byoc_loop_expr_t *factor = factors[chain * tile->rows + r];
      const byoc_loop_expr_t *product = takes_bytes(s) ? BIN(DOT4, factor, x) : BYOC_LMUL(b, factor, x);
      byoc_loop_store(b, sum, j, BYOC_LADD(b, byoc_loop_load(b, sum, j), product));
    }
  }
  byoc_loop_end(b);
}

static void add_lines(const byoc_steps_t *s, const tile_t *tile) {
  byoc_loop_builder_t *b = s->b;
  const int64_t lines = lines_of(s), turns = lines / tile->chains;
  const byoc_loop_expr_t *turn = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", byoc_loop_int(b, 0), byoc_loop_int(b, turns));
  add_products(s, tile, byoc_steps_times(s, turn, tile->chains), tile->chains);
  byoc_loop_end(b);
  for (int64_t k = turns * tile->chains; k < lines; ++k) add_products(s, tile, byoc_loop_int(b, k), 1);
}

// The corrections of a row's sums: its scale, its zero point and, for weights with zero points, its sum.
typedef struct {
  const byoc_loop_expr_t *scale, *zero, *sum, *columns; // columns: the begin of the panel's numbers
} correction_t;

static correction_t correction_of(const byoc_steps_t *s, const tile_t *tile, int64_t r) {
  byoc_loop_builder_t *b = s->b;
  const byoc_steps_bytes_t *bytes = &s->bytes;
  if (!takes_bytes(s)) return (correction_t){NULL};
  const byoc_loop_expr_t *row = BYOC_LADD(b, tile->first, byoc_loop_int(b, r));
  return (correction_t){.scale = byoc_loop_let(b, "scale", byoc_loop_load(b, bytes->scale, row)),
                        .zero = byoc_loop_let(b, "zero", byoc_loop_load(b, bytes->zero, row)),
                        .sum = bytes->sum ? byoc_loop_let(b, "total", byoc_loop_load(b, bytes->sum, row)) : NULL,
                        .columns = byoc_loop_let(b, "columns", byoc_steps_times(s, tile->index, BYOC_STEPS_WIDTH))};
}

static const byoc_loop_expr_t *corrected(const byoc_steps_t *s, const correction_t *c, const byoc_loop_expr_t *sum,
                                         const byoc_loop_expr_t *j) {
  byoc_loop_builder_t *b = s->b;
  if (!takes_bytes(s)) return sum;
  const byoc_loop_expr_t *at = BYOC_LADD(b, c->columns, j);
  sum = BYOC_LSUB(b, sum, BYOC_LMUL(b, c->zero, byoc_loop_load(b, s->bytes.sums, at)));
  if (c->sum) sum = BYOC_LSUB(b, sum, BYOC_LMUL(b, c->sum, byoc_loop_load(b, s->bytes.zeros, at)));
  const byoc_loop_expr_t *scale = BYOC_LMUL(b, c->scale, byoc_loop_load(b, s->bytes.scales, at));
  return BYOC_LMUL(b, byoc_emit_as(b, s->dtype, sum), scale);
}

static void store_sums(const byoc_steps_t *s, const tile_t *tile, const byoc_loop_expr_t *p) {
  byoc_loop_builder_t *b = s->b;
  correction_t corrections[BYOC_STEPS_MOST_TILE];
  for (int64_t r = 0; r < tile->rows; ++r) corrections[r] = correction_of(s, tile, r);
  const byoc_loop_expr_t *row = byoc_steps_times(s, tile->first, byoc_steps_gates(s));
  const byoc_loop_expr_t *to = byoc_loop_let(b, "to", BYOC_LADD(b, row, byoc_steps_times(s, p, BYOC_STEPS_WIDTH)));
  const byoc_loop_expr_t *j = open_vector(b, BYOC_STEPS_WIDTH);
  for (int64_t r = 0; r < tile->rows; ++r) {
    const byoc_loop_expr_t *sum = byoc_loop_load(b, tile->sums[r], j);
    for (int64_t chain = 1; chain < tile->chains; ++chain) {
      sum = BYOC_LADD(b, sum, byoc_loop_load(b, tile->sums[chain * tile->rows + r], j));
    }
    const byoc_loop_expr_t *at = BYOC_LADD(b, BYOC_LADD(b, to, byoc_loop_int(b, r * byoc_steps_gates(s))), j);
    byoc_loop_store(b, s->gates, at, corrected(s, &corrections[r], sum, j));
  }
  byoc_loop_end(b);
}

// gates[first .. first + rows)[columns of panel p] = R * state
static void multiply_tile(const byoc_steps_t *s, tile_t *tile, const byoc_loop_expr_t *p,
                          const byoc_loop_expr_t *first) {
  byoc_loop_builder_t *b = s->b;
  const byoc_dtype_t dtype = takes_bytes(s) ? BYOC_DTYPE_I32 : s->dtype;
  const int64_t sums = tile->rows * tile->chains, row = takes_bytes(s) ? 4 * lines_of(s) : s->hidden;
  tile->first = first;
  tile->from = byoc_loop_let(b, "from", byoc_steps_times(s, first, row));
  for (int64_t i = 0; i < sums; ++i) tile->sums[i] = byoc_loop_allocate(b, "sum", dtype, BYOC_STEPS_WIDTH);
  const byoc_loop_expr_t *j = open_vector(b, BYOC_STEPS_WIDTH);
  for (int64_t i = 0; i < sums; ++i) byoc_loop_store(b, tile->sums[i], j, byoc_loop_const(b, dtype, 0.0));
  byoc_loop_end(b);
  add_lines(s, tile);
  store_sums(s, tile, p);
}

// The number of sums for which a row of `rows` has registers.
static int64_t chains_of(const byoc_steps_t *s, int64_t rows) {
  int64_t chains = takes_bytes(s) ? BYTE_CHAINS : FLOAT_CHAINS;
  while (chains > 1 && rows * chains > s->most) chains /= 2;
  return chains;
}

// The largest weights of a direction for this: every second step goes through the panels backwards, so that panels in
// the second-level cache are read first. Of larger weights too few panels stay in the cache.
enum { MOST_TURNED_BYTES = 2 << 20 };

static const byoc_loop_expr_t *panel_of_step(const byoc_steps_t *s, const byoc_loop_expr_t *p, int64_t begin,
                                             int64_t end) {
  byoc_loop_builder_t *b = s->b;
  if (lines_of(s) * (end - begin) * s->panels * BYOC_STEPS_WIDTH * 4 > MOST_TURNED_BYTES) return p;
  const byoc_loop_expr_t *is_odd = BIN(EQ, BYOC_LMOD(b, s->step, byoc_loop_int(b, 2)), byoc_loop_int(b, 1));
  const byoc_loop_expr_t *mirrored = BYOC_LSUB(b, byoc_loop_int(b, (begin + end) * s->panels - 1), p);
  return byoc_loop_let(b, "p", byoc_loop_select(b, is_odd, mirrored, p));
}

void byoc_steps_multiply(const byoc_steps_t *s, int64_t begin, int64_t end, const byoc_loop_buffer_t *state) {
  byoc_loop_builder_t *b = s->b;
  const int64_t panels = byoc_net_gates(s->net) * s->panels;
  const byoc_loop_expr_t *first = byoc_loop_int(b, 0);
  const byoc_loop_expr_t *p = byoc_loop_for(b, BYOC_LOOP_SERIAL, "panel", byoc_loop_int(b, begin * s->panels),
                                            byoc_loop_int(b, end * s->panels));
  p = panel_of_step(s, p, begin, end);
  const byoc_loop_expr_t *index = BYOC_LADD(b, byoc_steps_times(s, s->direction, panels), p);
  const byoc_loop_expr_t *panel = byoc_loop_let(b, "base", byoc_steps_times(s, index, lines_of(s) * BYOC_STEPS_WIDTH));
  if (s->tiles > 1) {
    const byoc_loop_expr_t *count = BYOC_LADD(b, s->used, byoc_loop_int(b, s->tile - 1));
    count = BYOC_LDIV(b, count, byoc_loop_int(b, s->tile));
    first = byoc_loop_for(b, BYOC_LOOP_SERIAL, "tile", first, count);
    first = byoc_loop_let(b, "row", byoc_steps_times(s, first, s->tile));
  }
  tile_t one = {.state = state, .index = index, .panel = panel, .rows = 1, .chains = chains_of(s, 1)};
  tile_t all = {.state = state, .index = index, .panel = panel, .rows = s->tile, .chains = chains_of(s, s->tile)};
  if (s->is_open && s->tile > 1) {
    const byoc_loop_expr_t *left = BYOC_LSUB(b, s->used, first);
    byoc_loop_if(b, BIN(EQ, left, byoc_loop_int(b, 1)));
    multiply_tile(s, &one, p, first);
    byoc_loop_else(b);
  }
  multiply_tile(s, s->tile == 1 ? &one : &all, p, first);
  if (s->is_open && s->tile > 1) byoc_loop_end(b);
  if (s->tiles > 1) byoc_loop_end(b);
  byoc_loop_end(b);
}

// SPDX-License-Identifier: Apache-2.0
// One cell of a recurrent network while it is lowered, for its steps (recurrent_steps.c) and its products with the
// state (recurrent_product.c).
#ifndef BYOC_CORE_OPS_ONNX_NN_RECURRENT_LOWERING_H_
#define BYOC_CORE_OPS_ONNX_NN_RECURRENT_LOWERING_H_

#include "core/ops/onnx/nn/recurrent.h"

// Sequences of a tile: 8 rows of 32 sums fill 16 of AVX-512's registers, and 3 rows fill 12 of AVX2's 16; narrower
// registers have space for one row. The tiles of a block share each panel while it is in the first-level cache. States
// and gates of a block are on the stack, so that large ones leave room for fewer sequences.
enum {
  BYOC_STEPS_MOST_TILE = 8,
  BYOC_STEPS_MOST_AVX2_TILE = 3,
  BYOC_STEPS_MOST_BLOCK = 8,
  BYOC_STEPS_MOST_HIDDEN = 8192
};
enum { BYOC_STEPS_MOST_STATE = 8192 };

// Products with bytes take the state of each sequence as DynamicQuantizeLinear makes it.
typedef struct byoc_steps_bytes_t {
  const byoc_loop_buffer_t *state;              // u8[rows, 4 * lines]; NULL: products take the state itself
  const byoc_loop_buffer_t *scale, *zero, *sum; // of each row's bytes; the sum is NULL if weights have no zero points
  const byoc_loop_buffer_t *scales, *sums, *zeros; // of the columns of the weights; zeros may be NULL
} byoc_steps_bytes_t;

typedef struct byoc_steps_t {
  byoc_lower_t *lower;
  byoc_loop_builder_t *b;
  const byoc_node_t *node;
  byoc_net_t net;
  byoc_dtype_t dtype;
  bool batchwise;
  bool is_linear;         // the reset gate scales the product with the state instead of the state
  int64_t block;          // sequences of an iteration
  int64_t tile, tiles;    // sequences of a tile, tiles of an iteration
  bool is_open;           // only the run knows the number of sequences
  int64_t most;           // sequences whose sums fit into registers
  int64_t hidden, panels; // panels of a gate
  double clip;
  byoc_activation_t f[3];
  const byoc_loop_buffer_t *weights, *h, *c, *gates, *reset;
  byoc_steps_bytes_t bytes;
  const byoc_loop_expr_t *direction, *first, *used;  // of an iteration: its first sequence, and their number
  const byoc_loop_expr_t *length;                    // of the one sequence; NULL: all have the same
  const byoc_loop_expr_t *step, *time, *row, *batch; // the current ones; `row` counts from `first`
} byoc_steps_t;

static inline const byoc_loop_expr_t *byoc_steps_times(const byoc_steps_t *s, const byoc_loop_expr_t *x,
                                                       int64_t factor) {
  byoc_loop_builder_t *b = s->b;
  return BYOC_LMUL(b, x, byoc_loop_int(b, factor));
}

// Rows that the tiles of an iteration have.
static inline int64_t byoc_steps_rows(const byoc_steps_t *s) {
  return s->tile * s->tiles;
}

// Elements of the gates of a row.
static inline int64_t byoc_steps_gates(const byoc_steps_t *s) {
  return byoc_net_gates(s->net) * s->panels * BYOC_STEPS_WIDTH;
}

// The index of element j of the current row's state.
const byoc_loop_expr_t *byoc_steps_state_at(const byoc_steps_t *s, const byoc_loop_expr_t *j);

// Opens a loop over the sequences in use, or over `all` rows, and closes it.
void byoc_steps_open_rows(byoc_steps_t *s, bool all);
void byoc_steps_close_rows(const byoc_steps_t *s);

// Allocates buffers for products with bytes, if there are any, and finds the operands.
void byoc_steps_begin_bytes(byoc_steps_t *s);
// Rounds the state of all rows to bytes.
void byoc_steps_round_state(byoc_steps_t *s);
// gates[.][begin .. end) = R * state, for all sequences. With bytes, the state is the one that was rounded last.
void byoc_steps_multiply(const byoc_steps_t *s, int64_t begin, int64_t end, const byoc_loop_buffer_t *state);

#endif // BYOC_CORE_OPS_ONNX_NN_RECURRENT_LOWERING_H_

// SPDX-License-Identifier: Apache-2.0
// The loops of operators that fold a tensor over some of its dimensions: reductions, softmax, normalisations, global
// pools. A row is the set of elements that share their other ("kept") indices. Each parallel iteration does one row. If
// the last dimension is kept, it does a block of neighbouring rows together, so that memory is read along the last
// dimension.
//
// Example:
//   byoc_rows_begin(&rows, lower, type, over); // opens the parallel loop
//   byoc_row_t sum = byoc_rows_fold(&rows, BYOC_LOOP_OP_ADD, BYOC_DTYPE_F32, element, self); // of element(indices)
//   byoc_rows_each(&rows); // opens loops over the elements of the rows
//   store_element(rows.indices, byoc_row_value(&rows, sum));
//   byoc_rows_each_end(&rows);
//   byoc_rows_end(&rows);
#ifndef BYOC_CORE_OPS_LOOPS_ROWS_H_
#define BYOC_CORE_OPS_LOOPS_ROWS_H_

#include "core/op/util.h"

typedef struct byoc_rows_t {
  byoc_lower_t *lower;
  byoc_loop_builder_t *b;
  const byoc_type_t *type;
  bool over[BYOC_MAX_RANK]; // dimensions that are folded
  int32_t last_over;        // the last of them; -1: none
  bool is_dense;            // set by callers whose elements are contiguous along the folded dimensions
  int64_t block;            // rows side by side; 0: one row at a time
  const byoc_loop_expr_t *indices[BYOC_MAX_RANK];
  const byoc_loop_expr_t *first, *used; // of a block: its first row and its number of rows
  const byoc_loop_expr_t *lane;         // the row within the block, inside _each
  int32_t opened;                       // loops that _each opened
} byoc_rows_t;

// One value per row: a scalar, or a local buffer with the values of a block.
typedef struct byoc_row_t {
  const byoc_loop_expr_t *scalar;
  const byoc_loop_buffer_t *block;
} byoc_row_t;

// `over` has the type's rank. Opens the parallel loop over rows.
void byoc_rows_begin(byoc_rows_t *rows, byoc_lower_t *lower, const byoc_type_t *type, const bool *over);
void byoc_rows_end(byoc_rows_t *rows);

// The neutral element of the operator.
const byoc_loop_expr_t *byoc_fold_neutral(byoc_loop_builder_t *b, byoc_loop_op_t op, byoc_dtype_t dtype);

// The element at rows->indices, in the type of the fold. May emit statements.
typedef const byoc_loop_expr_t *(*byoc_rows_element_t)(byoc_rows_t *rows, const void *self);
// Folds by ADD, MUL, MIN or MAX from that operator's neutral element. The order of summation is fixed.
byoc_row_t byoc_rows_fold(byoc_rows_t *rows, byoc_loop_op_t op, byoc_dtype_t dtype, byoc_rows_element_t element,
                          const void *self);
// f(value) of each row, computed once per row.
typedef const byoc_loop_expr_t *(*byoc_rows_function_t)(byoc_loop_builder_t *b, const byoc_loop_expr_t *x,
                                                        const void *self);
void byoc_rows_apply(byoc_rows_t *rows, byoc_row_t *row, byoc_rows_function_t function, const void *self);

// Opens loops over all elements of the rows; rows->indices holds the element's indices.
void byoc_rows_each(byoc_rows_t *rows);
// Opens loops over the rows only (one iteration for a single row); indices of folded dimensions are 0.
void byoc_rows_each_row(byoc_rows_t *rows);
void byoc_rows_each_end(byoc_rows_t *rows);
// A row's value for the current element (or row).
const byoc_loop_expr_t *byoc_row_value(const byoc_rows_t *rows, byoc_row_t row);
// The number of elements of a row, as a number of that type.
const byoc_loop_expr_t *byoc_rows_length(const byoc_rows_t *rows, byoc_dtype_t dtype);

#endif // BYOC_CORE_OPS_LOOPS_ROWS_H_

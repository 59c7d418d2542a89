// SPDX-License-Identifier: Apache-2.0
// Contiguous pieces of a tensor: Concat, Split and Slice of whole rows of 64 bytes. Their operands are results of other
// operators, inputs, the same value twice, and each other.
#include "tests/random/graph.h"

enum { MAX_PIECES = 4 };

// x · w for a fresh x with this number of rows; if `rank` is 3, with a dimension of 1 in front.
static tensor_t *make_rows(suite_t *suite, int32_t rank, int64_t rows, int64_t width) {
  int64_t depth = 1 + below(suite, 5);
  const int64_t x_dims[3] = {1, rows, depth}, w_dims[2] = {depth, width}, dims[3] = {1, rows, width};
  tensor_t *x = new_input(suite, rank, x_dims + 3 - rank), *w = new_random_constant(suite, 2, w_dims, 0.5, 0);
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, rank, dims + 3 - rank);
  for (int64_t i = 0; i < rows * width; ++i) {
    y->values[i] = 0;
    for (int64_t k = 0; k < depth; ++k) {
      y->values[i] += x->values[i / width * depth + k] * w->values[k * width + i % width];
    }
  }
  return commit2(suite, "MatMul", x, w, y) != NULL ? y : NULL;
}

static tensor_t *make_relu(suite_t *suite, tensor_t *x) {
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, x->rank, x->dims);
  for (int64_t i = 0; i < x->count; ++i) y->values[i] = x->values[i] > 0 ? x->values[i] : 0;
  return commit1(suite, "Relu", x, y) != NULL ? y : NULL;
}

static tensor_t *concatenate(suite_t *suite, tensor_t *const *pieces, size_t count) {
  int32_t rank = pieces[0]->rank;
  int64_t dims[3] = {1, 0, 0};
  for (size_t i = 0; i < count; ++i) dims[1] += pieces[i]->dims[rank - 2];
  dims[2] = pieces[0]->dims[rank - 1];
  if (product(dims, 3) > MAX_ELEMENTS) return NULL;
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, rank, dims + 3 - rank);
  int64_t at = 0;
  for (size_t i = 0; i < count; ++i) {
    for (int64_t k = 0; k < pieces[i]->count; ++k) y->values[at++] = pieces[i]->values[k];
  }
  byoc_onnx_node_t *node = commit(suite, "Concat", pieces, count, y);
  if (node == NULL) return NULL;
  byoc_onnx_node_int(node, "axis", rank - 2);
  return y;
}

// Rows [begin, begin + count) of x.
static tensor_t *take_rows(suite_t *suite, tensor_t *x, int64_t begin, int64_t count) {
  int64_t width = x->dims[x->rank - 1], axis = x->rank - 2, end = begin + count;
  const int64_t dims[3] = {1, count, width};
  tensor_t *y = new_result(suite, BYOC_DTYPE_F32, x->rank, dims + 3 - x->rank);
  for (int64_t i = 0; i < y->count; ++i) y->values[i] = x->values[begin * width + i];
  tensor_t *operands[] = {x, new_ints(suite, 1, &begin), new_ints(suite, 1, &end), new_ints(suite, 1, &axis)};
  return commit(suite, "Slice", operands, 4, y) != NULL ? y : NULL;
}

static tensor_t *make_piece(suite_t *suite, tensor_t *const *pieces, size_t count, int32_t rank, int64_t width) {
  int64_t rows = 1 + below(suite, 6);
  const int64_t dims[3] = {1, rows, width};
  if (chance(suite, 15)) return new_input(suite, rank, dims + 3 - rank);
  if (count > 0 && chance(suite, 15)) return pieces[below(suite, (int64_t)count)];
  tensor_t *made = make_rows(suite, rank, rows, width);
  if (made != NULL && chance(suite, 25)) make_relu(suite, made); // another reader
  return made != NULL && chance(suite, 25) ? make_relu(suite, made) : made;
}

static bool make_join(suite_t *suite) {
  int32_t rank = chance(suite, 50) ? 3 : 2;
  int64_t width = chance(suite, 80) ? 16 * (1 + below(suite, 2)) : 1 + below(suite, 20);
  tensor_t *pieces[MAX_PIECES] = {NULL};
  size_t count = 2 + (size_t)below(suite, MAX_PIECES - 1);
  for (size_t i = 0; i < count; ++i) {
    pieces[i] = make_piece(suite, pieces, i, rank, width);
    if (pieces[i] == NULL) return false;
  }
  tensor_t *whole = concatenate(suite, pieces, count);
  if (whole != NULL && chance(suite, 40)) { // Concat of a Concat
    tensor_t *outer[2] = {make_rows(suite, rank, 2, width), whole};
    whole = outer[0] != NULL ? concatenate(suite, outer, 2) : NULL;
  }
  if (whole == NULL) return false;
  int64_t rows = whole->dims[rank - 2];
  if (chance(suite, 50)) return true;
  int64_t begin = below(suite, rows);
  tensor_t *part = take_rows(suite, whole, begin, 1 + below(suite, rows - begin));
  return part != NULL && (chance(suite, 30) || make_relu(suite, part) != NULL);
}

const operator_row_t join_operators[] = {{make_join, 6}, {NULL, 0}};

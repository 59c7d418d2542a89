// SPDX-License-Identifier: Apache-2.0
// Operators that move elements and do not change them.
#include "tests/random/graph.h"

// y at `index` is x at `source`.
static void copy_element(const tensor_t *x, tensor_t *y, const int64_t *source, const int64_t *index) {
  y->values[offset_of(y, index)] = x->values[offset_of(x, source)];
}

static bool make_transpose(suite_t *suite) {
  tensor_t *x = pick(suite, -1);
  int64_t perm[MAX_RANK], dims[MAX_RANK], index[MAX_RANK] = {0};
  bool reversed = chance(suite, 15); // the default
  for (int32_t d = 0; d < x->rank; ++d) perm[d] = reversed ? x->rank - 1 - d : d;
  for (int32_t d = x->rank - 1; d > 0 && !reversed; --d) {
    int64_t other = below(suite, d + 1), swap = perm[d];
    perm[d] = perm[other];
    perm[other] = swap;
  }
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = x->dims[perm[d]];
  tensor_t *y = new_result(suite, x->dtype, x->rank, dims);
  do {
    int64_t source[MAX_RANK] = {0};
    for (int32_t d = 0; d < x->rank; ++d) source[perm[d]] = index[d];
    copy_element(x, y, source, index);
  } while (next_index(x->rank, dims, index));
  y->is_exact = x->is_exact;
  byoc_onnx_node_t *node = commit1(suite, "Transpose", x, y);
  if (node == NULL) return false;
  if (!reversed) byoc_onnx_node_ints(node, "perm", perm, (size_t)x->rank);
  return true;
}

// ---- the same bytes under another shape ----

static tensor_t *view(suite_t *suite, const tensor_t *x, int32_t rank, const int64_t *dims) {
  tensor_t *y = new_result(suite, x->dtype, rank, dims);
  assert_int_equal(x->count, y->count);
  for (int64_t i = 0; i < x->count; ++i) y->values[i] = x->values[i];
  y->is_exact = x->is_exact;
  return y;
}

static bool make_reshape(suite_t *suite) {
  tensor_t *x = pick(suite, -1);
  int64_t dims[MAX_RANK], asked[MAX_RANK], left = x->count;
  int32_t rank = 1 + (int32_t)below(suite, 4);
  for (int32_t d = 0; d < rank - 1; ++d) {
    dims[d] = 1 + below(suite, 8);
    while (left % dims[d] != 0) dims[d] -= 1;
    left /= dims[d];
  }
  dims[rank - 1] = left;
  for (int32_t d = 0; d < rank; ++d) asked[d] = dims[d];
  if (chance(suite, 50)) asked[below(suite, rank)] = -1;
  for (int32_t d = 0; d < rank && d < x->rank; ++d) {
    if (asked[d] == x->dims[d] && chance(suite, 30)) asked[d] = 0;
  }
  return commit2(suite, "Reshape", x, new_ints(suite, rank, asked), view(suite, x, rank, dims)) != NULL;
}

static bool make_flatten(suite_t *suite) {
  tensor_t *x = pick(suite, -1);
  int64_t axis = below(suite, x->rank + 1);
  const int64_t dims[2] = {product(x->dims, (int32_t)axis), product(x->dims + axis, x->rank - (int32_t)axis)};
  byoc_onnx_node_t *node = commit1(suite, "Flatten", x, view(suite, x, 2, dims));
  if (node == NULL) return false;
  byoc_onnx_node_int(node, "axis", axis);
  return true;
}

static bool make_unsqueeze(suite_t *suite) {
  tensor_t *x = pick(suite, -1);
  if (x->rank >= 4) return false;
  int64_t axis = below(suite, x->rank + 1), dims[MAX_RANK], asked = chance(suite, 30) ? axis - (x->rank + 1) : axis;
  for (int32_t d = 0; d <= x->rank; ++d) dims[d] = d < axis ? x->dims[d] : d == axis ? 1 : x->dims[d - 1];
  return commit2(suite, "Unsqueeze", x, new_ints(suite, 1, &asked), view(suite, x, x->rank + 1, dims)) != NULL;
}

static bool make_squeeze(suite_t *suite) {
  tensor_t *x = pick(suite, -1);
  int64_t axes[MAX_RANK], axis_count = 0, dims[MAX_RANK];
  int32_t rank = 0;
  for (int32_t d = 0; d < x->rank; ++d) {
    if (x->dims[d] == 1) {
      axes[axis_count++] = d;
    } else {
      dims[rank++] = x->dims[d];
    }
  }
  if (axis_count == 0) return false;
  bool all = chance(suite, 30);
  tensor_t *operand = all ? NULL : new_ints(suite, axis_count, axes);
  return commit(suite, "Squeeze", (tensor_t *[]){x, operand}, all ? 1 : 2, view(suite, x, rank, dims)) != NULL;
}

// ---- parts and copies ----

static bool make_slice(suite_t *suite) {
  tensor_t *x = pick(suite, -1);
  if (x->rank == 0) return false;
  int64_t starts[MAX_RANK], ends[MAX_RANK], axes[MAX_RANK], steps[MAX_RANK], dims[MAX_RANK], first[MAX_RANK] = {0};
  int64_t step_of[MAX_RANK] = {1, 1, 1, 1, 1}, count = 0, index[MAX_RANK] = {0};
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  for (int32_t d = 0; d < x->rank; ++d) {
    if (!chance(suite, 60)) continue;
    int64_t size = x->dims[d], begin = below(suite, size), length = 1 + below(suite, size - begin);
    int64_t step = chance(suite, 60) ? 1 : 1 + below(suite, 3);
    axes[count] = chance(suite, 25) ? d - x->rank : d;
    if (chance(suite, 25)) { // backwards
      first[d] = begin + length - 1;
      step_of[d] = -step;
      starts[count] = first[d];
      ends[count] = begin == 0 ? -size - 1 - below(suite, 3) : begin - 1;
    } else {
      first[d] = begin;
      step_of[d] = step;
      starts[count] = chance(suite, 30) ? begin - size : begin;
      ends[count] = begin + length == size && chance(suite, 50) ? INT64_MAX : begin + length;
    }
    dims[d] = (length + step - 1) / step;
    steps[count++] = step_of[d];
  }
  if (count == 0) return false;
  tensor_t *y = new_result(suite, x->dtype, x->rank, dims);
  do {
    int64_t source[MAX_RANK] = {0};
    for (int32_t d = 0; d < x->rank; ++d) source[d] = first[d] + index[d] * step_of[d];
    copy_element(x, y, source, index);
  } while (next_index(x->rank, dims, index));
  y->is_exact = x->is_exact;
  tensor_t *operands[] = {x, new_ints(suite, count, starts), new_ints(suite, count, ends), new_ints(suite, count, axes),
                          new_ints(suite, count, steps)};
  return commit(suite, "Slice", operands, 5, y) != NULL;
}

static bool make_concat(suite_t *suite) {
  tensor_t *operands[3] = {pick(suite, -1)};
  tensor_t *x = operands[0];
  if (x->rank == 0) return false;
  int64_t axis = below(suite, x->rank), dims[MAX_RANK], index[MAX_RANK] = {0};
  size_t count = 2 + (size_t)below(suite, 2);
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  for (size_t i = 1; i < count; ++i) {
    int64_t other[MAX_RANK];
    for (int32_t d = 0; d < x->rank; ++d) other[d] = x->dims[d];
    other[axis] = 1 + below(suite, 4);
    if (product(other, x->rank) > 2000) return false;
    operands[i] = chance(suite, 20)   ? x
                  : chance(suite, 60) ? new_input(suite, x->rank, other)
                                      : new_random_constant(suite, x->rank, other, 1, 0);
    dims[axis] += operands[i]->dims[axis];
  }
  if (product(dims, x->rank) > MAX_ELEMENTS) return false;
  tensor_t *y = new_result(suite, x->dtype, x->rank, dims);
  do {
    int64_t source[MAX_RANK] = {0}, at = index[axis];
    for (int32_t d = 0; d < x->rank; ++d) source[d] = index[d];
    size_t part = 0;
    while (at >= operands[part]->dims[axis]) at -= operands[part++]->dims[axis];
    source[axis] = at;
    copy_element(operands[part], y, source, index);
  } while (next_index(x->rank, dims, index));
  byoc_onnx_node_t *node = commit(suite, "Concat", operands, count, y);
  if (node == NULL) return false;
  byoc_onnx_node_int(node, "axis", chance(suite, 30) ? axis - x->rank : axis);
  return true;
}

static bool make_expand(suite_t *suite) {
  tensor_t *x = pick(suite, -1);
  int32_t more = (int32_t)below(suite, MAX_RANK - x->rank > 2 ? 2 : MAX_RANK - x->rank + 1), rank = x->rank + more;
  int64_t dims[MAX_RANK], asked[MAX_RANK], index[MAX_RANK] = {0}, at = 0;
  for (int32_t d = 0; d < rank; ++d) {
    int64_t size = d < more ? 1 : x->dims[d - more];
    dims[d] = size == 1 ? 1 + below(suite, 4) : size;
    asked[d] = size > 1 && chance(suite, 50) ? 1 : dims[d];
  }
  if (rank == 0 || product(dims, rank) > MAX_ELEMENTS) return false;
  tensor_t *y = new_result(suite, x->dtype, rank, dims);
  do y->values[at++] = x->values[broadcast_offset(x, rank, index)];
  while (next_index(rank, dims, index));
  y->is_exact = x->is_exact;
  return commit2(suite, "Expand", x, new_ints(suite, rank, asked), y) != NULL;
}

static bool make_tile(suite_t *suite) {
  tensor_t *x = pick(suite, -1);
  int64_t dims[MAX_RANK], repeats[MAX_RANK], index[MAX_RANK] = {0};
  if (x->rank == 0) return false;
  for (int32_t d = 0; d < x->rank; ++d) {
    repeats[d] = chance(suite, 60) ? 1 : 1 + below(suite, 3);
    dims[d] = x->dims[d] * repeats[d];
  }
  if (product(dims, x->rank) > MAX_ELEMENTS) return false;
  tensor_t *y = new_result(suite, x->dtype, x->rank, dims);
  do {
    int64_t source[MAX_RANK] = {0};
    for (int32_t d = 0; d < x->rank; ++d) source[d] = index[d] % x->dims[d];
    copy_element(x, y, source, index);
  } while (next_index(x->rank, dims, index));
  y->is_exact = x->is_exact;
  return commit2(suite, "Tile", x, new_ints(suite, x->rank, repeats), y) != NULL;
}

static bool make_pad(suite_t *suite) {
  static const char *const modes[] = {"constant", "reflect", "edge"};
  tensor_t *x = pick(suite, -1);
  int64_t mode = below(suite, 3), dims[MAX_RANK], pads[2 * MAX_RANK], index[MAX_RANK] = {0}, at = 0;
  if (x->rank == 0) return false;
  for (int32_t d = 0; d < x->rank; ++d) {
    for (int32_t side = 0; side < 2; ++side) {
      int64_t limit = mode == 1 && x->dims[d] < 3 ? x->dims[d] : 3;
      pads[side * x->rank + d] = chance(suite, 50) ? 0 : below(suite, limit);
    }
    dims[d] = x->dims[d] + pads[d] + pads[x->rank + d];
  }
  if (product(dims, x->rank) > MAX_ELEMENTS) return false;
  double fill = chance(suite, 50) ? 0.75 : 0;
  tensor_t *y = new_result(suite, x->dtype, x->rank, dims);
  do {
    int64_t source[MAX_RANK] = {0};
    bool inside = true;
    for (int32_t d = 0; d < x->rank; ++d) {
      int64_t last = x->dims[d] - 1, from = index[d] - pads[d];
      inside = inside && from >= 0 && from <= last;
      if (mode == 1) from = from < 0 ? -from : from > last ? 2 * last - from : from;
      if (mode == 2) from = from < 0 ? 0 : from > last ? last : from;
      source[d] = from;
    }
    y->values[at++] = inside || mode != 0 ? x->values[offset_of(x, source)] : fill;
  } while (next_index(x->rank, dims, index));
  y->is_exact = x->is_exact;
  tensor_t *operands[] = {x, new_ints(suite, 2 * x->rank, pads), fill != 0 ? new_scalar(suite, fill) : NULL};
  byoc_onnx_node_t *node = commit(suite, "Pad", operands, fill != 0 ? 3 : 2, y);
  if (node == NULL) return false;
  byoc_onnx_node_string(node, "mode", modes[mode]);
  return true;
}

// ---- by index ----

static bool make_gather(suite_t *suite) {
  tensor_t *x = pick(suite, -1);
  if (x->rank == 0) return false;
  int64_t axis = below(suite, x->rank), ids_dims[2], dims[MAX_RANK], index[MAX_RANK] = {0}, at = 0;
  int32_t ids_rank = (int32_t)below(suite, 3), rank = 0;
  if (x->rank - 1 + ids_rank > MAX_RANK) return false;
  for (int32_t d = 0; d < ids_rank; ++d) ids_dims[d] = 1 + below(suite, 4);
  double ids[16];
  for (int64_t i = 0; i < product(ids_dims, ids_rank); ++i)
    ids[i] = (double)(below(suite, 2 * x->dims[axis]) - x->dims[axis]);
  for (int32_t d = 0; d < x->rank; ++d) {
    if (d != axis) {
      dims[rank++] = x->dims[d];
    } else {
      for (int32_t i = 0; i < ids_rank; ++i) dims[rank++] = ids_dims[i];
    }
  }
  if (product(dims, rank) > MAX_ELEMENTS) return false;
  tensor_t *indices = new_constant(suite, BYOC_DTYPE_I64, ids_rank, ids_dims, ids);
  tensor_t *y = new_result(suite, x->dtype, rank, dims);
  do {
    int64_t source[MAX_RANK] = {0};
    for (int32_t d = 0; d < x->rank; ++d) {
      if (d != axis) source[d] = index[d < axis ? d : d + ids_rank - 1];
    }
    int64_t id = (int64_t)indices->values[offset_of(indices, index + axis)];
    source[axis] = id < 0 ? id + x->dims[axis] : id;
    y->values[at++] = x->values[offset_of(x, source)];
  } while (next_index(rank, dims, index));
  y->is_exact = x->is_exact;
  byoc_onnx_node_t *node = commit2(suite, "Gather", x, indices, y);
  if (node == NULL) return false;
  byoc_onnx_node_int(node, "axis", chance(suite, 30) ? axis - x->rank : axis);
  return true;
}

static bool make_gather_elements(suite_t *suite) {
  tensor_t *x = pick(suite, -1);
  if (x->rank == 0) return false;
  int64_t axis = below(suite, x->rank), dims[MAX_RANK], index[MAX_RANK] = {0}, at = 0;
  double ids[MAX_ELEMENTS];
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = d == axis ? 1 + below(suite, 3) : x->dims[d];
  if (product(dims, x->rank) > 1000) return false;
  for (int64_t i = 0; i < product(dims, x->rank); ++i) ids[i] = (double)below(suite, x->dims[axis]);
  tensor_t *indices = new_constant(suite, BYOC_DTYPE_I64, x->rank, dims, ids);
  tensor_t *y = new_result(suite, x->dtype, x->rank, dims);
  do {
    int64_t source[MAX_RANK] = {0};
    for (int32_t d = 0; d < x->rank; ++d) source[d] = d == axis ? (int64_t)ids[at] : index[d];
    y->values[at++] = x->values[offset_of(x, source)];
  } while (next_index(x->rank, dims, index));
  y->is_exact = x->is_exact;
  byoc_onnx_node_t *node = commit2(suite, "GatherElements", x, indices, y);
  if (node == NULL) return false;
  byoc_onnx_node_int(node, "axis", axis);
  return true;
}

// [N, C, H, W] → [N, C / b², H * b, W * b], the channel split as b, b, C / b² (DCR) or C / b², b, b (CRD).
static bool make_depth_to_space(suite_t *suite) {
  tensor_t *x = pick(suite, 4);
  const int64_t block = 2;
  if (x->dims[1] % (block * block) != 0) return false;
  bool crd = chance(suite, 50);
  int64_t depth = x->dims[1] / (block * block), index[4] = {0};
  const int64_t dims[4] = {x->dims[0], depth, x->dims[2] * block, x->dims[3] * block};
  tensor_t *y = new_result(suite, x->dtype, 4, dims);
  do {
    int64_t row = index[2] % block, column = index[3] % block;
    int64_t channel = crd ? (index[1] * block + row) * block + column : (row * block + column) * depth + index[1];
    const int64_t source[4] = {index[0], channel, index[2] / block, index[3] / block};
    copy_element(x, y, source, index);
  } while (next_index(4, dims, index));
  y->is_exact = x->is_exact;
  byoc_onnx_node_t *node = commit1(suite, "DepthToSpace", x, y);
  if (node == NULL) return false;
  byoc_onnx_node_int(node, "blocksize", block);
  byoc_onnx_node_string(node, "mode", crd ? "CRD" : "DCR");
  return true;
}

const operator_row_t layout_operators[] = {
    {make_transpose, 6}, {make_reshape, 5},         {make_flatten, 2},        {make_unsqueeze, 2}, {make_squeeze, 2},
    {make_slice, 5},     {make_concat, 5},          {make_expand, 2},         {make_tile, 1},      {make_pad, 3},
    {make_gather, 4},    {make_gather_elements, 2}, {make_depth_to_space, 2}, {NULL, 0},
};

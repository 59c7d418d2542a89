// SPDX-License-Identifier: Apache-2.0
// Moves data: every result element is one operand element (or a constant), found by arithmetic on its indices.
#include <string.h>

#include "core/op/axes.h"
#include "core/op/util.h"
#include "core/ops/onnx/tensor/wide.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

static byoc_dim_t constant(int64_t value) {
  return byoc_dim_constant(value);
}

// ---- Transpose ----
// Without `perm` the dimensions are reversed.
static byoc_status_t read_permutation(const byoc_infer_t *infer, const byoc_node_t *node, int32_t rank, int32_t *out) {
  size_t count = 0;
  const int64_t *perm = byoc_node_ints(node, "perm", &count);
  bool seen[BYOC_MAX_RANK] = {false};
  if (perm && count != (size_t)rank) {
    return byoc_infer_error(infer, "attribute 'perm': expected %d value%s, got %zu", rank, byoc_plural((uint64_t)rank),
                            count);
  }
  for (int32_t d = 0; d < rank; ++d) {
    int64_t from = perm ? perm[d] : rank - 1 - d;
    if (from < 0 || from >= rank || seen[from]) {
      return byoc_infer_error(infer, "attribute 'perm' is not a permutation of 0 to %d", rank - 1);
    }
    seen[from] = true;
    out[d] = (int32_t)from;
  }
  return BYOC_OK;
}

static byoc_status_t infer_transpose(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  int32_t perm[BYOC_MAX_RANK];
  BYOC_RETURN_IF_ERROR(read_permutation(infer, infer->node, x->rank, perm));
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = x->dims[perm[d]];
  return byoc_infer_set(infer, 0, x->dtype, x->rank, dims);
}

static const byoc_loop_expr_t *point_transpose(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                               const byoc_loop_expr_t *const *indices) {
  (void)result;
  int32_t rank = node->operands[0]->type->rank;
  size_t count = 0;
  const int64_t *perm = byoc_node_ints(node, "perm", &count);
  const byoc_loop_expr_t *at[BYOC_MAX_RANK];
  for (int32_t d = 0; d < rank; ++d) at[perm ? perm[d] : rank - 1 - d] = indices[d];
  return byoc_lower_load(lower, node, 0, at);
}

// ---- Expand ----
// Even if the number of sizes is dynamic, each dimension is 1 or equals that of the result.
static byoc_status_t need_expandable(const byoc_infer_t *infer, const byoc_type_t *x) {
  const byoc_type_t *made = infer->relations ? infer->relations->made : NULL;
  for (int32_t d = 0; made && d < x->rank && made->rank >= x->rank; ++d) {
    const byoc_side_t size = byoc_side(made->dims[made->rank - x->rank + d], "the size that is asked for");
    BYOC_RETURN_IF_ERROR(byoc_infer_relate_made(infer, BYOC_RELATION_ONE_OR, byoc_side_of(infer, 0, d), size));
  }
  return BYOC_OK;
}

static byoc_status_t infer_expand(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_integer, "a shape of integers"));
  const byoc_type_t *x = byoc_operand_type(node, 0);
  byoc_dim_t want[BYOC_MAX_RANK], dims[BYOC_MAX_RANK];
  bool is_data[BYOC_MAX_RANK];
  int32_t count = 0;
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  if (!byoc_infer_shape_value(infer, node->operands[1], &count, want, is_data)) {
    BYOC_RETURN_IF_ERROR(need_expandable(infer, x));
    return byoc_infer_set_open_rank(infer, x->dtype, x->rank, BYOC_DIM_MAX, 1);
  }
  int32_t rank = x->rank > count ? x->rank : count;
  bool failed = false;
  for (int32_t d = 0; d < rank; ++d) {
    int32_t i = d - (rank - x->rank), j = d - (rank - count);
    byoc_dim_t other = j >= 0 ? want[j] : constant(1);
    byoc_side_t own = i >= 0 ? byoc_side_of(infer, 0, i) : byoc_side_number(1);
    byoc_side_t asked = byoc_side(other, "the size that is asked for");
    dims[d] = other;
    if (j >= 0 && is_data[j]) { // the result's size, which is not smaller than the requested one
      BYOC_RETURN_IF_ERROR(byoc_infer_relate(infer, BYOC_RELATION_ONE_OR, own, asked));
    } else if (!byoc_broadcast_dim(infer, own, asked, &dims[d], &failed)) {
      char text[BYOC_TYPE_TEXT_SIZE];
      return byoc_infer_error(infer, "%s does not expand to %lld in dimension %d", byoc_type_text(x, text),
                              (long long)other.constant, d);
    }
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, x->dtype, rank, dims);
}

static const byoc_loop_expr_t *point_expand(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                            const byoc_loop_expr_t *const *indices) {
  return byoc_lower_load_broadcast(lower, node, 0, node->results[result]->type->rank, indices);
}

static const byoc_loop_expr_t *shape_expand(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  int32_t rank = byoc_result_rank(node, result), i = d - (rank - x->rank);
  const byoc_loop_expr_t *one = byoc_loop_int(b, 1), *own = i >= 0 ? byoc_emit_dim(b, x, i) : one, *want = one;
  int64_t count = byoc_type_element_count(node->operands[1]->type), j = d - (rank - count);
  if (count < 0) { // the length of the list is data, too
    const byoc_loop_expr_t *missing =
        BYOC_LSUB(b, byoc_loop_int(b, rank), byoc_emit_dim(b, node->operands[1]->type, 0));
    const byoc_loop_expr_t *at = BYOC_LSUB(b, byoc_loop_int(b, d), missing);
    want = byoc_emit_as(b, BYOC_DTYPE_I64, byoc_lower_load_flat(lower, node, 1, at));
    want = byoc_loop_select(b, BIN(LT, at, byoc_loop_int(b, 0)), one, want);
  } else if (j >= 0) {
    want = byoc_loop_let(b, "want", byoc_emit_int(lower, node, 1, j));
  }
  return byoc_loop_select(b, BIN(EQ, want, one), own, want);
}

// ---- Concat: one loop nest per operand, each writing its part ----
static byoc_status_t infer_concat(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  const byoc_type_t *first = NULL;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, NULL, "a tensor"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, i));
    if (!byoc_is_ranked(byoc_operand_type(node, i))) {
      return byoc_infer_set_unranked(infer, 0, byoc_operand_type(node, 0)->dtype);
    }
  }
  first = byoc_operand_type(node, 0);
  int32_t axis = 0;
  BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", first->rank, &axis));
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < first->rank; ++d) dims[d] = d == axis ? constant(0) : first->dims[d];
  bool failed = false;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_type_t *type = byoc_operand_type(node, i);
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, i, first->rank, first->rank));
    for (int32_t d = 0; d < first->rank; ++d) {
      if (d == axis) continue;
      BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, i, d, dims[d]));
      if (byoc_dim_is_constant(type->dims[d])) dims[d] = type->dims[d];
    }
    dims[axis] = byoc_infer_dim(infer, BYOC_DIM_ADD, dims[axis], type->dims[axis], &failed);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, first->dtype, first->rank, dims);
}

static byoc_status_t loops_concat(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *result = node->results[0]->type;
  int32_t rank = result->rank, axis = byoc_node_axis(node, "axis", rank);
  const byoc_loop_expr_t *offset = byoc_loop_int(b, 0), *zero = byoc_loop_int(b, 0);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_type_t *type = node->operands[i]->type;
    const byoc_loop_expr_t *at[BYOC_MAX_RANK], *to[BYOC_MAX_RANK];
    // Dimensions after the axis are contiguous in memory and become one loop; elements that are computed here go row by
    // row.
    const bool is_stored = axis + 1 < rank && byoc_lower_operand_buffer(lower, node, i) != NULL;
    const int32_t inner = is_stored ? axis + 1 : rank - 1;
    const byoc_loop_expr_t *t = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", zero, byoc_emit_extent(b, type, 0, inner));
    byoc_emit_unravel(b, type, 0, inner, t, at);
    for (int32_t d = 0; d < inner; ++d) at[d] = byoc_loop_let(b, "at", at[d]);
    const byoc_loop_expr_t *j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", zero, byoc_emit_extent(b, type, inner, rank));
    byoc_emit_unravel(b, type, inner, rank, j, at);
    for (int32_t d = 0; d < rank; ++d) to[d] = d == axis ? BYOC_LADD(b, at[d], offset) : at[d];
    byoc_lower_store(lower, node, 0, to, byoc_lower_load(lower, node, i, at));
    byoc_loop_end(b);
    byoc_loop_end(b);
    offset = BYOC_LADD(b, offset, byoc_emit_dim(b, type, axis));
  }
  return BYOC_OK;
}

// ---- Split ----
// The lengths as the attribute or a constant operand gives them; there may be thousands.
static byoc_known_t split_given(const byoc_node_t *node, const byoc_attribute_t **out_attribute, int64_t *out_count) {
  *out_attribute = byoc_attributes_find(&node->attributes, "split");
  *out_count = 0;
  if (*out_attribute != NULL) {
    *out_count = (int64_t)(*out_attribute)->count;
    return BYOC_KNOWN_YES;
  }
  if (!byoc_has_operand(node, 1)) return BYOC_KNOWN_ABSENT;
  const byoc_value_t *value = node->operands[1];
  if (!byoc_value_is_constant(value) || !byoc_dtype_is_integer(value->type->dtype)) return BYOC_KNOWN_NO;
  *out_count = byoc_type_element_count(value->type);
  return BYOC_KNOWN_YES;
}

// The length of part `index`: as given, else that of equal parts. From version 18 on the last part that is not empty
// may be shorter, and later parts are empty.
static byoc_status_t split_length(const byoc_infer_t *infer, byoc_dim_t whole, uint32_t index, byoc_dim_t *out,
                                  bool *failed) {
  const byoc_node_t *node = infer->node;
  int64_t parts = node->result_count;
  if (infer->opset < 18 && byoc_dim_is_constant(whole) && whole.constant % parts != 0) {
    return byoc_infer_error(infer, "%lld elements do not divide into %lld equal parts", (long long)whole.constant,
                            (long long)parts);
  }
  byoc_dim_t each = byoc_infer_dim(infer, BYOC_DIM_CEILDIV, whole, constant(parts), failed);
  *out = each;
  const byoc_dim_t all = byoc_infer_dim(infer, BYOC_DIM_MUL, each, constant(parts), failed);
  if (infer->opset < 18 || index == 0 || *failed || byoc_dim_equal(all, whole)) return BYOC_OK;
  const byoc_dim_t before = byoc_infer_dim(infer, BYOC_DIM_MUL, each, constant(index), failed);
  *out = byoc_infer_dim(infer, BYOC_DIM_SUB, whole, before, failed);
  if (parts == 2) return BYOC_OK; // the first part got at least half of the elements
  *out = byoc_infer_dim(infer, BYOC_DIM_MAX, *out, constant(0), failed);
  *out = byoc_infer_dim(infer, BYOC_DIM_MIN, *out, each, failed);
  return BYOC_OK;
}

static byoc_status_t infer_split(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  const byoc_type_t *x = byoc_operand_type(node, 0);
  const byoc_attribute_t *attribute = NULL;
  int64_t count = 0;
  byoc_known_t known = split_given(node, &attribute, &count);
  if (!byoc_is_ranked(x)) {
    for (uint32_t i = 0; i < node->result_count; ++i) BYOC_RETURN_IF_ERROR(byoc_infer_set_unranked(infer, i, x->dtype));
    return BYOC_OK;
  }
  int32_t axis = 0;
  BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "axis", x->rank, &axis));
  if (known == BYOC_KNOWN_YES && count != node->result_count) {
    return byoc_infer_error(infer, "'split' has %lld part%s for %u result%s", (long long)count,
                            byoc_plural((uint64_t)count), node->result_count, byoc_plural(node->result_count));
  }
  if (known == BYOC_KNOWN_NO) BYOC_RETURN_IF_ERROR(byoc_infer_need_list(infer, 1, node->result_count));
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  int64_t sum = 0;
  byoc_dim_t whole = constant(0);
  bool failed = false;
  for (uint32_t i = 0; i < node->result_count; ++i) {
    if (known == BYOC_KNOWN_NO) {
      dims[axis] = byoc_infer_unknown_dim(infer, &failed);
    } else if (known == BYOC_KNOWN_YES) {
      dims[axis] = constant(attribute ? attribute->ints[i] : byoc_constant_element_i64(node->operands[1]->constant, i));
    } else {
      BYOC_RETURN_IF_ERROR(split_length(infer, x->dims[axis], i, &dims[axis], &failed));
    }
    if (byoc_dim_is_constant(dims[axis]) && __builtin_add_overflow(sum, dims[axis].constant, &sum)) sum = -1;
    whole = byoc_infer_dim(infer, BYOC_DIM_ADD, whole, dims[axis], &failed);
    BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
    BYOC_RETURN_IF_ERROR(byoc_infer_set(infer, i, x->dtype, x->rank, dims));
  }
  if (known == BYOC_KNOWN_YES && byoc_dim_is_constant(x->dims[axis]) && sum != x->dims[axis].constant) {
    return byoc_infer_error(infer, "the parts of 'split' add up to %lld, dimension %d has %lld", (long long)sum, axis,
                            (long long)x->dims[axis].constant);
  }
  return byoc_infer_relate(infer, BYOC_RELATION_EQUAL, byoc_side(whole, "the sum of the parts"),
                           byoc_side_of(infer, 0, axis));
}

static const byoc_loop_expr_t *point_split(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                           const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  int32_t rank = node->operands[0]->type->rank, axis = byoc_node_axis(node, "axis", rank);
  const byoc_loop_expr_t *at[BYOC_MAX_RANK];
  for (int32_t d = 0; d < rank; ++d) at[d] = indices[d];
  for (uint32_t i = 0; i < result; ++i) {
    at[axis] = BYOC_LADD(b, at[axis], byoc_emit_dim(b, node->results[i]->type, axis));
  }
  return byoc_lower_load(lower, node, 0, at);
}

static const byoc_loop_expr_t *shape_split(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  (void)d;
  return byoc_emit_int(lower, node, 1, result);
}

// ---- Tile ----
static byoc_status_t infer_tile(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_integer, "repeats as integers"));
  const byoc_type_t *x = byoc_operand_type(node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  byoc_dim_t repeats[BYOC_MAX_RANK];
  int32_t count = 0;
  if (!byoc_shape_value(node->operands[1], infer->arena, &count, repeats)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_list(infer, 1, x->rank));
    return byoc_infer_set_unknown(infer, 0, x->dtype, x->rank);
  }
  if (count != x->rank)
    return byoc_infer_error(infer, "operand 1: expected %d repeat%s, got %d", x->rank, byoc_plural((uint64_t)x->rank),
                            count);
  bool failed = false;
  for (int32_t d = 0; d < count; ++d) {
    repeats[d] = byoc_infer_dim(infer, BYOC_DIM_MUL, x->dims[d], repeats[d], &failed);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, x->dtype, x->rank, repeats);
}

static const byoc_loop_expr_t *point_tile(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                          const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[result]->type;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK];
  for (int32_t d = 0; d < x->rank; ++d) {
    bool once = byoc_dim_equal(x->dims[d], y->dims[d]);
    at[d] = once ? indices[d] : BYOC_LMOD(b, indices[d], byoc_emit_dim(b, x, d));
  }
  return byoc_lower_load(lower, node, 0, at);
}

// Each repeat is a run.
static bool runs_tile(byoc_lower_t *lower, const byoc_node_t *node, int32_t axis, byoc_op_runs_t *out_runs) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[0]->type;
  if (byoc_dim_equal(x->dims[axis], y->dims[axis]) || !byoc_is_worth_a_run(x->dims[axis])) return false;
  const byoc_loop_expr_t *length = byoc_emit_dim(b, x, axis);
  *out_runs = (byoc_op_runs_t){
      .first = byoc_loop_int(b, 0), .count = BYOC_LDIV(b, byoc_emit_dim(b, y, axis), length), .length = length};
  return true;
}

static const byoc_loop_expr_t *shape_tile(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  (void)result;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  return BYOC_LMUL(b, byoc_emit_dim(b, node->operands[0]->type, d), byoc_emit_int(lower, node, 1, d));
}

// ---- DepthToSpace, SpaceToDepth ----
enum { MODE_DCR, MODE_CRD }; // as in their tables

static byoc_status_t infer_depth(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 4, 4));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unknown(infer, 0, x->dtype, 4);
  int64_t size = byoc_node_int(infer->node, "blocksize");
  if (size < 1 || size > INT16_MAX) {
    return byoc_infer_error(infer, "attribute 'blocksize': expected 1 or more, got %lld", (long long)size);
  }
  bool to_space = strcmp(infer->node->op, "DepthToSpace") == 0, failed = false;
  byoc_dim_kind_t plane = to_space ? BYOC_DIM_MUL : BYOC_DIM_FLOORDIV;
  for (int32_t d = 1; d < 4; ++d) {
    int64_t divisor = to_space ? (d == 1 ? size * size : 1) : (d == 1 ? 1 : size);
    BYOC_RETURN_IF_ERROR(
        byoc_infer_relate(infer, BYOC_RELATION_MULTIPLE, byoc_side_of(infer, 0, d), byoc_side_number(divisor)));
  }
  byoc_dim_t dims[4] = {x->dims[0]};
  dims[1] =
      byoc_infer_dim(infer, to_space ? BYOC_DIM_FLOORDIV : BYOC_DIM_MUL, x->dims[1], constant(size * size), &failed);
  dims[2] = byoc_infer_dim(infer, plane, x->dims[2], constant(size), &failed);
  dims[3] = byoc_infer_dim(infer, plane, x->dims[3], constant(size), &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, x->dtype, 4, dims);
}

static const byoc_loop_expr_t *point_depth_to_space(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                                    const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *size = byoc_loop_int(b, byoc_node_int(node, "blocksize"));
  bool column_row = byoc_node_choice(node, "mode") == MODE_CRD;
  const byoc_loop_expr_t *block =
      BYOC_LADD(b, BYOC_LMUL(b, BYOC_LMOD(b, indices[2], size), size), BYOC_LMOD(b, indices[3], size));
  const byoc_loop_expr_t *depth =
      column_row ? BYOC_LADD(b, BYOC_LMUL(b, indices[1], BYOC_LMUL(b, size, size)), block)
                 : BYOC_LADD(b, BYOC_LMUL(b, block, byoc_emit_dim(b, node->results[result]->type, 1)), indices[1]);
  const byoc_loop_expr_t *at[] = {indices[0], depth, BYOC_LDIV(b, indices[2], size), BYOC_LDIV(b, indices[3], size)};
  return byoc_lower_load(lower, node, 0, at);
}

static const byoc_loop_expr_t *point_space_to_depth(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                                    const byoc_loop_expr_t *const *indices) {
  (void)result;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *size = byoc_loop_int(b, byoc_node_int(node, "blocksize"));
  const byoc_loop_expr_t *channels = byoc_emit_dim(b, node->operands[0]->type, 1);
  const byoc_loop_expr_t *block = BYOC_LDIV(b, indices[1], channels), *channel = BYOC_LMOD(b, indices[1], channels);
  if (byoc_node_choice(node, "mode") == MODE_CRD) { // channels outermost
    const byoc_loop_expr_t *blocks = BYOC_LMUL(b, size, size);
    block = BYOC_LMOD(b, indices[1], blocks), channel = BYOC_LDIV(b, indices[1], blocks);
  }
  const byoc_loop_expr_t *at[] = {indices[0], channel,
                                  BYOC_LADD(b, BYOC_LMUL(b, indices[2], size), BYOC_LDIV(b, block, size)),
                                  BYOC_LADD(b, BYOC_LMUL(b, indices[3], size), BYOC_LMOD(b, block, size))};
  return byoc_lower_load(lower, node, 0, at);
}

// ---- Trilu ----
static byoc_status_t infer_trilu(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_value, "a tensor of numbers or bools"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 2, BYOC_MAX_RANK));
  if (byoc_has_operand(infer->node, 1)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_integer, "an integer"));
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, 1));
  return byoc_infer_same(infer);
}

static const byoc_loop_expr_t *point_trilu(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                           const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *type = node->results[result]->type;
  const byoc_loop_expr_t *row = indices[type->rank - 2], *column = indices[type->rank - 1];
  const byoc_loop_expr_t *k = byoc_has_operand(node, 1) ? byoc_emit_int(lower, node, 1, 0) : byoc_loop_int(b, 0);
  bool upper = byoc_node_flag(node, "upper");
  const byoc_loop_expr_t *diagonal = BYOC_LSUB(b, column, row);
  const byoc_loop_expr_t *kept = upper ? BIN(LE, k, diagonal) : BIN(LE, diagonal, k);
  return byoc_loop_select(b, kept, byoc_lower_load(lower, node, 0, indices), byoc_loop_const(b, type->dtype, 0.0));
}

// ---- rows ----
static const byoc_op_attribute_t transpose_attributes[] = {
    {BYOC_ATTR(INTS, "perm")},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t concat_attributes[] = {
    {BYOC_ATTR_REQUIRED(INT, "axis")},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t split_attributes[] = {
    {BYOC_ATTR_INT("axis", 0)},
    {BYOC_ATTR(INTS, "split"), .until = 13},
    {BYOC_ATTR(INT, "num_outputs"), .since = 18},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t depth_to_space_attributes[] = {
    {BYOC_ATTR_REQUIRED(INT, "blocksize")},
    {BYOC_ATTR_CHOICE("mode", "DCR", "CRD"), .since = 11},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t space_to_depth_attributes[] = {
    {BYOC_ATTR_REQUIRED(INT, "blocksize")},
    {BYOC_ATTR_CHOICE("mode", "DCR", "CRD"), .since = 28},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t trilu_attributes[] = {
    {BYOC_ATTR_INT("upper", 1)},
    BYOC_ATTR_END,
};

#define ROW(op_name, version, least, most, results, shape, infer_name, point_name, axes_name)                          \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = least, .max_inputs = most,                 \
    .min_outputs = 1, .max_outputs = results, .traits = BYOC_OP_INJECTIVE | BYOC_OP_MOVES,                             \
    .attributes = point_name##_attributes, .infer = infer_##infer_name, .point = point_##point_name,                   \
    .shape_operands = shape, .axes = byoc_axes_##axes_name                                                             \
  }
// The same for shapes that may be data. `unread`: operands that are not read once the shape is known.
#define BY_DATA(table, op_name, version, most, results, mask, unread, function)                                        \
  {                                                                                                                    \
    .domain = "", .name = #op_name, .since_version = version, .min_inputs = BY_DATA_LEAST_##op_name,                   \
    .max_inputs = most, .min_outputs = 1, .max_outputs = results, .traits = BYOC_OP_INJECTIVE | BYOC_OP_MOVES,         \
    .attributes = table, .infer = infer_##function, .point = point_##function, .runs = BY_DATA_RUNS_##op_name,         \
    .shape_operands = mask, .shape_elements = mask, .by_shape = unread, .shape = shape_##function,                     \
    .axes = BY_DATA_AXES_##op_name                                                                                     \
  }
#define BY_DATA_LEAST_Expand 2
#define BY_DATA_LEAST_Tile   2
#define BY_DATA_AXES_Expand  byoc_axes_expand
#define BY_DATA_AXES_Tile    NULL
#define BY_DATA_RUNS_Expand  NULL
#define BY_DATA_RUNS_Tile    runs_tile
#define CONCAT(version)                                                                                                \
  {                                                                                                                    \
    .domain = "", .name = "Concat", .since_version = version, .min_inputs = 1, .max_inputs = -1, .min_outputs = 1,     \
    .max_outputs = 1, .traits = BYOC_OP_INJECTIVE | BYOC_OP_MOVES, .attributes = concat_attributes,                    \
    .infer = infer_concat, .loops = loops_concat, .expand = byoc_expand_wide_concat, .axes = byoc_axes_concat          \
  }
#define SPLIT(version, most, mask, shape_function)                                                                     \
  {                                                                                                                    \
    .domain = "", .name = "Split", .since_version = version, .min_inputs = 1, .max_inputs = most, .min_outputs = 1,    \
    .max_outputs = -1, .traits = BYOC_OP_INJECTIVE | BYOC_OP_MOVES, .attributes = split_attributes,                    \
    .infer = infer_split, .point = point_split, .shape_operands = mask, .shape_elements = mask, .by_shape = mask,      \
    .shape = shape_function, .expand = byoc_expand_wide_split, .axes = byoc_axes_beside                                \
  }
#define SECOND (1u << 1)

const byoc_op_t byoc_ops_layout[] = {
    ROW(Transpose, 1, 1, 1, 1, 0, transpose, transpose, transpose),
    ROW(Transpose, 13, 1, 1, 1, 0, transpose, transpose, transpose),
    ROW(Transpose, 21, 1, 1, 1, 0, transpose, transpose, transpose),
    BY_DATA(NULL, Expand, 8, 2, 1, SECOND, SECOND, expand),
    BY_DATA(NULL, Expand, 13, 2, 1, SECOND, SECOND, expand),
    CONCAT(4),
    CONCAT(11),
    CONCAT(13),
    SPLIT(2, 1, 0, NULL),
    SPLIT(11, 1, 0, NULL),
    SPLIT(13, 2, SECOND, shape_split),
    SPLIT(18, 2, SECOND, shape_split),
    BY_DATA(NULL, Tile, 6, 2, 1, SECOND, SECOND, tile),
    BY_DATA(NULL, Tile, 13, 2, 1, SECOND, SECOND, tile),
    ROW(DepthToSpace, 1, 1, 1, 1, 0, depth, depth_to_space, batch),
    ROW(DepthToSpace, 11, 1, 1, 1, 0, depth, depth_to_space, batch),
    ROW(DepthToSpace, 13, 1, 1, 1, 0, depth, depth_to_space, batch),
    ROW(SpaceToDepth, 1, 1, 1, 1, 0, depth, space_to_depth, batch),
    ROW(SpaceToDepth, 13, 1, 1, 1, 0, depth, space_to_depth, batch),
    ROW(SpaceToDepth, 28, 1, 1, 1, 0, depth, space_to_depth, batch),
    // Zeros are filled in.
    {.domain = "",
     .name = "Trilu",
     .since_version = 14,
     .min_inputs = 1,
     .max_inputs = 2,
     .min_outputs = 1,
     .max_outputs = 1,
     .traits = BYOC_OP_INJECTIVE,
     .attributes = trilu_attributes,
     .infer = infer_trilu,
     .point = point_trilu,
     .axes = byoc_axes_matrices},
};
const size_t byoc_ops_layout_count = sizeof byoc_ops_layout / sizeof *byoc_ops_layout;

// SPDX-License-Identifier: Apache-2.0
// com.microsoft::GatherBlockQuantized: rows of a table of few bits are looked up and dequantised, as exporters of
// language models write embeddings. The table stays packed: only the rows that are looked up become numbers.
//
// Elements of u4, i4 and of 8 bits are those of the table. Bytes with `bits` below 8 hold 8 / bits elements, lowest
// first, along the last dimension, and so do the bytes of their zero points.
#include "core/op/util.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

enum { TABLE, INDICES, SCALES, ZEROS };

typedef struct layout_t {
  int32_t rank, along, blocked; // the table's rank, the axis of the look-up and that of the blocks
  int64_t bits, slots;          // of bytes: elements in one; else 1
  int64_t block;                // 0: one block for all of the axis
} layout_t;

static bool is_index(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I32 || dtype == BYOC_DTYPE_I64;
}
static bool is_table(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_U8 || dtype == BYOC_DTYPE_U4 || dtype == BYOC_DTYPE_I4 || byoc_dtype_is_float8(dtype);
}
static bool is_scale(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_F32 || dtype == BYOC_DTYPE_F16 || dtype == BYOC_DTYPE_BF16;
}

static layout_t layout_of(const byoc_node_t *node) {
  const byoc_type_t *table = byoc_operand_type(node, TABLE);
  layout_t l = {.rank = table->rank, .bits = byoc_node_int(node, "bits"), .block = byoc_node_int(node, "block_size")};
  l.slots = table->dtype == BYOC_DTYPE_U8 && l.bits > 0 ? 8 / l.bits : 1;
  l.along = byoc_node_axis(node, "gather_axis", l.rank);
  l.blocked = byoc_node_axis(node, "quantize_axis", l.rank);
  return l;
}

// ---- types ----

static byoc_status_t check_layout(byoc_infer_t *infer) {
  enum { LEAST_BLOCK = 16, MOST_BLOCK = 1 << 30 };
  const byoc_node_t *node = infer->node;
  const byoc_type_t *table = byoc_operand_type(node, TABLE);
  const bool is_float = byoc_dtype_is_float8(table->dtype);
  const int64_t bits = byoc_node_int(node, "bits"), block = byoc_node_int(node, "block_size");
  if (!is_float && bits != 2 && bits != 4 && bits != 8) {
    return byoc_infer_error(infer, "attribute 'bits': expected 2, 4 or 8, got %lld", (long long)bits);
  }
  const bool is_whole = is_float && block == 0;
  if (!is_whole && (block < LEAST_BLOCK || block > MOST_BLOCK || (block & (block - 1)) != 0)) {
    return byoc_infer_error(infer, "attribute 'block_size': expected a power of two from %d on, got %lld", LEAST_BLOCK,
                            (long long)block);
  }
  int32_t along = 0, blocked = 0;
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, TABLE, 2, BYOC_MAX_RANK));
  BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "gather_axis", table->rank, &along));
  BYOC_RETURN_IF_ERROR(byoc_infer_axis(infer, "quantize_axis", table->rank, &blocked));
  if (table->dtype != BYOC_DTYPE_U8) return BYOC_OK;
  if (along != 0) {
    return byoc_infer_error(infer, "attribute 'gather_axis': expected 0 for a table of bytes, got %d", along);
  }
  if (bits < 8 && blocked != table->rank - 1) {
    return byoc_infer_error(infer, "attribute 'quantize_axis': bytes of several elements have blocks along axis %d",
                            table->rank - 1);
  }
  return BYOC_OK;
}

// The dimensions of the scales or, packed as the table is, of the zero points. Floats may share a scale along the other
// axes.
static byoc_status_t check_blocks(const byoc_infer_t *infer, uint32_t operand, int64_t slots) {
  const layout_t l = layout_of(infer->node);
  const byoc_type_t *table = byoc_operand_type(infer->node, TABLE), *type = byoc_operand_type(infer->node, operand);
  if (!byoc_is_ranked(type)) return byoc_infer_unsupported(infer, "operand %u: expected a known rank", operand);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, operand, l.rank, l.rank));
  for (int32_t d = 0; d < l.rank; ++d) {
    if (!byoc_dim_is_constant(table->dims[d])) {
      return byoc_infer_unsupported(infer, "operand %d: expected fixed dimensions", TABLE);
    }
    const bool is_one = byoc_dim_is_constant(type->dims[d]) && type->dims[d].constant == 1;
    if (d != l.blocked && is_one && byoc_dtype_is_float8(table->dtype)) continue;
    int64_t expected = table->dims[d].constant;
    if (d == l.blocked) {
      if (expected > INT64_MAX / 8 / l.slots) return byoc_infer_error(infer, "operand %d is too large", TABLE);
      expected *= l.slots;
      expected = l.block == 0 ? 1 : (expected + l.block - 1) / l.block;
      expected = (expected + slots - 1) / slots;
    }
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, operand, d, byoc_dim_constant(expected)));
  }
  return BYOC_OK;
}

static byoc_status_t infer_look_up(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, TABLE, is_table, "a tensor of u4, i4, u8 or 8-bit floats"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, INDICES, is_index, "indices of i32 or i64"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, SCALES, is_scale, "scales of f16, bf16 or f32"));
  const byoc_type_t *table = byoc_operand_type(node, TABLE), *picks = byoc_operand_type(node, INDICES);
  const byoc_dtype_t dtype = byoc_operand_type(node, SCALES)->dtype;
  if (!byoc_is_ranked(table)) return byoc_infer_unsupported(infer, "operand %d: expected a known rank", TABLE);
  BYOC_RETURN_IF_ERROR(check_layout(infer));
  BYOC_RETURN_IF_ERROR(check_blocks(infer, SCALES, 1));
  const layout_t l = layout_of(node);
  if (byoc_has_operand(node, ZEROS)) {
    if (byoc_dtype_is_float8(table->dtype)) return byoc_infer_error(infer, "floats have no zero points");
    BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, ZEROS));
    BYOC_RETURN_IF_ERROR(check_blocks(infer, ZEROS, l.slots));
  }
  if (!byoc_is_ranked(picks)) return byoc_infer_set_unranked(infer, 0, dtype);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_index(infer, INDICES, "the indices", byoc_side_of(infer, TABLE, l.along)));
  if (table->dims[l.along].constant == 0) {
    return byoc_infer_error(infer, "operand %d: there is nothing to gather from dimension %d", TABLE, l.along);
  }
  byoc_dim_t dims[2 * BYOC_MAX_RANK];
  int32_t rank = 0;
  for (int32_t d = 0; d < l.rank; ++d) {
    for (int32_t i = 0; d == l.along && i < picks->rank; ++i) dims[rank++] = picks->dims[i];
    if (d == l.along) continue;
    dims[rank] = table->dims[d];
    if (d == l.rank - 1) dims[rank].constant *= l.slots;
    ++rank;
  }
  return byoc_infer_set(infer, 0, dtype, rank, dims);
}

// ---- loops ----

// Element at[] of operand TABLE or ZEROS, in i32 or, for floats, f32.
static const byoc_loop_expr_t *load_number(byoc_lower_t *lower, const byoc_node_t *node, uint32_t operand,
                                           const layout_t *l, const byoc_loop_expr_t *const *at) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *from[BYOC_MAX_RANK];
  for (int32_t d = 0; d < l->rank; ++d) from[d] = at[d];
  const int32_t last = l->rank - 1;
  const byoc_loop_expr_t *slots = byoc_loop_int(b, l->slots);
  if (l->slots > 1) from[last] = BYOC_LDIV(b, at[last], slots);
  const byoc_loop_expr_t *number = byoc_lower_load(lower, node, operand, from);
  if (!number) return NULL;
  number = byoc_emit_as(b, byoc_dtype_is_float8(number->dtype) ? BYOC_DTYPE_F32 : BYOC_DTYPE_I32, number);
  if (l->slots == 1) return number;
  const byoc_loop_expr_t *shift = BYOC_LMUL(b, BYOC_LMOD(b, at[last], slots), byoc_loop_int(b, l->bits));
  number = BIN(SHR, number, byoc_emit_as(b, BYOC_DTYPE_I32, shift));
  return BIN(AND, number, byoc_loop_const_int(b, BYOC_DTYPE_I32, (INT64_C(1) << l->bits) - 1));
}

static const byoc_loop_expr_t *point_look_up(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                             const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *table = node->operands[TABLE]->type, *scales = node->operands[SCALES]->type;
  const layout_t l = layout_of(node);
  const byoc_loop_expr_t *pick = byoc_lower_load(lower, node, INDICES, indices + l.along), *at[BYOC_MAX_RANK];
  if (!pick) return NULL;
  pick = byoc_emit_as(b, BYOC_DTYPE_I64, pick);
  const byoc_loop_expr_t *extent = byoc_emit_dim(b, table, l.along), *zero = byoc_loop_int(b, 0);
  const int32_t picks = node->operands[INDICES]->type->rank;
  at[l.along] = byoc_emit_index(b, pick, extent);
  for (int32_t d = 0; d < l.rank; ++d) {
    if (d != l.along) at[d] = indices[d < l.along ? d : d - 1 + picks];
  }
  const byoc_loop_expr_t *number = load_number(lower, node, TABLE, &l, at), *block[BYOC_MAX_RANK];
  for (int32_t d = 0; d < l.rank; ++d) {
    block[d] = byoc_dim_is_constant(scales->dims[d]) && scales->dims[d].constant == 1 ? zero : at[d];
  }
  block[l.blocked] = l.block > 0 ? BYOC_LDIV(b, at[l.blocked], byoc_loop_int(b, l.block)) : zero;
  const byoc_loop_expr_t *scale = byoc_lower_load(lower, node, SCALES, block);
  if (!number || !scale) return NULL;
  if (byoc_has_operand(node, ZEROS)) {
    const byoc_loop_expr_t *less = load_number(lower, node, ZEROS, &l, block);
    number = less ? BYOC_LSUB(b, number, less) : NULL;
  } else if (table->dtype == BYOC_DTYPE_U8) {
    number = BYOC_LSUB(b, number, byoc_loop_const_int(b, BYOC_DTYPE_I32, INT64_C(1) << (l.bits - 1)));
  }
  if (!number) return NULL;
  number = BYOC_LMUL(b, byoc_emit_as(b, BYOC_DTYPE_F32, number), byoc_emit_as(b, BYOC_DTYPE_F32, scale));
  return byoc_emit_as(b, node->results[result]->type->dtype, number);
}

static const byoc_op_attribute_t look_up_attributes[] = {
    {BYOC_ATTR_INT("bits", 4)},
    {BYOC_ATTR_INT("block_size", 128)},
    {BYOC_ATTR_INT("gather_axis", 0)},
    {BYOC_ATTR_INT("quantize_axis", 1)},
    BYOC_ATTR_END,
};

const byoc_op_t byoc_ops_microsoft_gather[] = {
    {.domain = "com.microsoft",
     .name = "GatherBlockQuantized",
     .since_version = 1,
     .min_inputs = 3,
     .max_inputs = 4,
     .min_outputs = 1,
     .max_outputs = 1,
     .traits = BYOC_OP_LIMITS,
     .attributes = look_up_attributes,
     .infer = infer_look_up,
     .point = point_look_up},
};
const size_t byoc_ops_microsoft_gather_count = sizeof byoc_ops_microsoft_gather / sizeof *byoc_ops_microsoft_gather;

// SPDX-License-Identifier: Apache-2.0
// com.microsoft::MatMulNBits: products by weights of 2 to 8 bits in blocks, as exporters of language models write them.
// Weights that are constant become byoc::PackedMatMul and stay packed; others are unpacked by byoc::UnpackNBits.
//
// B holds one column after the other, N * blocks * (block_size * bits / 8) bytes, lowest bits first. Zero points are
// packed in the same way, a line of whole bytes for each column, or are numbers like the scales; by default they are in
// the middle of the range. g_idx has for each row of weights the block with its scale and zero point; by default it is
// the row's own block.
#include "core/op/axes.h"
#include "core/op/util.h"
#include "core/ops/byoc/packed_product.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

enum { A, B, SCALES, ZEROS, ORDER, BIAS };
// The accuracy_level that lets x be rounded to bytes.
enum { LEVEL_OF_BYTES = 4 };

typedef struct layout_t {
  int64_t depth, columns, block, bits;
  int64_t blocks, block_bytes, zero_bytes; // bytes: of a block of weights, and of a column's zero points
} layout_t;

static layout_t layout_of(const byoc_node_t *node) {
  layout_t l = {.depth = byoc_node_int(node, "K"),
                .columns = byoc_node_int(node, "N"),
                .block = byoc_node_int(node, "block_size"),
                .bits = byoc_node_int(node, "bits")};
  // check_layout refuses sizes of a damaged model by the attributes alone.
  const bool is_sized = l.depth > 0 && l.depth <= INT32_MAX && l.block > 0 && l.block <= INT32_MAX;
  if (!is_sized || l.bits < 1 || l.bits > 8) return l;
  l.blocks = (l.depth + l.block - 1) / l.block;
  l.block_bytes = l.block * l.bits / 8;
  l.zero_bytes = (l.blocks * l.bits + 7) / 8;
  return l;
}

// ---- types ----

static bool is_narrow_float(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_F32 || dtype == BYOC_DTYPE_F16 || dtype == BYOC_DTYPE_BF16;
}
static bool is_u8(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_U8;
}
static bool is_zero_type(byoc_dtype_t dtype) {
  return is_u8(dtype) || is_narrow_float(dtype);
}

static byoc_status_t need_size(const byoc_infer_t *infer, const char *name, int64_t value, int64_t least,
                               int64_t most) {
  if (value >= least && value <= most) return BYOC_OK;
  return byoc_infer_error(infer, "attribute '%s': expected %lld to %lld, got %lld", name, (long long)least,
                          (long long)most, (long long)value);
}

static bool is_i32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I32;
}

// A block for each row, or for each row of whole blocks.
static byoc_status_t check_order(const byoc_infer_t *infer, const layout_t *l) {
  if (!byoc_has_operand(infer->node, ORDER)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, ORDER, is_i32, "blocks of rows, i32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, ORDER, 1, 1));
  const bool is_whole = byoc_type_element_count(byoc_operand_type(infer->node, ORDER)) == l->blocks * l->block;
  if (!is_whole) BYOC_RETURN_IF_ERROR(byoc_infer_need_count(infer, ORDER, byoc_side_number(l->depth)));
  return byoc_infer_need_indices(infer, ORDER, "g_idx", byoc_side_number(l->blocks));
}

static byoc_status_t check_layout(const byoc_infer_t *infer) {
  enum { LEAST_BLOCK = 16, MOST_BLOCK = 1 << 20 };
  const layout_t l = layout_of(infer->node);
  BYOC_RETURN_IF_ERROR(need_size(infer, "K", l.depth, 1, INT32_MAX));
  BYOC_RETURN_IF_ERROR(need_size(infer, "N", l.columns, 1, INT32_MAX));
  BYOC_RETURN_IF_ERROR(need_size(infer, "bits", l.bits, 2, 8));
  BYOC_RETURN_IF_ERROR(need_size(infer, "block_size", l.block, LEAST_BLOCK, MOST_BLOCK));
  if ((l.block & (l.block - 1)) != 0) {
    return byoc_infer_error(infer, "attribute 'block_size': expected a power of two, got %lld", (long long)l.block);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, B, is_u8, "bytes"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, SCALES, is_narrow_float, "scales of f16, bf16 or f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_count(infer, B, byoc_side_number(l.columns * l.blocks * l.block_bytes)));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_count(infer, SCALES, byoc_side_number(l.columns * l.blocks)));
  BYOC_RETURN_IF_ERROR(check_order(infer, &l));
  if (!byoc_has_operand(infer->node, ZEROS)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, ZEROS, is_zero_type, "zero points in bytes, or of f16, bf16 or f32"));
  const int64_t count = is_u8(byoc_operand_type(infer->node, ZEROS)->dtype) ? l.zero_bytes : l.blocks;
  return byoc_infer_need_count(infer, ZEROS, byoc_side_number(l.columns * count));
}

static byoc_status_t infer_nbits(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, A, is_narrow_float, "a tensor of f16, bf16 or f32"));
  BYOC_RETURN_IF_ERROR(check_layout(infer));
  const layout_t l = layout_of(node);
  const byoc_dim_t columns = byoc_dim_constant(l.columns);
  if (byoc_has_operand(node, BIAS)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, BIAS));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, BIAS, 1, &columns));
  }
  const byoc_type_t *a = byoc_operand_type(node, A);
  if (!byoc_is_ranked(a)) return byoc_infer_set_unranked(infer, 0, a->dtype);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, A, 1, BYOC_MAX_RANK));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, A, a->rank - 1, byoc_dim_constant(l.depth)));
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < a->rank - 1; ++d) dims[d] = a->dims[d];
  dims[a->rank - 1] = columns;
  return byoc_infer_set(infer, 0, a->dtype, a->rank, dims);
}

// UnpackNBits has MatMulNBits' operands without A.
static byoc_status_t infer_unpack(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, A, is_narrow_float, "a number of f16, bf16 or f32"));
  BYOC_RETURN_IF_ERROR(check_layout(infer));
  const layout_t l = layout_of(infer->node);
  const byoc_dim_t dims[] = {byoc_dim_constant(l.depth), byoc_dim_constant(l.columns)};
  return byoc_infer_set(infer, 0, byoc_operand_type(infer->node, A)->dtype, 2, dims);
}

// ---- weights that are constant ----

typedef struct source_t {
  layout_t layout;
  const uint8_t *weights, *zeros;
  const byoc_constant_t *scales, *real_zeros;
  const int64_t *rows; // in the order of their blocks; NULL: they are in order
} source_t;

static int64_t read_bits(const uint8_t *bytes, int64_t bit, int64_t bits) {
  uint32_t value = bytes[bit / 8];
  if (bit % 8 + bits > 8) value |= (uint32_t)bytes[bit / 8 + 1] << 8;
  return (int64_t)(value >> bit % 8 & ((UINT32_C(1) << bits) - 1));
}

static int64_t read_value(const void *self, int64_t k, int64_t n) {
  const source_t *s = self;
  const layout_t *l = &s->layout;
  if (s->rows) k = s->rows[k];
  const uint8_t *block = s->weights + (n * l->blocks + k / l->block) * l->block_bytes;
  return read_bits(block, k % l->block * l->bits, l->bits);
}

static double read_scale(const void *self, int64_t block, int64_t n) {
  const source_t *s = self;
  return byoc_constant_element_f64(s->scales, n * s->layout.blocks + block);
}

static int64_t read_zero(const void *self, int64_t block, int64_t n) {
  const source_t *s = self;
  return read_bits(s->zeros + n * s->layout.zero_bytes, block * s->layout.bits, s->layout.bits);
}

static double read_real_zero(const void *self, int64_t block, int64_t n) {
  const source_t *s = self;
  return byoc_constant_element_f64(s->real_zeros, n * s->layout.blocks + block);
}

// The rows in the order of their blocks by g_idx. The columns of A in that order give the same product. NULL if a block
// gets more or fewer rows than its size, or if out of memory.
static const int64_t *find_rows(const byoc_node_t *node) {
  const layout_t l = layout_of(node);
  const byoc_constant_t *order = node->operands[ORDER]->constant;
  int64_t *rows = BYOC_ARENA_ARRAY(&node->function->module->arena, int64_t, (size_t)l.depth);
  int64_t *next = BYOC_ARENA_ARRAY(&node->function->module->arena, int64_t, (size_t)l.blocks);
  if (!rows || !next) return NULL;
  for (int64_t i = 0; i < l.blocks; ++i) next[i] = i * l.block;
  for (int64_t k = 0; k < l.depth; ++k) {
    const int64_t block = byoc_constant_element_i64(order, k);
    const int64_t end = (block + 1) * l.block < l.depth ? (block + 1) * l.block : l.depth;
    if (next[block] >= end) return NULL;
    rows[next[block]++] = k;
  }
  return rows;
}

// `rows` as in source_t.
static byoc_value_t *write_packed(byoc_writer_t *w, const int64_t *rows) {
  const byoc_node_t *node = w->node;
  source_t s = {.layout = layout_of(node),
                .weights = node->operands[B]->constant->data,
                .rows = rows,
                .scales = node->operands[SCALES]->constant};
  byoc_packed_source_t source = {.self = &s,
                                 .depth = s.layout.depth,
                                 .columns = s.layout.columns,
                                 .block_size = s.layout.block,
                                 .bits = s.layout.bits <= 2   ? 2
                                         : s.layout.bits <= 4 ? 4
                                                              : 8,
                                 .value = read_value,
                                 .scale = read_scale,
                                 .default_zero = INT64_C(1) << (s.layout.bits - 1),
                                 .rounds = byoc_node_int(node, "accuracy_level") == LEVEL_OF_BYTES};
  if (byoc_has_operand(node, ZEROS) && is_u8(node->operands[ZEROS]->type->dtype)) {
    s.zeros = node->operands[ZEROS]->constant->data;
    source.zero = read_zero;
  } else if (byoc_has_operand(node, ZEROS)) {
    s.real_zeros = node->operands[ZEROS]->constant;
    source.real_zero = read_real_zero;
  }
  byoc_value_t *a = node->operands[A];
  if (rows) {
    const byoc_attribute_t last = byoc_write_int("axis", -1);
    byoc_value_t *order = byoc_write_vector(w, "rows", BYOC_DTYPE_I64, s.layout.depth, rows);
    a = byoc_write_node(w, "", "Gather", a, order, NULL, &last, 1);
  }
  return a ? byoc_write_packed_product(w, a, &source) : NULL;
}

static bool is_constant(const byoc_node_t *node) {
  for (uint32_t i = B; i <= ORDER; ++i) {
    if (byoc_has_operand(node, i) && !byoc_value_is_constant(node->operands[i])) return false;
  }
  return true;
}

// ---- weights that are not ----

// The bits of operand `operand`, bytes, from bit `bit` of line `line` on, as i32.
static const byoc_loop_expr_t *emit_bits(byoc_lower_t *lower, const byoc_node_t *node, uint32_t operand, int64_t bytes,
                                         int64_t bits, const byoc_loop_expr_t *line, const byoc_loop_expr_t *bit) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_loop_expr_t *eight = byoc_loop_int(b, 8), *base = BYOC_LMUL(b, line, byoc_loop_int(b, bytes));
  const byoc_loop_expr_t *first = BYOC_LDIV(b, bit, eight), *word = NULL;
  const int64_t count = 8 % bits == 0 ? 1 : 2; // bytes that an element may extend over
  for (int64_t i = count - 1; i >= 0; --i) {
    const byoc_loop_expr_t *at = BYOC_LADD(b, first, byoc_loop_int(b, i));
    if (i > 0) at = BYOC_LMIN(b, at, byoc_loop_int(b, bytes - 1));
    const byoc_loop_expr_t *byte = byoc_lower_load_flat(lower, node, operand, BYOC_LADD(b, base, at));
    byte = byoc_emit_as(b, BYOC_DTYPE_I32, byte);
    word = word ? BIN(OR, BIN(SHL, word, byoc_loop_const_int(b, BYOC_DTYPE_I32, 8)), byte) : byte;
  }
  word = BIN(SHR, word, byoc_emit_as(b, BYOC_DTYPE_I32, BYOC_LMOD(b, bit, eight)));
  return BIN(AND, word, byoc_loop_const_int(b, BYOC_DTYPE_I32, (INT64_C(1) << bits) - 1));
}

static const byoc_loop_expr_t *point_unpack(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                            const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const layout_t l = layout_of(node);
  const byoc_loop_expr_t *size = byoc_loop_int(b, l.block), *bits = byoc_loop_int(b, l.bits);
  const byoc_loop_expr_t *block = BYOC_LDIV(b, indices[0], size), *column = indices[1];
  const byoc_loop_expr_t *line = BYOC_LADD(b, BYOC_LMUL(b, column, byoc_loop_int(b, l.blocks)), block);
  const byoc_loop_expr_t *value =
      emit_bits(lower, node, B, l.block_bytes, l.bits, line, BYOC_LMUL(b, BYOC_LMOD(b, indices[0], size), bits));
  if (byoc_has_operand(node, ORDER)) {
    block = byoc_emit_as(b, BYOC_DTYPE_I64, byoc_lower_load_flat(lower, node, ORDER, indices[0]));
    line = BYOC_LADD(b, BYOC_LMUL(b, column, byoc_loop_int(b, l.blocks)), block);
  }
  const byoc_loop_expr_t *scale = byoc_emit_as(b, BYOC_DTYPE_F32, byoc_lower_load_flat(lower, node, SCALES, line));
  const byoc_loop_expr_t *zero = byoc_loop_const(b, BYOC_DTYPE_F32, (double)(INT64_C(1) << (l.bits - 1)));
  if (byoc_has_operand(node, ZEROS) && is_u8(node->operands[ZEROS]->type->dtype)) {
    zero = emit_bits(lower, node, ZEROS, l.zero_bytes, l.bits, column, BYOC_LMUL(b, block, bits));
  } else if (byoc_has_operand(node, ZEROS)) {
    zero = byoc_lower_load_flat(lower, node, ZEROS, line);
  }
  value = BYOC_LSUB(b, byoc_emit_as(b, BYOC_DTYPE_F32, value), byoc_emit_as(b, BYOC_DTYPE_F32, zero));
  return byoc_emit_as(b, node->results[result]->type->dtype, BYOC_LMUL(b, value, scale));
}

static byoc_value_t *write_unpacked(byoc_writer_t *w) {
  const byoc_node_t *node = w->node;
  const float none = 0;
  byoc_value_t *type =
      byoc_write_cast(w, byoc_write_vector(w, "type", BYOC_DTYPE_F32, 1, &none), node->operands[A]->type->dtype);
  byoc_value_t *operands[] = {type, node->operands[B], node->operands[SCALES],
                              byoc_has_operand(node, ZEROS) ? node->operands[ZEROS] : NULL,
                              byoc_has_operand(node, ORDER) ? node->operands[ORDER] : NULL};
  const char *const names[] = {"K", "N", "bits", "block_size"};
  enum { COUNT = sizeof names / sizeof *names };
  byoc_attribute_t attributes[COUNT];
  for (size_t i = 0; i < COUNT; ++i) {
    attributes[i] =
        (byoc_attribute_t){.name = names[i], .kind = BYOC_ATTRIBUTE_INT, .i = byoc_node_int(node, names[i])};
  }
  const uint32_t count = operands[ORDER] ? 5 : operands[ZEROS] ? 4 : 3;
  byoc_node_t *made = byoc_write_many(w, "byoc", "UnpackNBits", operands, count, 1, attributes, COUNT);
  return made ? byoc_write_node(w, "", "MatMul", node->operands[A], made->results[0], NULL, NULL, 0) : NULL;
}

// MatMulNBits(a, b, scales, zero points, bias) → PackedMatMul(a, packed b) + bias, or MatMul(a, UnpackNBits(b)) + bias
static byoc_status_t expand_nbits(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  byoc_writer_t w = {.node = node, .diag = diag};
  const bool is_ordered = byoc_has_operand(node, ORDER);
  const int64_t *rows = is_ordered && is_constant(node) ? find_rows(node) : NULL;
  byoc_value_t *y = is_constant(node) && (rows || !is_ordered) ? write_packed(&w, rows) : write_unpacked(&w);
  if (byoc_has_operand(node, BIAS)) y = byoc_write_node(&w, "", "Add", y, node->operands[BIAS], NULL, NULL, 0);
  return byoc_write_end(&w, y, out_changed);
}

static const byoc_op_attribute_t nbits_attributes[] = {
    {BYOC_ATTR_REQUIRED(INT, "K")},
    {BYOC_ATTR_REQUIRED(INT, "N")},
    {BYOC_ATTR_INT("bits", 4)},
    {BYOC_ATTR_REQUIRED(INT, "block_size")},
    {BYOC_ATTR_INT("accuracy_level", 0)}, // the precision to which A may be rounded
    BYOC_ATTR_END,
};

const byoc_op_t byoc_ops_microsoft_nbits[] = {
    {.domain = "com.microsoft",
     .name = "MatMulNBits",
     .since_version = 1,
     .min_inputs = 3,
     .max_inputs = 6,
     .min_outputs = 1,
     .max_outputs = 1,
     .traits = BYOC_OP_FUSED | BYOC_OP_LIMITS,
     .work = BYOC_WORK_PRODUCT,
     .factor = 1,
     .attributes = nbits_attributes,
     .infer = infer_nbits,
     .expand = expand_nbits,
     .axes = byoc_axes_rows},
    {.domain = "byoc",
     .name = "UnpackNBits",
     .since_version = 1,
     .min_inputs = 3,
     .max_inputs = 5,
     .min_outputs = 1,
     .max_outputs = 1,
     .traits = BYOC_OP_INJECTIVE | BYOC_OP_LIMITS,
     .attributes = nbits_attributes,
     .infer = infer_unpack,
     .point = point_unpack},
};
const size_t byoc_ops_microsoft_nbits_count = sizeof byoc_ops_microsoft_nbits / sizeof *byoc_ops_microsoft_nbits;

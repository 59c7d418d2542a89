// SPDX-License-Identifier: Apache-2.0
// Matrix products: by register tiles over packed panels, by dot products, or line by line if there are few rows.
#include "core/ops/onnx/math/product.h"

// The most rows (or columns) without a packed panel; the columns that are then computed together.
enum { FEW = 4, THIN_COLUMNS = 256 };

static bool is_one(const byoc_loop_expr_t *expr) {
  int64_t known = 0;
  return expr && byoc_loop_is_int(expr, &known) && known == 1;
}

static bool is_few(const byoc_loop_expr_t *expr) {
  int64_t known = 0;
  return expr && byoc_loop_is_int(expr, &known) && known < FEW;
}

// Offset of an operand's matrix for the current batch: its leading dimensions broadcast to the result's.
static const byoc_loop_expr_t *batch_offset(const byoc_product_t *p, uint32_t operand) {
  byoc_loop_builder_t *b = p->b;
  const byoc_type_t *type = p->node->operands[operand]->type;
  const byoc_loop_expr_t *offset = p->zero;
  int32_t batch = type->rank - 2;
  if (batch <= 0 || p->batch_rank == 0) return offset;
  for (int32_t d = 0; d < batch; ++d) {
    bool one = byoc_dim_is_constant(type->dims[d]) && type->dims[d].constant == 1;
    const byoc_loop_expr_t *extent = byoc_emit_dim(b, type, d);
    offset = BYOC_LMUL(b, offset, extent);
    const byoc_loop_expr_t *at = p->indices[p->batch_rank - batch + d];
    // A symbolic dimension may turn out to be 1 while the result's is not.
    bool same = byoc_dim_equal(type->dims[d], p->type->dims[p->batch_rank - batch + d]);
    if (!one && !same) at = BYOC_LMIN(b, at, BYOC_LSUB(b, extent, byoc_loop_int(b, 1)));
    if (!one) offset = BYOC_LADD(b, offset, at);
  }
  return BYOC_LMUL(b, offset, byoc_emit_extent(b, type, batch, type->rank));
}

static void begin_batch(byoc_product_t *p, const byoc_loop_expr_t *batch) {
  byoc_emit_unravel(p->b, p->type, 0, p->batch_rank, batch, p->indices);
  for (int32_t d = 0; d < p->batch_rank; ++d) p->indices[d] = byoc_loop_let(p->b, "batch", p->indices[d]);
  p->left_base = byoc_loop_let(p->b, "left", batch_offset(p, 0));
  p->right_base = byoc_loop_let(p->b, "right", batch_offset(p, 1));
}

static void set_row(byoc_product_t *p, const byoc_loop_expr_t *row) {
  byoc_emit_unravel(p->b, p->type, p->row_begin, p->row_end, row, p->indices);
  for (int32_t d = p->row_begin; d < p->row_end; ++d) p->indices[d] = byoc_loop_let(p->b, "row", p->indices[d]);
}

// Gemm: alpha * sum + beta * C.
static const byoc_loop_expr_t *epilogue(const byoc_product_t *p, const byoc_loop_expr_t *sum) {
  byoc_loop_builder_t *b = p->b;
  if (!byoc_node_is_onnx(p->node, "Gemm")) return sum;
  double alpha = byoc_node_float(p->node, "alpha");
  double beta = byoc_node_float(p->node, "beta");
  if (alpha != 1.0) sum = BYOC_LMUL(b, sum, byoc_loop_const(b, p->dtype, alpha));
  if (!byoc_has_operand(p->node, 2) || beta == 0.0) return sum;
  const byoc_loop_expr_t *c = byoc_emit_as(b, p->dtype, byoc_lower_load_broadcast(p->lower, p->node, 2, 2, p->indices));
  if (beta != 1.0) c = BYOC_LMUL(b, c, byoc_loop_const(b, p->dtype, beta));
  return BYOC_LADD(b, sum, c);
}

static void store(byoc_product_t *p, const byoc_loop_expr_t *column, const byoc_loop_expr_t *sum) {
  if (p->has_columns) p->indices[p->row_end] = column;
  byoc_emit_store(p->lower, p->node, 0, p->indices, epilogue(p, sum));
}

static const byoc_loop_expr_t *left_row_base(const void *self, const byoc_loop_expr_t *row) {
  const byoc_product_t *p = self;
  byoc_loop_builder_t *b = p->b;
  const byoc_loop_expr_t *base = BYOC_LADD(b, p->left_base, BYOC_LMUL(b, BYOC_LADD(b, p->row0, row), p->left_row));
  return BYOC_LADD(b, base, BYOC_LMUL(b, p->k0, p->left_k));
}

static const byoc_loop_expr_t *load_right(const byoc_product_t *p, const byoc_loop_expr_t *k,
                                          const byoc_loop_expr_t *j) {
  byoc_loop_builder_t *b = p->b;
  const byoc_loop_expr_t *at = BYOC_LADD(b, p->right_base, BYOC_LMUL(b, k, p->right_k));
  at = BYOC_LADD(b, at, BYOC_LMUL(b, j, p->right_column));
  return byoc_emit_as(b, p->dtype, byoc_loop_load(b, p->right, at));
}

// panel[word][j] = b[k0 + 4 * word .. + 3][first + j], of which `count` bytes (NULL: all) are in use.
static void pack_words(const byoc_product_t *p, const byoc_tile_t *tile, const byoc_loop_expr_t *word,
                       const byoc_loop_expr_t *first, const byoc_loop_expr_t *used, const byoc_loop_expr_t *count) {
  byoc_loop_builder_t *b = p->b;
  const byoc_loop_expr_t *j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", p->zero, used), *bytes = NULL;
  const byoc_loop_expr_t *k = BYOC_LADD(b, p->k0, BYOC_LMUL(b, word, byoc_loop_int(b, 4)));
  for (int64_t q = 0; q < 4; ++q) {
    const byoc_loop_expr_t *x = load_right(p, BYOC_LADD(b, k, byoc_loop_int(b, q)), BYOC_LADD(b, first, j));
    x = byoc_tile_byte(b, x, q);
    if (count && q > 0) {
      const byoc_loop_expr_t *has = byoc_loop_binary(b, BYOC_LOOP_OP_LT, byoc_loop_int(b, q), count);
      x = byoc_loop_select(b, has, x, byoc_loop_const_int(b, BYOC_DTYPE_I32, 0));
    }
    bytes = bytes ? byoc_loop_binary(b, BYOC_LOOP_OP_OR, bytes, x) : x;
  }
  const byoc_loop_expr_t *line = BYOC_LMUL(b, word, byoc_loop_int(b, tile->columns));
  byoc_loop_store(b, tile->panel, BYOC_LADD(b, line, j), bytes);
  byoc_loop_end(b);
}

static void pack_bytes(const byoc_product_t *p, const byoc_tile_t *tile, const byoc_loop_expr_t *first,
                       const byoc_loop_expr_t *used, const byoc_loop_expr_t *depth) {
  byoc_loop_builder_t *b = p->b;
  const byoc_loop_expr_t *four = byoc_loop_int(b, 4), *words = byoc_loop_let(b, "words", BYOC_LDIV(b, depth, four));
  pack_words(p, tile, byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", p->zero, words), first, used, NULL);
  byoc_loop_end(b);
  int64_t known = 0;
  if (depth && byoc_loop_is_int(depth, &known) && known % 4 == 0) return;
  const byoc_loop_expr_t *rest = byoc_loop_let(b, "rest", BYOC_LMOD(b, depth, four));
  byoc_loop_if(b, byoc_loop_binary(b, BYOC_LOOP_OP_LT, p->zero, rest));
  pack_words(p, tile, words, first, used, rest);
  byoc_loop_end(b);
}

static void pack_elements(const byoc_product_t *p, const byoc_tile_t *tile, const byoc_loop_expr_t *first,
                          const byoc_loop_expr_t *used, const byoc_loop_expr_t *depth) {
  byoc_loop_builder_t *b = p->b;
  const byoc_loop_expr_t *width = byoc_loop_int(b, tile->columns), *j = NULL, *k = NULL;
  int64_t stride = 0;
  bool along_columns = byoc_loop_is_int(p->right_column, &stride) && stride == 1;
  if (along_columns) {
    k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", p->zero, depth);
    j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", p->zero, used);
  } else {
    j = byoc_loop_for(b, BYOC_LOOP_SERIAL, "j", p->zero, used);
    k = byoc_loop_for(b, BYOC_LOOP_VECTOR, "k", p->zero, depth);
  }
  byoc_loop_store(b, tile->panel, BYOC_LADD(b, BYOC_LMUL(b, k, width), j),
                  load_right(p, BYOC_LADD(b, p->k0, k), BYOC_LADD(b, first, j)));
  byoc_loop_end(b);
  byoc_loop_end(b);
}

// Few rows: reads B as it is in memory, many columns at a time, and packs no panel.
static void sum_thin(byoc_product_t *p, const byoc_loop_expr_t *first) {
  byoc_loop_builder_t *b = p->b;
  p->row0 = p->k0 = p->zero;
  const byoc_loop_expr_t *used = byoc_loop_let(b, "used", byoc_tile_used(b, p->columns, first, THIN_COLUMNS));
  const byoc_loop_expr_t *r = byoc_loop_for(b, BYOC_LOOP_SERIAL, "r", p->zero, p->rows);
  const byoc_loop_buffer_t *sums = byoc_loop_allocate(b, "sums", p->dtype, THIN_COLUMNS);
  const byoc_loop_expr_t *j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", p->zero, used);
  byoc_loop_store(b, sums, j, byoc_loop_const(b, p->dtype, 0.0));
  byoc_loop_end(b);
  const byoc_loop_expr_t *base = byoc_loop_let(b, "base", left_row_base(p, r));
  const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", p->zero, p->depth);
  const byoc_loop_expr_t *a = byoc_loop_load(b, p->left, BYOC_LADD(b, base, BYOC_LMUL(b, k, p->left_k)));
  a = byoc_loop_let(b, "a", byoc_emit_as(b, p->dtype, a));
  j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", p->zero, used);
  const byoc_loop_expr_t *product = BYOC_LMUL(b, a, load_right(p, k, BYOC_LADD(b, first, j)));
  byoc_loop_store(b, sums, j, BYOC_LADD(b, byoc_loop_load(b, sums, j), product));
  byoc_loop_end(b);
  byoc_loop_end(b);
  set_row(p, r);
  j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", p->zero, used);
  store(p, BYOC_LADD(b, first, j), byoc_loop_load(b, sums, j));
  byoc_loop_end(b);
  byoc_loop_end(b);
}

// Packs each block of B into a panel, and runs a block of rows over it.
static void sum_tiled(byoc_product_t *p, byoc_tile_t *tile, const byoc_loop_expr_t *first,
                      const byoc_loop_expr_t *row0) {
  byoc_loop_builder_t *b = p->b;
  p->row0 = row0;
  const byoc_loop_expr_t *used = byoc_loop_let(b, "used", byoc_tile_used(b, p->columns, first, tile->columns));
  const byoc_loop_expr_t *rows = byoc_loop_let(b, "rows", byoc_tile_used(b, p->rows, p->row0, tile->row_block));
  byoc_tile_begin(tile, used);

  const byoc_loop_expr_t *step =
      byoc_loop_for(b, BYOC_LOOP_SERIAL, "step", p->zero, byoc_tile_count(b, p->depth, tile->depth));
  p->k0 = byoc_loop_let(b, "k0", BYOC_LMUL(b, step, byoc_loop_int(b, tile->depth)));
  const byoc_loop_expr_t *depth = byoc_loop_let(b, "depth", byoc_tile_used(b, p->depth, p->k0, tile->depth));
  if (tile->is_bytes) {
    pack_bytes(p, tile, first, used, depth);
  } else {
    pack_elements(p, tile, first, used, depth);
  }
  byoc_tile_multiply(tile, rows, depth, p->left, left_row_base, p, p->left_k);
  byoc_loop_end(b);

  const byoc_loop_expr_t *r = byoc_loop_for(b, BYOC_LOOP_SERIAL, "r", p->zero, rows);
  set_row(p, BYOC_LADD(b, p->row0, r));
  const byoc_loop_expr_t *j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", p->zero, used);
  store(p, BYOC_LADD(b, first, j), byoc_tile_sum(tile, r, j));
  byoc_loop_end(b);
  byoc_loop_end(b);
}

static void product_tiled(byoc_product_t *p) {
  byoc_loop_builder_t *b = p->b;
  byoc_tile_t tile;
  bool is_bytes =
      p->left && byoc_dtype_bits(p->left->dtype) < byoc_dtype_bits(p->dtype) && !byoc_dtype_is_float(p->dtype);
  if (is_bytes) {
    byoc_tile_choose_bytes(&tile, p->lower, p->rows, p->columns);
  } else {
    byoc_tile_choose(&tile, p->lower, p->dtype, p->rows, p->columns);
  }
  int64_t known = 0;
  if (byoc_loop_is_int(p->depth, &known) && known >= 1 && known < tile.depth) tile.depth = (int32_t)known;
  const byoc_loop_expr_t *tiles = byoc_tile_count(b, p->columns, tile.columns);
  const byoc_loop_expr_t *row_blocks = byoc_tile_count(b, p->rows, tile.row_block);
  const byoc_loop_expr_t *batches = byoc_emit_extent(b, p->type, 0, p->batch_rank);
  const byoc_loop_expr_t *all = BYOC_LMUL(b, batches, BYOC_LMUL(b, row_blocks, tiles));
  const byoc_loop_expr_t *t = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", p->zero, all);
  const byoc_loop_expr_t *outer = byoc_loop_let(b, "outer", BYOC_LDIV(b, t, tiles));
  begin_batch(p, BYOC_LDIV(b, outer, row_blocks));
  const byoc_loop_expr_t *tile_index = byoc_loop_let(b, "tile", BYOC_LMOD(b, t, tiles));
  const byoc_loop_expr_t *first = byoc_loop_let(b, "first", BYOC_LMUL(b, tile_index, byoc_loop_int(b, tile.columns)));
  const byoc_loop_expr_t *row0 =
      byoc_loop_let(b, "row0", BYOC_LMUL(b, BYOC_LMOD(b, outer, row_blocks), byoc_loop_int(b, tile.row_block)));
  bool few = is_few(p->rows), may_be_few = few || !byoc_loop_is_int(p->rows, &known);
  if (is_bytes || !is_one(p->right_column)) few = may_be_few = false;
  if (may_be_few && !few) byoc_loop_if(b, byoc_loop_binary(b, BYOC_LOOP_OP_LT, p->rows, byoc_loop_int(b, FEW)));
  if (may_be_few) {
    // The first tile of a group computes all columns of the group.
    const byoc_loop_expr_t *group = byoc_loop_int(b, THIN_COLUMNS / tile.columns);
    byoc_loop_if(b, byoc_loop_binary(b, BYOC_LOOP_OP_EQ, BYOC_LMOD(b, tile_index, group), p->zero));
    sum_thin(p, first);
    byoc_loop_end(b);
  }
  if (may_be_few && !few) byoc_loop_else(b);
  if (!few) sum_tiled(p, &tile, first, row0);
  if (may_be_few && !few) byoc_loop_end(b);
  byoc_loop_end(b);
}

// Few rows or columns, both operands contiguous along k: dot products in lanes.
static void product_dots(byoc_product_t *p) {
  enum { LANES = 32 };
  byoc_loop_builder_t *b = p->b;
  const byoc_loop_expr_t *lanes = byoc_loop_int(b, LANES), *none = byoc_loop_const(b, p->dtype, 0.0);
  const byoc_loop_expr_t *batches = byoc_emit_extent(b, p->type, 0, p->batch_rank);
  const byoc_loop_expr_t *matrix = BYOC_LMUL(b, p->rows, p->columns);
  const byoc_loop_expr_t *t = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", p->zero, BYOC_LMUL(b, batches, matrix));
  begin_batch(p, BYOC_LDIV(b, t, matrix));
  const byoc_loop_expr_t *within = byoc_loop_let(b, "within", BYOC_LMOD(b, t, matrix));
  const byoc_loop_expr_t *column = byoc_loop_let(b, "column", BYOC_LMOD(b, within, p->columns));
  p->row0 = byoc_loop_let(b, "row0", BYOC_LDIV(b, within, p->columns));
  p->k0 = p->zero;
  const byoc_loop_expr_t *base = byoc_loop_let(b, "base", left_row_base(p, p->zero));
  const byoc_loop_buffer_t *sums = byoc_loop_allocate(b, "sums", p->dtype, LANES);
  const byoc_loop_expr_t *l = byoc_loop_for(b, BYOC_LOOP_VECTOR, "l", p->zero, lanes);
  byoc_loop_store(b, sums, l, none);
  byoc_loop_end(b);
  const byoc_loop_expr_t *whole = byoc_loop_let(b, "whole", BYOC_LDIV(b, p->depth, lanes));
  const byoc_loop_expr_t *step = byoc_loop_for(b, BYOC_LOOP_SERIAL, "step", p->zero, whole);
  const byoc_loop_expr_t *k0 = byoc_loop_let(b, "k0", BYOC_LMUL(b, step, lanes));
  l = byoc_loop_for(b, BYOC_LOOP_VECTOR, "l", p->zero, lanes);
  const byoc_loop_expr_t *k = BYOC_LADD(b, k0, l);
  const byoc_loop_expr_t *x = byoc_emit_as(b, p->dtype, byoc_loop_load(b, p->left, BYOC_LADD(b, base, k)));
  byoc_loop_store(b, sums, l, BYOC_LADD(b, byoc_loop_load(b, sums, l), BYOC_LMUL(b, x, load_right(p, k, column))));
  byoc_loop_end(b);
  byoc_loop_end(b);
  const byoc_loop_expr_t *sum = byoc_loop_mutable(b, "sum", none);
  k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", BYOC_LMUL(b, whole, lanes), p->depth);
  x = byoc_emit_as(b, p->dtype, byoc_loop_load(b, p->left, BYOC_LADD(b, base, k)));
  byoc_loop_assign(b, sum, BYOC_LADD(b, sum, BYOC_LMUL(b, x, load_right(p, k, column))));
  byoc_loop_end(b);
  // Adds one half to the other: few steps, and the order does not depend on the depth.
  for (int64_t half = LANES / 2; half >= 1; half /= 2) {
    l = byoc_loop_for(b, BYOC_LOOP_VECTOR, "l", p->zero, byoc_loop_int(b, half));
    const byoc_loop_expr_t *upper = byoc_loop_load(b, sums, BYOC_LADD(b, l, byoc_loop_int(b, half)));
    byoc_loop_store(b, sums, l, BYOC_LADD(b, byoc_loop_load(b, sums, l), upper));
    byoc_loop_end(b);
  }
  byoc_loop_assign(b, sum, BYOC_LADD(b, sum, byoc_loop_load(b, sums, p->zero)));
  set_row(p, p->row0);
  store(p, column, sum);
  byoc_loop_end(b);
}

byoc_status_t byoc_product_lower(byoc_product_t *p) {
  bool contiguous = is_one(p->left_k) && (is_one(p->right_k) || is_one(p->depth));
  if (contiguous && (is_few(p->rows) || is_few(p->columns))) {
    product_dots(p);
  } else {
    product_tiled(p);
  }
  return BYOC_OK;
}

byoc_product_t byoc_product_of(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  byoc_product_t p = {.lower = lower, .b = b, .node = node, .type = node->results[0]->type, .has_columns = true};
  p.dtype = byoc_compute_dtype(p.type->dtype);
  p.left = byoc_lower_operand_buffer(lower, node, 0), p.right = byoc_lower_operand_buffer(lower, node, 1);
  p.zero = byoc_loop_int(b, 0);
  return p;
}

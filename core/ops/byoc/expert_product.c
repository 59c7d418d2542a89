// SPDX-License-Identifier: Apache-2.0
// byoc::ExpertMatMul: each row times the matrix of its expert (core/ops/byoc/expert_product.h has the layouts).
//
// A parallel iteration computes a tile of columns. It goes through the experts, and for each expert through its rows, a
// few together. So the tile of a matrix is read from memory once for any number of rows.
#include "core/ops/byoc/expert_product.h"

#include "core/ops/loops/tile.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

enum { LANES = 64, WORD_BITS = 32, MOST_SLOTS = 16, FEW = 4 };

static bool is_narrow_float(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_F32 || dtype == BYOC_DTYPE_F16 || dtype == BYOC_DTYPE_BF16;
}
static bool is_f32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_F32;
}
static bool is_i32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I32;
}
static bool is_i64(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I64;
}

// ---- types ----

// Matrices of few bits: [experts, words, columns] and [experts, blocks, columns].
static byoc_status_t need_packed(const byoc_infer_t *infer, int64_t bits, int64_t depth) {
  const byoc_node_t *node = infer->node;
  const byoc_type_t *words = byoc_operand_type(node, BYOC_EXPERT_MATRICES);
  const byoc_type_t *scales = byoc_operand_type(node, BYOC_EXPERT_SCALES);
  if (bits != 2 && bits != 4 && bits != 8) {
    return byoc_infer_error(infer, "attribute 'bits': expected 2, 4 or 8, got %lld", (long long)bits);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, BYOC_EXPERT_MATRICES, is_i32, "words of i32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, BYOC_EXPERT_SCALES, is_f32, "scales of f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, BYOC_EXPERT_SCALES, 3, 3));
  if (!byoc_type_is_static(words) || !byoc_type_is_static(scales)) {
    return byoc_infer_error(infer, "the sizes of packed matrices must be known");
  }
  const int64_t slots = WORD_BITS / bits, blocks = scales->dims[1].constant;
  if (depth % slots != 0 || blocks < 1 || depth % blocks != 0 || depth / blocks % slots != 0) {
    return byoc_infer_error(infer, "%lld elements of %lld bits do not divide into %lld blocks of words",
                            (long long)depth, (long long)bits, (long long)blocks);
  }
  const byoc_dim_t wanted[3] = {words->dims[0], byoc_dim_constant(depth / slots), words->dims[2]};
  const byoc_dim_t each[3] = {words->dims[0], scales->dims[1], words->dims[2]};
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, BYOC_EXPERT_MATRICES, 3, wanted));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, BYOC_EXPERT_SCALES, 3, each));
  if (!byoc_has_operand(node, BYOC_EXPERT_ZEROS)) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, BYOC_EXPERT_ZEROS, is_f32, "zero points of f32"));
  return byoc_infer_need_dims(infer, BYOC_EXPERT_ZEROS, 3, each);
}

static byoc_status_t infer_expert_product(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  const byoc_type_t *x = byoc_operand_type(node, BYOC_EXPERT_X), *rows = byoc_operand_type(node, BYOC_EXPERT_OF_ROW);
  const byoc_type_t *w = byoc_operand_type(node, BYOC_EXPERT_MATRICES);
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, BYOC_EXPERT_X, is_narrow_float, "a tensor of f16, bf16 or f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, BYOC_EXPERT_X, 2, 2));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, BYOC_EXPERT_OF_ROW, is_i64, "numbers of experts, i64"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, BYOC_EXPERT_OF_ROW, 1, 1));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, BYOC_EXPERT_MATRICES, 3, 3));
  if (!byoc_is_ranked(x) || !byoc_is_ranked(rows) || !byoc_is_ranked(w)) {
    return byoc_infer_set_unknown(infer, 0, x->dtype, 2);
  }
  const int64_t each = byoc_node_int(node, "each"), bits = byoc_node_int(node, "bits");
  if (each < 1 || each > INT32_MAX) return byoc_infer_error(infer, "attribute 'each' is %lld", (long long)each);
  bool failed = false;
  const byoc_dim_t taken = byoc_infer_dim(infer, BYOC_DIM_MUL, x->dims[0], byoc_dim_constant(each), &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, BYOC_EXPERT_OF_ROW, 0, taken));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_some(infer, BYOC_EXPERT_MATRICES, 0, rows->dims[0]));
  if (byoc_has_operand(node, BYOC_EXPERT_SCALES)) {
    if (!byoc_dim_is_constant(x->dims[1])) return byoc_infer_error(infer, "the depth must be known");
    BYOC_RETURN_IF_ERROR(need_packed(infer, bits, x->dims[1].constant));
  } else {
    const byoc_dim_t wanted[3] = {w->dims[0], x->dims[1], w->dims[2]};
    BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, BYOC_EXPERT_MATRICES));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, BYOC_EXPERT_MATRICES, 3, wanted));
  }
  const byoc_dim_t dims[2] = {rows->dims[0], w->dims[2]};
  return byoc_infer_set(infer, 0, x->dtype, 2, dims);
}

// ---- loops ----

typedef struct product_t {
  byoc_lower_t *lower;
  byoc_loop_builder_t *b;
  const byoc_node_t *node;
  const byoc_loop_expr_t *expert, *first, *used; // columns [first, first + used)
  int64_t bits;
} product_t;

// Rows of one expert that are computed together: each number of the matrix is unpacked once for all of them.
typedef struct rows_t {
  int64_t count;
  const byoc_loop_expr_t *from[FEW], *to[FEW]; // of x, and of the result
  const byoc_loop_buffer_t *sums[FEW];
} rows_t;

static const byoc_loop_expr_t *integer(const product_t *p, int64_t value) {
  return byoc_loop_int(p->b, value);
}

static const byoc_loop_expr_t *open_columns(const product_t *p) {
  return byoc_loop_for(p->b, BYOC_LOOP_VECTOR, "j", integer(p, 0), p->used);
}

static const byoc_loop_buffer_t *cleared(const product_t *p, const char *name) {
  byoc_loop_builder_t *b = p->b;
  const byoc_loop_buffer_t *sums = byoc_loop_allocate(b, name, BYOC_DTYPE_F32, LANES);
  const byoc_loop_expr_t *j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", integer(p, 0), integer(p, LANES));
  byoc_loop_store(b, sums, j, byoc_loop_const(b, BYOC_DTYPE_F32, 0.0));
  byoc_loop_end(b);
  return sums;
}

// Element [expert, line, first + j] of an operand.
static const byoc_loop_expr_t *load(const product_t *p, uint32_t operand, const byoc_loop_expr_t *line,
                                    const byoc_loop_expr_t *j) {
  const byoc_loop_expr_t *at[3] = {p->expert, line, BYOC_LADD(p->b, p->first, j)};
  return byoc_lower_load(p->lower, p->node, operand, at);
}

static const byoc_loop_expr_t *load_x(const product_t *p, const byoc_loop_expr_t *row, const byoc_loop_expr_t *k) {
  const byoc_loop_expr_t *at[2] = {row, k};
  const byoc_loop_expr_t *x = byoc_lower_load(p->lower, p->node, BYOC_EXPERT_X, at);
  return byoc_loop_let(p->b, "x", byoc_emit_as(p->b, BYOC_DTYPE_F32, x));
}

static void add_to(const product_t *p, const byoc_loop_buffer_t *sums, const byoc_loop_expr_t *j,
                   const byoc_loop_expr_t *more) {
  byoc_loop_store(p->b, sums, j, BYOC_LADD(p->b, byoc_loop_load(p->b, sums, j), more));
}

static void sum_numbers(const product_t *p, const rows_t *rows) {
  byoc_loop_builder_t *b = p->b;
  const byoc_loop_expr_t *depth = byoc_emit_dim(b, p->node->operands[BYOC_EXPERT_X]->type, 1), *x[FEW];
  const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", integer(p, 0), depth);
  for (int64_t r = 0; r < rows->count; ++r) x[r] = load_x(p, rows->from[r], k);
  const byoc_loop_expr_t *j = open_columns(p);
  const byoc_loop_expr_t *w =
      byoc_loop_let(b, "w", byoc_emit_as(b, BYOC_DTYPE_F32, load(p, BYOC_EXPERT_MATRICES, k, j)));
  for (int64_t r = 0; r < rows->count; ++r) add_to(p, rows->sums[r], j, BYOC_LMUL(b, x[r], w));
  byoc_emit_close(b, 2);
}

// Adds up x q and x in a block, and then (sum of x q - zero * sum of x) * scale.
static void sum_packed(const product_t *p, const rows_t *rows) {
  byoc_loop_builder_t *b = p->b;
  const byoc_type_t *scales = p->node->operands[BYOC_EXPERT_SCALES]->type;
  const int64_t slots = WORD_BITS / p->bits, blocks = scales->dims[1].constant;
  const int64_t depth = p->node->operands[BYOC_EXPERT_X]->type->dims[1].constant, words = depth / blocks / slots;
  const byoc_loop_expr_t *mask = byoc_loop_const_int(b, BYOC_DTYPE_I32, (INT64_C(1) << p->bits) - 1);
  const byoc_loop_expr_t *block = byoc_loop_for(b, BYOC_LOOP_SERIAL, "block", integer(p, 0), integer(p, blocks));
  const byoc_loop_buffer_t *parts[FEW];
  const byoc_loop_expr_t *total[FEW], *part[FEW], *x[FEW][MOST_SLOTS];
  for (int64_t r = 0; r < rows->count; ++r) {
    parts[r] = cleared(p, "part");
    total[r] = byoc_loop_mutable(b, "total", byoc_loop_const(b, BYOC_DTYPE_F32, 0.0));
  }
  const byoc_loop_expr_t *word = byoc_loop_for(b, BYOC_LOOP_SERIAL, "w", integer(p, 0), integer(p, words));
  word = byoc_loop_let(b, "word", BYOC_LADD(b, BYOC_LMUL(b, block, integer(p, words)), word));
  const byoc_loop_expr_t *k = byoc_loop_let(b, "k", BYOC_LMUL(b, word, integer(p, slots)));
  for (int64_t r = 0; r < rows->count; ++r) {
    for (int64_t i = 0; i < slots; ++i) {
      x[r][i] = load_x(p, rows->from[r], BYOC_LADD(b, k, integer(p, i)));
      byoc_loop_assign(b, total[r], BYOC_LADD(b, total[r], x[r][i]));
    }
  }
  const byoc_loop_expr_t *j = open_columns(p);
  for (int64_t r = 0; r < rows->count; ++r) part[r] = byoc_loop_load(b, parts[r], j);
  const byoc_loop_expr_t *bits = byoc_loop_let(b, "bits", load(p, BYOC_EXPERT_MATRICES, word, j));
  for (int64_t i = 0; i < slots; ++i) {
    const byoc_loop_expr_t *value = i == 0 ? bits : BIN(SHR, bits, byoc_loop_const_int(b, BYOC_DTYPE_I32, i * p->bits));
    value = byoc_loop_let(b, "number", byoc_emit_as(b, BYOC_DTYPE_F32, BIN(AND, value, mask)));
    for (int64_t r = 0; r < rows->count; ++r) part[r] = BYOC_LADD(b, part[r], BYOC_LMUL(b, x[r][i], value));
  }
  for (int64_t r = 0; r < rows->count; ++r) byoc_loop_store(b, parts[r], j, part[r]);
  byoc_emit_close(b, 2);
  j = open_columns(p);
  const byoc_loop_expr_t *zero = byoc_has_operand(p->node, BYOC_EXPERT_ZEROS)
                                     ? load(p, BYOC_EXPERT_ZEROS, block, j)
                                     : byoc_loop_const(b, BYOC_DTYPE_F32, (double)byoc_node_int(p->node, "zero"));
  for (int64_t r = 0; r < rows->count; ++r) {
    const byoc_loop_expr_t *own = BYOC_LSUB(b, byoc_loop_load(b, parts[r], j), BYOC_LMUL(b, total[r], zero));
    add_to(p, rows->sums[r], j, BYOC_LMUL(b, own, load(p, BYOC_EXPERT_SCALES, block, j)));
  }
  byoc_emit_close(b, 2);
}

// Computes rows waiting[begin .. begin + count) of the result.
static void sum_rows(const product_t *p, const byoc_loop_buffer_t *waiting, const byoc_loop_expr_t *begin,
                     int64_t count) {
  byoc_loop_builder_t *b = p->b;
  const byoc_loop_expr_t *each = integer(p, byoc_node_int(p->node, "each"));
  rows_t rows = {.count = count};
  for (int64_t r = 0; r < count; ++r) {
    rows.to[r] = byoc_loop_let(b, "to", byoc_loop_load(b, waiting, BYOC_LADD(b, begin, integer(p, r))));
    rows.from[r] = byoc_loop_let(b, "from", BYOC_LDIV(b, rows.to[r], each));
    rows.sums[r] = cleared(p, "sums");
  }
  if (p->bits > 0) {
    sum_packed(p, &rows);
  } else {
    sum_numbers(p, &rows);
  }
  const byoc_loop_expr_t *j = open_columns(p);
  for (int64_t r = 0; r < count; ++r) {
    const byoc_loop_expr_t *at[2] = {rows.to[r], BYOC_LADD(b, p->first, j)};
    byoc_emit_store(p->lower, p->node, 0, at, byoc_loop_load(b, rows.sums[r], j));
  }
  byoc_loop_end(b);
}

// Collects a few rows of the expert and computes them together; computes the remaining rows one by one.
static void sum_expert(const product_t *p, const byoc_loop_expr_t *row_count, const byoc_loop_expr_t *experts) {
  byoc_loop_builder_t *b = p->b;
  const byoc_loop_expr_t *zero = integer(p, 0), *one = integer(p, 1);
  const byoc_loop_buffer_t *waiting = byoc_loop_allocate(b, "waiting", BYOC_DTYPE_I64, FEW);
  const byoc_loop_expr_t *count = byoc_loop_mutable(b, "count", zero);
  const byoc_loop_expr_t *r = byoc_loop_for(b, BYOC_LOOP_SERIAL, "r", zero, row_count);
  const byoc_loop_expr_t *own = byoc_emit_index(b, byoc_lower_load(p->lower, p->node, BYOC_EXPERT_OF_ROW, &r), experts);
  byoc_loop_if(b, BIN(EQ, own, p->expert));
  byoc_loop_store(b, waiting, count, r);
  byoc_loop_assign(b, count, BYOC_LADD(b, count, one));
  byoc_loop_if(b, BIN(EQ, count, integer(p, FEW)));
  sum_rows(p, waiting, zero, FEW);
  byoc_loop_assign(b, count, zero);
  byoc_emit_close(b, 3);
  sum_rows(p, waiting, byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, byoc_loop_let(b, "left", count)), 1);
  byoc_loop_end(b);
}

static byoc_status_t loops_expert_product(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *w = node->operands[BYOC_EXPERT_MATRICES]->type, *y = node->results[0]->type;
  product_t p = {.lower = lower, .b = b, .node = node};
  if (byoc_has_operand(node, BYOC_EXPERT_SCALES)) p.bits = byoc_node_int(node, "bits");
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *lanes = byoc_loop_int(b, LANES);
  const byoc_loop_expr_t *columns = byoc_emit_dim(b, w, 2), *experts = byoc_emit_dim(b, w, 0);
  const byoc_loop_expr_t *tiles = BYOC_LDIV(b, BYOC_LADD(b, columns, byoc_loop_int(b, LANES - 1)), lanes);
  const byoc_loop_expr_t *tile = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", zero, tiles);
  p.first = byoc_loop_let(b, "first", BYOC_LMUL(b, tile, lanes));
  p.used = byoc_loop_let(b, "used", byoc_tile_used(b, columns, p.first, LANES));
  p.expert = byoc_loop_for(b, BYOC_LOOP_SERIAL, "e", zero, experts);
  sum_expert(&p, byoc_emit_dim(b, y, 0), experts);
  byoc_emit_close(b, 2);
  return BYOC_OK;
}

static const byoc_op_attribute_t expert_attributes[] = {
    {BYOC_ATTR_INT("each", 1)}, // rows of the result for each row of x
    {BYOC_ATTR_INT("bits", 0)}, // of packed matrices
    {BYOC_ATTR_INT("zero", 0)},
    BYOC_ATTR_END,
};

const byoc_op_t byoc_ops_expert_product[] = {
    {.domain = "byoc",
     .name = "ExpertMatMul",
     .since_version = 1,
     .min_inputs = 3,
     .max_inputs = BYOC_EXPERT_OPERANDS,
     .min_outputs = 1,
     .max_outputs = 1,
     .traits = BYOC_OP_HEAVY,
     .attributes = expert_attributes,
     .infer = infer_expert_product,
     .loops = loops_expert_product},
};
const size_t byoc_ops_expert_product_count = sizeof byoc_ops_expert_product / sizeof *byoc_ops_expert_product;

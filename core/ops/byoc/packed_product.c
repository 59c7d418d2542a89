// SPDX-License-Identifier: Apache-2.0
// byoc::PackedMatMul: products by weights of few bits (core/ops/byoc/packed_product.h has the layouts).
//
// Reading the weights limits a product of few rows. So it sums a block of each column with the stored numbers, and
// applies scale and zero point once to the block's sum:
//   sum over k of x (q - z) s = s (sum x q - z sum x)
// With more rows, a panel of numbers is made of the weights, and a block of rows runs over it (core/ops/loops/tile.h).
#include "core/ops/byoc/packed_product.h"

#include <string.h>

#include "core/op/axes.h"
#include "core/ops/loops/tile.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

enum { X, WORDS, SCALES, ZEROS, LANES = BYOC_PACKED_COLUMNS, WORD_BITS = 32, MOST_SLOTS = 16 };
// From this many rows on, a panel is made.
enum { FEW = 4 };

typedef struct sizes_t {
  int64_t depth, columns, block, bits;
  int64_t slots, tiles, blocks, words; // elements in a word; words of a column
} sizes_t;

static sizes_t sizes_of(int64_t depth, int64_t columns, int64_t block, int64_t bits) {
  sizes_t s = {depth, columns, block, bits, WORD_BITS / bits, (columns + LANES - 1) / LANES, 0, 0};
  s.blocks = (depth + block - 1) / block;
  s.words = s.blocks * (block / s.slots);
  return s;
}

// Do they describe weights? Their counts then fit into an int64_t.
static bool are_sizes(int64_t depth, int64_t columns, int64_t block, int64_t bits) {
  return (bits == 2 || bits == 4 || bits == 8) && depth > 0 && depth <= INT32_MAX && columns > 0 &&
         columns <= INT32_MAX && block >= MOST_SLOTS && block <= INT32_MAX && block % MOST_SLOTS == 0;
}

static sizes_t sizes_of_node(const byoc_node_t *node) {
  return sizes_of(byoc_node_int(node, "depth"), byoc_node_int(node, "columns"), byoc_node_int(node, "block_size"),
                  byoc_node_int(node, "bits"));
}

// ---- types ----

static bool is_narrow_float(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_F32 || dtype == BYOC_DTYPE_F16 || dtype == BYOC_DTYPE_BF16;
}
static bool is_word(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_I32;
}
static bool is_f32(byoc_dtype_t dtype) {
  return dtype == BYOC_DTYPE_F32;
}
static bool is_zero_type(byoc_dtype_t dtype) {
  return is_word(dtype) || is_f32(dtype);
}

static byoc_status_t need_lines(const byoc_infer_t *infer, uint32_t operand, int64_t tiles, int64_t lines) {
  const byoc_dim_t dims[] = {byoc_dim_constant(tiles), byoc_dim_constant(lines), byoc_dim_constant(LANES)};
  return byoc_infer_need_dims(infer, operand, 3, dims);
}

static byoc_status_t infer_packed(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  const int64_t bits = byoc_node_int(node, "bits"), block = byoc_node_int(node, "block_size");
  if (!are_sizes(byoc_node_int(node, "depth"), byoc_node_int(node, "columns"), block, bits)) {
    return byoc_infer_error(infer, "expected a depth, columns, 2, 4 or 8 bits and blocks of a multiple of 16 elements");
  }
  const sizes_t s = sizes_of_node(node);
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, X, is_narrow_float, "a tensor of f16, bf16 or f32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, WORDS, is_word, "words of i32"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, SCALES, is_f32, "scales of f32"));
  BYOC_RETURN_IF_ERROR(need_lines(infer, WORDS, s.tiles, s.words));
  BYOC_RETURN_IF_ERROR(need_lines(infer, SCALES, s.tiles, s.blocks));
  if (byoc_has_operand(node, ZEROS)) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, ZEROS, is_zero_type, "zero points in words of i32, or of f32"));
    const bool is_packed = byoc_operand_type(node, ZEROS)->dtype == BYOC_DTYPE_I32;
    BYOC_RETURN_IF_ERROR(need_lines(infer, ZEROS, s.tiles, is_packed ? (s.blocks + s.slots - 1) / s.slots : s.blocks));
  }
  const byoc_type_t *x = byoc_operand_type(node, X);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, X, 1, BYOC_MAX_RANK));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, X, x->rank - 1, byoc_dim_constant(s.depth)));
  byoc_dim_t dims[BYOC_MAX_RANK];
  for (int32_t d = 0; d < x->rank - 1; ++d) dims[d] = x->dims[d];
  dims[x->rank - 1] = byoc_dim_constant(s.columns);
  return byoc_infer_set(infer, 0, x->dtype, x->rank, dims);
}

// ---- loops ----

typedef struct product_t {
  byoc_lower_t *lower;
  byoc_loop_builder_t *b;
  const byoc_node_t *node;
  const byoc_type_t *type; // of the result
  sizes_t s;
  const byoc_loop_buffer_t *x, *words, *scales, *zeros; // zeros may be NULL
  const byoc_loop_expr_t *rows, *zero, *row0, *k0;
} product_t;

static const byoc_loop_expr_t *integer(const product_t *p, int64_t value) {
  return byoc_loop_int(p->b, value);
}

// Line `line` of a tile, in a buffer with `lines` of them.
static const byoc_loop_expr_t *line_of(const product_t *p, const byoc_loop_expr_t *tile, int64_t lines,
                                       const byoc_loop_expr_t *line) {
  byoc_loop_builder_t *b = p->b;
  line = BYOC_LADD(b, BYOC_LMUL(b, tile, integer(p, lines)), line);
  return BYOC_LMUL(b, line, integer(p, LANES));
}

// The bits of a word from `shift` (i32) on, as i32.
static const byoc_loop_expr_t *bits_of(const product_t *p, const byoc_loop_expr_t *word,
                                       const byoc_loop_expr_t *shift) {
  byoc_loop_builder_t *b = p->b;
  int64_t known = -1;
  if (!byoc_loop_is_int(shift, &known) || known != 0) word = BIN(SHR, word, shift);
  return BIN(AND, word, byoc_loop_const_int(b, BYOC_DTYPE_I32, (INT64_C(1) << p->s.bits) - 1));
}

// The shift, in i32, of the element `index` (i64) of words.
static const byoc_loop_expr_t *shift_of(const product_t *p, const byoc_loop_expr_t *index) {
  byoc_loop_builder_t *b = p->b;
  index = BYOC_LMUL(b, BYOC_LMOD(b, index, integer(p, p->s.slots)), integer(p, p->s.bits));
  return byoc_loop_let(b, "shift", byoc_emit_as(b, BYOC_DTYPE_I32, index));
}

// The zero points of a block's columns: base[j] and, if they are packed, the shift.
typedef struct zeros_t {
  const byoc_loop_expr_t *base, *shift;
} zeros_t;

static zeros_t zeros_of(const product_t *p, const byoc_loop_expr_t *tile, const byoc_loop_expr_t *block) {
  byoc_loop_builder_t *b = p->b;
  zeros_t zeros = {NULL, NULL};
  if (!p->zeros) return zeros;
  const int64_t slots = p->s.slots;
  const byoc_loop_expr_t *line = block;
  int64_t lines = p->s.blocks;
  if (p->zeros->dtype == BYOC_DTYPE_I32) {
    zeros.shift = shift_of(p, block);
    lines = (lines + slots - 1) / slots;
    line = BYOC_LDIV(b, block, integer(p, slots));
  }
  zeros.base = byoc_loop_let(b, "zeros", line_of(p, tile, lines, line));
  return zeros;
}

// The zero point of lane j as f32.
static const byoc_loop_expr_t *zero_at(const product_t *p, const zeros_t *zeros, const byoc_loop_expr_t *j) {
  byoc_loop_builder_t *b = p->b;
  if (!p->zeros) return byoc_loop_const(b, BYOC_DTYPE_F32, (double)byoc_node_int(p->node, "zero"));
  const byoc_loop_expr_t *zero = byoc_loop_load(b, p->zeros, BYOC_LADD(b, zeros->base, j));
  return zeros->shift ? byoc_emit_as(b, BYOC_DTYPE_F32, bits_of(p, zero, zeros->shift)) : zero;
}

static void store_row(const product_t *p, const byoc_loop_expr_t *row, const byoc_loop_expr_t *first,
                      const byoc_loop_expr_t *used, const byoc_loop_buffer_t *sums, const byoc_loop_expr_t *from) {
  byoc_loop_builder_t *b = p->b;
  const byoc_loop_expr_t *indices[BYOC_MAX_RANK];
  const int32_t last = p->type->rank - 1;
  byoc_emit_unravel(b, p->type, 0, last, row, indices);
  for (int32_t d = 0; d < last; ++d) indices[d] = byoc_loop_let(b, "row", indices[d]);
  const byoc_loop_expr_t *j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", p->zero, used);
  indices[last] = BYOC_LADD(b, first, j);
  byoc_emit_store(p->lower, p->node, 0, indices, byoc_loop_load(b, sums, BYOC_LADD(b, from, j)));
  byoc_loop_end(b);
}

// ---- few rows ----

static const byoc_loop_buffer_t *cleared(const product_t *p, const char *name) {
  byoc_loop_builder_t *b = p->b;
  const byoc_loop_buffer_t *sums = byoc_loop_allocate(b, name, BYOC_DTYPE_F32, LANES);
  const byoc_loop_expr_t *j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", p->zero, integer(p, LANES));
  byoc_loop_store(b, sums, j, byoc_loop_const(b, BYOC_DTYPE_F32, 0.0));
  byoc_loop_end(b);
  return sums;
}

// x[row][k .. k + slots - 1] as f32, with zeros beyond the depth; *total is their sum.
static void load_numbers(const product_t *p, const byoc_loop_expr_t *row, const byoc_loop_expr_t *k,
                         const byoc_loop_expr_t **numbers, const byoc_loop_expr_t **total) {
  byoc_loop_builder_t *b = p->b;
  const byoc_loop_expr_t *base = BYOC_LMUL(b, row, integer(p, p->s.depth));
  const byoc_loop_expr_t *end = integer(p, p->s.depth), *sums[MOST_SLOTS];
  for (int64_t i = 0; i < p->s.slots; ++i) {
    const byoc_loop_expr_t *at = BYOC_LADD(b, k, integer(p, i));
    const bool is_whole = p->s.depth % p->s.slots == 0;
    const byoc_loop_expr_t *inside = is_whole ? at : BYOC_LMIN(b, at, BYOC_LSUB(b, end, integer(p, 1)));
    const byoc_loop_expr_t *x = byoc_emit_as(b, BYOC_DTYPE_F32, byoc_loop_load(b, p->x, BYOC_LADD(b, base, inside)));
    if (!is_whole) x = byoc_loop_select(b, BIN(LT, at, end), x, byoc_loop_const(b, BYOC_DTYPE_F32, 0.0));
    sums[i] = numbers[i] = byoc_loop_let(b, "x", x);
  }
  for (int64_t half = p->s.slots / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) sums[i] = BYOC_LADD(b, sums[i], sums[i + half]);
  }
  *total = sums[0];
}

// `count` rows from row0 on, over one tile of 64 columns.
static void sum_few(const product_t *p, const byoc_loop_expr_t *tile, int64_t count) {
  byoc_loop_builder_t *b = p->b;
  const sizes_t *s = &p->s;
  const byoc_loop_expr_t *lanes = integer(p, LANES), *x[FEW][MOST_SLOTS], *total[FEW], *row[FEW];
  const byoc_loop_buffer_t *sums[FEW], *parts[FEW];
  for (int64_t r = 0; r < count; ++r) {
    sums[r] = cleared(p, "sums");
    row[r] = BYOC_LADD(b, p->row0, integer(p, r));
  }
  const byoc_loop_expr_t *block = byoc_loop_for(b, BYOC_LOOP_SERIAL, "block", p->zero, integer(p, s->blocks));
  const int64_t block_words = s->block / s->slots, used_words = (s->depth + s->slots - 1) / s->slots;
  const byoc_loop_expr_t *word0 = byoc_loop_let(b, "word", BYOC_LMUL(b, block, integer(p, block_words)));
  for (int64_t r = 0; r < count; ++r) {
    parts[r] = cleared(p, "part");
    total[r] = byoc_loop_mutable(b, "total", byoc_loop_const(b, BYOC_DTYPE_F32, 0.0));
  }
  const byoc_loop_expr_t *words = byoc_tile_used(b, integer(p, used_words), word0, block_words);
  const byoc_loop_expr_t *word =
      BYOC_LADD(b, word0, byoc_loop_for(b, BYOC_LOOP_SERIAL, "w", p->zero, byoc_loop_let(b, "words", words)));
  const byoc_loop_expr_t *k = byoc_loop_let(b, "k", BYOC_LMUL(b, word, integer(p, s->slots)));
  for (int64_t r = 0; r < count; ++r) {
    const byoc_loop_expr_t *sum = NULL;
    load_numbers(p, row[r], k, x[r], &sum);
    byoc_loop_assign(b, total[r], BYOC_LADD(b, total[r], sum));
  }
  const byoc_loop_expr_t *line = byoc_loop_let(b, "line", line_of(p, tile, s->words, word));
  const byoc_loop_expr_t *j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", p->zero, lanes), *part[FEW] = {NULL};
  for (int64_t r = 0; r < count; ++r) part[r] = byoc_loop_load(b, parts[r], j);
  for (int64_t i = 0; i < s->slots; ++i) {
    const byoc_loop_expr_t *loaded = byoc_loop_load(b, p->words, BYOC_LADD(b, line, j));
    loaded = bits_of(p, loaded, byoc_loop_const_int(b, BYOC_DTYPE_I32, i * s->bits));
    const byoc_loop_expr_t *number = byoc_loop_let(b, "number", byoc_emit_as(b, BYOC_DTYPE_F32, loaded));
    for (int64_t r = 0; r < count; ++r) part[r] = BYOC_LADD(b, part[r], BYOC_LMUL(b, x[r][i], number));
  }
  for (int64_t r = 0; r < count; ++r) byoc_loop_store(b, parts[r], j, part[r]);
  byoc_loop_end(b);
  byoc_loop_end(b);
  const byoc_loop_expr_t *scales = byoc_loop_let(b, "scales", line_of(p, tile, s->blocks, block));
  const zeros_t zeros = zeros_of(p, tile, block);
  j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", p->zero, lanes);
  for (int64_t r = 0; r < count; ++r) {
    const byoc_loop_expr_t *less = BYOC_LMUL(b, total[r], zero_at(p, &zeros, j));
    const byoc_loop_expr_t *own = BYOC_LSUB(b, byoc_loop_load(b, parts[r], j), less);
    own = BYOC_LMUL(b, byoc_loop_load(b, p->scales, BYOC_LADD(b, scales, j)), own);
    byoc_loop_store(b, sums[r], j, BYOC_LADD(b, byoc_loop_load(b, sums[r], j), own));
  }
  byoc_loop_end(b);
  byoc_loop_end(b);
  const byoc_loop_expr_t *first = byoc_loop_let(b, "first", BYOC_LMUL(b, tile, lanes));
  const byoc_loop_expr_t *used = byoc_loop_let(b, "used", byoc_tile_used(b, integer(p, s->columns), first, LANES));
  for (int64_t r = 0; r < count; ++r) store_row(p, row[r], first, used, sums[r], p->zero);
}

// ---- many rows ----

static const byoc_loop_expr_t *row_base(const void *self, const byoc_loop_expr_t *row) {
  const product_t *p = self;
  row = BYOC_LMUL(p->b, BYOC_LADD(p->b, p->row0, row), integer(p, p->s.depth));
  return BYOC_LADD(p->b, row, p->k0);
}

// panel[k][j] = (weight - zero point) * scale, of element k0 + k and column `within` + j of the tile of 64.
static void make_panel(const product_t *p, const byoc_tile_t *panel, const byoc_loop_expr_t *tile,
                       const byoc_loop_expr_t *within, const byoc_loop_expr_t *depth) {
  byoc_loop_builder_t *b = p->b;
  const sizes_t *s = &p->s;
  const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", p->zero, depth);
  const byoc_loop_expr_t *at = byoc_loop_let(b, "at", BYOC_LADD(b, p->k0, k));
  const byoc_loop_expr_t *shift = shift_of(p, at);
  const byoc_loop_expr_t *block = byoc_loop_let(b, "block", BYOC_LDIV(b, at, integer(p, s->block)));
  const byoc_loop_expr_t *line = line_of(p, tile, s->words, BYOC_LDIV(b, at, integer(p, s->slots)));
  line = byoc_loop_let(b, "line", BYOC_LADD(b, line, within));
  const byoc_loop_expr_t *scales = byoc_loop_let(b, "scales", BYOC_LADD(b, line_of(p, tile, s->blocks, block), within));
  zeros_t zeros = zeros_of(p, tile, block);
  if (zeros.base) zeros.base = byoc_loop_let(b, "zeros", BYOC_LADD(b, zeros.base, within));
  const byoc_loop_expr_t *to = byoc_loop_let(b, "to", BYOC_LMUL(b, k, integer(p, panel->columns)));
  const byoc_loop_expr_t *j = byoc_loop_for(b, BYOC_LOOP_VECTOR, "j", p->zero, integer(p, panel->columns));
  const byoc_loop_expr_t *number = bits_of(p, byoc_loop_load(b, p->words, BYOC_LADD(b, line, j)), shift);
  number = BYOC_LSUB(b, byoc_emit_as(b, BYOC_DTYPE_F32, number), zero_at(p, &zeros, j));
  number = BYOC_LMUL(b, number, byoc_loop_load(b, p->scales, BYOC_LADD(b, scales, j)));
  byoc_loop_store(b, panel->panel, BYOC_LADD(b, to, j), number);
  byoc_loop_end(b);
  byoc_loop_end(b);
}

static void sum_many(product_t *p, byoc_tile_t *panel, const byoc_loop_expr_t *first) {
  byoc_loop_builder_t *b = p->b;
  const byoc_loop_expr_t *lanes = integer(p, LANES), *columns = integer(p, panel->columns);
  const byoc_loop_expr_t *tile = byoc_loop_let(b, "tile", BYOC_LDIV(b, first, lanes));
  const byoc_loop_expr_t *within = byoc_loop_let(b, "within", BYOC_LMOD(b, first, lanes));
  const byoc_loop_expr_t *rows = byoc_loop_let(b, "rows", byoc_tile_used(b, p->rows, p->row0, panel->row_block));
  byoc_tile_begin(panel, columns); // tiles are padded: the panel has all of its columns
  const byoc_loop_expr_t *steps = byoc_tile_count(b, integer(p, p->s.depth), panel->depth);
  const byoc_loop_expr_t *step = byoc_loop_for(b, BYOC_LOOP_SERIAL, "step", p->zero, steps);
  p->k0 = byoc_loop_let(b, "k0", BYOC_LMUL(b, step, integer(p, panel->depth)));
  const byoc_loop_expr_t *depth =
      byoc_loop_let(b, "depth", byoc_tile_used(b, integer(p, p->s.depth), p->k0, panel->depth));
  make_panel(p, panel, tile, within, depth);
  byoc_tile_multiply(panel, rows, depth, p->x, row_base, p, integer(p, 1));
  byoc_loop_end(b);
  const byoc_loop_expr_t *used =
      byoc_loop_let(b, "used", byoc_tile_used(b, integer(p, p->s.columns), first, panel->columns));
  const byoc_loop_expr_t *r = byoc_loop_for(b, BYOC_LOOP_SERIAL, "r", p->zero, rows);
  store_row(p, BYOC_LADD(b, p->row0, r), first, used, panel->sums, byoc_loop_let(b, "from", BYOC_LMUL(b, r, columns)));
  byoc_loop_end(b);
}

static byoc_status_t loops_packed(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  product_t p = {.lower = lower, .b = b, .node = node, .type = node->results[0]->type, .s = sizes_of_node(node)};
  p.x = byoc_lower_operand_buffer(lower, node, X);
  p.words = byoc_lower_operand_buffer(lower, node, WORDS);
  p.scales = byoc_lower_operand_buffer(lower, node, SCALES);
  p.zeros = byoc_has_operand(node, ZEROS) ? byoc_lower_operand_buffer(lower, node, ZEROS) : NULL;
  p.zero = p.row0 = byoc_loop_int(b, 0);
  p.rows = byoc_emit_extent(b, p.type, 0, p.type->rank - 1);
  int64_t known = -1;
  const bool is_known = byoc_loop_is_int(p.rows, &known), are_few = is_known && known < FEW;
  if (are_few) {
    sum_few(&p, byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", p.zero, integer(&p, known > 0 ? p.s.tiles : 0)), known);
    byoc_loop_end(b);
    return BYOC_OK;
  }
  byoc_tile_t panel;
  byoc_tile_choose(&panel, lower, BYOC_DTYPE_F32, p.rows, integer(&p, p.s.columns));
  if (p.s.depth < panel.depth) panel.depth = (int32_t)p.s.depth;
  const byoc_loop_expr_t *tiles = byoc_tile_count(b, integer(&p, p.s.columns), panel.columns);
  const byoc_loop_expr_t *all = BYOC_LMUL(b, byoc_tile_count(b, p.rows, panel.row_block), tiles);
  const byoc_loop_expr_t *t = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", p.zero, all);
  const byoc_loop_expr_t *first =
      byoc_loop_let(b, "first", BYOC_LMUL(b, BYOC_LMOD(b, t, tiles), integer(&p, panel.columns)));
  if (!is_known) {
    // The first of the tiles in 64 columns computes all of them.
    byoc_loop_if(b, BIN(LT, p.rows, integer(&p, FEW)));
    byoc_loop_if(b, BIN(EQ, BYOC_LMOD(b, first, integer(&p, LANES)), p.zero));
    const byoc_loop_expr_t *tile = byoc_loop_let(b, "tile", BYOC_LDIV(b, first, integer(&p, LANES)));
    p.row0 = byoc_loop_for(b, BYOC_LOOP_SERIAL, "r", p.zero, p.rows);
    sum_few(&p, tile, 1);
    byoc_loop_end(b);
    byoc_loop_end(b);
    byoc_loop_else(b);
  }
  p.row0 = byoc_loop_let(b, "row0", BYOC_LMUL(b, BYOC_LDIV(b, t, tiles), integer(&p, panel.row_block)));
  sum_many(&p, &panel, first);
  if (!is_known) byoc_loop_end(b);
  byoc_loop_end(b);
  return BYOC_OK;
}

// ---- packing ----

static void *write_lines(byoc_writer_t *w, const char *name, byoc_dtype_t dtype, int64_t tiles, int64_t lines,
                         byoc_value_t **out_value) {
  byoc_graph_module_t *module = w->node->function->module;
  const int64_t dims[] = {tiles, lines, LANES};
  const byoc_type_t *type = byoc_type_tensor_static(&module->arena, dtype, 3, dims);
  void *data = NULL;
  byoc_constant_t *constant = type ? byoc_constant_allocate(module, name, type, &data) : NULL;
  *out_value = constant ? byoc_function_constant(w->node->function, constant) : NULL;
  if (!*out_value) w->failed = true;
  if (*out_value) memset(data, 0, (size_t)(tiles * lines * LANES) * 4);
  return *out_value ? data : NULL;
}

static int64_t place_of(int64_t lines, int64_t line, int64_t column) {
  return (column / LANES * lines + line) * LANES + column % LANES;
}

static void put_bits(uint32_t *words, int64_t lines, const sizes_t *s, int64_t index, int64_t column, int64_t value) {
  const uint32_t mask = (UINT32_C(1) << s->bits) - 1;
  words[place_of(lines, index / s->slots, column)] |= ((uint32_t)value & mask) << (index % s->slots * s->bits);
}

byoc_value_t *byoc_write_packed_product(byoc_writer_t *w, byoc_value_t *x, const byoc_packed_source_t *source) {
  if (w->failed || !are_sizes(source->depth, source->columns, source->block_size, source->bits)) {
    w->failed = true;
    return NULL;
  }
  const sizes_t s = sizes_of(source->depth, source->columns, source->block_size, source->bits);
  const int64_t zero_lines = source->zero ? (s.blocks + s.slots - 1) / s.slots : s.blocks;
  const bool has_zeros = source->zero || source->real_zero;
  byoc_value_t *operands[] = {x, NULL, NULL, NULL};
  uint32_t *words = write_lines(w, "weights", BYOC_DTYPE_I32, s.tiles, s.words, &operands[WORDS]);
  float *scales = write_lines(w, "scales", BYOC_DTYPE_F32, s.tiles, s.blocks, &operands[SCALES]);
  void *zeros = has_zeros ? write_lines(w, "zeros", source->zero ? BYOC_DTYPE_I32 : BYOC_DTYPE_F32, s.tiles, zero_lines,
                                        &operands[ZEROS])
                          : NULL;
  if (w->failed) return NULL;
  for (int64_t n = 0; n < s.columns; ++n) {
    for (int64_t k = 0; k < s.depth; ++k) put_bits(words, s.words, &s, k, n, source->value(source->self, k, n));
    for (int64_t block = 0; block < s.blocks; ++block) {
      scales[place_of(s.blocks, block, n)] = (float)source->scale(source->self, block, n);
      if (source->zero) put_bits(zeros, zero_lines, &s, block, n, source->zero(source->self, block, n));
      if (source->real_zero) {
        ((float *)zeros)[place_of(s.blocks, block, n)] = (float)source->real_zero(source->self, block, n);
      }
    }
  }
  const byoc_attribute_t attributes[] = {{.name = "depth", .kind = BYOC_ATTRIBUTE_INT, .i = s.depth},
                                         {.name = "columns", .kind = BYOC_ATTRIBUTE_INT, .i = s.columns},
                                         {.name = "block_size", .kind = BYOC_ATTRIBUTE_INT, .i = s.block},
                                         {.name = "bits", .kind = BYOC_ATTRIBUTE_INT, .i = s.bits},
                                         {.name = "zero", .kind = BYOC_ATTRIBUTE_INT, .i = source->default_zero},
                                         {.name = "rounds", .kind = BYOC_ATTRIBUTE_INT, .i = source->rounds}};
  byoc_node_t *made = byoc_write_many(w, "byoc", "PackedMatMul", operands, has_zeros ? 4 : 3, 1, attributes,
                                      sizeof attributes / sizeof *attributes);
  return made ? made->results[0] : NULL;
}

// PackedMatMul(x) {rounds = 1} → PackedMatMul(RoundInBlocks(x)), if no backend has claimed it
static byoc_status_t expand_packed(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  if (!byoc_node_flag(node, "rounds")) return BYOC_OK;
  byoc_writer_t w = {.node = node, .diag = diag};
  byoc_attribute_t attributes[] = {{.name = "block_size", .kind = BYOC_ATTRIBUTE_INT},
                                   {.name = "depth", .kind = BYOC_ATTRIBUTE_INT},
                                   {.name = "columns", .kind = BYOC_ATTRIBUTE_INT},
                                   {.name = "bits", .kind = BYOC_ATTRIBUTE_INT},
                                   {.name = "zero", .kind = BYOC_ATTRIBUTE_INT}};
  enum { COUNT = sizeof attributes / sizeof *attributes };
  for (size_t i = 0; i < COUNT; ++i) attributes[i].i = byoc_node_int(node, attributes[i].name);
  byoc_value_t *operands[] = {NULL, node->operands[WORDS], node->operands[SCALES],
                              byoc_has_operand(node, ZEROS) ? node->operands[ZEROS] : NULL};
  operands[X] = byoc_write_node(&w, "byoc", "RoundInBlocks", node->operands[X], NULL, NULL, attributes, 1);
  byoc_node_t *made =
      operands[X] ? byoc_write_many(&w, "byoc", "PackedMatMul", operands, operands[ZEROS] ? 4 : 3, 1, attributes, COUNT)
                  : NULL;
  return byoc_write_end(&w, made ? made->results[0] : NULL, out_changed);
}

const byoc_op_attribute_t packed_attributes[] = {
    {BYOC_ATTR_REQUIRED(INT, "depth")},
    {BYOC_ATTR_REQUIRED(INT, "columns")},
    {BYOC_ATTR_REQUIRED(INT, "block_size")},
    {BYOC_ATTR_REQUIRED(INT, "bits")},
    {BYOC_ATTR_INT("zero", 0)},
    {BYOC_ATTR_INT("rounds", 0)},
    BYOC_ATTR_END,
};

const byoc_op_t byoc_ops_packed_product[] = {
    {.domain = "byoc",
     .name = "PackedMatMul",
     .since_version = 1,
     .min_inputs = 3,
     .max_inputs = 4,
     .min_outputs = 1,
     .max_outputs = 1,
     .traits = BYOC_OP_HEAVY,
     .attributes = packed_attributes,
     .infer = infer_packed,
     .loops = loops_packed,
     .expand = expand_packed,
     .axes = byoc_axes_rows},
};
const size_t byoc_ops_packed_product_count = sizeof byoc_ops_packed_product / sizeof *byoc_ops_packed_product;

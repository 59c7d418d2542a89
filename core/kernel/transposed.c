// SPDX-License-Identifier: Apache-2.0
// Tiled transpositions: the two loops that cross are walked in squares, so that every cache line and page is fully used
// while it is in the cache. A square of 16 by 16 elements is transposed by four perfect shuffles; compilers turn each
// into a few permutations of whole registers.
#include "core/kernel/transposed.h"

#include "core/op/op.h"

// The side of the squares that are shuffled, and of the tiles that they belong to: a tile's rows lie on that many
// pages.
#define SQUARE      16
#define SQUARE_AREA (SQUARE * SQUARE)
#define TILE        64
// If whole runs of elements change places, a tile has this many elements in all.
#define TILE_ELEMENTS 8192
// Smaller tensors fit the first-level cache anyway.
#define LEAST_ELEMENTS 2048
#define UNKNOWN        INT64_MAX

bool byoc_is_transpose(const byoc_node_t *node, const byoc_type_t *space) {
  if (!byoc_node_is(node, "", "Transpose")) return false;
  const byoc_type_t *type = node->results[0]->type;
  bool same = byoc_type_is_tensor(type) && type->rank == space->rank;
  for (int32_t d = 0; same && d < type->rank; ++d) same = byoc_dim_equal(type->dims[d], space->dims[d]);
  return same;
}

int64_t byoc_transpose_axis(const byoc_node_t *transpose, int32_t axis) {
  size_t count = 0;
  const int64_t *perm = byoc_node_ints(transpose, "perm", &count);
  return perm ? perm[axis] : transpose->operands[0]->type->rank - 1 - axis;
}

bool byoc_transpose_parts(const byoc_node_t *node) {
  if (!byoc_node_is(node, "", "Transpose")) return false;
  const byoc_type_t *type = node->results[0]->type;
  if (!byoc_type_is_tensor(type) || byoc_type_element_count(type) < LEAST_ELEMENTS) return false;
  int32_t last = type->rank - 1; // with more than one element
  while (last > 0 && type->dims[last].constant == 1) --last;
  for (int32_t axis = 0; axis < type->rank; ++axis)
    if (type->dims[axis].constant > 1 && byoc_transpose_axis(node, axis) > byoc_transpose_axis(node, last)) return true;
  return false;
}

// Two loops of the walk that a transposition crosses. `b` is the result's innermost loop, or the one around a run that
// is innermost on both sides; `a` is the operand's innermost loop.
typedef struct crossing_t {
  int32_t a, b, run; // run: -1 if there is none
  int64_t side;      // of a tile
} crossing_t;

static int32_t loop_of_axis(const byoc_walk_t *walk, int32_t axis) {
  for (int32_t i = 0; i < walk->count; ++i)
    if (walk->first[i] <= axis && axis <= walk->last[i]) return i;
  return -1;
}

// The loop that walks the innermost axis of the operand, leaving out the loop `except`.
static int32_t innermost_of_operand(const byoc_node_t *transpose, const byoc_walk_t *walk, int32_t except) {
  int32_t best = -1;
  int64_t best_axis = -1;
  for (int32_t axis = 0; axis < transpose->results[0]->type->rank; ++axis) {
    int32_t loop = loop_of_axis(walk, axis);
    if (loop < 0 || loop == except || byoc_transpose_axis(transpose, axis) < best_axis) continue;
    best = loop, best_axis = byoc_transpose_axis(transpose, axis);
  }
  return best;
}

// UNKNOWN if only the run knows it; it then counts as a large one.
static int64_t extent_of(const byoc_walk_t *walk, int32_t loop) {
  int64_t extent = 0;
  return byoc_loop_is_int(walk->extent[loop], &extent) ? extent : UNKNOWN;
}

static bool is_whole(const byoc_walk_t *walk, int32_t loop, int64_t side) {
  const int64_t extent = extent_of(walk, loop);
  return extent != UNKNOWN && extent % side == 0;
}

// Several transpositions may cross in several ways: the first one decides.
static bool find_crossing(const byoc_lower_t *lower, const byoc_type_t *space, const byoc_walk_t *walk,
                          crossing_t *crossing) {
  int32_t inner = walk->count - 1;
  const byoc_node_t *transpose = NULL;
  BYOC_FOR_EACH_NODE(node, lower->function->body) {
    if (!transpose && byoc_is_transpose(node, space)) transpose = node;
  }
  const int64_t count = byoc_type_element_count(space);
  if (!transpose || inner < 1 || (count >= 0 && count < LEAST_ELEMENTS)) return false;
  *crossing = (crossing_t){innermost_of_operand(transpose, walk, -1), inner, -1, TILE};
  int64_t least = SQUARE;
  if (crossing->a == inner && inner >= 2) {
    *crossing = (crossing_t){innermost_of_operand(transpose, walk, inner), inner - 1, inner, 2};
    if (extent_of(walk, inner) == UNKNOWN) return false;
    while (extent_of(walk, inner) * crossing->side * crossing->side * 4 <= TILE_ELEMENTS) crossing->side *= 2;
    least = crossing->side * 2;
  }
  return crossing->a >= 0 && crossing->a != crossing->b && extent_of(walk, crossing->a) >= least &&
         extent_of(walk, crossing->b) >= least;
}

// ---- squares ----

typedef struct nest_t {
  byoc_lower_t *lower;
  byoc_loop_builder_t *b;
  const byoc_node_t *anchor;
  uint32_t result;
  const byoc_walk_t *walk;
  const crossing_t *crossing;
  const byoc_loop_expr_t *own[BYOC_MAX_RANK]; // index of each loop of the walk
  const byoc_loop_expr_t **indices;           // of each axis
} nest_t;

static void set_indices(nest_t *nest) {
  const byoc_type_t *space = nest->anchor->results[nest->result]->type;
  for (int32_t i = 0; i < nest->walk->count; ++i)
    byoc_schedule_split(nest->b, space, nest->walk->first[i], nest->walk->last[i], nest->own[i], nest->indices);
}

static const byoc_loop_expr_t *number(nest_t *nest, int64_t value) {
  return byoc_loop_int(nest->b, value);
}

static const byoc_loop_expr_t *twice(nest_t *nest, const byoc_loop_expr_t *index, int64_t more) {
  return BYOC_LADD(nest->b, BYOC_LMUL(nest->b, index, number(nest, 2)), number(nest, more));
}

// to[2 i] = from[i], to[2 i + 1] = from[i + half]: rotates the bits of every index by one.
static void shuffle(nest_t *nest, const byoc_loop_buffer_t *from, const byoc_loop_buffer_t *to) {
  byoc_loop_builder_t *b = nest->b;
  const byoc_loop_expr_t *half = number(nest, SQUARE_AREA / 2);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "s", number(nest, 0), half);
  byoc_loop_store(b, to, twice(nest, i, 0), byoc_loop_load(b, from, i));
  byoc_loop_store(b, to, twice(nest, i, 1), byoc_loop_load(b, from, BYOC_LADD(b, i, half)));
  byoc_loop_end(b);
}

static void store_value(nest_t *nest, const byoc_loop_buffer_t *to, const byoc_loop_expr_t *at) {
  byoc_lower_t *lower = nest->lower;
  size_t mark = byoc_lower_begin_element(lower);
  set_indices(nest);
  byoc_loop_store(nest->b, to, at, byoc_lower_point(lower, nest->anchor, nest->result, nest->indices));
  byoc_lower_end_element(lower, mark);
}

// Transposes the square at (a, b). Rows of the operand are shuffled while they are read. Three more shuffles rotate
// indices by half their bits in all, which is the transposition, and rows of the result are written.
static void lower_square(nest_t *nest, const byoc_loop_expr_t *first_a, const byoc_loop_expr_t *first_b) {
  byoc_loop_builder_t *b = nest->b;
  const crossing_t *crossing = nest->crossing;
  byoc_dtype_t dtype = nest->anchor->results[nest->result]->type->dtype;
  const byoc_loop_buffer_t *even = byoc_loop_allocate(b, "even", dtype, SQUARE_AREA);
  const byoc_loop_buffer_t *odd = byoc_loop_allocate(b, "odd", dtype, SQUARE_AREA);
  const byoc_loop_expr_t *zero = number(nest, 0), *side = number(nest, SQUARE);
  const byoc_loop_expr_t *row = byoc_loop_for(b, BYOC_LOOP_UNROLL, "row", zero, number(nest, SQUARE / 2));
  const byoc_loop_expr_t *column = byoc_loop_for(b, BYOC_LOOP_VECTOR, "column", zero, side);
  const byoc_loop_expr_t *at = BYOC_LADD(b, BYOC_LMUL(b, row, number(nest, 2 * SQUARE)), twice(nest, column, 0));
  nest->own[crossing->a] = BYOC_LADD(b, first_a, column);
  for (int64_t half = 0; half < 2; ++half) {
    nest->own[crossing->b] = BYOC_LADD(b, first_b, BYOC_LADD(b, row, number(nest, half * SQUARE / 2)));
    store_value(nest, even, BYOC_LADD(b, at, number(nest, half)));
  }
  byoc_loop_end(b);
  byoc_loop_end(b);
  shuffle(nest, even, odd);
  shuffle(nest, odd, even);
  shuffle(nest, even, odd);
  row = byoc_loop_for(b, BYOC_LOOP_UNROLL, "row", zero, side);
  column = byoc_loop_for(b, BYOC_LOOP_VECTOR, "column", zero, side);
  nest->own[crossing->a] = BYOC_LADD(b, first_a, row);
  nest->own[crossing->b] = BYOC_LADD(b, first_b, column);
  set_indices(nest);
  byoc_lower_store(nest->lower, nest->anchor, nest->result, nest->indices,
                   byoc_loop_load(b, odd, BYOC_LADD(b, BYOC_LMUL(b, row, side), column)));
  byoc_loop_end(b);
  byoc_loop_end(b);
}

// ---- tiles ----

static const byoc_loop_expr_t *least_of(nest_t *nest, const byoc_loop_expr_t *x, int32_t loop, int64_t side) {
  if (is_whole(nest->walk, loop, side)) return x;
  return byoc_loop_binary(nest->b, BYOC_LOOP_OP_MIN, x, nest->walk->extent[loop]);
}

// Goes element by element from (a, b) on.
static void lower_plain(nest_t *nest, const byoc_loop_expr_t *first_a, const byoc_loop_expr_t *first_b, int64_t side) {
  byoc_loop_builder_t *b = nest->b;
  const crossing_t *crossing = nest->crossing;
  const byoc_loop_expr_t *end_a = least_of(nest, BYOC_LADD(b, first_a, number(nest, side)), crossing->a, side);
  const byoc_loop_expr_t *end_b = least_of(nest, BYOC_LADD(b, first_b, number(nest, side)), crossing->b, side);
  byoc_loop_for_kind_t kind = crossing->run >= 0 ? BYOC_LOOP_SERIAL : BYOC_LOOP_VECTOR;
  nest->own[crossing->a] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", first_a, end_a);
  nest->own[crossing->b] = byoc_loop_for(b, kind, "i", first_b, end_b);
  if (crossing->run >= 0)
    nest->own[crossing->run] =
        byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", number(nest, 0), nest->walk->extent[crossing->run]);
  set_indices(nest);
  byoc_schedule_element(nest->lower, nest->anchor, nest->result, nest->indices);
  for (int32_t i = crossing->run >= 0 ? 3 : 2; i > 0; --i) byoc_loop_end(b);
}

// Walks a tile square by square; squares that the edge cuts are done element by element.
static void lower_squares(nest_t *nest, const byoc_loop_expr_t *first_a, const byoc_loop_expr_t *first_b) {
  byoc_loop_builder_t *b = nest->b;
  const int32_t loops[] = {nest->crossing->a, nest->crossing->b};
  const byoc_loop_expr_t *first[] = {first_a, first_b}, *side = number(nest, SQUARE), *whole = NULL;
  for (int i = 0; i < 2; ++i) {
    const byoc_loop_expr_t *end = least_of(nest, BYOC_LADD(b, first[i], number(nest, TILE)), loops[i], TILE);
    const byoc_loop_expr_t *count = BYOC_LADD(b, BYOC_LSUB(b, end, first[i]), number(nest, SQUARE - 1));
    count = byoc_loop_binary(b, BYOC_LOOP_OP_FLOORDIV, count, side);
    const byoc_loop_expr_t *square = byoc_loop_for(b, BYOC_LOOP_SERIAL, "square", number(nest, 0), count);
    first[i] = byoc_loop_let(b, "from", BYOC_LADD(b, first[i], BYOC_LMUL(b, square, side)));
    if (is_whole(nest->walk, loops[i], SQUARE)) continue;
    const byoc_loop_expr_t *fits =
        byoc_loop_binary(b, BYOC_LOOP_OP_LE, BYOC_LADD(b, first[i], side), nest->walk->extent[loops[i]]);
    whole = whole ? byoc_loop_binary(b, BYOC_LOOP_OP_AND, whole, fits) : fits;
  }
  if (whole) byoc_loop_if(b, whole);
  lower_square(nest, first[0], first[1]);
  if (whole) {
    byoc_loop_else(b);
    lower_plain(nest, first[0], first[1], SQUARE);
    byoc_loop_end(b);
  }
  byoc_loop_end(b);
  byoc_loop_end(b);
}

bool byoc_kernel_lower_transposed(byoc_lower_t *lower, const byoc_node_t *anchor, uint32_t result,
                                  const byoc_walk_t *walk, const byoc_loop_expr_t **indices) {
  crossing_t crossing;
  const byoc_type_t *space = anchor->results[result]->type;
  if (!find_crossing(lower, space, walk, &crossing)) return false;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  nest_t nest = {lower, b, anchor, result, walk, &crossing, {NULL}, indices};
  const byoc_loop_expr_t *counts[BYOC_MAX_RANK] = {NULL}, *total = number(&nest, 1);
  for (int32_t i = 0; i < walk->count; ++i) {
    if (i == crossing.run) continue;
    bool tiled = i == crossing.a || i == crossing.b;
    const byoc_loop_expr_t *side = number(&nest, crossing.side), *more = number(&nest, crossing.side - 1);
    counts[i] =
        tiled ? byoc_loop_binary(b, BYOC_LOOP_OP_FLOORDIV, BYOC_LADD(b, walk->extent[i], more), side) : walk->extent[i];
    total = BYOC_LMUL(b, total, counts[i]);
  }
  const byoc_loop_expr_t *tile = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "p", number(&nest, 0), total);
  for (int32_t i = walk->count - 1; i >= 0; --i) {
    if (!counts[i]) continue;
    const byoc_loop_expr_t *at = byoc_loop_binary(b, BYOC_LOOP_OP_MOD, tile, counts[i]);
    tile = byoc_loop_binary(b, BYOC_LOOP_OP_FLOORDIV, tile, counts[i]);
    bool tiled = i == crossing.a || i == crossing.b;
    nest.own[i] = byoc_loop_let(b, "at", tiled ? BYOC_LMUL(b, at, number(&nest, crossing.side)) : at);
  }
  // Shuffles move the anchor's own elements only: operands of an elementwise anchor lie along the result.
  if (crossing.run < 0 && byoc_is_transpose(anchor, space))
    lower_squares(&nest, nest.own[crossing.a], nest.own[crossing.b]);
  else
    lower_plain(&nest, nest.own[crossing.a], nest.own[crossing.b], crossing.side);
  byoc_loop_end(b);
  return true;
}

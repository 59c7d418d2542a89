// SPDX-License-Identifier: Apache-2.0
// Data movement of later operator sets: Col2Im, CenterCropPad, RotaryEmbedding.
#include <string.h>

#include "core/op/util.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))

// ---- Col2Im: puts blocks back where they came from, and adds overlaps ----
static int64_t list_value(const byoc_node_t *node, const char *name, int32_t index, int64_t fallback) {
  size_t count = 0;
  const int64_t *values = byoc_node_ints(node, name, &count);
  return values && (size_t)index < count ? values[index] : fallback;
}

// Limits for any shapes, so that nothing is divided by 0 and sums do not overflow.
static byoc_status_t need_attributes(const byoc_infer_t *infer) {
  static const struct {
    const char *name;
    int64_t least, most;
  } rows[] = {{"strides", 1, INT32_MAX}, {"dilations", 1, INT16_MAX}, {"pads", 0, INT32_MAX}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    size_t count = 0;
    const int64_t *values = byoc_node_ints(infer->node, rows[i].name, &count);
    for (size_t k = 0; values && k < count; ++k) {
      if (values[k] >= rows[i].least && values[k] <= rows[i].most) continue;
      return byoc_infer_error(infer, "attribute '%s': expected %lld to %lld, got %lld", rows[i].name,
                              (long long)rows[i].least, (long long)rows[i].most, (long long)values[k]);
    }
  }
  return BYOC_OK;
}

// There must be as many blocks as fit into the image, if that is known; ranks and attributes have been checked.
static byoc_status_t need_blocks(const byoc_infer_t *infer, int32_t spatial, const byoc_dim_t *image,
                                 const byoc_dim_t *block) {
  const byoc_node_t *node = infer->node;
  int64_t blocks = 1;
  for (int32_t d = 0; d < spatial; ++d) {
    if (!byoc_dim_is_constant(image[d]) || !byoc_dim_is_constant(block[d])) return BYOC_OK;
    int64_t stride = list_value(node, "strides", d, 1), dilation = list_value(node, "dilations", d, 1);
    int64_t pads = list_value(node, "pads", d, 0) + list_value(node, "pads", spatial + d, 0);
    int64_t size = image[d].constant, taps = block[d].constant;
    bool is_small = taps >= 1 && taps <= INT16_MAX && size >= 0 && size <= INT32_MAX;
    if (!is_small) return byoc_infer_error(infer, "image or block are out of range in dimension %d", d);
    int64_t room = size + pads - dilation * (taps - 1) - 1;
    if (__builtin_mul_overflow(blocks, room < 0 ? 0 : room / stride + 1, &blocks)) return BYOC_OK;
  }
  return byoc_infer_need_dim(infer, 0, 2, byoc_dim_constant(blocks));
}

static byoc_status_t infer_col2im(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(need_attributes(infer));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_number, "a numeric tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 3, 3));
  for (uint32_t i = 1; i < 3; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, byoc_dtype_is_integer, "a shape of integers"));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, i, 1, 1));
  }
  const byoc_type_t *x = byoc_operand_type(node, 0);
  byoc_dim_t image[BYOC_MAX_RANK], block[BYOC_MAX_RANK], dims[BYOC_MAX_RANK];
  int32_t spatial = 0, block_rank = 0;
  bool known = byoc_is_ranked(x) && byoc_shape_value(node->operands[1], infer->arena, &spatial, image) &&
               byoc_shape_value(node->operands[2], infer->arena, &block_rank, block);
  if (!known) {
    int64_t count = byoc_type_element_count(byoc_operand_type(node, 1));
    const byoc_type_t *sizes = byoc_operand_type(node, 1);
    if (byoc_is_ranked(sizes)) BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 2, 0, sizes->dims[0]));
    if (count < 1 || count > BYOC_MAX_RANK - 2) return byoc_infer_set_open_rank(infer, x->dtype, 2, BYOC_DIM_ADD, 1);
    return byoc_infer_set_unknown(infer, 0, x->dtype, (int32_t)count + 2);
  }
  if (spatial != block_rank || spatial < 1 || spatial > BYOC_MAX_RANK - 2) {
    return byoc_infer_error(infer, "blocks of %d dimensions do not make an image of %d", block_rank, spatial);
  }
  byoc_dim_t taps = byoc_dim_constant(1);
  bool failed = false;
  for (int32_t d = 0; d < spatial; ++d) {
    taps = byoc_infer_dim(infer, BYOC_DIM_MUL, taps, block[d], &failed);
    dims[2 + d] = image[d];
  }
  if (byoc_dim_is_constant(taps) && taps.constant < 1)
    return byoc_infer_error(infer, "operand 2: a block must not be empty");
  BYOC_RETURN_IF_ERROR(need_blocks(infer, spatial, image, block));
  BYOC_RETURN_IF_ERROR(byoc_infer_relate(infer, BYOC_RELATION_MULTIPLE, byoc_side_of(infer, 0, 1),
                                         byoc_side(taps, "the number of elements of a block")));
  dims[0] = x->dims[0];
  dims[1] = byoc_infer_dim(infer, BYOC_DIM_FLOORDIV, x->dims[1], taps, &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, x->dtype, 2 + spatial, dims);
}

// Each element of the image is the sum, over the taps of a block, of the elements that blocks put there.
static byoc_status_t loops_col2im(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *y = node->results[0]->type;
  byoc_dtype_t dtype = byoc_compute_dtype(y->dtype);
  int32_t spatial = y->rank - 2;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *zero = byoc_loop_int(b, 0), *one = byoc_loop_int(b, 1);
  const byoc_loop_expr_t *block[BYOC_MAX_RANK], *count[BYOC_MAX_RANK], *taps = one;
  for (int32_t d = 0; d < spatial; ++d) { // the number of blocks along each dimension
    int64_t pads = list_value(node, "pads", d, 0) + list_value(node, "pads", spatial + d, 0);
    block[d] = byoc_loop_let(b, "block", byoc_emit_int(lower, node, 2, d));
    const byoc_loop_expr_t *reach =
        BYOC_LMUL(b, BYOC_LSUB(b, block[d], one), byoc_loop_int(b, list_value(node, "dilations", d, 1)));
    const byoc_loop_expr_t *room = BYOC_LADD(b, byoc_emit_dim(b, y, 2 + d), byoc_loop_int(b, pads - 1));
    room = BYOC_LDIV(b, BYOC_LSUB(b, room, reach), byoc_loop_int(b, list_value(node, "strides", d, 1)));
    count[d] = byoc_loop_let(b, "count", BYOC_LADD(b, room, one));
    taps = BYOC_LMUL(b, taps, block[d]);
  }
  int32_t opened = byoc_emit_open(b, y, 0, y->rank, true, at);
  const byoc_loop_expr_t *sum = byoc_loop_mutable(b, "sum", byoc_loop_const(b, dtype, 0.0));
  const byoc_loop_expr_t *tap = zero, *place = zero, *fits = NULL;
  for (int32_t d = 0; d < spatial; ++d) {
    const byoc_loop_expr_t *k = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", zero, block[d]);
    const byoc_loop_expr_t *stride = byoc_loop_int(b, list_value(node, "strides", d, 1));
    const byoc_loop_expr_t *from = BYOC_LADD(b, at[2 + d], byoc_loop_int(b, list_value(node, "pads", d, 0)));
    from = BYOC_LSUB(b, from, BYOC_LMUL(b, k, byoc_loop_int(b, list_value(node, "dilations", d, 1))));
    from = byoc_loop_let(b, "from", from);
    const byoc_loop_expr_t *index = byoc_loop_let(b, "index", BYOC_LDIV(b, from, stride));
    const byoc_loop_expr_t *here =
        BIN(AND, BIN(EQ, BYOC_LMUL(b, index, stride), from), byoc_emit_within(b, index, zero, count[d]));
    fits = fits ? BIN(AND, fits, here) : here;
    tap = BYOC_LADD(b, BYOC_LMUL(b, tap, block[d]), k);
    place = BYOC_LADD(b, BYOC_LMUL(b, place, count[d]), index);
  }
  // Sizes that are data may differ from those that made the operand; nothing outside of the operand is read.
  const byoc_type_t *x = node->operands[0]->type;
  const byoc_loop_expr_t *column = byoc_loop_let(b, "column", BYOC_LADD(b, BYOC_LMUL(b, at[1], taps), tap));
  fits = BIN(AND, fits, byoc_emit_within(b, column, zero, byoc_emit_dim(b, x, 1)));
  fits = BIN(AND, fits, byoc_emit_within(b, place, zero, byoc_emit_dim(b, x, 2)));
  byoc_loop_if(b, fits);
  const byoc_loop_expr_t *from[] = {at[0], column, place};
  byoc_loop_assign(b, sum, BYOC_LADD(b, sum, byoc_emit_load(lower, node, 0, from)));
  byoc_emit_close(b, spatial + 1);
  byoc_emit_store(lower, node, 0, at, sum);
  byoc_emit_close(b, opened);
  return BYOC_OK;
}

// Checks sizes that are data as need_blocks and infer_col2im check known ones. The number of blocks is computed in
// floats, which do not overflow.
typedef struct sizes_t {
  const byoc_loop_expr_t *taps, *blocks, *fit; // elements and number of blocks; whether sizes are in range
} sizes_t;

static void add_size(byoc_loop_builder_t *b, const byoc_node_t *node, const byoc_loop_expr_t *image,
                     const byoc_loop_expr_t *block, int32_t spatial, int32_t d, sizes_t *sizes) {
  const byoc_loop_expr_t *one = byoc_loop_int(b, 1), *zero = byoc_loop_int(b, 0), *most = byoc_loop_int(b, INT32_MAX);
  const int64_t pads = list_value(node, "pads", d, 0) + list_value(node, "pads", spatial + d, 0);
  const byoc_loop_expr_t *fits = BIN(AND, byoc_emit_within(b, block, one, byoc_loop_int(b, INT16_MAX + 1)),
                                     byoc_emit_within(b, image, zero, byoc_loop_int(b, (int64_t)INT32_MAX + 1)));
  image = BYOC_LMAX(b, zero, BYOC_LMIN(b, image, most));
  block = BYOC_LMAX(b, one, BYOC_LMIN(b, block, byoc_loop_int(b, INT16_MAX)));
  const byoc_loop_expr_t *reach =
      BYOC_LMUL(b, BYOC_LSUB(b, block, one), byoc_loop_int(b, list_value(node, "dilations", d, 1)));
  const byoc_loop_expr_t *room = BYOC_LSUB(b, BYOC_LADD(b, image, byoc_loop_int(b, pads - 1)), reach);
  const byoc_loop_expr_t *count =
      BYOC_LADD(b, BYOC_LDIV(b, room, byoc_loop_int(b, list_value(node, "strides", d, 1))), one);
  count = byoc_emit_as(b, BYOC_DTYPE_F64, BYOC_LMAX(b, count, zero));
  sizes->fit = sizes->fit ? BIN(AND, sizes->fit, fits) : fits;
  sizes->taps = sizes->taps ? BYOC_LMUL(b, BYOC_LMIN(b, sizes->taps, most), block) : block;
  sizes->blocks = sizes->blocks ? BYOC_LMUL(b, sizes->blocks, count) : count;
}

static const byoc_loop_expr_t *shape_col2im(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  (void)result;
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type;
  if (d == 0) return byoc_emit_dim(b, x, 0);
  if (d > 1) return byoc_emit_int(lower, node, 1, d - 2);
  const int64_t spatial = byoc_type_element_count(node->operands[2]->type);
  if (spatial < 1 || spatial > BYOC_MAX_RANK - 2) return NULL;
  sizes_t sizes = {0};
  for (int32_t i = 0; i < spatial; ++i) {
    const byoc_loop_expr_t *image = byoc_emit_int(lower, node, 1, i), *block = byoc_emit_int(lower, node, 2, i);
    add_size(b, node, image, block, (int32_t)spatial, i, &sizes);
  }
  const byoc_loop_expr_t *channels = byoc_emit_dim(b, x, 1), *zero = byoc_loop_int(b, 0);
  const byoc_loop_expr_t *divides = BIN(EQ, BYOC_LMOD(b, channels, sizes.taps), zero);
  const byoc_loop_expr_t *is_count = BIN(EQ, byoc_emit_as(b, BYOC_DTYPE_F64, byoc_emit_dim(b, x, 2)), sizes.blocks);
  const byoc_loop_expr_t *fit = BIN(AND, sizes.fit, BIN(AND, divides, is_count));
  return byoc_loop_select(b, fit, BYOC_LDIV(b, channels, sizes.taps), byoc_loop_int(b, BYOC_SIZE_DOES_NOT_FIT));
}

// ---- CenterCropPad ----
static byoc_status_t infer_crop(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, NULL, "a tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_integer, "a shape of integers"));
  const byoc_type_t *x = byoc_operand_type(node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  size_t axis_count = 0;
  const int64_t *axes = byoc_node_ints(node, "axes", &axis_count);
  byoc_dim_t sizes[BYOC_MAX_RANK], dims[BYOC_MAX_RANK];
  int32_t count = 0, rank = axes ? (int32_t)axis_count : x->rank;
  bool known = byoc_shape_value(node->operands[1], infer->arena, &count, sizes), failed = false;
  if (!known) BYOC_RETURN_IF_ERROR(byoc_infer_need_list(infer, 1, rank));
  if (known && count != rank)
    return byoc_infer_error(infer, "operand 1: expected %d size%s, got %d", rank, byoc_plural((uint64_t)rank), count);
  for (int32_t d = 0; d < x->rank; ++d) dims[d] = x->dims[d];
  for (int32_t i = 0; i < rank; ++i) {
    int32_t axis = i;
    if (axes && !byoc_normalize_axis(axes[i], x->rank, &axis)) {
      return byoc_infer_error(infer, "attribute 'axes': expected values in [%d, %d], got %lld", -x->rank, x->rank - 1,
                              (long long)axes[i]);
    }
    dims[axis] = known ? sizes[i] : byoc_infer_unknown_dim(infer, &failed);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, x->dtype, x->rank, dims);
}

// If the difference is odd, the smaller half is at the beginning, both for cutting and for padding.
static const byoc_loop_expr_t *point_crop(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                          const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[result]->type;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *inside = NULL, *zero = byoc_loop_int(b, 0), *two = byoc_loop_int(b, 2);
  for (int32_t d = 0; d < x->rank; ++d) {
    at[d] = indices[d];
    if (byoc_dim_equal(x->dims[d], y->dims[d])) continue;
    const byoc_loop_expr_t *in = byoc_emit_dim(b, x, d), *out = byoc_emit_dim(b, y, d);
    const byoc_loop_expr_t *cut = BYOC_LMAX(b, zero, BYOC_LDIV(b, BYOC_LSUB(b, in, out), two));
    const byoc_loop_expr_t *pad = BYOC_LMAX(b, zero, BYOC_LDIV(b, BYOC_LSUB(b, out, in), two));
    at[d] = BYOC_LSUB(b, BYOC_LADD(b, indices[d], cut), pad);
    const byoc_loop_expr_t *here = byoc_emit_within(b, at[d], zero, in);
    inside = inside ? BIN(AND, inside, here) : here;
  }
  const byoc_loop_expr_t *value = byoc_lower_load(lower, node, 0, at);
  return inside && value ? byoc_loop_select(b, inside, value, byoc_loop_const(b, value->dtype, 0.0)) : value;
}

static const byoc_loop_expr_t *shape_crop(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result, int32_t d) {
  (void)result;
  size_t count;
  int32_t rank = node->operands[0]->type->rank, at = d;
  const int64_t *axes = byoc_node_ints(node, "axes", &count);
  for (size_t i = 0; i < count; ++i) {
    if (axes[i] == d || axes[i] + rank == d) at = (int32_t)i;
  }
  return byoc_emit_int(lower, node, 1, at);
}

// ---- RotaryEmbedding ----
// Operands: x as [batch, heads, positions, size] or [batch, positions, heads * size], cosines, sines, positions.
static byoc_status_t infer_rotary(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  for (uint32_t i = 0; i < 3; ++i)
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, byoc_dtype_is_float, "a float tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 0, 3, 4));
  int32_t rank = byoc_has_operand(node, 3) ? 2 : 3;
  for (uint32_t i = 1; i < 3; ++i) BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, i, rank, rank));
  const byoc_type_t *x = byoc_operand_type(node, 0), *cosines = byoc_operand_type(node, 1);
  if (byoc_has_operand(node, 3)) BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 3, byoc_dtype_is_integer, "positions"));
  if (!byoc_is_ranked(x) || !byoc_is_ranked(cosines)) return byoc_infer_same(infer);
  int64_t heads = byoc_node_int(node, "num_heads");
  if (x->rank == 3 && heads < 1) {
    return byoc_infer_error(infer, "attribute 'num_heads' is required for an operand of rank 3");
  }
  bool failed = false;
  byoc_dim_t size = x->dims[x->rank - 1];
  if (x->rank == 3) {
    BYOC_RETURN_IF_ERROR(byoc_infer_relate(infer, BYOC_RELATION_MULTIPLE, byoc_side_of(infer, 0, 2),
                                           byoc_side(byoc_dim_constant(heads), "attribute 'num_heads'")));
    size = byoc_infer_dim(infer, BYOC_DIM_FLOORDIV, size, byoc_dim_constant(heads), &failed);
  }
  byoc_side_t rotated = byoc_side(size, "the size of a head");
  const int64_t given = byoc_node_int(node, "rotary_embedding_dim");
  if (given < 0) return byoc_infer_error(infer, "attribute 'rotary_embedding_dim' is %lld", (long long)given);
  if (given > 0) {
    const byoc_side_t whole = rotated;
    rotated = byoc_side(byoc_dim_constant(given), "attribute 'rotary_embedding_dim'");
    BYOC_RETURN_IF_ERROR(byoc_infer_relate(infer, BYOC_RELATION_AT_MOST, rotated, whole));
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_relate(infer, BYOC_RELATION_MULTIPLE, rotated, byoc_side_number(2)));
  const byoc_dim_t angles = byoc_infer_dim(infer, BYOC_DIM_FLOORDIV, rotated.dim, byoc_dim_constant(2), &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  const byoc_dim_t places[] = {x->dims[0], x->dims[x->rank == 3 ? 1 : 2], angles}, cache[] = {cosines->dims[0], angles};
  for (uint32_t i = 1; i < 3; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, i, rank, rank == 2 ? cache : places));
  }
  bool is_empty = rank == 2 && byoc_dim_is_constant(cache[0]) && cache[0].constant == 0;
  if (is_empty && byoc_type_element_count(x) != 0)
    return byoc_infer_error(infer, "operand 1: there is no angle for the elements of operand 0");
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, 3, 2, places));
  if (rank == 2) {
    const byoc_dim_t wanted = byoc_infer_dim(infer, BYOC_DIM_MUL, places[0], places[1], &failed);
    BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
    BYOC_RETURN_IF_ERROR(byoc_infer_need_some(infer, 1, 0, wanted));
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_indices(infer, 3, "the positions", byoc_side_of(infer, 1, 0)));
  return byoc_infer_same(infer);
}

// Pairs of elements are rotated by the angle of their position. A pair is made of the two halves, or of neighbours.
static const byoc_loop_expr_t *point_rotary(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                            const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[result]->type;
  byoc_dtype_t dtype = byoc_compute_dtype(x->dtype);
  bool interleaved = byoc_node_flag(node, "interleaved");
  int64_t rotated = byoc_node_int(node, "rotary_embedding_dim");
  int32_t last = x->rank - 1;
  const byoc_loop_expr_t *size = byoc_emit_dim(b, x, last), *one = byoc_loop_int(b, 1), *two = byoc_loop_int(b, 2);
  if (x->rank == 3) size = BYOC_LDIV(b, size, byoc_loop_int(b, byoc_node_int(node, "num_heads")));
  const byoc_loop_expr_t *part = rotated > 0 ? byoc_loop_int(b, rotated) : size, *half = BYOC_LDIV(b, part, two);
  const byoc_loop_expr_t *h = x->rank == 3 ? BYOC_LMOD(b, indices[last], size) : indices[last];
  const byoc_loop_expr_t *base = BYOC_LSUB(b, indices[last], h), *pair = NULL, *first = NULL;
  if (interleaved) {
    pair = BYOC_LDIV(b, h, two);
    first = BIN(EQ, BYOC_LMOD(b, h, two), byoc_loop_int(b, 0));
  } else {
    first = BIN(LT, h, half);
    pair = byoc_loop_select(b, first, h, BYOC_LSUB(b, h, half));
  }
  // No angles are read for elements after the rotated part.
  const byoc_loop_expr_t *turned = BIN(LT, h, part), *angle = BYOC_LMIN(b, pair, BYOC_LSUB(b, half, one)), *value[2];
  const byoc_loop_expr_t *position[] = {indices[0], indices[x->rank == 3 ? 1 : 2], angle}, *from[BYOC_MAX_RANK];
  const byoc_loop_expr_t *const *place = position;
  const byoc_loop_expr_t *looked_up[2] = {NULL, angle};
  if (byoc_has_operand(node, 3)) {
    looked_up[0] =
        byoc_emit_index(b, byoc_lower_load(lower, node, 3, position), byoc_emit_dim(b, node->operands[1]->type, 0));
    place = looked_up;
  }
  const byoc_loop_expr_t *c = byoc_emit_as(b, dtype, byoc_emit_load(lower, node, 1, place));
  const byoc_loop_expr_t *s = byoc_emit_as(b, dtype, byoc_emit_load(lower, node, 2, place));
  for (int32_t d = 0; d < last; ++d) from[d] = indices[d];
  for (int32_t i = 0; i < 2; ++i) {
    const byoc_loop_expr_t *at = interleaved ? BYOC_LADD(b, BYOC_LMUL(b, angle, two), byoc_loop_int(b, i))
                                 : i == 0    ? angle
                                             : BYOC_LADD(b, angle, half);
    from[last] = BYOC_LADD(b, base, at);
    value[i] = byoc_emit_load(lower, node, 0, from);
  }
  const byoc_loop_expr_t *real = BYOC_LSUB(b, BYOC_LMUL(b, value[0], c), BYOC_LMUL(b, value[1], s));
  const byoc_loop_expr_t *imaginary = BYOC_LADD(b, BYOC_LMUL(b, value[0], s), BYOC_LMUL(b, value[1], c));
  const byoc_loop_expr_t *plain = byoc_emit_load(lower, node, 0, indices);
  return byoc_emit_as(b, y->dtype, byoc_loop_select(b, turned, byoc_loop_select(b, first, real, imaginary), plain));
}

static const byoc_op_attribute_t col2im_attributes[] = {
    {BYOC_ATTR(INTS, "dilations")},
    {BYOC_ATTR(INTS, "pads")},
    {BYOC_ATTR(INTS, "strides")},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t crop_attributes[] = {
    {BYOC_ATTR(INTS, "axes")},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t rotary_attributes[] = {
    {BYOC_ATTR_INT("interleaved", 0)},
    {BYOC_ATTR(INT, "num_heads")},
    {BYOC_ATTR_INT("rotary_embedding_dim", 0)},
    BYOC_ATTR_END,
};

const byoc_op_t byoc_ops_fold[] = {
    {.domain = "",
     .name = "Col2Im",
     .since_version = 18,
     .min_inputs = 3,
     .max_inputs = 3,
     .min_outputs = 1,
     .max_outputs = 1,
     .attributes = col2im_attributes,
     .infer = infer_col2im,
     .loops = loops_col2im,
     .shape_operands = 0x6,
     .shape_elements = 0x6,
     .shape = shape_col2im},
    {.domain = "",
     .name = "CenterCropPad",
     .since_version = 18,
     .min_inputs = 2,
     .max_inputs = 2,
     .min_outputs = 1,
     .max_outputs = 1,
     .traits = BYOC_OP_INJECTIVE,
     .attributes = crop_attributes,
     .infer = infer_crop,
     .point = point_crop,
     .shape_operands = 0x2,
     .shape_elements = 0x2,
     .by_shape = 0x2,
     .shape = shape_crop},
    {.domain = "",
     .name = "RotaryEmbedding",
     .since_version = 23,
     .min_inputs = 3,
     .max_inputs = 4,
     .min_outputs = 1,
     .max_outputs = 1,
     .traits = BYOC_OP_LIMITS,
     .attributes = rotary_attributes,
     .infer = infer_rotary,
     .point = point_rotary},
};
const size_t byoc_ops_fold_count = sizeof byoc_ops_fold / sizeof *byoc_ops_fold;

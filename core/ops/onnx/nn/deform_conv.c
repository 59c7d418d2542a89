// SPDX-License-Identifier: Apache-2.0
// DeformConv: a convolution whose taps are moved by offsets that are data, and weighted by a mask. For each result
// pixel, the samples of all channels and taps are gathered once; then every output channel sums the samples of its
// group.
#include <string.h>

#include "core/ops/loops/window.h"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))
#define UN(op, x)     byoc_loop_unary(b, BYOC_LOOP_OP_##op, (x))

enum { IN_X, IN_W, IN_OFFSET, IN_B, IN_MASK };
enum { MOST_SAMPLES = 1 << 16 }; // per pixel: they are on the stack

static byoc_status_t infer_deform(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  for (uint32_t i = IN_X; i <= IN_OFFSET; ++i) {
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, byoc_dtype_is_float, "a float tensor"));
  }
  for (uint32_t i = IN_W; i <= IN_MASK; ++i) BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, i));
  const byoc_type_t *x = byoc_operand_type(node, IN_X), *w = byoc_operand_type(node, IN_W);
  if (!byoc_is_ranked(x) || !byoc_is_ranked(w)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, IN_X, 3, BYOC_MAX_SPATIAL + 2));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, IN_W, x->rank, x->rank));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, IN_OFFSET, x->rank, x->rank));
  byoc_window_t window;
  BYOC_RETURN_IF_ERROR(byoc_window_read(infer, x, w->dims + 2, &window));
  if (window.is_open) return byoc_infer_unsupported(infer, "a kernel of symbolic size is not supported");
  int64_t group = byoc_node_int(node, "group");
  int64_t offsets = byoc_node_int(node, "offset_group");
  if (group < 1 || offsets < 1 || group > INT16_MAX || offsets > INT16_MAX) {
    return byoc_infer_error(infer, "attributes 'group' and 'offset_group': expected 1 to %d", INT16_MAX);
  }
  byoc_dim_t c = x->dims[1];
  if (!byoc_dim_is_constant(c))
    return byoc_infer_unsupported(infer, "a number of channels that is not constant is not supported");
  if (c.constant % group != 0 || c.constant % offsets != 0) {
    return byoc_infer_error(infer, "%lld channels do not divide into the groups", (long long)c.constant);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, IN_W, 1, byoc_dim_constant(c.constant / group)));
  byoc_dim_t moved = byoc_dim_constant(offsets * window.taps * window.spatial);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, IN_OFFSET, 1, moved));
  byoc_dim_t dims[BYOC_MAX_SPATIAL + 2] = {x->dims[0], w->dims[0]};
  for (int32_t d = 0; d < window.spatial; ++d) dims[2 + d] = window.out[d];
  if (byoc_dim_is_constant(w->dims[0]) && w->dims[0].constant % group != 0) {
    return byoc_infer_error(infer, "%lld results do not divide into %lld groups", (long long)w->dims[0].constant,
                            (long long)group);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_multiple(infer, IN_W, 0, group));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, IN_B, 1, w->dims));
  for (uint32_t i = IN_OFFSET; i <= IN_MASK; ++i) {
    if (i == IN_B) continue;
    byoc_dim_t expected[BYOC_MAX_SPATIAL + 2];
    memcpy(expected, dims, sizeof expected);
    expected[1] = i == IN_MASK ? byoc_dim_constant(offsets * window.taps) : moved;
    BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, i, x->rank, expected));
  }
  return byoc_infer_set(infer, 0, x->dtype, x->rank, dims);
}

// A point far outside (also an infinite one) becomes a point a little outside, where no neighbour counts and indices do
// not overflow. NaN stays.
static const byoc_loop_expr_t *bring_near(byoc_loop_builder_t *b, const byoc_loop_expr_t *place,
                                          const byoc_loop_expr_t *extent) {
  if (!place) return NULL;
  const byoc_loop_expr_t *low = byoc_loop_const(b, place->dtype, -2.0);
  const byoc_loop_expr_t *high = byoc_emit_as(b, place->dtype, BYOC_LADD(b, extent, byoc_loop_int(b, 1)));
  place = byoc_loop_select(b, BIN(LT, place, low), low, place);
  return byoc_loop_let(b, "place", byoc_loop_select(b, BIN(LT, high, place), high, place));
}

typedef struct {
  byoc_lower_t *lower;
  byoc_loop_builder_t *b;
  const byoc_node_t *node;
  const byoc_type_t *x;
  byoc_dtype_t dtype;
  int32_t spatial;
  const byoc_loop_expr_t *low[BYOC_MAX_SPATIAL], *f[BYOC_MAX_SPATIAL]; // the neighbour below and the fraction above it
} sample_t;

// The linear interpolation of x[n, c] at the current place; neighbours outside count as 0.
static const byoc_loop_expr_t *interpolate(const sample_t *s, int32_t d, const byoc_loop_expr_t **at,
                                           const byoc_loop_expr_t *inside) {
  byoc_loop_builder_t *b = s->b;
  if (d == s->spatial) {
    const byoc_loop_expr_t *x = byoc_emit_load(s->lower, s->node, IN_X, at);
    return byoc_loop_select(b, inside, x, byoc_loop_const(b, s->dtype, 0.0));
  }
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *extent = byoc_emit_dim(b, s->x, 2 + d), *sum = NULL;
  for (int32_t k = 0; k < 2; ++k) {
    const byoc_loop_expr_t *index = BYOC_LADD(b, s->low[d], byoc_loop_int(b, k));
    const byoc_loop_expr_t *here = byoc_emit_within(b, index, zero, extent);
    at[2 + d] = BYOC_LMAX(b, zero, BYOC_LMIN(b, index, BYOC_LSUB(b, extent, byoc_loop_int(b, 1))));
    const byoc_loop_expr_t *value = interpolate(s, d + 1, at, inside ? BIN(AND, inside, here) : here);
    const byoc_loop_expr_t *weight = k == 1 ? s->f[d] : BYOC_LSUB(b, byoc_loop_const(b, s->dtype, 1.0), s->f[d]);
    value = BYOC_LMUL(b, value, weight);
    sum = sum ? BYOC_LADD(b, sum, value) : value;
  }
  return sum;
}

static byoc_status_t loops_deform(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  sample_t s = {.lower = lower, .b = b, .node = node, .x = node->operands[IN_X]->type};
  const byoc_type_t *w = node->operands[IN_W]->type, *y = node->results[0]->type;
  byoc_window_t window;
  BYOC_RETURN_IF_ERROR(byoc_window_of(node, s.x, w->dims + 2, &window));
  s.dtype = byoc_compute_dtype(s.x->dtype);
  s.spatial = window.spatial;
  int64_t channels = s.x->dims[1].constant, groups = byoc_node_int(node, "group");
  int64_t offset_groups = byoc_node_int(node, "offset_group");
  if (!byoc_dim_is_constant(s.x->dims[1])) {
    return byoc_lower_unsupported(lower, "the number of channels must be known");
  }
  if (channels > MOST_SAMPLES / window.taps) {
    return byoc_lower_unsupported(lower, "%lld channels times %lld taps are more than %d samples of a pixel",
                                  (long long)channels, (long long)window.taps, MOST_SAMPLES);
  }
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *taps = byoc_loop_int(b, window.taps), *at[BYOC_MAX_RANK];
  const byoc_loop_expr_t *pixels = byoc_emit_extent(b, y, 2, y->rank);
  const byoc_loop_expr_t *t =
      byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", zero, BYOC_LMUL(b, byoc_emit_dim(b, y, 0), pixels));
  at[0] = byoc_loop_let(b, "n", BYOC_LDIV(b, t, pixels));
  byoc_emit_unravel(b, y, 2, y->rank, BYOC_LMOD(b, t, pixels), at);
  for (int32_t d = 2; d < y->rank; ++d) at[d] = byoc_loop_let(b, "i", at[d]);
  const byoc_loop_buffer_t *samples = byoc_loop_allocate(b, "samples", s.dtype, channels * window.taps);
  const byoc_loop_expr_t *g = byoc_loop_for(b, BYOC_LOOP_SERIAL, "g", zero, byoc_loop_int(b, offset_groups));
  const byoc_loop_expr_t *k[BYOC_MAX_SPATIAL], *tap = zero, *from[BYOC_MAX_RANK];
  for (int32_t d = 0; d < s.spatial; ++d) {
    const byoc_loop_expr_t *size = byoc_loop_int(b, window.kernel[d]);
    k[d] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "k", zero, size);
    tap = BYOC_LADD(b, BYOC_LMUL(b, tap, size), k[d]);
  }
  for (int32_t d = 0; d < y->rank; ++d) from[d] = at[d];
  const byoc_loop_expr_t *row = byoc_loop_let(b, "row", BYOC_LADD(b, BYOC_LMUL(b, g, taps), tap));
  for (int32_t d = 0; d < s.spatial; ++d) {
    from[1] = BYOC_LADD(b, BYOC_LMUL(b, row, byoc_loop_int(b, s.spatial)), byoc_loop_int(b, d));
    const byoc_loop_expr_t *place = byoc_emit_as(b, s.dtype, byoc_window_input(b, &window, d, at[2 + d], k[d]));
    place = byoc_loop_let(b, "place", BYOC_LADD(b, place, byoc_emit_load(lower, node, IN_OFFSET, from)));
    place = bring_near(b, place, byoc_emit_dim(b, s.x, 2 + d));
    const byoc_loop_expr_t *floor = byoc_loop_let(b, "floor", UN(FLOOR, place));
    s.f[d] = byoc_loop_let(b, "f", BYOC_LSUB(b, place, floor));
    s.low[d] = byoc_loop_let(b, "low", byoc_emit_as(b, BYOC_DTYPE_I64, floor));
  }
  const byoc_loop_expr_t *mask = NULL;
  from[1] = row;
  if (byoc_has_operand(node, IN_MASK)) mask = byoc_loop_let(b, "mask", byoc_emit_load(lower, node, IN_MASK, from));
  const byoc_loop_expr_t *each = byoc_loop_int(b, channels / offset_groups);
  const byoc_loop_expr_t *c = byoc_loop_for(b, BYOC_LOOP_SERIAL, "c", zero, each);
  from[1] = BYOC_LADD(b, BYOC_LMUL(b, g, each), c);
  const byoc_loop_expr_t *to = byoc_loop_let(b, "to", BYOC_LADD(b, BYOC_LMUL(b, from[1], taps), tap));
  const byoc_loop_expr_t *value = interpolate(&s, 0, from, NULL);
  byoc_loop_store(b, samples, to, mask ? BYOC_LMUL(b, value, mask) : value);
  byoc_emit_close(b, 2 + s.spatial);

  at[1] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "m", zero, byoc_emit_dim(b, y, 1));
  const byoc_loop_expr_t *depth = byoc_loop_int(b, channels / groups * window.taps);
  const byoc_loop_expr_t *rows = BYOC_LDIV(b, byoc_emit_dim(b, y, 1), byoc_loop_int(b, groups));
  const byoc_loop_expr_t *base = byoc_loop_let(b, "base", BYOC_LMUL(b, BYOC_LDIV(b, at[1], rows), depth));
  const byoc_loop_expr_t *start = byoc_loop_const(b, s.dtype, 0.0);
  if (byoc_has_operand(node, IN_B)) start = byoc_emit_load(lower, node, IN_B, &at[1]);
  const byoc_loop_expr_t *sum = byoc_loop_mutable(b, "sum", start);
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_SERIAL, "i", zero, depth);
  const byoc_loop_expr_t *weight = byoc_lower_load_flat(lower, node, IN_W, BYOC_LADD(b, BYOC_LMUL(b, at[1], depth), i));
  const byoc_loop_expr_t *x = byoc_loop_load(b, samples, BYOC_LADD(b, base, i));
  byoc_loop_assign(b, sum, BYOC_LADD(b, sum, BYOC_LMUL(b, byoc_emit_as(b, s.dtype, weight), x)));
  byoc_loop_end(b);
  byoc_emit_store(lower, node, 0, at, sum);
  byoc_emit_close(b, 2);
  return BYOC_OK;
}

static const byoc_op_attribute_t deform_attributes[] = {
    {BYOC_ATTR(INTS, "kernel_shape")},  BYOC_WINDOW_ATTRIBUTES, {BYOC_ATTR_INT("group", 1)},
    {BYOC_ATTR_INT("offset_group", 1)}, BYOC_ATTR_END,
};

#define DEFORM_CONV(version)                                                                                           \
  {                                                                                                                    \
    .domain = "", .name = "DeformConv", .since_version = version, .min_inputs = 3, .max_inputs = 5, .min_outputs = 1,  \
    .max_outputs = 1, .traits = BYOC_OP_HEAVY, .work = BYOC_WORK_CONVOLUTION, .attributes = deform_attributes,         \
    .infer = infer_deform, .loops = loops_deform                                                                       \
  }

const byoc_op_t byoc_ops_deform_conv[] = {DEFORM_CONV(19), DEFORM_CONV(22)};
const size_t byoc_ops_deform_conv_count = sizeof byoc_ops_deform_conv / sizeof *byoc_ops_deform_conv;

// SPDX-License-Identifier: Apache-2.0
// Transposed convolution: each output element gathers the input elements whose window covers it.
#include <string.h>

#include "core/op/axes.h"
#include "core/op/util.h"
#include "core/ops/loops/tile.h"
#include "core/ops/loops/window.h"
#include "core/ops/onnx/quantization/quantize_write.h"

typedef struct {
  int32_t spatial;
  int64_t kernel[BYOC_MAX_SPATIAL], stride[BYOC_MAX_SPATIAL], dilation[BYOC_MAX_SPATIAL];
  byoc_dim_t pad[BYOC_MAX_SPATIAL], out[BYOC_MAX_SPATIAL];
} transposed_t;

static int64_t entry(const byoc_node_t *node, const char *name, int32_t index, int64_t fallback) {
  size_t count = 0;
  const int64_t *values = byoc_node_ints(node, name, &count);
  return values && (size_t)index < count ? values[index] : fallback;
}

static byoc_status_t read_transposed(const byoc_infer_t *infer, const byoc_type_t *x, const byoc_type_t *w,
                                     transposed_t *t) {
  const byoc_node_t *node = infer->node;
  static const char *const names[] = {"kernel_shape", "strides", "dilations", "output_padding", "output_shape"};
  *t = (transposed_t){.spatial = x->rank - 2};
  if (t->spatial < 1 || t->spatial > BYOC_MAX_SPATIAL) {
    return byoc_infer_error(infer, "operand 0: expected rank 3 to %d, got rank %d", BYOC_MAX_SPATIAL + 2, x->rank);
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    size_t count = 0;
    byoc_node_ints(node, names[i], &count);
    if (count != 0 && count != (size_t)t->spatial) {
      return byoc_infer_error(infer, "attribute '%s': expected %d value%s, got %zu", names[i], t->spatial,
                              byoc_plural((uint64_t)t->spatial), count);
    }
    for (size_t j = 0; j < count; ++j) {
      int64_t value = entry(node, names[i], (int32_t)j, 0);
      if (value < 0 || value > INT32_MAX) {
        return byoc_infer_error(infer, "attribute '%s': %lld is out of range", names[i], (long long)value);
      }
    }
  }
  int mode = byoc_node_choice(node, "auto_pad");
  bool lower = mode == BYOC_AUTO_PAD_SAME_LOWER, same = lower || mode == BYOC_AUTO_PAD_SAME_UPPER;
  bool valid = mode == BYOC_AUTO_PAD_VALID;
  size_t given = 0, pad_count = 0;
  byoc_node_ints(node, "output_shape", &given);
  byoc_node_ints(node, "pads", &pad_count);
  if (pad_count != 0 && pad_count != 2 * (size_t)t->spatial) {
    return byoc_infer_error(infer, "attribute 'pads': expected %d values, got %zu", 2 * t->spatial, pad_count);
  }
  bool failed = false;
  for (int32_t d = 0; d < t->spatial; ++d) {
    if (!byoc_dim_is_constant(w->dims[2 + d])) {
      return byoc_infer_unsupported(infer, "a kernel of symbolic size is not supported");
    }
    t->kernel[d] = w->dims[2 + d].constant;
    if (t->kernel[d] < 1 || t->kernel[d] > INT32_MAX) {
      return byoc_infer_error(infer, "the size of the kernel must be at least 1, got %lld", (long long)t->kernel[d]);
    }
    t->stride[d] = entry(node, "strides", d, 1), t->dilation[d] = entry(node, "dilations", d, 1);
    if (t->stride[d] < 1 || t->dilation[d] < 1)
      return byoc_infer_error(infer, "strides and dilations must be at least 1");
    int64_t extra = entry(node, "output_padding", d, 0);
    int64_t reach = (t->kernel[d] - 1) * t->dilation[d] + 1;
    // full = (in - 1) * stride + reach + output_padding
    byoc_dim_t in = x->dims[2 + d], stride = byoc_dim_constant(t->stride[d]);
    byoc_dim_t full = byoc_infer_dim(infer, BYOC_DIM_SUB, in, byoc_dim_constant(1), &failed);
    full = byoc_infer_dim(infer, BYOC_DIM_MUL, full, stride, &failed);
    full = byoc_infer_dim(infer, BYOC_DIM_ADD, full, byoc_dim_constant(reach + extra), &failed);
    if (!same && given == 0) {
      int64_t before = valid ? 0 : entry(node, "pads", d, 0),
              after = valid ? 0 : entry(node, "pads", t->spatial + d, 0);
      if (before > INT32_MAX || before < -INT32_MAX || after > INT32_MAX || after < -INT32_MAX) {
        return byoc_infer_error(infer, "attribute 'pads' is out of range");
      }
      t->pad[d] = byoc_dim_constant(before);
      t->out[d] = byoc_infer_dim(infer, BYOC_DIM_SUB, full, byoc_dim_constant(before + after), &failed);
      BYOC_RETURN_IF_ERROR(byoc_infer_need_size(infer, 2 + d, t->out[d]));
      continue;
    }
    t->out[d] = given ? byoc_dim_constant(entry(node, "output_shape", d, 0))
                      : byoc_infer_dim(infer, BYOC_DIM_MUL, in, stride, &failed);
    byoc_dim_t pads = byoc_infer_dim(infer, BYOC_DIM_SUB, full, t->out[d], &failed);
    byoc_dim_t half = byoc_infer_dim(infer, BYOC_DIM_FLOORDIV, pads, byoc_dim_constant(2), &failed);
    // An odd element of padding comes after with SAME_UPPER, before otherwise.
    bool upper = same && !lower;
    t->pad[d] = upper ? half : byoc_infer_dim(infer, BYOC_DIM_SUB, pads, half, &failed);
  }
  return byoc_infer_memory(infer, failed);
}

// The result of x, operand 0, by the weights and the bias at these operands.
static byoc_status_t infer_shape(const byoc_infer_t *infer, uint32_t weights, uint32_t bias, byoc_dtype_t dtype) {
  const byoc_node_t *node = infer->node;
  const byoc_type_t *x = byoc_operand_type(node, 0), *w = byoc_operand_type(node, weights);
  if (!byoc_is_ranked(x) || !byoc_is_ranked(w)) return byoc_infer_set_unranked(infer, 0, dtype);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, weights, x->rank, x->rank));
  transposed_t t;
  BYOC_RETURN_IF_ERROR(read_transposed(infer, x, w, &t));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, weights, 0, x->dims[1]));
  int64_t group = byoc_node_int(node, "group");
  if (group < 1 || (byoc_dim_is_constant(x->dims[1]) && x->dims[1].constant % group != 0)) {
    return byoc_infer_error(infer, "attribute 'group': %lld does not divide the channels", (long long)group);
  }
  BYOC_RETURN_IF_ERROR(byoc_infer_need_multiple(infer, 0, 1, group));
  byoc_dim_t dims[BYOC_MAX_SPATIAL + 2] = {x->dims[0]};
  bool failed = false;
  dims[1] = byoc_infer_dim(infer, BYOC_DIM_MUL, w->dims[1], byoc_dim_constant(group), &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, bias, 1, &dims[1]));
  for (int32_t d = 0; d < t.spatial; ++d) dims[2 + d] = t.out[d];
  return byoc_infer_set(infer, 0, dtype, x->rank, dims);
}

static byoc_status_t infer_conv_transpose(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_float, "a float tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, 1));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, 2));
  return infer_shape(infer, 1, 2, byoc_operand_type(infer->node, 0)->dtype);
}

// One number for all weights, or one for each channel of the result.
static byoc_status_t need_one_a_channel(const byoc_infer_t *infer, uint32_t index) {
  const byoc_type_t *type = byoc_operand_type(infer->node, index), *w = byoc_operand_type(infer->node, 3);
  if (!byoc_is_ranked(type) || !byoc_is_ranked(w) || w->rank < 2) return BYOC_OK;
  if (type->rank <= 1 && byoc_type_element_count(type) == 1) return BYOC_OK;
  if (byoc_node_int(infer->node, "group") != 1) {
    return byoc_infer_error(infer, "operand %u: expected one number, because there are groups", index);
  }
  return byoc_infer_need_dims(infer, index, 1, &w->dims[1]);
}

byoc_status_t byoc_infer_quantised_transposed(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_unit_types(infer));
  for (uint32_t i = 4; i < 6; ++i) BYOC_RETURN_IF_ERROR(need_one_a_channel(infer, i));
  return infer_shape(infer, 3, 8, byoc_operand_type(infer->node, 7)->dtype);
}

// Shared by the loops over one plane of the result.
typedef struct {
  byoc_lower_t *lower;
  byoc_loop_builder_t *b;
  const byoc_node_t *node;
  const byoc_type_t *x, *w, *y;
  const byoc_loop_buffer_t *x_buffer, *w_buffer, *sums;
  byoc_dtype_t dtype; // of the sums
  transposed_t t;
  int32_t last; // spatial axis
  const byoc_loop_expr_t *zero, *first, *group_channels;
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *in[BYOC_MAX_RANK], *weight[BYOC_MAX_RANK];
} plane_t;

// at + pad - tap * dilation along an axis: stride times the index that the tap reads, if that is an integer.
static const byoc_loop_expr_t *far_of(plane_t *p, int32_t d, const byoc_loop_expr_t *at, const byoc_loop_expr_t *tap) {
  const byoc_loop_expr_t *far = BYOC_LADD(p->b, at, byoc_loop_dim(p->b, p->t.pad[d]));
  return byoc_loop_let(p->b, "far", BYOC_LSUB(p->b, far, BYOC_LMUL(p->b, tap, byoc_loop_int(p->b, p->t.dilation[d]))));
}

// Opens loops over the taps of all axes but the last one, and a block for those that read something.
static int32_t open_outer_taps(plane_t *p) {
  byoc_loop_builder_t *b = p->b;
  const byoc_loop_expr_t *fits = NULL;
  for (int32_t d = 0; d < p->last; ++d) {
    const byoc_loop_expr_t *stride = byoc_loop_int(b, p->t.stride[d]), *size = byoc_emit_dim(b, p->x, 2 + d);
    p->weight[2 + d] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "tap", p->zero, byoc_loop_int(b, p->t.kernel[d]));
    const byoc_loop_expr_t *far = far_of(p, d, p->at[2 + d], p->weight[2 + d]);
    p->in[2 + d] = byoc_loop_let(b, "in", BYOC_LDIV(b, far, stride));
    const byoc_loop_expr_t *whole = byoc_loop_binary(b, BYOC_LOOP_OP_EQ, BYOC_LMUL(b, p->in[2 + d], stride), far);
    whole = byoc_loop_binary(b, BYOC_LOOP_OP_AND, whole, byoc_emit_within(b, p->in[2 + d], p->zero, size));
    fits = fits ? byoc_loop_binary(b, BYOC_LOOP_OP_AND, fits, whole) : whole;
  }
  if (fits) byoc_loop_if(b, fits);
  return p->last + (fits != NULL);
}

// Adds what one tap of the last axis contributes to the sums of the elements q * stride + phase, q from low to high:
// x at q + shift. Only taps of this phase contribute.
static void add_tap(plane_t *p, const byoc_loop_expr_t *phase, const byoc_loop_expr_t *low,
                    const byoc_loop_expr_t *high) {
  byoc_loop_builder_t *b = p->b;
  const int32_t axis = 2 + p->last;
  const byoc_loop_expr_t *stride = byoc_loop_int(b, p->t.stride[p->last]);
  p->weight[axis] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "tap", p->zero, byoc_loop_int(b, p->t.kernel[p->last]));
  const byoc_loop_expr_t *far = far_of(p, p->last, phase, p->weight[axis]);
  byoc_loop_if(b, byoc_loop_binary(b, BYOC_LOOP_OP_EQ, BYOC_LMOD(b, far, stride), p->zero));
  const byoc_loop_expr_t *shift = byoc_loop_let(b, "shift", BYOC_LDIV(b, far, stride));
  const byoc_loop_expr_t *begin = BYOC_LMAX(b, low, BYOC_LSUB(b, p->zero, shift));
  const byoc_loop_expr_t *end = BYOC_LMIN(b, high, BYOC_LSUB(b, byoc_emit_dim(b, p->x, axis), shift));
  begin = byoc_loop_let(b, "begin", BYOC_LMIN(b, begin, high));
  end = byoc_loop_let(b, "end", BYOC_LMAX(b, end, begin));

  const byoc_loop_expr_t *channel = byoc_loop_for(b, BYOC_LOOP_SERIAL, "c", p->zero, p->group_channels);
  p->in[1] = p->weight[0] = byoc_loop_let(b, "source", BYOC_LADD(b, p->first, channel));
  p->in[axis] = shift;
  const byoc_loop_expr_t *from = byoc_loop_let(b, "from", byoc_loop_linear_index(b, p->x->rank, p->x->dims, p->in));
  const byoc_loop_expr_t *factor =
      byoc_loop_load(b, p->w_buffer, byoc_loop_linear_index(b, p->w->rank, p->w->dims, p->weight));
  factor = byoc_loop_let(b, "a", byoc_emit_as(b, p->dtype, factor));
  const byoc_loop_expr_t *q = byoc_loop_for(b, BYOC_LOOP_VECTOR, "q", begin, end);
  const byoc_loop_expr_t *value = byoc_emit_as(b, p->dtype, byoc_loop_load(b, p->x_buffer, BYOC_LADD(b, from, q)));
  const byoc_loop_expr_t *slot = BYOC_LSUB(b, q, low);
  value = BYOC_LADD(b, byoc_loop_load(b, p->sums, slot), BYOC_LMUL(b, value, factor));
  byoc_loop_store(b, p->sums, slot, value);
  byoc_emit_close(b, 4);
}

// y[n, m, o] = bias[m] + sum over c, tap with o + pad - tap * dilation = i * stride of x[n, c, i] * w[c, m, tap]
//
// A line of the result is computed in stretches, one phase of the stride after the other: a tap belongs to one phase,
// and reads contiguous elements for that phase.
static byoc_status_t loops_conv_transpose(byoc_lower_t *lower, const byoc_node_t *node) {
  enum { STRETCH = 64 };
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  plane_t plane = {.lower = lower, .b = b, .node = node, .zero = byoc_loop_int(b, 0)}, *p = &plane;
  p->x = node->operands[0]->type, p->w = node->operands[1]->type, p->y = node->results[0]->type;
  p->x_buffer = byoc_lower_operand_buffer(lower, node, 0), p->w_buffer = byoc_lower_operand_buffer(lower, node, 1);
  byoc_graph_module_t *module = node->function->module;
  byoc_infer_t infer = {(byoc_node_t *)node, &module->arena, node->since_version, NULL, &module->next_id, NULL};
  BYOC_RETURN_IF_ERROR(read_transposed(&infer, p->x, p->w, &p->t));
  p->dtype = byoc_compute_dtype(p->x->dtype);
  p->last = p->t.spatial - 1;
  const int32_t axis = 2 + p->last;
  const byoc_loop_expr_t *group_rows = byoc_emit_dim(b, p->w, 1);
  p->group_channels = BYOC_LDIV(b, byoc_emit_dim(b, p->x, 1), byoc_loop_int(b, byoc_node_int(node, "group")));

  const byoc_loop_expr_t *all = byoc_emit_extent(b, p->y, 0, 2);
  byoc_emit_unravel(b, p->y, 0, 2, byoc_loop_for(b, BYOC_LOOP_PARALLEL, "p", p->zero, all), p->at);
  p->at[0] = p->in[0] = byoc_loop_let(b, "n", p->at[0]), p->at[1] = byoc_loop_let(b, "m", p->at[1]);
  p->weight[1] = byoc_loop_let(b, "row", BYOC_LMOD(b, p->at[1], group_rows));
  p->first = byoc_loop_let(b, "first", BYOC_LMUL(b, BYOC_LDIV(b, p->at[1], group_rows), p->group_channels));
  const byoc_loop_expr_t *start = byoc_loop_const(b, p->dtype, 0.0);
  if (byoc_has_operand(node, 2)) {
    start = byoc_loop_let(b, "bias", byoc_emit_as(b, p->dtype, byoc_emit_load(lower, node, 2, &p->at[1])));
  }
  p->sums = byoc_loop_allocate(b, "sums", p->dtype, STRETCH);
  for (int32_t d = 0; d < p->last; ++d) {
    p->at[2 + d] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "at", p->zero, byoc_emit_dim(b, p->y, 2 + d));
  }
  const byoc_loop_expr_t *width = byoc_emit_dim(b, p->y, axis), *stride = byoc_loop_int(b, p->t.stride[p->last]);
  const byoc_loop_expr_t *stretch = byoc_loop_int(b, STRETCH);
  const byoc_loop_expr_t *phase = byoc_loop_for(b, BYOC_LOOP_SERIAL, "phase", p->zero, BYOC_LMIN(b, stride, width));
  const byoc_loop_expr_t *count = BYOC_LADD(b, BYOC_LSUB(b, width, phase), BYOC_LSUB(b, stride, byoc_loop_int(b, 1)));
  count = byoc_loop_let(b, "count", BYOC_LDIV(b, count, stride));
  const byoc_loop_expr_t *parts = byoc_tile_count(b, count, STRETCH);
  const byoc_loop_expr_t *part = byoc_loop_for(b, BYOC_LOOP_SERIAL, "part", p->zero, parts);
  const byoc_loop_expr_t *low = byoc_loop_let(b, "low", BYOC_LMUL(b, part, stretch));
  const byoc_loop_expr_t *high = byoc_loop_let(b, "high", BYOC_LMIN(b, count, BYOC_LADD(b, low, stretch)));
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", p->zero, stretch);
  byoc_loop_store(b, p->sums, i, start);
  byoc_loop_end(b);
  const int32_t opened = open_outer_taps(p);
  add_tap(p, phase, low, high);
  byoc_emit_close(b, opened);
  const byoc_loop_expr_t *q = byoc_loop_for(b, BYOC_LOOP_VECTOR, "q", low, high);
  p->at[axis] = BYOC_LADD(b, BYOC_LMUL(b, q, stride), phase);
  byoc_emit_store(lower, node, 0, p->at, byoc_loop_load(b, p->sums, BYOC_LSUB(b, q, low)));
  byoc_emit_close(b, p->last + 4);
  return BYOC_OK;
}

const byoc_op_attribute_t byoc_conv_transpose_attributes[] = {
    {BYOC_ATTR(INTS, "kernel_shape")},
    BYOC_WINDOW_ATTRIBUTES,
    BYOC_AUTO_PAD_ATTRIBUTE,
    {BYOC_ATTR_INT("group", 1)},
    {BYOC_ATTR(INTS, "output_padding")},
    {BYOC_ATTR(INTS, "output_shape")},
    BYOC_ATTR_END,
};

#define ROW(version)                                                                                                   \
  {                                                                                                                    \
    .domain = "", .name = "ConvTranspose", .since_version = version, .min_inputs = 2, .max_inputs = 3,                 \
    .min_outputs = 1, .max_outputs = 1, .traits = BYOC_OP_HEAVY, .work = BYOC_WORK_TRANSPOSED_CONVOLUTION,             \
    .attributes = byoc_conv_transpose_attributes, .infer = infer_conv_transpose, .loops = loops_conv_transpose,        \
    .axes = byoc_axes_batch                                                                                            \
  }

const byoc_op_t byoc_ops_conv_transpose[] = {ROW(1), ROW(11), ROW(22)};
const size_t byoc_ops_conv_transpose_count = sizeof byoc_ops_conv_transpose / sizeof *byoc_ops_conv_transpose;

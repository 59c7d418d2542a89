// SPDX-License-Identifier: Apache-2.0
// Transposed convolution: each output element gathers the input elements whose window covers it.
#include <string.h>

#include "core/ops/axes.h"
#include "core/ops/util.h"
#include "core/ops/window.h"

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
    // The odd one goes after with SAME_UPPER, before otherwise.
    bool upper = same && !lower;
    t->pad[d] = upper ? half : byoc_infer_dim(infer, BYOC_DIM_SUB, pads, half, &failed);
  }
  return byoc_infer_memory(infer, failed);
}

static byoc_status_t infer_conv_transpose(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_float, "a float tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 1, byoc_dtype_is_float, "a float tensor"));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, 1));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_same(infer, 2));
  const byoc_type_t *x = byoc_operand_type(node, 0), *w = byoc_operand_type(node, 1);
  if (!byoc_is_ranked(x) || !byoc_is_ranked(w)) return byoc_infer_set_unranked(infer, 0, x->dtype);
  BYOC_RETURN_IF_ERROR(byoc_infer_need_rank(infer, 1, x->rank, x->rank));
  transposed_t t;
  BYOC_RETURN_IF_ERROR(read_transposed(infer, x, w, &t));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dim(infer, 1, 0, x->dims[1]));
  int64_t group = byoc_node_int(node, "group");
  if (group < 1 || (byoc_dim_is_constant(x->dims[1]) && x->dims[1].constant % group != 0)) {
    return byoc_infer_error(infer, "attribute 'group': %lld does not divide the channels", (long long)group);
  }
  byoc_dim_t dims[BYOC_MAX_SPATIAL + 2] = {x->dims[0]};
  bool failed = false;
  dims[1] = byoc_infer_dim(infer, BYOC_DIM_MUL, w->dims[1], byoc_dim_constant(group), &failed);
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, 2, 1, &dims[1]));
  for (int32_t d = 0; d < t.spatial; ++d) dims[2 + d] = t.out[d];
  return byoc_infer_set(infer, 0, x->dtype, x->rank, dims);
}

// y[n, m, o] = bias[m] + sum over c, tap with o + pad - tap * dilation = i * stride of x[n, c, i] * w[c, m, tap]
static byoc_status_t loops_conv_transpose(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *w = node->operands[1]->type, *y = node->results[0]->type;
  const byoc_loop_buffer_t *x_buffer = byoc_lower_operand_buffer(lower, node, 0);
  const byoc_loop_buffer_t *w_buffer = byoc_lower_operand_buffer(lower, node, 1);
  byoc_graph_module_t *module = node->function->module;
  byoc_infer_t infer = {(byoc_node_t *)node, &module->arena, node->since_version, NULL, &module->next_id, NULL};
  transposed_t t;
  BYOC_RETURN_IF_ERROR(read_transposed(&infer, x, w, &t));
  byoc_dtype_t dtype = byoc_compute_dtype(x->dtype);
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *group_rows = byoc_emit_dim(b, w, 1);
  const byoc_loop_expr_t *groups = byoc_loop_int(b, byoc_node_int(node, "group"));
  const byoc_loop_expr_t *group_channels = BYOC_LDIV(b, byoc_emit_dim(b, x, 1), groups);
  const byoc_loop_expr_t *at[BYOC_MAX_RANK], *in[BYOC_MAX_RANK], *weight[BYOC_MAX_RANK];
  const byoc_loop_expr_t *p = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "p", zero, byoc_emit_extent(b, y, 0, 2));
  byoc_emit_unravel(b, y, 0, 2, p, at);
  at[0] = byoc_loop_let(b, "n", at[0]), at[1] = byoc_loop_let(b, "m", at[1]);
  const byoc_loop_expr_t *first =
      byoc_loop_let(b, "first", BYOC_LMUL(b, BYOC_LDIV(b, at[1], group_rows), group_channels));
  for (int32_t d = 0; d < t.spatial; ++d) {
    at[2 + d] = byoc_loop_for(b, BYOC_LOOP_SERIAL, "at", zero, byoc_emit_dim(b, y, 2 + d));
  }
  const byoc_loop_expr_t *start = byoc_has_operand(node, 2)
                                      ? byoc_emit_as(b, dtype, byoc_emit_load(lower, node, 2, &at[1]))
                                      : byoc_loop_const(b, dtype, 0.0);
  const byoc_loop_expr_t *sum = byoc_loop_mutable(b, "sum", start);
  in[0] = at[0], weight[1] = BYOC_LMOD(b, at[1], group_rows);
  const byoc_loop_expr_t *fits = NULL;
  for (int32_t d = 0; d < t.spatial; ++d) {
    const byoc_loop_expr_t *tap = byoc_loop_for(b, BYOC_LOOP_SERIAL, "tap", zero, byoc_loop_int(b, t.kernel[d]));
    const byoc_loop_expr_t *stride = byoc_loop_int(b, t.stride[d]);
    const byoc_loop_expr_t *far = BYOC_LADD(b, at[2 + d], byoc_loop_dim(b, t.pad[d]));
    far = byoc_loop_let(b, "far", BYOC_LSUB(b, far, BYOC_LMUL(b, tap, byoc_loop_int(b, t.dilation[d]))));
    weight[2 + d] = tap;
    in[2 + d] = byoc_loop_let(b, "in", BYOC_LDIV(b, far, stride));
    const byoc_loop_expr_t *whole = byoc_loop_binary(b, BYOC_LOOP_OP_EQ, BYOC_LMUL(b, in[2 + d], stride), far);
    whole =
        byoc_loop_binary(b, BYOC_LOOP_OP_AND, whole, byoc_emit_within(b, in[2 + d], zero, byoc_emit_dim(b, x, 2 + d)));
    fits = fits ? byoc_loop_binary(b, BYOC_LOOP_OP_AND, fits, whole) : whole;
  }
  byoc_loop_if(b, fits);
  const byoc_loop_expr_t *channel = byoc_loop_for(b, BYOC_LOOP_SERIAL, "c", zero, group_channels);
  in[1] = weight[0] = BYOC_LADD(b, first, channel);
  const byoc_loop_expr_t *value = byoc_loop_load(b, x_buffer, byoc_loop_linear_index(b, x->rank, x->dims, in));
  const byoc_loop_expr_t *factor = byoc_loop_load(b, w_buffer, byoc_loop_linear_index(b, w->rank, w->dims, weight));
  value = BYOC_LMUL(b, byoc_emit_as(b, dtype, value), byoc_emit_as(b, dtype, factor));
  byoc_loop_assign(b, sum, BYOC_LADD(b, sum, value));
  byoc_loop_end(b);
  byoc_loop_end(b);
  for (int32_t d = 0; d < t.spatial; ++d) byoc_loop_end(b);
  byoc_emit_store(lower, node, 0, at, sum);
  for (int32_t d = 0; d < t.spatial; ++d) byoc_loop_end(b);
  byoc_loop_end(b);
  return BYOC_OK;
}

static const byoc_op_attribute_t conv_transpose_attributes[] = {
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
    .attributes = conv_transpose_attributes, .infer = infer_conv_transpose, .loops = loops_conv_transpose,             \
    .axes = byoc_axes_batch                                                                                            \
  }

const byoc_op_t byoc_ops_conv_transpose[] = {ROW(1), ROW(11), ROW(22)};
const size_t byoc_ops_conv_transpose_count = sizeof byoc_ops_conv_transpose / sizeof *byoc_ops_conv_transpose;

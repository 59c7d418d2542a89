// SPDX-License-Identifier: Apache-2.0
// The `byoc` domain: operators that rewrites introduce for backends.
//
//   Im2Col   the columns that turn a convolution into matrix products: [N,C,spatial] → [N, group, C/group * taps,
//            pixels], with kernel_shape, strides, pads, dilations and group as attributes
//   CallC    a call of a C symbol; the maker of the node sets its results' types
#include "core/ops/loops/window.h"

static byoc_status_t infer_im2col(byoc_infer_t *infer) {
  BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, 0, byoc_dtype_is_value, "a tensor of numbers or bools"));
  const byoc_type_t *x = byoc_operand_type(infer->node, 0);
  if (!byoc_is_ranked(x)) return byoc_infer_set_unknown(infer, 0, x->dtype, 4);
  byoc_window_t window;
  BYOC_RETURN_IF_ERROR(byoc_window_read(infer, x, NULL, &window));
  int64_t group = byoc_node_int(infer->node, "group");
  if (group < 1 || (byoc_dim_is_constant(x->dims[1]) && x->dims[1].constant % group != 0)) {
    return byoc_infer_error(infer, "attribute 'group': %lld does not divide the channels", (long long)group);
  }
  bool failed = false;
  byoc_dim_t channels = byoc_infer_dim(infer, BYOC_DIM_FLOORDIV, x->dims[1], byoc_dim_constant(group), &failed);
  byoc_dim_t depth = byoc_infer_dim(infer, BYOC_DIM_MUL, channels, byoc_dim_constant(window.taps), &failed);
  byoc_dim_t pixels = byoc_dim_constant(1);
  for (int32_t d = 0; d < window.spatial; ++d) {
    pixels = byoc_infer_dim(infer, BYOC_DIM_MUL, pixels, window.out[d], &failed);
  }
  byoc_dim_t dims[] = {x->dims[0], byoc_dim_constant(group), depth, pixels};
  BYOC_RETURN_IF_ERROR(byoc_infer_memory(infer, failed));
  return byoc_infer_set(infer, 0, x->dtype, 4, dims);
}

// Computes line by line, not element by element: the part of a line inside the input is a plain copy.
static byoc_status_t loops_im2col(byoc_lower_t *lower, const byoc_node_t *node) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *x = node->operands[0]->type, *y = node->results[0]->type;
  byoc_window_t window;
  BYOC_RETURN_IF_ERROR(byoc_window_of(node, x, NULL, &window));
  int32_t last = window.spatial - 1;
  const byoc_loop_expr_t *zero = byoc_loop_int(b, 0), *taps = byoc_loop_int(b, window.taps);
  const byoc_loop_expr_t *group = byoc_emit_dim(b, y, 1);
  const byoc_loop_expr_t *group_channels = BYOC_LDIV(b, byoc_emit_dim(b, x, 1), group);
  // The result's pixels as a tensor, to split linear indices.
  byoc_dim_t plane_dims[BYOC_MAX_SPATIAL];
  for (int32_t d = 0; d < window.spatial; ++d) plane_dims[d] = window.out[d];
  byoc_type_t plane = {.kind = BYOC_TYPE_TENSOR, .dtype = x->dtype, .rank = window.spatial, .dims = plane_dims};
  const byoc_loop_expr_t *width = byoc_emit_dim(b, &plane, last);

  const byoc_loop_expr_t *at[4], *in[BYOC_MAX_RANK], *out[BYOC_MAX_SPATIAL], *tap[BYOC_MAX_SPATIAL];
  const byoc_loop_expr_t *t = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", zero, byoc_emit_extent(b, y, 0, 3));
  byoc_emit_unravel(b, y, 0, 3, t, at);
  for (int32_t d = 0; d < 3; ++d) at[d] = byoc_loop_let(b, d == 0 ? "n" : d == 1 ? "g" : "k", at[d]);
  in[0] = at[0];
  in[1] = byoc_loop_let(b, "c", BYOC_LADD(b, BYOC_LMUL(b, at[1], group_channels), BYOC_LDIV(b, at[2], taps)));
  const byoc_loop_expr_t *rest = byoc_loop_let(b, "tap", BYOC_LMOD(b, at[2], taps));
  for (int32_t d = last; d >= 0; --d) {
    const byoc_loop_expr_t *size = byoc_loop_int(b, window.kernel[d]);
    tap[d] = byoc_loop_let(b, "tap", BYOC_LMOD(b, rest, size));
    rest = BYOC_LDIV(b, rest, size);
  }
  const byoc_loop_expr_t *line = byoc_loop_for(b, BYOC_LOOP_SERIAL, "line", zero, byoc_emit_extent(b, &plane, 0, last));
  byoc_emit_unravel(b, &plane, 0, last, line, out);
  const byoc_loop_expr_t *inside = NULL;
  for (int32_t d = 0; d < last; ++d) {
    in[2 + d] = byoc_loop_let(b, "in", byoc_window_input(b, &window, d, out[d], tap[d]));
    const byoc_loop_expr_t *fits = byoc_emit_within(b, in[2 + d], zero, byoc_emit_dim(b, x, 2 + d));
    inside = inside ? byoc_loop_binary(b, BYOC_LOOP_OP_AND, inside, fits) : fits;
  }
  const byoc_loop_expr_t *begin = NULL, *end = NULL;
  byoc_window_inside(b, &window, last, tap[last], byoc_emit_dim(b, x, 2 + last), zero, width, &begin, &end);
  // If a line is outside of the input, no part of it is inside.
  if (inside) begin = byoc_loop_let(b, "from", byoc_loop_select(b, inside, begin, width));
  if (inside) end = byoc_loop_let(b, "to", byoc_loop_select(b, inside, end, width));
  const byoc_loop_expr_t *offset = byoc_loop_let(b, "offset", BYOC_LMUL(b, line, width));
  const byoc_loop_expr_t *bounds[] = {zero, begin, end, width};
  for (int part = 0; part < 3; ++part) {
    const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", bounds[part], bounds[part + 1]);
    at[3] = BYOC_LADD(b, offset, i);
    in[2 + last] = byoc_window_input(b, &window, last, i, tap[last]);
    byoc_lower_store(lower, node, 0, at,
                     part == 1 ? byoc_lower_load(lower, node, 0, in) : byoc_loop_const(b, y->dtype, 0.0));
    byoc_loop_end(b);
  }
  byoc_loop_end(b);
  byoc_loop_end(b);
  return BYOC_OK;
}

static byoc_status_t infer_call_c(byoc_infer_t *infer) {
  for (uint32_t i = 0; i < infer->node->result_count; ++i) {
    if (infer->node->results[i]->type->kind != BYOC_TYPE_UNKNOWN) continue;
    return byoc_infer_error(infer, "the type of result %u must be given", i);
  }
  return BYOC_OK;
}

static const byoc_op_attribute_t call_c_attributes[] = {
    {BYOC_ATTR_REQUIRED(STRING, "symbol")},
    {BYOC_ATTR(INT, "return_type")},
    {BYOC_ATTR_INT("repeat_count", 1)},
    {BYOC_ATTR_INT("result_from_operand", -1)},
    {BYOC_ATTR(INTS, "arguments")},
    {BYOC_ATTR(FLOATS, "reals")},
    BYOC_ATTR_END,
};

const byoc_op_t byoc_ops_shim[] = {
    {.domain = "byoc",
     .name = "Im2Col",
     .since_version = 1,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 1,
     .attributes = byoc_conv_attributes,
     .infer = infer_im2col,
     .loops = loops_im2col},
    {.domain = "byoc",
     .name = "CallC",
     .since_version = 1,
     .min_inputs = 0,
     .max_inputs = -1,
     .min_outputs = 0,
     .max_outputs = -1,
     .traits = BYOC_OP_OPAQUE | BYOC_OP_HOST_MEMORY,
     .attributes = call_c_attributes,
     .infer = infer_call_c},
};
const size_t byoc_ops_shim_count = sizeof byoc_ops_shim / sizeof *byoc_ops_shim;

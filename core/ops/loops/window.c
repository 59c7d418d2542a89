// SPDX-License-Identifier: Apache-2.0
// Computes the geometry of sliding windows.
#include "core/ops/loops/window.h"

#include <string.h>

// An attribute of `spatial` values of at least `least`, or `fallback` everywhere.
static byoc_status_t read_list(const byoc_infer_t *infer, const char *name, size_t count, int64_t least,
                               int64_t fallback, int64_t *out) {
  size_t given = 0;
  const int64_t *values = byoc_node_ints(infer->node, name, &given);
  if (values && given != 0 && given != count) {
    return byoc_infer_error(infer, "attribute '%s': expected %zu value%s, got %zu", name, count, byoc_plural(count),
                            given);
  }
  for (size_t i = 0; i < count; ++i) {
    out[i] = given ? values[i] : fallback;
    if (out[i] < least || out[i] > INT32_MAX) {
      return byoc_infer_error(infer, "attribute '%s': expected values of at least %lld, got %lld", name,
                              (long long)least, (long long)out[i]);
    }
  }
  return BYOC_OK;
}

static byoc_status_t read_kernel(const byoc_infer_t *infer, const byoc_dim_t *kernel, byoc_window_t *window) {
  size_t count = (size_t)window->spatial;
  size_t given = 0;
  byoc_node_ints(infer->node, "kernel_shape", &given);
  if (!kernel && given == 0) return byoc_infer_error(infer, "attribute 'kernel_shape' is required");
  BYOC_RETURN_IF_ERROR(read_list(infer, "kernel_shape", count, 1, 1, window->kernel));
  for (size_t i = 0; i < count; ++i) window->size[i] = byoc_dim_constant(window->kernel[i]);
  for (size_t i = 0; kernel && i < count; ++i) {
    if (!byoc_dim_is_constant(kernel[i])) {
      char name[48];
      snprintf(name, sizeof name, "dimension %zu of the weights", i + 2);
      const byoc_side_t side = byoc_side(kernel[i], name);
      const byoc_relation_kind_t kind = given == 0 ? BYOC_RELATION_AT_MOST : BYOC_RELATION_EQUAL;
      BYOC_RETURN_IF_ERROR(byoc_infer_relate(infer, kind, byoc_side_number(window->kernel[i]), side));
      window->size[i] = given == 0 ? kernel[i] : byoc_dim_constant(window->kernel[i]);
      if (given == 0) window->is_open = true;
      continue;
    }
    if (given != 0 && window->kernel[i] != kernel[i].constant) {
      return byoc_infer_error(infer, "attribute 'kernel_shape': expected %lld at index %zu as in the weights, got %lld",
                              (long long)kernel[i].constant, i, (long long)window->kernel[i]);
    }
    window->kernel[i] = kernel[i].constant;
    if (window->kernel[i] < 1)
      return byoc_infer_error(infer, "the size of the kernel must be at least 1, got %lld",
                              (long long)window->kernel[i]);
    if (window->kernel[i] > INT32_MAX)
      return byoc_infer_error(infer, "a kernel of more than 2^31 taps is not supported");
    window->size[i] = kernel[i];
  }
  for (size_t i = 0; window->is_open && i < count; ++i) {
    if (!byoc_dim_is_constant(window->size[i])) window->kernel[i] = 0;
  }
  return BYOC_OK;
}

// The elements from the first to the last one that a window covers: (kernel - 1) * dilation + 1.
static byoc_dim_t reach_of(const byoc_infer_t *infer, const byoc_window_t *w, int32_t d, bool *failed) {
  const byoc_dim_t one = byoc_dim_constant(1);
  const byoc_dim_t steps = byoc_infer_dim(infer, BYOC_DIM_SUB, w->size[d], one, failed);
  const byoc_dim_t between = byoc_infer_dim(infer, BYOC_DIM_MUL, steps, byoc_dim_constant(w->dilation[d]), failed);
  return byoc_infer_dim(infer, BYOC_DIM_ADD, between, one, failed);
}

byoc_status_t byoc_window_read(const byoc_infer_t *infer, const byoc_type_t *x, const byoc_dim_t *kernel,
                               byoc_window_t *out_window) {
  byoc_window_t *w = out_window;
  memset(w, 0, sizeof *w);
  w->spatial = x->rank - 2;
  if (w->spatial < 1 || w->spatial > BYOC_MAX_SPATIAL) {
    char text[BYOC_TYPE_TEXT_SIZE];
    return byoc_infer_error(infer, "operand 0: expected rank 3 to %d, got %s", BYOC_MAX_SPATIAL + 2,
                            byoc_type_text(x, text));
  }
  size_t count = (size_t)w->spatial;
  int64_t pads[2 * BYOC_MAX_SPATIAL];
  BYOC_RETURN_IF_ERROR(read_kernel(infer, kernel, w));
  BYOC_RETURN_IF_ERROR(read_list(infer, "strides", count, 1, 1, w->stride));
  for (size_t d = 0; d < count; ++d) w->dilation[d] = 1;
  if (byoc_node_takes(infer->node, "dilations")) {
    BYOC_RETURN_IF_ERROR(read_list(infer, "dilations", count, 1, 1, w->dilation));
  }
  BYOC_RETURN_IF_ERROR(read_list(infer, "pads", 2 * count, INT32_MIN, 0, pads));
  w->ceil_mode = byoc_node_takes(infer->node, "ceil_mode") && byoc_node_flag(infer->node, "ceil_mode");
  int mode = byoc_node_takes(infer->node, "auto_pad") ? byoc_node_choice(infer->node, "auto_pad") : 0;
  bool upper = mode == BYOC_AUTO_PAD_SAME_UPPER, same = upper || mode == BYOC_AUTO_PAD_SAME_LOWER;
  bool valid = mode == BYOC_AUTO_PAD_VALID;
  bool failed = false;
  w->taps = 1;
  for (int32_t d = 0; d < w->spatial; ++d) {
    byoc_dim_t in = x->dims[2 + d], stride = byoc_dim_constant(w->stride[d]), zero = byoc_dim_constant(0);
    byoc_dim_t reach = reach_of(infer, w, d, &failed);
    if (__builtin_mul_overflow(w->taps, w->kernel[d], &w->taps) || w->taps > INT32_MAX) {
      return byoc_infer_error(infer, "a kernel of more than 2^31 taps is not supported");
    }
    if (same) {
      // The result has ceil(in / stride) elements. Missing elements are padding; if their number is odd, the extra one
      // comes after (or before).
      w->out[d] = byoc_infer_dim(infer, BYOC_DIM_CEILDIV, in, stride, &failed);
      byoc_dim_t last = byoc_infer_dim(infer, BYOC_DIM_SUB, w->out[d], byoc_dim_constant(1), &failed);
      byoc_dim_t need = byoc_infer_dim(infer, BYOC_DIM_MUL, last, stride, &failed);
      need =
          byoc_infer_dim(infer, BYOC_DIM_SUB, byoc_infer_dim(infer, BYOC_DIM_ADD, need, reach, &failed), in, &failed);
      need = byoc_infer_dim(infer, BYOC_DIM_MAX, need, zero, &failed);
      byoc_dim_t less = byoc_infer_dim(infer, BYOC_DIM_FLOORDIV, need, byoc_dim_constant(2), &failed);
      byoc_dim_t more = byoc_infer_dim(infer, BYOC_DIM_SUB, need, less, &failed);
      w->pad_begin[d] = upper ? less : more;
      w->pad_end[d] = upper ? more : less;
    } else {
      w->pad_begin[d] = byoc_dim_constant(valid ? 0 : pads[d]);
      w->pad_end[d] = byoc_dim_constant(valid ? 0 : pads[w->spatial + d]);
      byoc_dim_t sum = byoc_infer_dim(infer, BYOC_DIM_ADD, w->pad_begin[d], w->pad_end[d], &failed);
      byoc_dim_t room =
          byoc_infer_dim(infer, BYOC_DIM_SUB, byoc_infer_dim(infer, BYOC_DIM_ADD, in, sum, &failed), reach, &failed);
      if (byoc_dim_is_constant(room) && room.constant < 0) {
        return byoc_infer_error(infer,
                                "the window of %lld does not fit into dimension %d of %lld with pads %lld and %lld",
                                (long long)reach.constant, d + 2, (long long)in.constant,
                                (long long)w->pad_begin[d].constant, (long long)w->pad_end[d].constant);
      }
      if (!byoc_dim_is_constant(room)) {
        char name[64];
        snprintf(name, sizeof name, "dimension %d of operand 0 with its pads", (int)d + 2);
        byoc_side_t padded = byoc_side(byoc_infer_dim(infer, BYOC_DIM_ADD, in, sum, &failed), name);
        byoc_side_t taken =
            byoc_dim_is_constant(reach) ? byoc_side_number(reach.constant) : byoc_side(reach, "the size of the window");
        BYOC_RETURN_IF_ERROR(byoc_infer_relate(infer, BYOC_RELATION_AT_MOST, taken, padded));
      }
      byoc_dim_t steps =
          byoc_infer_dim(infer, w->ceil_mode ? BYOC_DIM_CEILDIV : BYOC_DIM_FLOORDIV, room, stride, &failed);
      w->out[d] = byoc_infer_dim(infer, BYOC_DIM_ADD, steps, byoc_dim_constant(1), &failed);
      if (w->ceil_mode) {
        // Windows that would start in the padding after the input are left out.
        byoc_dim_t most = byoc_infer_dim(infer, BYOC_DIM_ADD, in, w->pad_begin[d], &failed);
        most = byoc_infer_dim(infer, BYOC_DIM_CEILDIV, most, stride, &failed);
        w->out[d] = byoc_infer_dim(infer, BYOC_DIM_MIN, w->out[d], most, &failed);
      }
    }
    bool zero_pads = byoc_dim_is_constant(w->pad_begin[d]) && w->pad_begin[d].constant == 0 &&
                     byoc_dim_is_constant(w->pad_end[d]) && w->pad_end[d].constant == 0 && !w->ceil_mode;
    if (!zero_pads) w->has_pads = true;
  }
  return byoc_infer_memory(infer, failed);
}

byoc_status_t byoc_window_of(const byoc_node_t *node, const byoc_type_t *x, const byoc_dim_t *kernel,
                             byoc_window_t *out_window) {
  byoc_graph_module_t *module = node->function->module;
  byoc_infer_t infer = {(byoc_node_t *)node, &module->arena, node->since_version, NULL, &module->next_id, NULL};
  return byoc_window_read(&infer, x, kernel, out_window);
}

const byoc_loop_expr_t *byoc_window_input(byoc_loop_builder_t *b, const byoc_window_t *window, int32_t d,
                                          const byoc_loop_expr_t *at, const byoc_loop_expr_t *tap) {
  const byoc_loop_expr_t *x = BYOC_LMUL(b, at, byoc_loop_int(b, window->stride[d]));
  x = BYOC_LADD(b, x, BYOC_LMUL(b, tap, byoc_loop_int(b, window->dilation[d])));
  return BYOC_LSUB(b, x, byoc_loop_dim(b, window->pad_begin[d]));
}

void byoc_window_inside(byoc_loop_builder_t *b, const byoc_window_t *window, int32_t d, const byoc_loop_expr_t *tap,
                        const byoc_loop_expr_t *extent, const byoc_loop_expr_t *low, const byoc_loop_expr_t *high,
                        const byoc_loop_expr_t **out_begin, const byoc_loop_expr_t **out_end) {
  // at * stride >= shift  and  at * stride < extent + shift, with shift = pad - tap * dilation
  const byoc_loop_expr_t *stride = byoc_loop_int(b, window->stride[d]);
  const byoc_loop_expr_t *up = byoc_loop_int(b, window->stride[d] - 1);
  const byoc_loop_expr_t *shift =
      BYOC_LSUB(b, byoc_loop_dim(b, window->pad_begin[d]), BYOC_LMUL(b, tap, byoc_loop_int(b, window->dilation[d])));
  const byoc_loop_expr_t *begin = BYOC_LDIV(b, BYOC_LADD(b, shift, up), stride);
  const byoc_loop_expr_t *end = BYOC_LDIV(b, BYOC_LADD(b, BYOC_LADD(b, extent, shift), up), stride);
  *out_begin = byoc_loop_let(b, "inside", BYOC_LMIN(b, BYOC_LMAX(b, begin, low), high));
  *out_end = byoc_loop_let(b, "outside", BYOC_LMAX(b, BYOC_LMIN(b, end, high), *out_begin));
}

// Convolutions of one input channel a group (depthwise) with small kernels, a padded plane at a time.
#include "core/ops/conv.h"

// Elements of a padded plane, and taps, that are held in local memory and in registers.
enum { MOST_PLANE = 16384, MOST_PLANE_TAPS = 32 };

typedef struct {
  int64_t height, width; // padded: what the windows cover
  int64_t top, left;
} plane_t;

static bool has_plane(const byoc_conv_t *conv, plane_t *plane) {
  const byoc_window_t *w = &conv->window;
  int64_t channels = 0;
  if (w->spatial != 2 || w->taps > MOST_PLANE_TAPS || !byoc_type_is_static(conv->x_type)) return false;
  if (!byoc_loop_is_int(conv->group_channels, &channels) || channels != 1) return false;
  int64_t size[2];
  for (int32_t d = 0; d < 2; ++d) {
    if (!byoc_dim_is_constant(w->pad_begin[d]) || w->pad_begin[d].constant < 0) return false;
    if (!byoc_dim_is_constant(w->out[d]) || w->out[d].constant < 1 || w->out[d].constant > MOST_PLANE) return false;
    size[d] = (w->out[d].constant - 1) * w->stride[d] + (w->kernel[d] - 1) * w->dilation[d] + 1;
    if (size[d] < 1 || size[d] > MOST_PLANE || w->pad_begin[d].constant >= size[d]) return false;
  }
  *plane = (plane_t){size[0], size[1], w->pad_begin[0].constant, w->pad_begin[1].constant};
  return size[0] * size[1] <= MOST_PLANE;
}

// The channel's plane with its padding.
static const byoc_loop_buffer_t *copy_plane(const byoc_conv_t *conv, const plane_t *plane) {
  byoc_loop_builder_t *b = conv->b;
  int64_t rows = conv->x_type->dims[2].constant, columns = conv->x_type->dims[3].constant;
  if (rows > plane->height - plane->top) rows = plane->height - plane->top;
  if (columns > plane->width - plane->left) columns = plane->width - plane->left;
  const byoc_loop_buffer_t *padded = byoc_loop_allocate(b, "padded", conv->dtype, plane->height * plane->width);
  const byoc_loop_expr_t *all = byoc_loop_int(b, plane->height * plane->width);
  if (rows < plane->height || columns < plane->width) {
    const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", conv->zero, all);
    byoc_loop_store(b, padded, i, byoc_loop_const(b, conv->dtype, 0.0));
    byoc_loop_end(b);
  }
  const byoc_loop_expr_t *y = byoc_loop_for(b, BYOC_LOOP_SERIAL, "y", conv->zero, byoc_loop_int(b, rows));
  const byoc_loop_expr_t *from = byoc_loop_let(b, "from", byoc_conv_input_line(conv, conv->channel0, &y));
  const byoc_loop_expr_t *to =
      BYOC_LMUL(b, BYOC_LADD(b, y, byoc_loop_int(b, plane->top)), byoc_loop_int(b, plane->width));
  to = byoc_loop_let(b, "to", BYOC_LADD(b, to, byoc_loop_int(b, plane->left)));
  const byoc_loop_expr_t *x = byoc_loop_for(b, BYOC_LOOP_VECTOR, "x", conv->zero, byoc_loop_int(b, columns));
  byoc_loop_store(b, padded, BYOC_LADD(b, to, x),
                  byoc_emit_as(b, conv->dtype, byoc_loop_load(b, conv->x, BYOC_LADD(b, from, x))));
  byoc_loop_end(b);
  byoc_loop_end(b);
  return padded;
}

// All taps of a pixel in one expression, over a copy of the plane that has its padding.
bool byoc_conv_plane(byoc_conv_t *conv) {
  plane_t size, *plane = &size;
  if (!has_plane(conv, plane)) return false;
  byoc_loop_builder_t *b = conv->b;
  const byoc_window_t *w = &conv->window;
  const byoc_loop_expr_t *rows = byoc_emit_dim(b, conv->y_type, 1);
  const byoc_loop_expr_t *all = BYOC_LMUL(b, byoc_emit_dim(b, conv->x_type, 0), rows);
  const byoc_loop_expr_t *t = byoc_loop_for(b, BYOC_LOOP_PARALLEL, "t", conv->zero, all);
  const byoc_loop_expr_t *row = byoc_loop_let(b, "m", BYOC_LMOD(b, t, rows)), *weight[MOST_PLANE_TAPS];
  conv->n = byoc_loop_let(b, "n", BYOC_LDIV(b, t, rows));
  conv->channel0 = byoc_loop_let(b, "channel", BYOC_LDIV(b, row, conv->group_rows));
  const byoc_loop_expr_t *bias = byoc_conv_bias_of(conv, row);
  for (int64_t k = 0; k < w->taps; ++k) {
    const byoc_loop_expr_t *at = BYOC_LADD(b, BYOC_LMUL(b, row, byoc_loop_int(b, w->taps)), byoc_loop_int(b, k));
    weight[k] = byoc_loop_let(b, "a", byoc_emit_as(b, conv->dtype, byoc_loop_load(b, conv->w, at)));
  }
  const byoc_loop_buffer_t *padded = copy_plane(conv, plane);
  const byoc_loop_expr_t *y = byoc_loop_for(b, BYOC_LOOP_SERIAL, "line", conv->zero, byoc_emit_dim(b, conv->y_type, 2));
  const byoc_loop_expr_t *from =
      byoc_loop_let(b, "from", BYOC_LMUL(b, y, byoc_loop_int(b, w->stride[0] * plane->width)));
  const byoc_loop_expr_t *i = byoc_loop_for(b, BYOC_LOOP_VECTOR, "i", conv->zero, conv->width);
  const byoc_loop_expr_t *first = BYOC_LADD(b, from, BYOC_LMUL(b, i, byoc_loop_int(b, w->stride[1]))), *sum = bias;
  for (int64_t ky = 0; ky < w->kernel[0]; ++ky) {
    const byoc_loop_expr_t *part = NULL; // a sum of its own for each line of taps: shorter chains of additions
    for (int64_t kx = 0; kx < w->kernel[1]; ++kx) {
      int64_t offset = ky * w->dilation[0] * plane->width + kx * w->dilation[1];
      const byoc_loop_expr_t *x = byoc_loop_load(b, padded, BYOC_LADD(b, first, byoc_loop_int(b, offset)));
      x = BYOC_LMUL(b, x, weight[ky * w->kernel[1] + kx]);
      part = part ? BYOC_LADD(b, part, x) : x;
    }
    sum = sum ? BYOC_LADD(b, sum, part) : part;
  }
  byoc_conv_store_pixel(conv, row, &y, i, sum);
  byoc_loop_end(b);
  byoc_loop_end(b);
  byoc_loop_end(b);
  return true;
}

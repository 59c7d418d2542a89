// SPDX-License-Identifier: Apache-2.0
// Shared by the ways to compute a convolution (core/ops/onnx/nn/conv.c).
#ifndef BYOC_CORE_OPS_ONNX_NN_CONV_H_
#define BYOC_CORE_OPS_ONNX_NN_CONV_H_

#include "core/ops/loops/tile.h"
#include "core/ops/loops/window.h"

typedef struct byoc_conv_t {
  byoc_lower_t *lower;
  byoc_loop_builder_t *b;
  const byoc_node_t *node;
  const byoc_type_t *x_type, *w_type, *y_type;
  const byoc_loop_buffer_t *x, *w;
  byoc_window_t window;
  int32_t last; // index of the last spatial dimension
  byoc_dtype_t dtype;
  const byoc_loop_expr_t *group_channels, *group_rows; // input and output channels of a group
  const byoc_loop_expr_t *width;                       // of the result: its last dimension
  const byoc_loop_expr_t *zero;
  bool is_bytes;                  // x and w hold bytes, one of them signed ones
  const byoc_loop_expr_t *centre; // x holds bytes, from which it is subtracted; NULL: nothing is
  // Of products.
  const byoc_loop_expr_t *pad;     // the panel is padded with it
  const byoc_loop_buffer_t *bytes; // pixels of the panel, one byte each; NULL: they are packed as numbers
  const byoc_loop_buffer_t *lines; // the input lines of a tile as numbers; NULL: pixels are those of x
  int64_t line_span;               // elements of `lines` for each channel
  const byoc_loop_expr_t *line0;   // the first of `lines`
  // Of the current parallel iteration.
  const byoc_loop_expr_t *n, *group, *channel0, *row0;
} byoc_conv_t;

// An element of x in the type that sums have, less the centre; the element at the index.
const byoc_loop_expr_t *byoc_conv_number(const byoc_conv_t *conv, const byoc_loop_expr_t *element);
const byoc_loop_expr_t *byoc_conv_load(const byoc_conv_t *conv, const byoc_loop_expr_t *index);
// Linear index in x of (n, channel, coordinates of the outer spatial dimensions, 0).
const byoc_loop_expr_t *byoc_conv_input_line(const byoc_conv_t *conv, const byoc_loop_expr_t *channel,
                                             const byoc_loop_expr_t *const *coordinates);
// The bias of an output channel; NULL if there is none.
const byoc_loop_expr_t *byoc_conv_bias_of(const byoc_conv_t *conv, const byoc_loop_expr_t *row);
// Stores the pixel at (outer coordinates, i) of output channel `row`.
void byoc_conv_store_pixel(const byoc_conv_t *conv, const byoc_loop_expr_t *row, const byoc_loop_expr_t *const *at,
                           const byoc_loop_expr_t *i, const byoc_loop_expr_t *value);

// The outer spatial coordinates of a result line, from its linear index; `out` is indexed by spatial dimension.
void byoc_conv_line_at(const byoc_conv_t *conv, const byoc_loop_expr_t *line, const byoc_loop_expr_t **out);
// Opens loops over kernel taps in dimensions [0, count); returns the linear tap so far.
const byoc_loop_expr_t *byoc_conv_open_taps(const byoc_conv_t *conv, int32_t count, const byoc_loop_expr_t **taps);
void byoc_conv_close_taps(const byoc_conv_t *conv, int32_t count);
// Coordinates of x in the outer spatial dimensions, and whether they are inside (NULL if they always are).
const byoc_loop_expr_t *byoc_conv_outer_input(const byoc_conv_t *conv, const byoc_loop_expr_t *const *at,
                                              const byoc_loop_expr_t *const *taps, const byoc_loop_expr_t **out);

// As a matrix product over packed pixels (core/ops/onnx/nn/conv_product.c).
void byoc_conv_product(byoc_conv_t *conv, byoc_tile_t *tile);
// For one input channel per group and a small kernel: lowers the convolution and returns true
// (core/ops/onnx/nn/conv_plane.c).
bool byoc_conv_plane(byoc_conv_t *conv);

#endif // BYOC_CORE_OPS_ONNX_NN_CONV_H_

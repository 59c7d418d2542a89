// SPDX-License-Identifier: Apache-2.0
// Sliding windows, shared by convolutions, pools and Im2Col. Pads are symbolic if auto_pad is used on a symbolic
// dimension, and kernels of Conv if their weights are symbolic. Everything else is constant.
#ifndef BYOC_CORE_OPS_LOOPS_WINDOW_H_
#define BYOC_CORE_OPS_LOOPS_WINDOW_H_

#include "core/op/util.h"

#define BYOC_MAX_SPATIAL 6

// Attributes of operators with windows, for their tables. Old exporters write an empty auto_pad.
#define BYOC_WINDOW_ATTRIBUTES                                                                                         \
  {BYOC_ATTR(INTS, "dilations")}, {BYOC_ATTR(INTS, "pads")}, {                                                         \
    BYOC_ATTR(INTS, "strides")                                                                                         \
  }
#define BYOC_AUTO_PAD_ATTRIBUTE                                                                                        \
  { BYOC_ATTR_CHOICE("auto_pad", "NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", "") }
typedef enum byoc_auto_pad_t {
  BYOC_AUTO_PAD_NOTSET,
  BYOC_AUTO_PAD_SAME_UPPER,
  BYOC_AUTO_PAD_SAME_LOWER,
  BYOC_AUTO_PAD_VALID,
  BYOC_AUTO_PAD_EMPTY, // NOTSET
} byoc_auto_pad_t;
// For Conv and operators with its geometry.
extern const byoc_op_attribute_t byoc_conv_attributes[];

typedef struct byoc_window_t {
  int32_t spatial; // number of spatial dimensions; they are the last ones of x
  int64_t kernel[BYOC_MAX_SPATIAL], stride[BYOC_MAX_SPATIAL], dilation[BYOC_MAX_SPATIAL];
  byoc_dim_t size[BYOC_MAX_SPATIAL]; // of the kernel; not constant if is_open, and `kernel` and `taps` are then 0
  byoc_dim_t pad_begin[BYOC_MAX_SPATIAL], pad_end[BYOC_MAX_SPATIAL];
  byoc_dim_t out[BYOC_MAX_SPATIAL];
  int64_t taps;   // product of the kernel's sizes
  bool is_open;   // only the run knows the size of the weights
  bool has_pads;  // false if every pad is the constant 0
  bool ceil_mode; // the last window may extend beyond the input
} byoc_window_t;

// Reads strides, pads, dilations, auto_pad, ceil_mode and, unless `kernel` gives it, kernel_shape; computes pads and
// result sizes for x. When lowering calls this, the node's types are known to fit, and `infer` may have no diag.
byoc_status_t byoc_window_read(const byoc_infer_t *infer, const byoc_type_t *x, const byoc_dim_t *kernel,
                               byoc_window_t *out_window);
// The same for lowering. Expressions of symbolic pads are allocated in the module's arena.
byoc_status_t byoc_window_of(const byoc_node_t *node, const byoc_type_t *x, const byoc_dim_t *kernel,
                             byoc_window_t *out_window);

// Input coordinate of tap `tap` for output coordinate `at` along spatial dimension d: at * stride + tap * dilation -
// pad.
const byoc_loop_expr_t *byoc_window_input(byoc_loop_builder_t *b, const byoc_window_t *window, int32_t d,
                                          const byoc_loop_expr_t *at, const byoc_loop_expr_t *tap);
// The part [*out_begin, *out_end) of the output coordinates [low, high) along d for which tap `tap` falls inside the
// input of size `extent`.
void byoc_window_inside(byoc_loop_builder_t *b, const byoc_window_t *window, int32_t d, const byoc_loop_expr_t *tap,
                        const byoc_loop_expr_t *extent, const byoc_loop_expr_t *low, const byoc_loop_expr_t *high,
                        const byoc_loop_expr_t **out_begin, const byoc_loop_expr_t **out_end);

// Inference of Conv, and of operators with its operands and attributes.
byoc_status_t byoc_infer_conv(byoc_infer_t *infer);
// Inference of ConvInteger and QLinearConv, whose geometry is that of Conv (core/ops/onnx/nn/conv.c). The element types
// of byoc::QLinearConv are not tested.
byoc_status_t byoc_infer_quantised_conv(byoc_infer_t *infer);
// Inference of byoc::QLinearConvTranspose, whose attributes are those of ConvTranspose
// (core/ops/onnx/nn/conv_transpose.c).
byoc_status_t byoc_infer_quantised_transposed(byoc_infer_t *infer);
extern const byoc_op_attribute_t byoc_conv_transpose_attributes[];
// Inference of pools, and of operators with their operand and attributes (core/ops/onnx/nn/pool.c).
byoc_status_t byoc_infer_pool(byoc_infer_t *infer);
// Are convolutions with these weights computed as matrix products over packed pixels?
bool byoc_conv_is_packed(const byoc_type_t *weights, int64_t groups);

#endif // BYOC_CORE_OPS_LOOPS_WINDOW_H_

// SPDX-License-Identifier: Apache-2.0
// Shared by recurrent networks (core/ops/onnx/nn/recurrent.c), their steps (recurrent_steps.c) and their activations
// (recurrent_activation.c).
//
// RNN, GRU and LSTM become one product of all inputs with the input weights, which any backend may claim, and
// byoc::RNNSteps, byoc::GRUSteps or byoc::LSTMSteps, which compute the steps with packed recurrent weights.
#ifndef BYOC_CORE_OPS_ONNX_NN_RECURRENT_H_
#define BYOC_CORE_OPS_ONNX_NN_RECURRENT_H_

#include "core/op/util.h"

// Operands of the steps. Lengths and states have the same indices as in ONNX.
enum {
  BYOC_STEPS_PRODUCTS, // [steps, batch, directions * gates * hidden], or batch first; including biases
  BYOC_STEPS_PANELS,   // [directions, gates * ceil(hidden / width), hidden, width]: R by columns, zeros after the last
  BYOC_STEPS_BIAS,     // [directions, gates * hidden], added to the products with the state
  BYOC_STEPS_PEEPHOLES,
  BYOC_STEPS_LENGTHS,
  BYOC_STEPS_H,
  BYOC_STEPS_C,
  // Of byoc::DynamicLSTMSteps, whose panels are words of four bytes: [directions, gates * ceil(hidden / width), width]
  BYOC_STEPS_SCALES, // of the columns
  BYOC_STEPS_SUMS,   // i32: sums of the columns' elements less their zero points
  BYOC_STEPS_ZEROS,  // i32: zero points, unless all are 0
  BYOC_STEPS_OPERANDS,
};
enum { BYOC_STEPS_WIDTH = 32 };

typedef enum byoc_net_t { BYOC_NET_RNN, BYOC_NET_GRU, BYOC_NET_LSTM } byoc_net_t;

static inline byoc_net_t byoc_net_of(const byoc_node_t *node) {
  return node->op[0] == 'R' ? BYOC_NET_RNN : node->op[0] == 'G' ? BYOC_NET_GRU : BYOC_NET_LSTM;
}
static inline int32_t byoc_net_gates(byoc_net_t net) {
  return net == BYOC_NET_RNN ? 1 : net == BYOC_NET_GRU ? 3 : 4;
}

enum { BYOC_DIRECTION_FORWARD, BYOC_DIRECTION_REVERSE, BYOC_DIRECTION_BOTH }; // as in BYOC_RECURRENT_ATTRIBUTES

#define BYOC_RECURRENT_ATTRIBUTES(layout_since)                                                                        \
  {BYOC_ATTR(INT, "hidden_size")}, {BYOC_ATTR_CHOICE("direction", "forward", "reverse", "bidirectional")},             \
      {BYOC_ATTR(STRINGS, "activations")}, {BYOC_ATTR(FLOATS, "activation_alpha")},                                    \
      {BYOC_ATTR(FLOATS, "activation_beta")}, {BYOC_ATTR(FLOAT, "clip")}, {                                            \
    BYOC_ATTR_INT("layout", 0), .since = layout_since                                                                  \
  }

// Checks lengths, states and peepholes, and sets the results' types. `x` is operand 0, of rank 3; the operand of the
// peepholes has the number `peepholes`.
byoc_status_t byoc_recurrent_infer(const byoc_infer_t *infer, const byoc_type_t *x, byoc_dim_t hidden,
                                   uint32_t peepholes);

// X(name, takes alpha, its default, takes beta, its default)
#define BYOC_ACTIVATION_LIST(X)                                                                                        \
  X(Sigmoid, false, 0, false, 0)                                                                                       \
  X(Tanh, false, 0, false, 0)                                                                                          \
  X(Relu, false, 0, false, 0)                                                                                          \
  X(Affine, true, 1.0, true, 0.0)                                                                                      \
  X(LeakyRelu, true, 0.01, false, 0)                                                                                   \
  X(ThresholdedRelu, true, 1.0, false, 0)                                                                              \
  X(ScaledTanh, true, 1.0, true, 1.0)                                                                                  \
  X(HardSigmoid, true, 0.2, true, 0.5)                                                                                 \
  X(Elu, true, 1.0, false, 0)                                                                                          \
  X(Softsign, false, 0, false, 0)                                                                                      \
  X(Softplus, false, 0, false, 0)

typedef enum byoc_activation_kind_t {
#define BYOC_ACTIVATION_ENUM(name, ...) BYOC_ACTIVATION_##name,
  BYOC_ACTIVATION_LIST(BYOC_ACTIVATION_ENUM)
#undef BYOC_ACTIVATION_ENUM
      BYOC_ACTIVATION_COUNT
} byoc_activation_kind_t;

typedef struct byoc_activation_t {
  byoc_activation_kind_t kind;
  double alpha, beta;
} byoc_activation_t;

// The functions of direction `direction`; false if one is not known or left out. Factors are used up in order by the
// functions that take them.
bool byoc_recurrent_activations(const byoc_node_t *node, int32_t direction, byoc_activation_t out[3]);
const byoc_loop_expr_t *byoc_recurrent_activate(byoc_loop_builder_t *b, const byoc_activation_t *f,
                                                const byoc_loop_expr_t *x);

#endif // BYOC_CORE_OPS_ONNX_NN_RECURRENT_H_

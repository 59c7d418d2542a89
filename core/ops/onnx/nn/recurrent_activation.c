// SPDX-License-Identifier: Apache-2.0
// The functions that recurrent networks apply to their gates and states.
#include <string.h>
#include <strings.h>

#include "core/ops/onnx/nn/recurrent.h"

#define BIN(op, x, y)                                          byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))
#define UN(op, x)                                              byoc_loop_unary(b, BYOC_LOOP_OP_##op, (x))
#define NUM(value)                                             byoc_loop_const(b, dtype, (value))

#define ACTIVATION_ROW(name, has_alpha, alpha, has_beta, beta) {#name, has_alpha, has_beta, alpha, beta},
static const struct {
  const char *name;
  bool has_alpha, has_beta;
  double alpha, beta;
} activations[] = {BYOC_ACTIVATION_LIST(ACTIVATION_ROW)};

bool byoc_recurrent_activations(const byoc_node_t *node, int32_t direction, byoc_activation_t out[3]) {
  const byoc_net_t net = byoc_net_of(node);
  const byoc_attribute_t *names = byoc_node_given(node, "activations");
  size_t alpha_count = 0, beta_count = 0, alpha = 0, beta = 0,
         each = net == BYOC_NET_RNN   ? 1
                : net == BYOC_NET_GRU ? 2
                                      : 3;
  const double *alphas = byoc_node_floats(node, "activation_alpha", &alpha_count);
  const double *betas = byoc_node_floats(node, "activation_beta", &beta_count);
  bool given = names && names->kind == BYOC_ATTRIBUTE_STRINGS && names->count > 0;
  for (size_t i = 0; i < each * (size_t)(direction + 1); ++i) {
    size_t at = i % each;
    byoc_activation_t *f = &out[at];
    *f = (byoc_activation_t){.kind = at == 0 && net != BYOC_NET_RNN ? BYOC_ACTIVATION_Sigmoid : BYOC_ACTIVATION_Tanh};
    if (given) {
      if (i >= names->count) return false;
      int32_t kind = 0;
      while (kind < BYOC_ACTIVATION_COUNT && strcasecmp(activations[kind].name, names->strings[i]) != 0) ++kind;
      if (kind == BYOC_ACTIVATION_COUNT) return false;
      f->kind = (byoc_activation_kind_t)kind;
    }
    f->alpha = activations[f->kind].alpha, f->beta = activations[f->kind].beta;
    if (activations[f->kind].has_alpha && alpha < alpha_count) f->alpha = alphas[alpha++];
    if (activations[f->kind].has_beta && beta < beta_count) f->beta = betas[beta++];
  }
  return true;
}

const byoc_loop_expr_t *byoc_recurrent_activate(byoc_loop_builder_t *b, const byoc_activation_t *f,
                                                const byoc_loop_expr_t *x) {
  byoc_dtype_t dtype = x ? x->dtype : BYOC_DTYPE_F32;
  const byoc_loop_expr_t *zero = NUM(0.0), *one = NUM(1.0), *alpha = NUM(f->alpha), *beta = NUM(f->beta);
  x = byoc_loop_let(b, "x", x);
  switch (f->kind) {
  case BYOC_ACTIVATION_Sigmoid:
    return BIN(DIV, one, BYOC_LADD(b, one, UN(EXP, UN(NEG, x))));
  case BYOC_ACTIVATION_Tanh:
    return UN(TANH, x);
  case BYOC_ACTIVATION_Relu:
    return BYOC_LMAX(b, x, zero);
  case BYOC_ACTIVATION_Affine:
    return BYOC_LADD(b, BYOC_LMUL(b, alpha, x), beta);
  case BYOC_ACTIVATION_LeakyRelu:
    return byoc_loop_select(b, BIN(LT, x, zero), BYOC_LMUL(b, alpha, x), x);
  case BYOC_ACTIVATION_ThresholdedRelu:
    return byoc_loop_select(b, BIN(LT, alpha, x), x, zero);
  case BYOC_ACTIVATION_ScaledTanh:
    return BYOC_LMUL(b, alpha, UN(TANH, BYOC_LMUL(b, beta, x)));
  case BYOC_ACTIVATION_HardSigmoid:
    return BYOC_LMIN(b, BYOC_LMAX(b, BYOC_LADD(b, BYOC_LMUL(b, alpha, x), beta), zero), one);
  case BYOC_ACTIVATION_Elu:
    return byoc_loop_select(b, BIN(LT, x, zero), BYOC_LMUL(b, alpha, UN(EXPM1, x)), x);
  case BYOC_ACTIVATION_Softsign:
    return BIN(DIV, x, BYOC_LADD(b, one, UN(ABS, x)));
  case BYOC_ACTIVATION_Softplus:
    return BYOC_LADD(b, BYOC_LMAX(b, x, zero), UN(LOG1P, UN(EXP, UN(NEG, UN(ABS, x)))));
  case BYOC_ACTIVATION_COUNT:
    break;
  }
  return NULL;
}

// SPDX-License-Identifier: Apache-2.0
// Optimisers of ai.onnx.preview.training: one step of Adagrad, Adam or Momentum over any number of tensors. Each tensor
// becomes one elementwise node.
#include <string.h>

#include "core/op/util.h"
#include "core/op/write.h"

#define TRAINING      "ai.onnx.preview.training"

#define BIN(op, x, y) byoc_loop_binary(b, BYOC_LOOP_OP_##op, (x), (y))
#define ADD(x, y)     BYOC_LADD(b, (x), (y))
#define SUB(x, y)     BYOC_LSUB(b, (x), (y))
#define MUL(x, y)     BYOC_LMUL(b, (x), (y))
#define DIV(x, y)     BIN(DIV, (x), (y))
#define SQRT(x)       byoc_loop_unary(b, BYOC_LOOP_OP_SQRT, (x))

// Operands of a step: R, T, X, G, then one or two states; results: X, then the states.
static uint32_t state_count(const byoc_node_t *node) {
  return strncmp(node->op, "Adam", 4) == 0 ? 2 : 1;
}

static byoc_status_t infer_optimizer(byoc_infer_t *infer) {
  const byoc_node_t *node = infer->node;
  uint32_t each = 2 + state_count(node), results = 1 + state_count(node);
  uint32_t tensors = (node->operand_count - 2) / each;
  if (node->operand_count < 2 + each || (node->operand_count - 2) % each != 0 ||
      node->result_count != results * tensors) {
    return byoc_infer_error(infer, "expected %u operands and %u results for each tensor, besides R and T", each,
                            results);
  }
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    bool (*passes)(byoc_dtype_t) = i == 1 ? byoc_dtype_is_integer : byoc_dtype_is_float;
    BYOC_RETURN_IF_ERROR(byoc_infer_need(infer, i, passes, i == 1 ? "a count" : "a float tensor"));
  }
  for (uint32_t i = 0; i < 2; ++i) BYOC_RETURN_IF_ERROR(byoc_infer_need_one(infer, i));
  // Gradients and states are like the tensors that they belong to.
  for (uint32_t i = 2; i < node->operand_count; ++i) {
    const byoc_type_t *x = byoc_operand_type(node, 2 + (i - 2) % tensors);
    if (x->dtype != byoc_operand_type(node, i)->dtype) {
      return byoc_infer_error(infer, "operand %u: expected the element type of its tensor", i);
    }
    if (byoc_is_ranked(x)) BYOC_RETURN_IF_ERROR(byoc_infer_need_dims(infer, i, x->rank, x->dims));
  }
  for (uint32_t i = 0; i < node->result_count; ++i) {
    // Results: all X, then all first states, then all second states. Operands: the same, with the gradients after X.
    uint32_t group = i / tensors, from = 2 + (group == 0 ? 0 : group + 1) * tensors + i % tensors;
    node->results[i]->type = byoc_operand_type(node, from);
  }
  return BYOC_OK;
}

typedef struct {
  byoc_loop_builder_t *b;
  byoc_dtype_t dtype;
  const byoc_node_t *node;
  const byoc_loop_expr_t *rate, *count, *x, *g, *states[2];
} step_t;

static const byoc_loop_expr_t *number(const step_t *s, double value) {
  return byoc_loop_const(s->b, s->dtype, value);
}

static const byoc_loop_expr_t *factor(const step_t *s, const char *name) {
  return number(s, byoc_node_float(s->node, name));
}

// h' = h + g²; x' = x - r / (1 + t * decay) * g / (sqrt(h') + epsilon), with g regularised
static const byoc_loop_expr_t *step_adagrad(const step_t *s, uint32_t result) {
  byoc_loop_builder_t *b = s->b;
  const byoc_loop_expr_t *decay = ADD(number(s, 1.0), MUL(s->count, factor(s, "decay_factor")));
  const byoc_loop_expr_t *h = ADD(s->states[0], MUL(s->g, s->g));
  if (result == 1) return h;
  const byoc_loop_expr_t *divisor = ADD(SQRT(h), factor(s, "epsilon"));
  return SUB(s->x, DIV(MUL(DIV(s->rate, decay), s->g), divisor));
}

// v' = alpha v + (1 - alpha) g; h' = beta h + (1 - beta) g²; x' = x - r v' / (sqrt(h') + epsilon), r adjusted for the
// states' start at 0
static const byoc_loop_expr_t *step_adam(const step_t *s, uint32_t result) {
  byoc_loop_builder_t *b = s->b;
  const byoc_loop_expr_t *one = number(s, 1.0), *alpha = factor(s, "alpha");
  const byoc_loop_expr_t *beta = factor(s, "beta");
  const byoc_loop_expr_t *v = ADD(MUL(alpha, s->states[0]), MUL(SUB(one, alpha), s->g));
  if (result == 1) return v;
  const byoc_loop_expr_t *h = ADD(MUL(beta, s->states[1]), MUL(SUB(one, beta), MUL(s->g, s->g)));
  if (result == 2) return h;
  const byoc_loop_expr_t *adjusted = MUL(s->rate, SQRT(SUB(one, BIN(POW, beta, s->count))));
  adjusted = DIV(adjusted, SUB(one, BIN(POW, alpha, s->count)));
  const byoc_loop_expr_t *rate = byoc_loop_select(b, BIN(LT, number(s, 0.0), s->count), adjusted, s->rate);
  const byoc_loop_expr_t *divisor = ADD(SQRT(h), factor(s, "epsilon"));
  const byoc_loop_expr_t *x = SUB(s->x, DIV(MUL(rate, v), divisor));
  return MUL(SUB(one, factor(s, "norm_coefficient_post")), x);
}

enum { MODE_STANDARD, MODE_NESTEROV }; // as in Momentum_attributes

// v' = alpha v + beta g, with beta 1 in the first step; x' = x - r v', or Nesterov's x - r (g + alpha v')
static const byoc_loop_expr_t *step_momentum(const step_t *s, uint32_t result) {
  byoc_loop_builder_t *b = s->b;
  const byoc_loop_expr_t *alpha = factor(s, "alpha");
  const byoc_loop_expr_t *beta =
      byoc_loop_select(b, BIN(LT, number(s, 0.0), s->count), factor(s, "beta"), number(s, 1.0));
  const byoc_loop_expr_t *v = ADD(MUL(alpha, s->states[0]), MUL(beta, s->g));
  if (result == 1) return v;
  bool nesterov = byoc_node_choice(s->node, "mode") == MODE_NESTEROV;
  return SUB(s->x, MUL(s->rate, nesterov ? ADD(s->g, MUL(alpha, v)) : v));
}

static const byoc_loop_expr_t *point_step(byoc_lower_t *lower, const byoc_node_t *node, uint32_t result,
                                          const byoc_loop_expr_t *const *indices) {
  byoc_loop_builder_t *b = byoc_lower_builder(lower);
  const byoc_type_t *type = node->results[result]->type;
  step_t s = {.b = b, .dtype = byoc_compute_dtype(type->dtype), .node = node};
  s.rate = byoc_emit_as(b, s.dtype, byoc_emit_scalar(lower, node, 0));
  s.count = byoc_emit_as(b, s.dtype, byoc_emit_scalar(lower, node, 1));
  s.x = byoc_emit_load(lower, node, 2, indices);
  s.g = byoc_emit_load(lower, node, 3, indices);
  for (uint32_t i = 0; i < state_count(node); ++i) s.states[i] = byoc_emit_load(lower, node, 4 + i, indices);
  s.g = ADD(s.g, MUL(factor(&s, "norm_coefficient"), s.x));
  const byoc_loop_expr_t *value = strcmp(node->op, "AdagradStep") == 0 ? step_adagrad(&s, result)
                                  : strcmp(node->op, "AdamStep") == 0  ? step_adam(&s, result)
                                                                       : step_momentum(&s, result);
  return byoc_emit_as(b, type->dtype, value);
}

// Adam(R, T, X..., G..., V..., H...) → byoc::AdamStep(R, T, X, G, V, H) for each tensor
static byoc_status_t expand_optimizer(byoc_node_t *node, byoc_diag_t *diag, bool *out_changed) {
  *out_changed = false;
  byoc_writer_t w = {.node = node, .diag = diag};
  uint32_t each = 2 + state_count(node), results = 1 + state_count(node);
  uint32_t tensors = (node->operand_count - 2) / each;
  const char *name = byoc_arena_format(&node->function->module->arena, "%sStep", node->op);
  if (!name) return byoc_diag_out_of_memory(diag);
  for (uint32_t t = 0; t < tensors; ++t) {
    byoc_value_t *operands[6] = {node->operands[0], node->operands[1]};
    for (uint32_t i = 0; i < each; ++i) operands[2 + i] = node->operands[2 + i * tensors + t];
    byoc_node_t *step =
        byoc_write_many(&w, "byoc", name, operands, 2 + each, results, node->attributes.items, node->attributes.count);
    for (uint32_t i = 0; step && i < results; ++i) {
      if (!byoc_value_replace_uses(node->results[i * tensors + t], step->results[i]))
        return byoc_diag_out_of_memory(diag);
    }
  }
  *out_changed = !w.failed;
  return w.failed ? byoc_diag_failure(diag) : BYOC_OK;
}

static const byoc_op_attribute_t Adagrad_attributes[] = {
    {BYOC_ATTR_FLOAT("decay_factor", 0.0)},
    {BYOC_ATTR_FLOAT("epsilon", 1e-6)},
    {BYOC_ATTR_FLOAT("norm_coefficient", 0.0)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t Adam_attributes[] = {
    {BYOC_ATTR_FLOAT("alpha", 0.9)},
    {BYOC_ATTR_FLOAT("beta", 0.999)},
    {BYOC_ATTR_FLOAT("epsilon", 1e-6)},
    {BYOC_ATTR_FLOAT("norm_coefficient", 0.0)},
    {BYOC_ATTR_FLOAT("norm_coefficient_post", 0.0)},
    BYOC_ATTR_END,
};
static const byoc_op_attribute_t Momentum_attributes[] = {
    {BYOC_ATTR_REQUIRED(FLOAT, "alpha")},
    {BYOC_ATTR_REQUIRED(FLOAT, "beta")},
    {BYOC_ATTR_REQUIRED(FLOAT, "norm_coefficient")},
    {BYOC_ATTR_REQUIRED(STRING, "mode"), .allowed = BYOC_ATTR_ALLOWED("standard", "nesterov")},
    BYOC_ATTR_END,
};

#define OPTIMIZER(op_name)                                                                                             \
  {                                                                                                                    \
    .domain = TRAINING, .name = #op_name, .since_version = 1, .min_inputs = 3, .max_inputs = -1, .min_outputs = 1,     \
    .max_outputs = -1, .attributes = op_name##_attributes, .infer = infer_optimizer, .expand = expand_optimizer        \
  }
#define STEP(op_name, states)                                                                                          \
  {                                                                                                                    \
    .domain = "byoc", .name = #op_name "Step", .since_version = 1, .min_inputs = 4 + (states),                         \
    .max_inputs = 4 + (states), .min_outputs = 1 + (states), .max_outputs = 1 + (states),                              \
    .attributes = op_name##_attributes, .infer = infer_optimizer, .point = point_step                                  \
  }

const byoc_op_t byoc_ops_optimizer[] = {
    OPTIMIZER(Adagrad), OPTIMIZER(Adam), OPTIMIZER(Momentum), STEP(Adagrad, 1), STEP(Adam, 2), STEP(Momentum, 1),
};
const size_t byoc_ops_optimizer_count = sizeof byoc_ops_optimizer / sizeof *byoc_ops_optimizer;

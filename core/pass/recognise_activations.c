// SPDX-License-Identifier: Apache-2.0
// recognise-activations: the formulas that exporters write for the Gaussian error linear unit, and for units that gate
// their input, become one operator, which backends claim as an epilogue and which reads its input once.
//
//   x * (1/2 + 1/2 erf(x / √2))                              →  Gelu(x)
//   x * (1/2 + 1/2 tanh(√(2/π) (x + 0.044715 x³)))           →  Gelu(x, approximate = tanh)
//   x * sigmoid(k x)                                         →  Swish(x, alpha = k)
//   x * clip(x / 6 + 1/2, 0, 1)                              →  HardSwish(x)
//   x * tanh(log(1 + exp(x)))                                →  Mish(x)
//
// Each is x times a gate that is a function of x alone, and perhaps times something else (x * sigmoid(x) * y is a gated
// pair). The position of numbers does not matter: a gate is read as factor * core + summand, numbers that multiply the
// whole go into the factor and the summand, and the argument of the core is read as a polynomial of x. The product may
// be multiplied out: a x + b x core is x (b core + a).
#include <math.h>

#include "core/ir/element.h"
#include "core/ir/virtual_device.h"
#include "core/op/op.h"
#include "core/pass/pass.h"
#include "core/pass/rewrite.h"
#include "core/pass/terms.h"

#define HALF_ROOT   0.70710678118654752 // √½
#define TANH_FACTOR 0.79788456080286536 // √(2/π)
#define TANH_CUBIC  0.044715

// factor * core + summand; the core should be a function of x.
typedef struct gate_t {
  const byoc_value_t *x;
  const byoc_block_t *block;
  byoc_affine_t affine;
} gate_t;

typedef struct unit_t {
  const char *op; // NULL: none
  byoc_attribute_t attribute;
  bool has_attribute;
} unit_t;

static bool near(const gate_t *gate, double number, double expected) {
  return byoc_term_near(gate->x->type->dtype, number, expected);
}

static bool has_numbers(const gate_t *gate, double factor, double summand) {
  return near(gate, gate->affine.factor, factor) && near(gate, gate->affine.summand, summand);
}

// linear * x + cubic * x³
static bool is_odd(const gate_t *gate, const byoc_value_t *value, double linear, double cubic) {
  byoc_polynomial_t p;
  return byoc_term_polynomial(value, gate->x, gate->block, &p) && p.c[0] == 0 && p.c[2] == 0 &&
         near(gate, p.c[1], linear) && (cubic != 0 ? near(gate, p.c[3], cubic) : p.c[3] == 0);
}

// 1 + exp(k x)
static bool is_one_plus_exp(const gate_t *gate, byoc_value_t *value, double *k) {
  byoc_polynomial_t p;
  const byoc_affine_t sum = byoc_term_affine(value, gate->block);
  const byoc_node_t *exp_node = byoc_term_inner(sum.core, gate->block, "Exp");
  if (exp_node == NULL || !near(gate, sum.factor, 1) || !near(gate, sum.summand, 1)) return false;
  if (!byoc_term_polynomial(exp_node->operands[0], gate->x, gate->block, &p)) return false;
  *k = p.c[1];
  return p.c[0] == 0 && p.c[2] == 0 && p.c[3] == 0 && p.c[1] != 0;
}

// erf(x / √2)
static bool is_gelu(const gate_t *gate) {
  const byoc_node_t *erf_node = byoc_term_inner(gate->affine.core, gate->block, "Erf");
  return erf_node != NULL && has_numbers(gate, 0.5, 0.5) && is_odd(gate, erf_node->operands[0], HALF_ROOT, 0);
}

// tanh(√(2/π) (x + 0.044715 x³)), or the same by the sigmoid: (1 + tanh(u)) / 2 = sigmoid(2 u)
static bool is_gelu_by_tanh(const gate_t *gate) {
  const byoc_node_t *tanh_node = byoc_term_inner(gate->affine.core, gate->block, "Tanh");
  const byoc_node_t *sigmoid = byoc_term_inner(gate->affine.core, gate->block, "Sigmoid");
  if (tanh_node != NULL) {
    return has_numbers(gate, 0.5, 0.5) && is_odd(gate, tanh_node->operands[0], TANH_FACTOR, TANH_FACTOR * TANH_CUBIC);
  }
  return sigmoid != NULL && has_numbers(gate, 1, 0) &&
         is_odd(gate, sigmoid->operands[0], 2 * TANH_FACTOR, 2 * TANH_FACTOR * TANH_CUBIC);
}

// sigmoid(k x), or 1 / (1 + exp(-k x))
static bool is_swish(const gate_t *gate, double *k) {
  byoc_polynomial_t p;
  const byoc_node_t *sigmoid = byoc_term_inner(gate->affine.core, gate->block, "Sigmoid");
  const byoc_node_t *inverse = byoc_term_inner(gate->affine.core, gate->block, "Reciprocal");
  const byoc_node_t *quotient = byoc_term_inner(gate->affine.core, gate->block, "Div");
  double factor = 1;
  bool fits = false;
  if (sigmoid != NULL) {
    fits = byoc_term_polynomial(sigmoid->operands[0], gate->x, gate->block, &p) && p.c[0] == 0 && p.c[2] == 0 &&
           p.c[3] == 0 && p.c[1] != 0;
    *k = fits ? p.c[1] : 0;
  } else if (inverse != NULL) {
    fits = is_one_plus_exp(gate, inverse->operands[0], k);
    *k = -*k;
  } else if (quotient != NULL && byoc_term_scalar(quotient->operands[0], &factor)) {
    fits = is_one_plus_exp(gate, quotient->operands[1], k);
    *k = -*k;
  }
  return fits && near(gate, gate->affine.factor * factor, 1) && near(gate, gate->affine.summand, 0);
}

// tanh(log(1 + exp(x)))
static bool is_mish(const gate_t *gate) {
  double k = 0;
  const byoc_node_t *tanh_node = byoc_term_inner(gate->affine.core, gate->block, "Tanh");
  if (tanh_node == NULL || !has_numbers(gate, 1, 0)) return false;
  const byoc_node_t *softplus = byoc_term_inner(tanh_node->operands[0], gate->block, "Softplus");
  if (softplus != NULL) return softplus->operands[0] == gate->x;
  const byoc_node_t *log_node = byoc_term_inner(tanh_node->operands[0], gate->block, "Log");
  return log_node != NULL && is_one_plus_exp(gate, log_node->operands[0], &k) && k == 1;
}

// ---- values between two bounds ----

typedef struct bounded_t {
  byoc_value_t *value; // min(max(value, low), high)
  double low, high;
} bounded_t;

static double between(double number, double low, double high) {
  return fmin(fmax(number, low), high);
}

// A bound of a Clip: its operand, or before version 11 its attribute.
static bool read_bound(const byoc_node_t *clip, uint32_t operand, const char *name, double *bound) {
  if (operand < clip->operand_count && clip->operands[operand] != NULL) {
    return byoc_term_scalar(clip->operands[operand], bound);
  }
  const byoc_attribute_t *given = byoc_node_given(clip, name);
  if (given != NULL) *bound = given->f;
  return true;
}

// One step inwards: a Clip, a Relu, or a Min or Max with a number. Bounds found further inside apply first.
static bool unbind(bounded_t *bounded, const byoc_block_t *block) {
  const byoc_node_t *node = byoc_value_open_producer(bounded->value);
  double low = -INFINITY, high = INFINITY, number = 0;
  uint32_t inner = 0;
  if (node == NULL || node->block != block || bounded->value->uses.count != 1) return false;
  if (byoc_node_is_onnx(node, "Clip")) {
    if (!read_bound(node, 1, "min", &low) || !read_bound(node, 2, "max", &high)) return false;
  } else if (byoc_node_is_onnx(node, "Relu")) {
    low = 0;
  } else if (node->operand_count == 2 && (byoc_node_is_onnx(node, "Min") || byoc_node_is_onnx(node, "Max"))) {
    inner = byoc_term_scalar(node->operands[0], &number) ? 1 : 0;
    if (inner == 0 && !byoc_term_scalar(node->operands[1], &number)) return false;
    *(byoc_node_is_onnx(node, "Min") ? &high : &low) = number;
  } else {
    return false;
  }
  if (!(low <= high)) return false;
  const bounded_t outer = *bounded;
  *bounded = (bounded_t){.value = node->operands[inner],
                         .low = between(low, outer.low, outer.high),
                         .high = between(high, outer.low, outer.high)};
  return true;
}

// clip(x / 6 + 1/2, 0, 1), or a multiple of it
static bool is_hard_swish(const gate_t *gate) {
  bounded_t bounded = {.value = gate->affine.core, .low = -INFINITY, .high = INFINITY};
  double factor = gate->affine.factor, summand = gate->affine.summand;
  const byoc_node_t *hard = byoc_term_inner(bounded.value, gate->block, "HardSigmoid");
  byoc_polynomial_t p;
  double slope = 1, offset = 0;
  if (hard != NULL) {
    slope = byoc_node_float(hard, "alpha");
    offset = byoc_node_float(hard, "beta");
    bounded = (bounded_t){.value = hard->operands[0], .low = 0, .high = 1};
  } else {
    while (unbind(&bounded, gate->block)) continue;
  }
  if (!(factor > 0) || !byoc_term_polynomial(bounded.value, gate->x, gate->block, &p)) return false;
  return p.c[2] == 0 && p.c[3] == 0 && near(gate, factor * slope * p.c[1], 1.0 / 6) &&
         near(gate, factor * (slope * p.c[0] + offset) + summand, 0.5) &&
         near(gate, factor * bounded.low + summand, 0) && near(gate, factor * bounded.high + summand, 1);
}

// The unit of x times the gate.
static unit_t name_unit(const gate_t *gate) {
  unit_t unit = {0};
  double k = 1;
  if (is_gelu_by_tanh(gate)) {
    unit = (unit_t){.op = "Gelu", .has_attribute = true};
    unit.attribute = (byoc_attribute_t){
        .name = "approximate", .kind = BYOC_ATTRIBUTE_STRING, .s = "tanh", .count = sizeof("tanh") - 1};
  } else if (is_gelu(gate)) {
    unit.op = "Gelu";
  } else if (is_swish(gate, &k)) {
    unit = (unit_t){.op = "Swish", .has_attribute = k != 1};
    unit.attribute = (byoc_attribute_t){.name = "alpha", .kind = BYOC_ATTRIBUTE_FLOAT, .f = (float)k};
  } else if (is_hard_swish(gate)) {
    unit.op = "HardSwish";
  } else if (is_mish(gate)) {
    unit.op = "Mish";
  }
  return unit;
}

// The unit of x times `value` times `factor`, plus x times `summand`.
static unit_t read_unit(const byoc_value_t *x, byoc_value_t *value, double factor, double summand,
                        const byoc_block_t *block) {
  const byoc_type_t *type = x->type;
  bool fits = byoc_type_is_tensor(type) && byoc_type_equal(type, value->type) && byoc_dtype_is_any_float(type->dtype);
  if (!fits) return (unit_t){0};
  gate_t gate = {.x = x, .block = block, .affine = byoc_term_affine(value, block)};
  gate.affine.factor *= factor;
  gate.affine.summand = gate.affine.summand * factor + summand;
  return name_unit(&gate);
}

// ---- a x + b x core ----

// factor * x
typedef struct multiple_t {
  byoc_value_t *x;
  double factor;
} multiple_t;

// If x is a product with a number, moves that number from x to the factor. Exporters write x / 2 once for both terms,
// so x may have other readers.
static bool reduce(multiple_t *multiple) {
  const byoc_node_t *node = byoc_value_open_producer(multiple->x);
  double number = 0;
  const bool multiplies = node != NULL && byoc_node_is_onnx(node, "Mul");
  const bool divides = node != NULL && byoc_node_is_onnx(node, "Div");
  if (!multiplies && !divides) return false;
  const bool first = multiplies && byoc_term_scalar(node->operands[0], &number);
  if (!first && (!byoc_term_scalar(node->operands[1], &number) || number == 0)) return false;
  multiple->factor *= divides ? 1 / number : number;
  multiple->x = node->operands[first ? 1 : 0];
  return true;
}

// The factor between x and `value`; 0: the value is no multiple of x.
static double multiple_of(const byoc_value_t *x, byoc_value_t *value) {
  multiple_t multiple = {.x = value, .factor = 1};
  while (multiple.x != x && reduce(&multiple)) continue;
  return multiple.x == x ? multiple.factor : 0;
}

// The unit of `scalar` times the sum of two values, the first of which is a multiple of x.
static unit_t read_terms(byoc_value_t *first, byoc_value_t *second, double scalar, const byoc_block_t *block,
                         byoc_value_t **out_x) {
  unit_t unit = {0};
  byoc_product_t product;
  if (second->uses.count != 1 || !byoc_term_product(second, &product) || product.count != 2) return unit;
  multiple_t multiple = {.x = first, .factor = 1};
  do {
    for (size_t i = 0; i < 2 && unit.op == NULL; ++i) {
      const double factor = product.scalar * multiple_of(multiple.x, product.factors[i]);
      if (factor == 0) continue;
      unit = read_unit(multiple.x, product.factors[1 - i], factor * scalar, multiple.factor * scalar, block);
    }
    *out_x = multiple.x;
  } while (unit.op == NULL && reduce(&multiple));
  return unit;
}

// The unit of `scalar` times a sum, and its input.
static unit_t read_sum(const byoc_node_t *root, const byoc_value_t *sum, double scalar, byoc_value_t **out_x) {
  unit_t unit = {0};
  const byoc_node_t *node = sum == root->results[0] ? root : byoc_term_inner(sum, root->block, "Add");
  if (node == NULL || !byoc_node_is_onnx(node, "Add")) return unit;
  for (uint32_t i = 0; i < 2 && unit.op == NULL; ++i) {
    unit = read_terms(node->operands[i], node->operands[1 - i], scalar, root->block, out_x);
  }
  return unit;
}

// ---- rewriting ----

// unit(x), times the rest if there is one, replaces the root.
static byoc_status_t replace(byoc_node_t *root, byoc_value_t *x, const unit_t *unit, byoc_value_t *rest,
                             byoc_diag_t *diag, size_t *changes) {
  byoc_node_t *made = byoc_op_create_with(root->block, root, "", unit->op, &x, 1, 1, &unit->attribute,
                                          unit->has_attribute ? 1 : 0, diag);
  if (made != NULL && rest != NULL) {
    byoc_value_t *factors[] = {made->results[0], rest};
    made = byoc_op_create(root->block, root, "", "Mul", factors, 2, 1, diag);
  }
  if (made == NULL || !byoc_node_set_name(made, root->name)) return byoc_diag_failure(diag);
  return byoc_pass_replace(root, made->results[0], diag, changes);
}

static byoc_status_t recognise_product(byoc_node_t *root, byoc_diag_t *diag, size_t *changes) {
  byoc_product_t product;
  const byoc_type_t *type = root->results[0]->type;
  if (!byoc_term_product(root->results[0], &product) || product.count > 3) return BYOC_OK;
  for (size_t i = 0; i < product.count && product.count > 1; ++i) {
    for (size_t j = 0; j < product.count; ++j) {
      if (i == j) continue;
      byoc_value_t *x = product.factors[i], *rest = product.count == 3 ? product.factors[3 - i - j] : NULL;
      if (rest == NULL && !byoc_type_equal(x->type, type)) continue;
      const unit_t unit = read_unit(x, product.factors[j], product.scalar, 0, root->block);
      if (unit.op != NULL) return replace(root, x, &unit, rest, diag, changes);
    }
  }
  for (size_t i = 0; i < product.count && product.count < 3; ++i) {
    byoc_value_t *x = NULL, *rest = product.count == 2 ? product.factors[1 - i] : NULL;
    const unit_t unit = read_sum(root, product.factors[i], product.scalar, &x);
    if (unit.op == NULL || (rest == NULL && !byoc_type_equal(x->type, type))) continue;
    return replace(root, x, &unit, rest, diag, changes);
  }
  return BYOC_OK;
}

// x / (1 + exp(-k x))
static byoc_status_t recognise_quotient(byoc_node_t *root, byoc_diag_t *diag, size_t *changes) {
  double k = 0;
  const gate_t gate = {.x = root->operands[0], .block = root->block};
  if (gate.x->type->kind != BYOC_TYPE_TENSOR || !byoc_type_equal(gate.x->type, root->results[0]->type) ||
      !is_one_plus_exp(&gate, root->operands[1], &k)) {
    return BYOC_OK;
  }
  const unit_t unit = {
      .op = "Swish",
      .attribute = {.name = "alpha", .kind = BYOC_ATTRIBUTE_FLOAT, .f = (float)-k},
      .has_attribute = k != -1,
  };
  return replace(root, root->operands[0], &unit, NULL, diag, changes);
}

static byoc_status_t recognise(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes) {
  (void)self;
  bool divides = byoc_node_is_onnx(node, "Div");
  bool may_end = divides || byoc_node_is_onnx(node, "Mul") || byoc_node_is_onnx(node, "Add");
  if (!may_end || node->results[0]->uses.count == 0) return BYOC_OK;
  size_t before = *changes;
  if (divides) BYOC_RETURN_IF_ERROR(recognise_quotient(node, diag, changes));
  return *changes == before ? recognise_product(node, diag, changes) : BYOC_OK;
}

byoc_status_t byoc_pass_recognise_activations(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  BYOC_FOR_EACH_FUNCTION(function, module) {
    // From the end, so that the outermost operation is met first.
    BYOC_RETURN_IF_ERROR(byoc_pass_visit_block_backwards(function->body, recognise, NULL, diag, changes));
  }
  return BYOC_OK;
}

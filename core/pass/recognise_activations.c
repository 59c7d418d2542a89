// recognise-activations: the formulas that exporters write for the Gaussian error linear unit, and for units that gate
// their input, become one operator, which backends take as an epilogue and which reads its input once.
//
//   x * 0.5 * (1 + erf(x / √2))                          →  Gelu(x)
//   x * 0.5 * (1 + tanh(√(2/π) (x + 0.044715 x³)))       →  Gelu(x, approximate = tanh)
//   x * Sigmoid(x)                                       →  Swish(x)
//   x * HardSigmoid(x, alpha = 1/6, beta = 1/2)          →  HardSwish(x)
#include <math.h>

#include "core/ops/op.h"
#include "core/pass/pass.h"
#include "core/pass/rewrite.h"
#include "core/pass/terms.h"

#define HALF_ROOT   0.70710678118654752 // √½
#define TANH_FACTOR 0.79788456080286536 // √(2/π)
#define TANH_CUBIC  0.044715

// erf(x / √2)
static bool is_erf_of(const byoc_value_t *value, const byoc_value_t *x, const byoc_block_t *block) {
  const byoc_node_t *erf = byoc_term_inner(value, block, "Erf");
  byoc_product_t product;
  return erf != NULL && erf->operands[0]->uses.count == 1 && byoc_term_product(erf->operands[0], &product) &&
         byoc_term_near(product.scalar, HALF_ROOT) && byoc_term_is_power(&product, x, 1);
}

// x + 0.044715 x³
static bool is_cubic_sum(const byoc_value_t *value, const byoc_value_t *x, const byoc_block_t *block) {
  const byoc_node_t *add = byoc_term_inner(value, block, "Add");
  for (uint32_t i = 0; add != NULL && i < 2; ++i) {
    byoc_product_t cubic;
    if (add->operands[i] == x && add->operands[1 - i]->uses.count == 1 &&
        byoc_term_product(add->operands[1 - i], &cubic) && byoc_term_near(cubic.scalar, TANH_CUBIC) &&
        byoc_term_is_power(&cubic, x, 3)) {
      return true;
    }
  }
  return false;
}

// 1 + 0.044715 x²
static bool is_square_sum(const byoc_value_t *value, const byoc_value_t *x, const byoc_block_t *block) {
  byoc_value_t *other = byoc_term_plus(value, block, 1);
  byoc_product_t square;
  return other != NULL && other->uses.count == 1 && byoc_term_product(other, &square) &&
         byoc_term_near(square.scalar, TANH_CUBIC) && byoc_term_is_power(&square, x, 2);
}

// tanh(√(2/π) (x + 0.044715 x³)), or with x outside of the brackets
static bool is_tanh_of(const byoc_value_t *value, const byoc_value_t *x, const byoc_block_t *block) {
  const byoc_node_t *tanh_node = byoc_term_inner(value, block, "Tanh");
  byoc_product_t product;
  if (tanh_node == NULL || tanh_node->operands[0]->uses.count != 1 ||
      !byoc_term_product(tanh_node->operands[0], &product) || !byoc_term_near(product.scalar, TANH_FACTOR)) {
    return false;
  }
  if (product.count == 1) return is_cubic_sum(product.factors[0], x, block);
  for (size_t i = 0; product.count == 2 && i < 2; ++i) {
    if (product.factors[i] == x && is_square_sum(product.factors[1 - i], x, block)) return true;
  }
  return false;
}

static byoc_status_t replace(byoc_node_t *root, byoc_value_t *x, const char *op, bool by_tanh, byoc_diag_t *diag,
                             size_t *changes) {
  const byoc_attribute_t approximate = {
      .name = "approximate", .kind = BYOC_ATTRIBUTE_STRING, .s = "tanh", .count = sizeof("tanh") - 1};
  byoc_node_t *unit = byoc_op_create_with(root->block, root, "", op, &x, 1, 1, &approximate, by_tanh ? 1 : 0, diag);
  if (unit == NULL || !byoc_node_set_name(unit, root->name)) return byoc_diag_failure(diag);
  return byoc_pass_replace(root, unit->results[0], diag, changes);
}

static byoc_status_t recognise_gelu(byoc_node_t *root, byoc_diag_t *diag, size_t *changes) {
  byoc_product_t product;
  if (!byoc_term_product(root->results[0], &product) || product.count != 2 || !byoc_term_near(product.scalar, 0.5)) {
    return BYOC_OK;
  }
  for (size_t i = 0; i < 2; ++i) {
    byoc_value_t *x = product.factors[i];
    const byoc_value_t *inner = byoc_term_plus(product.factors[1 - i], root->block, 1);
    if (inner == NULL || !byoc_type_equal(x->type, root->results[0]->type)) continue;
    bool by_tanh = is_tanh_of(inner, x, root->block);
    if (!by_tanh && !is_erf_of(inner, x, root->block)) continue;
    return replace(root, x, "Gelu", by_tanh, diag, changes);
  }
  return BYOC_OK;
}

// The unit that x times the gate is; NULL where it is none.
static const char *gated_unit(const byoc_value_t *gate, const byoc_value_t *x, const byoc_block_t *block) {
  const byoc_node_t *sigmoid = byoc_term_inner(gate, block, "Sigmoid");
  if (sigmoid != NULL) return sigmoid->operands[0] == x ? "Swish" : NULL;
  const byoc_node_t *hard = byoc_term_inner(gate, block, "HardSigmoid");
  if (hard == NULL || hard->operands[0] != x) return NULL;
  bool fits = byoc_term_near(byoc_attributes_float(&hard->attributes, "alpha", 0.2), 1.0 / 6.0) &&
              byoc_term_near(byoc_attributes_float(&hard->attributes, "beta", 0.5), 0.5);
  return fits ? "HardSwish" : NULL;
}

static byoc_status_t recognise_gate(byoc_node_t *product, byoc_diag_t *diag, size_t *changes) {
  for (uint32_t i = 0; i < 2; ++i) {
    byoc_value_t *x = product->operands[i];
    const char *unit = gated_unit(product->operands[1 - i], x, product->block);
    if (unit == NULL) continue;
    return replace(product, x, unit, false, diag, changes);
  }
  return BYOC_OK;
}

// From the end: the outermost multiplication is met first.
static byoc_status_t recognise_block(byoc_block_t *block, byoc_diag_t *diag, size_t *changes) {
  for (byoc_node_t *node = block->last, *previous; node != NULL; node = previous) {
    previous = node->previous;
    for (uint32_t b = 0; b < node->block_count; ++b) {
      BYOC_RETURN_IF_ERROR(recognise_block(node->blocks[b], diag, changes));
    }
    bool multiplies = byoc_node_is_onnx(node, "Mul"), divides = byoc_node_is_onnx(node, "Div");
    if ((!multiplies && !divides) || node->results[0]->uses.count == 0) continue;
    size_t before = *changes;
    if (multiplies) BYOC_RETURN_IF_ERROR(recognise_gate(node, diag, changes));
    if (*changes == before) BYOC_RETURN_IF_ERROR(recognise_gelu(node, diag, changes));
  }
  return BYOC_OK;
}

byoc_status_t byoc_pass_recognise_activations(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  for (size_t f = 0; f < module->functions.count; ++f) {
    BYOC_RETURN_IF_ERROR(recognise_block(module->functions.data[f]->body, diag, changes));
  }
  return BYOC_OK;
}

// SPDX-License-Identifier: Apache-2.0
// Differentiation by rules, in reverse: from the gradient of an operator's result to those of its operands.
#ifndef BYOC_CORE_OPS_ONNX_TRAINING_GRADIENT_H_
#define BYOC_CORE_OPS_ONNX_TRAINING_GRADIENT_H_

#include "core/op/write.h"

typedef struct byoc_gradient_t {
  byoc_writer_t w;     // before the Gradient node
  byoc_map_t adjoints; // pointer map: value → the gradient of y by it, as far as it has been summed up
  byoc_status_t status;
  byoc_diag_t *diag;
} byoc_gradient_t;

// Adds a contribution to the gradient by `to`, summed over the elements that broadcasting repeated. The first failure
// is kept.
void byoc_gradient_add(byoc_gradient_t *gradient, byoc_value_t *to, byoc_value_t *contribution);
// Records that a rule does not cover its arguments.
void byoc_gradient_refuse(byoc_gradient_t *gradient, const byoc_node_t *node, const char *why);

// Adds the contributions of `node` to the gradients of its operands; `dy` is the gradient by its first result.
typedef void (*byoc_gradient_rule_t)(byoc_gradient_t *gradient, byoc_node_t *node, byoc_value_t *dy);
// NULL if there is no rule.
byoc_gradient_rule_t byoc_gradient_rule(const byoc_node_t *node);

#endif // BYOC_CORE_OPS_ONNX_TRAINING_GRADIENT_H_

// SPDX-License-Identifier: Apache-2.0
// Finds functions with operators that ONNX leaves undefined for NaN and infinities.
#include "core/measure/special_values.h"

#include <string.h>

#include "core/op/op.h"

// A conversion makes integers of floats. An order has no position for NaN. A sample between elements may count elements
// of weight 0, and 0 times infinity is NaN; so may sums over masked elements, or between the elements of a transposed
// convolution.
static bool is_undefined(const byoc_node_t *node) {
  static const char *const operators[] = {"Cast",
                                          "CastLike",
                                          "QuantizeLinear",
                                          "DynamicQuantizeLinear",
                                          "ArgMax",
                                          "ArgMin",
                                          "TopK",
                                          "Unique",
                                          "NonZero",
                                          "NonMaxSuppression",
                                          "Multinomial",
                                          "Bernoulli",
                                          "Mod",
                                          "Resize",
                                          "Upsample",
                                          "GridSample",
                                          "RoiAlign",
                                          "AffineGrid",
                                          "DeformConv",
                                          "ConvTranspose",
                                          "CropAndResize",
                                          "Range",
                                          "Attention",
                                          "MaxRoiPool",
                                          "Compress",
                                          "DFT",
                                          "STFT",
                                          "Hardmax",
                                          "CenterCropPad"};
  // Operators of other domains say little about NaN, and most of them quantise or mask.
  if (node->domain[0] != '\0' && strcmp(node->domain, "ai.onnx") != 0 && strcmp(node->domain, "byoc") != 0) return true;
  for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); ++i) {
    if (strcmp(node->op, operators[i]) == 0) return true;
  }
  return strncmp(node->op, "QLinear", strlen("QLinear")) == 0;
}

static bool is_defined(void *self, byoc_node_t *node) {
  if (node->callee != NULL) return byoc_block_walk(node->callee->body, is_defined, self);
  return !is_undefined(node);
}

bool byoc_measure_takes_special(const byoc_function_t *function) {
  return byoc_block_walk(function->body, is_defined, NULL);
}

static bool is_light(void *self, byoc_node_t *node) {
  if (node->callee != NULL) return byoc_block_walk(node->callee->body, is_light, self);
  return !byoc_node_has_trait(node, BYOC_OP_HEAVY);
}

byoc_special_values_t byoc_measure_special_values(const byoc_function_t *function, const byoc_target_t *target) {
  if (byoc_target_relative_error(target) > 0 || !byoc_measure_takes_special(function)) return BYOC_WILD_NONE;
  const bool is_exact = target->kind->backend == NULL || byoc_block_walk(function->body, is_light, NULL);
  return is_exact ? BYOC_WILD_EXACT : BYOC_WILD_SPREADS;
}

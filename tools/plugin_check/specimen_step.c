// SPDX-License-Identifier: Apache-2.0
// How far a result may be from the expected one because a sum was rounded in another order before it was quantised.
#include <math.h>
#include <string.h>

#include "core/ir/element.h"
#include "tools/plugin_check/specimen.h"

enum { MOST_DEPTH = 64 };

// Operators that quantise: floats, or sums of integers that are multiplied by a scale, become integers.
static bool quantises(const specimen_node_t *node, uint32_t result) {
  if (strcmp(node->op, "DynamicQuantizeLinear") == 0) return result == 0;
  return strncmp(node->op, "QLinear", 7) == 0 || strcmp(node->op, "QuantizeLinear") == 0 ||
         strcmp(node->op, "QGemm") == 0;
}

static double element(const specimen_value_t *value, int64_t index) {
  if (value->data != NULL) return byoc_element_f64(value->dtype, value->data, (size_t)index);
  return value->fill == SPECIMEN_LISTED ? value->values[(size_t)index % value->value_count] : 1;
}

// The largest of the scales.
static double scale_of(const specimen_value_t *value) {
  int64_t count = 1;
  for (int32_t d = 0; d < value->rank; ++d) count *= value->dims[d];
  double largest = 0;
  for (int64_t i = 0; i < count; ++i) largest = fmax(largest, fabs(element(value, i)));
  return largest;
}

static double step_of(const specimen_t *specimen, uint32_t index, int depth);

static double step_of_operands(const specimen_t *specimen, const specimen_node_t *node, int depth) {
  double largest = 0;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (node->operands[i] == SPECIMEN_NONE) continue;
    largest = fmax(largest, step_of(specimen, node->operands[i], depth + 1));
  }
  return largest;
}

static bool has_float_operand(const specimen_t *specimen, const specimen_node_t *node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (node->operands[i] == SPECIMEN_NONE) continue;
    if (byoc_dtype_is_any_float(specimen->values.data[node->operands[i]].dtype)) return true;
  }
  return false;
}

static double step_of(const specimen_t *specimen, uint32_t index, int depth) {
  const specimen_value_t *value = &specimen->values.data[index];
  const specimen_node_t *node = NULL;
  for (size_t n = 0; n < specimen->nodes.count; ++n) {
    const specimen_node_t *other = &specimen->nodes.data[n];
    if (index >= other->first_result && index - other->first_result < other->result_count) node = other;
  }
  if (node == NULL || depth > MOST_DEPTH) return 0;
  const double before = step_of_operands(specimen, node, depth);
  if (quantises(node, index - node->first_result)) return before > 0 && before < 1 ? 2 : before + 1;
  if (strcmp(node->op, "DequantizeLinear") == 0 && node->operand_count > 1) {
    return before * scale_of(&specimen->values.data[node->operands[1]]);
  }
  // A float of another order becomes another integer.
  const bool is_whole = byoc_dtype_is_any_integer(value->dtype) && byoc_dtype_bits(value->dtype) <= 16;
  return is_whole && has_float_operand(specimen, node) ? fmax(before, 1) : before;
}

double specimen_step(const specimen_t *specimen, uint32_t value) {
  return step_of(specimen, value, 0);
}

bool specimen_steps_are_few(size_t stepped, size_t count) {
  return stepped <= 2 || stepped <= count / 4;
}

// SPDX-License-Identifier: Apache-2.0
// recognise-layer-norm: layer normalisation as exporters of older operator sets write it becomes one operator.
#include <string.h>

#include "core/ir/virtual_device.h"
#include "core/op/op.h"
#include "core/op/util.h"
#include "core/pass/pass.h"
#include "core/pass/rewrite.h"
#include "core/pass/terms.h"

// (x - mean(x)) / sqrt(mean((x - mean(x))²) + epsilon), found from its division.
typedef struct layer_norm_t {
  byoc_value_t *x;
  int32_t axis_count; // the last axes, over which it normalises
  double epsilon;
} layer_norm_t;

// True if no node but `a` and `b` reads the value, and it is not a result of the block.
static bool only_readers(const byoc_value_t *value, const byoc_node_t *a, const byoc_node_t *b) {
  for (size_t i = 0; i < value->uses.count; ++i) {
    const byoc_node_t *reader = value->uses.data[i].node;
    if (reader == NULL || (reader != a && reader != b)) return false;
  }
  return true;
}

// The number of last axes that a ReduceMean averages over and keeps as ones; 0 for another node.
static int32_t mean_axes(const byoc_node_t *mean) {
  const byoc_type_t *type = mean->operands[0]->type;
  byoc_ints_t axes;
  if (!byoc_is_ranked(type) || byoc_node_int(mean, "keepdims") != 1) return 0;
  if (byoc_read_ints(mean, "axes", 1, &axes) != BYOC_KNOWN_YES || axes.count == 0) return 0;
  bool reduced[BYOC_MAX_RANK] = {false};
  for (size_t i = 0; i < axes.count; ++i) {
    int32_t axis;
    if (!byoc_normalize_axis(axes.values[i], type->rank, &axis) || reduced[axis]) return 0;
    reduced[axis] = true;
  }
  for (size_t i = 0; i < axes.count; ++i) {
    if (!reduced[type->rank - 1 - (int32_t)i]) return 0;
  }
  return (int32_t)axes.count;
}

// The square of `value`, as Pow(value, 2) or Mul(value, value).
static bool is_square_of(const byoc_node_t *node, const byoc_value_t *value) {
  double exponent;
  if (byoc_node_is_onnx(node, "Mul")) return node->operands[0] == value && node->operands[1] == value;
  return byoc_node_is_onnx(node, "Pow") && node->operands[0] == value &&
         byoc_term_scalar(node->operands[1], &exponent) && exponent == 2;
}

// sqrt(mean(square) + epsilon): the node of the square.
static byoc_node_t *read_deviation(const byoc_value_t *value, const byoc_block_t *block, layer_norm_t *norm) {
  const byoc_node_t *root = byoc_term_inner(value, block, "Sqrt");
  const byoc_node_t *add = root != NULL ? byoc_term_inner(root->operands[0], block, "Add") : NULL;
  for (uint32_t i = 0; add != NULL && i < 2; ++i) {
    const byoc_node_t *mean = byoc_term_inner(add->operands[1 - i], block, "ReduceMean");
    if (mean == NULL || !byoc_term_scalar(add->operands[i], &norm->epsilon)) continue;
    norm->axis_count = mean_axes(mean);
    byoc_node_t *square = byoc_value_open_producer(mean->operands[0]);
    if (norm->axis_count > 0 && square != NULL && mean->operands[0]->uses.count == 1) return square;
  }
  return NULL;
}

static bool read_layer_norm(const byoc_node_t *division, layer_norm_t *out_norm) {
  const byoc_value_t *centred = division->operands[0];
  const byoc_node_t *sub = byoc_value_open_producer(centred);
  if (sub == NULL || sub->block != division->block || !byoc_node_is_onnx(sub, "Sub")) return false;
  const byoc_node_t *square = read_deviation(division->operands[1], division->block, out_norm);
  if (square == NULL || !is_square_of(square, centred) || !only_readers(centred, division, square)) return false;
  const byoc_node_t *mean = byoc_term_inner(sub->operands[1], division->block, "ReduceMean");
  out_norm->x = sub->operands[0];
  const byoc_type_t *type = out_norm->x->type;
  return mean != NULL && mean->operands[0] == out_norm->x && mean_axes(mean) == out_norm->axis_count &&
         byoc_is_ranked(type) && type->dtype == BYOC_DTYPE_F32 && byoc_type_equal(type, division->results[0]->type);
}

// A constant of the normalised dimensions.
static bool is_parameter(const layer_norm_t *norm, const byoc_value_t *value) {
  const byoc_type_t *x = norm->x->type;
  if (!byoc_value_is_constant(value) || value->type->dtype != BYOC_DTYPE_F32) return false;
  if (value->type->rank != norm->axis_count) return false;
  for (int32_t d = 0; d < norm->axis_count; ++d) {
    if (!byoc_dim_equal(value->type->dims[d], x->dims[x->rank - norm->axis_count + d])) return false;
  }
  return true;
}

// The one node that reads `value`, if it is `op` with a parameter as its other operand.
static byoc_node_t *find_parameter(const layer_norm_t *norm, const byoc_value_t *value, const char *op,
                                   byoc_value_t **out_parameter) {
  byoc_node_t *node = value->uses.count == 1 ? value->uses.data[0].node : NULL;
  if (node == NULL || !byoc_node_is_onnx(node, op) || node->block != value->node->block) return NULL;
  for (uint32_t i = 0; i < 2; ++i) {
    if (node->operands[i] != value || !is_parameter(norm, node->operands[1 - i])) continue;
    *out_parameter = node->operands[1 - i];
    return node;
  }
  return NULL;
}

// (x - mean) / sqrt(variance + epsilon) * scale + shift → LayerNormalization(x, scale, shift)
static byoc_status_t recognise_node(const byoc_node_t *division, byoc_diag_t *diag, size_t *changes) {
  layer_norm_t norm = {0};
  if (!read_layer_norm(division, &norm)) return BYOC_OK;
  byoc_value_t *operands[3] = {norm.x, NULL, NULL};
  byoc_node_t *last = find_parameter(&norm, division->results[0], "Mul", &operands[1]);
  if (last == NULL) return BYOC_OK;
  byoc_node_t *shift = find_parameter(&norm, last->results[0], "Add", &operands[2]);
  if (shift != NULL) last = shift;
  const byoc_attribute_t attributes[] = {{.name = "axis", .kind = BYOC_ATTRIBUTE_INT, .i = -norm.axis_count},
                                         {.name = "epsilon", .kind = BYOC_ATTRIBUTE_FLOAT, .f = norm.epsilon}};
  byoc_node_t *made = byoc_op_create_with(last->block, last, "", "LayerNormalization", operands, shift != NULL ? 3 : 2,
                                          1, attributes, 2, diag);
  if (made == NULL || !byoc_node_set_name(made, last->name)) return byoc_diag_failure(diag);
  return byoc_pass_replace(last, made->results[0], diag, changes);
}

static byoc_status_t recognise(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes) {
  (void)self;
  return byoc_node_is_onnx(node, "Div") ? recognise_node(node, diag, changes) : BYOC_OK;
}

byoc_status_t byoc_pass_recognise_layer_norm(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  BYOC_FOR_EACH_FUNCTION(function, module) {
    // From the end: the node that is removed stands behind the division.
    BYOC_RETURN_IF_ERROR(byoc_pass_visit_block_backwards(function->body, recognise, NULL, diag, changes));
  }
  return BYOC_OK;
}

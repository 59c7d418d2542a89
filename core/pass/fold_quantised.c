// SPDX-License-Identifier: Apache-2.0
// fold-quantised: models that say QuantizeLinear and DequantizeLinear around operators on floats (QDQ, as exporters
// write them) get their canonical form, in which quantised operators are units: one node that reads integers and gives
// integers, with the scales and zero points as operands. The form depends on the model alone, never on targets.
//
// Two things differ from the graph as written: sums of products are exact in i32, where floats round each step, and a
// bias is added before scaling, as an integer in units of the product of the scales. So a result may be rounded to the
// neighbouring integer if it lies within float error, or a few hundredths of a step, of the middle between two, but
// never further. All other rewrites are exact.
//
// It runs before constants are folded, because folding would turn quantised weights into floats.
#include "core/ir/virtual_device.h"
#include "core/op/util.h"
#include "core/pass/pass.h"
#include "core/pass/quantised_product.h"
#include "core/pass/rewrite.h"

static byoc_status_t replace(const byoc_writer_t *w, byoc_node_t *node, byoc_value_t *by, byoc_diag_t *diag,
                             size_t *changes) {
  return byoc_pass_replace(node, w->failed ? NULL : by, diag, changes);
}

// ---- operators that leave numbers as they are ----

// One tensor's elements, into one result.
static bool moves_data(const byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  return op != NULL && (op->traits & BYOC_OP_MOVES) != 0 && op->max_inputs > 0 && op->max_outputs == 1;
}

// The axis of a transposition's operand in its result.
static int32_t moved_axis(const byoc_node_t *transpose, int32_t axis) {
  int32_t rank = transpose->operands[0]->type->rank;
  size_t count = 0;
  const int64_t *permutation = byoc_node_ints(transpose, "perm", &count);
  for (int32_t d = 0; d < rank; ++d) {
    if ((permutation ? permutation[d] : rank - 1 - d) == axis) return d;
  }
  return -1;
}

static byoc_value_t *write_dequantised(byoc_writer_t *w, byoc_value_t *x, byoc_value_t *scale, byoc_value_t *zero,
                                       int32_t axis) {
  const byoc_attribute_t attribute = {.name = "axis", .kind = BYOC_ATTRIBUTE_INT, .i = axis};
  return byoc_write_node(w, "", "DequantizeLinear", x, scale, zero, &attribute, axis >= 0 ? 1 : 0);
}

// f(DequantizeLinear(x)) → DequantizeLinear(f(x)) for data movement, MaxPool and Concat of equal scales;
// Relu(DequantizeLinear(x)) → DequantizeLinear(Max(x, zero point))
static byoc_status_t move_behind(byoc_node_t *node, byoc_diag_t *diag, size_t *changes) {
  bool is_relu = byoc_node_is_onnx(node, "Relu"), is_concat = byoc_node_is_onnx(node, "Concat");
  bool rises = is_relu || byoc_node_is_onnx(node, "MaxPool");
  if (!rises && !is_concat && !moves_data(node)) return BYOC_OK;
  byoc_quantised_t x;
  if (node->operand_count == 0 || node->result_count == 0 || !byoc_has_operand(node, 0)) return BYOC_OK;
  if (!byoc_is_ranked(node->results[0]->type) || !byoc_quantised_read(node->operands[0], node->block, &x))
    return BYOC_OK;
  if (node->result_count > 1 && node->results[1]->uses.count > 0) return BYOC_OK;
  int32_t axis = x.axis;
  if (axis >= 0 && !byoc_node_is_onnx(node, "Transpose")) return BYOC_OK;
  if (axis >= 0) axis = moved_axis(node, axis);
  if (rises && !byoc_quantised_rises(&x)) return BYOC_OK;
  byoc_value_t *operands[BYOC_MAX_INTS];
  if (node->operand_count > BYOC_MAX_INTS) return BYOC_OK;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    byoc_quantised_t other = x;
    if (is_concat && (!byoc_quantised_read(node->operands[i], node->block, &other) || !byoc_quantised_same(&x, &other)))
      return BYOC_OK;
    operands[i] = is_concat || i == 0 ? other.bytes : node->operands[i];
  }
  byoc_writer_t w = {.node = node, .diag = diag};
  const byoc_attributes_t *attributes = &node->attributes;
  byoc_value_t *moved = NULL;
  if (is_relu) {
    moved = byoc_write_node(&w, "", "Max", x.bytes, byoc_quantised_zero(&w, &x), NULL, NULL, 0);
  } else {
    // The operator keeps its version: newer ones may read other attributes.
    byoc_node_t *made = byoc_node_create(node->block, node, node->domain, node->op, node->since_version, operands,
                                         node->operand_count, 1);
    if (!made || !byoc_attributes_copy(&made->attributes, attributes)) return byoc_diag_out_of_memory(diag);
    BYOC_RETURN_IF_ERROR(byoc_infer_node(made, diag));
    moved = made->results[0];
  }
  if (!moved) return byoc_diag_out_of_memory(diag);
  return replace(&w, node, write_dequantised(&w, moved, x.scale, x.zero, axis), diag, changes);
}

// QuantizeLinear(DequantizeLinear(x)) → x
static bool is_way_back(const byoc_node_t *quantise, byoc_value_t **out_x) {
  byoc_quantised_t x, y;
  if (!byoc_quantised_of(quantise, &y) || !byoc_quantised_read(quantise->operands[0], quantise->block, &x))
    return false;
  *out_x = x.bytes;
  return byoc_quantised_same(&x, &y);
}

// ---- the pass ----

static byoc_status_t fold_block(byoc_block_t *block, byoc_diag_t *diag, size_t *changes) {
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) BYOC_RETURN_IF_ERROR(fold_block(node->blocks[b], diag, changes));
    BYOC_RETURN_IF_ERROR(move_behind(node, diag, changes));
  }
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    if (!byoc_node_is_onnx(node, "QuantizeLinear")) continue;
    byoc_value_t *x = NULL;
    if (!is_way_back(node, &x)) {
      BYOC_RETURN_IF_ERROR(byoc_quantised_product_unite(node, diag, changes));
      continue;
    }
    BYOC_RETURN_IF_ERROR(byoc_pass_replace(node, x, diag, changes));
  }
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    if (node->result_count == 0 || node->results[0]->uses.count == 0) continue;
    BYOC_RETURN_IF_ERROR(byoc_quantised_product_split(node, diag, changes));
  }
  return BYOC_OK;
}

byoc_status_t byoc_pass_fold_quantised(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  BYOC_FOR_EACH_FUNCTION(function, module) { BYOC_RETURN_IF_ERROR(fold_block(function->body, diag, changes)); }
  return BYOC_OK;
}

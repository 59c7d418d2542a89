// SPDX-License-Identifier: Apache-2.0
// fold-quantised: products of models that say QuantizeLinear and DequantizeLinear around operators on floats (QDQ, as
// exporters write them) become units: one node that reads integers and gives integers, with the scales and zero points
// as operands. The form depends on the model alone, never on targets.
//
//   QuantizeLinear(Conv(DequantizeLinear(x), DequantizeLinear(w), bias))  →  QLinearConv(x, w, bias)
//   ConvTranspose                                                         →  byoc::QLinearConvTranspose
//   MatMul, Gemm                                                          →  QLinearMatMul; with a bias QGemm
//   products that are read as floats                     →  DequantizeLinear(ConvInteger or MatMulInteger(x, w)) + bias
//
// with Relu or Clip in front of the QuantizeLinear, which then cut integers or vanish. Two things differ from the graph
// as written: sums of products are exact in i32, where floats round each step, and a bias is added before scaling, as
// an integer in units of the product of the scales. So a result may be rounded to the neighbouring integer if it lies
// within float error, or 1/64 of a step, of the middle between two, but never further.
//
// Before that, a BatchNormalization of a product becomes part of it (quantised_norm.c).
//
// It runs before constants are folded, because folding would turn quantised weights into floats.
#include "core/pass/pass.h"
#include "core/pass/quantised_product.h"

static byoc_status_t fold_block(byoc_block_t *block, byoc_diag_t *diag, size_t *changes) {
  BYOC_FOR_EACH_NODE_SAFE(node, block) BYOC_RETURN_IF_ERROR(byoc_quantised_norm_fold(node, diag, changes));
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) BYOC_RETURN_IF_ERROR(fold_block(node->blocks[b], diag, changes));
    if (!byoc_node_is_onnx(node, "QuantizeLinear")) continue;
    BYOC_RETURN_IF_ERROR(byoc_quantised_product_unite(node, diag, changes));
  }
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    if (node->result_count == 0 || node->results[0]->uses.count == 0) continue;
    BYOC_RETURN_IF_ERROR(byoc_quantised_product_split(node, diag, changes));
  }
  return BYOC_OK;
}

byoc_status_t byoc_pass_fold_quantised(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  BYOC_FOR_EACH_FUNCTION(function, module) {
    BYOC_RETURN_IF_ERROR(fold_block(function->body, diag, changes));
  }
  return BYOC_OK;
}

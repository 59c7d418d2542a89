// SPDX-License-Identifier: Apache-2.0
// fold-pad: padding with zeros before a convolution or an average becomes the operator's own padding.
#include <string.h>

#include "core/op/op.h"
#include "core/ops/loops/window.h"
#include "core/pass/pass.h"
#include "core/pass/rewrite.h"
#include "core/pass/terms.h"

// The zeros of a Pad at both ends of each spatial axis: begins, then ends. False for any other padding.
static bool read_pad(const byoc_node_t *pad, int32_t spatial, int64_t *out_pads) {
  const byoc_type_t *type = pad->operands[0]->type;
  byoc_ints_t pads;
  double value = byoc_node_float(pad, "value");
  if (!byoc_is_ranked(type) || type->rank != spatial + 2 || byoc_has_operand(pad, 3)) return false;
  if (strcmp(byoc_node_text(pad, "mode"), "constant") != 0) return false;
  if (byoc_has_operand(pad, 2) && !byoc_term_scalar(pad->operands[2], &value)) return false;
  if (value != 0 || byoc_read_ints(pad, "pads", 1, &pads) != BYOC_KNOWN_YES) return false;
  if (pads.count != 2 * (size_t)type->rank) return false;
  for (int32_t d = 0; d < type->rank; ++d) {
    int64_t begin = pads.values[d], end = pads.values[type->rank + d];
    if (begin < 0 || end < 0 || (d < 2 && (begin != 0 || end != 0))) return false;
    if (d < 2) continue;
    out_pads[d - 2] = begin;
    out_pads[spatial + d - 2] = end;
  }
  return true;
}

// Adds the padding in the node's attributes. False if it depends on the input's size.
static bool add_own_pads(const byoc_node_t *node, int32_t spatial, int64_t *pads, bool *out_has_own) {
  int automatic = byoc_node_choice(node, "auto_pad");
  size_t count = 0;
  const int64_t *own = byoc_node_ints(node, "pads", &count);
  *out_has_own = false;
  if (automatic == BYOC_AUTO_PAD_VALID) return true;
  if (automatic != BYOC_AUTO_PAD_NOTSET && automatic != BYOC_AUTO_PAD_EMPTY) return false;
  for (size_t i = 0; own != NULL && i < count && i < 2 * (size_t)spatial; ++i) {
    pads[i] += own[i];
    if (own[i] != 0) *out_has_own = true;
  }
  return own == NULL || count == 2 * (size_t)spatial;
}

// Conv(Pad(x)) → Conv(x, pads); AveragePool(Pad(x)) → AveragePool(x, pads, count_include_pad)
static byoc_status_t fold_node(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes) {
  (void)self;
  bool is_average = byoc_node_is_onnx(node, "AveragePool");
  if (!is_average && !byoc_node_is_onnx(node, "Conv")) return BYOC_OK;
  byoc_node_t *pad = byoc_term_inner(node->operands[0], node->block, "Pad");
  if (pad == NULL || !byoc_is_ranked(node->operands[0]->type)) return BYOC_OK;
  int32_t spatial = node->operands[0]->type->rank - 2;
  int64_t pads[2 * BYOC_MAX_RANK] = {0};
  bool has_own = false;
  if (spatial < 1 || !read_pad(pad, spatial, pads) || !add_own_pads(node, spatial, pads, &has_own)) return BYOC_OK;
  if (is_average) {
    // The zeros must count. They cannot be told apart from padding of the node's own that does not count, nor from the
    // border that ceil_mode adds.
    bool counts = byoc_node_flag(node, "count_include_pad");
    if (node->since_version < 7 || (has_own && !counts) || byoc_node_flag(node, "ceil_mode")) return BYOC_OK;
    if (!byoc_attributes_set_int(&node->attributes, "count_include_pad", 1)) return byoc_diag_out_of_memory(diag);
  }
  byoc_attributes_remove(&node->attributes, "auto_pad");
  if (!byoc_attributes_set_ints(&node->attributes, "pads", pads, 2 * (size_t)spatial) ||
      !byoc_node_set_operand(node, 0, pad->operands[0])) {
    return byoc_diag_out_of_memory(diag);
  }
  *changes += 1;
  return BYOC_OK;
}

byoc_status_t byoc_pass_fold_pad(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  return byoc_pass_visit_module(module, fold_node, NULL, diag, changes);
}

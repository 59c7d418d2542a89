// SPDX-License-Identifier: Apache-2.0
// split-recurrent: recurrent networks become one product of all inputs and the steps, unless a target claims them
// whole.
#include "core/ir/attribute_names.h"
#include "core/op/op.h"
#include "core/pass/pass.h"
#include "core/pass/rewrite.h"
#include "core/pass/write_out.h"
#include "core/targets/target.h"

static bool is_split(const byoc_node_t *node, const byoc_target_list_t *targets) {
  static const struct {
    const char *domain, *name;
  } networks[] = {{"", "RNN"}, {"", "GRU"}, {"", "LSTM"}, {"com.microsoft", "DynamicQuantizeLSTM"}};
  for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); ++i) {
    if (!byoc_node_is(node, networks[i].domain, networks[i].name)) continue;
    return !byoc_node_is_named(node, targets);
  }
  return false;
}

// LSTM(x, W, R, B, ...) → byoc::LSTMSteps(x * W^T + B, panels of R, ...); DynamicQuantizeLSTM the same on bytes
static byoc_status_t split(byoc_node_t *node, void *self, byoc_diag_t *diag, size_t *changes) {
  const byoc_pass_arguments_t *arguments = self;
  if (!is_split(node, arguments->targets)) return BYOC_OK;
  byoc_node_t *before = node->previous;
  bool changed = false;
  BYOC_RETURN_IF_ERROR(byoc_op_of(node)->expand(node, diag, &changed));
  if (!changed) return BYOC_OK;
  BYOC_RETURN_IF_ERROR(byoc_pass_keep_limits(node, before ? before->next : node->block->first, diag));
  byoc_node_erase(node);
  *changes += 1;
  return BYOC_OK;
}

byoc_status_t byoc_pass_split_recurrent(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments,
                                        byoc_diag_t *diag, size_t *changes) {
  BYOC_FOR_EACH_FUNCTION(function, module) {
    if (byoc_attributes_find(&function->attributes, BYOC_ATTRIBUTE_COMPILER) != NULL) continue;
    BYOC_RETURN_IF_ERROR(byoc_pass_visit_block(function->body, split, (void *)arguments, diag, changes));
  }
  return BYOC_OK;
}

// SPDX-License-Identifier: Apache-2.0
// propose-layouts: ToBlocked and FromBlocked around the values between operators that gain from blocked layouts.
//
//   %1 = Conv(%x, @w)                    %1 = Conv(%x, @w)
//   %2 = Relu(%1)                        %2 = Relu(%1)
//   %3 = Conv(%2, @v)            →       %3 = byoc::ToBlocked(%2)
//                                        %4 = byoc::FromBlocked(%3)
//                                        %5 = Conv(%4, @v)
//
// A backend that claims such nodes computes in blocks and passes blocks on; if no backend does, settle-layouts removes
// the pair again. Nothing is put between a convolution and its epilogue, the elementwise operators behind it that are
// its only readers: if such an operator joins two values, the later one has it as its epilogue.
#include "core/ir/numbering.h"
#include "core/ir/virtual_device.h"
#include "core/op/op.h"
#include "core/op/util.h"
#include "core/ops/byoc/blocked.h"
#include "core/pass/layouts.h"
#include "core/pass/pass.h"

bool byoc_targets_take_layouts(const byoc_target_list_t *targets) {
  if (targets == NULL) return false;
  return byoc_target_list_has_rule(targets, "byoc::ToBlocked", 0) ||
         byoc_target_list_has_rule(targets, "byoc::FromBlocked", 0);
}

// ---- operators ----

static bool has_blocks(const byoc_value_t *value) {
  const byoc_type_t *type = value != NULL ? value->type : NULL;
  return type != NULL && byoc_type_is_tensor(type) && type->dtype == BYOC_DTYPE_F32 && byoc_is_batch_of_maps(type) &&
         type->dims[1].constant % BYOC_LAYOUT_BLOCK == 0;
}

// In one group, or depthwise: one group per channel.
static bool is_convolution(const byoc_node_t *node) {
  if (!byoc_node_is_onnx(node, "Conv")) return false;
  int64_t group = byoc_node_int(node, "group");
  const byoc_type_t *weights = node->operands[1]->type;
  if (group == 1) return true;
  return byoc_is_ranked(weights) && byoc_dim_is_constant(weights->dims[0]) && weights->dims[0].constant == group &&
         byoc_dim_is_constant(weights->dims[1]) && weights->dims[1].constant == 1;
}

// For each node of a function: its position in its block, and whether blocks pay for its result. Layout changes get the
// position of the value that they change.
typedef struct proposal_t {
  byoc_numbering_t marks;
  byoc_diag_t *diag;
  size_t *changes;
} proposal_t;

enum { CAN_MAKE = 1, POSITION_STEP = 2 };

static uint32_t mark_of(const proposal_t *p, const byoc_node_t *node) {
  uint32_t mark = byoc_numbering_get(&p->marks, node);
  return mark == BYOC_NO_NUMBER ? 0 : mark;
}

static bool can_make_blocks(const proposal_t *p, const byoc_value_t *value) {
  const byoc_node_t *node = byoc_value_producer(value);
  return node != NULL && value->index == 0 && has_blocks(value) && (mark_of(p, node) & CAN_MAKE) != 0;
}

static bool any_can(const proposal_t *p, const byoc_node_t *node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (can_make_blocks(p, node->operands[i])) return true;
  }
  return false;
}

static bool all_can(const proposal_t *p, const byoc_node_t *node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (!can_make_blocks(p, node->operands[i])) return false;
  }
  return node->operand_count > 0;
}

// If values name devices, layouts are not changed.
static bool is_placed(const byoc_node_t *node) {
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    if (node->operands[i] != NULL && !byoc_virtual_device_is_free(&node->operands[i]->device)) return true;
  }
  return node->result_count > 0 && !byoc_virtual_device_is_free(&node->results[0]->device);
}

static bool makes_blocks(const proposal_t *p, const byoc_node_t *node) {
  if (is_placed(node)) return false;
  if (node->callee != NULL || node->result_count != 1 || !has_blocks(node->results[0])) return false;
  if (is_convolution(node)) return true;
  if (byoc_is_channel_pool(node) || byoc_is_channel_concat(node)) return all_can(p, node);
  return byoc_is_channelwise(node) && any_can(p, node);
}

static bool reads_blocks(const proposal_t *p, const byoc_node_t *node, uint32_t index) {
  if (is_convolution(node)) return index == 0;
  if (byoc_node_is_onnx(node, "GlobalAveragePool")) return true;
  return (mark_of(p, node) & CAN_MAKE) != 0;
}

// The operand whose producer has this elementwise operator as its epilogue: the one that is made last.
static const byoc_value_t *main_operand(const proposal_t *p, const byoc_node_t *node) {
  const byoc_value_t *found = NULL;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_node_t *maker = byoc_value_producer(node->operands[i]);
    if (maker == NULL || maker->block != node->block) continue;
    if (found == NULL || mark_of(p, maker) > mark_of(p, found->node)) found = node->operands[i];
  }
  return found;
}

// True if only the elementwise operator behind it reads the value, as that one's main operand.
static bool has_epilogue(const proposal_t *p, const byoc_value_t *value) {
  const byoc_node_t *reader = value->uses.count == 1 ? value->uses.data[0].node : NULL;
  return reader != NULL && reader->block == value->node->block && byoc_is_channelwise(reader) &&
         main_operand(p, reader) == value;
}

// ---- placing pairs ----

static bool is_wanted(const proposal_t *p, const byoc_value_t *value) {
  if (!can_make_blocks(p, value) || has_epilogue(p, value)) return false;
  bool is_read = false;
  for (size_t u = 0; u < value->uses.count; ++u) {
    const byoc_use_t *use = &value->uses.data[u];
    if (byoc_is_to_blocked(use->node)) return false; // it is there already
    is_read = is_read || (use->node != NULL && reads_blocks(p, use->node, use->index));
  }
  return is_read;
}

// v → FromBlocked(ToBlocked(v)), one FromBlocked in front of each use.
static byoc_status_t place_pair(proposal_t *p, byoc_node_t *node) {
  byoc_value_t *value = node->results[0];
  uint32_t place = mark_of(p, node) & ~(uint32_t)CAN_MAKE;
  byoc_node_t *to = byoc_create_to_blocked(node->block, node->next, value);
  bool ok = to != NULL && byoc_numbering_set(&p->marks, to, place);
  while (ok && value->uses.count > 1) { // the ToBlocked stays
    byoc_use_t use = value->uses.data[0];
    if (use.node == to) use = value->uses.data[1];
    byoc_block_t *block = use.node != NULL ? use.node->block : use.block;
    byoc_node_t *from = byoc_create_from_blocked(block, use.node, to->results[0]);
    ok = from != NULL && byoc_numbering_set(&p->marks, from, place) &&
         (use.node != NULL ? byoc_node_set_operand(use.node, use.index, from->results[0])
                           : byoc_block_set_result(use.block, use.index, from->results[0]));
  }
  if (!ok) return byoc_diag_out_of_memory(p->diag);
  *p->changes += 1;
  return BYOC_OK;
}

// Nodes that nested blocks read are marked before these.
static byoc_status_t mark_block(proposal_t *p, const byoc_block_t *block) {
  uint32_t position = 0;
  BYOC_FOR_EACH_NODE(node, block) {
    position += POSITION_STEP;
    uint32_t mark = position | (makes_blocks(p, node) ? CAN_MAKE : 0);
    if (!byoc_numbering_set(&p->marks, node, mark)) return byoc_diag_out_of_memory(p->diag);
    for (uint32_t b = 0; b < node->block_count; ++b) BYOC_RETURN_IF_ERROR(mark_block(p, node->blocks[b]));
  }
  return BYOC_OK;
}

static byoc_status_t propose_in_block(proposal_t *p, byoc_block_t *block) {
  BYOC_FOR_EACH_NODE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) BYOC_RETURN_IF_ERROR(propose_in_block(p, node->blocks[b]));
  }
  BYOC_FOR_EACH_NODE(node, block) {
    if ((mark_of(p, node) & CAN_MAKE) && is_wanted(p, node->results[0])) BYOC_RETURN_IF_ERROR(place_pair(p, node));
  }
  return BYOC_OK;
}

static byoc_status_t propose_in_function(byoc_function_t *function, byoc_diag_t *diag, size_t *changes) {
  proposal_t p = {.diag = diag, .changes = changes};
  byoc_numbering_init(&p.marks, function->module->allocator);
  byoc_status_t status = mark_block(&p, function->body);
  if (status == BYOC_OK) status = propose_in_block(&p, function->body);
  byoc_numbering_deinit(&p.marks);
  return status;
}

byoc_status_t byoc_pass_propose_layouts(byoc_graph_module_t *module, const byoc_pass_arguments_t *arguments,
                                        byoc_diag_t *diag, size_t *changes) {
  if (!byoc_targets_take_layouts(arguments->targets)) return BYOC_OK;
  BYOC_FOR_EACH_FUNCTION(function, module) {
    if (byoc_function_is_open(function)) BYOC_RETURN_IF_ERROR(propose_in_function(function, diag, changes));
  }
  return BYOC_OK;
}

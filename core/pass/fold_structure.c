// SPDX-License-Identifier: Apache-2.0
// fold-structure: branches whose condition is known, and sequences and optionals whose construction is visible.
#include <string.h>

#include "core/ir/virtual_device.h"
#include "core/op/op.h"
#include "core/op/refusal.h"
#include "core/pass/pass.h"

typedef struct {
  byoc_diag_t *diag;
  size_t changes;
  bool failed;
} folder_t;

static byoc_node_t *producer_of(const byoc_node_t *node, const char *op) {
  byoc_node_t *producer = node->operand_count > 0 ? byoc_value_open_producer(node->operands[0]) : NULL;
  return producer && byoc_node_is_onnx(producer, op) ? producer : NULL;
}

static byoc_value_t *make_scalar(folder_t *f, byoc_node_t *node, byoc_dtype_t dtype, const void *data) {
  byoc_graph_module_t *module = node->function->module;
  const byoc_type_t *type = byoc_type_tensor(&module->arena, dtype, 0, NULL);
  byoc_constant_t *constant = type ? byoc_constant_create(module, "known", type, data) : NULL;
  byoc_value_t *made = constant ? byoc_function_constant(node->function, constant) : NULL;
  if (!made) f->failed = true;
  return made;
}

// if (true) { a } else { b } → a
static bool inline_branch(folder_t *f, byoc_node_t *node) {
  const byoc_value_t *condition = node->operands[0];
  int64_t taken = 0;
  if (!byoc_value_scalar_i64(condition, &taken)) return false;
  const byoc_block_t *branch = byoc_node_find_block(node, taken ? "then_branch" : "else_branch");
  if (byoc_refusal_of(branch)) return false; // the run reports the reason
  for (uint32_t i = 0; i < node->result_count; ++i) {
    const byoc_value_t *given = branch->results.data[i];
    bool is_made = given->kind == BYOC_VALUE_RESULT && given->node->block == branch && given->uses.count == 1;
    bool takes_over = is_made && byoc_virtual_device_is_free(&given->device);
    if (!takes_over && !byoc_value_serves(given, node->results[i])) return false;
  }
  byoc_map_t map;
  byoc_pointer_map_init(&map, node->function->module->allocator);
  BYOC_FOR_EACH_NODE(inner, branch) {
    if (!f->failed && !byoc_node_clone(inner, node->block, node, &map)) f->failed = true;
  }
  for (uint32_t i = 0; i < node->result_count && !f->failed; ++i) {
    byoc_value_t *value = byoc_pointer_map_get(&map, branch->results.data[i]);
    if (!value) value = branch->results.data[i]; // from around the branch
    if (!byoc_value_replace_uses(node->results[i], value)) f->failed = true;
  }
  byoc_map_deinit(&map);
  return true;
}

// The position that an operand gives in a sequence of `count`; false if it is not known or outside.
static bool known_position(const byoc_node_t *node, uint32_t operand, uint32_t count, uint32_t *out) {
  const byoc_value_t *value = operand < node->operand_count ? node->operands[operand] : NULL;
  int64_t at = 0;
  if (!byoc_value_scalar_i64(value, &at)) return false;
  if (at < 0) at += count;
  *out = (uint32_t)at;
  return at >= 0 && at < count;
}

// SequenceAt(SequenceConstruct(a, b, ...), 1) → b; taking the value of an optional, or asking for it, if its
// construction is visible; ConcatFromSequence(SequenceConstruct(...)) → Concat(...)
static byoc_value_t *known_result(folder_t *f, byoc_node_t *node) {
  byoc_node_t *made;
  uint32_t at = 0;
  if (byoc_node_is_onnx(node, "SequenceAt") && (made = producer_of(node, "SequenceConstruct")) != NULL) {
    return known_position(node, 1, made->operand_count, &at) ? made->operands[at] : NULL;
  }
  if (byoc_node_is_onnx(node, "SequenceLength") && (made = producer_of(node, "SequenceConstruct")) != NULL) {
    int64_t count = made->operand_count;
    return make_scalar(f, node, BYOC_DTYPE_I64, &count);
  }
  if (byoc_node_is_onnx(node, "ConcatFromSequence") && (made = producer_of(node, "SequenceConstruct")) != NULL) {
    if (byoc_node_flag(node, "new_axis")) return NULL;
    byoc_node_t *concat = byoc_op_create_with(node->block, node, "", "Concat", made->operands, made->operand_count, 1,
                                              node->attributes.items, node->attributes.count, NULL);
    if (!concat) return NULL; // shapes do not fit: the sequence's own operator reports it at run time
    byoc_attributes_remove(&concat->attributes, "new_axis");
    return concat->results[0];
  }
  bool has = byoc_node_is_onnx(node, "OptionalHasElement"), get = byoc_node_is_onnx(node, "OptionalGetElement");
  if (!has && !get) return NULL;
  byoc_value_t *operand = node->operand_count > 0 ? node->operands[0] : NULL;
  made = producer_of(node, "Optional");
  bool is_plain = operand && (operand->type->kind == BYOC_TYPE_TENSOR || operand->type->kind == BYOC_TYPE_SEQUENCE);
  byoc_value_t *element = is_plain ? operand : made && made->operand_count > 0 ? made->operands[0] : NULL;
  if (get) return element;
  uint8_t answer = element != NULL;
  return element || made || !operand ? make_scalar(f, node, BYOC_DTYPE_BOOL, &answer) : NULL;
}

static void fold_block(folder_t *f, byoc_block_t *block) {
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    for (uint32_t b = 0; b < node->block_count && !f->failed; ++b) fold_block(f, node->blocks[b]);
    if (f->failed) return;
    bool gone = byoc_node_is_onnx(node, "If") && inline_branch(f, node);
    byoc_value_t *by = gone || node->result_count != 1 || node->callee ? NULL : known_result(f, node);
    if (by && by->uses.count > 0 && !byoc_value_serves(by, node->results[0])) by = NULL;
    if (by && !byoc_value_replace_uses(node->results[0], by)) f->failed = true;
    if (f->failed || (!gone && !by)) continue;
    byoc_node_erase(node);
    f->changes += 1;
  }
}

byoc_status_t byoc_pass_fold_structure(byoc_graph_module_t *module, byoc_diag_t *diag, size_t *changes) {
  folder_t f = {.diag = diag};
  BYOC_FOR_EACH_FUNCTION(function, module) {
    if (function->kind == BYOC_FUNCTION_GRAPH && !f.failed) fold_block(&f, function->body);
  }
  *changes += f.changes;
  if (f.failed) return byoc_diag_out_of_memory(diag);
  return f.changes > 0 ? byoc_infer_module(module, diag) : BYOC_OK;
}

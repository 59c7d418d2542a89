// SPDX-License-Identifier: Apache-2.0
// Turns Concat, Split and Slice into Join and Part.
#include "core/kernel/join.h"

#include "byoc/call.h"
#include "core/ir/virtual_device.h"
#include "core/kernel/transposed.h"
#include "core/ops/byoc/storage.h"
#include "core/ops/onnx/control/control.h"

// At most one byte in this many may be copied into a Join.
#define COPIED_AT_MOST 4
// The most elementwise operators to look back through.
#define LONGEST_EPILOGUE 8

bool byoc_stays_in_workspace(const byoc_function_t *function) {
  const byoc_block_t *body = function->body;
  if (function != byoc_graph_module_main(function->module)) return false;
  for (size_t i = 0; i < body->parameters.count; ++i)
    if (!byoc_type_is_static(body->parameters.data[i]->type)) return false;
  BYOC_FOR_EACH_NODE(node, body) {
    bool is_check = byoc_node_is(node, "byoc", "CheckDims") || byoc_node_is(node, "byoc", "CheckRange") ||
                    byoc_node_is(node, "byoc", "Fail");
    if (node->block_count > 0 && !byoc_control_is_static(node)) return false;
    if (byoc_node_has_trait(node, BYOC_OP_HOST) && !is_check) return false;
    for (uint32_t r = 0; r < node->result_count; ++r)
      if (node->results[r]->type == NULL || !byoc_type_is_static(node->results[r]->type)) return false;
  }
  return true;
}

static bool is_view(const byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  return op != NULL && op->is_view;
}

// The value that owns the bytes.
static byoc_value_t *root_of(byoc_value_t *value) {
  byoc_node_t *producer = byoc_value_producer(value);
  for (; producer != NULL && is_view(producer); producer = byoc_value_producer(value)) value = producer->operands[0];
  return value;
}

static const byoc_op_t *op_of_producer(const byoc_value_t *value) {
  const byoc_node_t *producer = byoc_value_producer(value);
  return producer != NULL && producer->callee == NULL ? byoc_op_of(producer) : NULL;
}

// Does a loop nest make the value, directly or by its epilogue?
static bool follows_loops(const byoc_value_t *value, int most) {
  const byoc_op_t *op = op_of_producer(value);
  if (op == NULL || op->loops != NULL) return op != NULL;
  if ((op->traits & BYOC_OP_ELEMENTWISE) == 0 || most == 0) return false;
  const byoc_node_t *node = byoc_value_producer(value);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_value_t *operand = node->operands[i];
    if (operand != NULL && operand->uses.count == 1 && byoc_type_equal(operand->type, value->type) &&
        follows_loops(operand, most - 1))
      return true;
  }
  return false;
}

// Would fusion compute the value inside its readers? Then its bytes are never stored.
static bool is_fused(const byoc_value_t *value) {
  const byoc_op_t *op = op_of_producer(value);
  if (op == NULL || op->point == NULL || value->uses.count != 1) return false;
  return !byoc_transpose_parts(byoc_value_producer(value)) && !follows_loops(value, LONGEST_EPILOGUE);
}

// ---- Concat → Join ----

typedef struct joiner_t {
  byoc_map_t placed; // pointer map: values that already have a place in a Join
  byoc_diag_t *diag;
} joiner_t;

// May the operand of the Concat be written directly to its place in the result?
static bool has_place(const joiner_t *joiner, const byoc_node_t *node, byoc_value_t *operand, uint64_t offset_bytes) {
  if (offset_bytes % BYOC_BUFFER_ALIGNMENT != 0) return false;
  const byoc_value_t *root = root_of(operand);
  return root->kind == BYOC_VALUE_RESULT && byoc_value_producer(root)->block == node->block &&
         byoc_pointer_map_get(&joiner->placed, root) == NULL &&
         byoc_type_size_bytes(root->type) == byoc_type_size_bytes(operand->type);
}

// Concat(a, b) → Join(a, b)
static byoc_status_t join(joiner_t *joiner, byoc_node_t *node) {
  uint64_t offset_bytes = 0, saved_bytes = 0, copied_bytes = 0;
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    byoc_value_t *operand = node->operands[i];
    uint64_t size_bytes = (uint64_t)byoc_type_size_bytes(operand->type);
    bool again = false;
    for (uint32_t k = 0; k < i; ++k) again = again || root_of(node->operands[k]) == root_of(operand);
    if (again || !has_place(joiner, node, operand, offset_bytes)) {
      copied_bytes += size_bytes;
    } else if (!is_fused(operand)) {
      saved_bytes += size_bytes;
    }
    offset_bytes += size_bytes;
  }
  if (saved_bytes == 0 || copied_bytes > offset_bytes / COPIED_AT_MOST) return BYOC_OK;
  for (uint32_t i = 0; i < node->operand_count; ++i) { // they would all live where the result lives
    if (!byoc_value_may_vanish(root_of(node->operands[i]), node->results[0])) return BYOC_OK;
  }
  byoc_node_t *made = byoc_join_create(node, node->operands, node->operand_count, node->results[0]->type);
  if (made == NULL) return byoc_diag_out_of_memory(joiner->diag);
  for (uint32_t i = 0; i < node->operand_count; ++i) {
    const byoc_value_t *root = root_of(node->operands[i]);
    if (!byoc_pointer_map_put(&joiner->placed, root, (void *)(uintptr_t)root)) {
      return byoc_diag_out_of_memory(joiner->diag);
    }
  }
  made->name = node->name;
  made->results[0]->name = node->results[0]->name;
  if (!byoc_value_replace_uses(node->results[0], made->results[0])) return byoc_diag_out_of_memory(joiner->diag);
  byoc_node_erase(node);
  return BYOC_OK;
}

// Goes from the end, so that a Concat of Concats gets its place before its operands need theirs.
static byoc_status_t join_all(byoc_block_t *block, byoc_allocator_t allocator, byoc_diag_t *diag) {
  joiner_t joiner = {.diag = diag};
  byoc_pointer_map_init(&joiner.placed, allocator);
  byoc_status_t status = BYOC_OK;
  for (byoc_node_t *node = block->last, *previous; node != NULL && status == BYOC_OK; node = previous) {
    previous = node->previous;
    if (byoc_concat_joins(node)) status = join(&joiner, node);
  }
  byoc_map_deinit(&joiner.placed);
  return status;
}

// ---- Split, Slice → Part ----

static bool all_are_parts(const byoc_node_t *node) {
  for (uint32_t r = 0; r < node->result_count; ++r) {
    uint64_t offset_bytes = 0;
    if (!byoc_result_is_part(node, r, &offset_bytes) || offset_bytes % BYOC_BUFFER_ALIGNMENT != 0) return false;
    if (!byoc_value_serves(node->operands[0], node->results[r])) return false;
  }
  return node->result_count > 0 && !is_fused(node->operands[0]);
}

// Do only nodes that become kernels of ours read the value? Backends may rely on the alignment of their operands.
static bool only_kernels_read(const byoc_value_t *value) {
  for (size_t u = 0; u < value->uses.count; ++u) {
    const byoc_node_t *node = value->uses.data[u].node;
    const byoc_op_t *op = node != NULL && node->callee == NULL ? byoc_op_of(node) : NULL;
    if (op == NULL || (op->point == NULL && op->loops == NULL && !op->is_view)) return false;
    if (op->is_view && !only_kernels_read(node->results[0])) return false;
  }
  return true;
}

// The part, NULL if memory ran out for it, takes the place of a result of the node.
static byoc_status_t stand_in(const byoc_node_t *node, byoc_value_t *value, byoc_node_t *part, byoc_diag_t *diag) {
  if (part == NULL) return byoc_diag_out_of_memory(diag);
  part->name = node->name;
  part->results[0]->name = value->name;
  return byoc_value_replace_uses(value, part->results[0]) ? BYOC_OK : byoc_diag_out_of_memory(diag);
}

// Gather(x, turn) → Part(x, turn)
static byoc_status_t take_turning_part(byoc_node_t *node, byoc_diag_t *diag) {
  byoc_value_t *iteration = NULL, *value = node->results[0];
  int64_t offset_bytes = 0, step_bytes = 0;
  if (!byoc_gathers_turning_part(node, &iteration, &offset_bytes, &step_bytes)) return BYOC_OK;
  const bool is_aligned = offset_bytes % BYOC_BUFFER_ALIGNMENT == 0 && step_bytes % BYOC_BUFFER_ALIGNMENT == 0;
  if (!is_aligned && !only_kernels_read(value)) return BYOC_OK;
  if (!byoc_value_serves(node->operands[0], value) || is_fused(node->operands[0])) return BYOC_OK;
  byoc_node_t *part =
      byoc_turning_part_create(node->block, node, node->operands[0], iteration, offset_bytes, step_bytes, value->type);
  BYOC_RETURN_IF_ERROR(stand_in(node, value, part, diag));
  byoc_node_erase(node);
  return BYOC_OK;
}

// Split(x) → Part(x), Part(x), ...
static byoc_status_t take_parts(byoc_node_t *node, byoc_diag_t *diag) {
  for (uint32_t r = 0; r < node->result_count; ++r) {
    byoc_value_t *value = node->results[r];
    uint64_t offset_bytes = 0;
    byoc_result_is_part(node, r, &offset_bytes);
    byoc_node_t *part = byoc_part_create(node, node->operands[0], offset_bytes, value->type);
    BYOC_RETURN_IF_ERROR(stand_in(node, value, part, diag));
  }
  byoc_node_erase(node);
  return BYOC_OK;
}

static byoc_status_t join_in_block(byoc_block_t *block, byoc_allocator_t allocator, byoc_diag_t *diag) {
  BYOC_FOR_EACH_NODE_SAFE(node, block) {
    for (uint32_t b = 0; b < node->block_count; ++b) {
      BYOC_RETURN_IF_ERROR(join_in_block(node->blocks[b], allocator, diag));
    }
    if (all_are_parts(node)) {
      BYOC_RETURN_IF_ERROR(take_parts(node, diag));
    } else {
      BYOC_RETURN_IF_ERROR(take_turning_part(node, diag));
    }
  }
  return join_all(block, allocator, diag);
}

byoc_status_t byoc_join_in_place(byoc_function_t *function, byoc_diag_t *diag) {
  return join_in_block(function->body, function->module->allocator, diag);
}

// SPDX-License-Identifier: Apache-2.0
// Outlines fusion groups into kernel functions.
#include "core/kernel/outline.h"

#include <ctype.h>
#include <string.h>

#include "core/ir/attribute_names.h"
#include "core/ir/structural.h"
#include "core/kernel/lower_group.h"
#include "core/op/util.h"
#include "core/ops/byoc/symbolic.h"

#define MAX_NAME 72

typedef struct outline_t {
  const byoc_fusion_t *fusion;
  byoc_fuse_group_t *group;
  byoc_block_t *block; // the block of the group
  byoc_allocator_t allocator;
  byoc_diag_t *diag;
  BYOC_VECTOR(uint32_t) positions; // members and inlined producers, sorted
  BYOC_VECTOR(byoc_value_t *) inputs;
  BYOC_VECTOR(byoc_value_t *) outputs;
  BYOC_VECTOR(byoc_node_t *) members; // copies
  byoc_map_t map;                     // value outside → value inside
  byoc_function_t *function;
} outline_t;

static bool has_position(const outline_t *outline, uint32_t position) {
  for (size_t i = 0; i < outline->positions.count; ++i)
    if (outline->positions.data[i] == position) return true;
  return false;
}

static byoc_status_t collect(outline_t *outline, uint32_t position) {
  if (has_position(outline, position)) return BYOC_OK;
  if (!byoc_vector_push(&outline->positions, outline->allocator, position))
    return byoc_diag_out_of_memory(outline->diag);
  const byoc_fuse_node_t *entry = &outline->fusion->nodes[position];
  for (uint32_t i = 0; i < entry->producer_count; ++i)
    if (outline->fusion->nodes[entry->producers[i]].inlined)
      BYOC_RETURN_IF_ERROR(collect(outline, entry->producers[i]));
  return BYOC_OK;
}

static byoc_status_t collect_nodes(outline_t *outline) {
  for (size_t i = 0; i < outline->group->nodes.count; ++i)
    BYOC_RETURN_IF_ERROR(collect(outline, byoc_fusion_find(outline->fusion, outline->group->nodes.data[i])->position));
  for (size_t i = 1; i < outline->positions.count; ++i) {
    uint32_t position = outline->positions.data[i];
    size_t j = i;
    for (; j > 0 && outline->positions.data[j - 1] > position; --j)
      outline->positions.data[j] = outline->positions.data[j - 1];
    outline->positions.data[j] = position;
  }
  return BYOC_OK;
}

// Constants inside the kernel: single elements, and operands that operators need by value. Heavy operators read every
// operand from a buffer.
static bool is_literal(const byoc_fuse_node_t *entry, uint32_t operand) {
  const byoc_value_t *value = entry->node->operands[operand];
  if (!byoc_value_is_constant(value)) return false;
  const byoc_op_t *of = byoc_result_shape_of(entry->node);
  if (operand < 32 && ((of ? of : entry->op)->shape_operands >> operand) & 1) return true;
  return !(entry->op->traits & BYOC_OP_HEAVY) && byoc_type_element_count(value->type) == 1 &&
         value->type->dtype != BYOC_DTYPE_STRING;
}

static byoc_status_t collect_inputs(outline_t *outline) {
  for (int constants = 0; constants < 2; ++constants) {
    for (size_t p = 0; p < outline->positions.count; ++p) {
      const byoc_fuse_node_t *entry = &outline->fusion->nodes[outline->positions.data[p]];
      for (uint32_t i = 0; i < entry->node->operand_count; ++i) {
        byoc_value_t *value = entry->node->operands[i];
        const byoc_fuse_node_t *producer = byoc_fusion_find(outline->fusion, byoc_value_producer(value));
        if (!value || (producer && has_position(outline, producer->position)) || is_literal(entry, i) ||
            byoc_value_is_constant(value) != (constants == 1))
          continue;
        bool known = false;
        for (size_t k = 0; k < outline->inputs.count && !known; ++k) known = outline->inputs.data[k] == value;
        if (!known && !byoc_vector_push(&outline->inputs, outline->allocator, value))
          return byoc_diag_out_of_memory(outline->diag);
      }
    }
  }
  return BYOC_OK;
}

// Does a node outside of the group read the value?
static bool escapes(const outline_t *outline, const byoc_value_t *value) {
  for (size_t i = 0; i < value->uses.count; ++i) {
    const byoc_node_t *reader = value->uses.data[i].node;
    const byoc_fuse_node_t *entry = reader ? byoc_fusion_find(outline->fusion, reader) : NULL;
    if (!entry || entry->group != outline->group) return true;
  }
  return false;
}

static byoc_status_t collect_outputs(outline_t *outline) {
  for (size_t m = 0; m < outline->group->nodes.count; ++m) {
    byoc_node_t *node = outline->group->nodes.data[m];
    const byoc_op_t *op = byoc_op_of(node);
    for (uint32_t r = 0; r < node->result_count; ++r) {
      bool is_scratch = op && r < 32 && ((op->scratch_results >> r) & 1) != 0;
      if ((escapes(outline, node->results[r]) || is_scratch) &&
          !byoc_vector_push(&outline->outputs, outline->allocator, node->results[r]))
        return byoc_diag_out_of_memory(outline->diag);
    }
  }
  return BYOC_OK;
}

// byoc_k3_conv_add_relu
static const char *make_name(outline_t *outline, size_t number) {
  char name[MAX_NAME + 64];
  size_t length = (size_t)snprintf(name, sizeof(name), "byoc_k%zu", number);
  for (size_t p = 0; p < outline->positions.count && length < MAX_NAME; ++p) {
    const byoc_node_t *node = outline->fusion->nodes[outline->positions.data[p]].node;
    if (byoc_node_is(node, "byoc", "ShapeOnly")) continue;
    const char *op = node->op;
    name[length++] = '_';
    for (; *op && length < MAX_NAME; ++op)
      name[length++] = isalnum((unsigned char)*op) ? (char)tolower((unsigned char)*op) : '_';
  }
  name[length] = '\0';
  return byoc_graph_module_unique_name(outline->block->function->module, name);
}

static byoc_status_t copy_nodes(outline_t *outline, byoc_function_t *function) {
  byoc_block_t *body = function->body;
  for (size_t i = 0; i < outline->inputs.count; ++i) {
    byoc_value_t *value = outline->inputs.data[i];
    byoc_value_t *parameter = byoc_block_add_parameter(body, value->name, value->type);
    if (!parameter || !byoc_pointer_map_put(&outline->map, value, parameter))
      return byoc_diag_out_of_memory(outline->diag);
    parameter->device = value->device;
  }
  for (size_t p = 0; p < outline->positions.count; ++p) {
    const byoc_fuse_node_t *entry = &outline->fusion->nodes[outline->positions.data[p]];
    // A constant may be an operand here and a literal elsewhere in the group; the operand wins, because it is in the
    // map.
    byoc_node_t *copy = byoc_node_clone(entry->node, body, NULL, &outline->map);
    if (!copy) return byoc_diag_out_of_memory(outline->diag);
    for (uint32_t i = 0; i < entry->node->operand_count; ++i) { // by-value operands stay literals
      if (!is_literal(entry, i) || byoc_value_is_constant(copy->operands[i])) continue;
      byoc_value_t *constant = byoc_function_constant(function, entry->node->operands[i]->constant);
      if (!constant) return byoc_diag_out_of_memory(outline->diag);
      byoc_node_set_operand(copy, i, constant);
    }
    if (entry->group == outline->group && !byoc_vector_push(&outline->members, outline->allocator, copy))
      return byoc_diag_out_of_memory(outline->diag);
  }
  for (size_t i = 0; i < outline->outputs.count; ++i) {
    byoc_value_t *value = outline->outputs.data[i];
    char name[32];
    snprintf(name, sizeof(name), "out%zu", i);
    if (!byoc_block_add_result(body, name, byoc_pointer_map_get(&outline->map, value)))
      return byoc_diag_out_of_memory(outline->diag);
  }
  return BYOC_OK;
}

// Makes the function, or finds an equal one and drops the copy.
static byoc_status_t make_function(outline_t *outline, byoc_kernel_table_t *table) {
  // Kernels in the table are already lowered, so their bodies are compared.
  const unsigned flags = BYOC_STRUCTURAL_IGNORE_FUNCTION_ATTRIBUTES | BYOC_STRUCTURAL_IGNORE_KERNEL;
  const char *name = make_name(outline, table->functions.count);
  byoc_function_t *function = name ? byoc_function_create(table->module, name) : NULL;
  if (!function) return byoc_diag_out_of_memory(outline->diag);
  BYOC_RETURN_IF_ERROR(copy_nodes(outline, function));
  uint64_t hash = byoc_function_structural_hash(function, flags);
  for (size_t i = 0; i < table->functions.count; ++i) {
    if (table->hashes.data[i] != hash) continue;
    byoc_function_t *known = table->functions.data[i];
    if (!byoc_function_structural_equal(function, known, flags)) continue;
    byoc_function_erase(function);
    outline->function = known;
    return BYOC_OK;
  }
  if (!byoc_vector_push(&table->functions, table->allocator, function)) return byoc_diag_out_of_memory(outline->diag);
  if (!byoc_vector_push(&table->hashes, table->allocator, hash)) {
    --table->functions.count;
    return byoc_diag_out_of_memory(outline->diag);
  }
  BYOC_RETURN_IF_ERROR(
      byoc_kernel_lower_group(function, outline->members.data, (uint32_t)outline->members.count, outline->diag));
  function->kind = BYOC_FUNCTION_KERNEL;
  if (!byoc_attributes_set_int(&function->attributes, BYOC_ATTRIBUTE_PRIMITIVE, 1) ||
      !byoc_attributes_set_string(&function->attributes, BYOC_ATTRIBUTE_GLOBAL_SYMBOL, function->name))
    return byoc_diag_out_of_memory(outline->diag);
  outline->function = function;
  return BYOC_OK;
}

static byoc_status_t replace_by_call(outline_t *outline) {
  byoc_node_t *last = outline->group->nodes.data[outline->group->nodes.count - 1];
  byoc_node_t *call = byoc_node_create_call(outline->block, last, outline->function, outline->inputs.data,
                                            (uint32_t)outline->inputs.count);
  if (!call || call->result_count != outline->outputs.count) return byoc_diag_out_of_memory(outline->diag);
  call->name = outline->group->anchor->name;
  for (size_t i = 0; i < outline->outputs.count; ++i) {
    byoc_value_t *old = outline->outputs.data[i], *result = call->results[i];
    result->name = old->name;
    result->type = old->type;
    result->device = old->device;
    if (!byoc_value_replace_uses(old, result)) return byoc_diag_out_of_memory(outline->diag);
  }
  for (size_t i = outline->group->nodes.count; i > 0; --i) byoc_node_erase(outline->group->nodes.data[i - 1]);
  return BYOC_OK;
}

byoc_status_t byoc_outline_group(byoc_kernel_table_t *table, const byoc_fusion_t *fusion, byoc_fuse_group_t *group,
                                 byoc_diag_t *diag) {
  outline_t outline = {
      .fusion = fusion, .group = group, .block = group->anchor->block, .allocator = table->allocator, .diag = diag};
  byoc_pointer_map_init(&outline.map, table->allocator);
  byoc_status_t status = collect_nodes(&outline);
  if (status == BYOC_OK) status = collect_inputs(&outline);
  if (status == BYOC_OK) status = collect_outputs(&outline);
  if (status == BYOC_OK) status = make_function(&outline, table);
  if (status == BYOC_OK) status = replace_by_call(&outline);
  byoc_map_deinit(&outline.map);
  byoc_vector_deinit(&outline.positions, table->allocator);
  byoc_vector_deinit(&outline.inputs, table->allocator);
  byoc_vector_deinit(&outline.outputs, table->allocator);
  byoc_vector_deinit(&outline.members, table->allocator);
  return status;
}

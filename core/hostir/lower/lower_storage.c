// SPDX-License-Identifier: Apache-2.0
// Decides where the bytes of values are: in the workspace, in the caller's memory, in constants, or in cells of the
// frame.
#include <string.h>

#include "core/hostir/lower/lower_internal.h"
#include "core/ops/byoc/storage.h"
#include "core/ops/onnx/control/control.h"
#include "core/runtime/container.h"

bool byoc_host_is_c_call(const byoc_node_t *node) {
  return byoc_node_is(node, "byoc", "CallC");
}

bool byoc_host_is_view(const byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  return op != NULL && op->is_view;
}

// If, Loop
static bool is_control(const byoc_node_t *node) {
  return byoc_node_is_onnx(node, "If") || byoc_node_is_onnx(node, "Loop");
}

bool byoc_host_is_container(const byoc_node_t *node) {
  static const char *const operators[] = {
#define BYOC_CONTAINER_NAME(op, function) op,
      BYOC_CONTAINER_LIST(BYOC_CONTAINER_NAME)
#undef BYOC_CONTAINER_NAME
  };
  for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); ++i) {
    if (byoc_node_is_onnx(node, operators[i]) || byoc_node_is(node, "byoc", operators[i])) return true;
  }
  return false;
}

// ---- sharing ----

// Is the first result the first operand? A value that is sent to another rank stays unchanged.
static bool passes_operand_on(const byoc_node_t *node) {
  return byoc_host_is_view(node) || byoc_node_is(node, "byoc", "Send");
}

// May a C call overwrite this operand's bytes? Only if nothing else will read them. The bytes must belong
// to a call, or to a Join whose operands are not used after it. From there to the operand, every value must have one
// use, in the same block (a nested one may run again). The search ends at an operand that an earlier C call overwrote,
// because nothing read that one afterwards; so long chains of calls cost nothing.
static bool dies_at_its_use(const byoc_value_t *value, const byoc_block_t *block) {
  for (;;) {
    if (value->kind != BYOC_VALUE_RESULT || value->uses.count != 1) return false;
    const byoc_node_t *node = byoc_value_producer(value);
    if (node->block != block || is_control(node) || byoc_host_is_container(node)) return false;
    if (byoc_host_is_join(node)) {
      for (uint32_t i = 0; i < node->operand_count; ++i) {
        if (!dies_at_its_use(node->operands[i], block)) return false;
      }
      return true;
    }
    if (!passes_operand_on(node)) return true;
    value = node->operands[0];
  }
}

int64_t byoc_host_overwritten_operand(const byoc_node_t *node) {
  return byoc_attributes_int(&node->attributes, "result_from_operand", -1);
}

byoc_value_t *byoc_host_aliased_operand(const byoc_value_t *value) {
  const byoc_node_t *node = byoc_value_producer(value);
  if (node == NULL || value->index != 0) return NULL;
  if (passes_operand_on(node)) return node->operands[0];
  if (!byoc_host_is_c_call(node)) return NULL;
  int64_t from = byoc_host_overwritten_operand(node);
  if (from < 0 || from >= node->operand_count) return NULL;
  return dies_at_its_use(node->operands[from], node->block) ? node->operands[from] : NULL;
}

const byoc_value_t *byoc_host_storage_root(const byoc_value_t *value) {
  for (const byoc_value_t *next = byoc_host_aliased_operand(value); next != NULL;
       next = byoc_host_aliased_operand(next)) {
    value = next;
  }
  return value;
}

// ---- which bytes are in cells ----

static bool put_in_cell(byoc_host_lowering_t *l, const byoc_value_t *value) {
  const byoc_value_t *root = byoc_host_storage_root(value);
  return byoc_pointer_map_put(&l->cells, root, (void *)(uintptr_t)root);
}

static bool put_all_in_cells(byoc_host_lowering_t *l, byoc_value_t *const *values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (values[i] != NULL && !put_in_cell(l, values[i])) return false;
  }
  return true;
}

static bool find_in_node(byoc_host_lowering_t *l, const byoc_node_t *node);

// Parameters and results of a block are passed in cells.
static bool find_in_block(byoc_host_lowering_t *l, const byoc_block_t *block, bool is_nested) {
  bool ok = true;
  if (is_nested || l->program->is_dynamic) {
    ok = put_all_in_cells(l, block->parameters.data, block->parameters.count) &&
         put_all_in_cells(l, block->results.data, block->results.count);
  }
  for (const byoc_node_t *node = block->first; node != NULL && ok; node = node->next) ok = find_in_node(l, node);
  return ok;
}

static bool find_in_node(byoc_host_lowering_t *l, const byoc_node_t *node) {
  bool ok = true;
  if (is_control(node) || byoc_host_is_container(node)) {
    ok = put_all_in_cells(l, node->operands, node->operand_count) &&
         put_all_in_cells(l, node->results, node->result_count);
  }
  for (uint32_t i = 0; i < node->result_count && ok; ++i) {
    if (!byoc_type_is_static(node->results[i]->type)) ok = put_in_cell(l, node->results[i]);
  }
  for (uint32_t b = 0; b < node->block_count && ok; ++b) ok = find_in_block(l, node->blocks[b], true);
  return ok;
}

static bool all_static(byoc_value_t *const *values, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (!byoc_type_is_static(values[i]->type)) return false;
  }
  return true;
}

bool byoc_host_will_be_dynamic(const byoc_function_t *main) {
  const byoc_block_t *body = main->body;
  if (!all_static(body->parameters.data, body->parameters.count)) return true;
  if (!all_static(body->results.data, body->results.count)) return true;
  for (const byoc_node_t *node = body->first; node != NULL; node = node->next) {
    if (byoc_host_is_container(node) || (is_control(node) && !byoc_control_is_static(node))) return true;
    if (byoc_node_is(node, "byoc", "BindSymbols") || !all_static(node->results, node->result_count)) return true;
  }
  return false;
}

byoc_status_t byoc_host_find_cells(byoc_host_lowering_t *l) {
  l->program->is_dynamic = byoc_host_will_be_dynamic(l->main);
  if (!l->program->is_dynamic) return BYOC_OK;
  return find_in_block(l, l->main->body, false) ? BYOC_OK : byoc_diag_out_of_memory(l->diag);
}

static bool value_in_cell(const byoc_host_lowering_t *l, const byoc_value_t *value) {
  return byoc_pointer_map_get(&l->cells, byoc_host_storage_root(value)) != NULL;
}

// ---- buffers ----

byoc_status_t byoc_host_set_buffer(byoc_host_lowering_t *l, const byoc_value_t *value, byoc_host_buffer_t *buffer) {
  if (buffer == NULL || !byoc_pointer_map_put(&l->buffers, value, buffer)) return byoc_diag_out_of_memory(l->diag);
  return BYOC_OK;
}

// The buffer of a constant, for all its values; a constant on a device has a buffer of its own, which the context
// fills.
static byoc_status_t constant_buffer(byoc_host_lowering_t *l, const byoc_value_t *value,
                                     byoc_host_buffer_t **out_buffer) {
  byoc_constant_t *constant = value->constant;
  const bool is_on_device = byoc_host_is_on_device(value);
  const void *key = is_on_device ? (const void *)value : constant;
  *out_buffer = byoc_pointer_map_get(&l->buffers, key);
  if (*out_buffer != NULL) return BYOC_OK;
  byoc_host_buffer_t *buffer =
      byoc_host_buffer_create(l->program, BYOC_HOST_BUFFER_CONSTANT, constant->name, constant->type);
  if (buffer == NULL || !byoc_pointer_map_put(&l->buffers, key, buffer)) return byoc_diag_out_of_memory(l->diag);
  buffer->constant = constant;
  buffer->data = constant->data;
  *out_buffer = buffer;
  return is_on_device ? byoc_host_put_on_device(l, buffer, &value->device) : BYOC_OK;
}

byoc_status_t byoc_host_buffer_of(byoc_host_lowering_t *l, byoc_value_t *value, byoc_host_buffer_t **out_buffer) {
  *out_buffer = NULL;
  if (value == NULL) return byoc_diag_error(l->diag, BYOC_INTERNAL, "a required operand is left out");
  if (byoc_value_is_constant(value)) return constant_buffer(l, value, out_buffer);
  *out_buffer = byoc_pointer_map_get(&l->buffers, value);
  if (*out_buffer != NULL) return BYOC_OK;
  return byoc_diag_error(l->diag, BYOC_INTERNAL, "value '%s' is used before it has a buffer",
                         value->name ? value->name : "");
}

// Values are passed on with their memory, and a constant on a device keeps its own.
static byoc_status_t copy_to_cell(byoc_host_lowering_t *l, byoc_host_buffer_t *constant,
                                  byoc_host_buffer_t **out_buffer) {
  *out_buffer = byoc_host_buffer_create(l->program, BYOC_HOST_BUFFER_LOCAL, constant->name, constant->type);
  if (*out_buffer == NULL) return byoc_diag_out_of_memory(l->diag);
  (*out_buffer)->is_value = true;
  (*out_buffer)->scope = constant->scope;
  byoc_host_buffer_set_device(l->program, *out_buffer, constant->device);
  return byoc_host_append_copy(l, BYOC_HOST_COPY, constant, *out_buffer);
}

byoc_status_t byoc_host_cell_of(byoc_host_lowering_t *l, byoc_value_t *value, byoc_host_buffer_t **out_buffer) {
  BYOC_RETURN_IF_ERROR(byoc_host_buffer_of(l, value, out_buffer));
  if ((*out_buffer)->kind == BYOC_HOST_BUFFER_CONSTANT) {
    if ((*out_buffer)->device != NULL) return copy_to_cell(l, *out_buffer, out_buffer);
    (*out_buffer)->is_value = true;
  }
  if ((*out_buffer)->is_value) return BYOC_OK;
  return byoc_diag_error(l->diag, BYOC_INTERNAL, "value '%s' is used outside its block, but is in the workspace",
                         value->name ? value->name : "");
}

byoc_status_t byoc_host_make_result(byoc_host_lowering_t *l, byoc_value_t *value, byoc_host_buffer_t **out_buffer) {
  const char *name = value->name ? value->name : "t";
  BYOC_RETURN_IF_ERROR(byoc_host_check_bound(l, value->type, name));
  byoc_host_buffer_t *destination = byoc_pointer_map_get(&l->destinations, value);
  if (destination != NULL && !byoc_host_is_at(destination, &value->device)) destination = NULL;
  if (destination != NULL && byoc_type_equal(destination->type, value->type)) {
    *out_buffer = destination;
  } else if (destination != NULL) { // the output is a view of these bytes
    *out_buffer = byoc_host_view_create(l->program, destination, name, value->type, 0);
  } else {
    *out_buffer = byoc_host_buffer_create(l->program, BYOC_HOST_BUFFER_LOCAL, name, value->type);
    if (*out_buffer != NULL) (*out_buffer)->is_value = value_in_cell(l, value);
    if (*out_buffer != NULL && byoc_host_is_on_device(value)) {
      BYOC_RETURN_IF_ERROR(byoc_host_put_on_device(l, *out_buffer, &value->device));
    }
  }
  return byoc_host_set_buffer(l, value, *out_buffer);
}

byoc_status_t byoc_host_make_cell(byoc_host_lowering_t *l, byoc_host_buffer_t *buffer, const byoc_value_t *value) {
  buffer->is_value = true;
  return byoc_host_is_on_device(value) ? byoc_host_put_on_device(l, buffer, &value->device) : BYOC_OK;
}

// A cell has one shape, so another shape needs another cell, which is made when the program gets there.
static byoc_status_t lower_shared_cell(byoc_host_lowering_t *l, byoc_value_t *value, byoc_value_t *operand) {
  byoc_host_buffer_t *from = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_cell_of(l, operand, &from));
  if (byoc_type_equal(from->type, value->type)) return byoc_host_set_buffer(l, value, from);
  if (byoc_type_is_tensor(value->type)) {
    BYOC_RETURN_IF_ERROR(byoc_host_check_bound(l, value->type, value->name ? value->name : ""));
  }
  byoc_host_buffer_t *buffer =
      byoc_host_buffer_create(l->program, BYOC_HOST_BUFFER_LOCAL, value->name ? value->name : "v", value->type);
  BYOC_RETURN_IF_ERROR(byoc_host_set_buffer(l, value, buffer));
  BYOC_RETURN_IF_ERROR(byoc_host_make_cell(l, buffer, value));
  byoc_host_instruction_t *share = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_append(l, BYOC_HOST_SHARE, byoc_value_producer(value), &share));
  BYOC_RETURN_IF_ERROR(byoc_host_push(l, share, false, from));
  return byoc_host_push(l, share, true, buffer);
}

// The offset of a view's bytes in its operand.
static uint64_t offset_in_operand(const byoc_value_t *value) {
  const byoc_node_t *node = byoc_value_producer(value);
  if (node == NULL || !byoc_node_is(node, "byoc", "Part")) return 0;
  return (uint64_t)byoc_node_int(node, BYOC_PART_OFFSET);
}

// A part that begins elsewhere in each iteration of a Loop.
static byoc_status_t lower_turning_part(byoc_host_lowering_t *l, byoc_value_t *value, byoc_host_buffer_t *base) {
  const byoc_node_t *node = value->node;
  byoc_arena_t *arena = &l->program->arena;
  const uintptr_t symbol = (uintptr_t)byoc_pointer_map_get(&l->iterations, node->operands[1]);
  if (symbol == 0) return byoc_diag_error(l->diag, BYOC_INVALID_DATA, "operand 1 is not the iteration of a Loop");
  bool failed = false;
  byoc_dim_t offset = byoc_dim_symbol(arena, l->program->symbols.data[symbol - 1], &failed);
  offset =
      byoc_dim_binary(arena, BYOC_DIM_MUL, offset, byoc_dim_constant(byoc_node_int(node, BYOC_PART_STEP)), &failed);
  offset =
      byoc_dim_binary(arena, BYOC_DIM_ADD, offset, byoc_dim_constant(byoc_node_int(node, BYOC_PART_OFFSET)), &failed);
  if (failed) return byoc_diag_out_of_memory(l->diag);
  const char *name = value->name ? value->name : "part";
  return byoc_host_set_buffer(l, value, byoc_host_moving_view_create(l->program, base, name, value->type, offset));
}

byoc_status_t byoc_host_lower_alias(byoc_host_lowering_t *l, byoc_value_t *value, byoc_value_t *operand) {
  bool is_cell = value_in_cell(l, value);
  uint64_t offset_bytes = offset_in_operand(value);
  if (is_cell && byoc_node_is(byoc_value_producer(value), "byoc", "Part")) {
    return byoc_diag_error(l->diag, BYOC_UNSUPPORTED, "a part of a value that is used outside its block");
  }
  if (is_cell) return lower_shared_cell(l, value, operand);
  byoc_host_buffer_t *base = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_buffer_of(l, operand, &base));
  if (byoc_node_is(byoc_value_producer(value), "byoc", "Part") && value->node->operand_count > 1) {
    return lower_turning_part(l, value, base);
  }
  const byoc_host_buffer_t *root = byoc_host_buffer_root(base);
  if (byoc_type_equal(root->type, value->type)) return byoc_host_set_buffer(l, value, byoc_host_buffer_root(base));
  const char *name = value->name ? value->name : "v";
  return byoc_host_set_buffer(l, value, byoc_host_view_create(l->program, base, name, value->type, offset_bytes));
}

byoc_status_t byoc_host_bound_constant(byoc_host_lowering_t *l, const byoc_runtime_module_t *binding, size_t index,
                                       byoc_host_buffer_t **out_buffer) {
  const byoc_bound_constant_t *constant = &binding->constants.data[index];
  *out_buffer = byoc_pointer_map_get(&l->buffers, constant); // a function that is called several times
  if (*out_buffer != NULL) return BYOC_OK;
  char *name = byoc_arena_format(&l->program->arena, "%s_c%zu", binding->function_name, index);
  byoc_host_buffer_t *buffer =
      name ? byoc_host_buffer_create(l->program, BYOC_HOST_BUFFER_CONSTANT, name, constant->type) : NULL;
  if (buffer == NULL || !byoc_pointer_map_put(&l->buffers, constant, buffer)) return byoc_diag_out_of_memory(l->diag);
  buffer->data = constant->data;
  buffer->bound_by = binding;
  buffer->bound_index = (uint32_t)index;
  *out_buffer = buffer;
  return BYOC_OK;
}

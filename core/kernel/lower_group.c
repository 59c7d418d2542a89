// SPDX-License-Identifier: Apache-2.0
// Makes the kernel of one outlined group: its anchor's loop nest or elements, computed by the definitions in the
// operator table.
#include "core/kernel/lower_group.h"

#include "core/kernel/schedule.h"

byoc_lower_definition_t byoc_kernel_find_definition(const byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  if (!op) return (byoc_lower_definition_t){0};
  return (byoc_lower_definition_t){.point = op->point, .is_elementwise = (op->traits & BYOC_OP_ELEMENTWISE) != 0};
}

// Loops move strings as addresses of 8 bytes.
static const byoc_type_t *buffer_type(byoc_lower_t *lower, const byoc_type_t *type) {
  if (!byoc_type_is_tensor(type) || type->dtype != BYOC_DTYPE_STRING) return type;
  return byoc_type_tensor(lower->builder.arena, BYOC_DTYPE_U64, type->rank, type->dims);
}

static byoc_status_t declare_parameters(byoc_lower_t *lower, byoc_function_t *function) {
  for (size_t i = 0; i < function->body->parameters.count; ++i) {
    byoc_value_t *value = function->body->parameters.data[i];
    char name[32];
    snprintf(name, sizeof(name), "in%zu", i);
    const byoc_type_t *type = buffer_type(lower, value->type);
    byoc_loop_buffer_t *buffer = type ? byoc_loop_parameter(&lower->builder, BYOC_LOOP_BUFFER_INPUT, name, type) : NULL;
    if (!buffer || !byoc_pointer_map_put(&lower->buffers, value, buffer)) return byoc_diag_out_of_memory(lower->diag);
  }
  for (size_t i = 0; i < function->body->results.count; ++i) {
    byoc_value_t *value = function->body->results.data[i];
    char name[32];
    snprintf(name, sizeof(name), "out%zu", i);
    const byoc_type_t *type = buffer_type(lower, value->type);
    byoc_loop_buffer_t *buffer =
        type ? byoc_loop_parameter(&lower->builder, BYOC_LOOP_BUFFER_OUTPUT, name, type) : NULL;
    if (!buffer || !byoc_pointer_map_put(&lower->buffers, value, buffer)) return byoc_diag_out_of_memory(lower->diag);
  }
  return BYOC_OK;
}

// "Conv+Relu"
static const char *describe(byoc_lower_t *lower) {
  byoc_string_t text;
  byoc_string_init(&text, lower->builder.arena->allocator);
  BYOC_FOR_EACH_NODE(node, lower->function->body) {
    if (byoc_node_is(node, "byoc", "ShapeOnly")) continue;
    if (text.size > 0) byoc_string_append(&text, "+");
    byoc_string_append(&text, node->op);
  }
  const char *description = text.failed ? NULL : byoc_arena_copy_string(lower->builder.arena, text.data);
  byoc_string_deinit(&text);
  return description;
}

byoc_status_t byoc_kernel_lower_group(byoc_function_t *function, byoc_node_t *const *members, uint32_t member_count,
                                      byoc_diag_t *diag) {
  const byoc_node_t *anchor = members[0];
  const byoc_op_t *op = byoc_op_of(anchor);
  char text[256];
  byoc_node_describe(anchor, text, sizeof(text));
  byoc_lower_t lower;
  byoc_lower_init(&lower, &function->module->arena, function->name, byoc_kernel_find_definition, diag);
  lower.function = function, lower.members = members, lower.member_count = member_count;
  byoc_status_t status = lower.builder.failed ? byoc_diag_out_of_memory(diag) : declare_parameters(&lower, function);
  if (status == BYOC_OK) {
    if (op->loops)
      status = op->loops(&lower, anchor);
    else
      status = byoc_kernel_lower_points(&lower, anchor);
  }
  // A definition that does not get a buffer or an expression may report it, give up silently, or not notice.
  const bool has_said = status != BYOC_OK && diag != NULL && diag->status != BYOC_OK;
  if (!has_said && (lower.builder.failed || status != BYOC_OK))
    status = byoc_lower_is_out_of_memory(&lower)
                 ? byoc_diag_out_of_memory(diag)
                 : byoc_diag_error(diag, BYOC_UNSUPPORTED, "its definition cannot be lowered for these operands");
  if (status == BYOC_OK && !byoc_loop_is_closed(&lower.builder))
    status = byoc_diag_error(diag, BYOC_INTERNAL, "its definition leaves a loop open");
  if (status == BYOC_OK) {
    byoc_loop_kernel_t *kernel = lower.builder.kernel;
    kernel->description = describe(&lower);
    if (!kernel->description)
      status = byoc_diag_out_of_memory(diag);
    else if ((status = byoc_loop_verify(kernel, diag)) == BYOC_OK)
      function->kernel = kernel;
  }
  if (status != BYOC_OK) byoc_diag_context(diag, status, "lowering %s", text);
  byoc_lower_deinit(&lower);
  return status;
}

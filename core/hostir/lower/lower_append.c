// SPDX-License-Identifier: Apache-2.0
// Appends instructions to the program that is being made, each with a description of the node it comes from.
#include "core/hostir/lower/lower_internal.h"
#include "core/ir/describe.h"
#include "core/op/schema.h"

// "Conv+Relu 'conv1'", "cblas_sgemm 'conv1'", "Loop 'decode'". A kernel may serve several nodes, so the name is that of
// the call. Which variant of the model it is in follows: "[sequence=128]".
static void describe(const byoc_node_t *node, byoc_string_t *out) {
  if (byoc_node_is(node, "byoc", "CheckRange")) {
    byoc_string_append(out, "checking values"); // the message names the operator
    return;
  }
  if (node->callee != NULL && node->callee->kernel != NULL) {
    byoc_string_append(out, node->callee->kernel->description);
  } else if (node->callee != NULL) {
    byoc_function_describe(node->callee, out);
  }
  if (byoc_host_is_c_call(node)) {
    byoc_string_append(out, byoc_node_text(node, "symbol"));
  } else if (node->callee == NULL) {
    byoc_string_append(out, node->op);
  }
  if (node->name[0] != '\0') byoc_string_appendf(out, " '%s'", node->name);
  const char *variant = NULL;
  for (const byoc_block_t *block = node->block; block->owner != NULL && variant == NULL; block = block->owner->block) {
    variant = byoc_block_case(block);
  }
  if (variant != NULL) byoc_string_appendf(out, " [%s]", variant);
}

byoc_status_t byoc_host_append(byoc_host_lowering_t *l, byoc_host_op_t op, const byoc_node_t *node,
                               byoc_host_instruction_t **out_instruction) {
  *out_instruction = byoc_host_instruction_append(l->program, l->region, op);
  if (*out_instruction == NULL) return byoc_diag_out_of_memory(l->diag);
  byoc_string_t origin;
  byoc_string_init(&origin, l->program->arena.allocator);
  if (node != NULL) describe(node, &origin);
  if (!origin.failed) (*out_instruction)->origin = byoc_arena_copy_string(&l->program->arena, origin.data);
  byoc_string_deinit(&origin);
  return (*out_instruction)->origin ? BYOC_OK : byoc_diag_out_of_memory(l->diag);
}

byoc_status_t byoc_host_push(byoc_host_lowering_t *l, byoc_host_instruction_t *i, bool is_result,
                             byoc_host_buffer_t *buffer) {
  const bool pushed =
      is_result ? byoc_host_add_result(l->program, i, buffer) : byoc_host_add_operand(l->program, i, buffer);
  return pushed ? BYOC_OK : byoc_diag_out_of_memory(l->diag);
}

const byoc_host_queue_t *byoc_host_queue_of(const byoc_host_lowering_t *l, const byoc_host_device_t *device) {
  size_t k = 0;
  while (l->program->queues.data[k]->device != device) ++k;
  return l->program->queues.data[k];
}

void byoc_host_set_queue(const byoc_host_lowering_t *l, byoc_host_instruction_t *copy) {
  const byoc_host_device_t *device = copy->results.data[0]->device;
  if (device == NULL) device = copy->operands.data[0]->device;
  if (device != NULL) copy->on.queue = byoc_host_queue_of(l, device);
}

byoc_status_t byoc_host_append_copy(byoc_host_lowering_t *l, byoc_host_op_t op, byoc_host_buffer_t *from,
                                    byoc_host_buffer_t *to) {
  byoc_host_instruction_t *copy = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_append(l, op, NULL, &copy));
  BYOC_RETURN_IF_ERROR(byoc_host_push(l, copy, false, from));
  BYOC_RETURN_IF_ERROR(byoc_host_push(l, copy, true, to));
  if (op == BYOC_HOST_COPY) byoc_host_set_queue(l, copy);
  return BYOC_OK;
}

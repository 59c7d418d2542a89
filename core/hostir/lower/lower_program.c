// SPDX-License-Identifier: Apache-2.0
// Lowers a whole function: its inputs, its nodes in order, its outputs.
#include "core/hostir/lower/lower_program.h"

#include <string.h>

#include "core/hostir/lower/lower_internal.h"
#include "core/ir/attribute_names.h"
#include "core/ir/describe.h"
#include "core/op/schema.h"
#include "core/ops/byoc/symbolic.h"
#include "core/runtime/check.h"

// ---- nodes ----

static byoc_status_t lower_node(byoc_host_lowering_t *l, const byoc_node_t *node) {
  if (node->callee != NULL && node->callee->kind == BYOC_FUNCTION_KERNEL) return byoc_host_lower_kernel_call(l, node);
  if (node->callee != NULL && node->callee->kind == BYOC_FUNCTION_EXTERN) return byoc_host_lower_extern_call(l, node);
  if (byoc_host_is_c_call(node)) return byoc_host_lower_c_call(l, node);
  if (byoc_host_is_join(node)) return byoc_host_lower_join(l, node);
  if (byoc_host_is_view(node)) return byoc_host_lower_alias(l, node->results[0], node->operands[0]);
  if (byoc_host_is_collective(node)) return byoc_host_lower_collective(l, node);
  if (byoc_host_is_container(node)) return byoc_host_lower_container(l, node);
  if (byoc_node_is_onnx(node, "If")) return byoc_host_lower_if(l, node);
  if (byoc_node_is_onnx(node, "Loop")) return byoc_host_lower_loop(l, node);
  if (byoc_node_is(node, "byoc", "BindSymbols")) return byoc_host_lower_bind(l, node);
  if (byoc_is_requirement(node)) return byoc_host_lower_require(l, node);
  if (byoc_node_is(node, "byoc", "CheckDims")) return byoc_host_lower_check(l, node, BYOC_CHECK_DIMS);
  if (byoc_node_is(node, "byoc", "CheckRange")) return byoc_host_lower_check(l, node, BYOC_CHECK_RANGE);
  if (byoc_node_is(node, "byoc", "Fail")) return byoc_host_lower_check(l, node, BYOC_CHECK_FAIL);
  if (byoc_node_is(node, "byoc", "DeviceCopy")) return byoc_host_lower_device_copy(l, node);
  if (byoc_node_is(node, "byoc", "DevicesReady")) return byoc_host_lower_question(l, node, BYOC_CHECK_DEVICES);
  if (byoc_node_is(node, "byoc", "EnginesReady")) return byoc_host_lower_question(l, node, BYOC_CHECK_ENGINES);
  if (byoc_node_is(node, "byoc", "ThreadsAtLeast")) return byoc_host_lower_question(l, node, BYOC_CHECK_THREADS);
  if (byoc_node_is(node, "byoc", "Text")) return byoc_host_lower_text(l, node);
  return byoc_diag_error(l->diag, BYOC_UNSUPPORTED, "nothing implements this operator in the host program");
}

byoc_status_t byoc_host_lower_block(byoc_host_lowering_t *l, const byoc_block_t *block) {
  BYOC_FOR_EACH_NODE(node, block) {
    char description[160];
    byoc_node_describe(node, description, sizeof(description));
    BYOC_RETURN_IF_ERROR_IN(l->diag, lower_node(l, node), "%s", description);
  }
  return BYOC_OK;
}

// ---- inputs and outputs ----

static byoc_status_t lower_inputs(byoc_host_lowering_t *l) {
  const byoc_block_t *body = l->main->body;
  for (size_t k = 0; k < body->parameters.count; ++k) {
    byoc_value_t *value = body->parameters.data[k];
    byoc_host_buffer_t *buffer =
        byoc_host_port_create(l->program, BYOC_HOST_BUFFER_INPUT, value->name ? value->name : "x", value->type);
    BYOC_RETURN_IF_ERROR(byoc_host_set_buffer(l, value, buffer));
    buffer->is_value = l->program->is_dynamic;
  }
  return BYOC_OK;
}

static bool has_symbols(const byoc_host_buffer_t *buffer) {
  return byoc_type_is_tensor(buffer->type) && !byoc_type_is_static(buffer->type);
}

// Symbols are bound by the first input that has one as a plain dimension; then all inputs are checked against them.
static byoc_status_t match_inputs(byoc_host_lowering_t *l) {
  for (int pass = 0; pass < 2; ++pass) {
    for (size_t k = 0; k < l->program->inputs.count; ++k) {
      byoc_host_buffer_t *input = l->program->inputs.data[k];
      if (has_symbols(input)) BYOC_RETURN_IF_ERROR(byoc_host_match_value(l, input, pass == 0, pass == 1));
    }
  }
  l->program->input_symbol_count = (uint32_t)l->program->symbols.count;
  // All requirements on the inputs' shapes are checked here, whichever operators need them.
  BYOC_RETURN_IF_ERROR(byoc_host_append(l, BYOC_HOST_REQUIRE, NULL, &l->of_inputs));
  l->of_inputs->of_inputs = true;
  l->of_inputs->symbol = "shapes";
  return BYOC_OK;
}

// Makes the output buffers, each of which is the destination of the bytes that it returns. The first output of a node's
// bytes is written in place; the others are copied at the end. Outputs of a dynamic program are cells and can share
// bytes.
static byoc_status_t lower_outputs(byoc_host_lowering_t *l) {
  const byoc_block_t *body = l->main->body;
  for (size_t k = 0; k < body->results.count; ++k) {
    const byoc_value_t *value = body->results.data[k];
    const char *name = body->result_names.data[k];
    byoc_host_buffer_t *buffer =
        byoc_host_port_create(l->program, BYOC_HOST_BUFFER_OUTPUT, name ? name : "y", value->type);
    if (buffer == NULL) return byoc_diag_out_of_memory(l->diag);
    buffer->is_value = l->program->is_dynamic;
    if (buffer->is_value) continue;
    const byoc_value_t *root = byoc_host_storage_root(value);
    if (root->kind != BYOC_VALUE_RESULT || byoc_pointer_map_get(&l->destinations, root) != NULL) continue;
    if (byoc_type_size_bytes(root->type) != byoc_type_size_bytes(value->type)) continue; // only a part of it
    if (!byoc_pointer_map_put(&l->destinations, root, buffer)) return byoc_diag_out_of_memory(l->diag);
  }
  return BYOC_OK;
}

static byoc_status_t finish_outputs(byoc_host_lowering_t *l) {
  const byoc_block_t *body = l->main->body;
  for (size_t k = 0; k < body->results.count; ++k) {
    byoc_host_buffer_t *output = l->program->outputs.data[k], *from = NULL;
    if (l->program->is_dynamic) {
      BYOC_RETURN_IF_ERROR(byoc_host_cell_of(l, body->results.data[k], &from));
      BYOC_RETURN_IF_ERROR(byoc_host_append_copy(l, BYOC_HOST_SHARE, from, output));
      continue;
    }
    BYOC_RETURN_IF_ERROR(byoc_host_buffer_of(l, body->results.data[k], &from));
    if (byoc_host_buffer_root(from) == output) continue;
    BYOC_RETURN_IF_ERROR(byoc_host_append_copy(l, BYOC_HOST_COPY, from, output));
  }
  return BYOC_OK;
}

static byoc_status_t lower_main(byoc_host_lowering_t *l) {
  l->region = &l->program->body;
  BYOC_RETURN_IF_ERROR(byoc_host_find_cells(l));
  BYOC_RETURN_IF_ERROR(lower_inputs(l));
  if (l->program->is_dynamic) BYOC_RETURN_IF_ERROR(match_inputs(l));
  BYOC_RETURN_IF_ERROR(lower_outputs(l));
  if (!l->program->is_dynamic) BYOC_RETURN_IF_ERROR(byoc_host_place_joins(l, l->main->body));
  BYOC_RETURN_IF_ERROR(byoc_host_lower_block(l, l->main->body));
  BYOC_RETURN_IF_ERROR(finish_outputs(l));
  bool is_needed = l->of_inputs != NULL && l->of_inputs->relations.count > 0;
  if (l->of_inputs != NULL && !is_needed) byoc_host_instruction_erase(l->program, l->of_inputs);
  return byoc_host_program_collect_libraries(l->program, l->diag);
}

byoc_status_t byoc_host_lower(const byoc_graph_module_t *module, byoc_allocator_t allocator, byoc_diag_t *diag,
                              byoc_host_program_t **out_program) {
  *out_program = NULL;
  byoc_host_lowering_t l = {.main = byoc_graph_module_main(module), .diag = diag};
  if (l.main == NULL) return byoc_diag_error(diag, BYOC_INVALID_DATA, "the module has no function");
  byoc_pointer_map_init(&l.buffers, allocator);
  byoc_pointer_map_init(&l.destinations, allocator);
  byoc_pointer_map_init(&l.iterations, allocator);
  byoc_pointer_map_init(&l.cells, allocator);
  const char *name = byoc_attributes_string(&module->attributes, BYOC_ATTRIBUTE_MODEL, l.main->name);
  byoc_status_t status = byoc_host_program_create(module, name, allocator, diag, &l.program);
  if (status == BYOC_OK) {
    l.program->rank_count = (uint32_t)byoc_attributes_int(&module->attributes, BYOC_ATTRIBUTE_RANK_COUNT, 0);
    l.program->rank = (int32_t)byoc_attributes_int(&module->attributes, BYOC_ATTRIBUTE_RANK, 0);
    l.program->rank_build = (uint64_t)byoc_attributes_int(&module->attributes, BYOC_ATTRIBUTE_RANK_BUILD, 0);
    if (l.program->rank_count == 0) l.program->rank = 0;
    status = lower_main(&l);
  }
  if (status != BYOC_OK) goto cleanup;
  *out_program = l.program;
  l.program = NULL; // now the caller's
cleanup:
  byoc_host_program_destroy(l.program);
  byoc_vector_deinit(&l.bound, allocator);
  byoc_map_deinit(&l.cells);
  byoc_map_deinit(&l.iterations);
  byoc_map_deinit(&l.destinations);
  byoc_map_deinit(&l.buffers);
  if (status != BYOC_OK) return byoc_diag_context(diag, status, "lowering to a host program");
  return BYOC_OK;
}

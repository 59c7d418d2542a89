#include "core/hostir/lower.h"

#include <string.h>

#include "core/ir/describe.h"
#include "core/module/c_call.h"
#include "core/ops/op.h"

typedef struct lowering_t {
  byoc_host_program_t *program;
  byoc_function_t *main;
  byoc_map_t buffers; // pointer map: value, constant or bound constant → byoc_host_buffer_t *
  byoc_map_t homes;   // pointer map: value whose bytes an output is → that output's buffer
  byoc_diag_t *diag;
} lowering_t;

// ---- storage ----

static bool is_c_call(const byoc_node_t *node) {
  return byoc_node_is(node, "byoc", "CallC");
}

static bool is_view(const byoc_node_t *node) {
  const byoc_op_t *op = byoc_op_of(node);
  return op != NULL && op->is_view;
}

// May a C call overwrite this operand's bytes? Only where nothing else will read them: every value on the way back to
// what made the bytes has one use, and the bytes are the workspace's own. What an earlier C call overwrote died there
// in turn, so the way ends at it: long chains of calls cost nothing.
static bool dies_at_its_use(const byoc_value_t *value) {
  for (;;) {
    if (value->kind != BYOC_VALUE_RESULT || value->uses.count != 1) return false;
    const byoc_node_t *node = byoc_value_producer(value);
    if (!is_view(node)) return true;
    value = node->operands[0];
  }
}

// The operand whose bytes a result shares; NULL where it has bytes of its own.
static byoc_value_t *aliased_operand(const byoc_value_t *value) {
  const byoc_node_t *node = byoc_value_producer(value);
  if (node == NULL || value->index != 0) return NULL;
  if (is_view(node)) return node->operands[0];
  if (!is_c_call(node)) return NULL;
  int64_t from = byoc_attributes_int(&node->attributes, "result_from_operand", -1);
  if (from < 0 || from >= node->operand_count || !dies_at_its_use(node->operands[from])) return NULL;
  return node->operands[from];
}

static const byoc_value_t *storage_root(const byoc_value_t *value) {
  for (const byoc_value_t *next = aliased_operand(value); next != NULL; next = aliased_operand(next)) value = next;
  return value;
}

static byoc_status_t check_static(lowering_t *l, const byoc_value_t *value) {
  if (byoc_type_is_static(value->type)) return BYOC_OK;
  byoc_string_t text;
  byoc_string_init(&text, l->program->arena.allocator);
  byoc_type_print(value->type, &text);
  byoc_status_t status =
      byoc_diag_error(l->diag, BYOC_UNSUPPORTED, "value '%s' has the type %s, which is not known before the run",
                      value->name ? value->name : "", text.data);
  byoc_diag_hint(l->diag, "give each symbol a value: --dim NAME=VALUE");
  byoc_string_deinit(&text);
  return status;
}

static byoc_status_t set_buffer(lowering_t *l, const byoc_value_t *value, byoc_host_buffer_t *buffer) {
  if (buffer == NULL || !byoc_pointer_map_put(&l->buffers, value, buffer)) return byoc_diag_out_of_memory(l->diag);
  return BYOC_OK;
}

static byoc_status_t constant_buffer(lowering_t *l, byoc_constant_t *constant, byoc_host_buffer_t **out_buffer) {
  *out_buffer = byoc_pointer_map_get(&l->buffers, constant);
  if (*out_buffer != NULL) return BYOC_OK;
  byoc_host_buffer_t *buffer =
      byoc_host_buffer_create(l->program, BYOC_HOST_BUFFER_CONSTANT, constant->name, constant->type);
  if (buffer == NULL || !byoc_pointer_map_put(&l->buffers, constant, buffer)) return byoc_diag_out_of_memory(l->diag);
  buffer->constant = constant;
  buffer->data = constant->data;
  *out_buffer = buffer;
  return BYOC_OK;
}

// The buffer that an operand is read from.
static byoc_status_t buffer_of(lowering_t *l, byoc_value_t *value, byoc_host_buffer_t **out_buffer) {
  if (byoc_value_is_constant(value)) return constant_buffer(l, value->constant, out_buffer);
  *out_buffer = byoc_pointer_map_get(&l->buffers, value);
  if (*out_buffer != NULL) return BYOC_OK;
  return byoc_diag_error(l->diag, BYOC_INTERNAL, "value '%s' is used before it has a buffer",
                         value->name ? value->name : "");
}

// A buffer for a node's result: the caller's output where the bytes are one, else local.
static byoc_status_t make_result(lowering_t *l, byoc_value_t *value, byoc_host_buffer_t **out_buffer) {
  BYOC_RETURN_IF_ERROR(check_static(l, value));
  byoc_host_buffer_t *home = byoc_pointer_map_get(&l->homes, value);
  if (home != NULL && byoc_type_equal(home->type, value->type)) {
    *out_buffer = home;
  } else if (home != NULL) { // the output is a view of these bytes
    *out_buffer = byoc_host_view_create(l->program, home, value->name ? value->name : "t", value->type, 0);
  } else {
    *out_buffer =
        byoc_host_buffer_create(l->program, BYOC_HOST_BUFFER_LOCAL, value->name ? value->name : "t", value->type);
  }
  return set_buffer(l, value, *out_buffer);
}

// ---- instructions ----

// "Conv+Relu 'conv1'", "cblas_sgemm 'conv1'"
static void describe(const byoc_node_t *node, byoc_string_t *out) {
  if (node->callee != NULL && node->callee->kernel != NULL) {
    byoc_string_append(out, node->callee->kernel->description);
    return;
  }
  if (node->callee != NULL) byoc_function_describe(node->callee, out);
  if (is_c_call(node)) byoc_string_append(out, byoc_attributes_string(&node->attributes, "symbol", ""));
  if (node->name[0] != '\0') byoc_string_appendf(out, " '%s'", node->name);
}

static byoc_status_t append(lowering_t *l, byoc_host_op_t op, const byoc_node_t *node,
                            byoc_host_instruction_t **out_instruction) {
  *out_instruction = byoc_host_instruction_create(l->program, NULL, op);
  if (*out_instruction == NULL) return byoc_diag_out_of_memory(l->diag);
  byoc_string_t origin;
  byoc_string_init(&origin, l->program->arena.allocator);
  if (node != NULL) describe(node, &origin);
  if (!origin.failed) (*out_instruction)->origin = byoc_arena_copy_string(&l->program->arena, origin.data);
  byoc_string_deinit(&origin);
  return (*out_instruction)->origin ? BYOC_OK : byoc_diag_out_of_memory(l->diag);
}

static byoc_status_t push(lowering_t *l, byoc_host_instruction_t *i, bool is_result, byoc_host_buffer_t *buffer) {
  byoc_allocator_t allocator = l->program->arena.allocator;
  bool pushed =
      is_result ? byoc_vector_push(&i->results, allocator, buffer) : byoc_vector_push(&i->operands, allocator, buffer);
  return pushed ? BYOC_OK : byoc_diag_out_of_memory(l->diag);
}

static byoc_status_t append_copy(lowering_t *l, byoc_host_buffer_t *from, byoc_host_buffer_t *to) {
  byoc_host_instruction_t *copy = NULL;
  BYOC_RETURN_IF_ERROR(append(l, BYOC_HOST_COPY, NULL, &copy));
  BYOC_RETURN_IF_ERROR(push(l, copy, false, from));
  return push(l, copy, true, to);
}

static byoc_status_t push_operands(lowering_t *l, byoc_host_instruction_t *i, const byoc_node_t *node) {
  for (uint32_t k = 0; k < node->operand_count; ++k) {
    byoc_host_buffer_t *buffer = NULL;
    BYOC_RETURN_IF_ERROR(buffer_of(l, node->operands[k], &buffer));
    BYOC_RETURN_IF_ERROR(push(l, i, false, buffer));
  }
  return BYOC_OK;
}

static byoc_status_t push_results(lowering_t *l, byoc_host_instruction_t *i, const byoc_node_t *node) {
  for (uint32_t k = 0; k < node->result_count; ++k) {
    byoc_host_buffer_t *buffer = NULL;
    BYOC_RETURN_IF_ERROR(make_result(l, node->results[k], &buffer));
    BYOC_RETURN_IF_ERROR(push(l, i, true, buffer));
  }
  return BYOC_OK;
}

static byoc_status_t add_kernel(lowering_t *l, const byoc_loop_kernel_t *kernel) {
  for (size_t k = 0; k < l->program->kernels.count; ++k) {
    if (l->program->kernels.data[k] == kernel) return BYOC_OK;
  }
  return byoc_vector_push(&l->program->kernels, l->program->arena.allocator, kernel) ? BYOC_OK
                                                                                     : byoc_diag_out_of_memory(l->diag);
}

static byoc_status_t lower_kernel_call(lowering_t *l, const byoc_node_t *node) {
  byoc_host_instruction_t *i = NULL;
  BYOC_RETURN_IF_ERROR(append(l, BYOC_HOST_KERNEL, node, &i));
  i->kernel = node->callee->kernel;
  i->function = node->callee;
  i->symbol = i->kernel->name;
  BYOC_RETURN_IF_ERROR(add_kernel(l, i->kernel));
  BYOC_RETURN_IF_ERROR(push_operands(l, i, node));
  return push_results(l, i, node);
}

// The module that says how an extern function is called.
static const byoc_runtime_module_t *find_binding(const byoc_graph_module_t *module, const char *function) {
  for (size_t k = 0; k < module->runtime_modules.count; ++k) {
    const byoc_runtime_module_t *candidate = module->runtime_modules.data[k];
    if (candidate->function_name != NULL && strcmp(candidate->function_name, function) == 0) return candidate;
  }
  return NULL;
}

static byoc_status_t find_engine(lowering_t *l, const byoc_runtime_module_t *json, byoc_host_engine_t **out_engine) {
  for (size_t k = 0; k < l->program->engines.count; ++k) {
    *out_engine = &l->program->engines.data[k];
    if (strcmp((*out_engine)->engine->name, json->engine_name) == 0) return BYOC_OK;
  }
  const byoc_graph_module_t *module = l->program->module;
  for (size_t k = 0; k < module->runtime_modules.count; ++k) {
    const byoc_runtime_module_t *engine = module->runtime_modules.data[k];
    if (engine->kind != BYOC_RUNTIME_MODULE_ENGINE || strcmp(engine->name, json->engine_name) != 0) continue;
    byoc_host_engine_t entry = {.engine = engine};
    if (!byoc_vector_push(&l->program->engines, l->program->arena.allocator, entry)) {
      return byoc_diag_out_of_memory(l->diag);
    }
    *out_engine = &l->program->engines.data[l->program->engines.count - 1];
    return BYOC_OK;
  }
  return byoc_diag_error(l->diag, BYOC_NOT_FOUND, "function '%s' needs the engine '%s', which no backend handed back",
                         json->function_name, json->engine_name);
}

static byoc_status_t push_bound_constants(lowering_t *l, byoc_host_instruction_t *i,
                                          const byoc_runtime_module_t *binding) {
  for (size_t k = 0; k < binding->constants.count; ++k) {
    const byoc_bound_constant_t *constant = &binding->constants.data[k];
    byoc_host_buffer_t *buffer = byoc_pointer_map_get(&l->buffers, constant); // a function that is called again
    if (buffer == NULL) {
      char *name = byoc_arena_format(&l->program->arena, "%s_c%zu", binding->function_name, k);
      buffer = name ? byoc_host_buffer_create(l->program, BYOC_HOST_BUFFER_CONSTANT, name, constant->type) : NULL;
      if (buffer == NULL || !byoc_pointer_map_put(&l->buffers, constant, buffer)) {
        return byoc_diag_out_of_memory(l->diag);
      }
      buffer->data = constant->data;
    }
    BYOC_RETURN_IF_ERROR(push(l, i, false, buffer));
  }
  return BYOC_OK;
}

static byoc_status_t lower_extern_call(lowering_t *l, const byoc_node_t *node) {
  const byoc_runtime_module_t *binding = find_binding(l->program->module, node->callee->name);
  if (binding == NULL) {
    return byoc_diag_error(l->diag, BYOC_INTERNAL, "extern function '%s' is bound to nothing", node->callee->name);
  }
  bool packed = binding->kind == BYOC_RUNTIME_MODULE_PACKED;
  byoc_host_instruction_t *i = NULL;
  BYOC_RETURN_IF_ERROR(append(l, packed ? BYOC_HOST_PACKED : BYOC_HOST_ENGINE, node, &i));
  i->symbol = packed ? binding->packed_symbol : binding->function_name;
  i->function = node->callee;
  BYOC_RETURN_IF_ERROR(push_operands(l, i, node));
  if (packed) {
    BYOC_RETURN_IF_ERROR(push_bound_constants(l, i, binding));
  } else {
    byoc_host_engine_t *engine = NULL;
    BYOC_RETURN_IF_ERROR(find_engine(l, binding, &engine));
    i->json = binding;
    i->engine = engine->engine;
    while (i->engine_function < engine->functions.count && engine->functions.data[i->engine_function] != binding) {
      i->engine_function += 1; // a function that is called again keeps its index
    }
    if (i->engine_function == engine->functions.count &&
        !byoc_vector_push(&engine->functions, l->program->arena.allocator, binding)) {
      return byoc_diag_out_of_memory(l->diag);
    }
  }
  if (binding->workspace_size_bytes > 0) {
    const int64_t dims[1] = {(int64_t)binding->workspace_size_bytes};
    const byoc_type_t *type = byoc_type_tensor_static(&l->program->arena, BYOC_DTYPE_U8, 1, dims);
    i->workspace = type ? byoc_host_buffer_create(l->program, BYOC_HOST_BUFFER_LOCAL, "scratch", type) : NULL;
    if (i->workspace == NULL) return byoc_diag_out_of_memory(l->diag);
  }
  return push_results(l, i, node);
}

// A value that shares its operand's bytes: the same buffer under its own type.
static byoc_status_t lower_alias(lowering_t *l, byoc_value_t *value, byoc_value_t *operand) {
  BYOC_RETURN_IF_ERROR(check_static(l, value));
  byoc_host_buffer_t *base = NULL;
  BYOC_RETURN_IF_ERROR(buffer_of(l, operand, &base));
  const byoc_host_buffer_t *root = byoc_host_buffer_root(base);
  if (byoc_type_equal(root->type, value->type)) return set_buffer(l, value, byoc_host_buffer_root(base));
  return set_buffer(l, value, byoc_host_view_create(l->program, base, value->name ? value->name : "v", value->type, 0));
}

static byoc_status_t lower_c_call(lowering_t *l, const byoc_node_t *node) {
  byoc_c_call_t *call = NULL;
  BYOC_RETURN_IF_ERROR(byoc_c_call_from_node(node, &l->program->arena, l->diag, &call));
  for (uint32_t k = 0; k < node->result_count; ++k) {
    byoc_value_t *in_place = aliased_operand(node->results[k]);
    byoc_host_buffer_t *buffer = NULL;
    if (in_place != NULL) {
      BYOC_RETURN_IF_ERROR(lower_alias(l, node->results[k], in_place));
      continue;
    }
    BYOC_RETURN_IF_ERROR(make_result(l, node->results[k], &buffer));
    if (k != 0 || call->result_from_operand < 0) continue;
    byoc_host_buffer_t *from = NULL;
    BYOC_RETURN_IF_ERROR(buffer_of(l, node->operands[call->result_from_operand], &from));
    BYOC_RETURN_IF_ERROR(append_copy(l, from, buffer));
  }
  byoc_host_instruction_t *i = NULL;
  BYOC_RETURN_IF_ERROR(append(l, BYOC_HOST_C_CALL, node, &i));
  i->c_call = call;
  i->flops = (double)byoc_attributes_int(&node->attributes, BYOC_ATTRIBUTE_FLOPS, -1);
  i->symbol = call->symbol;
  BYOC_RETURN_IF_ERROR(push_operands(l, i, node));
  for (uint32_t k = 0; k < node->result_count; ++k) {
    byoc_host_buffer_t *buffer = NULL;
    BYOC_RETURN_IF_ERROR(buffer_of(l, node->results[k], &buffer));
    BYOC_RETURN_IF_ERROR(push(l, i, true, buffer));
  }
  return BYOC_OK;
}

static byoc_status_t lower_node(lowering_t *l, const byoc_node_t *node) {
  if (node->callee != NULL && node->callee->kind == BYOC_FUNCTION_KERNEL) return lower_kernel_call(l, node);
  if (node->callee != NULL && node->callee->kind == BYOC_FUNCTION_EXTERN) return lower_extern_call(l, node);
  if (is_c_call(node)) return lower_c_call(l, node);
  if (is_view(node)) return lower_alias(l, node->results[0], node->operands[0]);
  return byoc_diag_error(l->diag, BYOC_UNSUPPORTED, "nothing implements this operator in the host program");
}

// ---- inputs and outputs ----

static byoc_status_t lower_inputs(lowering_t *l) {
  const byoc_block_t *body = l->main->body;
  for (size_t k = 0; k < body->parameters.count; ++k) {
    byoc_value_t *value = body->parameters.data[k];
    BYOC_RETURN_IF_ERROR(check_static(l, value));
    byoc_host_buffer_t *buffer =
        byoc_host_buffer_create(l->program, BYOC_HOST_BUFFER_INPUT, value->name ? value->name : "x", value->type);
    BYOC_RETURN_IF_ERROR(set_buffer(l, value, buffer));
    if (!byoc_vector_push(&l->program->inputs, l->program->arena.allocator, buffer)) {
      return byoc_diag_out_of_memory(l->diag);
    }
  }
  return BYOC_OK;
}

// Makes the output buffers, and lets each be the home of the bytes it returns: the first output of a node's bytes is
// written in place, everything else is copied at the end.
static byoc_status_t lower_outputs(lowering_t *l) {
  const byoc_block_t *body = l->main->body;
  for (size_t k = 0; k < body->results.count; ++k) {
    const byoc_value_t *value = body->results.data[k];
    BYOC_RETURN_IF_ERROR(check_static(l, value));
    const char *name = body->result_names.data[k];
    byoc_host_buffer_t *buffer =
        byoc_host_buffer_create(l->program, BYOC_HOST_BUFFER_OUTPUT, name ? name : "y", value->type);
    if (buffer == NULL || !byoc_vector_push(&l->program->outputs, l->program->arena.allocator, buffer)) {
      return byoc_diag_out_of_memory(l->diag);
    }
    const byoc_value_t *root = storage_root(value);
    if (root->kind != BYOC_VALUE_RESULT || byoc_pointer_map_get(&l->homes, root) != NULL) continue;
    if (!byoc_pointer_map_put(&l->homes, root, buffer)) return byoc_diag_out_of_memory(l->diag);
  }
  return BYOC_OK;
}

static byoc_status_t copy_outputs(lowering_t *l) {
  const byoc_block_t *body = l->main->body;
  for (size_t k = 0; k < body->results.count; ++k) {
    byoc_host_buffer_t *output = l->program->outputs.data[k], *from = NULL;
    BYOC_RETURN_IF_ERROR(buffer_of(l, body->results.data[k], &from));
    if (byoc_host_buffer_root(from) != output) BYOC_RETURN_IF_ERROR(append_copy(l, from, output));
  }
  return BYOC_OK;
}

static byoc_status_t collect_libraries(lowering_t *l) {
  const byoc_graph_module_t *module = l->program->module;
  for (size_t k = 0; k < module->runtime_modules.count; ++k) {
    const byoc_runtime_module_t *m = module->runtime_modules.data[k];
    if (m->kind != BYOC_RUNTIME_MODULE_C_SOURCE && m->kind != BYOC_RUNTIME_MODULE_STATIC_LIBRARY) continue;
    if (!byoc_vector_push(&l->program->libraries, l->program->arena.allocator, m)) {
      return byoc_diag_out_of_memory(l->diag);
    }
  }
  return BYOC_OK;
}

static byoc_status_t lower_main(lowering_t *l) {
  BYOC_RETURN_IF_ERROR(lower_inputs(l));
  BYOC_RETURN_IF_ERROR(lower_outputs(l));
  BYOC_FOR_EACH_NODE(node, l->main->body) {
    char description[160];
    byoc_node_describe(node, description, sizeof(description));
    BYOC_RETURN_IF_ERROR_IN(l->diag, lower_node(l, node), "%s", description);
  }
  BYOC_RETURN_IF_ERROR(copy_outputs(l));
  return collect_libraries(l);
}

byoc_status_t byoc_host_lower(const byoc_graph_module_t *module, byoc_allocator_t allocator, byoc_diag_t *diag,
                              byoc_host_program_t **out_program) {
  *out_program = NULL;
  lowering_t l = {.main = byoc_graph_module_main(module), .diag = diag};
  if (l.main == NULL) return byoc_diag_error(diag, BYOC_INVALID_DATA, "the module has no function");
  byoc_pointer_map_init(&l.buffers, allocator);
  byoc_pointer_map_init(&l.homes, allocator);
  const char *name = byoc_attributes_string(&module->attributes, "model", l.main->name);
  byoc_status_t status = byoc_host_program_create(module, name, allocator, diag, &l.program);
  if (status == BYOC_OK) status = lower_main(&l);
  if (status == BYOC_OK) status = byoc_host_place_lifetimes(l.program, diag);
  if (status != BYOC_OK) goto cleanup;
  *out_program = l.program;
  l.program = NULL; // now the caller's
cleanup:
  byoc_host_program_destroy(l.program);
  byoc_map_deinit(&l.homes);
  byoc_map_deinit(&l.buffers);
  if (status != BYOC_OK) return byoc_diag_context(diag, status, "lowering to a host program");
  return BYOC_OK;
}

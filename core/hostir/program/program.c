// SPDX-License-Identifier: Apache-2.0
// Builds host programs: buffers, kernels, engines and symbols; core/hostir/program/edit.c makes instructions.
#include "core/hostir/program/program.h"

#include <string.h>

byoc_status_t byoc_host_program_create(const byoc_graph_module_t *module, const char *name, byoc_allocator_t allocator,
                                       byoc_diag_t *diag, byoc_host_program_t **out_program) {
  *out_program = NULL;
  byoc_host_program_t *program = byoc_allocate(allocator, 1, sizeof(*program));
  if (program == NULL) return byoc_diag_out_of_memory(diag);
  byoc_arena_init(&program->arena, allocator);
  program->module = module;
  byoc_string_map_init(&program->symbol_indices, allocator);
  byoc_string_map_init(&program->buffer_names, allocator);
  byoc_string_map_init(&program->kernel_names, allocator);
  byoc_string_map_init(&program->event_names, allocator);
  program->cpu_features = "";
  program->name = byoc_arena_copy_string(&program->arena, name);
  if (program->name == NULL) {
    byoc_host_program_destroy(program);
    return byoc_diag_out_of_memory(diag);
  }
  *out_program = program;
  return BYOC_OK;
}

bool byoc_host_dim_names(const byoc_host_program_t *program, byoc_arena_t *arena, byoc_dim_names_t *out_names) {
  if (!byoc_dim_names_init(out_names, program->module, arena)) return false;
  for (size_t i = 0; i < program->outputs.count; ++i) {
    byoc_dim_names_add(out_names, program->module, byoc_host_port_name(program->outputs.data[i]),
                       program->outputs.data[i]->type);
  }
  return true;
}

bool byoc_host_asks(const byoc_host_program_t *program, const char *symbol) {
  BYOC_HOST_FOR_EACH(i, program) {
    if (i->op == BYOC_HOST_PACKED && i->symbol != NULL && strcmp(i->symbol, symbol) == 0) return true;
  }
  return false;
}

void byoc_host_program_destroy(byoc_host_program_t *program) {
  if (program == NULL) return;
  byoc_allocator_t allocator = program->arena.allocator;
  BYOC_HOST_FOR_EACH(i, program) {
    byoc_vector_deinit(&i->operands, allocator);
    byoc_vector_deinit(&i->results, allocator);
    byoc_vector_deinit(&i->relations, allocator);
    byoc_vector_deinit(&i->waits, allocator);
    for (uint32_t r = 0; r < i->region_count; ++r) byoc_vector_deinit(&i->regions[r].parameters, allocator);
  }
  for (size_t i = 0; i < program->engines.count; ++i) {
    byoc_vector_deinit(&program->engines.data[i].functions, allocator);
  }
  byoc_vector_deinit(&program->engines, allocator);
  for (size_t i = 0; i < program->buffers.count; ++i) {
    byoc_vector_deinit(&program->buffers.data[i]->uses, allocator);
  }
  byoc_vector_deinit(&program->buffers, allocator);
  byoc_vector_deinit(&program->inputs, allocator);
  byoc_vector_deinit(&program->outputs, allocator);
  byoc_vector_deinit(&program->kernels, allocator);
  byoc_vector_deinit(&program->libraries, allocator);
  byoc_vector_deinit(&program->symbols, allocator);
  byoc_map_deinit(&program->symbol_indices);
  byoc_map_deinit(&program->buffer_names);
  byoc_map_deinit(&program->kernel_names);
  byoc_vector_deinit(&program->devices, allocator);
  byoc_vector_deinit(&program->memories, allocator);
  byoc_vector_deinit(&program->queues, allocator);
  byoc_vector_deinit(&program->events, allocator);
  byoc_map_deinit(&program->event_names);
  byoc_arena_deinit(&program->arena);
  byoc_free(allocator, program);
}

byoc_host_buffer_t *byoc_host_find_buffer(const byoc_host_program_t *program, const char *name) {
  return byoc_string_map_get(&program->buffer_names, name);
}

// "name", or name_<index>: the index is unique; a suffix that a model's own name has is skipped.
static const char *unique_name(byoc_host_program_t *program, const char *name) {
  if (byoc_host_find_buffer(program, name) == NULL) return byoc_arena_copy_string(&program->arena, name);
  for (size_t suffix = program->buffers.count;; ++suffix) {
    const char *candidate = byoc_arena_format(&program->arena, "%s_%zu", name, suffix);
    if (candidate == NULL || byoc_host_find_buffer(program, candidate) == NULL) return candidate;
  }
}

byoc_host_buffer_t *byoc_host_buffer_create(byoc_host_program_t *program, byoc_host_buffer_kind_t kind,
                                            const char *name, const byoc_type_t *type) {
  byoc_host_buffer_t *buffer = BYOC_ARENA_NEW(&program->arena, byoc_host_buffer_t);
  if (buffer == NULL) return NULL;
  buffer->name = unique_name(program, name);
  bool is_static = byoc_type_is_static(type);
  int64_t size_bytes = is_static ? byoc_type_size_bytes(type) : 0;
  if (buffer->name == NULL || size_bytes < 0) return NULL;
  buffer->index = (uint32_t)program->buffers.count;
  buffer->kind = kind;
  buffer->type = type;
  buffer->size_bytes = (uint64_t)size_bytes;
  buffer->is_value = !is_static;
  buffer->scope = BYOC_HOST_MAIN_SCOPE;
  buffer->offset_bytes = kind == BYOC_HOST_BUFFER_LOCAL ? BYOC_HOST_OFFSET_NONE : 0;
  if (!byoc_vector_reserve(&program->buffers, program->arena.allocator, 1) ||
      !byoc_string_map_put(&program->buffer_names, buffer->name, buffer)) {
    return NULL;
  }
  program->buffers.data[program->buffers.count++] = buffer;
  return buffer;
}

void byoc_host_view_set_offset(byoc_host_buffer_t *view, byoc_dim_t offset) {
  const bool moves = !byoc_dim_is_constant(offset);
  view->offset = moves ? offset : byoc_dim_constant(0);
  view->offset_bytes = moves ? 0 : (uint64_t)offset.constant;
}

bool byoc_host_view_flatten(byoc_host_program_t *program, byoc_host_buffer_t *view) {
  const byoc_host_buffer_t *base = view->base;
  bool failed = false;
  const byoc_dim_t sum = byoc_dim_binary(&program->arena, BYOC_DIM_ADD, byoc_host_buffer_place(view),
                                         byoc_host_buffer_place(base), &failed);
  if (failed) return false;
  byoc_host_view_set_offset(view, sum);
  view->base = base->base;
  return true;
}

// Does an input or output of the kind have this name?
static bool is_called(byoc_host_buffer_t *const *ports, size_t count, const char *name) {
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(byoc_host_port_name(ports[i]), name) == 0) return true;
  }
  return false;
}

byoc_host_buffer_t *byoc_host_port_create(byoc_host_program_t *program, byoc_host_buffer_kind_t kind, const char *name,
                                          const byoc_type_t *type) {
  const bool is_input = kind == BYOC_HOST_BUFFER_INPUT;
  byoc_host_buffer_t *buffer = byoc_host_buffer_create(program, kind, name, type);
  if (buffer == NULL) return NULL;
  if (strcmp(buffer->name, name) != 0) {
    const bool is_taken = is_input ? is_called(program->inputs.data, program->inputs.count, name)
                                   : is_called(program->outputs.data, program->outputs.count, name);
    if (!is_taken) buffer->called = byoc_arena_copy_string(&program->arena, name);
    if (!is_taken && buffer->called == NULL) return NULL;
  }
  const bool ok = is_input ? byoc_vector_push(&program->inputs, program->arena.allocator, buffer)
                           : byoc_vector_push(&program->outputs, program->arena.allocator, buffer);
  return ok ? buffer : NULL;
}

byoc_host_buffer_t *byoc_host_moving_view_create(byoc_host_program_t *program, byoc_host_buffer_t *base,
                                                 const char *name, const byoc_type_t *type, byoc_dim_t offset) {
  byoc_host_buffer_t *view = byoc_host_buffer_create(program, BYOC_HOST_BUFFER_VIEW, name, type);
  if (view == NULL) return NULL;
  view->base = base;
  byoc_host_view_follow(view);
  byoc_host_view_set_offset(view, offset);
  return base->kind != BYOC_HOST_BUFFER_VIEW || byoc_host_view_flatten(program, view) ? view : NULL;
}

byoc_host_buffer_t *byoc_host_view_create(byoc_host_program_t *program, byoc_host_buffer_t *base, const char *name,
                                          const byoc_type_t *type, uint64_t offset_bytes) {
  return byoc_host_moving_view_create(program, base, name, type, byoc_dim_constant((int64_t)offset_bytes));
}

byoc_host_instruction_t *byoc_host_instruction_following(const byoc_host_instruction_t *instruction) {
  for (uint32_t r = 0; r < instruction->region_count; ++r) {
    if (instruction->regions[r].first != NULL) return instruction->regions[r].first;
  }
  for (const byoc_host_instruction_t *at = instruction; at != NULL; at = at->region->owner) {
    if (at->next != NULL) return at->next;
    const byoc_host_instruction_t *owner = at->region->owner;
    for (uint32_t r = 0; owner != NULL && r + 1 < owner->region_count; ++r) {
      if (&owner->regions[r] == at->region && owner->regions[r + 1].first != NULL) return owner->regions[r + 1].first;
    }
  }
  return NULL;
}

const char *byoc_host_op_name(byoc_host_op_t op) {
  switch (op) {
#define BYOC_HOST_OP_CASE(NAME, text)                                                                                  \
  case BYOC_HOST_##NAME:                                                                                               \
    return text;
    BYOC_HOST_OP_LIST(BYOC_HOST_OP_CASE)
#undef BYOC_HOST_OP_CASE
  default:
    return "?";
  }
}

const char *byoc_host_instruction_name(const byoc_host_instruction_t *i) {
  if (i->op == BYOC_HOST_MATCH || i->op == BYOC_HOST_REQUIRE || i->op == BYOC_HOST_BIND) return "checking shapes";
  if (i->op == BYOC_HOST_ALLOCATE) { // named after the operator that is about to run
    while (i->op == BYOC_HOST_ALLOCATE && i->next != NULL) i = i->next;
  }
  if (i->origin != NULL && i->origin[0] != '\0') return i->origin;
  return i->symbol != NULL ? i->symbol : byoc_host_op_name(i->op);
}

const byoc_host_instruction_t *byoc_host_own_allocation(const byoc_host_buffer_t *buffer) {
  for (size_t k = 0; k < buffer->uses.count; ++k) {
    const byoc_host_instruction_t *i = buffer->uses.data[k].instruction;
    if (i->op == BYOC_HOST_ALLOCATE && i->allocation != BYOC_HOST_FRESH) return i;
  }
  return NULL;
}

size_t byoc_host_loop_dim_count(const byoc_host_instruction_t *loop) {
  if (loop->count != NULL) return 0;
  size_t carried = loop->operands.count > 2 ? loop->operands.count - 2 : 0, count = 0;
  for (size_t k = carried; k < loop->results.count; ++k) {
    const byoc_type_t *type = loop->results.data[k]->type;
    if (byoc_type_is_tensor(type) && type->rank > 0) count += (size_t)type->rank - 1;
  }
  return count;
}

size_t byoc_host_store_count(const byoc_host_instruction_t *store) {
  const int64_t count = store->results.count > 0 ? byoc_type_element_count(store->results.data[0]->type) : 0;
  return count > 0 ? (size_t)count : 0;
}

const byoc_loop_kernel_t *byoc_host_find_kernel(const byoc_host_program_t *program, const char *name) {
  return byoc_string_map_get(&program->kernel_names, name);
}

byoc_status_t byoc_host_program_add_kernel(byoc_host_program_t *program, const byoc_loop_kernel_t *kernel,
                                           byoc_diag_t *diag) {
  const byoc_loop_kernel_t *known = byoc_host_find_kernel(program, kernel->name);
  if (known == kernel) return BYOC_OK;
  if (known != NULL) {
    return byoc_diag_error(diag, BYOC_ALREADY_EXISTS, "host program '%s' has another kernel '%s' already",
                           program->name, kernel->name);
  }
  if (!byoc_vector_reserve(&program->kernels, program->arena.allocator, 1) ||
      !byoc_string_map_put(&program->kernel_names, kernel->name, (void *)(uintptr_t)kernel)) {
    return byoc_diag_out_of_memory(diag);
  }
  program->kernels.data[program->kernels.count++] = kernel;
  return BYOC_OK;
}

static byoc_host_engine_t *list_engine(byoc_host_program_t *program, const byoc_runtime_module_t *engine) {
  for (size_t k = 0; k < program->engines.count; ++k) {
    if (program->engines.data[k].engine == engine) return &program->engines.data[k];
  }
  const byoc_host_engine_t entry = {.engine = engine};
  return byoc_vector_push(&program->engines, program->arena.allocator, entry)
             ? &program->engines.data[program->engines.count - 1]
             : NULL;
}

byoc_status_t byoc_host_instruction_set_engine(byoc_host_program_t *program, byoc_host_instruction_t *instruction,
                                               const byoc_runtime_module_t *engine, const byoc_runtime_module_t *json,
                                               byoc_diag_t *diag) {
  byoc_host_engine_t *listed = list_engine(program, engine);
  if (listed == NULL) return byoc_diag_out_of_memory(diag);
  uint32_t index = 0;
  while (index < listed->functions.count && listed->functions.data[index] != json) ++index;
  if (index == listed->functions.count && !byoc_vector_push(&listed->functions, program->arena.allocator, json)) {
    return byoc_diag_out_of_memory(diag);
  }
  instruction->json = json;
  instruction->engine = engine;
  instruction->engine_function = index; // a function that is called several times keeps its index
  return BYOC_OK;
}

byoc_status_t byoc_host_program_collect_libraries(byoc_host_program_t *program, byoc_diag_t *diag) {
  for (size_t k = 0; k < program->module->runtime_modules.count; ++k) {
    const byoc_runtime_module_t *m = program->module->runtime_modules.data[k];
    if (m->kind != BYOC_RUNTIME_MODULE_C_SOURCE && m->kind != BYOC_RUNTIME_MODULE_STATIC_LIBRARY) continue;
    if (!byoc_vector_push(&program->libraries, program->arena.allocator, m)) return byoc_diag_out_of_memory(diag);
  }
  return BYOC_OK;
}

uint32_t byoc_host_symbol(byoc_host_program_t *program, const char *name) {
  uintptr_t known = (uintptr_t)byoc_string_map_get(&program->symbol_indices, name);
  if (known != 0) return (uint32_t)(known - 1);
  const char *copy = byoc_arena_copy_string(&program->arena, name);
  uint32_t index = (uint32_t)program->symbols.count;
  if (copy == NULL || !byoc_vector_push(&program->symbols, program->arena.allocator, copy) ||
      !byoc_string_map_put(&program->symbol_indices, name, (void *)((uintptr_t)index + 1))) {
    return BYOC_HOST_SYMBOL_NONE;
  }
  return index;
}

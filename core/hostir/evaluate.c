#include "core/hostir/evaluate.h"

#include <string.h>

#include "core/hostir/c_interface.h"
#include "core/kernel/interpret.h"

// What is prepared for one instruction.
typedef struct step_t {
  const byoc_host_instruction_t *instruction;
  DLTensor *tensors; // operands, then results; data filled in before each call
  byoc_call_t call;
  byoc_interpreter_t *interpreter; // KERNEL
  byoc_packed_function_t packed;   // PACKED
  void *engine_instance;           // ENGINE
  const byoc_engine_t *engine;     // ENGINE
  byoc_c_interface_t *c_interface; // C_CALL
} step_t;

struct byoc_evaluator_t {
  byoc_allocator_t allocator;
  byoc_arena_t arena;
  const byoc_host_program_t *program;
  byoc_runtime_t runtime;
  char error[512];
  uint8_t *workspace, *workspace_memory;
  uint8_t **addresses; // by buffer index
  step_t *steps;
  size_t step_count;
  void **engine_instances; // parallel to program->engines
};

// ---- the runtime table ----

// The evaluator is for answers, not for speed: a parallel loop runs here, in order.
static void run_serially(void *self, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain) {
  (void)self, (void)grain;
  if (count > 0) body(argument, 0, count, 0);
}

static void drop_error(void *self, const char *message) {
  (void)self, (void)message;
}

byoc_runtime_t byoc_serial_runtime(int32_t thread_count) {
  return (byoc_runtime_t){.struct_size = sizeof(byoc_runtime_t),
                          .thread_count = thread_count > 0 ? thread_count : 1,
                          .parallel_for = run_serially,
                          .set_error = drop_error};
}

static void keep_error(void *self, const char *message) {
  byoc_evaluator_t *evaluator = self;
  size_t size = strnlen(message, sizeof(evaluator->error) - 1);
  memcpy(evaluator->error, message, size);
  evaluator->error[size] = '\0';
}

static byoc_status_t failed(byoc_evaluator_t *evaluator, byoc_status_t status, const char *what, const char *symbol,
                            byoc_diag_t *diag) {
  const char *reason = evaluator->error[0] ? evaluator->error : "no reason was given";
  return byoc_diag_error(diag, status, "%s '%s': %s: %s", what, symbol, byoc_status_name(status), reason);
}

// ---- preparing ----

static byoc_status_t fill_tensor(byoc_evaluator_t *evaluator, const byoc_type_t *type, const void *data,
                                 DLTensor *out_tensor, byoc_diag_t *diag) {
  int64_t *shape = BYOC_ARENA_ARRAY(&evaluator->arena, int64_t, (size_t)type->rank);
  if (shape == NULL) return byoc_diag_out_of_memory(diag);
  for (int32_t d = 0; d < type->rank; ++d) shape[d] = type->dims[d].constant;
  *out_tensor = (DLTensor){
      .data = (void *)(uintptr_t)data,
      .device = {.device_type = kDLCPU, .device_id = 0},
      .ndim = type->rank,
      .dtype = {.code = byoc_dtype_dlpack_code(type->dtype), .bits = (uint8_t)byoc_dtype_bits(type->dtype), .lanes = 1},
      .shape = shape};
  return BYOC_OK;
}

static byoc_status_t create_engine(byoc_evaluator_t *evaluator, const byoc_host_engine_t *entry, void **out_instance,
                                   byoc_diag_t *diag) {
  const byoc_engine_t *engine = entry->engine->in_process;
  if (engine == NULL) {
    return byoc_diag_error(diag, BYOC_UNSUPPORTED, "engine '%s' cannot run in the compiler's process",
                           entry->engine->name);
  }
  byoc_engine_function_t *functions =
      BYOC_ARENA_ARRAY(&evaluator->arena, byoc_engine_function_t, entry->functions.count);
  byoc_engine_blob_t *blobs = BYOC_ARENA_ARRAY(&evaluator->arena, byoc_engine_blob_t, entry->engine->blobs.count);
  if (functions == NULL || blobs == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t f = 0; f < entry->functions.count; ++f) {
    const byoc_runtime_module_t *json = entry->functions.data[f];
    DLTensor *constants = BYOC_ARENA_ARRAY(&evaluator->arena, DLTensor, json->constants.count);
    if (constants == NULL) return byoc_diag_out_of_memory(diag);
    for (size_t c = 0; c < json->constants.count; ++c) {
      const byoc_bound_constant_t *constant = &json->constants.data[c];
      BYOC_RETURN_IF_ERROR(fill_tensor(evaluator, constant->type, constant->data, &constants[c], diag));
    }
    functions[f] = (byoc_engine_function_t){.symbol = json->function_name,
                                            .json = json->json,
                                            .json_size = strlen(json->json),
                                            .constants = constants,
                                            .constant_count = (uint32_t)json->constants.count};
  }
  for (size_t b = 0; b < entry->engine->blobs.count; ++b) {
    const byoc_file_bytes_t *blob = &entry->engine->blobs.data[b];
    blobs[b] = (byoc_engine_blob_t){.name = blob->name, .data = blob->data, .size_bytes = blob->size_bytes};
  }
  byoc_engine_init_t *init = BYOC_ARENA_NEW(&evaluator->arena, byoc_engine_init_t);
  if (init == NULL) return byoc_diag_out_of_memory(diag);
  *init = (byoc_engine_init_t){.struct_size = sizeof(*init),
                               .function_count = (uint32_t)entry->functions.count,
                               .functions = functions,
                               .blobs = blobs,
                               .blob_count = (uint32_t)entry->engine->blobs.count,
                               .runtime = &evaluator->runtime};
  byoc_status_t status = engine->create(init, out_instance);
  return status == BYOC_OK ? BYOC_OK : failed(evaluator, status, "setting up engine", entry->engine->name, diag);
}

static byoc_status_t prepare_call(byoc_evaluator_t *evaluator, step_t *step, byoc_diag_t *diag) {
  const byoc_host_instruction_t *i = step->instruction;
  step->tensors = BYOC_ARENA_ARRAY(&evaluator->arena, DLTensor, i->operands.count + i->results.count);
  if (step->tensors == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t k = 0; k < i->operands.count; ++k) {
    BYOC_RETURN_IF_ERROR(fill_tensor(evaluator, i->operands.data[k]->type, NULL, &step->tensors[k], diag));
  }
  for (size_t k = 0; k < i->results.count; ++k) {
    DLTensor *tensor = &step->tensors[i->operands.count + k];
    BYOC_RETURN_IF_ERROR(fill_tensor(evaluator, i->results.data[k]->type, NULL, tensor, diag));
  }
  step->call = (byoc_call_t){.struct_size = sizeof(step->call),
                             .input_count = (uint32_t)i->operands.count,
                             .output_count = (uint32_t)i->results.count,
                             .tensors = step->tensors,
                             .runtime = &evaluator->runtime};
  if (i->workspace != NULL) {
    step->call.workspace = evaluator->workspace + i->workspace->offset_bytes;
    step->call.workspace_size_bytes = i->workspace->size_bytes;
  }
  return BYOC_OK;
}

static byoc_status_t prepare_step(byoc_evaluator_t *evaluator, step_t *step, const byoc_symbol_resolver_t *resolver,
                                  byoc_diag_t *diag) {
  const byoc_host_instruction_t *i = step->instruction;
  void *address = NULL;
  switch (i->op) {
  case BYOC_HOST_KERNEL:
    BYOC_RETURN_IF_ERROR(byoc_interpreter_create(i->kernel, evaluator->allocator, diag, &step->interpreter));
    return prepare_call(evaluator, step, diag);
  case BYOC_HOST_PACKED:
    BYOC_RETURN_IF_ERROR(resolver->resolve(resolver->self, i->symbol, diag, &address));
    memcpy(&step->packed, &address, sizeof(address)); // ISO C has no cast from object to function pointer
    return prepare_call(evaluator, step, diag);
  case BYOC_HOST_ENGINE:
    for (size_t k = 0; k < evaluator->program->engines.count; ++k) {
      if (evaluator->program->engines.data[k].engine == i->engine)
        step->engine_instance = evaluator->engine_instances[k];
    }
    step->engine = i->engine->in_process;
    return prepare_call(evaluator, step, diag);
  case BYOC_HOST_C_CALL:
    BYOC_RETURN_IF_ERROR(resolver->resolve(resolver->self, i->symbol, diag, &address));
    return byoc_c_interface_create(i->c_call, address, evaluator->allocator, diag, &step->c_interface);
  default:
    return BYOC_OK;
  }
}

static byoc_status_t prepare(byoc_evaluator_t *evaluator, const byoc_symbol_resolver_t *resolver, byoc_diag_t *diag) {
  const byoc_host_program_t *program = evaluator->program;
  evaluator->workspace_memory =
      byoc_allocate(evaluator->allocator, program->workspace_size_bytes + BYOC_BUFFER_ALIGNMENT, 1);
  evaluator->addresses = byoc_allocate(evaluator->allocator, program->buffers.count, sizeof(uint8_t *));
  evaluator->steps = byoc_allocate(evaluator->allocator, program->instruction_count, sizeof(step_t));
  evaluator->engine_instances = byoc_allocate(evaluator->allocator, program->engines.count, sizeof(void *));
  if (evaluator->workspace_memory == NULL || evaluator->addresses == NULL || evaluator->steps == NULL ||
      evaluator->engine_instances == NULL) {
    return byoc_diag_out_of_memory(diag);
  }
  uintptr_t aligned =
      ((uintptr_t)evaluator->workspace_memory + BYOC_BUFFER_ALIGNMENT - 1) & ~(uintptr_t)(BYOC_BUFFER_ALIGNMENT - 1);
  evaluator->workspace = (uint8_t *)aligned;
  for (size_t k = 0; k < program->engines.count; ++k) {
    BYOC_RETURN_IF_ERROR(create_engine(evaluator, &program->engines.data[k], &evaluator->engine_instances[k], diag));
  }
  for (const byoc_host_instruction_t *i = program->first; i != NULL; i = i->next) {
    step_t *step = &evaluator->steps[evaluator->step_count++];
    step->instruction = i;
    BYOC_RETURN_IF_ERROR_IN(diag, prepare_step(evaluator, step, resolver, diag), "%s %s", byoc_host_op_name(i->op),
                            i->symbol ? i->symbol : "");
  }
  return BYOC_OK;
}

byoc_status_t byoc_evaluator_create(const byoc_host_program_t *program, const byoc_symbol_resolver_t *resolver,
                                    int32_t thread_count, byoc_allocator_t allocator, byoc_diag_t *diag,
                                    byoc_evaluator_t **out_evaluator) {
  *out_evaluator = NULL;
  byoc_evaluator_t *evaluator = byoc_allocate(allocator, 1, sizeof(*evaluator));
  if (evaluator == NULL) return byoc_diag_out_of_memory(diag);
  evaluator->allocator = allocator;
  evaluator->program = program;
  byoc_arena_init(&evaluator->arena, allocator);
  evaluator->runtime = byoc_serial_runtime(thread_count);
  evaluator->runtime.self = evaluator;
  evaluator->runtime.set_error = keep_error;
  byoc_status_t status = prepare(evaluator, resolver, diag);
  if (status != BYOC_OK) {
    byoc_evaluator_destroy(evaluator);
    return byoc_diag_context(diag, status, "preparing the evaluator");
  }
  *out_evaluator = evaluator;
  return BYOC_OK;
}

void byoc_evaluator_destroy(byoc_evaluator_t *evaluator) {
  if (evaluator == NULL) return;
  for (size_t k = 0; k < evaluator->step_count; ++k) {
    byoc_interpreter_destroy(evaluator->steps[k].interpreter);
    byoc_c_interface_destroy(evaluator->steps[k].c_interface);
  }
  for (size_t k = 0; evaluator->engine_instances && k < evaluator->program->engines.count; ++k) {
    const byoc_engine_t *engine = evaluator->program->engines.data[k].engine->in_process;
    if (engine != NULL) engine->destroy(evaluator->engine_instances[k]);
  }
  byoc_free(evaluator->allocator, evaluator->engine_instances);
  byoc_free(evaluator->allocator, evaluator->steps);
  byoc_free(evaluator->allocator, evaluator->addresses);
  byoc_free(evaluator->allocator, evaluator->workspace_memory);
  byoc_arena_deinit(&evaluator->arena);
  byoc_free(evaluator->allocator, evaluator);
}

// ---- running ----

static void place_buffers(byoc_evaluator_t *evaluator, const void *const *inputs, void *const *outputs) {
  const byoc_host_program_t *program = evaluator->program;
  for (size_t k = 0; k < program->inputs.count; ++k) {
    evaluator->addresses[program->inputs.data[k]->index] = (uint8_t *)(uintptr_t)inputs[k];
  }
  for (size_t k = 0; k < program->outputs.count; ++k) {
    evaluator->addresses[program->outputs.data[k]->index] = outputs[k];
  }
  for (size_t k = 0; k < program->buffers.count; ++k) {
    const byoc_host_buffer_t *buffer = program->buffers.data[k];
    if (buffer->kind == BYOC_HOST_BUFFER_CONSTANT) evaluator->addresses[k] = (uint8_t *)(uintptr_t)buffer->data;
    if (buffer->kind == BYOC_HOST_BUFFER_LOCAL && buffer->offset_bytes != BYOC_HOST_OFFSET_NONE) {
      evaluator->addresses[k] = evaluator->workspace + buffer->offset_bytes;
    }
  }
  for (size_t k = 0; k < program->buffers.count; ++k) {
    const byoc_host_buffer_t *buffer = program->buffers.data[k];
    if (buffer->kind != BYOC_HOST_BUFFER_VIEW || evaluator->addresses[buffer->base->index] == NULL) continue;
    evaluator->addresses[k] = evaluator->addresses[buffer->base->index] + buffer->offset_bytes;
  }
}

static byoc_status_t run_step(byoc_evaluator_t *evaluator, step_t *step, byoc_diag_t *diag) {
  const byoc_host_instruction_t *i = step->instruction;
  if (step->tensors != NULL) {
    for (size_t k = 0; k < i->operands.count; ++k) {
      step->tensors[k].data = evaluator->addresses[i->operands.data[k]->index];
    }
    for (size_t k = 0; k < i->results.count; ++k) {
      step->tensors[i->operands.count + k].data = evaluator->addresses[i->results.data[k]->index];
    }
  }
  evaluator->error[0] = '\0';
  byoc_status_t status = BYOC_OK;
  switch (i->op) {
  case BYOC_HOST_KERNEL:
    status = byoc_interpreter_run(step->interpreter, &step->call);
    break;
  case BYOC_HOST_PACKED:
    status = step->packed(&step->call);
    break;
  case BYOC_HOST_ENGINE:
    status = step->engine->run(step->engine_instance, i->engine_function, &step->call);
    break;
  case BYOC_HOST_C_CALL:
    status = byoc_c_interface_call(step->c_interface, evaluator->addresses, i);
    break;
  case BYOC_HOST_COPY:
    memcpy(evaluator->addresses[i->results.data[0]->index], evaluator->addresses[i->operands.data[0]->index],
           i->operands.data[0]->size_bytes);
    break;
  default: // the plan has placed allocate and free
    break;
  }
  return status == BYOC_OK ? BYOC_OK
                           : failed(evaluator, status, byoc_host_op_name(i->op), i->symbol ? i->symbol : "", diag);
}

byoc_status_t byoc_evaluator_run(byoc_evaluator_t *evaluator, const void *const *inputs, void *const *outputs,
                                 byoc_diag_t *diag) {
  place_buffers(evaluator, inputs, outputs);
  for (size_t k = 0; k < evaluator->step_count; ++k) {
    BYOC_RETURN_IF_ERROR_IN(diag, run_step(evaluator, &evaluator->steps[k], diag), "evaluating '%s'",
                            evaluator->program->name);
  }
  return BYOC_OK;
}

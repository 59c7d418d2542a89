// SPDX-License-Identifier: Apache-2.0
// Prepares the evaluator for a host program.
#include "core/hostir/evaluate/evaluate.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"
#include "core/hostir/evaluate/evaluate_internal.h"
#include "core/module/runtime_options.h"
#include "core/runtime/check.h"
#include "core/runtime/cpu_check.h"
#include "core/runtime/fit.h"
#include "core/runtime/text.h"

// ---- the runtime table ----

// The evaluator is made for correct answers, not for speed: a parallel loop runs on this thread, in order.
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

static void *allocate_text(void *self, uint64_t size_bytes) {
  byoc_evaluator_t *evaluator = self;
  return byoc_frame_scratch(&evaluator->frame, size_bytes);
}

static uint32_t wanted(void *self) {
  return byoc_reporter_wanted(&((byoc_evaluator_t *)self)->reporter);
}

// A function that fails with this status has its reason.
static int32_t tell(byoc_evaluator_t *evaluator, int32_t status) {
  if (status != BYOC_OK) keep_error(evaluator, evaluator->reporter.reason);
  return status;
}

static int32_t report_step(void *self, const char *name, uint64_t duration_ns) {
  byoc_evaluator_t *evaluator = self;
  return tell(evaluator, byoc_reporter_step(&evaluator->reporter, name, duration_ns));
}

static int32_t report_counter(void *self, const char *name, const char *unit, double value) {
  byoc_evaluator_t *evaluator = self;
  return tell(evaluator, byoc_reporter_counter(&evaluator->reporter, name, unit, value));
}

static int32_t report_tensor(void *self, const char *name, const DLTensor *tensor) {
  byoc_evaluator_t *evaluator = self;
  return tell(evaluator, byoc_reporter_tensor(&evaluator->reporter, name, tensor));
}

static int32_t is_ending(void *self) {
  return byoc_stop_status(&((byoc_evaluator_t *)self)->stop) != BYOC_OK;
}

byoc_status_t byoc_evaluator_failed(byoc_evaluator_t *evaluator, byoc_status_t status, const char *what,
                                    byoc_diag_t *diag) {
  byoc_stop_t *stop = &evaluator->stop;
  const bool was_ended = (status == BYOC_CANCELLED || status == BYOC_TIMED_OUT) && byoc_stop_status(stop) != BYOC_OK;
  if (was_ended) {
    status = byoc_stop_status(stop);
    byoc_stop_explain(stop, status, evaluator->error, sizeof(evaluator->error));
    byoc_collectives_abandon(&evaluator->collectives);
  }
  char unexplained[64];
  (void)snprintf(unexplained, sizeof unexplained, "it failed without a reason (%s)", byoc_status_name(status));
  const char *reason = evaluator->error[0] != '\0' ? evaluator->error : unexplained;
  return byoc_diag_error(diag, status, "%s%s%s", what != NULL ? what : "", what != NULL ? ": " : "", reason);
}

// ---- preparing ----

static byoc_status_t fill_tensor(byoc_evaluator_t *evaluator, const byoc_type_t *type, const void *data,
                                 DLTensor *out_tensor, byoc_diag_t *diag) {
  int64_t *shape = BYOC_ARENA_ARRAY(&evaluator->arena, int64_t, (size_t)type->rank);
  if (shape == NULL) return byoc_diag_out_of_memory(diag);
  for (int32_t d = 0; d < type->rank; ++d) shape[d] = type->dims[d].constant; // for cells: set before each call
  *out_tensor = (DLTensor){
      .data = (void *)(uintptr_t)data,
      .device = {.device_type = kDLCPU, .device_id = 0},
      .ndim = type->rank,
      .dtype = {.code = byoc_dtype_dlpack_code(type->dtype), .bits = (uint8_t)byoc_dtype_bits(type->dtype), .lanes = 1},
      .shape = shape};
  return BYOC_OK;
}

// The values of an engine's run-time options.
static byoc_status_t set_options(byoc_evaluator_t *evaluator, size_t index, byoc_engine_init_t *init,
                                 byoc_diag_t *diag) {
  byoc_runtime_schema_t schema;
  const byoc_runtime_module_t *engine = evaluator->program->engines.data[index].engine;
  BYOC_RETURN_IF_ERROR(byoc_runtime_module_read_options(engine, &evaluator->arena, diag, &schema));
  schema.owner = engine->name;
  evaluator->engine_options[index] = byoc_runtime_options_make(&schema, evaluator->values);
  if (evaluator->engine_options[index] == NULL) return byoc_diag_out_of_memory(diag);
  init->options = evaluator->engine_options[index];
  init->option_count = schema.count;
  return BYOC_OK;
}

static byoc_status_t create_engine(byoc_evaluator_t *evaluator, size_t index, byoc_diag_t *diag) {
  const byoc_host_engine_t *entry = &evaluator->program->engines.data[index];
  void **out_instance = &evaluator->engine_instances[index];
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
  BYOC_RETURN_IF_ERROR(set_options(evaluator, index, init, diag));
  const char **fits = BYOC_ARENA_ARRAY(&evaluator->arena, const char *, entry->functions.count + 1);
  if (fits == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t f = 0; f < entry->functions.count; ++f) fits[f] = entry->functions.data[f]->fits;
  fits[entry->functions.count] = entry->engine->fits;
  const char *whose = NULL, *statement = NULL;
  byoc_status_t status = byoc_engine_check_fits(engine, init, fits, &whose, &statement);
  if (status != BYOC_OK) {
    char text[1024];
    byoc_engine_explain_misfit(entry->engine->name, whose, statement, evaluator->error, text, sizeof(text));
    return byoc_diag_error(diag, status, "%s", text);
  }
  status = engine->create(init, out_instance);
  if (status == BYOC_OK) return BYOC_OK;
  *out_instance = NULL;
  const char *what = byoc_arena_format(&evaluator->arena, "the engine '%s' cannot start", entry->engine->name);
  return byoc_evaluator_failed(evaluator, status, what, diag);
}

// As in artifacts: are the caller's run-time options those of an engine or a device?
static byoc_status_t check_options(byoc_evaluator_t *evaluator, byoc_diag_t *diag) {
  const byoc_host_program_t *program = evaluator->program;
  if (evaluator->values.count == 0) return BYOC_OK;
  byoc_host_device_tables_t *places = NULL;
  BYOC_RETURN_IF_ERROR(byoc_host_device_tables_create(program, &evaluator->arena, diag, &places));
  const size_t engines = program->engines.count, devices = places->device_rows.count;
  byoc_runtime_schema_t *schemas = BYOC_ARENA_ARRAY(&evaluator->arena, byoc_runtime_schema_t, engines + devices + 1);
  if (schemas == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t i = 0; i < engines; ++i) {
    const byoc_runtime_module_t *engine = program->engines.data[i].engine;
    BYOC_RETURN_IF_ERROR(byoc_runtime_module_read_options(engine, &evaluator->arena, diag, &schemas[i]));
    schemas[i].owner = engine->name;
  }
  for (size_t i = 0; i < devices; ++i) {
    const byoc_device_row_t *row = &places->device_rows.data[i];
    schemas[engines + i] = (byoc_runtime_schema_t){row->name, row->options, row->option_count};
  }
  char message[1000];
  const int32_t status =
      byoc_runtime_options_check(schemas, (uint32_t)(engines + devices), evaluator->values, message, sizeof(message));
  return status == BYOC_OK ? BYOC_OK : byoc_diag_error(diag, status, "%s", message);
}

// As in artifacts (core/runtime/context.c): if one cannot start, the plan without engines runs, if there is one.
static byoc_status_t create_engines(byoc_evaluator_t *evaluator, byoc_diag_t *diag) {
  const byoc_host_program_t *program = evaluator->program;
  byoc_diag_t reason = {0};
  byoc_status_t status = BYOC_OK;
  for (size_t k = 0; k < program->engines.count && status == BYOC_OK; ++k) {
    status = create_engine(evaluator, k, &reason);
  }
  evaluator->runtime.has_engines = status == BYOC_OK;
  if (status == BYOC_OK) return BYOC_OK;
  if (!byoc_host_asks(program, BYOC_CHECK_ENGINES)) return byoc_diag_adopt(diag, &reason);
  byoc_log(BYOC_LOG_WARNING, "%s; the plan without engines runs", reason.message);
  evaluator->error[0] = '\0';
  return BYOC_OK;
}

static byoc_status_t prepare_call(byoc_evaluator_t *evaluator, byoc_step_t *step, byoc_diag_t *diag) {
  const byoc_host_instruction_t *i = step->instruction;
  size_t symbols = i->kernel != NULL ? i->kernel->symbols.count : 0, inputs = i->operands.count + (symbols > 0);
  step->tensors = BYOC_ARENA_ARRAY(&evaluator->arena, DLTensor, inputs + i->results.count);
  step->symbols = BYOC_ARENA_ARRAY(&evaluator->arena, int64_t, symbols);
  if (step->tensors == NULL || step->symbols == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t k = 0; k < i->operands.count; ++k) {
    BYOC_RETURN_IF_ERROR(fill_tensor(evaluator, i->operands.data[k]->type, NULL, &step->tensors[k], diag));
  }
  if (symbols > 0) {
    const byoc_type_t *type =
        byoc_type_tensor_static(&evaluator->arena, BYOC_DTYPE_I64, 1, &(int64_t){(int64_t)symbols});
    if (type == NULL) return byoc_diag_out_of_memory(diag);
    BYOC_RETURN_IF_ERROR(fill_tensor(evaluator, type, step->symbols, &step->tensors[i->operands.count], diag));
  }
  for (size_t k = 0; k < i->results.count; ++k) {
    BYOC_RETURN_IF_ERROR(fill_tensor(evaluator, i->results.data[k]->type, NULL, &step->tensors[inputs + k], diag));
  }
  step->call = (byoc_call_t){.struct_size = sizeof(step->call),
                             .input_count = (uint32_t)inputs,
                             .output_count = (uint32_t)i->results.count,
                             .tensors = step->tensors,
                             .runtime = &evaluator->runtime};
  if (i->workspace != NULL) {
    step->call.workspace = evaluator->workspace + i->workspace->offset_bytes;
    step->call.workspace_size_bytes = i->workspace->size_bytes;
  }
  return BYOC_OK;
}

static byoc_container_function_t find_container(const char *op) {
#define BYOC_CONTAINER_TEST(name, function)                                                                            \
  if (strcmp(op, name) == 0) return function;
  BYOC_CONTAINER_LIST(BYOC_CONTAINER_TEST)
#undef BYOC_CONTAINER_TEST
  return NULL;
}

// Prepares the cells that an instruction reads. A yield also writes cells: those of a branch's results, or those of the
// parameters of a loop's next iteration, from its condition on.
static byoc_status_t prepare_cells(byoc_evaluator_t *evaluator, byoc_step_t *step, byoc_diag_t *diag) {
  const byoc_host_instruction_t *i = step->instruction, *owner = i->region->owner;
  step->sources = BYOC_ARENA_ARRAY(&evaluator->arena, uint32_t, i->operands.count);
  step->targets = BYOC_ARENA_ARRAY(&evaluator->arena, uint32_t, i->operands.count + 1);
  if (step->sources == NULL || step->targets == NULL) return byoc_diag_out_of_memory(diag);
  for (size_t k = 0; k < i->operands.count; ++k) {
    step->sources[k] = i->operands.data[k] != NULL ? i->operands.data[k]->index : BYOC_CELL_NONE;
  }
  if (i->op == BYOC_HOST_CONTAINER) {
    step->container = find_container(i->symbol);
    return BYOC_OK;
  }
  bool is_loop = owner->op == BYOC_HOST_LOOP;
  const size_t first = is_loop && owner->count == NULL ? 1 : 0;
  size_t count = is_loop ? i->region->parameters.count - first : owner->results.count;
  for (size_t k = 0; k < count; ++k) {
    step->targets[k] = is_loop ? i->region->parameters.data[k + first]->index : owner->results.data[k]->index;
  }
  return BYOC_OK;
}

static byoc_status_t prepare_steps(byoc_evaluator_t *evaluator, const byoc_host_region_t *region,
                                   const byoc_symbol_resolver_t *resolver, byoc_steps_t *steps, byoc_diag_t *diag);

static byoc_status_t prepare_regions(byoc_evaluator_t *evaluator, byoc_step_t *step,
                                     const byoc_symbol_resolver_t *resolver, byoc_diag_t *diag) {
  const byoc_host_instruction_t *i = step->instruction;
  step->regions = BYOC_ARENA_ARRAY(&evaluator->arena, byoc_steps_t, i->region_count);
  if (step->regions == NULL) return byoc_diag_out_of_memory(diag);
  for (uint32_t r = 0; r < i->region_count; ++r) {
    BYOC_RETURN_IF_ERROR(prepare_steps(evaluator, &i->regions[r], resolver, &step->regions[r], diag));
  }
  return BYOC_OK;
}

static byoc_status_t prepare_step(byoc_evaluator_t *evaluator, byoc_step_t *step,
                                  const byoc_symbol_resolver_t *resolver, byoc_diag_t *diag) {
  const byoc_host_instruction_t *i = step->instruction;
  void *address = NULL;
  switch (i->op) {
  case BYOC_HOST_KERNEL:
    BYOC_RETURN_IF_ERROR(byoc_interpreter_create(i->kernel, evaluator->allocator, diag, &step->interpreter));
    return prepare_call(evaluator, step, diag);
  case BYOC_HOST_PACKED:
    step->packed = byoc_text_find(i->symbol); // the evaluator uses the artifact's own functions
    if (step->packed == NULL) step->packed = byoc_check_find(i->symbol);
    if (step->packed != NULL) return prepare_call(evaluator, step, diag);
    step->is_watched = true;
    BYOC_RETURN_IF_ERROR(resolver->resolve(resolver->self, i->symbol, diag, &address));
    memcpy(&step->packed, &address, sizeof(address)); // ISO C has no cast from object to function pointer
    return prepare_call(evaluator, step, diag);
  case BYOC_HOST_ENGINE:
    for (size_t k = 0; k < evaluator->program->engines.count; ++k) {
      if (evaluator->program->engines.data[k].engine == i->engine)
        step->engine_instance = evaluator->engine_instances[k];
    }
    step->engine = i->engine->in_process;
    step->is_watched = true;
    return prepare_call(evaluator, step, diag);
  case BYOC_HOST_C_CALL:
    BYOC_RETURN_IF_ERROR(resolver->resolve(resolver->self, i->symbol, diag, &address));
    BYOC_RETURN_IF_ERROR(byoc_c_interface_create(i->c_call, address, evaluator->allocator, diag, &step->c_interface));
    step->is_watched = true;
    return prepare_call(evaluator, step, diag);
  case BYOC_HOST_COLLECTIVE:
    return prepare_call(evaluator, step, diag);
  case BYOC_HOST_CONTAINER:
  case BYOC_HOST_YIELD:
    return prepare_cells(evaluator, step, diag);
  case BYOC_HOST_BRANCH:
  case BYOC_HOST_LOOP:
    return prepare_regions(evaluator, step, resolver, diag);
  default:
    return BYOC_OK;
  }
}

static byoc_status_t prepare_steps(byoc_evaluator_t *evaluator, const byoc_host_region_t *region,
                                   const byoc_symbol_resolver_t *resolver, byoc_steps_t *steps, byoc_diag_t *diag) {
  size_t count = 0;
  for (const byoc_host_instruction_t *i = region->first; i != NULL; i = i->next) ++count;
  steps->steps = BYOC_ARENA_ARRAY(&evaluator->arena, byoc_step_t, count);
  if (steps->steps == NULL) return byoc_diag_out_of_memory(diag);
  for (const byoc_host_instruction_t *i = region->first; i != NULL; i = i->next) {
    byoc_step_t *step = &steps->steps[steps->count++];
    step->instruction = i;
    step->command = byoc_host_device_tables_command(evaluator->device_tables, i);
    BYOC_RETURN_IF_ERROR_IN(diag, prepare_step(evaluator, step, resolver, diag), "%s %s", byoc_host_op_name(i->op),
                            i->symbol ? i->symbol : "");
  }
  return BYOC_OK;
}

// Makes cells for constants that are also values; they live as long as the evaluator.
static byoc_status_t prepare_frame(byoc_evaluator_t *evaluator, byoc_diag_t *diag) {
  const byoc_host_program_t *program = evaluator->program;
  byoc_frame_t *frame = &evaluator->frame;
  uint32_t cells = program->is_dynamic ? (uint32_t)program->buffers.count : 0;
  if (byoc_frame_init(frame, &evaluator->runtime, cells, (uint32_t)program->symbols.count) != BYOC_OK) {
    return byoc_diag_out_of_memory(diag);
  }
  for (uint32_t k = 0; k < cells; ++k) {
    const byoc_host_buffer_t *buffer = program->buffers.data[k];
    if (buffer->kind != BYOC_HOST_BUFFER_CONSTANT || !buffer->is_value) continue;
    int64_t dims[BYOC_MAX_RANK];
    for (int32_t d = 0; d < buffer->type->rank; ++d) dims[d] = buffer->type->dims[d].constant;
    if (byoc_frame_constant(frame, k, buffer->data, buffer->type->dtype, (uint32_t)buffer->type->rank, dims) !=
        BYOC_OK) {
      return byoc_diag_out_of_memory(diag);
    }
  }
  return BYOC_OK;
}

static byoc_status_t prepare(byoc_evaluator_t *evaluator, const byoc_symbol_resolver_t *resolver, byoc_diag_t *diag) {
  const byoc_host_program_t *program = evaluator->program;
  BYOC_RETURN_IF_ERROR(byoc_host_check_places(program, diag));
  evaluator->workspace_memory =
      byoc_allocate(evaluator->allocator, program->workspace_size_bytes + BYOC_BUFFER_ALIGNMENT, 1);
  evaluator->addresses = byoc_allocate(evaluator->allocator, program->buffers.count, sizeof(uint8_t *));
  evaluator->engine_instances = byoc_allocate(evaluator->allocator, program->engines.count, sizeof(void *));
  evaluator->engine_options = byoc_allocate(evaluator->allocator, program->engines.count, sizeof(void *));
  if (evaluator->workspace_memory == NULL || evaluator->addresses == NULL || evaluator->engine_instances == NULL ||
      evaluator->engine_options == NULL) {
    return byoc_diag_out_of_memory(diag);
  }
  uintptr_t aligned =
      ((uintptr_t)evaluator->workspace_memory + BYOC_BUFFER_ALIGNMENT - 1) & ~(uintptr_t)(BYOC_BUFFER_ALIGNMENT - 1);
  evaluator->workspace = (uint8_t *)aligned;
  BYOC_RETURN_IF_ERROR(check_options(evaluator, diag));
  BYOC_RETURN_IF_ERROR(create_engines(evaluator, diag));
  BYOC_RETURN_IF_ERROR(prepare_frame(evaluator, diag));
  BYOC_RETURN_IF_ERROR(byoc_evaluator_open_devices(evaluator, resolver, diag));
  return prepare_steps(evaluator, &program->body, resolver, &evaluator->body, diag);
}

uint64_t byoc_evaluator_peak_bytes(const byoc_evaluator_t *evaluator) {
  return evaluator->program->workspace_size_bytes + evaluator->frame.peak_bytes;
}

// Code of backends runs in this process, and may need registers that it has to ask for.
static byoc_status_t check_processor(const byoc_host_program_t *program, byoc_diag_t *diag) {
  char message[512];
  if (byoc_model_check_cpu(program->name, program->cpu_features, message, sizeof(message)) == BYOC_OK) return BYOC_OK;
  return byoc_diag_error(diag, BYOC_UNSUPPORTED, "%s", message);
}

byoc_status_t byoc_evaluator_create(const byoc_host_program_t *program, const byoc_symbol_resolver_t *resolver,
                                    int32_t thread_count, byoc_allocator_t allocator, byoc_diag_t *diag,
                                    byoc_evaluator_t **out_evaluator) {
  return byoc_evaluator_create_with(program, resolver, thread_count, (byoc_runtime_values_t){0}, allocator, diag,
                                    out_evaluator);
}

byoc_status_t byoc_evaluator_create_with(const byoc_host_program_t *program, const byoc_symbol_resolver_t *resolver,
                                         int32_t thread_count, byoc_runtime_values_t values, byoc_allocator_t allocator,
                                         byoc_diag_t *diag, byoc_evaluator_t **out_evaluator) {
  *out_evaluator = NULL;
  byoc_evaluator_t *evaluator = byoc_allocate(allocator, 1, sizeof(*evaluator));
  if (evaluator == NULL) return byoc_diag_out_of_memory(diag);
  evaluator->allocator = allocator;
  evaluator->program = program;
  byoc_arena_init(&evaluator->arena, allocator);
  evaluator->runtime = byoc_serial_runtime(thread_count);
  evaluator->runtime.self = evaluator;
  evaluator->runtime.set_error = keep_error;
  evaluator->runtime.allocate = allocate_text;
  evaluator->runtime.wanted = wanted;
  evaluator->runtime.report_step = report_step;
  evaluator->runtime.report_counter = report_counter;
  evaluator->runtime.report_tensor = report_tensor;
  evaluator->values = values;
  byoc_status_t status = check_processor(program, diag);
  if (status == BYOC_OK) status = prepare(evaluator, resolver, diag);
  evaluator->values = (byoc_runtime_values_t){0};
  if (status != BYOC_OK) {
    byoc_evaluator_destroy(evaluator);
    return byoc_diag_context(diag, status, "preparing the evaluator");
  }
  *out_evaluator = evaluator;
  return BYOC_OK;
}

byoc_status_t byoc_evaluator_set_communicator(byoc_evaluator_t *evaluator, const byoc_communicator_t *communicator,
                                              byoc_diag_t *diag) {
  const byoc_host_program_t *program = evaluator->program;
  char message[512];
  byoc_status_t status =
      byoc_collectives_init(&evaluator->collectives, communicator, program->rank_count, program->rank,
                            &evaluator->runtime.communicator, message, sizeof(message));
  if (status == BYOC_OK && program->rank_count > 1) {
    status = byoc_collectives_compare_builds(&evaluator->collectives, program->rank_build, message, sizeof(message));
  }
  return status == BYOC_OK ? BYOC_OK : byoc_diag_error(diag, status, "%s", message);
}

void byoc_evaluator_set_max_iterations(byoc_evaluator_t *evaluator, uint64_t max_iterations) {
  evaluator->frame.most_iterations = max_iterations;
}

void byoc_evaluator_set_stop(byoc_evaluator_t *evaluator, uint64_t timeout_ms, const volatile int32_t *cancel) {
  evaluator->stop = (byoc_stop_t){.timeout_ms = timeout_ms, .cancel = cancel};
  evaluator->runtime.is_ending = byoc_stop_is_set(&evaluator->stop) ? is_ending : NULL;
}

void byoc_evaluator_set_undefined(byoc_evaluator_t *evaluator, uint8_t byte) {
  evaluator->fills_undefined = true;
  evaluator->undefined = byte;
}

void byoc_evaluator_watch(byoc_evaluator_t *evaluator, const byoc_call_watch_t *watch) {
  evaluator->watch = *watch;
}

static void destroy_steps(const byoc_steps_t *steps) {
  for (size_t k = 0; k < steps->count; ++k) {
    const byoc_step_t *step = &steps->steps[k];
    byoc_interpreter_destroy(step->interpreter);
    byoc_c_interface_destroy(step->c_interface);
    for (uint32_t r = 0; step->regions != NULL && r < step->instruction->region_count; ++r) {
      destroy_steps(&step->regions[r]);
    }
  }
}

void byoc_evaluator_destroy(byoc_evaluator_t *evaluator) {
  if (evaluator == NULL) return;
  destroy_steps(&evaluator->body);
  byoc_frame_deinit(&evaluator->frame); // gives blocks back to devices
  byoc_devices_destroy(evaluator->devices);
  for (size_t k = 0; evaluator->engine_instances && k < evaluator->program->engines.count; ++k) {
    const byoc_engine_t *engine = evaluator->program->engines.data[k].engine->in_process;
    if (engine != NULL) engine->destroy(evaluator->engine_instances[k]);
  }
  for (size_t k = 0; evaluator->engine_options && k < evaluator->program->engines.count; ++k) {
    free(evaluator->engine_options[k]);
  }
  byoc_free(evaluator->allocator, evaluator->engine_options);
  byoc_free(evaluator->allocator, evaluator->engine_instances);
  byoc_free(evaluator->allocator, evaluator->addresses);
  byoc_free(evaluator->allocator, evaluator->workspace_memory);
  byoc_evaluator_drop_edge(evaluator);
  byoc_arena_deinit(&evaluator->arena);
  byoc_free(evaluator->allocator, evaluator);
}

// SPDX-License-Identifier: Apache-2.0
// Runs prepared instructions; regions run as often as their owner says.
#include <string.h>

#include "core/base/foreign.h"
#include "core/hostir/evaluate/evaluate_internal.h"
#include "core/hostir/program/dim_value.h"

// Passes the results of a loop's yield to the loop.
typedef struct iteration_t {
  bool goes_on;
  int64_t trip_count; // -1: not known
} iteration_t;

int64_t byoc_evaluator_value(const byoc_evaluator_t *evaluator, byoc_dim_t dim) {
  if (byoc_dim_is_constant(dim)) return dim.constant;
  const byoc_dim_expr_t *e = dim.expr;
  if (e->kind == BYOC_DIM_SYMBOL) {
    uintptr_t index = (uintptr_t)byoc_string_map_get(&evaluator->program->symbol_indices, e->symbol);
    return evaluator->frame.symbols[index - 1]; // lowering made sure that it exists
  }
  return byoc_host_dim_value(e->kind, byoc_evaluator_value(evaluator, e->left),
                             byoc_evaluator_value(evaluator, e->right));
}

static void dims_of(const byoc_evaluator_t *evaluator, const byoc_type_t *type, int64_t *dims) {
  for (int32_t d = 0; d < type->rank; ++d) dims[d] = byoc_evaluator_value(evaluator, type->dims[d]);
}

uint8_t *byoc_evaluator_address(byoc_evaluator_t *evaluator, const byoc_host_buffer_t *buffer) {
  if (byoc_host_buffer_in_cell(buffer)) {
    evaluator->addresses[buffer->index] = evaluator->frame.cells[buffer->index]->data;
  }
  return evaluator->addresses[buffer->index];
}

// Places the views of an instruction that move.
static byoc_status_t place_views(byoc_evaluator_t *evaluator, byoc_host_buffer_t *const *buffers, size_t count) {
  for (size_t k = 0; k < count; ++k) {
    const byoc_host_buffer_t *view = buffers[k];
    if (view == NULL || !byoc_host_buffer_moves(view)) continue;
    const int64_t offset = byoc_evaluator_value(evaluator, view->offset);
    const byoc_status_t status =
        byoc_frame_check_view(&evaluator->frame, offset, view->size_bytes, view->base->size_bytes, view->name);
    if (status != BYOC_OK) return status;
    if (view->device != NULL) continue; // its command has its place
    evaluator->addresses[view->index] = evaluator->addresses[view->base->index] + offset;
  }
  return BYOC_OK;
}

static void place_tensor(byoc_evaluator_t *evaluator, const byoc_host_buffer_t *buffer, DLTensor *tensor) {
  tensor->data = byoc_evaluator_address(evaluator, buffer);
  if (byoc_host_buffer_in_cell(buffer)) tensor->shape = evaluator->frame.cells[buffer->index]->dims;
}

static void place_tensors(byoc_evaluator_t *evaluator, byoc_step_t *step) {
  const byoc_host_instruction_t *i = step->instruction;
  for (size_t k = 0; k < i->operands.count; ++k) place_tensor(evaluator, i->operands.data[k], &step->tensors[k]);
  for (size_t k = 0; i->kernel != NULL && k < i->kernel->symbols.count; ++k) {
    step->symbols[k] = byoc_evaluator_value(evaluator, i->dims[k]);
  }
  for (size_t k = 0; k < i->results.count; ++k) {
    place_tensor(evaluator, i->results.data[k], &step->tensors[step->call.input_count + k]);
  }
}

// C functions find their buffers by index: those of the call are put there while it runs.
static byoc_status_t call_c(byoc_evaluator_t *evaluator, byoc_step_t *step, const byoc_call_t *call) {
  const byoc_host_instruction_t *i = step->instruction;
  const DLTensor *results = call->tensors + call->input_count;
  for (size_t k = 0; k < i->operands.count; ++k) {
    evaluator->addresses[i->operands.data[k]->index] = call->tensors[k].data;
  }
  for (size_t k = 0; k < i->results.count; ++k) evaluator->addresses[i->results.data[k]->index] = results[k].data;
  const byoc_status_t status = byoc_c_interface_call(step->c_interface, &evaluator->runtime, evaluator->addresses, i);
  if (call == &step->call) return status;
  for (size_t k = 0; k < i->operands.count; ++k) {
    evaluator->addresses[i->operands.data[k]->index] = step->tensors[k].data;
  }
  results = step->tensors + step->call.input_count;
  for (size_t k = 0; k < i->results.count; ++k) evaluator->addresses[i->results.data[k]->index] = results[k].data;
  return status;
}

// A call of a backend's function that the watch handles.
typedef struct backend_call_t {
  byoc_evaluator_t *evaluator;
  byoc_step_t *step;
} backend_call_t;

static const char *function_name(const byoc_host_instruction_t *i) {
  return i->op == BYOC_HOST_ENGINE ? i->json->function_name : i->symbol;
}

static int32_t call_function(const backend_call_t *made, const byoc_call_t *call) {
  const byoc_step_t *step = made->step;
  switch (step->instruction->op) {
  case BYOC_HOST_PACKED:
    return step->packed(call);
  case BYOC_HOST_ENGINE:
    return step->engine->run(step->engine_instance, step->instruction->engine_function, call);
  default:
    return call_c(made->evaluator, made->step, call);
  }
}

static int32_t call_backend(void *self, const byoc_call_t *call) {
  const backend_call_t *made = self;
  const byoc_foreign_t entered = {.kind = "function",
                                  .name = function_name(made->step->instruction),
                                  .where = "run",
                                  .is_run = true,
                                  .explain = byoc_evaluator_explain};
  const byoc_foreign_t outer = byoc_foreign_enter(&entered);
  const int32_t status = call_function(made, call);
  byoc_foreign_leave(&outer);
  return status;
}

static byoc_status_t run_backend(byoc_evaluator_t *evaluator, byoc_step_t *step) {
  const byoc_host_instruction_t *i = step->instruction;
  const byoc_call_watch_t *watch = &evaluator->watch;
  backend_call_t made = {evaluator, step};
  evaluator->reporter.row = step->row;
  step->call.workspace = step->is_watched ? byoc_evaluator_edge(evaluator, &step->call) : step->call.workspace;
  if (watch->run == NULL || !step->is_watched) return call_backend(&made, &step->call);
  return watch->run(watch->self, function_name(i), &step->call, i->op == BYOC_HOST_C_CALL, call_backend, &made);
}

// Bytes of an input may be in their place in an output already (core/hostir/verify/in_place.h).
static void copy(const uint8_t *from, uint8_t *to, uint64_t size_bytes) {
  if (from != to) memcpy(to, from, size_bytes);
}

// On the processor's queue.
static void fill(byoc_evaluator_t *evaluator, const byoc_host_instruction_t *i) {
  const byoc_host_buffer_t *buffer = i->results.data[0];
  const uint32_t size = byoc_host_fill_size(buffer);
  const uint8_t one = (uint8_t)i->pattern;
  const uint16_t two = (uint16_t)i->pattern;
  const uint32_t four = (uint32_t)i->pattern;
  const void *bytes = size == 1 ? (const void *)&one : size == 2 ? (const void *)&two : (const void *)&four;
  if (size == 8) bytes = &i->pattern;
  uint8_t *to = byoc_evaluator_address(evaluator, buffer);
  for (uint64_t at = 0; at < buffer->size_bytes; at += size) memcpy(to + at, bytes, size);
}

// If the process runs under the address sanitizer, these tell it which bytes of the workspace are in use.
extern void __asan_poison_memory_region(const volatile void *address, size_t size) __attribute__((weak));
extern void __asan_unpoison_memory_region(const volatile void *address, size_t size) __attribute__((weak));

// Begins or ends the life of a buffer whose place the memory plan has found.
static void use_workspace(byoc_evaluator_t *evaluator, const byoc_host_buffer_t *buffer, bool begins) {
  if (evaluator->program->queues.count > 0) return; // commands may use it behind its end
  uint8_t *bytes = evaluator->workspace + buffer->offset_bytes;
  const size_t size = (size_t)buffer->size_bytes;
  if (begins && __asan_unpoison_memory_region != NULL) __asan_unpoison_memory_region(bytes, size);
  if (!begins && __asan_poison_memory_region != NULL) __asan_poison_memory_region(bytes, size);
}

static byoc_status_t allocate(byoc_evaluator_t *evaluator, const byoc_host_instruction_t *i) {
  const byoc_host_buffer_t *buffer = i->operands.data[0];
  byoc_frame_t *frame = &evaluator->frame;
  if (buffer->device != NULL && !buffer->is_value) return BYOC_OK;
  const bool is_zeroed = i->allocation == BYOC_HOST_ZEROED;
  const bool fills = i->allocation == BYOC_HOST_FRESH && evaluator->fills_undefined;
  if (!buffer->is_value) { // placed by the memory plan, perhaps where a command still uses another buffer
    use_workspace(evaluator, buffer, true);
    if (fills && evaluator->program->queues.count == 0)
      memset(byoc_evaluator_address(evaluator, buffer), evaluator->undefined, buffer->size_bytes);
    if (is_zeroed) memset(byoc_evaluator_address(evaluator, buffer), 0, buffer->size_bytes);
    return BYOC_OK;
  }
  int64_t dims[BYOC_MAX_RANK];
  dims_of(evaluator, buffer->type, dims);
  const uint32_t dtype = buffer->type->dtype, rank = (uint32_t)buffer->type->rank;
  const byoc_host_instruction_t *copy = byoc_host_device_tables_handed_out(evaluator->device_tables, buffer);
  const uint32_t command = copy != NULL ? byoc_host_device_tables_command(evaluator->device_tables, copy) : 0;
  if (buffer->device != NULL) {
    byoc_devices_t *devices = evaluator->devices;
    const uint32_t memory = byoc_host_device_tables_memory(evaluator->device_tables, buffer);
    if (copy != NULL) {
      return byoc_devices_allocate_output(devices, frame, memory, buffer->index, copy->results.data[0]->index, command,
                                          dtype, rank, dims);
    }
    return byoc_host_device_tables_is_lent(evaluator->device_tables, buffer)
               ? byoc_devices_announce_cell(devices, frame, memory, buffer->index, dtype, rank, dims)
               : byoc_devices_allocate_cell(devices, frame, memory, buffer->index, dtype, rank, dims);
  }
  if (copy != NULL && evaluator->devices->commands[command].is_idle) return BYOC_OK;
  const bool is_cached = i->allocation == BYOC_HOST_CACHED;
  byoc_status_t status = is_cached ? byoc_frame_allocate_cached(frame, buffer->index, dtype, rank, dims)
                                   : byoc_frame_allocate(frame, buffer->index, dtype, rank, dims);
  if (status != BYOC_OK) return status;
  const byoc_cell_t *cell = frame->cells[buffer->index];
  if (fills) memset(cell->data, evaluator->undefined, (size_t)byoc_cell_size_bytes(cell));
  if (is_zeroed) byoc_frame_zero(frame, buffer->index);
  return BYOC_OK;
}

static void release(byoc_evaluator_t *evaluator, const byoc_host_buffer_t *buffer) {
  if (buffer->device != NULL && !buffer->is_value) return;
  if (!buffer->is_value) use_workspace(evaluator, buffer, false);
  if (buffer->is_value && !byoc_host_is_cached(buffer)) byoc_frame_release(&evaluator->frame, buffer->index);
}

static byoc_status_t share(byoc_evaluator_t *evaluator, const byoc_host_instruction_t *i) {
  const byoc_host_buffer_t *from = i->operands.data[0], *to = i->results.data[0];
  bool same = !byoc_type_is_tensor(to->type) || byoc_type_equal(from->type, to->type);
  int64_t dims[BYOC_MAX_RANK];
  if (!same) dims_of(evaluator, to->type, dims);
  return byoc_frame_share(&evaluator->frame, to->index, from->index, to->type->dtype,
                          same ? 0 : (uint32_t)to->type->rank, same ? NULL : dims);
}

static byoc_status_t match(byoc_evaluator_t *evaluator, const byoc_host_instruction_t *i) {
  const byoc_host_buffer_t *buffer = i->operands.data[0];
  byoc_frame_t *frame = &evaluator->frame;
  char what[256];
  snprintf(what, sizeof(what), "%s '%s'", buffer->kind == BYOC_HOST_BUFFER_INPUT ? "the input" : "the value",
           buffer->name);
  byoc_status_t status =
      byoc_frame_expect(frame, buffer->index, buffer->type->dtype, (uint32_t)buffer->type->rank, what);
  for (uint32_t k = 0; k < i->match_count && status == BYOC_OK; ++k) {
    const byoc_host_match_t *m = &i->matches[k];
    if (m->symbol != BYOC_HOST_SYMBOL_NONE) {
      frame->symbols[m->symbol] = frame->cells[buffer->index]->dims[m->axis];
      continue;
    }
    byoc_string_t name;
    byoc_string_init(&name, evaluator->allocator);
    byoc_dim_print(m->dim, &name);
    status = byoc_frame_match(frame, buffer->index, m->axis, byoc_evaluator_value(evaluator, m->dim), what, name.data);
    byoc_string_deinit(&name);
  }
  return status;
}

static byoc_status_t require(byoc_evaluator_t *evaluator, const byoc_host_instruction_t *i) {
  for (size_t k = 0; k < i->relations.count; ++k) {
    const byoc_host_relation_t *relation = &i->relations.data[k];
    int64_t left = byoc_evaluator_value(evaluator, relation->left),
            right = byoc_evaluator_value(evaluator, relation->right);
    if (byoc_relation_holds(relation->kind, left, right)) continue;
    return byoc_frame_refuse(&evaluator->frame, relation->kind, left, right, &relation->names);
  }
  return BYOC_OK;
}

static void store(byoc_evaluator_t *evaluator, const byoc_host_instruction_t *i) {
  int64_t *elements = (int64_t *)(void *)byoc_evaluator_address(evaluator, i->results.data[0]);
  const int64_t count = byoc_type_element_count(i->results.data[0]->type);
  for (int64_t k = 0; k < count; ++k) elements[k] = byoc_evaluator_value(evaluator, i->dims[k]);
}

static byoc_status_t run_steps(byoc_evaluator_t *evaluator, const byoc_steps_t *steps, iteration_t *iteration,
                               byoc_diag_t *diag);

static byoc_status_t yield(byoc_evaluator_t *evaluator, const byoc_step_t *step, iteration_t *iteration) {
  const byoc_host_instruction_t *i = step->instruction, *owner = i->region->owner;
  byoc_frame_t *frame = &evaluator->frame;
  if (owner->op == BYOC_HOST_BRANCH) {
    byoc_frame_assign(frame, step->targets, step->sources, (uint32_t)owner->results.count);
    return BYOC_OK;
  }
  if (owner->count != NULL) {
    byoc_frame_assign(frame, step->targets, step->sources, (uint32_t)i->operands.count);
    return BYOC_OK;
  }
  uint32_t carried = (uint32_t)i->region->parameters.count - 2;
  iteration->goes_on = byoc_cell_integer(frame->cells[step->sources[0]], 0) != 0;
  for (size_t k = carried; k < owner->results.count; ++k) {
    byoc_status_t status =
        byoc_frame_scan_append(frame, owner->results.data[k]->index, step->sources[k + 1], iteration->trip_count);
    if (status != BYOC_OK) return status;
  }
  byoc_frame_assign(frame, step->targets, step->sources, carried + 1);
  return BYOC_OK;
}

static byoc_status_t begin_loop(byoc_evaluator_t *evaluator, const byoc_host_instruction_t *i, iteration_t *iteration) {
  byoc_frame_t *frame = &evaluator->frame;
  const byoc_host_region_t *body = &i->regions[0];
  *iteration = (iteration_t){.goes_on = true, .trip_count = -1};
  if (i->operands.data[0] != NULL) {
    iteration->trip_count = byoc_cell_integer(frame->cells[i->operands.data[0]->index], 0);
    if (iteration->trip_count < 0) iteration->trip_count = 0;
  }
  if (i->operands.data[1] != NULL)
    iteration->goes_on = byoc_cell_integer(frame->cells[i->operands.data[1]->index], 0) != 0;
  const byoc_dim_t *next = i->dims;
  for (size_t k = 0; k < i->results.count; ++k) {
    uint32_t result = i->results.data[k]->index;
    if (k + 2 < body->parameters.count) { // no iteration: the initial values are the results
      byoc_frame_assign(frame, &body->parameters.data[k + 2]->index, &i->operands.data[k + 2]->index, 1);
      continue;
    }
    const byoc_type_t *type = i->results.data[k]->type;
    int64_t dims[BYOC_MAX_RANK] = {0};
    for (int32_t d = 1; d < type->rank; ++d) dims[d - 1] = byoc_evaluator_value(evaluator, *next++);
    byoc_status_t status = byoc_frame_scan_begin(frame, result, type->dtype, (uint32_t)type->rank - 1, dims);
    if (status != BYOC_OK) return status;
  }
  return BYOC_OK;
}

static byoc_status_t loop(byoc_evaluator_t *evaluator, const byoc_step_t *step, byoc_diag_t *diag) {
  const byoc_host_instruction_t *i = step->instruction;
  const byoc_host_region_t *body = &i->regions[0];
  byoc_frame_t *frame = &evaluator->frame;
  iteration_t iteration;
  byoc_status_t status = begin_loop(evaluator, i, &iteration);
  evaluator->loop_depth += 1;
  for (int64_t t = 0; (iteration.trip_count < 0 || t < iteration.trip_count) && iteration.goes_on && status == BYOC_OK;
       ++t) {
    byoc_observer_turn(&evaluator->observer, evaluator->loop_depth - 1, t);
    status = byoc_frame_begin_turn(frame, body->parameters.data[0]->index, t);
    if (status == BYOC_OK) status = byoc_frame_set_bool(frame, body->parameters.data[1]->index, true);
    if (status == BYOC_OK) BYOC_RETURN_IF_ERROR(run_steps(evaluator, &step->regions[0], &iteration, diag));
  }
  evaluator->loop_depth -= 1;
  byoc_observer_leave(&evaluator->observer, evaluator->loop_depth);
  if (status != BYOC_OK) return byoc_evaluator_failed(evaluator, status, byoc_host_instruction_name(i), diag);
  for (size_t k = 2; k < body->parameters.count; ++k) {
    byoc_frame_assign(frame, &i->results.data[k - 2]->index, &body->parameters.data[k]->index, 1);
  }
  for (size_t k = 0; k < body->parameters.count; ++k) byoc_frame_release(frame, body->parameters.data[k]->index);
  return BYOC_OK;
}

// A loop that counts.
static byoc_status_t count(byoc_evaluator_t *evaluator, const byoc_step_t *step, byoc_diag_t *diag) {
  const byoc_host_instruction_t *i = step->instruction;
  const byoc_host_region_t *body = &i->regions[0];
  byoc_frame_t *frame = &evaluator->frame;
  const uint32_t symbol = i->count->symbol;
  const int64_t stop = byoc_evaluator_value(evaluator, i->count->stop),
                by = byoc_evaluator_value(evaluator, i->count->step);
  byoc_status_t status = BYOC_OK;
  iteration_t iteration = {0};
  for (size_t k = 0; k < body->parameters.count; ++k) {
    byoc_frame_assign(frame, &body->parameters.data[k]->index, &i->operands.data[k]->index, 1);
  }
  evaluator->loop_depth += 1;
  for (int64_t at = byoc_evaluator_value(evaluator, i->count->start); by > 0 ? at < stop : at > stop;
       at = byoc_dim_add(at, by)) {
    status = byoc_frame_set_symbol(frame, symbol, at, evaluator->program->symbols.data[symbol]);
    if (status != BYOC_OK) break;
    byoc_observer_turn(&evaluator->observer, evaluator->loop_depth - 1, at);
    BYOC_RETURN_IF_ERROR(run_steps(evaluator, &step->regions[0], &iteration, diag));
  }
  evaluator->loop_depth -= 1;
  byoc_observer_leave(&evaluator->observer, evaluator->loop_depth);
  if (status != BYOC_OK) return byoc_evaluator_failed(evaluator, status, byoc_host_instruction_name(i), diag);
  for (size_t k = 0; k < body->parameters.count; ++k) {
    byoc_frame_assign(frame, &i->results.data[k]->index, &body->parameters.data[k]->index, 1);
    byoc_frame_release(frame, body->parameters.data[k]->index);
  }
  return BYOC_OK;
}

static byoc_status_t branch(byoc_evaluator_t *evaluator, const byoc_step_t *step, iteration_t *iteration,
                            byoc_diag_t *diag) {
  bool condition = *byoc_evaluator_address(evaluator, step->instruction->operands.data[0]) != 0;
  return run_steps(evaluator, &step->regions[condition ? 0 : 1], iteration, diag);
}

static byoc_status_t run_step(byoc_evaluator_t *evaluator, byoc_step_t *step, iteration_t *iteration,
                              byoc_diag_t *diag) {
  const byoc_host_instruction_t *i = step->instruction;
  byoc_frame_t *frame = &evaluator->frame;
  byoc_status_t status = BYOC_OK;
  evaluator->error[0] = '\0';
  status = place_views(evaluator, i->operands.data, i->operands.count);
  if (status == BYOC_OK) status = place_views(evaluator, i->results.data, i->results.count);
  if (status != BYOC_OK) return byoc_evaluator_failed(evaluator, status, byoc_host_instruction_name(i), diag);
  if (step->tensors != NULL) place_tensors(evaluator, step);
  if (step->command != BYOC_DEVICE_NO_ROW) {
    status = byoc_evaluator_command(evaluator, step->command);
    return status == BYOC_OK ? BYOC_OK : byoc_evaluator_failed(evaluator, status, byoc_host_instruction_name(i), diag);
  }
  switch (i->op) {
  case BYOC_HOST_KERNEL:
    status = byoc_interpreter_run(step->interpreter, &step->call);
    break;
  case BYOC_HOST_PACKED:
  case BYOC_HOST_ENGINE:
  case BYOC_HOST_C_CALL:
    status = run_backend(evaluator, step);
    break;
  case BYOC_HOST_COLLECTIVE:
    status = byoc_collective_call(i->collective, &step->call);
    break;
  case BYOC_HOST_COPY:
    copy(byoc_evaluator_address(evaluator, i->operands.data[0]), byoc_evaluator_address(evaluator, i->results.data[0]),
         i->operands.data[0]->size_bytes);
    break;
  case BYOC_HOST_FILL:
    fill(evaluator, i);
    break;
  case BYOC_HOST_ALLOCATE:
    status = allocate(evaluator, i);
    break;
  case BYOC_HOST_FREE:
    release(evaluator, i->operands.data[0]);
    break;
  case BYOC_HOST_SHARE:
    status = share(evaluator, i);
    break;
  case BYOC_HOST_MATCH:
    status = match(evaluator, i);
    break;
  case BYOC_HOST_REQUIRE:
    status = require(evaluator, i);
    break;
  case BYOC_HOST_BIND:
    status = byoc_frame_bind(frame, i->symbol,
                             (const int64_t *)(void *)byoc_evaluator_address(evaluator, i->operands.data[0]),
                             i->symbols, i->symbol_count);
    break;
  case BYOC_HOST_CONTAINER: {
    const byoc_container_call_t call = {i->results.data[0]->index, (uint32_t)i->operands.count, step->sources, i->axis,
                                        i->flag};
    status = step->container(frame, &call);
    break;
  }
  case BYOC_HOST_YIELD:
    status = yield(evaluator, step, iteration);
    break;
  case BYOC_HOST_BRANCH:
    return branch(evaluator, step, iteration, diag);
  case BYOC_HOST_LOOP:
    return i->count != NULL ? count(evaluator, step, diag) : loop(evaluator, step, diag);
  case BYOC_HOST_LET:
    status = byoc_frame_set_symbol(frame, i->symbols[0], byoc_evaluator_value(evaluator, i->dims[0]),
                                   evaluator->program->symbols.data[i->symbols[0]]);
    break;
  case BYOC_HOST_STORE:
    store(evaluator, i);
    break;
  default:
    break;
  }
  if (status == BYOC_OK && byoc_reporter_status(&evaluator->reporter) != BYOC_OK) {
    status = byoc_reporter_status(&evaluator->reporter);
    evaluator->runtime.set_error(evaluator, evaluator->reporter.reason);
  }
  if (status == BYOC_OK) return BYOC_OK;
  return byoc_evaluator_failed(evaluator, status, byoc_host_instruction_name(i), diag);
}

static byoc_status_t run_steps(byoc_evaluator_t *evaluator, const byoc_steps_t *steps, iteration_t *iteration,
                               byoc_diag_t *diag) {
  for (size_t k = 0; k < steps->count; ++k) {
    byoc_step_t *step = &steps->steps[k];
    const byoc_status_t ended = byoc_stop_is_set(&evaluator->stop) ? byoc_stop_status(&evaluator->stop) : BYOC_OK;
    if (ended != BYOC_OK) {
      evaluator->error[0] = '\0';
      return byoc_evaluator_failed(evaluator, ended, byoc_host_instruction_name(step->instruction), diag);
    }
    BYOC_RETURN_IF_ERROR(run_step(evaluator, step, iteration, diag));
    if (evaluator->observer.trace == NULL || step->row == NULL) continue;
    byoc_status_t status = byoc_evaluator_report(evaluator, step);
    if (status != BYOC_OK) return byoc_evaluator_failed(evaluator, status, "tracing", diag);
  }
  return BYOC_OK;
}

static byoc_status_t run_all(byoc_evaluator_t *evaluator, byoc_diag_t *diag) {
  iteration_t iteration = {0};
  const byoc_status_t status = run_steps(evaluator, &evaluator->body, &iteration, diag);
  if (status != BYOC_OK) byoc_collectives_settle(&evaluator->collectives);
  return status;
}

byoc_status_t byoc_evaluator_run_body(byoc_evaluator_t *evaluator, byoc_diag_t *diag) {
  evaluator->loop_depth = 0;
  byoc_stop_begin(&evaluator->stop);
  byoc_reporter_begin(&evaluator->reporter);
  byoc_observer_leave(&evaluator->observer, 0);
  if (__asan_poison_memory_region != NULL && evaluator->program->queues.count == 0) {
    __asan_poison_memory_region(evaluator->workspace, (size_t)evaluator->program->workspace_size_bytes);
  }
  if (evaluator->devices == NULL) {
    BYOC_RETURN_IF_ERROR_IN(diag, run_all(evaluator, diag), "evaluating '%s'", evaluator->program->name);
    return BYOC_OK;
  }
  byoc_status_t begun = byoc_devices_begin(evaluator->devices);
  if (begun == BYOC_OK) begun = byoc_evaluator_lend(evaluator);
  byoc_status_t status = begun == BYOC_OK ? run_all(evaluator, diag) : begun;
  const byoc_status_t ended = byoc_devices_finish(evaluator->devices, status);
  const bool is_ours = begun != BYOC_OK || (status == BYOC_OK && ended != BYOC_OK); // else a step said it
  if (is_ours) status = byoc_evaluator_failed(evaluator, begun != BYOC_OK ? begun : ended, NULL, diag);
  return status == BYOC_OK ? BYOC_OK : byoc_diag_context(diag, status, "evaluating '%s'", evaluator->program->name);
}

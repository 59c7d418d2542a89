// SPDX-License-Identifier: Apache-2.0
// Checks devices in a host program: declarations, and each instruction against its queue.
#include <string.h>

#include "byoc/device.h"
#include "core/hostir/verify/verify_internal.h"
#include "core/runtime/check.h"

// ---- buffers ----

static const char *check_planned(const byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer) {
  const byoc_host_memory_t *memory = byoc_host_find_memory(v->program, buffer->device, buffer->scope);
  if (memory == NULL) return "is in a memory that is not declared";
  const uint64_t size = memory->is_apart ? 1 : buffer->size_bytes;
  if (buffer->offset_bytes > memory->size || size > memory->size - buffer->offset_bytes) {
    return "reaches beyond the memory of its device";
  }
  if (!memory->is_apart && buffer->offset_bytes % BYOC_DEVICE_ALIGNMENT != 0) {
    return "is planned at an offset that is not aligned";
  }
  return NULL;
}

// Buffers at one offset of a memory that is apart are one allocation.
static const char *check_same_types(const byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer) {
  const byoc_host_memory_t *memory = byoc_host_find_memory(v->program, buffer->device, buffer->scope);
  if (!memory->is_apart) return NULL;
  for (size_t k = 0; k < buffer->index; ++k) {
    const byoc_host_buffer_t *other = v->program->buffers.data[k];
    const bool same_place = other->kind == BYOC_HOST_BUFFER_LOCAL && other->device == buffer->device &&
                            other->offset_bytes == buffer->offset_bytes && strcmp(other->scope, buffer->scope) == 0;
    if (same_place && !byoc_type_equal(other->type, buffer->type)) {
      return "has the allocation of a buffer of another type";
    }
  }
  return NULL;
}

static const char *check_view(const byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer) {
  const byoc_host_buffer_t *base = buffer->base;
  if (base->device != buffer->device) return "is a view, and not on the device of its base";
  if (buffer->device == NULL) return NULL;
  const byoc_host_memory_t *memory = byoc_host_find_memory(v->program, base->device, base->scope);
  const bool is_part =
      byoc_host_buffer_moves(buffer) || buffer->offset_bytes != 0 || buffer->size_bytes != base->size_bytes;
  return memory != NULL && memory->is_apart && is_part ? "is a part of a buffer whose memory does not subdivide" : NULL;
}

const char *byoc_host_verify_place(const byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer) {
  if (buffer->kind == BYOC_HOST_BUFFER_VIEW) return check_view(v, buffer);
  if (buffer->device == NULL) return NULL;
  if (byoc_host_device_is_host(buffer->device)) return "is on the processor, whose memory is the host's";
  if (buffer->kind == BYOC_HOST_BUFFER_INPUT || buffer->kind == BYOC_HOST_BUFFER_OUTPUT) {
    return "is on a device, but is the caller's";
  }
  if (buffer->is_value && (buffer->kind != BYOC_HOST_BUFFER_LOCAL || !byoc_type_is_tensor(buffer->type))) {
    return "is on a device, but is no tensor that the program makes";
  }
  if (byoc_host_verify_holds_strings(buffer)) return "is on a device, but holds strings";
  const bool has_place = buffer->kind == BYOC_HOST_BUFFER_LOCAL && !buffer->is_value;
  if (!has_place || buffer->offset_bytes == BYOC_HOST_OFFSET_NONE) return NULL;
  const char *what = check_planned(v, buffer);
  return what != NULL ? what : check_same_types(v, buffer);
}

static bool uses_device(const byoc_host_instruction_t *i) {
  if (i->on.queue != NULL) return !byoc_host_device_is_host(i->on.queue->device);
  if (i->op == BYOC_HOST_ALLOCATE && i->operands.data[0]->is_value && i->operands.data[0]->device != NULL) return true;
  for (size_t k = 0; k < i->waits.count; ++k) {
    if (!byoc_host_device_is_host(i->waits.data[k].event->device)) return true;
  }
  return false;
}

// A program that asks whether its devices, or its engines, have started uses them only in branches where they have.
static bool is_guarded(const byoc_host_instruction_t *i, const byoc_host_buffer_t *answer) {
  const byoc_host_region_t *region = i->region;
  while (region->owner != NULL) {
    const byoc_host_instruction_t *owner = region->owner;
    if (owner->op == BYOC_HOST_BRANCH && owner->operands.data[0] == answer && region == &owner->regions[0]) {
      return true;
    }
    region = owner->region;
  }
  return false;
}

static bool asks(const byoc_host_instruction_t *i, const char *symbol) {
  return i->op == BYOC_HOST_PACKED && i->symbol != NULL && strcmp(i->symbol, symbol) == 0 && i->results.count == 1;
}

byoc_status_t byoc_host_verify_devices(byoc_host_verifier_t *v) {
  const byoc_host_program_t *program = v->program;
  BYOC_HOST_FOR_EACH(i, program) {
    if (asks(i, BYOC_CHECK_DEVICES)) v->has_devices = i->results.data[0];
    if (asks(i, BYOC_CHECK_ENGINES)) v->has_engines = i->results.data[0];
  }
  for (size_t k = 0; k < program->memories.count; ++k) {
    const byoc_host_memory_t *memory = program->memories.data[k];
    if (!byoc_host_device_is_host(memory->device)) continue;
    return byoc_host_verify_refuse(v, "the device '%s' has a memory, but is the processor, whose memory is the host's",
                                   memory->device->name);
  }
  return BYOC_OK;
}

// ---- instructions ----

static bool is_call_of_host(byoc_host_op_t op) {
  return op == BYOC_HOST_KERNEL || op == BYOC_HOST_PACKED || op == BYOC_HOST_ENGINE || op == BYOC_HOST_C_CALL;
}

static bool is_only_command(byoc_host_op_t op) {
  return op == BYOC_HOST_LAUNCH || op == BYOC_HOST_FILL || op == BYOC_HOST_BARRIER;
}

static byoc_status_t check_queue(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const byoc_host_queue_t *queue = i->on.queue;
  if (queue == NULL) {
    if (is_only_command(i->op)) return byoc_host_verify_refuse(v, "it needs a queue");
    if (i->signal.event != NULL) return byoc_host_verify_refuse(v, "it signals an event, but has no queue");
    if ((i->waits.count > 0) == (i->op == BYOC_HOST_AWAIT)) return BYOC_OK;
    return byoc_host_verify_refuse(v, i->op == BYOC_HOST_AWAIT ? "it waits for nothing"
                                                               : "it waits for events, but has no queue");
  }
  const bool is_host = byoc_host_device_is_host(queue->device);
  const bool may_be_there = i->op == BYOC_HOST_COPY ||
                            (is_only_command(i->op) && !(is_host && i->op == BYOC_HOST_LAUNCH)) ||
                            (is_host && is_call_of_host(i->op));
  if (!may_be_there) {
    return byoc_host_verify_refuse(v, "the queue '%s' of the device '%s' cannot run it", queue->name,
                                   queue->device->name);
  }
  for (size_t k = 0; k <= i->waits.count; ++k) {
    const byoc_host_event_t *event = k < i->waits.count ? i->waits.data[k].event : i->signal.event;
    if (event == NULL || event->device == queue->device) continue;
    return byoc_host_verify_refuse(v, "the event '%s' is of the device '%s', its queue of '%s': put an await before it",
                                   event->name, event->device->name, queue->device->name);
  }
  return BYOC_OK;
}

// The buffers of an instruction are on the device of its queue, or on the host. A copy may have one of each.
static byoc_status_t check_reach(byoc_host_verifier_t *v, const byoc_host_instruction_t *i,
                                 const byoc_host_buffer_t *buffer) {
  const byoc_host_device_t *device = i->on.queue != NULL ? i->on.queue->device : NULL;
  if (device != NULL && byoc_host_device_is_host(device)) device = NULL;
  if (buffer == NULL || buffer->device == device || (i->op == BYOC_HOST_COPY && buffer->device == NULL)) return BYOC_OK;
  if (buffer->device == NULL) {
    return byoc_host_verify_refuse(v, "buffer '%s' is on the host, which the device '%s' does not reach: copy it there",
                                   buffer->name, device->name);
  }
  return byoc_host_verify_refuse(v, "buffer '%s' is on the device '%s', which %s%s%s does not reach: copy it",
                                 buffer->name, buffer->device->name, device == NULL ? "the host" : "the device '",
                                 device == NULL ? "" : device->name, device == NULL ? "" : "'");
}

// ---- values that are passed on ----

// A value stays on its device.
static byoc_status_t check_stays(byoc_host_verifier_t *v, const byoc_host_buffer_t *from,
                                 const byoc_host_buffer_t *to) {
  if (from == NULL || to == NULL) return BYOC_OK;
  if (from->device == to->device && (from->device == NULL || strcmp(from->scope, to->scope) == 0)) return BYOC_OK;
  return byoc_host_verify_refuse(v, "'%s' becomes '%s', which is in another memory: copy it", from->name, to->name);
}

static byoc_status_t check_on_host(byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer, const char *what) {
  if (buffer == NULL || buffer->device == NULL) return BYOC_OK;
  return byoc_host_verify_refuse(v, "%s, '%s', is on the device '%s', and the host reads it", what, buffer->name,
                                 buffer->device->name);
}

static byoc_status_t check_loop_stays(byoc_host_verifier_t *v, const byoc_host_instruction_t *loop) {
  const byoc_host_region_t *body = &loop->regions[0];
  const size_t first = loop->count != NULL ? 0 : 2;
  for (size_t k = 0; k < first && k < loop->operands.count; ++k) {
    BYOC_RETURN_IF_ERROR(check_on_host(v, loop->operands.data[k], k == 0 ? "the trip count" : "the condition"));
    if (k >= body->parameters.count) continue;
    BYOC_RETURN_IF_ERROR(check_on_host(v, body->parameters.data[k], k == 0 ? "the iteration" : "the condition"));
  }
  for (size_t k = first; k < loop->operands.count && k < body->parameters.count; ++k) {
    BYOC_RETURN_IF_ERROR(check_stays(v, loop->operands.data[k], body->parameters.data[k]));
    if (k - first >= loop->results.count) continue;
    BYOC_RETURN_IF_ERROR(check_stays(v, loop->operands.data[k], loop->results.data[k - first]));
  }
  for (size_t k = loop->operands.count - first; loop->count == NULL && k < loop->results.count; ++k) {
    BYOC_RETURN_IF_ERROR(check_on_host(v, loop->results.data[k], "the stacked result"));
  }
  return BYOC_OK;
}

static byoc_status_t check_yield_stays(byoc_host_verifier_t *v, const byoc_host_instruction_t *yield) {
  const byoc_host_instruction_t *owner = yield->region->owner;
  const size_t first = owner != NULL && owner->op == BYOC_HOST_LOOP && owner->count == NULL;
  if (owner == NULL) return BYOC_OK;
  if (first > 0 && yield->operands.count > 0) {
    BYOC_RETURN_IF_ERROR(check_on_host(v, yield->operands.data[0], "the condition"));
  }
  for (size_t k = first; k < yield->operands.count && k - first < owner->results.count; ++k) {
    BYOC_RETURN_IF_ERROR(check_stays(v, yield->operands.data[k], owner->results.data[k - first]));
  }
  return BYOC_OK;
}

// An instruction that passes values on without touching their bytes; false: it is none.
static bool passes_on(byoc_host_verifier_t *v, const byoc_host_instruction_t *i, byoc_status_t *out_status) {
  *out_status = BYOC_OK;
  switch (i->op) {
  case BYOC_HOST_SHARE:
    *out_status = check_stays(v, i->operands.data[0], i->results.data[0]);
    return true;
  case BYOC_HOST_MATCH:
    return true;
  case BYOC_HOST_BRANCH:
    *out_status = check_on_host(v, i->operands.data[0], "the condition");
    return true;
  case BYOC_HOST_LOOP:
    *out_status = check_loop_stays(v, i);
    return true;
  case BYOC_HOST_YIELD:
    *out_status = check_yield_stays(v, i);
    return true;
  default:
    return false;
  }
}

static byoc_status_t check_reaches(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  byoc_status_t status = BYOC_OK;
  if (passes_on(v, i, &status)) return status;
  if (i->op == BYOC_HOST_ALLOCATE || i->op == BYOC_HOST_FREE) {
    const byoc_host_buffer_t *buffer = i->operands.data[0];
    if (buffer->device == NULL || i->allocation == BYOC_HOST_FRESH) return BYOC_OK;
    return byoc_host_verify_refuse(v, "buffer '%s' is on a device, where it starts with undefined contents: fill it",
                                   buffer->name);
  }
  for (size_t k = 0; k < i->operands.count; ++k) BYOC_RETURN_IF_ERROR(check_reach(v, i, i->operands.data[k]));
  for (size_t k = 0; k < i->results.count; ++k) BYOC_RETURN_IF_ERROR(check_reach(v, i, i->results.data[k]));
  BYOC_RETURN_IF_ERROR(check_reach(v, i, i->workspace));
  if (i->op != BYOC_HOST_COPY || i->on.queue == NULL || byoc_host_device_is_host(i->on.queue->device) ||
      i->operands.data[0]->device != NULL || i->results.data[0]->device != NULL) {
    return BYOC_OK;
  }
  return byoc_host_verify_refuse(v, "neither '%s' nor '%s' is on the device '%s'", i->operands.data[0]->name,
                                 i->results.data[0]->name, i->on.queue->device->name);
}

// ---- launches ----

static byoc_status_t check_argument(byoc_host_verifier_t *v, const byoc_host_instruction_t *i, uint32_t index) {
  const byoc_host_argument_t *argument = &i->launch->arguments[index];
  const byoc_host_buffer_t *buffer = NULL;
  switch (argument->kind) {
  case BYOC_HOST_ARGUMENT_OPERAND:
    if (argument->index < i->operands.count) buffer = i->operands.data[argument->index];
    break;
  case BYOC_HOST_ARGUMENT_RESULT:
    if (argument->index < i->results.count) buffer = i->results.data[argument->index];
    break;
  case BYOC_HOST_ARGUMENT_SCRATCH:
    buffer = i->workspace;
    break;
  case BYOC_HOST_ARGUMENT_LOCAL:
    if (byoc_dim_is_constant(argument->value) && argument->value.constant <= 0) {
      return byoc_host_verify_refuse(v, "argument %u has no bytes", index);
    }
    return BYOC_OK;
  default:
    return BYOC_OK;
  }
  if (buffer == NULL) return byoc_host_verify_refuse(v, "argument %u is a buffer that it does not have", index);
  if (buffer->is_value || argument->offset_bytes <= buffer->size_bytes)
    return BYOC_OK; // for values the run checks this
  return byoc_host_verify_refuse(v, "argument %u points outside of buffer '%s'", index, buffer->name);
}

// Drivers take whole allocations, and offsets that are aligned.
static byoc_status_t check_offset(byoc_host_verifier_t *v, const byoc_host_buffer_t *buffer) {
  if (buffer == NULL || buffer->kind != BYOC_HOST_BUFFER_VIEW || buffer->size_bytes == 0) return BYOC_OK;
  if (byoc_host_range_of_offset(&v->ranges, buffer).divisor % BYOC_DEVICE_ALIGNMENT == 0) return BYOC_OK;
  return byoc_host_verify_refuse(v, "buffer '%s' is at a byte of '%s' that is no multiple of %d", buffer->name,
                                 buffer->base->name, BYOC_DEVICE_ALIGNMENT);
}

static byoc_status_t check_launch(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  if (i->launch == NULL || i->launch->module == NULL || i->launch->entry == NULL) {
    return byoc_host_verify_refuse(v, "it has no kernel to launch");
  }
  if (i->results.count == 0) return byoc_host_verify_refuse(v, "a launch without results");
  for (int axis = 0; axis < 3; ++axis) {
    const byoc_dim_t grid = i->launch->grid[axis], block = i->launch->block[axis];
    const bool fits = (!byoc_dim_is_constant(grid) || (grid.constant >= 0 && grid.constant <= UINT32_MAX)) &&
                      (!byoc_dim_is_constant(block) || (block.constant >= 1 && block.constant <= UINT32_MAX));
    if (!fits) return byoc_host_verify_refuse(v, "its grid or its block has no such size along axis %d", axis);
  }
  for (uint32_t k = 0; k < i->launch->argument_count; ++k) BYOC_RETURN_IF_ERROR(check_argument(v, i, k));
  for (size_t k = 0; k < i->operands.count; ++k) BYOC_RETURN_IF_ERROR(check_offset(v, i->operands.data[k]));
  for (size_t k = 0; k < i->results.count; ++k) BYOC_RETURN_IF_ERROR(check_offset(v, i->results.data[k]));
  return check_offset(v, i->workspace);
}

static byoc_status_t check_fill(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  const uint32_t bits = byoc_dtype_bits(i->results.data[0]->type->dtype);
  const bool fits = bits >= 64 || i->pattern >> (bits < 8 ? 8 : bits) == 0;
  if (bits <= 64 && !byoc_host_verify_holds_strings(i->results.data[0]) && fits) return BYOC_OK;
  return byoc_host_verify_refuse(v, "the elements of buffer '%s' cannot have these bits", i->results.data[0]->name);
}

byoc_status_t byoc_host_verify_on_device(byoc_host_verifier_t *v, const byoc_host_instruction_t *i) {
  BYOC_RETURN_IF_ERROR(check_queue(v, i));
  if (v->has_devices != NULL && uses_device(i) && !is_guarded(i, v->has_devices)) {
    return byoc_host_verify_refuse(v, "it uses a device where none may have started: put it into a branch on '%s'",
                                   v->has_devices->name);
  }
  if (v->has_engines != NULL && i->op == BYOC_HOST_ENGINE && !is_guarded(i, v->has_engines)) {
    return byoc_host_verify_refuse(v, "it calls an engine where none may have started: put it into a branch on '%s'",
                                   v->has_engines->name);
  }
  BYOC_RETURN_IF_ERROR(check_reaches(v, i));
  if (i->op == BYOC_HOST_LAUNCH) return check_launch(v, i);
  return i->op == BYOC_HOST_FILL ? check_fill(v, i) : BYOC_OK;
}

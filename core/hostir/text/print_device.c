// SPDX-License-Identifier: Apache-2.0
// Prints devices in host programs: declarations, launches, and the order of commands.
#include <inttypes.h>
#include <string.h>

#include "core/hostir/text/text_internal.h"
#include "core/ir/text_names.h"

const char *const byoc_host_queue_words[BYOC_HOST_QUEUE_KIND_COUNT] = {
#define BYOC_QUEUE_WORD(NAME, text) text,
    BYOC_HOST_QUEUE_LIST(BYOC_QUEUE_WORD)
#undef BYOC_QUEUE_WORD
};

const char *const byoc_host_argument_words[BYOC_HOST_ARGUMENT_KIND_COUNT] = {
#define BYOC_ARGUMENT_WORD(NAME, text) text,
    BYOC_HOST_ARGUMENT_LIST(BYOC_ARGUMENT_WORD)
#undef BYOC_ARGUMENT_WORD
};

static void print_quoted(const char *text, byoc_string_t *out) {
  byoc_text_print_quoted(text, strlen(text), out);
}

// ---- declarations ----

static void print_memory(const byoc_host_memory_t *memory, byoc_string_t *out) {
  byoc_string_append(out, "  memory   of ");
  byoc_text_print_name('%', memory->device->name, out);
  byoc_string_append(out, " scope ");
  print_quoted(memory->scope, out);
  if (memory->is_apart) byoc_string_append(out, " apart");
  byoc_string_appendf(out, " %" PRIu64 "\n", memory->size);
}

// "  queue    %q[4] on %d"
static void print_on_device(const char *kind, const char *name, uint32_t count, const byoc_host_device_t *device,
                            byoc_string_t *out) {
  byoc_string_appendf(out, "  %-8s ", kind);
  byoc_text_print_name('%', name, out);
  if (count > 0) byoc_string_appendf(out, "[%u]", count);
  byoc_string_append(out, " on ");
  byoc_text_print_name('%', device->name, out);
}

void byoc_host_print_devices(const byoc_host_program_t *program, byoc_string_t *out) {
  for (size_t k = 0; k < program->devices.count; ++k) {
    const byoc_host_device_t *device = program->devices.data[k];
    byoc_string_append(out, "  device   ");
    byoc_text_print_name('%', device->name, out);
    byoc_string_append(out, " = ");
    print_quoted(device->driver, out);
    byoc_string_appendf(out, " %d type %d\n", device->ordinal, device->type);
  }
  for (size_t k = 0; k < program->memories.count; ++k) print_memory(program->memories.data[k], out);
  for (size_t k = 0; k < program->queues.count; ++k) {
    const byoc_host_queue_t *queue = program->queues.data[k];
    print_on_device("queue", queue->name, queue->count, queue->device, out);
    if (queue->kind != BYOC_HOST_QUEUE_OWN) byoc_string_appendf(out, " %s", byoc_host_queue_words[queue->kind]);
    byoc_string_append(out, "\n");
  }
  for (size_t k = 0; k < program->events.count; ++k) {
    const byoc_host_event_t *event = program->events.data[k];
    print_on_device("event", event->name, event->count, event->device, out);
    byoc_string_append(out, "\n");
  }
}

// ---- instructions ----

static void print_argument(const byoc_host_argument_t *argument, byoc_string_t *out) {
  byoc_string_append(out, byoc_host_argument_words[argument->kind]);
  switch (argument->kind) {
  case BYOC_HOST_ARGUMENT_OPERAND:
  case BYOC_HOST_ARGUMENT_RESULT:
    byoc_string_appendf(out, " %u", argument->index);
    break;
  case BYOC_HOST_ARGUMENT_SCRATCH:
    break;
  case BYOC_HOST_ARGUMENT_F32:
  case BYOC_HOST_ARGUMENT_F64:
    byoc_string_append(out, " ");
    byoc_string_append_f64(out, argument->real);
    return;
  default:
    byoc_string_append(out, " ");
    byoc_dim_print(argument->value, out);
    return;
  }
  if (argument->offset_bytes != 0) byoc_string_appendf(out, " + %" PRIu64, argument->offset_bytes);
}

static void print_extents(const char *word, const byoc_dim_t extents[3], byoc_string_t *out) {
  byoc_string_appendf(out, " %s [", word);
  for (int axis = 0; axis < 3; ++axis) {
    if (axis > 0) byoc_string_append(out, ", ");
    byoc_dim_print(extents[axis], out);
  }
  byoc_string_append(out, "]");
}

void byoc_host_print_launch_head(const byoc_host_launch_t *launch, byoc_string_t *out) {
  print_quoted(launch->module, out);
  byoc_string_append(out, " ");
  print_quoted(launch->entry, out);
  print_extents("grid", launch->grid, out);
  print_extents("block", launch->block, out);
  byoc_string_append(out, " ");
}

void byoc_host_print_arguments(const byoc_host_launch_t *launch, byoc_string_t *out) {
  byoc_string_append(out, " with (");
  for (uint32_t k = 0; k < launch->argument_count; ++k) {
    if (k > 0) byoc_string_append(out, ", ");
    print_argument(&launch->arguments[k], out);
  }
  byoc_string_append(out, ")");
}

static void print_event(const byoc_host_event_use_t *use, byoc_string_t *out) {
  byoc_text_print_name('%', use->event->name, out);
  if (use->event->count == 0) return;
  byoc_string_append(out, "[");
  byoc_dim_print(use->place, out);
  byoc_string_append(out, "]");
}

void byoc_host_print_events(const byoc_host_instruction_t *i, byoc_string_t *out) {
  byoc_string_append(out, "(");
  for (size_t k = 0; k < i->waits.count; ++k) {
    if (k > 0) byoc_string_append(out, ", ");
    print_event(&i->waits.data[k], out);
  }
  byoc_string_append(out, ")");
}

void byoc_host_print_order(const byoc_host_instruction_t *i, byoc_string_t *out) {
  if (i->on.queue == NULL) return;
  byoc_string_append(out, i->op == BYOC_HOST_BARRIER ? "on " : " on ");
  byoc_text_print_name('%', i->on.queue->name, out);
  if (i->on.queue->count > 0) {
    byoc_string_append(out, "[");
    byoc_dim_print(i->on.place, out);
    byoc_string_append(out, "]");
  }
  if (i->waits.count > 0) {
    byoc_string_append(out, " after ");
    byoc_host_print_events(i, out);
  }
  if (i->signal.event == NULL) return;
  byoc_string_append(out, " signals ");
  print_event(&i->signal, out);
}

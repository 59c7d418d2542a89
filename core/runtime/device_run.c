// SPDX-License-Identifier: Apache-2.0
// Runs of a context's devices: gives commands to queues, and waits for them.
#include <stdbool.h>
#include <stddef.h>

#include "core/runtime/cell.h"
#include "core/runtime/device_internal.h"
#include "core/runtime/model.h"
#include "core/runtime/report.h"

// The verifier of races chooses by the same function (core/hostir/verify/happens_before_access.c).
static uint32_t choose(byoc_device_choice_t choice, int64_t index) {
  if (choice.count < 2) return choice.first;
  return choice.first + (uint32_t)byoc_dim_mod(index, choice.count);
}

// ---- failures ----

static int32_t refuse(byoc_devices_t *devices, const byoc_open_device_t *device, int32_t status) {
  char name[96];
  return byoc_devices_say(devices, status, "%s: %s", byoc_devices_name(devices, device, name),
                          byoc_devices_reason(devices, status));
}

static void drop(void *self, const char *message) {
  (void)self, (void)message;
}

// ---- waiting ----

// Starts all commands: some libraries hold them back until they are flushed.
static int32_t flush(byoc_devices_t *devices) {
  for (uint32_t i = 0; i < devices->places->queue_count; i++) {
    byoc_open_queue_t *queue = &devices->queues[i];
    if (!queue->is_open || queue->is_flushed) continue;
    const int32_t status = queue->device->driver->queue_flush(queue->device->handle, queue->handle);
    if (status != BYOC_OK) return refuse(devices, queue->device, status);
    queue->is_flushed = 1;
  }
  return BYOC_OK;
}

static int32_t wait_for(byoc_devices_t *devices, const byoc_open_device_t *device, byoc_device_event_t *handle) {
  const int32_t status = device->driver->event_wait(device->handle, handle);
  if (status == BYOC_OK) return BYOC_OK;
  const char *text = device->driver->event_error(device->handle, handle);
  if (text == NULL || text[0] == '\0') return refuse(devices, device, status);
  char name[96];
  return byoc_devices_say(devices, status, "%s: %s", byoc_devices_name(devices, device, name), text);
}

// The host waits for the events of an AWAIT.
static int32_t await(byoc_devices_t *devices, const byoc_device_command_row_t *place) {
  int32_t status = flush(devices);
  for (uint32_t i = place->first_wait; i < place->first_wait + place->wait_count && status == BYOC_OK; i++) {
    const byoc_open_event_t *event = &devices->events[choose(devices->places->waits[i], devices->waits[i])];
    if (event->device != NULL) status = wait_for(devices, event->device, event->handle);
  }
  return status;
}

// ---- times ----

static int32_t count(void *self, const char *name, const char *unit, double value) {
  return byoc_reporter_counter(self, name, unit, value);
}

// The host's time for a command, and the driver's own counters.
static int32_t report_counters(byoc_devices_t *devices, uint32_t index) {
  byoc_open_command_t *command = &devices->commands[index];
  const byoc_open_device_t *device = devices->queues[devices->places->commands[index].queue.first].device;
  const byoc_driver_t *driver = device->driver;
  byoc_reporter_t *reporter = devices->reporter;
  if (reporter == NULL || reporter->counter == NULL) return BYOC_OK;
  (void)byoc_reporter_counter(reporter, BYOC_COUNTER_HOST_TIME, "ns", (double)command->host_ns);
  command->host_ns = 0;
  const bool has_slot = driver->struct_size >= offsetof(byoc_driver_t, event_counters) + sizeof(driver->event_counters);
  if (!has_slot || driver->event_counters == NULL) return BYOC_OK;
  reporter->function = devices->places->steps[index];
  const int32_t status = driver->event_counters(device->handle, command->last, count, reporter);
  // A counter that cannot be shown ends the run with a message of its own.
  return status == BYOC_OK || byoc_reporter_status(reporter) != BYOC_OK ? BYOC_OK : refuse(devices, device, status);
}

static int32_t report_times(byoc_devices_t *devices, uint32_t index) {
  byoc_open_command_t *command = &devices->commands[index];
  uint64_t begin = 0, end = 0;
  if (devices->profile == NULL || command->last == NULL) return BYOC_OK;
  int32_t status = byoc_devices_times(devices, index, &begin, &end);
  if (status == BYOC_OK) status = report_counters(devices, index);
  if (status != BYOC_OK) return status;
  devices->profile(devices->profile_argument, devices->places->steps[index], end - begin);
  command->last = NULL;
  return BYOC_OK;
}

int32_t byoc_devices_times(byoc_devices_t *devices, uint32_t command, uint64_t *out_begin_ns, uint64_t *out_end_ns) {
  const byoc_open_device_t *device = devices->queues[devices->places->commands[command].queue.first].device;
  byoc_device_event_t *handle = devices->commands[command].last;
  *out_begin_ns = *out_end_ns = 0;
  if (handle == NULL) return byoc_devices_say(devices, BYOC_INVALID_ARGUMENT, "the command has not run");
  const int32_t status = device->driver->event_times(device->handle, handle, out_begin_ns, out_end_ns);
  return status == BYOC_OK ? BYOC_OK : refuse(devices, device, status);
}

// ---- commands ----

// The wait list of a command.
static uint32_t list_waits(byoc_devices_t *devices, const byoc_device_command_row_t *place) {
  uint32_t count = 0;
  for (uint32_t i = place->first_wait; i < place->first_wait + place->wait_count; i++) {
    const byoc_open_event_t *event = &devices->events[choose(devices->places->waits[i], devices->waits[i])];
    if (event->device != NULL) devices->order[count++] = event->handle;
  }
  return count;
}

static int32_t put(const byoc_device_command_row_t *place, const byoc_open_command_t *command,
                   const byoc_open_queue_t *queue, const byoc_device_order_t *order) {
  byoc_device_t *device = queue->device->handle;
  const byoc_driver_t *driver = queue->device->driver;
  switch (place->kind) {
  case BYOC_DEVICE_COMMAND_COPY:
    // The value has no elements, or the tensor is the caller's buffer.
    if (command->size_bytes == 0 || command->is_idle) return driver->barrier(device, queue->handle, order);
    return driver->copy(device, queue->handle, &command->source, &command->destination, command->size_bytes, order);
  case BYOC_DEVICE_COMMAND_FILL:
    if (command->size_bytes == 0) return driver->barrier(device, queue->handle, order);
    return driver->fill(device, queue->handle, command->destination.buffer, command->destination.offset_bytes,
                        command->size_bytes, &place->pattern, place->pattern_size_bytes, order);
  case BYOC_DEVICE_COMMAND_LAUNCH:
    return driver->launch(device, queue->handle, &command->launch, order);
  default:
    return driver->barrier(device, queue->handle, order);
  }
}

int32_t byoc_devices_run(byoc_devices_t *devices, uint32_t index) {
  const byoc_device_command_row_t *place = &devices->places->commands[index];
  byoc_open_command_t *command = &devices->commands[index];
  if (place->kind == BYOC_DEVICE_COMMAND_AWAIT) return await(devices, place);
  byoc_open_queue_t *queue = &devices->queues[choose(place->queue, command->queue)];
  int32_t status = BYOC_OK;
  if (devices->profile != NULL && command->last != NULL) { // of the loop's last iteration
    status = flush(devices);
    if (status == BYOC_OK) status = wait_for(devices, queue->device, command->last);
    if (status == BYOC_OK) status = report_times(devices, index);
  }
  if (status != BYOC_OK) return status;
  const bool is_signalled = place->signal.count > 0;
  const uint32_t chosen = is_signalled ? choose(place->signal, command->signal) : 0;
  byoc_device_event_t *handle = NULL;
  if (is_signalled) handle = devices->handles[command->first_handle + chosen - place->signal.first];
  if (!is_signalled && devices->places->times) handle = devices->handles[command->first_handle];
  const byoc_device_order_t order = {
      .waits = devices->order, .wait_count = list_waits(devices, place), .signal = handle};
  const uint64_t began_ns = devices->profile != NULL ? byoc_model_now_ns() : 0;
  status = put(place, command, queue, &order);
  if (devices->profile != NULL) command->host_ns += byoc_model_now_ns() - began_ns;
  if (status != BYOC_OK) return refuse(devices, queue->device, status);
  queue->is_open = 1;
  queue->is_flushed = 0;
  if (is_signalled) devices->events[chosen] = (byoc_open_event_t){.device = queue->device, .handle = handle};
  command->last = handle;
  return BYOC_OK;
}

int32_t byoc_devices_extent(byoc_devices_t *devices, int64_t value, uint32_t *out_extent) {
  *out_extent = (uint32_t)value;
  if (value >= 0 && value <= UINT32_MAX) return BYOC_OK;
  return byoc_devices_say(devices, BYOC_INVALID_ARGUMENT, "no launch has an extent of %lld", (long long)value);
}

int32_t byoc_devices_set_integer(byoc_devices_t *devices, uint32_t argument, int64_t value) {
  devices->arguments[argument].integer = value;
  if (devices->places->arguments[argument].kind != BYOC_DEVICE_ARGUMENT_I32) return BYOC_OK;
  if (value >= INT32_MIN && value <= INT32_MAX) return BYOC_OK;
  return byoc_devices_say(devices, BYOC_INVALID_ARGUMENT,
                          "a kernel gets a size of %lld, and counts by integers of 32 bits; the sizes of this run are "
                          "too large for the device's kernels",
                          (long long)value);
}

// ---- runs ----

int32_t byoc_devices_begin(byoc_devices_t *devices) {
  const byoc_device_tables_t *places = devices->places;
  devices->reason[0] = '\0';
  byoc_devices_drop_idle_cells(devices);
  for (uint32_t i = 0; i < places->event_count; i++) devices->events[i] = (byoc_open_event_t){0};
  for (uint32_t i = 0; i < places->command_count; i++) devices->commands[i].last = NULL;
  for (uint32_t i = 0; i < places->queue_count; i++) {
    if (devices->queues[i].caller == NULL) continue;
    const int32_t status = byoc_devices_bind_queue(devices, &devices->queues[i], places->queues[i].kind);
    if (status != BYOC_OK) return status;
  }
  return BYOC_OK;
}

int32_t byoc_devices_settle(byoc_devices_t *devices) {
  int32_t status = flush(devices);
  for (uint32_t i = 0; i < devices->places->queue_count; i++) { // all of them, even after a failure
    byoc_open_queue_t *queue = &devices->queues[i];
    if (!queue->is_open) continue;
    queue->is_open = 0;
    const int32_t ended = queue->device->driver->queue_wait(queue->device->handle, queue->handle);
    if (status == BYOC_OK && ended != BYOC_OK) status = refuse(devices, queue->device, ended);
  }
  return status;
}

int32_t byoc_devices_finish(byoc_devices_t *devices, int32_t status) {
  const byoc_runtime_t *const outer = devices->outer;
  const byoc_runtime_t silent = {.struct_size = outer->struct_size, .set_error = drop};
  if (status != BYOC_OK) devices->outer = &silent; // the message of the first failure stays
  const int32_t ended = byoc_devices_settle(devices);
  devices->outer = outer;
  if (status == BYOC_OK) status = ended;
  byoc_devices_take_back(devices);
  byoc_devices_end_cells(devices);
  for (uint32_t i = 0; i < devices->places->command_count && status == BYOC_OK; i++) status = report_times(devices, i);
  return status;
}

int32_t byoc_devices_read_bytes(byoc_devices_t *devices, uint32_t memory, const byoc_device_bytes_t *source,
                                uint64_t size_bytes, void *out) {
  byoc_open_device_t *device = byoc_devices_of_memory(devices, memory);
  byoc_device_queue_t *queue = NULL;
  int32_t status = byoc_devices_settle(devices);
  if (status == BYOC_OK) status = byoc_devices_service(devices, device, &queue);
  if (status != BYOC_OK || size_bytes == 0) return status;
  const byoc_device_bytes_t destination = {.host = out};
  status = device->driver->copy(device->handle, queue, source, &destination, size_bytes, NULL);
  if (status == BYOC_OK) status = device->driver->queue_wait(device->handle, queue);
  return status == BYOC_OK ? BYOC_OK : refuse(devices, device, status);
}

int32_t byoc_devices_read(byoc_devices_t *devices, uint32_t tensor, uint64_t offset_bytes, uint64_t size_bytes,
                          void *out) {
  const byoc_open_tensor_t *from = &devices->tensors[tensor];
  const byoc_device_bytes_t source = {.buffer = from->buffer, .offset_bytes = from->offset_bytes + offset_bytes};
  return byoc_devices_read_bytes(devices, devices->places->tensors[tensor].memory, &source, size_bytes, out);
}

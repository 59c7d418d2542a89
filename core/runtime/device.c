// SPDX-License-Identifier: Apache-2.0
// Opens and closes the devices of a context, with the code, queues and events that its runs use.
#include "core/runtime/device.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/runtime/device_internal.h"
#include "core/runtime/fit.h"

// ---- messages ----

static void set_reason(void *self, const char *message) {
  byoc_devices_t *devices = self;
  (void)snprintf(devices->reason, sizeof(devices->reason), "%s", message);
}

static void run_parallel(void *self, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain) {
  const byoc_devices_t *devices = self;
  devices->outer->parallel_for(devices->outer->self, body, argument, count, grain);
}

const char *byoc_devices_reason(const byoc_devices_t *devices, int32_t status) {
  return devices->reason[0] != '\0' ? devices->reason : byoc_status_name(status);
}

int32_t byoc_devices_say(byoc_devices_t *devices, int32_t status, const char *format, ...) {
  char text[640];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof(text), format, arguments);
  va_end(arguments);
  devices->outer->set_error(devices->outer->self, text);
  devices->reason[0] = '\0';
  return status;
}

const char *byoc_devices_name(const byoc_devices_t *devices, const byoc_open_device_t *device, char text[96]) {
  const byoc_device_row_t *place = &devices->places->devices[device - devices->devices];
  if (place->ordinal == 0) (void)snprintf(text, 96, "the device '%.64s'", place->name);
  if (place->ordinal != 0) (void)snprintf(text, 96, "the device '%.64s' %d", place->name, (int)place->ordinal);
  return text;
}

// ---- devices ----

// The caller's queue of a device; NULL: none.
static const byoc_caller_queue_t *find_caller(const byoc_devices_t *devices, const byoc_device_row_t *device) {
  for (uint32_t i = 0; i < devices->caller_count; i++) {
    const byoc_caller_queue_t *caller = &devices->callers[i];
    if (caller->ordinal == device->ordinal && strcmp(caller->driver, device->name) == 0) return caller;
  }
  return NULL;
}

static int32_t check_driver(byoc_devices_t *devices, const byoc_device_row_t *place) {
  const byoc_driver_t *driver = place->driver;
  if (driver->abi_version != BYOC_DRIVER_ABI_VERSION) {
    return byoc_devices_say(devices, BYOC_VERSION, "the driver '%s' has version %u, and this program runs version %d",
                            place->name, (unsigned)driver->abi_version, BYOC_DRIVER_ABI_VERSION);
  }
  // The end of its last required slot. A later byoc may add slots; tables of older plugins then end here.
  const size_t least = offsetof(byoc_driver_t, module_entry) + sizeof(driver->module_entry);
  if (driver->struct_size >= least) return BYOC_OK;
  return byoc_devices_say(devices, BYOC_VERSION, "the table of the driver '%s' has %u bytes, and this program reads %u",
                          place->name, (unsigned)driver->struct_size, (unsigned)least);
}

// Later code relies on the driver's description of the device.
static int32_t check_info(byoc_devices_t *devices, const byoc_open_device_t *device) {
  const byoc_device_info_t *info = &device->info;
  char name[96];
  (void)byoc_devices_name(devices, device, name);
  if (info->alignment == 0 || (info->alignment & (info->alignment - 1)) != 0) {
    return byoc_devices_say(devices, BYOC_INVALID_DATA,
                            "%s cannot start: its driver says that its alignment is %u, which is no power of two", name,
                            (unsigned)info->alignment);
  }
  const char *lacks = info->scope_count == 0 || info->scopes == NULL    ? "memory"
                      : info->format_count > 0 && info->formats == NULL ? "formats of code"
                                                                        : NULL;
  if (lacks == NULL) return BYOC_OK;
  return byoc_devices_say(devices, BYOC_INVALID_DATA, "%s cannot start: its driver does not list its %s", name, lacks);
}

static int32_t open_device(byoc_devices_t *devices, uint32_t index, byoc_runtime_values_t values) {
  const byoc_device_row_t *place = &devices->places->devices[index];
  byoc_open_device_t *device = &devices->devices[index];
  char name[96];
  int32_t status = check_driver(devices, place);
  if (status != BYOC_OK) return status;
  const byoc_caller_queue_t *caller = find_caller(devices, place);
  const byoc_runtime_schema_t schema = {place->name, place->options, place->option_count};
  device->options = byoc_runtime_options_make(&schema, values);
  if (device->options == NULL) return byoc_devices_say(devices, BYOC_OUT_OF_MEMORY, "out of memory");
  const byoc_device_init_t init = {.struct_size = sizeof(init),
                                   .ordinal = place->ordinal,
                                   .flags = devices->places->times ? BYOC_DEVICE_TIMES : 0,
                                   .runtime = &devices->runtime,
                                   .native = caller != NULL ? caller->current(caller->self) : NULL,
                                   .options = device->options,
                                   .option_count = place->option_count};
  device->driver = place->driver;
  status = place->driver->open(&init, &device->handle);
  if (status == BYOC_OK) {
    device->info = (byoc_device_info_t){.struct_size = sizeof(device->info)};
    status = place->driver->describe(device->handle, &device->info);
  }
  if (status == BYOC_OK) return check_info(devices, device);
  return byoc_devices_say(devices, status, "%s cannot start: %s", byoc_devices_name(devices, device, name),
                          byoc_devices_reason(devices, status));
}

int32_t byoc_devices_service(byoc_devices_t *devices, byoc_open_device_t *device, byoc_device_queue_t **out_queue) {
  int32_t status = BYOC_OK;
  char name[96];
  if (device->service == NULL) {
    status = device->driver->queue_create(device->handle, BYOC_QUEUE_OWN, NULL, &device->service);
  }
  *out_queue = device->service;
  if (status == BYOC_OK) return BYOC_OK;
  return byoc_devices_say(devices, status, "%s gives no queue: %s", byoc_devices_name(devices, device, name),
                          byoc_devices_reason(devices, status));
}

// ---- code ----

static bool takes(const byoc_device_info_t *info, const byoc_device_variant_row_t *variant) {
  if (variant->architecture != NULL &&
      (info->architecture == NULL || strcmp(variant->architecture, info->architecture) != 0)) {
    return false;
  }
  for (uint32_t i = 0; i < info->format_count; i++) {
    if (strcmp(info->formats[i], variant->format) == 0) return true;
  }
  return false;
}

static int32_t load_module(byoc_devices_t *devices, uint32_t index) {
  const byoc_device_module_row_t *place = &devices->places->modules[index];
  const byoc_open_device_t *device = &devices->devices[place->device];
  char name[96];
  int32_t status = BYOC_UNSUPPORTED;
  devices->reason[0] = '\0';
  if (place->fits != NULL) {
    status = byoc_driver_check_fits(device->driver, device->handle, &devices->runtime, place->fits);
    if (status != BYOC_OK) {
      return byoc_devices_say(devices, status, "the code '%s' is for '%s', which %s does not fit: %s", place->name,
                              place->fits, byoc_devices_name(devices, device, name),
                              byoc_devices_reason(devices, status));
    }
    status = BYOC_UNSUPPORTED;
  }
  for (uint32_t i = 0; i < place->variant_count && status == BYOC_UNSUPPORTED; i++) {
    const byoc_device_variant_row_t *variant = &place->variants[i];
    if (!takes(&device->info, variant)) continue;
    const byoc_device_code_t code = {.struct_size = sizeof(code),
                                     .format = variant->format,
                                     .data = variant->data,
                                     .size_bytes = variant->size_bytes,
                                     .options = variant->options};
    status = device->driver->module_load(device->handle, &code, &devices->modules[index]);
  }
  if (status == BYOC_OK) return BYOC_OK;
  devices->modules[index] = NULL;
  if (status == BYOC_UNSUPPORTED && devices->reason[0] == '\0') {
    return byoc_devices_say(devices, status, "none of the %u forms of the code '%s' is for %s (%s)",
                            (unsigned)place->variant_count, place->name, byoc_devices_name(devices, device, name),
                            device->info.architecture != NULL ? device->info.architecture : "?");
  }
  return byoc_devices_say(devices, status, "%s cannot load the code '%s': %s", byoc_devices_name(devices, device, name),
                          place->name, byoc_devices_reason(devices, status));
}

static int32_t find_entry(byoc_devices_t *devices, uint32_t index) {
  const byoc_device_entry_row_t *place = &devices->places->entries[index];
  const byoc_device_module_row_t *module = &devices->places->modules[place->module];
  const byoc_open_device_t *device = &devices->devices[module->device];
  const int32_t status = device->driver->module_entry(device->handle, devices->modules[place->module], place->name,
                                                      &devices->entries[index]);
  if (status == BYOC_OK) return BYOC_OK;
  return byoc_devices_say(devices, status, "the kernel '%s' of the code '%s' cannot be found: %s", place->name,
                          module->name, byoc_devices_reason(devices, status));
}

// ---- queues and events ----

int32_t byoc_devices_bind_queue(byoc_devices_t *devices, byoc_open_queue_t *queue, uint32_t kind) {
  const byoc_open_device_t *device = queue->device;
  const byoc_driver_t *driver = device->driver;
  char name[96];
  int32_t status = BYOC_OK;
  if (queue->caller != NULL) {
    void *native = queue->caller->current(queue->caller->self);
    if (queue->handle != NULL && native == queue->native) return BYOC_OK;
    queue->native = native;
    if (queue->handle != NULL && driver->queue_rebind != NULL) {
      status = driver->queue_rebind(device->handle, queue->handle, native);
    } else {
      driver->queue_destroy(device->handle, queue->handle);
      queue->handle = NULL;
      status = driver->queue_create(device->handle, BYOC_QUEUE_NATIVE, native, &queue->handle);
    }
    if (status == BYOC_OK) return BYOC_OK;
    queue->native = NULL;
    driver->queue_destroy(device->handle, queue->handle);
    queue->handle = NULL;
    return byoc_devices_say(devices, status, "%s cannot use the caller's queue: %s",
                            byoc_devices_name(devices, device, name), byoc_devices_reason(devices, status));
  }
  status = driver->queue_create(device->handle, kind == BYOC_DEVICE_QUEUE_DEFAULT ? BYOC_QUEUE_DEFAULT : BYOC_QUEUE_OWN,
                                NULL, &queue->handle);
  if (status == BYOC_OK) return BYOC_OK;
  return byoc_devices_say(devices, status, "%s gives no queue: %s", byoc_devices_name(devices, device, name),
                          byoc_devices_reason(devices, status));
}

static int32_t make_queue(byoc_devices_t *devices, uint32_t index) {
  const byoc_device_queue_row_t *place = &devices->places->queues[index];
  byoc_open_queue_t *queue = &devices->queues[index];
  queue->device = &devices->devices[place->device];
  if (place->kind == BYOC_DEVICE_QUEUE_CURRENT) {
    queue->caller = find_caller(devices, &devices->places->devices[place->device]);
  }
  return queue->caller != NULL
             ? BYOC_OK
             : byoc_devices_bind_queue(devices, queue, place->kind); // byoc_devices_begin binds the caller's queue
}

// The number of events that a command needs: one for each event that it may signal, or one for its time stamps.
static uint32_t handle_count(const byoc_device_tables_t *places, const byoc_device_command_row_t *command) {
  if (command->kind == BYOC_DEVICE_COMMAND_AWAIT) return 0;
  return command->signal.count > 0 ? command->signal.count : places->times;
}

static int32_t make_events(byoc_devices_t *devices, uint32_t index) {
  const byoc_device_command_row_t *place = &devices->places->commands[index];
  const uint32_t count = handle_count(devices->places, place), first = devices->commands[index].first_handle;
  char name[96];
  for (uint32_t i = 0; i < count; i++) {
    const byoc_open_device_t *device = devices->queues[place->queue.first].device;
    const int32_t status = device->driver->event_create(device->handle, &devices->handles[first + i]);
    if (status == BYOC_OK) continue;
    return byoc_devices_say(devices, status, "%s gives no event: %s", byoc_devices_name(devices, device, name),
                            byoc_devices_reason(devices, status));
  }
  return BYOC_OK;
}

static byoc_device_bytes_t find_bytes(const byoc_devices_t *devices, const byoc_device_span_t *place) {
  if (place->tensor == BYOC_DEVICE_NO_ROW) return (byoc_device_bytes_t){0};
  const byoc_open_tensor_t *tensor = &devices->tensors[place->tensor];
  return (byoc_device_bytes_t){.buffer = tensor->buffer, .offset_bytes = tensor->offset_bytes + place->offset_bytes};
}

void byoc_devices_place_command(byoc_devices_t *devices, uint32_t index) {
  const byoc_device_command_row_t *place = &devices->places->commands[index];
  byoc_open_command_t *command = &devices->commands[index];
  if (place->kind == BYOC_DEVICE_COMMAND_COPY) command->source = find_bytes(devices, &place->source);
  if (place->kind == BYOC_DEVICE_COMMAND_COPY || place->kind == BYOC_DEVICE_COMMAND_FILL) {
    command->destination = find_bytes(devices, &place->destination);
  }
}

static int32_t make_command(byoc_devices_t *devices, uint32_t index) {
  const byoc_device_command_row_t *place = &devices->places->commands[index];
  byoc_open_command_t *command = &devices->commands[index];
  command->size_bytes = place->size_bytes;
  byoc_devices_place_command(devices, index);
  if (place->kind == BYOC_DEVICE_COMMAND_LAUNCH) {
    command->launch = (byoc_device_launch_t){.struct_size = sizeof(command->launch),
                                             .argument_count = place->argument_count,
                                             .entry = devices->entries[place->entry],
                                             .arguments = devices->arguments + place->first_argument};
    memcpy(command->launch.grid, place->grid, sizeof(place->grid));
    memcpy(command->launch.block, place->block, sizeof(place->block));
  }
  return make_events(devices, index);
}

void byoc_devices_make_argument(byoc_devices_t *devices, uint32_t index) {
  const byoc_device_argument_row_t *place = &devices->places->arguments[index];
  byoc_device_argument_t *argument = &devices->arguments[index];
  *argument = (byoc_device_argument_t){.kind = place->kind, .integer = place->integer, .real = place->real};
  if (place->kind != BYOC_DEVICE_ARGUMENT_BUFFER || place->tensor == BYOC_DEVICE_NO_ROW) return;
  argument->buffer = devices->tensors[place->tensor].buffer;
  argument->offset_bytes = devices->tensors[place->tensor].offset_bytes + place->offset_bytes;
}

// ---- all of them ----

static void *zeros(uint32_t count, size_t size) {
  return calloc((size_t)count + 1, size);
}

static bool allocate_parts(byoc_devices_t *devices, const byoc_caller_queue_t *callers) {
  const byoc_device_tables_t *places = devices->places;
  uint32_t handles = 0, most_waits = 0;
  for (uint32_t i = 0; i < places->command_count; i++) {
    handles += handle_count(places, &places->commands[i]);
    if (places->commands[i].wait_count > most_waits) most_waits = places->commands[i].wait_count;
  }
  devices->commands = zeros(places->command_count, sizeof(*devices->commands));
  devices->arguments = zeros(places->argument_count, sizeof(*devices->arguments));
  devices->waits = zeros(places->wait_count, sizeof(*devices->waits));
  devices->devices = zeros(places->device_count, sizeof(*devices->devices));
  devices->queues = zeros(places->queue_count, sizeof(*devices->queues));
  devices->memories = zeros(places->memory_count, sizeof(*devices->memories));
  devices->tensors = zeros(places->tensor_count, sizeof(*devices->tensors));
  devices->ports = zeros(places->port_count, sizeof(*devices->ports));
  devices->modules = zeros(places->module_count, sizeof(byoc_device_module_t *));
  devices->entries = zeros(places->entry_count, sizeof(byoc_device_entry_t *));
  devices->events = zeros(places->event_count, sizeof(*devices->events));
  devices->handles = zeros(handles, sizeof(byoc_device_event_t *));
  devices->order = zeros(most_waits, sizeof(byoc_device_event_t *));
  devices->callers = zeros(devices->caller_count, sizeof(*callers));
  if (devices->callers == NULL || devices->order == NULL || devices->handles == NULL || devices->events == NULL ||
      devices->entries == NULL || devices->modules == NULL || devices->ports == NULL || devices->tensors == NULL ||
      devices->memories == NULL || devices->queues == NULL || devices->devices == NULL || devices->waits == NULL ||
      devices->arguments == NULL || devices->commands == NULL) {
    return false;
  }
  handles = 0;
  for (uint32_t i = 0; i < places->command_count; i++) {
    devices->commands[i].first_handle = handles;
    handles += handle_count(places, &places->commands[i]);
  }
  if (devices->caller_count > 0) memcpy(devices->callers, callers, devices->caller_count * sizeof(*callers));
  return true;
}

static int32_t set_up(byoc_devices_t *devices, byoc_runtime_values_t values) {
  const byoc_device_tables_t *places = devices->places;
  int32_t status = BYOC_OK;
  for (uint32_t i = 0; i < places->device_count && status == BYOC_OK; i++) status = open_device(devices, i, values);
  for (uint32_t i = 0; i < places->module_count && status == BYOC_OK; i++) status = load_module(devices, i);
  for (uint32_t i = 0; i < places->entry_count && status == BYOC_OK; i++) status = find_entry(devices, i);
  for (uint32_t i = 0; i < places->queue_count && status == BYOC_OK; i++) status = make_queue(devices, i);
  for (uint32_t i = 0; i < places->memory_count && status == BYOC_OK; i++) status = byoc_devices_allocate(devices, i);
  if (status == BYOC_OK) status = byoc_devices_upload(devices);
  for (uint32_t i = 0; i < places->port_count; i++) devices->tensors[places->ports[i].tensor].is_port = 1;
  for (uint32_t i = 0; i < places->argument_count && status == BYOC_OK; i++) byoc_devices_make_argument(devices, i);
  for (uint32_t i = 0; i < places->command_count && status == BYOC_OK; i++) status = make_command(devices, i);
  devices->reason[0] = '\0';
  return status;
}

int32_t byoc_devices_create(const byoc_device_tables_t *places, const byoc_runtime_t *runtime,
                            const byoc_caller_queue_t *callers, uint32_t caller_count, byoc_runtime_values_t values,
                            byoc_devices_t **out_devices) {
  *out_devices = NULL;
  byoc_devices_t *devices = calloc(1, sizeof(*devices));
  if (devices == NULL) {
    runtime->set_error(runtime->self, "out of memory");
    return BYOC_OUT_OF_MEMORY;
  }
  devices->places = places;
  devices->outer = runtime;
  devices->runtime = (byoc_runtime_t){.struct_size = offsetof(byoc_runtime_t, allocate),
                                      .thread_count = runtime->thread_count,
                                      .self = devices,
                                      .parallel_for = run_parallel,
                                      .set_error = set_reason};
  devices->caller_count = caller_count;
  int32_t status = allocate_parts(devices, callers) ? set_up(devices, values)
                                                    : byoc_devices_say(devices, BYOC_OUT_OF_MEMORY, "out of memory");
  if (status == BYOC_OK) {
    *out_devices = devices;
    devices = NULL; // now the caller's
  }
  byoc_devices_destroy(devices);
  return status;
}

// Closes one device, after everything that was made on it.
static void close_device(byoc_devices_t *devices, byoc_open_device_t *device) {
  const byoc_device_tables_t *places = devices->places;
  const byoc_driver_t *driver = device->driver;
  const uint32_t index = (uint32_t)(device - devices->devices);
  if (device->handle == NULL) return;
  for (uint32_t i = 0; i < places->queue_count; i++) {
    if (places->queues[i].device == index) driver->queue_destroy(device->handle, devices->queues[i].handle);
  }
  driver->queue_destroy(device->handle, device->service);
  for (uint32_t i = 0; i < places->command_count; i++) {
    const byoc_device_command_row_t *command = &places->commands[i];
    const uint32_t count = handle_count(places, command), first = devices->commands[i].first_handle;
    if (count == 0 || places->queues[command->queue.first].device != index) continue;
    for (uint32_t k = 0; k < count; k++) driver->event_destroy(device->handle, devices->handles[first + k]);
  }
  for (uint32_t i = 0; i < places->tensor_count; i++) {
    if (places->memories[places->tensors[i].memory].device != index || !devices->tensors[i].is_own) continue;
    driver->release(device->handle, devices->tensors[i].buffer);
  }
  for (uint32_t i = 0; i < places->memory_count; i++) {
    if (places->memories[i].device != index) continue;
    byoc_devices_drop_blocks(devices, i);
    driver->release(device->handle, devices->memories[i].workspace);
  }
  for (uint32_t i = 0; i < places->module_count; i++) {
    if (places->modules[i].device == index) driver->module_unload(device->handle, devices->modules[i]);
  }
  driver->close(device->handle);
}

void byoc_devices_destroy(byoc_devices_t *devices) {
  if (devices == NULL) return;
  if (devices->memories != NULL) byoc_devices_end_cells(devices);
  for (uint32_t i = 0; devices->commands != NULL && devices->devices != NULL && i < devices->places->device_count;
       i++) {
    close_device(devices, &devices->devices[i]);
  }
  for (uint32_t i = 0; devices->devices != NULL && i < devices->places->device_count; i++) {
    free(devices->devices[i].options);
  }
  free(devices->commands);
  free(devices->arguments);
  free(devices->waits);
  free(devices->devices);
  free(devices->queues);
  free(devices->memories);
  free(devices->tensors);
  free(devices->ports);
  free(devices->modules);
  free(devices->entries);
  free(devices->events);
  free(devices->handles);
  free(devices->order);
  free(devices->callers);
  free(devices);
}

// SPDX-License-Identifier: Apache-2.0
// Puts commands into queues: fill, copy, launch and barrier.
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>

enum { WAITS_ON_STACK = 16 };

// A command on its way into a queue: the events that it waits for, in OpenCL's form, and its own event.
typedef struct command_t {
  cl_event fixed[WAITS_ON_STACK];
  cl_event *waits; // `fixed`, or allocated; NULL: none
  cl_uint wait_count;
  cl_event event;
} command_t;

static void drop_waits(const byoc_device_t *device, command_t *command) {
  for (cl_uint i = 0; i < command->wait_count; ++i) (void)device->cl.clReleaseEvent(command->waits[i]);
  if (command->waits != command->fixed) free(command->waits);
}

// Collects what the command waits for: the command before it, so that none runs behind one that failed, and its events.
static int32_t begin(const byoc_device_t *device, const byoc_device_queue_t *queue, const byoc_device_order_t *order,
                     command_t *command) {
  uint32_t count = order != NULL ? order->wait_count : 0;
  command->waits = count < WAITS_ON_STACK ? command->fixed : malloc((count + 1) * sizeof(*command->waits));
  command->wait_count = 0;
  command->event = NULL;
  if (command->waits == NULL) return byoc_opencl_out_of_memory(device);
  if (queue->last != NULL && device->cl.clRetainEvent(queue->last) == CL_SUCCESS)
    command->waits[command->wait_count++] = queue->last;
  for (uint32_t i = 0; i < count; ++i) {
    cl_event event = byoc_opencl_event_get(device, order->waits[i]);
    if (event != NULL) command->waits[command->wait_count++] = event;
  }
  if (command->wait_count > 0) return BYOC_OK;
  drop_waits(device, command);
  command->waits = NULL; // OpenCL wants NULL for none
  return BYOC_OK;
}

// Ends a command with OpenCL's status. A command that signals is started at once: OpenCL wants that before
// another queue or the host waits for it.
static int32_t end(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_order_t *order,
                   command_t *command, cl_int code, const char *what) {
  drop_waits(device, command);
  if (code != CL_SUCCESS) return byoc_opencl_check_code(device->runtime, code, what);
  if (queue->last != NULL) (void)device->cl.clReleaseEvent(queue->last);
  queue->last = command->event;
  if (order == NULL || order->signal == NULL) return BYOC_OK;
  (void)device->cl.clRetainEvent(command->event);
  byoc_opencl_event_set(device, order->signal, command->event);
  return byoc_opencl_queue_flush(device, queue);
}

int32_t byoc_opencl_barrier(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_order_t *order) {
  command_t command;
  int32_t status = begin(device, queue, order, &command);
  if (status != BYOC_OK) return status;
  cl_int code =
      device->cl.clEnqueueBarrierWithWaitList(queue->queue, command.wait_count, command.waits, &command.event);
  return end(device, queue, order, &command, code, "put a barrier into a queue");
}

int32_t byoc_opencl_fill(byoc_device_t *device, byoc_device_queue_t *queue, byoc_device_buffer_t *buffer,
                         uint64_t offset_bytes, uint64_t size_bytes, const void *pattern, uint32_t pattern_size_bytes,
                         const byoc_device_order_t *order) {
  if (size_bytes == 0) return byoc_opencl_barrier(device, queue, order); // OpenCL 1.2 refuses empty fills
  command_t command;
  int32_t status = begin(device, queue, order, &command);
  if (status != BYOC_OK) return status;
  cl_int code = device->cl.clEnqueueFillBuffer(queue->queue, buffer->memory, pattern, pattern_size_bytes, offset_bytes,
                                               size_bytes, command.wait_count, command.waits, &command.event);
  return end(device, queue, order, &command, code, "fill a buffer");
}

static cl_int enqueue_copy(const byoc_device_t *device, cl_command_queue queue, const byoc_device_bytes_t *source,
                           const byoc_device_bytes_t *destination, uint64_t size_bytes, command_t *command) {
  if (source->buffer != NULL && destination->buffer != NULL) {
    return device->cl.clEnqueueCopyBuffer(queue, source->buffer->memory, destination->buffer->memory,
                                          source->offset_bytes, destination->offset_bytes, size_bytes,
                                          command->wait_count, command->waits, &command->event);
  }
  if (source->buffer != NULL) {
    return device->cl.clEnqueueReadBuffer(queue, source->buffer->memory, CL_FALSE, source->offset_bytes, size_bytes,
                                          destination->host, command->wait_count, command->waits, &command->event);
  }
  return device->cl.clEnqueueWriteBuffer(queue, destination->buffer->memory, CL_FALSE, destination->offset_bytes,
                                         size_bytes, source->host, command->wait_count, command->waits,
                                         &command->event);
}

int32_t byoc_opencl_copy(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_bytes_t *source,
                         const byoc_device_bytes_t *destination, uint64_t size_bytes,
                         const byoc_device_order_t *order) {
  if (source->buffer == NULL && destination->buffer == NULL)
    return byoc_plugin_fail(device->runtime, BYOC_INVALID_ARGUMENT, "neither side of a copy is on the device");
  if (size_bytes == 0) return byoc_opencl_barrier(device, queue, order); // OpenCL 1.2 refuses empty copies
  command_t command;
  int32_t status = begin(device, queue, order, &command);
  if (status != BYOC_OK) return status;
  cl_int code = enqueue_copy(device, queue->queue, source, destination, size_bytes, &command);
  return end(device, queue, order, &command, code, "copy bytes");
}

static int32_t set_buffer(byoc_device_t *device, cl_kernel kernel, cl_uint index,
                          const byoc_device_argument_t *argument) {
  cl_mem memory = NULL;
  int32_t status = byoc_opencl_part(device, argument->buffer, argument->offset_bytes, &memory);
  if (status != BYOC_OK) return status;
  return byoc_opencl_check_code(device->runtime, device->cl.clSetKernelArg(kernel, index, sizeof(memory), &memory),
                                "pass a buffer to a kernel");
}

static int32_t set_argument(byoc_device_t *device, cl_kernel kernel, cl_uint index,
                            const byoc_device_argument_t *argument) {
  cl_int i32 = (cl_int)argument->integer;
  cl_long i64 = argument->integer;
  cl_float f32 = (cl_float)argument->real;
  cl_double f64 = argument->real;
  cl_int code = CL_INVALID_ARG_VALUE;
  switch (argument->kind) {
  case BYOC_DEVICE_ARGUMENT_BUFFER:
    return set_buffer(device, kernel, index, argument);
  case BYOC_DEVICE_ARGUMENT_I32:
    code = device->cl.clSetKernelArg(kernel, index, sizeof(i32), &i32);
    break;
  case BYOC_DEVICE_ARGUMENT_I64:
    code = device->cl.clSetKernelArg(kernel, index, sizeof(i64), &i64);
    break;
  case BYOC_DEVICE_ARGUMENT_F32:
    code = device->cl.clSetKernelArg(kernel, index, sizeof(f32), &f32);
    break;
  case BYOC_DEVICE_ARGUMENT_F64:
    code = device->cl.clSetKernelArg(kernel, index, sizeof(f64), &f64);
    break;
  case BYOC_DEVICE_ARGUMENT_LOCAL:
    code = device->cl.clSetKernelArg(kernel, index, (size_t)argument->integer, NULL);
    break;
  }
  return byoc_opencl_check_code(device->runtime, code, "pass an argument to a kernel");
}

static int32_t set_arguments(byoc_device_t *device, const byoc_device_launch_t *launch) {
  const byoc_device_entry_t *entry = launch->entry;
  if (launch->argument_count != entry->argument_count) {
    return byoc_plugin_fail(device->runtime, BYOC_INVALID_ARGUMENT, "kernel %s has %u arguments, and %u are given",
                            entry->name, entry->argument_count, launch->argument_count);
  }
  for (uint32_t i = 0; i < launch->argument_count; ++i) {
    int32_t status = set_argument(device, entry->kernel, i, &launch->arguments[i]);
    if (status != BYOC_OK) return status;
  }
  return BYOC_OK;
}

int32_t byoc_opencl_launch(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_launch_t *launch,
                           const byoc_device_order_t *order) {
  size_t global[3], local[3];
  for (int i = 0; i < 3; ++i) {
    local[i] = launch->block[i];
    global[i] = local[i] * launch->grid[i];
    if (global[i] == 0) return byoc_opencl_barrier(device, queue, order);
  }
  command_t command;
  int32_t status = set_arguments(device, launch);
  if (status == BYOC_OK) status = begin(device, queue, order, &command);
  if (status != BYOC_OK) return status;
  cl_int code = device->cl.clEnqueueNDRangeKernel(queue->queue, launch->entry->kernel, 3, NULL, global, local,
                                                  command.wait_count, command.waits, &command.event);
  char what[160];
  (void)snprintf(what, sizeof(what), "launch kernel %s", launch->entry->name);
  return end(device, queue, order, &command, code, what);
}

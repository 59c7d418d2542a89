// SPDX-License-Identifier: Apache-2.0
// Commands: put into a stream behind the events that they wait for, and before those that they signal.
#include "driver.h"

#include <string.h>

enum {
  MAX_PARAMETERS = 128,
  SHARED_BYTES = 48 << 10, // that a kernel may use without being asked for
};

// Before the command: its waits, and the time of its begin.
static CUresult begin(byoc_device_t *device, const byoc_device_queue_t *queue, const byoc_device_order_t *order) {
  for (uint32_t i = 0; order != NULL && i < order->wait_count; ++i) {
    CUresult code = device->cu.cuStreamWaitEvent(queue->stream, order->waits[i]->end, 0);
    if (code != CUDA_SUCCESS) return code;
  }
  if (order == NULL || order->signal == NULL || order->signal->begin == NULL) return CUDA_SUCCESS;
  return device->cu.cuEventRecord(order->signal->begin, queue->stream);
}

static CUresult end(byoc_device_t *device, const byoc_device_queue_t *queue, const byoc_device_order_t *order) {
  if (order == NULL || order->signal == NULL) return CUDA_SUCCESS;
  byoc_device_event_t *event = order->signal;
  CUresult code = device->cu.cuEventRecord(event->end, queue->stream);
  (void)pthread_mutex_lock(&event->lock);
  if (code == CUDA_SUCCESS) event->is_signalled = true;
  event->error[0] = '\0';
  (void)pthread_mutex_unlock(&event->lock);
  return code;
}

// 8 bytes are two halves of 4 that take turns.
static CUresult fill(const byoc_cuda_api_t *cu, CUdeviceptr to, uint64_t bytes, const void *pattern,
                     uint32_t pattern_bytes, CUstream stream) {
  uint32_t halves[2] = {0, 0};
  unsigned char byte;
  unsigned short word;
  switch (bytes == 0 ? 0 : pattern_bytes) {
  case 0:
    return CUDA_SUCCESS;
  case 1:
    memcpy(&byte, pattern, 1);
    return cu->cuMemsetD8Async(to, byte, bytes, stream);
  case 2:
    memcpy(&word, pattern, 2);
    return cu->cuMemsetD16Async(to, word, bytes / 2, stream);
  case 4:
    memcpy(halves, pattern, 4);
    return cu->cuMemsetD32Async(to, halves[0], bytes / 4, stream);
  default:
    memcpy(halves, pattern, 8);
    for (int i = 0; i < 2; ++i) {
      CUresult code = cu->cuMemsetD2D32Async(to + 4u * (unsigned)i, 8, halves[i], 1, bytes / 8, stream);
      if (code != CUDA_SUCCESS) return code;
    }
    return CUDA_SUCCESS;
  }
}

int32_t byoc_cuda_fill(byoc_device_t *device, byoc_device_queue_t *queue, byoc_device_buffer_t *buffer,
                       uint64_t offset_bytes, uint64_t size_bytes, const void *pattern, uint32_t pattern_size_bytes,
                       const byoc_device_order_t *order) {
  int32_t status = byoc_cuda_enter(device);
  if (status != BYOC_OK) return status;
  CUresult code = begin(device, queue, order);
  if (code == CUDA_SUCCESS)
    code = fill(&device->cu, buffer->memory + offset_bytes, size_bytes, pattern, pattern_size_bytes, queue->stream);
  if (code == CUDA_SUCCESS) code = end(device, queue, order);
  byoc_cuda_leave(device);
  return byoc_cuda_check(device, code, "fill memory");
}

static CUresult copy(const byoc_cuda_api_t *cu, const byoc_device_bytes_t *from, const byoc_device_bytes_t *to,
                     size_t bytes, CUstream stream) {
  if (bytes == 0) return CUDA_SUCCESS;
  if (from->buffer == NULL)
    return cu->cuMemcpyHtoDAsync(to->buffer->memory + to->offset_bytes, from->host, bytes, stream);
  CUdeviceptr memory = from->buffer->memory + from->offset_bytes;
  if (to->buffer == NULL) return cu->cuMemcpyDtoHAsync(to->host, memory, bytes, stream);
  return cu->cuMemcpyDtoDAsync(to->buffer->memory + to->offset_bytes, memory, bytes, stream);
}

int32_t byoc_cuda_copy(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_bytes_t *source,
                       const byoc_device_bytes_t *destination, uint64_t size_bytes, const byoc_device_order_t *order) {
  if (source->buffer == NULL && destination->buffer == NULL)
    return byoc_plugin_fail(device->runtime, BYOC_INVALID_ARGUMENT, "a copy has at least one side on the device");
  int32_t status = byoc_cuda_enter(device);
  if (status != BYOC_OK) return status;
  CUresult code = begin(device, queue, order);
  if (code == CUDA_SUCCESS) code = copy(&device->cu, source, destination, (size_t)size_bytes, queue->stream);
  if (code == CUDA_SUCCESS) code = end(device, queue, order);
  byoc_cuda_leave(device);
  return byoc_cuda_check(device, code, "copy");
}

// A parameter as the kernel reads it.
typedef union parameter_t {
  CUdeviceptr memory;
  int32_t i32;
  int64_t i64;
  float f32;
  double f64;
} parameter_t;

typedef struct parameters_t {
  parameter_t values[MAX_PARAMETERS];
  void *places[MAX_PARAMETERS];
  uint32_t count;
  uint32_t shared_bytes;
} parameters_t;

// Memory of a work-group is dynamic shared memory, `extern __shared__`: no parameter of the kernel, and one at most.
static const char *read_parameter(const byoc_device_argument_t *argument, parameters_t *out) {
  parameter_t *value = &out->values[out->count];
  switch (argument->kind) {
  case BYOC_DEVICE_ARGUMENT_BUFFER:
    value->memory = argument->buffer->memory + argument->offset_bytes;
    break;
  case BYOC_DEVICE_ARGUMENT_I32:
    value->i32 = (int32_t)argument->integer;
    break;
  case BYOC_DEVICE_ARGUMENT_I64:
    value->i64 = argument->integer;
    break;
  case BYOC_DEVICE_ARGUMENT_F32:
    value->f32 = (float)argument->real;
    break;
  case BYOC_DEVICE_ARGUMENT_F64:
    value->f64 = argument->real;
    break;
  case BYOC_DEVICE_ARGUMENT_LOCAL:
    if (out->shared_bytes != 0) return "a CUDA kernel has at most one argument of work-group memory";
    out->shared_bytes = (uint32_t)argument->integer;
    return NULL;
  default:
    return "an argument of a launch has an unknown kind";
  }
  out->places[out->count++] = value;
  return NULL;
}

static int32_t read_parameters(byoc_device_t *device, const byoc_device_launch_t *launch, parameters_t *out) {
  const char *wrong = launch->argument_count > MAX_PARAMETERS ? "a launch has more arguments than 128" : NULL;
  for (uint32_t i = 0; wrong == NULL && i < launch->argument_count; ++i)
    wrong = read_parameter(&launch->arguments[i], out);
  return wrong == NULL ? BYOC_OK : byoc_plugin_fail(device->runtime, BYOC_INVALID_ARGUMENT, "%s", wrong);
}

static CUresult launch_kernel(byoc_device_t *device, const byoc_device_queue_t *queue,
                              const byoc_device_launch_t *launch, parameters_t *parameters) {
  byoc_device_entry_t *entry = launch->entry;
  const uint32_t *grid = launch->grid, *block = launch->block;
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) return CUDA_SUCCESS;
  uint32_t shared_bytes = parameters->shared_bytes;
  if (shared_bytes > SHARED_BYTES && shared_bytes > entry->shared_bytes) {
    CUresult code = device->cu.cuFuncSetAttribute(entry->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                                  (int)shared_bytes);
    if (code != CUDA_SUCCESS) return code;
    entry->shared_bytes = shared_bytes;
  }
  return device->cu.cuLaunchKernel(entry->function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                                   shared_bytes, queue->stream, parameters->places, NULL);
}

int32_t byoc_cuda_launch(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_launch_t *launch,
                         const byoc_device_order_t *order) {
  parameters_t parameters;
  parameters.count = parameters.shared_bytes = 0;
  int32_t status = read_parameters(device, launch, &parameters);
  if (status == BYOC_OK) status = byoc_cuda_enter(device);
  if (status != BYOC_OK) return status;
  CUresult code = begin(device, queue, order);
  if (code == CUDA_SUCCESS) code = launch_kernel(device, queue, launch, &parameters);
  if (code == CUDA_SUCCESS) code = end(device, queue, order);
  byoc_cuda_leave(device);
  return byoc_cuda_check(device, code, "launch a kernel");
}

int32_t byoc_cuda_barrier(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_order_t *order) {
  int32_t status = byoc_cuda_enter(device);
  if (status != BYOC_OK) return status;
  CUresult code = begin(device, queue, order);
  if (code == CUDA_SUCCESS) code = end(device, queue, order);
  byoc_cuda_leave(device);
  return byoc_cuda_check(device, code, "order two streams");
}

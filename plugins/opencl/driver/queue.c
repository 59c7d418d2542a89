// SPDX-License-Identifier: Apache-2.0
// Queues: our own, and those of the caller.
#include "driver.h"

#include <stdlib.h>

// A queue of the caller runs commands in order, on this device, and in the context in which the buffers are.
static int32_t check_native(const byoc_device_t *device, cl_command_queue queue) {
  cl_context context = NULL;
  cl_command_queue_properties properties = 0;
  if (queue == NULL) return byoc_plugin_fail(device->runtime, BYOC_INVALID_ARGUMENT, "the caller's queue is NULL");
  cl_int code = device->cl.clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof(context), &context, NULL);
  if (code == CL_SUCCESS)
    code = device->cl.clGetCommandQueueInfo(queue, CL_QUEUE_PROPERTIES, sizeof(properties), &properties, NULL);
  if (code != CL_SUCCESS) return byoc_opencl_check_code(device->runtime, code, "read the caller's queue");
  if (context != device->context) {
    return byoc_plugin_fail(device->runtime, BYOC_INVALID_ARGUMENT,
                            "the caller's queue belongs to another OpenCL context than the device");
  }
  if ((properties & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE) != 0)
    return byoc_plugin_fail(device->runtime, BYOC_INVALID_ARGUMENT, "the caller's queue runs commands out of order");
  return BYOC_OK;
}

static int32_t obtain(byoc_device_t *device, uint32_t kind, void *native, cl_command_queue *out_queue) {
  cl_int code = CL_SUCCESS;
  int32_t status;
  switch (kind) {
  case BYOC_QUEUE_OWN:
    *out_queue = device->cl.clCreateCommandQueue(device->context, device->id,
                                                 device->has_times ? CL_QUEUE_PROFILING_ENABLE : 0, &code);
    return byoc_opencl_check_code(device->runtime, code, "make a queue");
  case BYOC_QUEUE_NATIVE:
    status = check_native(device, native);
    if (status != BYOC_OK) return status;
    *out_queue = native;
    return byoc_opencl_check_code(device->runtime, device->cl.clRetainCommandQueue(native), "use the caller's queue");
  default:
    return byoc_plugin_fail(device->runtime, BYOC_UNSUPPORTED, "OpenCL has no queue that is used by default");
  }
}

int32_t byoc_opencl_queue_create(byoc_device_t *device, uint32_t kind, void *native, byoc_device_queue_t **out_queue) {
  *out_queue = NULL;
  byoc_device_queue_t *queue = calloc(1, sizeof(*queue));
  if (queue == NULL) return byoc_opencl_out_of_memory(device);
  int32_t status = obtain(device, kind, native, &queue->queue);
  if (status != BYOC_OK) {
    free(queue);
    return status;
  }
  queue->next = device->queues;
  device->queues = queue;
  *out_queue = queue;
  return BYOC_OK;
}

static void forget(const byoc_device_t *device, byoc_device_queue_t *queue) {
  if (queue->last != NULL) (void)device->cl.clReleaseEvent(queue->last);
  queue->last = NULL;
}

void byoc_opencl_queue_destroy(byoc_device_t *device, byoc_device_queue_t *queue) {
  if (queue == NULL) return;
  byoc_device_queue_t **link = &device->queues;
  while (*link != queue) link = &(*link)->next;
  *link = queue->next;
  (void)device->cl.clFinish(queue->queue);
  forget(device, queue);
  (void)device->cl.clReleaseCommandQueue(queue->queue);
  free(queue);
}

int32_t byoc_opencl_queue_rebind(byoc_device_t *device, byoc_device_queue_t *queue, void *native) {
  if (native == queue->queue) return BYOC_OK;
  cl_command_queue next = NULL;
  int32_t status = obtain(device, BYOC_QUEUE_NATIVE, native, &next);
  if (status != BYOC_OK) return status;
  (void)device->cl.clFlush(queue->queue); // the next command waits for the last one there
  (void)device->cl.clReleaseCommandQueue(queue->queue);
  queue->queue = next;
  return BYOC_OK;
}

int32_t byoc_opencl_queue_flush(byoc_device_t *device, byoc_device_queue_t *queue) {
  return byoc_opencl_check_code(device->runtime, device->cl.clFlush(queue->queue), "start a queue");
}

// Each command waits for the one before, so a failure is seen at the last one.
int32_t byoc_opencl_queue_wait(byoc_device_t *device, byoc_device_queue_t *queue) {
  if (queue->last == NULL) return BYOC_OK;
  cl_int state = byoc_opencl_await(device, queue->last);
  if (state >= 0) return BYOC_OK;
  forget(device, queue);
  return byoc_opencl_check_code(device->runtime, state, "run the commands of a queue");
}

void byoc_opencl_finish_queues(byoc_device_t *device) {
  for (byoc_device_queue_t *queue = device->queues; queue != NULL; queue = queue->next)
    (void)device->cl.clFinish(queue->queue);
}

// SPDX-License-Identifier: Apache-2.0
// Events: those of CUDA. They are recorded after a command, and before it if times are measured.
#include "driver.h"

#include <stdlib.h>
#include <string.h>

static void destroy(byoc_device_t *device, byoc_device_event_t *event) {
  if (event->begin != NULL) (void)device->cu.cuEventDestroy(event->begin);
  if (event->end != NULL) (void)device->cu.cuEventDestroy(event->end);
  (void)pthread_mutex_destroy(&event->lock);
  free(event);
}

int32_t byoc_cuda_event_create(byoc_device_t *device, byoc_device_event_t **out_event) {
  *out_event = NULL;
  int32_t status = byoc_cuda_enter(device);
  if (status != BYOC_OK) return status;
  byoc_device_event_t *event = calloc(1, sizeof(*event));
  if (event == NULL || pthread_mutex_init(&event->lock, NULL) != 0) {
    free(event);
    byoc_cuda_leave(device);
    return byoc_cuda_out_of_memory(device);
  }
  CUresult code = device->cu.cuEventCreate(&event->end, device->has_times ? 0 : CU_EVENT_DISABLE_TIMING);
  if (code == CUDA_SUCCESS && device->has_times) code = device->cu.cuEventCreate(&event->begin, 0);
  if (code == CUDA_SUCCESS)
    *out_event = event;
  else
    destroy(device, event);
  byoc_cuda_leave(device);
  return byoc_cuda_check(device, code, "make an event");
}

void byoc_cuda_event_destroy(byoc_device_t *device, byoc_device_event_t *event) {
  if (event == NULL) return;
  if (byoc_cuda_enter(device) == BYOC_OK) {
    destroy(device, event);
    byoc_cuda_leave(device);
  }
}

// The status of the command; records the message if it failed.
static int32_t settle(byoc_device_t *device, byoc_device_event_t *event, CUresult code) {
  (void)pthread_mutex_lock(&event->lock);
  if (code == CUDA_SUCCESS)
    event->error[0] = '\0';
  else if (event->error[0] == '\0') // a second thread may have recorded it
    byoc_cuda_describe_code(device, code, "run a command", event->error, sizeof(event->error));
  (void)pthread_mutex_unlock(&event->lock);
  return byoc_cuda_status_of(code);
}

int32_t byoc_cuda_event_query(byoc_device_t *device, byoc_device_event_t *event, int32_t *out_is_complete) {
  *out_is_complete = 1;
  CUresult code = device->cu.cuCtxPushCurrent(device->context);
  if (code == CUDA_SUCCESS) {
    code = device->cu.cuEventQuery(event->end);
    byoc_cuda_leave(device);
  }
  *out_is_complete = code != CUDA_ERROR_NOT_READY;
  return *out_is_complete ? settle(device, event, code) : BYOC_OK;
}

int32_t byoc_cuda_event_wait(byoc_device_t *device, byoc_device_event_t *event) {
  CUresult code = device->cu.cuCtxPushCurrent(device->context);
  if (code == CUDA_SUCCESS) {
    code = device->cu.cuEventSynchronize(event->end);
    byoc_cuda_leave(device);
  }
  return settle(device, event, code);
}

int32_t byoc_cuda_event_times(byoc_device_t *device, byoc_device_event_t *event, uint64_t *out_begin_ns,
                              uint64_t *out_end_ns) {
  *out_begin_ns = *out_end_ns = 0;
  if (!device->has_times) return BYOC_UNSUPPORTED;
  (void)pthread_mutex_lock(&event->lock);
  bool is_signalled = event->is_signalled;
  (void)pthread_mutex_unlock(&event->lock);
  if (!is_signalled) return BYOC_INVALID_ARGUMENT;
  float begin = 0, end = 0; // milliseconds, to half a microsecond
  CUresult code = device->cu.cuCtxPushCurrent(device->context);
  if (code != CUDA_SUCCESS) return byoc_cuda_status_of(code);
  code = device->cu.cuEventElapsedTime(&begin, device->origin, event->begin);
  if (code == CUDA_SUCCESS) code = device->cu.cuEventElapsedTime(&end, device->origin, event->end);
  byoc_cuda_leave(device);
  if (code == CUDA_ERROR_NOT_READY) return BYOC_INVALID_ARGUMENT;
  *out_begin_ns = (uint64_t)((double)begin * 1e6);
  *out_end_ns = (uint64_t)((double)end * 1e6);
  if (*out_end_ns < *out_begin_ns) *out_end_ns = *out_begin_ns;
  return byoc_cuda_status_of(code);
}

const char *byoc_cuda_event_error(byoc_device_t *device, byoc_device_event_t *event) {
  int32_t is_complete = 0;
  (void)byoc_cuda_event_query(device, event, &is_complete);
  return event->error;
}

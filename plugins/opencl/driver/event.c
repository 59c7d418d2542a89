// SPDX-License-Identifier: Apache-2.0
// Events: each stands for the last command that signalled it.
#include "driver.h"

#include <stdio.h>
#include <stdlib.h>

int32_t byoc_opencl_event_create(byoc_device_t *device, byoc_device_event_t **out_event) {
  *out_event = NULL;
  byoc_device_event_t *event = calloc(1, sizeof(*event));
  if (event == NULL) return byoc_opencl_out_of_memory(device);
  if (pthread_mutex_init(&event->mutex, NULL) != 0) {
    free(event);
    return byoc_opencl_out_of_memory(device);
  }
  *out_event = event;
  return BYOC_OK;
}

void byoc_opencl_event_destroy(byoc_device_t *device, byoc_device_event_t *event) {
  if (event == NULL) return;
  byoc_opencl_event_set(device, event, NULL);
  (void)pthread_mutex_destroy(&event->mutex);
  free(event);
}

void byoc_opencl_event_set(const byoc_device_t *device, byoc_device_event_t *event, cl_event command) {
  (void)pthread_mutex_lock(&event->mutex);
  cl_event old = event->event;
  event->event = command;
  event->error[0] = '\0';
  (void)pthread_mutex_unlock(&event->mutex);
  if (old != NULL) (void)device->cl.clReleaseEvent(old);
}

cl_event byoc_opencl_event_get(const byoc_device_t *device, byoc_device_event_t *event) {
  (void)pthread_mutex_lock(&event->mutex);
  cl_event command = event->event;
  if (command != NULL) (void)device->cl.clRetainEvent(command);
  (void)pthread_mutex_unlock(&event->mutex);
  return command;
}

// CL_COMPLETE; a larger value as long as the command has not ended; or the negative code of its failure.
static cl_int execution_status(const byoc_device_t *device, cl_event command) {
  cl_int state = CL_COMPLETE;
  cl_int code = device->cl.clGetEventInfo(command, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, NULL);
  return code == CL_SUCCESS ? state : code;
}

cl_int byoc_opencl_await(const byoc_device_t *device, cl_event command) {
  cl_int code = device->cl.clWaitForEvents(1, &command);
  cl_int state = execution_status(device, command);
  return code != CL_SUCCESS && state >= 0 ? code : state; // the wait itself may fail
}

// The status of a command that ended in `state`; records the message if it failed.
static int32_t settle(byoc_device_event_t *event, cl_event command, cl_int state) {
  if (state >= 0) return BYOC_OK;
  (void)pthread_mutex_lock(&event->mutex);
  if (event->event == command) {
    (void)snprintf(event->error, sizeof(event->error), "a command of the OpenCL device failed: %s (%d)",
                   byoc_opencl_code_name(state), state);
  }
  (void)pthread_mutex_unlock(&event->mutex);
  return byoc_opencl_status_of(state);
}

int32_t byoc_opencl_event_query(byoc_device_t *device, byoc_device_event_t *event, int32_t *out_is_complete) {
  *out_is_complete = 1;
  cl_event command = byoc_opencl_event_get(device, event);
  if (command == NULL) return BYOC_OK;
  cl_int state = execution_status(device, command);
  *out_is_complete = state <= CL_COMPLETE;
  int32_t status = settle(event, command, state);
  (void)device->cl.clReleaseEvent(command);
  return status;
}

int32_t byoc_opencl_event_wait(byoc_device_t *device, byoc_device_event_t *event) {
  cl_event command = byoc_opencl_event_get(device, event);
  if (command == NULL) return BYOC_OK;
  int32_t status = settle(event, command, byoc_opencl_await(device, command));
  (void)device->cl.clReleaseEvent(command);
  return status;
}

static int32_t read_times(const byoc_device_t *device, cl_event command, uint64_t *out_begin_ns, uint64_t *out_end_ns) {
  cl_ulong begin = 0, end = 0;
  if (command == NULL || execution_status(device, command) > CL_COMPLETE) {
    return byoc_plugin_fail(device->runtime, BYOC_INVALID_ARGUMENT,
                            "the times of a command are known only when it has ended");
  }
  cl_int code = device->cl.clGetEventProfilingInfo(command, CL_PROFILING_COMMAND_START, sizeof(begin), &begin, NULL);
  if (code == CL_SUCCESS)
    code = device->cl.clGetEventProfilingInfo(command, CL_PROFILING_COMMAND_END, sizeof(end), &end, NULL);
  if (code != CL_SUCCESS) return byoc_opencl_check_code(device->runtime, code, "read the times of a command");
  *out_begin_ns = begin;
  *out_end_ns = end;
  return BYOC_OK;
}

int32_t byoc_opencl_event_times(byoc_device_t *device, byoc_device_event_t *event, uint64_t *out_begin_ns,
                                uint64_t *out_end_ns) {
  *out_begin_ns = *out_end_ns = 0;
  if (!device->has_times) {
    return byoc_plugin_fail(device->runtime, BYOC_UNSUPPORTED,
                            "the device was opened without BYOC_DEVICE_TIMES and measures no times");
  }
  cl_event command = byoc_opencl_event_get(device, event);
  int32_t status = read_times(device, command, out_begin_ns, out_end_ns);
  if (command != NULL) (void)device->cl.clReleaseEvent(command);
  return status;
}

const char *byoc_opencl_event_error(byoc_device_t *device, byoc_device_event_t *event) {
  int32_t is_complete = 0;
  (void)byoc_opencl_event_query(device, event, &is_complete);
  return event->error;
}

// SPDX-License-Identifier: Apache-2.0
// The events of the driver `sim`: each stands for a command.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/devices/sim_internal.h"

int32_t sim_event_create(byoc_device_t *device, byoc_device_event_t **out_event) {
  *out_event = NULL;
  int32_t status = sim_enter(device, SIM_CALL_event);
  byoc_device_event_t *event = status == BYOC_OK ? calloc(1, sizeof(*event)) : NULL;
  if (event) {
    event->device = device;
    SIM_ALIVE(device, events, 1);
    sim_log(device, "event");
    *out_event = event;
  } else if (status == BYOC_OK) {
    status = sim_fail(device, BYOC_OUT_OF_MEMORY, "out of memory");
  }
  sim_leave(device);
  return status;
}

void sim_event_destroy(byoc_device_t *device, byoc_device_event_t *event) {
  if (!event) return;
  sim_enter_uncounted(device);
  pthread_mutex_lock(&device->lock);
  if (event->command) {
    sim_wait_until_ended(event->command);
    sim_command_drop(event->command);
  }
  pthread_mutex_unlock(&device->lock);
  free(event);
  SIM_ALIVE(device, events, -1);
  sim_leave(device);
}

int32_t sim_event_query(byoc_device_t *device, byoc_device_event_t *event, int32_t *out_is_complete) {
  pthread_mutex_lock(&device->lock);
  sim_command_t *command = event->command;
  int32_t status = BYOC_OK;
  *out_is_complete = !command || command->state == SIM_ENDED;
  if (command && command->state == SIM_ENDED) status = command->status;
  pthread_mutex_unlock(&device->lock);
  return status;
}

int32_t sim_event_wait(byoc_device_t *device, byoc_device_event_t *event) {
  int32_t status = BYOC_OK;
  pthread_mutex_lock(&device->lock);
  int fails = sim_counted_fails(device, SIM_CALL_wait, 0);
  fails |= sim_counted_fails(device, SIM_CALL_any, 0);
  sim_command_t *command = event->command;
  if (command) {
    ++command->reference_count; // another thread may signal the event anew
    sim_wait_until_ended(command);
    status = command->status;
    if (fails && !status) {
      status = BYOC_INTERNAL;
      snprintf(command->error, sizeof(command->error), "the device 'sim' was told to fail at this wait");
    }
    sim_command_drop(command);
  }
  pthread_mutex_unlock(&device->lock);
  return status;
}

int32_t sim_event_times(byoc_device_t *device, byoc_device_event_t *event, uint64_t *out_begin_ns,
                        uint64_t *out_end_ns) {
  *out_begin_ns = *out_end_ns = 0;
  if (!(device->flags & BYOC_DEVICE_TIMES)) return BYOC_UNSUPPORTED;
  pthread_mutex_lock(&device->lock);
  const sim_command_t *command = event->command;
  int has_ended = command && command->state == SIM_ENDED;
  if (has_ended) {
    *out_begin_ns = command->begin_ns;
    *out_end_ns = command->end_ns;
  }
  pthread_mutex_unlock(&device->lock);
  return has_ended ? BYOC_OK : BYOC_INVALID_ARGUMENT;
}

// Cycles at 1 GHz; with BYOC_SIM=nan a number that is none.
int32_t sim_event_counters(byoc_device_t *device, byoc_device_event_t *event, byoc_device_counter_sink_t sink,
                           void *argument) {
  uint64_t begin_ns = 0, end_ns = 0;
  int32_t status = sim_event_times(device, event, &begin_ns, &end_ns);
  if (status == BYOC_OK) status = sink(argument, "cycles", "", (double)(end_ns - begin_ns));
  if (status == BYOC_OK) status = sink(argument, "utilisation", "%", device->options.nan ? (double)NAN : 50.0);
  return status;
}

const char *sim_event_error(byoc_device_t *device, byoc_device_event_t *event) {
  pthread_mutex_lock(&device->lock);
  const sim_command_t *command = event->command;
  const char *error = command && command->state == SIM_ENDED ? command->error : "";
  pthread_mutex_unlock(&device->lock);
  return error;
}

// SPDX-License-Identifier: Apache-2.0
// Measures the cost of commands and copies of a device.
#include "core/device/cost.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/log.h"

// Each figure is the best of a few rounds: a round that was interrupted says nothing about the device.
enum { ROUNDS = 5, COMMANDS = 64, FEW_BYTES = 64, MANY_BYTES = 4 << 20 };

double byoc_device_copy_ns(const byoc_device_costs_t *costs, byoc_device_direction_t direction, double bytes) {
  return costs->base_ns[direction] + bytes * costs->ns_per_byte[direction];
}

typedef struct measuring_t {
  const byoc_driver_t *driver;
  byoc_device_t *device;
  byoc_device_queue_t *queue;
  byoc_device_buffer_t *buffer;
  void *memory; // of the host
  char error[256];
} measuring_t;

static void keep_error(void *self, const char *message) {
  measuring_t *m = self;
  snprintf(m->error, sizeof(m->error), "%s", message);
}

// COMMANDS small fills, one behind the other.
static int32_t time_commands(measuring_t *m, double *out_ns) {
  const uint32_t zero = 0;
  const int64_t start_ns = byoc_now_ns();
  int32_t status = BYOC_OK;
  for (int i = 0; i < COMMANDS && status == BYOC_OK; ++i) {
    status = m->driver->fill(m->device, m->queue, m->buffer, 0, sizeof(zero), &zero, sizeof(zero), NULL);
  }
  if (status == BYOC_OK) status = m->driver->queue_wait(m->device, m->queue);
  *out_ns = (double)(byoc_now_ns() - start_ns) / COMMANDS;
  return status;
}

static int32_t time_copy(measuring_t *m, byoc_device_direction_t direction, uint64_t size_bytes, double *out_ns) {
  const byoc_device_bytes_t host = {.host = m->memory}, device = {.buffer = m->buffer};
  const bool is_upload = direction == BYOC_DEVICE_UPLOAD;
  const int64_t start_ns = byoc_now_ns();
  int32_t status =
      m->driver->copy(m->device, m->queue, is_upload ? &host : &device, is_upload ? &device : &host, size_bytes, NULL);
  if (status == BYOC_OK) status = m->driver->queue_wait(m->device, m->queue);
  *out_ns = (double)(byoc_now_ns() - start_ns);
  return status;
}

static int32_t measure_copies(measuring_t *m, byoc_device_direction_t direction, byoc_device_costs_t *costs) {
  double few_ns = INFINITY, many_ns = INFINITY, ns = 0;
  int32_t status = BYOC_OK;
  for (int round = 0; round < ROUNDS && status == BYOC_OK; ++round) {
    status = time_copy(m, direction, FEW_BYTES, &ns);
    few_ns = fmin(few_ns, ns);
    if (status == BYOC_OK) status = time_copy(m, direction, MANY_BYTES, &ns);
    many_ns = fmin(many_ns, ns);
  }
  costs->base_ns[direction] = few_ns;
  costs->ns_per_byte[direction] = fmax(0, many_ns - few_ns) / (MANY_BYTES - FEW_BYTES);
  return status;
}

static const char *text_of(const char *text) {
  return text != NULL ? text : "";
}

static int32_t measure(measuring_t *m, byoc_device_costs_t *costs, char *identity) {
  byoc_device_info_t info = {.struct_size = sizeof(info)};
  const byoc_device_allocation_t allocation = {.struct_size = sizeof(allocation), .size_bytes = MANY_BYTES};
  int32_t status = m->driver->describe(m->device, &info);
  snprintf(identity, BYOC_DEVICE_IDENTITY_SIZE, "%s %s %s", text_of(info.name), text_of(info.architecture),
           text_of(info.driver_version));
  if (status == BYOC_OK) status = m->driver->queue_create(m->device, BYOC_QUEUE_OWN, NULL, &m->queue);
  if (status == BYOC_OK) status = m->driver->allocate(m->device, &allocation, &m->buffer);
  costs->command_ns = INFINITY;
  for (int round = 0; round < ROUNDS && status == BYOC_OK; ++round) {
    double ns = 0;
    status = time_commands(m, &ns);
    costs->command_ns = fmin(costs->command_ns, ns);
  }
  if (info.is_unified) return status;
  if (status == BYOC_OK) status = measure_copies(m, BYOC_DEVICE_UPLOAD, costs);
  if (status == BYOC_OK) status = measure_copies(m, BYOC_DEVICE_DOWNLOAD, costs);
  return status;
}

byoc_status_t byoc_device_calibrate(const byoc_driver_t *driver, byoc_diag_t *diag, byoc_device_costs_t *out_costs,
                                    char out_identity[BYOC_DEVICE_IDENTITY_SIZE]) {
  *out_costs = (byoc_device_costs_t){0};
  out_identity[0] = '\0';
  measuring_t m = {.driver = driver, .memory = malloc(MANY_BYTES)};
  if (m.memory == NULL) return byoc_diag_out_of_memory(diag);
  memset(m.memory, 1, MANY_BYTES); // gives it pages of its own, not the system's page of zeros
  const byoc_runtime_t runtime = {
      .struct_size = sizeof(runtime), .self = &m, .thread_count = 1, .set_error = keep_error};
  const byoc_device_init_t init = {.struct_size = sizeof(init), .runtime = &runtime};
  int32_t status = driver->open(&init, &m.device);
  if (status == BYOC_OK) status = measure(&m, out_costs, out_identity);
  if (m.buffer != NULL) driver->release(m.device, m.buffer);
  if (m.queue != NULL) driver->queue_destroy(m.device, m.queue);
  if (m.device != NULL) driver->close(m.device);
  free(m.memory);
  if (status == BYOC_OK) return BYOC_OK;
  return byoc_diag_error(diag, byoc_status_is_known(status) ? (byoc_status_t)status : BYOC_TOOL,
                         "measuring the device of driver '%s': %s", driver->name, m.error);
}

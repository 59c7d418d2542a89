// SPDX-License-Identifier: Apache-2.0
// What byoc-plugin-check needs of the driver `sim`: kernels, which it has itself, and queues of a caller.
#include <semaphore.h>
#include <stddef.h>

#include "byoc/driver_check.h"
#include "tests/devices/sim.h"

static void *native_create(byoc_device_t *device) {
  (void)device;
  return sim_native_queue_create();
}

static void post(void *argument) {
  sem_post(argument);
}

static void native_wait(void *native) {
  const sim_native_queue_t *queue = native;
  sem_t ended;
  sem_init(&ended, 0, 0);
  if (queue->submit(queue->self, post, &ended) == 0) sem_wait(&ended);
  sem_destroy(&ended);
}

static void native_destroy(void *native) {
  sim_native_queue_destroy(native);
}

static const char names[] = "scale count sum_groups places arguments work fail";

static const byoc_driver_kernels_t kernels = {
    .struct_size = sizeof(kernels),
    .abi_version = BYOC_DRIVER_ABI_VERSION,
    .format = "sim",
    .data = names,
    .size_bytes = sizeof(names) - 1,
    .scale = "scale",
    .count = "count",
    .sum_groups = "sum_groups",
    .places = "places",
    .arguments = "arguments",
    .work = "work",
    .fail = "fail",
    .native_create = native_create,
    .native_wait = native_wait,
    .native_destroy = native_destroy,
};

const byoc_driver_kernels_t *const byoc_driver_kernels = &kernels;

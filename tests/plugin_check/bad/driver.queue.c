// SPDX-License-Identifier: Apache-2.0
// Whoever waits for its queues is not told that a command failed.
#include "bad_driver.h"

static int32_t queue_wait(byoc_device_t *device, byoc_device_queue_t *queue) {
  (void)sim_driver.queue_wait(device, queue);
  return BYOC_OK;
}

static void spoil_driver(byoc_driver_t *driver) {
  driver->queue_wait = queue_wait;
}

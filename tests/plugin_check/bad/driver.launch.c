// SPDX-License-Identifier: Apache-2.0
// It launches along the first axis only.
#include "bad_driver.h"

static int32_t launch(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_launch_t *asked,
                      const byoc_device_order_t *order) {
  byoc_device_launch_t flat = *asked;
  for (int axis = 1; axis < 3; ++axis) flat.grid[axis] = flat.block[axis] = 1;
  return sim_driver.launch(device, queue, &flat, order);
}

static void spoil_driver(byoc_driver_t *driver) {
  driver->launch = launch;
}

// SPDX-License-Identifier: Apache-2.0
// It copies whole words only, and forgets the bytes behind the last one.
#include "bad_driver.h"

static int32_t copy(byoc_device_t *device, byoc_device_queue_t *queue, const byoc_device_bytes_t *source,
                    const byoc_device_bytes_t *destination, uint64_t size_bytes, const byoc_device_order_t *order) {
  return sim_driver.copy(device, queue, source, destination, size_bytes / 4 * 4, order);
}

static void spoil_driver(byoc_driver_t *driver) {
  driver->copy = copy;
}

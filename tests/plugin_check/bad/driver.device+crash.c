// SPDX-License-Identifier: Apache-2.0
// It crashes where it is to close no device.
#include "bad_driver.h"

static void close_device(byoc_device_t *device) {
  *(volatile char *)device = *(volatile char *)device;
  sim_driver.close(device);
}

static void spoil_driver(byoc_driver_t *driver) {
  driver->close = close_device;
}

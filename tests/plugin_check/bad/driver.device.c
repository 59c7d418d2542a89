// SPDX-License-Identifier: Apache-2.0
// It describes its device by a whole struct, whatever the size of the one that the caller has.
#include "bad_driver.h"

static int32_t describe(byoc_device_t *device, byoc_device_info_t *out_info) {
  const uint32_t struct_size = out_info->struct_size;
  out_info->struct_size = sizeof(*out_info);
  const int32_t status = sim_driver.describe(device, out_info);
  out_info->struct_size = struct_size;
  return status;
}

static void spoil_driver(byoc_driver_t *driver) {
  driver->describe = describe;
}

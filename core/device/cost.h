// SPDX-License-Identifier: Apache-2.0
// The costs of a device besides the work of its kernels: commands, and copies from and to the host's memory. The search
// pays for them (core/collage/transition.h).
#ifndef BYOC_CORE_DEVICE_COST_H_
#define BYOC_CORE_DEVICE_COST_H_

#include "byoc/device.h"
#include "core/base/diag.h"

typedef enum byoc_device_direction_t {
  BYOC_DEVICE_UPLOAD,   // from the host to the device
  BYOC_DEVICE_DOWNLOAD, // from the device to the host
  BYOC_DEVICE_DIRECTION_COUNT,
} byoc_device_direction_t;

typedef struct byoc_device_costs_t {
  double command_ns; // of a command that does next to nothing, behind another one of its queue
  // A copy takes base_ns + bytes * ns_per_byte, until the host may go on. All are 0 if the memory is unified.
  double base_ns[BYOC_DEVICE_DIRECTION_COUNT], ns_per_byte[BYOC_DEVICE_DIRECTION_COUNT];
} byoc_device_costs_t;

// For devices that could not be measured: the figures of PCI Express and a usual driver.
#define BYOC_DEVICE_COSTS_TYPICAL                                                                                      \
  {                                                                                                                    \
    .command_ns = 5e3, .base_ns = {1e4, 1e4}, .ns_per_byte = { 0.1, 0.1 }                                              \
  }

double byoc_device_copy_ns(const byoc_device_costs_t *costs, byoc_device_direction_t direction, double bytes);

// Measures the driver's first device, in less than a second as a rule. Call it in a child process: drivers install
// signal handlers and keep threads. Without a device it fails with the driver's message. *out_identity: the device's
// name and architecture, and the version of its driver, cut at BYOC_DEVICE_IDENTITY_SIZE.
enum { BYOC_DEVICE_IDENTITY_SIZE = 240 };
byoc_status_t byoc_device_calibrate(const byoc_driver_t *driver, byoc_diag_t *diag, byoc_device_costs_t *out_costs,
                                    char out_identity[BYOC_DEVICE_IDENTITY_SIZE]);

#endif // BYOC_CORE_DEVICE_COST_H_

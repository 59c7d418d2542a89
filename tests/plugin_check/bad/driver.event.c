// SPDX-License-Identifier: Apache-2.0
// Commands end before they began.
#include "bad_driver.h"

static int32_t event_times(byoc_device_t *device, byoc_device_event_t *event, uint64_t *out_begin_ns,
                           uint64_t *out_end_ns) {
  return sim_driver.event_times(device, event, out_end_ns, out_begin_ns);
}

static void spoil_driver(byoc_driver_t *driver) {
  driver->event_times = event_times;
}

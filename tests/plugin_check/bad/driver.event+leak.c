// SPDX-License-Identifier: Apache-2.0
// It keeps a note of each question for times, and never frees it. (The sanitizer that looks for lost memory is loaded
// for this one.)
#include <stdlib.h>

#include "bad_driver.h"

static void *volatile note;

static int32_t event_times(byoc_device_t *device, byoc_device_event_t *event, uint64_t *out_begin_ns,
                           uint64_t *out_end_ns) {
  note = malloc(64);
  note = NULL;
  return sim_driver.event_times(device, event, out_begin_ns, out_end_ns);
}

static void spoil_driver(byoc_driver_t *driver) {
  driver->event_times = event_times;
}

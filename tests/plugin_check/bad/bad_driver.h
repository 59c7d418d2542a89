// SPDX-License-Identifier: Apache-2.0
// What the bad drivers share: each is the driver `sim` with something of its table replaced by spoil_driver, which it
// defines.
#ifndef BYOC_TESTS_PLUGIN_CHECK_BAD_DRIVER_H_
#define BYOC_TESTS_PLUGIN_CHECK_BAD_DRIVER_H_

#include "byoc/driver_check.h"
#include "tests/devices/sim.h"

static byoc_driver_t bad_driver;
const byoc_driver_t *const byoc_driver = &bad_driver;

static void spoil_driver(byoc_driver_t *driver);

__attribute__((constructor)) static void make_driver(void) {
  bad_driver = sim_driver;
  spoil_driver(&bad_driver);
}

#endif // BYOC_TESTS_PLUGIN_CHECK_BAD_DRIVER_H_

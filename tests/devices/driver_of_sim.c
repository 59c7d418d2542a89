// SPDX-License-Identifier: Apache-2.0
// The driver `sim` as it is, for byoc-plugin-check.
#include "byoc/driver_check.h"
#include "tests/devices/sim.h"

const byoc_driver_t *const byoc_driver = &sim_driver;

// SPDX-License-Identifier: Apache-2.0
// Its table lacks a required slot.
#include "bad_driver.h"

static void spoil_driver(byoc_driver_t *driver) {
  driver->barrier = NULL;
}

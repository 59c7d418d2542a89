// SPDX-License-Identifier: Apache-2.0
// Kernels of the driver `sim` in the format "elf": a shared object that is loaded from its bytes.
#include <string.h>

#include "byoc/device.h"
#include "tests/devices/sim_kernel.h"

__attribute__((visibility("default"))) int32_t twice(const sim_group_t *group);
__attribute__((visibility("default"))) int32_t careless(const sim_group_t *group);

int32_t twice(const sim_group_t *group) {
  if (group->argument_count != 3) return BYOC_INVALID_ARGUMENT;
  SIM_FOR_ITEMS(group, i, group->arguments[2].integer) {
    *(float *)sim_element(&group->arguments[1], i, 4) = 2 * *(const float *)sim_element(&group->arguments[0], i, 4);
  }
  return BYOC_OK;
}

// Zeroes a buffer as if it were dense.
int32_t careless(const sim_group_t *group) {
  memset(group->arguments[0].data, 0, group->arguments[0].size_bytes);
  return BYOC_OK;
}

// SPDX-License-Identifier: Apache-2.0
// What byoc-plugin-check needs of a driver of command streams: code that the driver takes, and no kernel to launch.
#include "byoc/driver_check.h"

static const char names[] = "scale";

static const byoc_driver_kernels_t kernels = {.struct_size = sizeof(kernels),
                                              .abi_version = BYOC_DRIVER_ABI_VERSION,
                                              .format = "sim",
                                              .data = names,
                                              .size_bytes = sizeof(names) - 1};

const byoc_driver_kernels_t *const byoc_driver_kernels = &kernels;

// check.c - what byoc-plugin-check needs of the driver: where its table is, and kernels that the checks launch. With
// driver.c it becomes slab_driver.so.
#include <byoc/driver_check.h>

#include "driver.h"

static const char code[] = "scale count";
static const byoc_driver_kernels_t kernels = {.struct_size = sizeof(kernels),
                                              .abi_version = BYOC_DRIVER_ABI_VERSION,
                                              .format = "slab",
                                              .data = code,
                                              .size_bytes = sizeof(code) - 1,
                                              .scale = "scale",
                                              .count = "count"};

const byoc_driver_t *const byoc_driver = &slab_driver;
const byoc_driver_kernels_t *const byoc_driver_kernels = &kernels;

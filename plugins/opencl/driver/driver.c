// SPDX-License-Identifier: Apache-2.0
// Fills the table that is the OpenCL driver with the functions of the other files.
#include "driver.h"

extern const byoc_driver_t byoc_driver_opencl;

BYOC_PACKED const byoc_driver_t byoc_driver_opencl = {
    .struct_size = sizeof(byoc_driver_t),
    .abi_version = BYOC_DRIVER_ABI_VERSION,
    .name = "opencl",
    .open = byoc_opencl_open,
    .close = byoc_opencl_close,
    .describe = byoc_opencl_describe,
    .allocate = byoc_opencl_allocate,
    .import = byoc_opencl_import,
    .release = byoc_opencl_release,
    .queue_create = byoc_opencl_queue_create,
    .queue_destroy = byoc_opencl_queue_destroy,
    .queue_rebind = byoc_opencl_queue_rebind,
    .queue_flush = byoc_opencl_queue_flush,
    .queue_wait = byoc_opencl_queue_wait,
    .event_create = byoc_opencl_event_create,
    .event_destroy = byoc_opencl_event_destroy,
    .event_query = byoc_opencl_event_query,
    .event_wait = byoc_opencl_event_wait,
    .event_times = byoc_opencl_event_times,
    .event_error = byoc_opencl_event_error,
    .fill = byoc_opencl_fill,
    .copy = byoc_opencl_copy,
    .launch = byoc_opencl_launch,
    .barrier = byoc_opencl_barrier,
    .module_load = byoc_opencl_module_load,
    .module_unload = byoc_opencl_module_unload,
    .module_entry = byoc_opencl_module_entry,
};

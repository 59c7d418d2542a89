// SPDX-License-Identifier: Apache-2.0
// Fills the table that is the CUDA driver with the functions of the other files.
#include "driver.h"

extern BYOC_PACKED const byoc_driver_t byoc_cuda_driver;
const byoc_driver_t byoc_cuda_driver = {
    .struct_size = sizeof(byoc_driver_t),
    .abi_version = BYOC_DRIVER_ABI_VERSION,
    .name = "cuda",
    .open = byoc_cuda_open,
    .close = byoc_cuda_close,
    .describe = byoc_cuda_describe,
    .allocate = byoc_cuda_allocate,
    .import = byoc_cuda_import,
    .release = byoc_cuda_release,
    .queue_create = byoc_cuda_queue_create,
    .queue_destroy = byoc_cuda_queue_destroy,
    .queue_rebind = byoc_cuda_queue_rebind,
    .queue_flush = byoc_cuda_queue_flush,
    .queue_wait = byoc_cuda_queue_wait,
    .event_create = byoc_cuda_event_create,
    .event_destroy = byoc_cuda_event_destroy,
    .event_query = byoc_cuda_event_query,
    .event_wait = byoc_cuda_event_wait,
    .event_times = byoc_cuda_event_times,
    .event_error = byoc_cuda_event_error,
    .fill = byoc_cuda_fill,
    .copy = byoc_cuda_copy,
    .launch = byoc_cuda_launch,
    .barrier = byoc_cuda_barrier,
    .module_load = byoc_cuda_module_load,
    .module_unload = byoc_cuda_module_unload,
    .module_entry = byoc_cuda_module_entry,
};

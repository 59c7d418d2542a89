// SPDX-License-Identifier: Apache-2.0
// Stands for the runtime of devices in artifacts of C source that have none: it is never called with devices.
#include "core/runtime/device.h"
#include "core/runtime/model.h"

int32_t byoc_devices_create(const byoc_device_tables_t *places, const byoc_runtime_t *runtime,
                            const byoc_caller_queue_t *callers, uint32_t caller_count, byoc_runtime_values_t values,
                            byoc_devices_t **out_devices) {
  (void)places, (void)runtime, (void)callers, (void)caller_count, (void)values;
  *out_devices = NULL;
  return BYOC_UNSUPPORTED;
}

void byoc_devices_destroy(byoc_devices_t *devices) {
  (void)devices;
}

int32_t byoc_devices_begin(byoc_devices_t *devices) {
  (void)devices;
  return BYOC_OK;
}

int32_t byoc_devices_lend(byoc_devices_t *devices) {
  (void)devices;
  return BYOC_OK;
}

int32_t byoc_devices_finish(byoc_devices_t *devices, int32_t status) {
  (void)devices;
  return status;
}

int32_t byoc_devices_read(byoc_devices_t *devices, uint32_t tensor, uint64_t offset_bytes, uint64_t size_bytes,
                          void *data) {
  (void)devices, (void)tensor, (void)offset_bytes, (void)size_bytes, (void)data;
  return BYOC_UNSUPPORTED;
}

int32_t byoc_devices_read_cell(byoc_devices_t *devices, const byoc_cell_t *cell, void *data) {
  (void)devices, (void)cell, (void)data;
  return BYOC_UNSUPPORTED;
}

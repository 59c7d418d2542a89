// SPDX-License-Identifier: Apache-2.0
// Stands for parts of the runtime that artifacts of C source do not have: devices, files of their own, and the
// processor check (the compiler of the source chooses the processor).
#include "core/runtime/cpu_check.h"
#include "core/runtime/model.h"
#include "core/runtime/verify.h"

int32_t byoc_model_check_cpu(const char *model_name, const char *features, char *message, uint64_t size) {
  (void)model_name, (void)features;
  if (message != NULL && size > 0) message[0] = '\0';
  return BYOC_OK;
}

int32_t byoc_model_check_isa_levels(const char *model_name, const byoc_model_isa_level_t *levels, uint32_t count,
                                    char *message, uint64_t size) {
  (void)levels, (void)count;
  return byoc_model_check_cpu(model_name, "", message, size);
}

int32_t byoc_model_verify_file(char *message, uint64_t size) {
  if (size > 0) message[0] = '\0';
  return BYOC_OK;
}

int32_t byoc_model_open_weights(const byoc_model_weights_t *weights, const char *path, int is_static, int huge_pages,
                                int verify, char *message, uint64_t size) {
  (void)weights, (void)path, (void)is_static, (void)huge_pages, (void)verify;
  if (size > 0) message[0] = '\0';
  return BYOC_UNSUPPORTED;
}

// Never called with devices: byoc refuses to write programs with devices as C source.
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

// SPDX-License-Identifier: Apache-2.0
// Stands for parts of the runtime that artifacts of C source do not have: files of their own, and the processor check
// (the compiler of the source chooses the processor).
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

// SPDX-License-Identifier: Apache-2.0
// Checks that a program makes when it runs.
#include "core/runtime/artifact/check.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int32_t byoc_check_dims(const byoc_call_t *call) {
  const int64_t *actual = call->tensors[0].data, *declared = call->tensors[1].data;
  const char *const *names = call->tensors[2].data;
  for (int64_t i = 0; i < call->tensors[0].shape[0]; ++i) {
    if (actual[i] == declared[i]) continue;
    char text[400];
    snprintf(text, sizeof(text), "%s is %lld, but the model declares %lld; export it without that shape", names[i],
             (long long)actual[i], (long long)declared[i]);
    call->runtime->set_error(call->runtime->self, text);
    return BYOC_INVALID_ARGUMENT;
  }
  return BYOC_OK;
}

int32_t byoc_check_range(const byoc_call_t *call) {
  const DLTensor *values = &call->tensors[0];
  const int64_t low = *(const int64_t *)call->tensors[1].data, high = *(const int64_t *)call->tensors[2].data;
  const char *const *name = call->tensors[3].data;
  const bool is_narrow = values->dtype.bits == 32;
  for (int64_t i = 0; i < values->shape[0]; ++i) {
    const int64_t value = is_narrow ? ((const int32_t *)values->data)[i] : ((const int64_t *)values->data)[i];
    if (value >= low && value <= high) continue;
    char text[400];
    snprintf(text, sizeof(text), "%s: element %lld is %lld; expected values in [%lld, %lld]", name[0], (long long)i,
             (long long)value, (long long)low, (long long)high);
    call->runtime->set_error(call->runtime->self, text);
    return BYOC_INVALID_ARGUMENT;
  }
  return BYOC_OK;
}

int32_t byoc_check_fail(const byoc_call_t *call) {
  const char *const *text = call->tensors[0].data;
  call->runtime->set_error(call->runtime->self, text[0]);
  return BYOC_INVALID_ARGUMENT;
}

int32_t byoc_check_devices(const byoc_call_t *call) {
  *(bool *)call->tensors[0].data = call->runtime->has_devices != 0;
  return BYOC_OK;
}

int32_t byoc_check_threads(const byoc_call_t *call) {
  *(bool *)call->tensors[1].data = call->runtime->thread_count >= *(const int64_t *)call->tensors[0].data;
  return BYOC_OK;
}

byoc_packed_function_t byoc_check_find(const char *symbol) {
  if (strcmp(symbol, BYOC_CHECK_DIMS) == 0) return byoc_check_dims;
  if (strcmp(symbol, BYOC_CHECK_RANGE) == 0) return byoc_check_range;
  if (strcmp(symbol, BYOC_CHECK_FAIL) == 0) return byoc_check_fail;
  if (strcmp(symbol, BYOC_CHECK_THREADS) == 0) return byoc_check_threads;
  return strcmp(symbol, BYOC_CHECK_DEVICES) == 0 ? byoc_check_devices : NULL;
}

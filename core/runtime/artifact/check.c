// Checks that a program makes when it runs.
#include "core/runtime/artifact/check.h"

#include <stdio.h>

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

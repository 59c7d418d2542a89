// SPDX-License-Identifier: Apache-2.0
// Shared by the functions on strings (text.c, text_tokens.c): the operands, results and memory of a call.
#ifndef BYOC_CORE_RUNTIME_TEXT_CALL_H_
#define BYOC_CORE_RUNTIME_TEXT_CALL_H_

#include <locale.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "core/runtime/text.h"

static inline int32_t fail(const byoc_call_t *call, int32_t status, const char *message) {
  call->runtime->set_error(call->runtime->self, message);
  return status;
}

static inline int32_t out_of_memory(const byoc_call_t *call) {
  return fail(call, BYOC_OUT_OF_MEMORY, "out of memory for strings");
}

static inline char *allocate(const byoc_call_t *call, size_t size_bytes) {
  const byoc_runtime_t *runtime = call->runtime;
  bool has = runtime->struct_size >= offsetof(byoc_runtime_t, allocate) + sizeof(runtime->allocate);
  return has && runtime->allocate != NULL ? runtime->allocate(runtime->self, size_bytes) : NULL;
}

static inline const DLTensor *tensor(const byoc_call_t *call, uint32_t index) {
  return &call->tensors[index];
}

static inline const DLTensor *result(const byoc_call_t *call, uint32_t index) {
  return &call->tensors[call->input_count + index];
}

static inline int64_t count_of(const DLTensor *tensor) {
  int64_t count = 1;
  for (int32_t d = 0; d < tensor->ndim; ++d) count *= tensor->shape[d];
  return count;
}

static inline const char *text_at(const DLTensor *tensor, int64_t index) {
  const char *text = ((const char *const *)tensor->data)[index];
  return text != NULL ? text : "";
}

static inline char *copy(const byoc_call_t *call, const char *text, size_t size) {
  char *made = allocate(call, size + 1);
  if (made != NULL) {
    memcpy(made, text, size);
    made[size] = '\0';
  }
  return made;
}

// ---- calls that depend on the locale: this thread uses "C" during them ----

typedef struct {
  locale_t made, before;
} plain_locale_t;

static inline bool enter_plain_locale(plain_locale_t *plain) {
  plain->made = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (plain->made != (locale_t)0) plain->before = uselocale(plain->made);
  return plain->made != (locale_t)0;
}

static inline void leave_plain_locale(const plain_locale_t *plain) {
  uselocale(plain->before);
  freelocale(plain->made);
}

#endif // BYOC_CORE_RUNTIME_TEXT_CALL_H_

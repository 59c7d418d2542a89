// What a program makes sure of when it runs.
#ifndef BYOC_CORE_RUNTIME_ARTIFACT_CHECK_H_
#define BYOC_CORE_RUNTIME_ARTIFACT_CHECK_H_

#include "byoc/call.h"

#define BYOC_CHECK_DIMS "byoc_check_dims"

// A packed function without results: i64[k], the dimensions that came out; i64[k], those that the model declares; and
// what each is called, k texts. BYOC_INVALID_ARGUMENT, with the first that differs.
BYOC_PACKED int32_t byoc_check_dims(const byoc_call_t *call);

#endif // BYOC_CORE_RUNTIME_ARTIFACT_CHECK_H_

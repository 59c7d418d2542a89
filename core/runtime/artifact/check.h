// Checks that a program makes when it runs.
#ifndef BYOC_CORE_RUNTIME_ARTIFACT_CHECK_H_
#define BYOC_CORE_RUNTIME_ARTIFACT_CHECK_H_

#include "byoc/call.h"

#define BYOC_CHECK_DIMS "byoc_check_dims"

// A packed function without results. Its operands are i64[k], the dimensions that were computed; i64[k], those that the
// model declares; and k texts, the name of each. BYOC_INVALID_ARGUMENT, naming the first that differs.
BYOC_PACKED int32_t byoc_check_dims(const byoc_call_t *call);

#endif // BYOC_CORE_RUNTIME_ARTIFACT_CHECK_H_

// SPDX-License-Identifier: Apache-2.0
// Checks that a program makes when it runs.
#ifndef BYOC_CORE_RUNTIME_CHECK_H_
#define BYOC_CORE_RUNTIME_CHECK_H_

#include "byoc/call.h"

#define BYOC_CHECK_DIMS    "byoc_check_dims"
#define BYOC_CHECK_RANGE   "byoc_check_range"
#define BYOC_CHECK_FAIL    "byoc_check_fail"
#define BYOC_CHECK_DEVICES "byoc_check_devices"
#define BYOC_CHECK_ENGINES "byoc_check_engines"
#define BYOC_CHECK_THREADS "byoc_check_threads"

// A packed function without results. Its operands are i64[k], the dimensions that were computed; i64[k], those that the
// model declares; and k strings, the name of each. BYOC_INVALID_ARGUMENT with the name of the first that differs.
BYOC_PACKED int32_t byoc_check_dims(const byoc_call_t *call);

// The conditions that byoc_check_range checks.
typedef enum byoc_range_kind_t {
  BYOC_RANGE_COUNT,    // in [0, extent - less]
  BYOC_RANGE_INDEX,    // in [-extent, extent - 1]
  BYOC_RANGE_NOT_ZERO, // not 0, unless the dividend is empty: an extent is 0
  BYOC_RANGE_POSITIVE, // at least 1
} byoc_range_kind_t;
// The elements of the third operand of byoc_check_range.
enum {
  BYOC_RANGE_KIND,
  BYOC_RANGE_LESS,
  BYOC_RANGE_IGNORES, // 1: elements that equal the next number are not checked
  BYOC_RANGE_IGNORED,
  BYOC_RANGE_DISTINCT, // 1, of indices: no two are the same
  BYOC_RANGE_RULES
};
// The extent of elements without a limit.
#define BYOC_RANGE_FREE INT64_MAX

// A packed function without results. Its operands are integers; i64[k], the extents, where i % k is that of element i;
// i64[BYOC_RANGE_RULES]; and one string, which describes the elements in the message. BYOC_INVALID_ARGUMENT with the
// first element that is outside.
BYOC_PACKED int32_t byoc_check_range(const byoc_call_t *call);

// A packed function without results. Its operand is one string. It always returns BYOC_INVALID_ARGUMENT with that
// message: the program has reached a branch that cannot run.
BYOC_PACKED int32_t byoc_check_fail(const byoc_call_t *call);

// A packed function without operands. Its result, a bool, says whether the program's devices have started.
BYOC_PACKED int32_t byoc_check_devices(const byoc_call_t *call);
// The same for its engines.
BYOC_PACKED int32_t byoc_check_engines(const byoc_call_t *call);

// A packed function. Its operand is i64[1], a number of threads; its result, a bool, says whether the context has that
// many.
BYOC_PACKED int32_t byoc_check_threads(const byoc_call_t *call);

// The function with that symbol; NULL if there is none.
byoc_packed_function_t byoc_check_find(const char *symbol);

#endif // BYOC_CORE_RUNTIME_CHECK_H_

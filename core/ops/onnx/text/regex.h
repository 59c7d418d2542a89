// SPDX-License-Identifier: Apache-2.0
// Translates patterns of RE2, which ONNX prescribes, to POSIX extended patterns, which every C library has.
#ifndef BYOC_CORE_OPS_ONNX_TEXT_REGEX_H_
#define BYOC_CORE_OPS_ONNX_TEXT_REGEX_H_

#include "core/base/string.h"

#define BYOC_REGEX_REASON_SIZE 120

// Appends a POSIX extended pattern over bytes that matches the same whole UTF-8 strings. False, with a `reason`, if
// `pattern` has no such form ("lazy repetition is not supported at '*?x'") or is too large: limits are RE2's 1000
// repetitions and 1000 nested groups, and 2000 characters with repetitions expanded and 32 nested loops.
bool byoc_regex_translate(const char *pattern, byoc_string_t *out, char reason[BYOC_REGEX_REASON_SIZE]);

#endif // BYOC_CORE_OPS_ONNX_TEXT_REGEX_H_

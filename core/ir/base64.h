// SPDX-License-Identifier: Apache-2.0
// Base64 as in RFC 4648, with padding.
#ifndef BYOC_CORE_IR_BASE64_H_
#define BYOC_CORE_IR_BASE64_H_

#include "core/base/string.h"

void byoc_base64_append(byoc_string_t *out, const void *data, size_t size_bytes);
// Decodes exactly `capacity_bytes` bytes; false if the string is not base64 or has another length.
bool byoc_base64_decode(const char *text, size_t size, void *data, size_t capacity_bytes);

#endif // BYOC_CORE_IR_BASE64_H_

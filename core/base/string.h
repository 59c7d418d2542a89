// SPDX-License-Identifier: Apache-2.0
// A growing string. If memory runs out, `failed` is set and further appends do nothing, so that one check at the end is
// enough. `data` is always NUL-terminated (and never NULL).
#ifndef BYOC_CORE_BASE_STRING_H_
#define BYOC_CORE_BASE_STRING_H_

#include <stdarg.h>

#include "core/base/allocator.h"

typedef struct byoc_string_t {
  byoc_allocator_t allocator;
  char *data;
  size_t size; // bytes without the NUL
  size_t capacity;
  bool failed;
} byoc_string_t;

void byoc_string_init(byoc_string_t *string, byoc_allocator_t allocator);
void byoc_string_deinit(byoc_string_t *string);
void byoc_string_clear(byoc_string_t *string);
void byoc_string_append(byoc_string_t *string, const char *text);
void byoc_string_append_bytes(byoc_string_t *string, const void *data, size_t size);
void byoc_string_appendf(byoc_string_t *string, const char *format, ...) __attribute__((format(printf, 2, 3)));
void byoc_string_appendv(byoc_string_t *string, const char *format, va_list arguments);
// `count` spaces.
void byoc_string_indent(byoc_string_t *string, int count);
// Appends `text` as a C or JSON string literal, with its quotes. Characters that are not safe to show
// (core/base/visible.h) are escaped: for JSON as \u0001, for C as octal bytes. Bytes that are not UTF-8 are escaped for
// C only.
void byoc_string_append_quoted(byoc_string_t *string, const char *text);
void byoc_string_append_c_quoted(byoc_string_t *string, const char *text);
// Appends the shortest decimal that reads back as exactly this float or double ("inf", "-inf", "nan" for those).
void byoc_string_append_f32(byoc_string_t *string, float value);
void byoc_string_append_f64(byoc_string_t *string, double value);
// Hands the memory (from string->allocator) to the caller; the string is then empty. NULL if `failed`.
char *byoc_string_release(byoc_string_t *string);

// The ending of a regular noun after this count: "" for 1, otherwise "s".
static inline const char *byoc_plural(uint64_t count) {
  return count == 1 ? "" : "s";
}
bool byoc_starts_with(const char *text, const char *prefix);
bool byoc_ends_with(const char *text, const char *suffix);
// Writes `name` as a C identifier: letters, digits and '_' stay, other characters become '_', and '_' is put before a
// leading digit.
void byoc_make_identifier(const char *name, char *buffer, size_t size);

#endif // BYOC_CORE_BASE_STRING_H_

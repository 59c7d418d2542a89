// SPDX-License-Identifier: Apache-2.0
// Grows strings: appends, prints and quotes; a string that ran out of memory remembers it.
#include "core/base/string.h"

#include <assert.h>
#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/visible.h"

// The data of an empty string; never written, because its capacity is 0.
static char empty_text[1];

void byoc_string_init(byoc_string_t *string, byoc_allocator_t allocator) {
  *string = (byoc_string_t){.allocator = allocator, .data = empty_text};
}

void byoc_string_deinit(byoc_string_t *string) {
  if (string->capacity > 0) byoc_free(string->allocator, string->data);
  byoc_string_init(string, string->allocator);
}

void byoc_string_clear(byoc_string_t *string) {
  string->size = 0;
  string->failed = false;
  if (string->capacity > 0) string->data[0] = '\0';
}

// Room for `extra` bytes and a NUL.
static bool reserve(byoc_string_t *string, size_t extra) {
  if (string->failed) return false;
  size_t needed = 0;
  if (byoc_size_add(string->size, extra, &needed) && byoc_size_add(needed, 1, &needed)) {
    if (needed <= string->capacity) return true;
    size_t capacity = string->capacity < 64 ? 64 : string->capacity;
    while (capacity < needed && byoc_size_add(capacity, capacity / 2, &capacity)) continue;
    if (capacity < needed) capacity = needed;
    char *old = string->capacity > 0 ? string->data : NULL;
    char *data = byoc_reallocate(string->allocator, old, capacity, 1);
    if (data != NULL) {
      string->data = data;
      string->capacity = capacity;
      return true;
    }
  }
  string->failed = true;
  return false;
}

void byoc_string_append_bytes(byoc_string_t *string, const void *data, size_t size) {
  if (size == 0 || !reserve(string, size)) return;
  memcpy(string->data + string->size, data, size);
  string->size += size;
  string->data[string->size] = '\0';
}

void byoc_string_append(byoc_string_t *string, const char *text) {
  assert(text != NULL);
  byoc_string_append_bytes(string, text, strlen(text));
}

void byoc_string_appendv(byoc_string_t *string, const char *format, va_list arguments) {
  if (string->failed) return;
  va_list again;
  va_copy(again, arguments);
  size_t room = string->capacity - string->size;
  int length = vsnprintf(string->capacity > 0 ? string->data + string->size : NULL, room, format, arguments);
  if (length < 0) {
    string->failed = true;
    if (string->capacity > 0) string->data[string->size] = '\0';
  } else if ((size_t)length < room) {
    string->size += (size_t)length;
  } else if (reserve(string, (size_t)length)) {
    vsnprintf(string->data + string->size, (size_t)length + 1, format, again);
    string->size += (size_t)length;
  } else if (string->capacity > 0) {
    string->data[string->size] = '\0';
  }
  va_end(again);
}

void byoc_string_appendf(byoc_string_t *string, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  byoc_string_appendv(string, format, arguments);
  va_end(arguments);
}

void byoc_string_indent(byoc_string_t *string, int count) {
  if (count <= 0 || !reserve(string, (size_t)count)) return;
  memset(string->data + string->size, ' ', (size_t)count);
  string->size += (size_t)count;
  string->data[string->size] = '\0';
}

// The letter of a two-character escape that C and JSON share, or 0.
static char shared_escape(unsigned char c) {
  switch (c) {
  case '"':
  case '\\':
    return (char)c;
  case '\b':
    return 'b';
  case '\f':
    return 'f';
  case '\n':
    return 'n';
  case '\r':
    return 'r';
  case '\t':
    return 't';
  default:
    return 0;
  }
}

// In JSON a code point beyond 16 bits takes two escapes.
static void append_json_escape(byoc_string_t *string, uint32_t code) {
  if (code < 0x10000) {
    byoc_string_appendf(string, "\\u%04x", (unsigned)code);
  } else {
    byoc_string_appendf(string, "\\u%04x\\u%04x", 0xD800 + (unsigned)((code - 0x10000) >> 10),
                        0xDC00 + (unsigned)((code - 0x10000) & 0x3FF));
  }
}

static void append_quoted(byoc_string_t *string, const char *text, bool for_c) {
  const char *end = text + strlen(text);
  byoc_string_append_bytes(string, "\"", 1);
  for (const char *c = text; c < end;) {
    uint32_t code = 0;
    char escape = shared_escape((unsigned char)*c);
    size_t length = byoc_utf8_decode(c, (size_t)(end - c), &code);
    const bool is_valid = length > 0, is_safe = is_valid && !byoc_is_unsafe_character(code);
    if (!is_valid) length = 1;
    if (escape != 0) {
      char pair[2] = {'\\', escape};
      byoc_string_append_bytes(string, pair, 2);
    } else if (for_c && *c == '?') {
      byoc_string_append_bytes(string, "\\?", 2); // no trigraphs
    } else if (is_safe || (!is_valid && !for_c)) {
      byoc_string_append_bytes(string, c, length);
    } else if (!for_c) {
      append_json_escape(string, code);
    } else {
      for (size_t k = 0; k < length; k++) byoc_string_appendf(string, "\\%03o", (unsigned char)c[k]);
    }
    c += length;
  }
  byoc_string_append_bytes(string, "\"", 1);
}

void byoc_string_append_quoted(byoc_string_t *string, const char *text) {
  append_quoted(string, text, false);
}

void byoc_string_append_c_quoted(byoc_string_t *string, const char *text) {
  append_quoted(string, text, true);
}

// printf writes the decimal point of the locale; ours is always '.'.
static void append_number(byoc_string_t *string, const char *number) {
  for (const char *c = number; *c != '\0'; c++) {
    bool plain = isdigit((unsigned char)*c) || *c == '+' || *c == '-' || *c == 'e';
    byoc_string_append_bytes(string, plain ? c : ".", 1);
  }
}

static bool append_special(byoc_string_t *string, double value) {
  if (isfinite(value)) return false;
  byoc_string_append(string, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
  return true;
}

// FLT_DIG digits always survive conversion to a normal float and back, so a shorter form is already found at that
// precision ("%g" drops trailing zeros). Subnormal numbers have fewer digits.
void byoc_string_append_f32(byoc_string_t *string, float value) {
  if (append_special(string, (double)value)) return;
  char number[48];
  for (int digits = fabsf(value) < FLT_MIN ? 1 : FLT_DIG; digits <= FLT_DECIMAL_DIG; digits++) {
    snprintf(number, sizeof(number), "%.*g", digits, (double)value);
    if (strtof(number, NULL) == value) break;
  }
  append_number(string, number);
}

void byoc_string_append_f64(byoc_string_t *string, double value) {
  if (append_special(string, value)) return;
  char number[48];
  for (int digits = fabs(value) < DBL_MIN ? 1 : DBL_DIG; digits <= DBL_DECIMAL_DIG; digits++) {
    snprintf(number, sizeof(number), "%.*g", digits, value);
    if (strtod(number, NULL) == value) break;
  }
  append_number(string, number);
}

char *byoc_string_release(byoc_string_t *string) {
  char *data = NULL;
  if (!string->failed && string->capacity == 0) {
    data = byoc_copy_string(string->allocator, "");
  } else if (!string->failed) {
    data = string->data;
    string->capacity = 0;
  }
  byoc_string_deinit(string);
  return data;
}

bool byoc_starts_with(const char *text, const char *prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool byoc_ends_with(const char *text, const char *suffix) {
  size_t text_size = strlen(text);
  size_t suffix_size = strlen(suffix);
  return suffix_size <= text_size && memcmp(text + text_size - suffix_size, suffix, suffix_size) == 0;
}

static bool is_identifier_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

void byoc_make_identifier(const char *name, char *buffer, size_t size) {
  if (size == 0) return;
  size_t used = 0;
  if ((name[0] == '\0' || (name[0] >= '0' && name[0] <= '9')) && used + 1 < size) buffer[used++] = '_';
  for (const char *c = name; *c != '\0' && used + 1 < size; c++)
    buffer[used++] = is_identifier_character(*c) ? *c : '_';
  buffer[used] = '\0';
}

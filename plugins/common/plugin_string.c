// SPDX-License-Identifier: Apache-2.0
// Strings that grow, and a hash.
#include "common/plugin_string.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool reserve(byoc_plugin_string_t *string, size_t extra) {
  if (string->failed) return false;
  if (extra > SIZE_MAX / 2 - string->length - 1) {
    string->failed = true;
    return false;
  }
  size_t needed = string->length + extra + 1;
  if (needed <= string->capacity) return true;
  size_t capacity = string->capacity ? string->capacity : 4096;
  while (capacity < needed) capacity *= 2;
  char *data = realloc(string->data, capacity);
  if (!data) {
    string->failed = true;
    return false;
  }
  string->data = data;
  string->capacity = capacity;
  return true;
}

void byoc_plugin_string_add_bytes(byoc_plugin_string_t *string, const void *bytes, size_t length) {
  if (!reserve(string, length)) return;
  memcpy(string->data + string->length, bytes, length);
  string->length += length;
  string->data[string->length] = '\0';
}

void byoc_plugin_string_add(byoc_plugin_string_t *string, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  if (length < 0) {
    string->failed = true;
  } else if (reserve(string, (size_t)length)) {
    vsnprintf(string->data + string->length, (size_t)length + 1, format, again);
    string->length += (size_t)length;
  }
  va_end(again);
  va_end(arguments);
}

void byoc_plugin_string_deinit(byoc_plugin_string_t *string) {
  free(string->data);
  *string = (byoc_plugin_string_t){0};
}

uint64_t byoc_plugin_hash(uint64_t hash, const void *bytes, size_t length) {
  for (size_t i = 0; i < length; ++i) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
  return hash;
}

uint64_t byoc_plugin_hash_string(const char *string) {
  return byoc_plugin_hash(BYOC_PLUGIN_HASH, string, strlen(string));
}

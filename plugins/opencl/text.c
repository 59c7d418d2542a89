// SPDX-License-Identifier: Apache-2.0
// Grows the text of generated code, and hashes it.
#include "text.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool text_reserve(byoc_opencl_text_t *text, size_t extra) {
  if (text->failed) return false;
  if (extra > SIZE_MAX / 2 - text->length - 1) {
    text->failed = true;
    return false;
  }
  size_t needed = text->length + extra + 1;
  if (needed <= text->capacity) return true;
  size_t capacity = text->capacity ? text->capacity : 4096;
  while (capacity < needed) capacity *= 2;
  char *data = realloc(text->data, capacity);
  if (!data) {
    text->failed = true;
    return false;
  }
  text->data = data;
  text->capacity = capacity;
  return true;
}

void byoc_opencl_text_add_bytes(byoc_opencl_text_t *text, const void *bytes, size_t length) {
  if (!text_reserve(text, length)) return;
  memcpy(text->data + text->length, bytes, length);
  text->length += length;
  text->data[text->length] = '\0';
}

void byoc_opencl_text_add(byoc_opencl_text_t *text, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  int length = vsnprintf(NULL, 0, format, arguments);
  if (length < 0) {
    text->failed = true;
  } else if (text_reserve(text, (size_t)length)) {
    vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
    text->length += (size_t)length;
  }
  va_end(again);
  va_end(arguments);
}

void byoc_opencl_text_deinit(byoc_opencl_text_t *text) {
  free(text->data);
  *text = (byoc_opencl_text_t){0};
}

uint64_t byoc_opencl_hash(const void *bytes, size_t length) {
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < length; ++i) hash = (hash ^ ((const unsigned char *)bytes)[i]) * 1099511628211u;
  return hash;
}

// SPDX-License-Identifier: Apache-2.0
// text.h - a growing text. A failed allocation is remembered and reported once, by byoc_opencl_text_ok.
#ifndef BYOC_OPENCL_TEXT_H_
#define BYOC_OPENCL_TEXT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct byoc_opencl_text_t {
  char *data; // NUL-terminated once anything was added; NULL before
  size_t length;
  size_t capacity;
  bool failed;
} byoc_opencl_text_t;

// Appends formatted text; does nothing once an append failed.
void byoc_opencl_text_add(byoc_opencl_text_t *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Appends `length` bytes as they are.
void byoc_opencl_text_add_bytes(byoc_opencl_text_t *text, const void *bytes, size_t length);

// Whether every append since the start succeeded.
static inline bool byoc_opencl_text_ok(const byoc_opencl_text_t *text) {
  return !text->failed;
}

// Frees the text and makes it empty again.
void byoc_opencl_text_deinit(byoc_opencl_text_t *text);

// FNV-1a of 64 bits.
uint64_t byoc_opencl_hash(const void *bytes, size_t length);

#endif // BYOC_OPENCL_TEXT_H_

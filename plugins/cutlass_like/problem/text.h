// SPDX-License-Identifier: Apache-2.0
// text.h - a growing text. A failed allocation is remembered and reported once, by byoc_cutlass_text_ok.
#ifndef BYOC_CUTLASS_TEXT_H_
#define BYOC_CUTLASS_TEXT_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct byoc_cutlass_text_t {
  char *data; // NUL-terminated once anything was added; NULL before
  size_t length;
  size_t capacity;
  bool failed;
} byoc_cutlass_text_t;

// Appends formatted text; does nothing once an append failed.
void byoc_cutlass_text_add(byoc_cutlass_text_t *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

// Appends `length` bytes as they are.
void byoc_cutlass_text_add_bytes(byoc_cutlass_text_t *text, const void *bytes, size_t length);

// Whether every append since the start succeeded.
static inline bool byoc_cutlass_text_ok(const byoc_cutlass_text_t *text) {
  return !text->failed;
}

// Frees the text and makes it empty again.
void byoc_cutlass_text_deinit(byoc_cutlass_text_t *text);

// FNV-1a of 64 bits, from BYOC_CUTLASS_HASH on.
#define BYOC_CUTLASS_HASH 14695981039346656037u
uint64_t byoc_cutlass_hash(uint64_t hash, const char *text);

#endif // BYOC_CUTLASS_TEXT_H_

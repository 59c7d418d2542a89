// SPDX-License-Identifier: Apache-2.0
// Converts texts between NumPy's arrays of UTF-32 characters and UTF-8.
#include "npy_text.h"

#include <string.h>

#include "core/base/visible.h"

enum { BYTES_PER_CHARACTER = 4, MOST_BYTES = 4 };

static uint32_t load_character(const uint8_t *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void store_character(uint8_t *at, uint32_t code) {
  for (int i = 0; i < BYTES_PER_CHARACTER; ++i) at[i] = (uint8_t)(code >> (8 * i));
}

// The number of bytes in UTF-8; 0 if the number is no character.
static size_t encode(uint32_t code, char out[MOST_BYTES]) {
  if (code < 0x80) {
    out[0] = (char)code;
    return 1;
  }
  if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return 0;
  const size_t size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = size - 1; i > 0; --i, code >>= 6) out[i] = (char)(0x80 | (code & 0x3f));
  out[0] = (char)((0xf00u >> size & 0xff) | code);
  return size;
}

byoc_status_t byoc_npy_read_texts(const uint8_t *bytes, size_t count, size_t width, byoc_allocator_t allocator,
                                  byoc_diag_t *diag, const char ***out_texts) {
  *out_texts = NULL;
  size_t each = 0, size = 0;
  const bool fits = byoc_size_mul(width, MOST_BYTES, &each) && byoc_size_mul(count, each + 1 + sizeof(char *), &size);
  const char **texts = fits ? byoc_allocate(allocator, size, 1) : NULL;
  if (texts == NULL) return byoc_diag_out_of_memory(diag);
  char *to = (char *)(texts + count);
  for (size_t i = 0; i < count; ++i) {
    texts[i] = to;
    for (size_t k = 0; k < width; ++k) {
      const uint32_t code = load_character(bytes + (i * width + k) * BYTES_PER_CHARACTER);
      if (code == 0) break; // NumPy fills short texts with zeros
      const size_t length = encode(code, to);
      if (length == 0) {
        byoc_free(allocator, texts);
        return byoc_diag_error(diag, BYOC_INVALID_DATA, "string %zu has the number %u, which is no character", i,
                               (unsigned)code);
      }
      to += length;
    }
    *to++ = '\0';
  }
  *out_texts = texts;
  return BYOC_OK;
}

// The number of characters, or -1 if the text is not UTF-8.
static int64_t count_characters(const char *text) {
  int64_t count = 0;
  size_t left = strlen(text);
  for (uint32_t code; left > 0; ++count) {
    const size_t size = byoc_utf8_decode(text, left, &code);
    if (size == 0) return -1;
    text += size;
    left -= size;
  }
  return count;
}

byoc_status_t byoc_npy_write_texts(const char *const *texts, size_t count, byoc_allocator_t allocator,
                                   byoc_diag_t *diag, uint8_t **out_bytes, size_t *out_width) {
  *out_bytes = NULL;
  *out_width = 1;
  for (size_t i = 0; i < count; ++i) {
    const int64_t characters = texts[i] != NULL ? count_characters(texts[i]) : 0;
    if (characters < 0) return byoc_diag_error(diag, BYOC_INVALID_DATA, "string %zu is not UTF-8", i);
    if ((size_t)characters > *out_width) *out_width = (size_t)characters;
  }
  size_t each = 0, size = 0;
  const bool fits = byoc_size_mul(*out_width, BYTES_PER_CHARACTER, &each) && byoc_size_mul(count, each, &size);
  uint8_t *bytes = fits ? byoc_allocate(allocator, size, 1) : NULL;
  if (bytes == NULL) return byoc_diag_out_of_memory(diag);
  if (size > 0) memset(bytes, 0, size);
  for (size_t i = 0; i < count; ++i) {
    uint8_t *to = bytes + i * each;
    uint32_t code;
    for (const char *at = texts[i] != NULL ? texts[i] : ""; *at != '\0'; to += BYTES_PER_CHARACTER) {
      at += byoc_utf8_decode(at, strlen(at), &code);
      store_character(to, code);
    }
  }
  *out_bytes = bytes;
  return BYOC_OK;
}

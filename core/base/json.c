// SPDX-License-Identifier: Apache-2.0
// Makes JSON of strings that may not be UTF-8, finds out whether memory ran out, and writes JSON that is safe on a
// terminal.
#include "core/base/json.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/visible.h"

json_t *byoc_json_string(const char *text) {
  json_t *value = json_string(text);
  if (value != NULL) return value;
  char *copy = strdup(text);
  if (copy == NULL) return NULL;
  for (char *at = copy; *at != '\0'; ++at) {
    if ((unsigned char)*at >= 0x80) *at = '?';
  }
  value = json_string(copy);
  free(copy);
  return value;
}

// ---- reading ----

static _Thread_local bool has_failed; // an allocation of this thread
static pthread_once_t allocation_once = PTHREAD_ONCE_INIT;

static void *allocate(size_t size) {
  void *memory = malloc(size);
  if (memory == NULL) has_failed = true;
  return memory;
}

static void watch_allocations(void) {
  json_set_alloc_funcs(allocate, free);
}

json_t *byoc_json_load(const void *text, size_t size_bytes, size_t flags, json_error_t *out_error) {
  pthread_once(&allocation_once, watch_allocations);
  has_failed = false;
  json_t *value = json_loadb(text, size_bytes, flags, out_error);
  if (value == NULL && has_failed) out_error->text[0] = '\0';
  return value;
}

bool byoc_json_out_of_memory(const json_error_t *error) {
  return error->text[0] == '\0';
}

// ---- writing ----

// jansson escapes control characters. Other characters beyond ASCII occur only in strings.
static bool is_unsafe_at(const char *text, size_t size, size_t *out_length, uint32_t *out_code) {
  *out_length = byoc_utf8_decode(text, size, out_code);
  return *text != '\n' && *out_length > 0 && byoc_is_unsafe_character(*out_code);
}

// json_dumps does not notice that it had no memory for the key of an object; json_dumpb needs none.
static char *dump(const json_t *value, size_t flags) {
  const size_t size = json_dumpb(value, NULL, 0, flags);
  char *text = size > 0 ? malloc(size + 1) : NULL;
  if (text == NULL) return NULL;
  if (json_dumpb(value, text, size, flags) == size) {
    text[size] = '\0';
    return text;
  }
  free(text);
  return NULL;
}

char *byoc_json_dump(const json_t *value, size_t flags) {
  char *text = value != NULL ? dump(value, flags) : NULL;
  if (text == NULL) return NULL;
  const char *end = text + strlen(text);
  size_t unsafe = 0, length = 0;
  uint32_t code = 0;
  const char *next = text;
  while (next < end) {
    unsafe += is_unsafe_at(next, (size_t)(end - next), &length, &code);
    next += length > 0 ? length : 1;
  }
  if (unsafe == 0) return text;
  enum { ESCAPES_BYTES = 12 }; // a pair of them
  char *safe = malloc((size_t)(end - text) + unsafe * ESCAPES_BYTES + 1), *to = safe;
  for (const char *at = text; safe != NULL && at < end; at += length) {
    const bool is_unsafe = is_unsafe_at(at, (size_t)(end - at), &length, &code);
    if (length == 0) length = 1;
    if (!is_unsafe) {
      memcpy(to, at, length);
      to += length;
    } else if (code < 0x10000) {
      to += sprintf(to, "\\u%04x", (unsigned)code);
    } else {
      to += sprintf(to, "\\u%04x\\u%04x", 0xD800 + (unsigned)((code - 0x10000) >> 10),
                    0xDC00 + (unsigned)((code - 0x10000) & 0x3FF));
    }
  }
  if (safe != NULL) *to = '\0';
  free(text);
  return safe;
}

// SPDX-License-Identifier: Apache-2.0
// plugin_string.h - strings that grow, such as generated code, and a hash.
//
// Example:
//   byoc_plugin_string_t code = {0};
//   byoc_plugin_string_add(&code, "int x%d;\n", 1);
//   if (!byoc_plugin_string_ok(&code)) return BYOC_OUT_OF_MEMORY;
//   byoc_plugin_string_deinit(&code);
//
// A failed allocation is remembered: the calls after it have no effect, and byoc_plugin_string_ok reports it.
#ifndef BYOC_PLUGIN_STRING_H_
#define BYOC_PLUGIN_STRING_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct byoc_plugin_string_t {
  char *data; // NUL-terminated; NULL until something was added
  size_t length;
  size_t capacity;
  bool failed;
} byoc_plugin_string_t;

// Appends as printf formats it.
void byoc_plugin_string_add(byoc_plugin_string_t *string, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// Appends `length` bytes as they are.
void byoc_plugin_string_add_bytes(byoc_plugin_string_t *string, const void *bytes, size_t length);

// True if no allocation failed.
static inline bool byoc_plugin_string_ok(const byoc_plugin_string_t *string) {
  return !string->failed;
}

// Frees the string and makes it empty again.
void byoc_plugin_string_deinit(byoc_plugin_string_t *string);

// FNV-1a of 64 bits. The first call passes BYOC_PLUGIN_HASH; a further call continues with its result.
#define BYOC_PLUGIN_HASH 14695981039346656037u
uint64_t byoc_plugin_hash(uint64_t hash, const void *bytes, size_t length);

// The hash of a NUL-terminated string.
uint64_t byoc_plugin_hash_string(const char *string);

#endif // BYOC_PLUGIN_STRING_H_

// SPDX-License-Identifier: Apache-2.0
// Hashes: a 64-bit one for tables and a 128-bit one (XXH3, libxxhash) for the identity of content.
#ifndef BYOC_CORE_BASE_HASH_H_
#define BYOC_CORE_BASE_HASH_H_

#include <stddef.h>
#include <stdint.h>

uint64_t byoc_hash_bytes(const void *data, size_t size_bytes, uint64_t seed);
uint64_t byoc_hash_string(const char *text);
uint64_t byoc_hash_combine(uint64_t a, uint64_t b);

typedef struct byoc_content_hash_t {
  uint64_t low, high;
} byoc_content_hash_t;

// Streaming: init, update any number of times, finish. _update_text adds the length, so that strings are separated. The
// state allocates; `finish` frees it, and returns {0, 0} if memory ran out.
typedef struct byoc_hasher_t {
  void *state;
} byoc_hasher_t;
void byoc_hasher_init(byoc_hasher_t *hasher);
void byoc_hasher_update(byoc_hasher_t *hasher, const void *data, size_t size_bytes);
void byoc_hasher_update_string(byoc_hasher_t *hasher, const char *text);
byoc_content_hash_t byoc_hasher_finish(byoc_hasher_t *hasher);
byoc_content_hash_t byoc_content_hash(const void *data, size_t size_bytes);
// 32 lower-case hexadecimal digits and a NUL.
void byoc_content_hash_format(byoc_content_hash_t hash, char out_text[33]);

#endif // BYOC_CORE_BASE_HASH_H_

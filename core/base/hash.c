// SPDX-License-Identifier: Apache-2.0
// Hashes on XXH3 of libxxhash: fast enough to hash all the weights of a model on every build.
#include "core/base/hash.h"

#include <stdio.h>
#include <string.h>
#include <xxhash.h>

uint64_t byoc_hash_bytes(const void *data, size_t size_bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(data, size_bytes, seed);
}

uint64_t byoc_hash_string(const char *text) {
  return XXH3_64bits(text, strlen(text));
}

uint64_t byoc_hash_combine(uint64_t a, uint64_t b) {
  uint64_t pair[2] = {a, b};
  return XXH3_64bits(pair, sizeof(pair));
}

void byoc_hasher_init(byoc_hasher_t *hasher) {
  XXH3_state_t *state = XXH3_createState();
  if (state != NULL && XXH3_128bits_reset(state) != XXH_OK) {
    XXH3_freeState(state);
    state = NULL;
  }
  hasher->state = state;
}

void byoc_hasher_update(byoc_hasher_t *hasher, const void *data, size_t size_bytes) {
  if (hasher->state == NULL || size_bytes == 0) return;
  if (XXH3_128bits_update(hasher->state, data, size_bytes) != XXH_OK) {
    XXH3_freeState(hasher->state);
    hasher->state = NULL; // finish then returns {0, 0}
  }
}

void byoc_hasher_update_string(byoc_hasher_t *hasher, const char *text) {
  uint64_t size = strlen(text);
  byoc_hasher_update(hasher, &size, sizeof(size));
  byoc_hasher_update(hasher, text, size);
}

byoc_content_hash_t byoc_hasher_finish(byoc_hasher_t *hasher) {
  if (hasher->state == NULL) return (byoc_content_hash_t){0, 0};
  XXH128_hash_t hash = XXH3_128bits_digest(hasher->state);
  XXH3_freeState(hasher->state);
  hasher->state = NULL;
  return (byoc_content_hash_t){.low = hash.low64, .high = hash.high64};
}

byoc_content_hash_t byoc_content_hash(const void *data, size_t size_bytes) {
  XXH128_hash_t hash = XXH3_128bits(data, size_bytes);
  return (byoc_content_hash_t){.low = hash.low64, .high = hash.high64};
}

void byoc_content_hash_format(byoc_content_hash_t hash, char out_text[33]) {
  snprintf(out_text, 33, "%016llx%016llx", (unsigned long long)hash.high, (unsigned long long)hash.low);
}

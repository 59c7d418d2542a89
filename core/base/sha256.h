// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4): an identity that cannot be forged, for keys of content that others wrote. It is much slower
// than core/base/hash.h, so it is not for weights.
#ifndef BYOC_CORE_BASE_SHA256_H_
#define BYOC_CORE_BASE_SHA256_H_

#include <stddef.h>
#include <stdint.h>

typedef struct byoc_digest_t {
  uint8_t bytes[32];
} byoc_digest_t;

typedef struct byoc_sha256_t {
  uint32_t state[8];
  uint64_t size_bytes;
  uint8_t block[64];
} byoc_sha256_t;

// Init, update any number of times, finish. _update_text adds the length, so that strings are separated.
void byoc_sha256_init(byoc_sha256_t *hasher);
void byoc_sha256_update(byoc_sha256_t *hasher, const void *data, size_t size_bytes);
void byoc_sha256_update_string(byoc_sha256_t *hasher, const char *text);
byoc_digest_t byoc_sha256_finish(byoc_sha256_t *hasher);
// 64 lower-case hexadecimal digits and a NUL.
void byoc_digest_format(const byoc_digest_t *digest, char out_text[65]);

#endif // BYOC_CORE_BASE_SHA256_H_

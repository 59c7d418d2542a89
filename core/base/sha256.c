// SPDX-License-Identifier: Apache-2.0
// SHA-256, as FIPS 180-4 defines it.
#include "core/base/sha256.h"

#include <stdio.h>
#include <string.h>

// Fractional parts of the cube roots of the first 64 primes.
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t value, int count) {
  return value >> count | value << (32 - count);
}

static void add_block(uint32_t state[8], const uint8_t *block) {
  uint32_t w[64];
  for (int i = 0; i < 16; i++) {
    w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
           block[4 * i + 3];
  }
  for (int i = 16; i < 64; i++) {
    uint32_t s0 = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
    uint32_t s1 = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  uint32_t v[8];
  memcpy(v, state, sizeof(v));
  for (int i = 0; i < 64; i++) {
    uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
    uint32_t chosen = (v[4] & v[5]) ^ (~v[4] & v[6]);
    uint32_t first = v[7] + s1 + chosen + constants[i] + w[i];
    uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
    uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
    memmove(v + 1, v, 7 * sizeof(v[0]));
    v[4] += first;
    v[0] = first + s0 + majority;
  }
  for (int i = 0; i < 8; i++) state[i] += v[i];
}

void byoc_sha256_init(byoc_sha256_t *hasher) {
  *hasher = (byoc_sha256_t){
      .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void byoc_sha256_update(byoc_sha256_t *hasher, const void *data, size_t size_bytes) {
  const uint8_t *bytes = data;
  size_t used = hasher->size_bytes % sizeof(hasher->block);
  hasher->size_bytes += size_bytes;
  while (size_bytes > 0) {
    size_t part = sizeof(hasher->block) - used;
    if (part > size_bytes) part = size_bytes;
    if (part == sizeof(hasher->block)) {
      add_block(hasher->state, bytes);
    } else {
      memcpy(hasher->block + used, bytes, part);
      if (used + part == sizeof(hasher->block)) add_block(hasher->state, hasher->block);
    }
    used = (used + part) % sizeof(hasher->block);
    bytes += part;
    size_bytes -= part;
  }
}

void byoc_sha256_update_string(byoc_sha256_t *hasher, const char *text) {
  uint64_t size = strlen(text);
  byoc_sha256_update(hasher, &size, sizeof(size));
  byoc_sha256_update(hasher, text, size);
}

byoc_digest_t byoc_sha256_finish(byoc_sha256_t *hasher) {
  uint64_t size_bits = hasher->size_bytes * 8;
  uint8_t end[72] = {0x80}, size[8];
  for (int i = 0; i < 8; i++) size[i] = (uint8_t)(size_bits >> (56 - 8 * i));
  size_t padding = 1 + (119 - hasher->size_bytes % 64) % 64; // until 8 bytes are left in a block
  byoc_sha256_update(hasher, end, padding);
  byoc_sha256_update(hasher, size, sizeof(size));
  byoc_digest_t digest;
  for (int i = 0; i < 32; i++) digest.bytes[i] = (uint8_t)(hasher->state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}

void byoc_digest_format(const byoc_digest_t *digest, char out_text[65]) {
  for (int i = 0; i < 32; i++) snprintf(out_text + 2 * i, 3, "%02x", digest->bytes[i]);
}

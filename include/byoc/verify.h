// SPDX-License-Identifier: Apache-2.0
// byoc/verify.h - checks that the file of an artifact is unchanged since byoc wrote it.
//
// Example:
//   char message[512];
//   if (byoc_verify_file("./model.so", message, sizeof(message)) != BYOC_OK) {
//     fprintf(stderr, "%s\n", message); // what is wrong with the file, and what to do
//   }
//   void *library = dlopen("./model.so", RTLD_NOW | RTLD_LOCAL);
//
// An artifact's file ends with a seal: a hash of everything before it. byoc inspect, run, bench and profile check the
// seal of every artifact. A program checks it by the call above, or with BYOC_VERIFY=1 in its environment. Then the
// loading function of the generated header checks it before dlopen, and `create` before the first context. `create`
// finds the artifact's file by itself, even if the program has changed its folder since it was loaded, and refuses if
// the file was replaced. Checking reads the whole file once: about 30 ms for 100 MB that the system has in memory, 130
// ms if the program that includes this header was compiled without optimisation.
//
// The hash finds damage, not forgery: a program that can write the file can write the seal. It covers every byte, so
// tools that change the file (strip, objcopy, patchelf) break or remove the seal. The artifact still loads, but no
// longer passes the check. There is nothing to strip: byoc writes no debug information.
//
// Everything here is self-contained and callable from any thread.
#ifndef BYOC_VERIFY_H_
#define BYOC_VERIFY_H_

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "byoc/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BYOC_SEAL_MAGIC   "BYOCSEAL"
#define BYOC_SEAL_VERSION 1u

// The last bytes of the file, little-endian.
typedef struct byoc_seal_t {
  char magic[8];       // BYOC_SEAL_MAGIC, without a NUL
  uint32_t version;    // BYOC_SEAL_VERSION
  uint32_t reserved;   // 0
  uint64_t size_bytes; // of the whole file, the seal included
  uint64_t hash;       // XXH64 with seed 0 of all bytes before this field
} byoc_seal_t;

// ---- XXH64 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md) ----

#define BYOC_SEAL_PRIME_1 UINT64_C(0x9E3779B185EBCA87)
#define BYOC_SEAL_PRIME_2 UINT64_C(0xC2B2AE3D27D4EB4F)
#define BYOC_SEAL_PRIME_3 UINT64_C(0x165667B19E3779F9)
#define BYOC_SEAL_PRIME_4 UINT64_C(0x85EBCA77C2B2AE63)
#define BYOC_SEAL_PRIME_5 UINT64_C(0x27D4EB2F165667C5)
#define BYOC_SEAL_STRIPE  32u // bytes

typedef struct byoc_seal_hash_t {
  uint64_t lanes[4];
  uint64_t size_bytes; // hashed so far
} byoc_seal_hash_t;

static inline uint64_t byoc_seal_rotate(uint64_t value, int bits) {
  return (value << bits) | (value >> (64 - bits));
}

static inline uint64_t byoc_seal_read64(const unsigned char *at) {
  uint64_t value;
  memcpy(&value, at, sizeof(value));
  return value;
}

static inline uint64_t byoc_seal_round(uint64_t lane, uint64_t word) {
  return byoc_seal_rotate(lane + word * BYOC_SEAL_PRIME_2, 31) * BYOC_SEAL_PRIME_1;
}

static inline void byoc_seal_begin(byoc_seal_hash_t *hash) {
  hash->lanes[0] = BYOC_SEAL_PRIME_1 + BYOC_SEAL_PRIME_2;
  hash->lanes[1] = BYOC_SEAL_PRIME_2;
  hash->lanes[2] = 0;
  hash->lanes[3] = 0 - BYOC_SEAL_PRIME_1;
  hash->size_bytes = 0;
}

// `size_bytes` is a multiple of BYOC_SEAL_STRIPE.
static inline void byoc_seal_update(byoc_seal_hash_t *hash, const unsigned char *bytes, uint64_t size_bytes) {
  uint64_t a = hash->lanes[0], b = hash->lanes[1], c = hash->lanes[2], d = hash->lanes[3];
  const unsigned char *end = bytes + size_bytes;
  for (; bytes != end; bytes += BYOC_SEAL_STRIPE) {
    a = byoc_seal_round(a, byoc_seal_read64(bytes));
    b = byoc_seal_round(b, byoc_seal_read64(bytes + 8));
    c = byoc_seal_round(c, byoc_seal_read64(bytes + 16));
    d = byoc_seal_round(d, byoc_seal_read64(bytes + 24));
  }
  hash->lanes[0] = a, hash->lanes[1] = b, hash->lanes[2] = c, hash->lanes[3] = d;
  hash->size_bytes += size_bytes;
}

// The hash of what was given so far and of `size_bytes` < BYOC_SEAL_STRIPE more.
static inline uint64_t byoc_seal_end(const byoc_seal_hash_t *hash, const unsigned char *bytes, uint64_t size_bytes) {
  const uint64_t *lanes = hash->lanes, total = hash->size_bytes + size_bytes;
  uint64_t value = lanes[2] + BYOC_SEAL_PRIME_5;
  if (total >= BYOC_SEAL_STRIPE) {
    value = byoc_seal_rotate(lanes[0], 1) + byoc_seal_rotate(lanes[1], 7) + byoc_seal_rotate(lanes[2], 12) +
            byoc_seal_rotate(lanes[3], 18);
    for (int i = 0; i < 4; i++) {
      value = (value ^ byoc_seal_round(0, lanes[i])) * BYOC_SEAL_PRIME_1 + BYOC_SEAL_PRIME_4;
    }
  }
  value += total;
  for (; size_bytes >= 8; bytes += 8, size_bytes -= 8) {
    value ^= byoc_seal_round(0, byoc_seal_read64(bytes));
    value = byoc_seal_rotate(value, 27) * BYOC_SEAL_PRIME_1 + BYOC_SEAL_PRIME_4;
  }
  if (size_bytes >= 4) {
    uint32_t word;
    memcpy(&word, bytes, sizeof(word));
    value = byoc_seal_rotate(value ^ word * BYOC_SEAL_PRIME_1, 23) * BYOC_SEAL_PRIME_2 + BYOC_SEAL_PRIME_3;
    bytes += 4, size_bytes -= 4;
  }
  for (; size_bytes > 0; bytes++, size_bytes--) {
    value = byoc_seal_rotate(value ^ *bytes * BYOC_SEAL_PRIME_5, 11) * BYOC_SEAL_PRIME_1;
  }
  value = (value ^ (value >> 33)) * BYOC_SEAL_PRIME_2;
  value = (value ^ (value >> 29)) * BYOC_SEAL_PRIME_3;
  return value ^ (value >> 32);
}

// ---- the file ----

// The checked bytes: those of an open file, or in memory.
typedef struct byoc_seal_source_t {
  const char *path;           // for messages
  FILE *file;                 // NULL: `bytes` is the whole file
  const unsigned char *bytes; // NULL: read from `file`
  uint64_t size_bytes;
} byoc_seal_source_t;

static inline int byoc_seal_is_one(const byoc_seal_t *seal) {
  return memcmp(seal->magic, BYOC_SEAL_MAGIC, sizeof(seal->magic)) == 0;
}

static inline int32_t byoc_seal_refuse(int32_t status, const char *path, const char *what, char *message,
                                       uint64_t size) {
  if (message != NULL && size > 0) (void)snprintf(message, (size_t)size, "'%s' %s", path, what);
  return status;
}

// Reads `size_bytes` at `offset`. 1 if it succeeds.
static inline int byoc_seal_read(const byoc_seal_source_t *source, uint64_t offset, void *out, uint64_t size_bytes) {
  if (offset > source->size_bytes || size_bytes > source->size_bytes - offset) return 0;
  if (source->file == NULL) {
    memcpy(out, source->bytes + offset, (size_t)size_bytes);
    return 1;
  }
  return fseek(source->file, (long)offset, SEEK_SET) == 0 &&
         fread(out, 1, (size_t)size_bytes, source->file) == (size_t)size_bytes;
}

// The end of an ELF file by its header: after its table of sections. 0 if that is not known.
static inline uint64_t byoc_seal_elf_end(const byoc_seal_source_t *source) {
  unsigned char header[64]; // Elf64_Ehdr: e_shoff at 40, e_shentsize at 58, e_shnum at 60; Elf32_Ehdr: 32, 46, 48
  uint16_t entry_size, count;
  uint32_t offset32;
  if (!byoc_seal_read(source, 0, header, sizeof(header)) || memcmp(header, "\177ELF", 4) != 0) return 0;
  const int is_32 = header[4] == 1; // EI_CLASS: ELFCLASS32
  memcpy(&offset32, header + 32, sizeof(offset32));
  const uint64_t offset = is_32 ? offset32 : byoc_seal_read64(header + 40);
  memcpy(&entry_size, header + (is_32 ? 46 : 58), sizeof(entry_size));
  memcpy(&count, header + (is_32 ? 48 : 60), sizeof(count));
  return offset == 0 || offset > UINT64_MAX / 2 ? 0 : offset + (uint64_t)entry_size * count;
}

// Writes the reason why a file does not end with a seal.
static inline int32_t byoc_seal_missing(const byoc_seal_source_t *source, char *message, uint64_t size) {
  char what[256];
  byoc_seal_t seal;
  const uint64_t file_size = source->size_bytes, end = byoc_seal_elf_end(source), whole = end + sizeof(seal);
  if (end != 0 && file_size != end && file_size < whole) {
    (void)snprintf(what, sizeof(what), "is cut off: it has %llu bytes of %llu; copy it again, or build it again",
                   (unsigned long long)file_size, (unsigned long long)whole);
    return byoc_seal_refuse(BYOC_INVALID_DATA, source->path, what, message, size);
  }
  if (end != 0 && file_size > whole && byoc_seal_read(source, end, &seal, sizeof(seal)) && byoc_seal_is_one(&seal)) {
    (void)snprintf(what, sizeof(what), "has %llu more bytes than byoc wrote: copy it again, or build it again",
                   (unsigned long long)(file_size - whole));
    return byoc_seal_refuse(BYOC_INVALID_DATA, source->path, what, message, size);
  }
  if (end != 0 && file_size == whole) {
    return byoc_seal_refuse(BYOC_INVALID_DATA, source->path,
                            "is damaged: its seal is not what byoc wrote; copy it again, or build it again", message,
                            size);
  }
  return byoc_seal_refuse(BYOC_NOT_FOUND, source->path,
                          "does not end with the seal of an artifact: an older byoc built it, it is damaged, or a "
                          "tool such as strip or objcopy changed it; build it again",
                          message, size);
}

// The hash of the first `left` bytes of the file, which is read in blocks.
static inline int32_t byoc_seal_hash_file(const byoc_seal_source_t *source, uint64_t left, char *message, uint64_t size,
                                          uint64_t *out_hash) {
  const uint64_t block_size = (uint64_t)1 << 18; // stays in the cache of a core
  uint64_t at = 0;
  byoc_seal_hash_t hash;
  unsigned char *block = (unsigned char *)malloc((size_t)block_size);
  if (block == NULL) {
    return byoc_seal_refuse(BYOC_OUT_OF_MEMORY, source->path, "cannot be checked: out of memory", message, size);
  }
  byoc_seal_begin(&hash);
  while (left - at >= block_size && byoc_seal_read(source, at, block, block_size)) {
    byoc_seal_update(&hash, block, block_size);
    at += block_size;
  }
  left -= at;
  if (left >= block_size || !byoc_seal_read(source, at, block, left)) {
    free(block);
    return byoc_seal_refuse(BYOC_IO, source->path, "cannot be read, or became shorter while it was", message, size);
  }
  byoc_seal_update(&hash, block, left - left % BYOC_SEAL_STRIPE);
  *out_hash = byoc_seal_end(&hash, block + (left - left % BYOC_SEAL_STRIPE), left % BYOC_SEAL_STRIPE);
  free(block);
  return BYOC_OK;
}

static inline int32_t byoc_seal_check(const byoc_seal_source_t *source, char *message, uint64_t size) {
  const uint64_t file_size = source->size_bytes, hashed = file_size - sizeof(uint64_t);
  byoc_seal_t seal;
  uint64_t hash = 0;
  if (file_size < sizeof(seal) || !byoc_seal_read(source, file_size - sizeof(seal), &seal, sizeof(seal)) ||
      !byoc_seal_is_one(&seal)) {
    return byoc_seal_missing(source, message, size);
  }
  if (seal.version > BYOC_SEAL_VERSION && seal.size_bytes == file_size) {
    return byoc_seal_refuse(BYOC_VERSION, source->path, "has a seal of a later byoc: check it with that one", message,
                            size);
  }
  if (source->file != NULL) {
    int32_t status = byoc_seal_hash_file(source, hashed, message, size, &hash);
    if (status != BYOC_OK) return status;
  } else {
    const uint64_t whole = hashed - hashed % BYOC_SEAL_STRIPE;
    byoc_seal_hash_t state;
    byoc_seal_begin(&state);
    byoc_seal_update(&state, source->bytes, whole);
    hash = byoc_seal_end(&state, source->bytes + whole, hashed - whole);
  }
  if (seal.size_bytes == file_size && seal.hash == hash) return BYOC_OK;
  return byoc_seal_refuse(BYOC_INVALID_DATA, source->path,
                          "is damaged: it is not what byoc wrote; copy it again, or build it again", message, size);
}

// Opens the file for byoc_seal_check; fclose(out_source->file) is the caller's.
static inline int32_t byoc_seal_open(const char *path, char *message, uint64_t size, byoc_seal_source_t *out_source) {
  struct stat info;
  memset(out_source, 0, sizeof(*out_source));
  out_source->path = path;
  if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
    return byoc_seal_refuse(BYOC_IO, path, "is not a regular file", message, size);
  }
  FILE *file = fopen(path, "rb");
  if (file != NULL) (void)setvbuf(file, NULL, _IONBF, 0); // blocks are large
  long file_size = file != NULL && fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
  if (file_size < 0) {
    char what[256];
    (void)snprintf(what, sizeof(what), "cannot be read: %s", strerror(errno));
    if (file != NULL) (void)fclose(file);
    return byoc_seal_refuse(BYOC_IO, path, what, message, size);
  }
  out_source->file = file;
  out_source->size_bytes = (uint64_t)file_size;
  return BYOC_OK;
}

// Reads the file at `path` (as fopen finds it) and checks its seal. BYOC_OK, or another status with the reason and the
// remedy in `message` (cut at `size`; may be NULL): BYOC_INVALID_DATA if the file is damaged, cut off or longer than
// byoc wrote it; BYOC_NOT_FOUND if it has no seal; BYOC_VERSION if a later byoc sealed it; BYOC_IO if it cannot be
// read; BYOC_OUT_OF_MEMORY.
static inline int32_t byoc_verify_file(const char *path, char *message, uint64_t size) {
  byoc_seal_source_t source;
  int32_t status = byoc_seal_open(path, message, size, &source);
  if (status != BYOC_OK) return status;
  status = byoc_seal_check(&source, message, size);
  (void)fclose(source.file);
  return status;
}

// The same for the bytes of a whole file in the caller's memory, so that the checked bytes are those that are used.
// `path` is for the message.
static inline int32_t byoc_verify_bytes(const void *bytes, uint64_t size_bytes, const char *path, char *message,
                                        uint64_t size) {
  byoc_seal_source_t source;
  memset(&source, 0, sizeof(source));
  source.path = path;
  source.bytes = (const unsigned char *)bytes;
  source.size_bytes = size_bytes;
  return byoc_seal_check(&source, message, size);
}

#ifdef __cplusplus
}
#endif
#endif // BYOC_VERIFY_H_

// byoc/verify.h - is the file of an artifact still what byoc wrote?
//
//   char message[512];
//   if (byoc_verify_file("./model.so", message, sizeof(message)) != BYOC_OK) {
//     fprintf(stderr, "%s\n", message); // what is wrong with the file, and what to do
//   }
//   void *library = dlopen("./model.so", RTLD_NOW | RTLD_LOCAL);
//
// An artifact's file ends with a seal: a hash of everything before it. byoc inspect, run, bench and profile check the
// seal of every artifact; a program does so by the call above, or with BYOC_VERIFY=1 in its environment: then the
// loading function of the generated header checks before dlopen, and `create` before it makes the first context.
// Checking reads the whole file once: about 30 ms for 100 MB that the system has in memory, 130 ms if the program that
// includes this header was compiled without optimisation.
//
// The hash finds damage, not forgery: whoever can write the file can write the seal. It covers every byte, so tools
// that change the file (strip, objcopy, patchelf) break or remove the seal. The artifact still loads, but no longer
// passes the check. There is nothing to strip: byoc writes no debug information.
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

static inline int byoc_seal_is_one(const byoc_seal_t *seal) {
  return memcmp(seal->magic, BYOC_SEAL_MAGIC, sizeof(seal->magic)) == 0;
}

static inline int32_t byoc_seal_refuse(int32_t status, const char *path, const char *what, char *message,
                                       uint64_t size) {
  if (message != NULL && size > 0) (void)snprintf(message, (size_t)size, "'%s' %s", path, what);
  return status;
}

// Reads `size_bytes` at `offset`. 1 if they are there.
static inline int byoc_seal_read(FILE *file, uint64_t offset, void *out, size_t size_bytes) {
  return fseek(file, (long)offset, SEEK_SET) == 0 && fread(out, 1, size_bytes, file) == size_bytes;
}

// Where an ELF file ends by its own account: behind its table of sections. 0 if that cannot be told.
static inline uint64_t byoc_seal_elf_end(FILE *file) {
  unsigned char header[64]; // Elf64_Ehdr: e_shoff at 40, e_shentsize at 58, e_shnum at 60
  uint16_t entry_size, count;
  if (!byoc_seal_read(file, 0, header, sizeof(header)) || memcmp(header, "\177ELF", 4) != 0) return 0;
  uint64_t offset = byoc_seal_read64(header + 40);
  memcpy(&entry_size, header + 58, sizeof(entry_size));
  memcpy(&count, header + 60, sizeof(count));
  return offset == 0 || offset > UINT64_MAX / 2 ? 0 : offset + (uint64_t)entry_size * count;
}

// Says why a file of `file_size` bytes does not end with a seal.
static inline int32_t byoc_seal_missing(FILE *file, uint64_t file_size, const char *path, char *message,
                                        uint64_t size) {
  char what[256];
  byoc_seal_t seal;
  uint64_t end = byoc_seal_elf_end(file), whole = end + sizeof(seal);
  if (end != 0 && file_size != end && file_size < whole) {
    (void)snprintf(what, sizeof(what), "is cut off: it has %llu bytes of %llu; copy it again, or build it again",
                   (unsigned long long)file_size, (unsigned long long)whole);
    return byoc_seal_refuse(BYOC_INVALID_DATA, path, what, message, size);
  }
  if (end != 0 && file_size > whole && byoc_seal_read(file, end, &seal, sizeof(seal)) && byoc_seal_is_one(&seal)) {
    (void)snprintf(what, sizeof(what), "has %llu more bytes than byoc wrote: copy it again, or build it again",
                   (unsigned long long)(file_size - whole));
    return byoc_seal_refuse(BYOC_INVALID_DATA, path, what, message, size);
  }
  if (end != 0 && file_size == whole) {
    return byoc_seal_refuse(BYOC_INVALID_DATA, path,
                            "is damaged: its seal is not what byoc wrote; copy it again, or build it again", message,
                            size);
  }
  return byoc_seal_refuse(BYOC_NOT_FOUND, path,
                          "does not end with the seal of an artifact: an older byoc built it, it is damaged, or a "
                          "tool such as strip or objcopy changed it; build it again",
                          message, size);
}

// Hashes the first `left` bytes. `block` holds `block_size` bytes, a multiple of BYOC_SEAL_STRIPE. 0 if they cannot be
// read.
static inline int byoc_seal_hash_file(FILE *file, uint64_t left, unsigned char *block, size_t block_size,
                                      uint64_t *out_hash) {
  byoc_seal_hash_t hash;
  byoc_seal_begin(&hash);
  if (fseek(file, 0, SEEK_SET) != 0) return 0;
  while (left >= block_size) {
    if (fread(block, 1, block_size, file) != block_size) return 0;
    byoc_seal_update(&hash, block, block_size);
    left -= block_size;
  }
  if (fread(block, 1, (size_t)left, file) != (size_t)left) return 0;
  byoc_seal_update(&hash, block, left - left % BYOC_SEAL_STRIPE);
  *out_hash = byoc_seal_end(&hash, block + (left - left % BYOC_SEAL_STRIPE), left % BYOC_SEAL_STRIPE);
  return 1;
}

static inline int32_t byoc_verify_open_file(FILE *file, uint64_t file_size, const char *path, char *message,
                                            uint64_t size) {
  const size_t block_size = (size_t)1 << 18; // stays in the cache of a core
  byoc_seal_t seal;
  uint64_t hash = 0;
  if (file_size < sizeof(seal) || !byoc_seal_read(file, file_size - sizeof(seal), &seal, sizeof(seal)) ||
      !byoc_seal_is_one(&seal)) {
    return byoc_seal_missing(file, file_size, path, message, size);
  }
  if (seal.version > BYOC_SEAL_VERSION && seal.size_bytes == file_size) {
    return byoc_seal_refuse(BYOC_VERSION, path, "has a seal of a later byoc: check it with that one", message, size);
  }
  unsigned char *block = (unsigned char *)malloc(block_size);
  if (block == NULL) {
    return byoc_seal_refuse(BYOC_OUT_OF_MEMORY, path, "cannot be checked: out of memory", message, size);
  }
  int is_read = byoc_seal_hash_file(file, file_size - sizeof(seal.hash), block, block_size, &hash);
  free(block);
  if (!is_read) {
    return byoc_seal_refuse(BYOC_IO, path, "cannot be read, or became shorter while it was", message, size);
  }
  if (seal.size_bytes == file_size && seal.hash == hash) return BYOC_OK;
  return byoc_seal_refuse(BYOC_INVALID_DATA, path,
                          "is damaged: it is not what byoc wrote; copy it again, or build it again", message, size);
}

// Reads the file at `path` (as fopen finds it) and checks its seal. BYOC_OK, or another status with the reason and the
// cure in `message` (a text cut at `size`; may be NULL): BYOC_INVALID_DATA if the file is damaged, cut off or longer
// than byoc wrote it; BYOC_NOT_FOUND if it has no seal; BYOC_VERSION if a later byoc sealed it; BYOC_IO if it cannot be
// read; BYOC_OUT_OF_MEMORY.
static inline int32_t byoc_verify_file(const char *path, char *message, uint64_t size) {
  struct stat info;
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
  int32_t status = byoc_verify_open_file(file, (uint64_t)file_size, path, message, size);
  (void)fclose(file);
  return status;
}

#ifdef __cplusplus
}
#endif
#endif // BYOC_VERIFY_H_

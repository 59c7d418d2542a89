// SPDX-License-Identifier: Apache-2.0
// The weights file: constants that lie beside an artifact instead of in it, and how an artifact takes them from there.
//
// The file is one header, data, one table of entries and their names; docs/weights.md has the format for readers of
// other languages. An artifact lists the contents that it takes, by hash and size, and looks them up in the table when
// its first context is made. So it does not matter where in the file they lie, and several artifacts may take from one
// file. All numbers are little-endian.
#ifndef BYOC_CORE_RUNTIME_WEIGHTS_H_
#define BYOC_CORE_RUNTIME_WEIGHTS_H_

#include <stdint.h>

#define BYOC_WEIGHTS_MAGIC      "BYOCWGHT"
#define BYOC_WEIGHTS_VERSION    1u
#define BYOC_WEIGHTS_HASH_XXH64 1u

// Where an artifact carries its weights behind its code: from the next multiple of this behind its own end as an ELF
// file (no system has larger pages), in front of the seal.
#define BYOC_WEIGHTS_APPENDED_ALIGNMENT 65536u

// At the beginning of the file.
typedef struct byoc_weights_header_t {
  char magic[8];         // BYOC_WEIGHTS_MAGIC, without a NUL
  uint32_t version;      // BYOC_WEIGHTS_VERSION; a reader refuses a larger one
  uint32_t header_bytes; // sizeof(byoc_weights_header_t) of the writer
  uint64_t size_bytes;   // of the whole file
  uint64_t table_offset; // of the entries; behind the data
  uint64_t entry_count;
  uint32_t entry_bytes; // sizeof(byoc_weights_entry_t) of the writer: readers step by it
  uint32_t hash_kind;   // BYOC_WEIGHTS_HASH_XXH64: how the hashes here were made
  uint64_t table_hash;  // of all bytes from table_offset to the end of the file
  uint64_t header_hash; // of the bytes of the header before this field
} byoc_weights_header_t;

// The entries are in order of hash, then of size.
typedef struct byoc_weights_entry_t {
  uint64_t hash; // of the data
  uint64_t size_bytes;
  uint64_t offset_bytes; // in the file; a multiple of 64, from 64 KiB on of 4096
  uint32_t name_offset;  // of its name among the names, which follow the entries; UTF-8, without a NUL
  uint32_t name_bytes;
} byoc_weights_entry_t;

// A file in memory whose header and table were checked.
typedef struct byoc_weights_view_t {
  const uint8_t *data;
  uint64_t size_bytes;
  const byoc_weights_header_t *header;
} byoc_weights_view_t;

uint64_t byoc_weights_hash(const void *data, uint64_t size_bytes);
// BYOC_OK, or another status with the reason in `message`, which begins with the quoted `path`: BYOC_INVALID_DATA for
// what is not a whole weights file, BYOC_VERSION for one of a later byoc. Reads the header and the table, no data.
int32_t byoc_weights_check(const void *data, uint64_t size_bytes, const char *path, char *message, uint64_t size,
                           byoc_weights_view_t *out_view);
const byoc_weights_entry_t *byoc_weights_entry(const byoc_weights_view_t *view, uint64_t index);
const char *byoc_weights_name(const byoc_weights_view_t *view, const byoc_weights_entry_t *entry);
// NULL if the file has no such content.
const byoc_weights_entry_t *byoc_weights_find(const byoc_weights_view_t *view, uint64_t hash, uint64_t size_bytes);

// ---- what an artifact takes ----

// A content by which it is looked up.
typedef struct byoc_model_weight_t {
  uint64_t hash, size_bytes;
} byoc_model_weight_t;

// A pointer in the generated tables that points into a weight.
typedef struct byoc_model_weight_use_t {
  void *pointer; // to it
  uint32_t weight;
  uint64_t offset_bytes;
} byoc_model_weight_use_t;

// What the process has done for one entry of the artifact.
typedef struct byoc_model_weights_state_t {
  int is_filled, is_verified;
} byoc_model_weights_state_t;

typedef struct byoc_model_weights_t {
  const char *file; // its name, beside the artifact; NULL: it is appended to that
  uint32_t weight_count, use_count;
  const byoc_model_weight_t *weights;
  const uint8_t **data; // where each lies, once the file is open; generated code reads it
  const byoc_model_weight_use_t *uses;
  byoc_model_weights_state_t *state; // zeros at first
} byoc_model_weights_t;

// Maps the file, once in a process, and fills in every pointer, once for each entry of the artifact: all contexts share
// them until the artifact is unloaded. `path` (NULL: $BYOC_WEIGHTS, else beside the artifact; where `is_static`, beside
// the program) and `huge_pages` count when it is opened; one that is appended has its place. With `verify` the content
// of every weight is checked against its hash. On failure `message` says why; a later call tries again, and looks at
// the file anew unless an earlier call has succeeded with this one.
int32_t byoc_model_open_weights(const byoc_model_weights_t *weights, const char *path, int is_static, int huge_pages,
                                int verify, char *message, uint64_t size);

#endif // BYOC_CORE_RUNTIME_WEIGHTS_H_

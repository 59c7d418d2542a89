// SPDX-License-Identifier: Apache-2.0
// The weights file: constants of an artifact in a file beside it.
//
// The file is one header, data, one table of entries and their names; docs/weights.md has the format for readers of
// other languages. An artifact lists its weights by hash and size, and looks them up in the table when its first
// context is made. So their offsets do not matter, and several artifacts may share one file. All numbers are
// little-endian.
#ifndef BYOC_CORE_RUNTIME_WEIGHTS_H_
#define BYOC_CORE_RUNTIME_WEIGHTS_H_

#include <stdint.h>

#define BYOC_WEIGHTS_MAGIC      "BYOCWGHT"
#define BYOC_WEIGHTS_VERSION    1u
#define BYOC_WEIGHTS_HASH_XXH64 1u

// Weights that are appended to an artifact begin at the first multiple of this after the end of its ELF file (no system
// has larger pages), and end before the seal.
#define BYOC_WEIGHTS_APPENDED_ALIGNMENT 65536u

// The header, at the beginning of the file.
typedef struct byoc_weights_header_t {
  char magic[8];         // BYOC_WEIGHTS_MAGIC, without a NUL
  uint32_t version;      // BYOC_WEIGHTS_VERSION; a reader refuses a larger one
  uint32_t header_bytes; // sizeof(byoc_weights_header_t) of the writer
  uint64_t size_bytes;   // of the whole file
  uint64_t table_offset; // offset of the entries, which follow the data
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
// Checks the header and the table; reads no data. BYOC_OK, BYOC_INVALID_DATA for anything but a whole weights file, or
// BYOC_VERSION for a file of a later byoc. `message` has the reason, and begins with the quoted `path`.
int32_t byoc_weights_check(const void *data, uint64_t size_bytes, const char *path, char *message, uint64_t size,
                           byoc_weights_view_t *out_view);
const byoc_weights_entry_t *byoc_weights_entry(const byoc_weights_view_t *view, uint64_t index);
const char *byoc_weights_name(const byoc_weights_view_t *view, const byoc_weights_entry_t *entry);
// NULL if the file has no such content.
const byoc_weights_entry_t *byoc_weights_find(const byoc_weights_view_t *view, uint64_t hash, uint64_t size_bytes);

// ---- the weights of an artifact ----

// A weight, as it is looked up.
typedef struct byoc_model_weight_t {
  uint64_t hash, size_bytes;
} byoc_model_weight_t;

// A pointer in the generated tables to a weight.
typedef struct byoc_model_weight_use_t {
  void *pointer; // to it
  uint32_t weight;
  uint64_t offset_bytes;
} byoc_model_weight_use_t;

// The state of one entry of the artifact in this process.
typedef struct byoc_model_weights_state_t {
  int is_filled, is_verified;
} byoc_model_weights_state_t;

typedef struct byoc_model_weights_t {
  const char *file; // its name, in the artifact's folder; NULL: it is appended to the artifact
  uint32_t weight_count, use_count;
  const byoc_model_weight_t *weights;
  const uint8_t **data; // the address of each weight once the file is open; generated code reads it
  const byoc_model_weight_use_t *uses;
  byoc_model_weights_state_t *state; // zeros at first
} byoc_model_weights_t;

// Maps the file, once in a process, and sets every pointer, once for each entry of the artifact. All contexts share
// them until the artifact is unloaded. `path` and `huge_pages` matter only for the call that opens the file. `path`
// NULL: $BYOC_WEIGHTS, else the file in the folder of the artifact, or of the program if `is_static`. Appended weights
// need no path. With `verify` every weight is compared with its hash. On failure `message` has the reason; a later call
// tries again, and opens the file again unless a context uses it.
int32_t byoc_model_open_weights(const byoc_model_weights_t *weights, const char *path, int is_static, int huge_pages,
                                int verify, char *message, uint64_t size);

#endif // BYOC_CORE_RUNTIME_WEIGHTS_H_

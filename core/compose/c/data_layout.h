// SPDX-License-Identifier: Apache-2.0
// The read-only data of an artifact: constants, strings and blobs in one section, written without being printed as
// text. Content that occurs several times is stored once. If they are to lie outside, the constants are listed apart:
// they go to a weights file (core/compose/artifact/weights_file.h). Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_C_DATA_LAYOUT_H_
#define BYOC_CORE_COMPOSE_C_DATA_LAYOUT_H_

#include "core/base/arena.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/map.h"
#include "core/base/vector.h"
#include "core/hostir/program/program.h"

// One piece of data.
typedef struct byoc_data_entry_t {
  const void *data;
  size_t size_bytes;
  const char *name;      // of the first tensor with this content; NULL: it has none
  uint64_t offset_bytes; // in the section
  byoc_content_hash_t hash;
  size_t weight;        // position in `weights`, plus 1; 0: it lies in the section
  uint64_t weight_hash; // of a weight: XXH64 of its bytes, as the weights file has it
} byoc_data_entry_t;

typedef struct byoc_data_layout_t {
  byoc_allocator_t allocator;
  const byoc_host_program_t *const *programs;
  size_t program_count;
  uint64_t touched_bytes;                   // of its constants, since their pages left memory
  BYOC_VECTOR(byoc_data_entry_t *) entries; // of the section, in order of offset
  BYOC_VECTOR(byoc_data_entry_t *) weights; // constants that lie outside, in order of first use
  byoc_map_t by_piece;                      // address and size as text → entry
  byoc_map_t by_content;                    // hash and size as text → entry
  byoc_arena_t arena;
  uint64_t size_bytes;
  uint64_t constants_size_bytes; // of all tensors, padding included where they lie in the section
  size_t constant_count;         // of the first entries that are tensors
  // The entries that the artifact looks up in the weights file (byoc_model_weight_t); NULL: none.
  const byoc_data_entry_t *wanted;
  bool is_external; // tensors lie outside
} byoc_data_layout_t;

// Lays out the constants that the programs' instructions use, then their engines' constants, JSON and blobs, and the
// code of their devices. The array outlives the layout.
byoc_status_t byoc_data_layout_create(const byoc_host_program_t *const *programs, size_t count, bool is_external,
                                      byoc_allocator_t allocator, byoc_diag_t *diag, byoc_data_layout_t *out_layout);
// Have the constants of the programs so many bytes? Equal ones count once: they are looked at if their places alone
// leave it open.
byoc_status_t byoc_data_layout_exceeds(const byoc_host_program_t *const *programs, size_t count, uint64_t bytes,
                                       byoc_allocator_t allocator, byoc_diag_t *diag, bool *out_exceeds);
void byoc_data_layout_deinit(byoc_data_layout_t *layout);
// The entry of a piece of data that the program holds; NULL if it was not laid out.
const byoc_data_entry_t *byoc_data_layout_find(const byoc_data_layout_t *layout, const void *data, size_t size_bytes);
// Notes that the bytes of a constant were read; now and then the pages of all constants leave memory.
void byoc_data_layout_touched(byoc_data_layout_t *layout, uint64_t size_bytes);
// Constants are not read for a while: their pages leave memory now.
void byoc_data_layout_forget(byoc_data_layout_t *layout);
// Hands out the section's size_bytes bytes in parts: padding and data alternate.
size_t byoc_data_layout_part_count(const byoc_data_layout_t *layout);
void byoc_data_layout_list(const byoc_data_layout_t *layout, byoc_bytes_t *out_parts);

#endif // BYOC_CORE_COMPOSE_C_DATA_LAYOUT_H_

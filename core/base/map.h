// SPDX-License-Identifier: Apache-2.0
// Hash maps in insertion order, so that a walk is deterministic. Keys are strings (copied) or pointers.
#ifndef BYOC_CORE_BASE_MAP_H_
#define BYOC_CORE_BASE_MAP_H_

#include "core/base/allocator.h"

typedef struct byoc_map_entry_t {
  const char *text;    // key of a map by strings
  const void *pointer; // key of a map by pointers
  void *value;
} byoc_map_entry_t;

typedef struct byoc_map_t {
  byoc_allocator_t allocator;
  bool by_pointer;
  byoc_map_entry_t *entries; // in insertion order; [0, count)
  size_t count, capacity;
  uint32_t *slots; // open addressing: index into entries + 1, 0 is free
  size_t slot_count;
} byoc_map_t;

void byoc_string_map_init(byoc_map_t *map, byoc_allocator_t allocator);
void byoc_pointer_map_init(byoc_map_t *map, byoc_allocator_t allocator);
void byoc_map_deinit(byoc_map_t *map);
void byoc_map_clear(byoc_map_t *map);

// Inserts or replaces; false if out of memory.
bool byoc_string_map_put(byoc_map_t *map, const char *key, void *value);
bool byoc_pointer_map_put(byoc_map_t *map, const void *key, void *value);
// NULL if the key is missing. (_find distinguishes a stored NULL.)
void *byoc_string_map_get(const byoc_map_t *map, const char *key);
void *byoc_pointer_map_get(const byoc_map_t *map, const void *key);
byoc_map_entry_t *byoc_string_map_find(const byoc_map_t *map, const char *key);
byoc_map_entry_t *byoc_pointer_map_find(const byoc_map_t *map, const void *key);

#endif // BYOC_CORE_BASE_MAP_H_

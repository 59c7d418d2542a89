// SPDX-License-Identifier: Apache-2.0
// Hash maps: entries in insertion order beside a table of indices with linear probing, at most half full.
#include "core/base/map.h"

#include <string.h>

#include "core/base/hash.h"

static void init(byoc_map_t *map, byoc_allocator_t allocator, bool by_pointer) {
  *map = (byoc_map_t){.allocator = allocator, .by_pointer = by_pointer};
}

void byoc_string_map_init(byoc_map_t *map, byoc_allocator_t allocator) {
  init(map, allocator, false);
}

void byoc_pointer_map_init(byoc_map_t *map, byoc_allocator_t allocator) {
  init(map, allocator, true);
}

void byoc_map_clear(byoc_map_t *map) {
  if (!map->by_pointer) {
    for (size_t i = 0; i < map->count; i++) byoc_free(map->allocator, (void *)(uintptr_t)map->entries[i].text);
  }
  if (map->slot_count > 0) memset(map->slots, 0, map->slot_count * sizeof(*map->slots));
  map->count = 0;
}

void byoc_map_deinit(byoc_map_t *map) {
  if (map->allocator.resize == NULL) return;
  byoc_map_clear(map);
  byoc_free(map->allocator, map->entries);
  byoc_free(map->allocator, map->slots);
  init(map, map->allocator, map->by_pointer);
}

static size_t hash_key(bool by_pointer, const void *key) {
  if (!by_pointer) return (size_t)byoc_hash_string(key);
  uint64_t bits = (uint64_t)(uintptr_t)key;
  return (size_t)byoc_hash_bytes(&bits, sizeof(bits), 0);
}

static const void *entry_key(const byoc_map_t *map, const byoc_map_entry_t *entry) {
  return map->by_pointer ? entry->pointer : entry->text;
}

// The slot that holds `key`, or the free one where it would go. The table is never full.
static size_t find_slot(const byoc_map_t *map, const void *key) {
  size_t mask = map->slot_count - 1;
  for (size_t slot = hash_key(map->by_pointer, key) & mask;; slot = (slot + 1) & mask) {
    if (map->slots[slot] == 0) return slot;
    const byoc_map_entry_t *entry = &map->entries[map->slots[slot] - 1];
    if (map->by_pointer ? entry->pointer == key : strcmp(entry->text, key) == 0) return slot;
  }
}

static bool grow_slots(byoc_map_t *map) {
  size_t slot_count = map->slot_count == 0 ? 16 : map->slot_count * 2;
  if (slot_count > UINT32_MAX) return false;
  uint32_t *slots = byoc_allocate(map->allocator, slot_count, sizeof(*slots));
  if (slots == NULL) return false;
  byoc_free(map->allocator, map->slots);
  map->slots = slots;
  map->slot_count = slot_count;
  for (size_t i = 0; i < map->count; i++) {
    map->slots[find_slot(map, entry_key(map, &map->entries[i]))] = (uint32_t)(i + 1);
  }
  return true;
}

static bool grow_entries(byoc_map_t *map) {
  size_t capacity = map->capacity == 0 ? 8 : map->capacity * 2;
  byoc_map_entry_t *entries = byoc_reallocate(map->allocator, map->entries, capacity, sizeof(*entries));
  if (entries == NULL) return false;
  map->entries = entries;
  map->capacity = capacity;
  return true;
}

static byoc_map_entry_t *find(const byoc_map_t *map, const void *key) {
  if (map->slot_count == 0) return NULL;
  uint32_t index = map->slots[find_slot(map, key)];
  return index == 0 ? NULL : &map->entries[index - 1];
}

static bool put(byoc_map_t *map, const void *key, void *value) {
  byoc_map_entry_t *found = find(map, key);
  if (found != NULL) {
    found->value = value;
    return true;
  }
  if (map->count == map->capacity && !grow_entries(map)) return false;
  if ((map->count + 1) * 2 > map->slot_count && !grow_slots(map)) return false;
  byoc_map_entry_t entry = {.value = value};
  if (map->by_pointer) {
    entry.pointer = key;
  } else {
    entry.text = byoc_copy_string(map->allocator, key);
    if (entry.text == NULL) return false;
  }
  map->entries[map->count++] = entry;
  map->slots[find_slot(map, key)] = (uint32_t)map->count;
  return true;
}

bool byoc_string_map_put(byoc_map_t *map, const char *key, void *value) {
  return put(map, key, value);
}

bool byoc_pointer_map_put(byoc_map_t *map, const void *key, void *value) {
  return put(map, key, value);
}

byoc_map_entry_t *byoc_string_map_find(const byoc_map_t *map, const char *key) {
  return find(map, key);
}

byoc_map_entry_t *byoc_pointer_map_find(const byoc_map_t *map, const void *key) {
  return find(map, key);
}

void *byoc_string_map_get(const byoc_map_t *map, const char *key) {
  byoc_map_entry_t *entry = find(map, key);
  return entry == NULL ? NULL : entry->value;
}

void *byoc_pointer_map_get(const byoc_map_t *map, const void *key) {
  byoc_map_entry_t *entry = find(map, key);
  return entry == NULL ? NULL : entry->value;
}

// SPDX-License-Identifier: Apache-2.0
// Reads the header and the table of a weights file.
#include <stddef.h>

#include "byoc/verify.h"
#include "core/runtime/weights.h"

uint64_t byoc_weights_hash(const void *data, uint64_t size_bytes) {
  const unsigned char *bytes = data;
  const uint64_t whole = size_bytes - size_bytes % BYOC_SEAL_STRIPE;
  byoc_seal_hash_t state;
  byoc_seal_begin(&state);
  byoc_seal_update(&state, bytes, whole);
  return byoc_seal_end(&state, bytes + whole, size_bytes - whole);
}

static const byoc_weights_entry_t *entry_at(const byoc_weights_view_t *view, uint64_t index) {
  return (const byoc_weights_entry_t *)(const void *)(view->data + view->header->table_offset +
                                                      index * view->header->entry_bytes);
}

// Is every entry's data before the table, and its name after the entries?
static int are_inside(const byoc_weights_view_t *view) {
  const byoc_weights_header_t *header = view->header;
  const uint64_t names = view->size_bytes - header->table_offset - header->entry_count * header->entry_bytes;
  for (uint64_t i = 0; i < header->entry_count; i++) {
    const byoc_weights_entry_t *entry = entry_at(view, i);
    if (entry->offset_bytes > header->table_offset || entry->size_bytes > header->table_offset - entry->offset_bytes ||
        entry->offset_bytes % 64 != 0 || entry->name_offset > names || entry->name_bytes > names - entry->name_offset) {
      return 0;
    }
  }
  return 1;
}

int32_t byoc_weights_check(const void *data, uint64_t size_bytes, const char *path, char *message, uint64_t size,
                           byoc_weights_view_t *out_view) {
  static const char damaged[] = "is damaged: it is not what byoc wrote; copy it again, or build it again";
  const byoc_weights_header_t *header = data;
  *out_view = (byoc_weights_view_t){.data = data, .size_bytes = size_bytes, .header = header};
  if (size_bytes < sizeof(*header) || memcmp(header->magic, BYOC_WEIGHTS_MAGIC, sizeof(header->magic)) != 0) {
    return byoc_seal_refuse(BYOC_INVALID_DATA, path, "is not a weights file of byoc", message, size);
  }
  if (header->version > BYOC_WEIGHTS_VERSION || header->hash_kind != BYOC_WEIGHTS_HASH_XXH64) {
    return byoc_seal_refuse(BYOC_VERSION, path, "was written by a later byoc: build the artifact and it again", message,
                            size);
  }
  if (header->header_hash != byoc_weights_hash(header, offsetof(byoc_weights_header_t, header_hash)) ||
      header->header_bytes < sizeof(*header) || header->entry_bytes < sizeof(byoc_weights_entry_t) ||
      header->entry_bytes % 8 != 0) {
    return byoc_seal_refuse(BYOC_INVALID_DATA, path, damaged, message, size);
  }
  if (header->size_bytes != size_bytes) {
    char what[256];
    (void)snprintf(what, sizeof(what), "has %llu bytes of %llu: copy it again, or build it again",
                   (unsigned long long)size_bytes, (unsigned long long)header->size_bytes);
    return byoc_seal_refuse(BYOC_INVALID_DATA, path, what, message, size);
  }
  const uint64_t table = header->table_offset;
  if (table < header->header_bytes || table > size_bytes || table % 8 != 0 ||
      header->entry_count > (size_bytes - table) / header->entry_bytes ||
      header->table_hash != byoc_weights_hash(out_view->data + table, size_bytes - table) || !are_inside(out_view)) {
    return byoc_seal_refuse(BYOC_INVALID_DATA, path, damaged, message, size);
  }
  return BYOC_OK;
}

const byoc_weights_entry_t *byoc_weights_entry(const byoc_weights_view_t *view, uint64_t index) {
  return entry_at(view, index);
}

const char *byoc_weights_name(const byoc_weights_view_t *view, const byoc_weights_entry_t *entry) {
  const byoc_weights_header_t *header = view->header;
  return (const char *)view->data + header->table_offset + header->entry_count * header->entry_bytes +
         entry->name_offset;
}

const byoc_weights_entry_t *byoc_weights_find(const byoc_weights_view_t *view, uint64_t hash, uint64_t size_bytes) {
  uint64_t low = 0, high = view->header->entry_count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    const byoc_weights_entry_t *entry = entry_at(view, middle);
    if (entry->hash == hash && entry->size_bytes == size_bytes) return entry;
    const int is_before = entry->hash < hash || (entry->hash == hash && entry->size_bytes < size_bytes);
    if (is_before) low = middle + 1;
    if (!is_before) high = middle;
  }
  return NULL;
}

// SPDX-License-Identifier: Apache-2.0
// Writes a weights file: header, data where it lies in memory or in the file that was there before, table, names.
#include "core/compose/artifact/weights_file.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/system_error.h"

// Large contents begin on a page.
enum { PAGE_BYTES = 4096, PAGE_ALIGN_BYTES = 64 << 10, NAME_MOST_BYTES = 4096 };

typedef struct writing_t {
  byoc_data_layout_t *layout;
  byoc_allocator_t allocator;
  byoc_diag_t *diag;
  byoc_file_view_t older; // `data` is NULL if none of its contents stay
  byoc_weights_view_t kept;
  BYOC_VECTOR(byoc_bytes_t) parts;
  BYOC_VECTOR(byoc_weights_entry_t) entries;
  byoc_string_t names, table; // the table and the names in one piece, so that they have one hash
  byoc_weights_header_t header;
  uint64_t end; // of the data so far
} writing_t;

static byoc_status_t open_older(writing_t *writing, const char *path, bool keeps_others) {
  if (!byoc_file_exists(path)) return BYOC_OK;
  if (byoc_file_is_special(path)) {
    return byoc_diag_error(writing->diag, BYOC_INVALID_ARGUMENT,
                           "weights cannot go to '%s', which is not a regular file", path);
  }
  BYOC_RETURN_IF_ERROR(byoc_file_view_open(path, writing->diag, &writing->older));
  const byoc_file_view_t *older = &writing->older;
  const bool is_one = older->size_bytes >= sizeof(writing->header.magic) &&
                      memcmp(older->data, BYOC_WEIGHTS_MAGIC, sizeof(writing->header.magic)) == 0;
  if (!is_one && older->size_bytes > 0) {
    byoc_status_t status = byoc_diag_error(writing->diag, BYOC_ALREADY_EXISTS,
                                           "the weights would overwrite '%s', which is not a weights file", path);
    byoc_diag_hint(writing->diag, "give the weights another name: --weights FILE");
    return status;
  }
  if (!keeps_others || !is_one) return BYOC_OK;
  char message[512];
  int32_t status = byoc_weights_check(older->data, older->size_bytes, path, message, sizeof(message), &writing->kept);
  return status == BYOC_OK ? BYOC_OK : byoc_diag_error(writing->diag, status, "%s", message);
}

static bool add_part(writing_t *writing, const void *data, uint64_t size_bytes) {
  return byoc_vector_push(&writing->parts, writing->allocator,
                          ((byoc_bytes_t){.data = data, .size_bytes = (size_t)size_bytes}));
}

static bool add_entry(writing_t *writing, byoc_weights_entry_t entry, const char *name, size_t name_bytes) {
  entry.name_offset = (uint32_t)writing->names.size;
  entry.name_bytes = (uint32_t)(name_bytes < NAME_MOST_BYTES ? name_bytes : NAME_MOST_BYTES);
  byoc_string_append_bytes(&writing->names, name, entry.name_bytes);
  return byoc_vector_push(&writing->entries, writing->allocator, entry);
}

// The contents of the older file keep their offsets.
static byoc_status_t keep_older(writing_t *writing) {
  const byoc_weights_view_t *kept = &writing->kept;
  writing->end = sizeof(writing->header);
  if (kept->header == NULL) return BYOC_OK;
  bool ok = add_part(writing, kept->data + writing->end, kept->header->table_offset - writing->end);
  for (uint64_t i = 0; i < kept->header->entry_count && ok; i++) {
    const byoc_weights_entry_t *entry = byoc_weights_entry(kept, i);
    ok = add_entry(writing, *entry, byoc_weights_name(kept, entry), entry->name_bytes);
  }
  writing->end = kept->header->table_offset;
  return ok ? BYOC_OK : byoc_diag_out_of_memory(writing->diag);
}

static byoc_status_t pad_to(writing_t *writing, uint64_t alignment) {
  static const uint8_t zeros[PAGE_BYTES];
  const uint64_t gap = (alignment - writing->end % alignment) % alignment;
  writing->end += gap;
  return add_part(writing, zeros, gap) ? BYOC_OK : byoc_diag_out_of_memory(writing->diag);
}

static byoc_status_t add_weight(writing_t *writing, const byoc_data_entry_t *weight) {
  const byoc_weights_entry_t *same =
      writing->kept.header != NULL ? byoc_weights_find(&writing->kept, weight->weight_hash, weight->size_bytes) : NULL;
  if (same != NULL) {
    if (memcmp(writing->kept.data + same->offset_bytes, weight->data, weight->size_bytes) == 0) return BYOC_OK;
    return byoc_diag_error(writing->diag, BYOC_INVALID_DATA,
                           "the weights file has other bytes than '%s' under the same hash: it is damaged",
                           weight->name != NULL ? weight->name : "a constant");
  }
  BYOC_RETURN_IF_ERROR(pad_to(writing, weight->size_bytes >= PAGE_ALIGN_BYTES ? PAGE_BYTES : BYOC_BUFFER_ALIGNMENT));
  const byoc_weights_entry_t entry = {
      .hash = weight->weight_hash, .size_bytes = weight->size_bytes, .offset_bytes = writing->end};
  const char *name = weight->name != NULL ? weight->name : "";
  writing->end += weight->size_bytes;
  if (add_entry(writing, entry, name, strlen(name)) && add_part(writing, weight->data, weight->size_bytes)) {
    return BYOC_OK;
  }
  return byoc_diag_out_of_memory(writing->diag);
}

static int compare(const void *left, const void *right) {
  const byoc_weights_entry_t *a = left, *b = right;
  if (a->hash != b->hash) return a->hash < b->hash ? -1 : 1;
  return a->size_bytes < b->size_bytes ? -1 : a->size_bytes > b->size_bytes;
}

static byoc_status_t finish(writing_t *writing) {
  byoc_string_t *table = &writing->table;
  BYOC_RETURN_IF_ERROR(pad_to(writing, BYOC_BUFFER_ALIGNMENT));
  if (writing->entries.count > 0) {
    qsort(writing->entries.data, writing->entries.count, sizeof(*writing->entries.data), compare);
    byoc_string_append_bytes(table, (const char *)writing->entries.data,
                             writing->entries.count * sizeof(*writing->entries.data));
  }
  byoc_string_append_bytes(table, writing->names.data, writing->names.size);
  if (table->failed || writing->names.failed || !add_part(writing, table->data, table->size)) {
    return byoc_diag_out_of_memory(writing->diag);
  }
  byoc_weights_header_t *header = &writing->header;
  *header = (byoc_weights_header_t){.version = BYOC_WEIGHTS_VERSION,
                                    .header_bytes = sizeof(*header),
                                    .size_bytes = writing->end + table->size,
                                    .table_offset = writing->end,
                                    .entry_count = writing->entries.count,
                                    .entry_bytes = sizeof(byoc_weights_entry_t),
                                    .hash_kind = BYOC_WEIGHTS_HASH_XXH64,
                                    .table_hash = byoc_weights_hash(table->data, table->size)};
  memcpy(header->magic, BYOC_WEIGHTS_MAGIC, sizeof(header->magic));
  header->header_hash = byoc_weights_hash(header, offsetof(byoc_weights_header_t, header_hash));
  return BYOC_OK;
}

// Pages that have been written need not stay in memory.
static void forget(void *argument, size_t size_bytes) {
  writing_t *writing = argument;
  if (writing->older.data != NULL && size_bytes >= PAGE_ALIGN_BYTES) byoc_file_view_forget(&writing->older);
  byoc_data_layout_touched(writing->layout, size_bytes);
}

static void writing_init(writing_t *writing, byoc_data_layout_t *layout, byoc_diag_t *diag) {
  *writing = (writing_t){.layout = layout, .allocator = layout->allocator, .diag = diag};
  byoc_string_init(&writing->names, layout->allocator);
  byoc_string_init(&writing->table, layout->allocator);
}

static void writing_deinit(writing_t *writing) {
  if (writing->older.data != NULL) byoc_file_view_close(&writing->older);
  byoc_vector_deinit(&writing->parts, writing->allocator);
  byoc_vector_deinit(&writing->entries, writing->allocator);
  byoc_string_deinit(&writing->names);
  byoc_string_deinit(&writing->table);
}

// The whole file, in parts.
static byoc_status_t collect(writing_t *writing) {
  if (!add_part(writing, &writing->header, sizeof(writing->header))) return byoc_diag_out_of_memory(writing->diag);
  BYOC_RETURN_IF_ERROR(keep_older(writing));
  for (size_t i = 0; i < writing->layout->weights.count; i++) {
    BYOC_RETURN_IF_ERROR(add_weight(writing, writing->layout->weights.data[i]));
  }
  return finish(writing);
}

byoc_status_t byoc_weights_file_add(byoc_data_layout_t *layout, const char *path, bool keeps_others,
                                    byoc_file_set_t *files, byoc_diag_t *diag) {
  writing_t writing;
  writing_init(&writing, layout, diag);
  const byoc_file_identity_t older = byoc_file_identity(path);
  byoc_status_t status = open_older(&writing, path, keeps_others);
  if (status == BYOC_OK) status = collect(&writing);
  if (status == BYOC_OK) {
    status =
        byoc_file_set_add_mapped(files, path, writing.parts.data, writing.parts.count, 0644, forget, &writing, diag);
    if (status == BYOC_OK && keeps_others) byoc_file_set_follow(files, older); // others may add to it at the same time
  }
  writing_deinit(&writing);
  return status;
}

byoc_status_t byoc_weights_file_append(byoc_data_layout_t *layout, const char *artifact, byoc_diag_t *diag) {
  struct stat info;
  if (stat(artifact, &info) != 0) return byoc_diag_system_error(diag, errno, "read", artifact);
  const uint64_t alignment = BYOC_WEIGHTS_APPENDED_ALIGNMENT;
  uint64_t at = ((uint64_t)info.st_size + alignment - 1) / alignment * alignment;
  writing_t writing;
  writing_init(&writing, layout, diag);
  byoc_status_t status = collect(&writing);
  for (size_t i = 0; i < writing.parts.count && status == BYOC_OK; i++) {
    const byoc_bytes_t *part = &writing.parts.data[i];
    if (part->size_bytes > 0) status = byoc_file_change(artifact, (size_t)at, part->data, part->size_bytes, diag);
    at += part->size_bytes;
    forget(&writing, part->size_bytes);
  }
  writing_deinit(&writing);
  return status;
}

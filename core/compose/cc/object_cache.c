// SPDX-License-Identifier: Apache-2.0
// Keeps objects at <cache>/objects/<2 digits>/<the other 62>: a header with the key and the hash of the object, then
// the object.
#include "core/compose/cc/object_cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/trust.h"

typedef struct entry_header_t {
  char magic[8];
  byoc_digest_t key; // a file that was moved here from another entry has another key
  uint64_t size_bytes;
  byoc_content_hash_t hash; // of the object
} entry_header_t;

static const char entry_magic[8] = {'b', 'y', 'o', 'c', 'o', 'b', 'j', '2'};

// Writes the entry's path and its folder's path; `make` creates the folder.
static bool entry_path(const byoc_digest_t *key, bool make, byoc_diag_t *diag, char path[4096]) {
  char *root = NULL;
  if (byoc_cache_directory(byoc_allocator_system(), diag, &root) != BYOC_OK) return false;
  char digits[65];
  byoc_digest_format(key, digits);
  int size = snprintf(path, 4096, "%s/objects/%.2s", root, digits);
  byoc_free(byoc_allocator_system(), root);
  if (size < 0 || size > 4000) return false;
  if (make && byoc_make_private_directories(path, diag) != BYOC_OK) return false;
  snprintf(path + size, 4096 - (size_t)size, "/%s", digits + 2);
  return true;
}

bool byoc_object_cache_get(const byoc_digest_t *key, byoc_allocator_t allocator, void **out_object,
                           size_t *out_size_bytes) {
  *out_object = NULL;
  *out_size_bytes = 0;
  byoc_diag_t diag = {0};
  char path[4096];
  if (!entry_path(key, false, &diag, path)) return false;
  byoc_status_t trust = byoc_trust_file(path, &diag);
  if (trust == BYOC_NOT_FOUND) return false;
  if (trust != BYOC_OK) {
    byoc_log(BYOC_LOG_WARNING, "an object in the compile cache is not used, and made again: %s", diag.message);
    (void)unlink(path);
    return false;
  }
  byoc_file_view_t view;
  if (byoc_file_view_open(path, &diag, &view) != BYOC_OK) return false;
  bool intact = false;
  entry_header_t header;
  if (view.size_bytes > sizeof(header)) {
    memcpy(&header, view.data, sizeof(header));
    size_t size = view.size_bytes - sizeof(header);
    byoc_content_hash_t hash = byoc_content_hash(view.data + sizeof(header), size);
    intact = memcmp(header.magic, entry_magic, sizeof(entry_magic)) == 0 &&
             memcmp(&header.key, key, sizeof(*key)) == 0 && header.size_bytes == size && header.hash.low == hash.low &&
             header.hash.high == hash.high;
  }
  if (intact) {
    size_t size = view.size_bytes - sizeof(header);
    *out_object = byoc_allocate(allocator, size, 1);
    if (*out_object != NULL) memcpy(*out_object, view.data + sizeof(header), size);
    if (*out_object != NULL) *out_size_bytes = size;
    (void)utimensat(AT_FDCWD, path, NULL, 0); // notes the use; in a read-only folder the times stay
  } else {
    byoc_log(BYOC_LOG_WARNING, "a damaged object was found in the compile cache and removed: %s", path);
    (void)unlink(path);
  }
  byoc_file_view_close(&view);
  return *out_object != NULL;
}

void byoc_object_cache_put(const byoc_digest_t *key, const void *object, size_t size_bytes) {
  byoc_diag_t diag = {0};
  char path[4096];
  entry_header_t header = {.key = *key, .size_bytes = size_bytes, .hash = byoc_content_hash(object, size_bytes)};
  memcpy(header.magic, entry_magic, sizeof(entry_magic));
  byoc_bytes_t parts[2] = {{&header, sizeof(header)}, {object, size_bytes}};
  bool stored =
      entry_path(key, true, &diag, path) && byoc_file_write_atomic_parts(path, parts, 2, 0600, &diag) == BYOC_OK;
  if (stored) {
    *strrchr(path, '/') = '\0';
    byoc_cache_folder_prune(path, BYOC_OBJECT_CACHE_FOLDER_LIMIT_BYTES);
    return;
  }
  char text[1024];
  byoc_diag_format(&diag, text, sizeof(text));
  byoc_log(BYOC_LOG_INFO, "the compile cache is not written: %s", text);
}

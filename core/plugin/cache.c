// SPDX-License-Identifier: Apache-2.0
// The cache of a plugin on disk: reads and writes one file per entry.
#include "core/plugin/cache.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/log.h"

typedef struct entry_header_t {
  char magic[8];
  uint64_t key_bytes, data_bytes;
  byoc_content_hash_t hash; // of the key and the data
} entry_header_t;
static const char magic[8] = "byoc-c1";

static byoc_content_hash_t content_hash(const char *key, const void *data, size_t size_bytes) {
  byoc_hasher_t hasher;
  byoc_hasher_init(&hasher);
  byoc_hasher_update_string(&hasher, key);
  byoc_hasher_update(&hasher, data, size_bytes);
  return byoc_hasher_finish(&hasher);
}

// NULL if out of memory.
static char *folder_path(const byoc_plugin_cache_t *cache, byoc_arena_t *arena) {
  return byoc_arena_format(arena, "%s/%s-%s", cache->folder, cache->plugin, cache->version);
}

static char *entry_path(const byoc_plugin_cache_t *cache, byoc_arena_t *arena, const char *key) {
  char name[33];
  byoc_content_hash_format(content_hash(cache->content != NULL ? cache->content : "", key, strlen(key)), name);
  const char *folder = folder_path(cache, arena);
  return folder != NULL ? byoc_arena_format(arena, "%s/%s", folder, name) : NULL;
}

byoc_status_t byoc_plugin_cache_get(const byoc_plugin_cache_t *cache, const char *key, byoc_arena_t *arena,
                                    byoc_diag_t *diag, const void **out_data, size_t *out_size_bytes) {
  *out_data = NULL;
  *out_size_bytes = 0;
  const char *path = entry_path(cache, arena, key);
  if (path == NULL) return byoc_diag_out_of_memory(diag);
  byoc_file_view_t view;
  byoc_status_t status = byoc_file_view_open(path, NULL, &view);
  if (status == BYOC_OUT_OF_MEMORY) return byoc_diag_out_of_memory(diag);
  if (status != BYOC_OK) return BYOC_NOT_FOUND;

  entry_header_t header;
  const size_t key_bytes = strlen(key);
  status = BYOC_NOT_FOUND;
  if (view.size_bytes >= sizeof(header)) {
    memcpy(&header, view.data, sizeof(header));
    const size_t rest = view.size_bytes - sizeof(header);
    const uint8_t *content = view.data + sizeof(header);
    const bool whole = memcmp(header.magic, magic, sizeof(magic)) == 0 && header.key_bytes == key_bytes &&
                       key_bytes <= rest && header.data_bytes == rest - key_bytes &&
                       memcmp(content, key, key_bytes) == 0;
    if (whole) {
      const uint8_t *data = content + key_bytes;
      const size_t size = (size_t)header.data_bytes;
      const byoc_content_hash_t hash = content_hash(key, data, size);
      if (hash.low == header.hash.low && hash.high == header.hash.high) {
        *out_data = byoc_arena_copy(arena, data, size);
        *out_size_bytes = size;
        status = *out_data != NULL ? BYOC_OK : byoc_diag_out_of_memory(diag);
      }
    }
  }
  byoc_file_view_close(&view);
  if (status == BYOC_OK)
    (void)utimensat(AT_FDCWD, path, NULL, 0); // notes the use; in a read-only folder the times stay
  if (status == BYOC_NOT_FOUND) {
    byoc_log(BYOC_LOG_WARNING, "a damaged entry of the plugin '%s' was found in the cache, and is made again: %s",
             cache->plugin, path);
  }
  return status;
}

byoc_status_t byoc_plugin_cache_put(const byoc_plugin_cache_t *cache, const char *key, const void *data,
                                    size_t size_bytes, byoc_diag_t *diag) {
  byoc_arena_t scratch;
  byoc_arena_init(&scratch, byoc_allocator_system());
  byoc_status_t status = BYOC_OK;
  char *path = entry_path(cache, &scratch, key);
  char *parent = path != NULL ? byoc_path_directory(byoc_arena_allocator(&scratch), path) : NULL;
  if (parent == NULL) {
    status = byoc_diag_out_of_memory(diag);
    goto cleanup;
  }
  status = byoc_make_private_directories(parent, diag);
  if (status != BYOC_OK) goto cleanup;
  entry_header_t header = {
      .key_bytes = strlen(key), .data_bytes = size_bytes, .hash = content_hash(key, data, size_bytes)};
  memcpy(header.magic, magic, sizeof(magic));
  const byoc_bytes_t parts[] = {{&header, sizeof(header)}, {key, strlen(key)}, {data, size_bytes}};
  status = byoc_file_write_atomic_parts(path, parts, size_bytes > 0 ? 3 : 2, 0644, diag);
cleanup:
  byoc_arena_deinit(&scratch);
  return status;
}

void byoc_plugin_cache_prune(const byoc_plugin_cache_t *cache, uint64_t limit_bytes) {
  byoc_arena_t scratch;
  byoc_arena_init(&scratch, byoc_allocator_system());
  const char *folder = folder_path(cache, &scratch);
  if (folder != NULL) byoc_cache_folder_prune(folder, limit_bytes);
  byoc_arena_deinit(&scratch);
}

// SPDX-License-Identifier: Apache-2.0
// Keeps the folders of caches small.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"

typedef struct stored_t {
  const char *name;
  struct timespec used;
  uint64_t size_bytes;
} stored_t;

static int compare_last_used_first(const void *left, const void *right) {
  const stored_t *a = left, *b = right;
  if (a->used.tv_sec != b->used.tv_sec) return a->used.tv_sec > b->used.tv_sec ? -1 : 1;
  if (a->used.tv_nsec != b->used.tv_nsec) return a->used.tv_nsec > b->used.tv_nsec ? -1 : 1;
  return strcmp(a->name, b->name);
}

// Other builds may prune the same folder at the same time, so a file may be gone already.
void byoc_cache_folder_prune(const char *folder, uint64_t limit_bytes) {
  byoc_allocator_t allocator = byoc_allocator_system();
  byoc_diag_t diag = {0};
  char **names = NULL, path[4096];
  size_t name_count = 0, count = 0;
  if (byoc_list_directory(folder, allocator, &diag, &names, &name_count) != BYOC_OK) return;
  stored_t *entries = byoc_allocate(allocator, name_count, sizeof(*entries));
  for (size_t i = 0; entries != NULL && i < name_count; ++i) {
    struct stat file;
    snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
    if (lstat(path, &file) != 0 || !S_ISREG(file.st_mode)) continue;
    entries[count++] = (stored_t){.name = names[i], .used = file.st_mtim, .size_bytes = (uint64_t)file.st_size};
  }
  if (count > 0) qsort(entries, count, sizeof(*entries), compare_last_used_first);
  uint64_t kept_bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    kept_bytes += entries[i].size_bytes;
    if (i == 0 || kept_bytes <= limit_bytes) continue;
    snprintf(path, sizeof(path), "%s/%s", folder, entries[i].name);
    (void)unlink(path);
  }
  byoc_free(allocator, entries);
  byoc_free_names(allocator, names, name_count);
}

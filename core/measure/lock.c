// SPDX-License-Identifier: Apache-2.0
// Locks the timing, so that builds take turns in it.
#define _GNU_SOURCE
#include "core/measure/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/base/file.h"

int byoc_cost_lock(byoc_allocator_t allocator) {
  char *folder = NULL, *path = NULL;
  int lock = -1;
  if (byoc_cache_directory(allocator, NULL, &folder) == BYOC_OK)
    path = byoc_path_join(allocator, folder, "timing.lock");
  if (path != NULL) lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  while (lock >= 0 && flock(lock, LOCK_EX) != 0 && errno == EINTR) continue;
  byoc_free(allocator, folder);
  byoc_free(allocator, path);
  return lock;
}

void byoc_cost_unlock(int lock) {
  if (lock >= 0) (void)close(lock);
}

// SPDX-License-Identifier: Apache-2.0
// Removes the file, link or folder of a given name, by calls that are safe in a signal handler.
#define _GNU_SOURCE
#include "core/base/remove.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_dot(const char *name) {
  return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int remove_entry(int parent, const char *name);

// Removes the entries of the folder, by calls that are safe in a signal handler: not readdir, which allocates.
static int empty_folder(int fd) {
  enum { AT_ONCE = 4096 };
  _Alignas(struct dirent64) char buffer[AT_ONCE];
  int error = 0;
  bool removed = true;
  while (removed && error == 0) { // repeated: the system may skip entries while others are removed
    removed = false;
    if (lseek(fd, 0, SEEK_SET) < 0) return errno;
    for (;;) {
      ssize_t size = getdents64(fd, buffer, sizeof(buffer));
      if (size < 0) return errno;
      if (size == 0) break;
      for (ssize_t at = 0; at < size;) {
        const struct dirent64 *entry = (const struct dirent64 *)(const void *)(buffer + at);
        at += entry->d_reclen;
        if (is_dot(entry->d_name)) continue;
        int failed = remove_entry(fd, entry->d_name);
        if (failed == 0) removed = true;
        if (error == 0) error = failed;
      }
    }
  }
  return error;
}

// Removes the entry `name` of the folder `parent`; links are removed, never followed. Returns an errno, 0 if it is
// gone.
static int remove_entry(int parent, const char *name) {
  if (unlinkat(parent, name, 0) == 0 || errno == ENOENT) return 0;
  if (errno != EISDIR && errno != EPERM) return errno;
  int error = errno;
  int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return errno == ENOTDIR ? error : errno;
  error = empty_folder(fd);
  close(fd);
  if (unlinkat(parent, name, AT_REMOVEDIR) != 0 && error == 0 && errno != ENOENT) error = errno;
  return error;
}

int byoc_remove_entry(const char *path) {
  return remove_entry(AT_FDCWD, path);
}

int byoc_remove_entry_at(int folder, const char *name) {
  return remove_entry(folder, name);
}

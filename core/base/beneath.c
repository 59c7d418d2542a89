// SPDX-License-Identifier: Apache-2.0
// Opens files that must lie in a given folder.
#define _GNU_SOURCE
#include "core/base/beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILE_FLAGS = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, FOLDER_FLAGS = O_PATH | O_DIRECTORY | O_CLOEXEC };

static int open_by_kernel(int folder, const char *path) {
  const struct open_how how = {.flags = FILE_FLAGS, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
  long fd;
  do {
    fd = syscall(SYS_openat2, folder, path, &how, sizeof(how));
  } while (fd < 0 && (errno == EINTR || errno == EAGAIN)); // EAGAIN: a folder was renamed meanwhile
  return (int)fd;
}

// Each part is opened from the one before it, and none is a link.
static int open_by_steps(int folder, const char *path) {
  int at = fcntl(folder, F_DUPFD_CLOEXEC, 0);
  while (at >= 0) {
    char part[256];
    path += strspn(path, "/");
    size_t size = strcspn(path, "/");
    bool is_last = path[size] == '\0';
    int error = size == 0 || size >= sizeof(part) ? ENOENT : 0;
    int next = -1;
    if (error == 0) {
      memcpy(part, path, size);
      part[size] = '\0';
      if (strcmp(part, "..") == 0) error = EXDEV;
    }
    if (error == 0) {
      next = openat(at, part, (is_last ? FILE_FLAGS : FOLDER_FLAGS) | O_NOFOLLOW);
      error = errno == ENOTDIR ? ELOOP : errno; // what O_DIRECTORY reports for a link
    }
    (void)close(at);
    if (next < 0) errno = error;
    if (next < 0 || is_last) return next;
    at = next;
    path += size;
  }
  return -1;
}

int byoc_open_beneath(const char *folder, const char *path, bool by_steps) {
  int at = open(folder[0] != '\0' ? folder : ".", FOLDER_FLAGS);
  if (at < 0) return -1;
  int fd = by_steps ? -1 : open_by_kernel(at, path);
  // The kernel is older than 5.6, or a sandbox does not know the call.
  if (by_steps || (fd < 0 && (errno == ENOSYS || errno == EPERM))) fd = open_by_steps(at, path);
  int error = errno;
  (void)close(at);
  errno = error;
  return fd;
}

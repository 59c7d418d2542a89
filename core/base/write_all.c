// SPDX-License-Identifier: Apache-2.0
// Writes to an open file, and returns an errno for every failure.
#define _GNU_SOURCE
#include "core/base/write_all.h"

#include <errno.h>
#include <unistd.h>

int byoc_write_all(int fd, const byoc_bytes_t *parts, size_t part_count) {
  for (size_t i = 0; i < part_count; i++) {
    const char *data = parts[i].data;
    size_t left = parts[i].size_bytes;
    while (left > 0) {
      ssize_t written = write(fd, data, left);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return errno;
      data += written;
      left -= (size_t)written;
    }
  }
  return 0;
}

// Devices and pipes have nothing to flush.
int byoc_flush(int fd) {
  return fsync(fd) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
}

int byoc_close_checked(int fd) {
  return close(fd) == 0 || errno == EINTR ? 0 : errno;
}

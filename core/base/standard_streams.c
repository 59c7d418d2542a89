// SPDX-License-Identifier: Apache-2.0
// Opens /dev/null for standard descriptors that are closed.
#include "core/base/standard_streams.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

bool byoc_standard_streams_open(void) {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
    if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    const int access = fd == STDOUT_FILENO ? O_RDONLY : O_RDWR;
    if (open("/dev/null", access) != fd) return false; // the lowest free number: those below are open
  }
  return true;
}

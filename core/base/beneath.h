// SPDX-License-Identifier: Apache-2.0
// Opens a file that must lie in a folder, also after links are followed. For the files of core/base, and tests.
#ifndef BYOC_CORE_BASE_BENEATH_H_
#define BYOC_CORE_BASE_BENEATH_H_

#include <stdbool.h>

// Opens `path`, relative to `folder`, for reading, without waiting for the other end of a pipe. Returns -1 with errno
// if that fails; EXDEV if a link leads out of the folder. The kernel makes the check (openat2 of Linux 5.6). If it has
// no such call, or with `by_steps`, the path is opened part by part, and then any link is refused with ELOOP.
int byoc_open_beneath(const char *folder, const char *path, bool by_steps);

#endif // BYOC_CORE_BASE_BENEATH_H_

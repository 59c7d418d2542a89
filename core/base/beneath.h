// Opening a file that must lie in a folder, whatever links there are. For the files of core/base, and tests.
#ifndef BYOC_CORE_BASE_BENEATH_H_
#define BYOC_CORE_BASE_BENEATH_H_

#include <stdbool.h>

// Opens `path`, relative to `folder`, for reading, without waiting for the other end of a pipe. -1 with errno where
// that fails: EXDEV where a link leads out of the folder. By the kernel's own check (openat2 of Linux 5.6); where there
// is none, or with `by_steps`, part by part, and then no link is followed at all: ELOOP.
int byoc_open_beneath(const char *folder, const char *path, bool by_steps);

#endif // BYOC_CORE_BASE_BENEATH_H_

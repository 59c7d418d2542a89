// SPDX-License-Identifier: Apache-2.0
// Writes to an open file, and returns an errno for every failure. For the files of core/base only.
#ifndef BYOC_CORE_BASE_WRITE_ALL_H_
#define BYOC_CORE_BASE_WRITE_ALL_H_

#include "core/base/file.h"

// All return 0 or an errno.
int byoc_write_all(int fd, const byoc_bytes_t *parts, size_t part_count);
int byoc_flush(int fd); // devices and pipes have nothing to flush
int byoc_close_checked(int fd);

#endif // BYOC_CORE_BASE_WRITE_ALL_H_

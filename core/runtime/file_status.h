// SPDX-License-Identifier: Apache-2.0
// stat and fstat as system calls of Linux. glibc has functions of these names since 2.33 only, and artifacts also run
// with older versions. On 64-bit machines the kernel's struct is that of <sys/stat.h>; on others the library's
// functions are used. Internal to artifacts.
#ifndef BYOC_CORE_RUNTIME_FILE_STATUS_H_
#define BYOC_CORE_RUNTIME_FILE_STATUS_H_

#include <fcntl.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if UINTPTR_MAX > UINT32_MAX
static inline __attribute__((unused)) int byoc_model_stat(const char *path, struct stat *out_info) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, out_info, 0);
}

static inline __attribute__((unused)) int byoc_model_fstat(int file, struct stat *out_info) {
  return (int)syscall(SYS_fstat, file, out_info);
}

#define stat(path, out_info)  byoc_model_stat(path, out_info) // for byoc/verify.h
#define fstat(file, out_info) byoc_model_fstat(file, out_info)
#endif

#endif // BYOC_CORE_RUNTIME_FILE_STATUS_H_

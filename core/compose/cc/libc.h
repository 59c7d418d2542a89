// SPDX-License-Identifier: Apache-2.0
// The C library that artifacts are linked with, and how they get along with older ones. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_CC_LIBC_H_
#define BYOC_CORE_COMPOSE_CC_LIBC_H_

#include "core/base/elf.h"
#include "core/base/file.h"

// A glibc from 2.34 on has libpthread and libdl in it, under new versions of their symbols and under those of before.
typedef struct byoc_libc_t {
  byoc_file_view_t view;
  byoc_elf_t elf;
  bool is_whole; // it is such a one; otherwise nothing is open
} byoc_libc_t;

// The library of a compiler (as in byoc_compile_job_t). All zeros if the compiler does not say which it is, or if it is
// another one: artifacts are then as new as the library. An error if the compiler cannot be run or the library cannot
// be read.
byoc_status_t byoc_libc_open(const char *compiler, byoc_diag_t *diag, byoc_libc_t *out_libc);
void byoc_libc_close(byoc_libc_t *libc); // accepts one that is all zeros

// Changes a shared object that needs libpthread.so.0 and libdl.so.2 (byoc_link_job_t.needs_parts_of_libc) so that it
// asks for the oldest versions of its symbols (core/base/elf_version.h).
byoc_status_t byoc_libc_lower_versions(const byoc_libc_t *libc, const char *path, byoc_diag_t *diag);

#endif // BYOC_CORE_COMPOSE_CC_LIBC_H_

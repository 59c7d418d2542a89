// SPDX-License-Identifier: Apache-2.0
// Versions of the symbols that a shared object takes from a library.
#ifndef BYOC_CORE_BASE_ELF_VERSION_H_
#define BYOC_CORE_BASE_ELF_VERSION_H_

#include "core/base/elf.h"

// Does the library define `symbol` in several versions that are one and the same function?
bool byoc_elf_has_older_version(const byoc_elf_t *library, const char *symbol);

// Bytes of a file that are to be replaced.
typedef struct byoc_elf_change_t {
  uint64_t offset;
  byoc_string_t bytes;
} byoc_elf_change_t;

// Lets a shared object ask for the oldest version of each symbol of `library` ("libc.so.6") that is the same function
// there as the one it was linked with: the object then also runs with older libraries. Versions look like GLIBC_2.34;
// one that no symbol of the object uses yet is not introduced. The bytes of `out_changes`, which the caller
// initialised, are what to write into the object's file; they stay empty if nothing changes.
byoc_status_t byoc_elf_lower_versions(const byoc_elf_t *elf, const byoc_elf_t *library, const char *library_name,
                                      byoc_diag_t *diag, byoc_elf_change_t out_changes[2]);

#endif // BYOC_CORE_BASE_ELF_VERSION_H_

// SPDX-License-Identifier: Apache-2.0
// Versions of the symbols that a shared object uses from a library.
#ifndef BYOC_CORE_BASE_ELF_VERSION_H_
#define BYOC_CORE_BASE_ELF_VERSION_H_

#include "core/base/elf.h"

// Does the library define `symbol` in several versions with the same function?
bool byoc_elf_has_older_version(const byoc_elf_t *library, const char *symbol);

// Bytes of a file that are to be replaced.
typedef struct byoc_elf_change_t {
  uint64_t offset;
  byoc_string_t bytes;
} byoc_elf_change_t;

// Makes a shared object require the oldest version of each symbol of `library` ("libc.so.6") with the same function as
// the version that it was linked with: the object then also runs with older libraries. Versions look like GLIBC_2.34;
// only versions that the object uses already are chosen. `out_changes`, which the caller has initialised, gets the
// bytes to write into the object's file; it stays empty if nothing changes.
byoc_status_t byoc_elf_lower_versions(const byoc_elf_t *elf, const byoc_elf_t *library, const char *library_name,
                                      byoc_diag_t *diag, byoc_elf_change_t out_changes[2]);

#endif // BYOC_CORE_BASE_ELF_VERSION_H_

// SPDX-License-Identifier: Apache-2.0
// The file of an artifact, read without loading it: nothing in the file runs.
#ifndef BYOC_CORE_LOADER_ARTIFACT_FILE_H_
#define BYOC_CORE_LOADER_ARTIFACT_FILE_H_

#include "core/base/diag.h"
#include "core/base/elf.h"
#include "core/base/file.h"

typedef struct byoc_artifact_file_t {
  byoc_file_view_t view;
  byoc_elf_t elf;
  const char *metadata; // JSON; in `view`. The metadata of further entries follow, each after the NUL of the one before
  const char *metadata_end;
} byoc_artifact_file_t;

// Opens an artifact for any machine and processor. Checks that the file is a shared object with an artifact's entry,
// that its seal (byoc/verify.h) is there and agrees with every byte, and that its tables lie within it. The message of
// a refusal names the fault of the file and the remedy. The path must outlive the result.
byoc_status_t byoc_artifact_file_open(const char *path, byoc_diag_t *diag, byoc_artifact_file_t *out_file);
void byoc_artifact_file_close(byoc_artifact_file_t *file);

// Finds the metadata in an artifact's bytes without a check of the seal; `name` is for diagnostics and must outlive
// *out_elf. The metadata end in a NUL.
byoc_status_t byoc_artifact_metadata_find(const void *data, size_t size_bytes, const char *name, byoc_diag_t *diag,
                                          byoc_elf_t *out_elf, const char **out_metadata);

// Is the path that of an artifact, not of a model? True for an ELF file, a static library, a folder of C source and a
// name that ends in .so.
bool byoc_artifact_is_meant(const char *path);

#endif // BYOC_CORE_LOADER_ARTIFACT_FILE_H_

// SPDX-License-Identifier: Apache-2.0
// Loads an artifact into this process. The file is checked before the dynamic linker sees it. Version and processor are
// checked before the model runs, but after opening has run the constructors of the libraries inside.
#ifndef BYOC_CORE_LOADER_LOADER_H_
#define BYOC_CORE_LOADER_LOADER_H_

#include "byoc/artifact.h"
#include "core/base/allocator.h"
#include "core/base/diag.h"

typedef struct byoc_loaded_artifact_t {
  void *library; // dlopen handle
  const byoc_artifact_t *table;
  int64_t check_ns; // what checking the file took, before it was opened
} byoc_loaded_artifact_t;

// Checks the file (core/loader/artifact_file.h: what byoc wrote, to the last byte) and that it is for this machine,
// opens it, then checks its ABI version, struct size and CPU features. Every refusal says which check failed and what
// to do.
byoc_status_t byoc_artifact_load(const char *path, byoc_diag_t *diag, byoc_loaded_artifact_t *out_artifact);
// Takes the entry of that name, of those that the artifact has; NULL: stays with the first, or the only one.
// BYOC_INVALID_ARGUMENT if there is none, with the names that there are.
byoc_status_t byoc_artifact_choose(byoc_loaded_artifact_t *artifact, const char *entry, byoc_diag_t *diag);
void byoc_artifact_unload(byoc_loaded_artifact_t *artifact);

#endif // BYOC_CORE_LOADER_LOADER_H_

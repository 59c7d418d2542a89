// SPDX-License-Identifier: Apache-2.0
// Loads an artifact into this process. The file is checked before the dynamic linker sees it. Version and processor are
// checked before the model runs, but after the constructors of the libraries inside have run.
#ifndef BYOC_CORE_LOADER_LOADER_H_
#define BYOC_CORE_LOADER_LOADER_H_

#include "byoc/artifact.h"
#include "core/base/allocator.h"
#include "core/base/diag.h"

typedef struct byoc_loaded_artifact_t {
  void *library; // dlopen handle
  const byoc_artifact_t *table;
  int64_t check_ns; // the time for checking the file before it was opened
} byoc_loaded_artifact_t;

// Checks every byte of the file (core/loader/artifact_file.h) and its machine, opens it, then checks its ABI version,
// struct size and CPU features. The message of a refusal names the check that failed and the remedy.
byoc_status_t byoc_artifact_load(const char *path, byoc_diag_t *diag, byoc_loaded_artifact_t *out_artifact);
// Chooses the artifact's entry of that name; NULL: the first one. BYOC_INVALID_ARGUMENT with the names of all entries
// if there is none.
byoc_status_t byoc_artifact_choose(byoc_loaded_artifact_t *artifact, const char *entry, byoc_diag_t *diag);
void byoc_artifact_unload(byoc_loaded_artifact_t *artifact);

#endif // BYOC_CORE_LOADER_LOADER_H_

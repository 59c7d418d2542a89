// SPDX-License-Identifier: Apache-2.0
// Folders that appear under their names whole or not at all.
#ifndef BYOC_CORE_BASE_FOLDER_H_
#define BYOC_CORE_BASE_FOLDER_H_

#include "core/base/allocator.h"
#include "core/base/diag.h"

// Makes an empty folder with a temporary name in the folder of `path`. byoc_folder_install renames it, or
// byoc_remove_tree removes it.
byoc_status_t byoc_folder_begin(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag, char **out_folder);
// Gives the folder the name `path`. A folder of that name is replaced in one step, where the file system can exchange
// two names, and removed.
byoc_status_t byoc_folder_install(const char *folder, const char *path, byoc_diag_t *diag);

#endif // BYOC_CORE_BASE_FOLDER_H_

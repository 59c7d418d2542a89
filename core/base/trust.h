// SPDX-License-Identifier: Apache-2.0
// Decides whether a file or folder is trusted: only root and this user may be able to put it there.
#ifndef BYOC_CORE_BASE_TRUST_H_
#define BYOC_CORE_BASE_TRUST_H_

#include <sys/stat.h>

#include "core/base/allocator.h"
#include "core/base/diag.h"

// BYOC_PERMISSION if it belongs to another user, or if its group or all users may write to it. `what` is "file" or
// "folder".
byoc_status_t byoc_trust_owner(const struct stat *info, const char *what, const char *path, byoc_diag_t *diag);
byoc_status_t byoc_trust_mode(const struct stat *info, const char *what, const char *path, byoc_diag_t *diag);
// Checks the folder, after following links, and every folder above it (those may be sticky, like /tmp).
byoc_status_t byoc_trust_folder(const char *folder, byoc_diag_t *diag);
// Checks the folder that holds `path`.
byoc_status_t byoc_trust_folder_of(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag);
// Checks that `path` is a regular file, not a link, and checks the folder that holds it. BYOC_NOT_FOUND, with nothing
// in `diag`, if there is no file.
byoc_status_t byoc_trust_file(const char *path, byoc_diag_t *diag);

#endif // BYOC_CORE_BASE_TRUST_H_

// SPDX-License-Identifier: Apache-2.0
// Decides whether code may be loaded from a file: only root and this user may be able to put it there.
#ifndef BYOC_CORE_PLUGIN_TRUST_H_
#define BYOC_CORE_PLUGIN_TRUST_H_

#include "core/base/allocator.h"
#include "core/base/diag.h"

// Refuses all but regular files (after links are followed), files and folders of other users, and files and folders to
// which their group or all users may write (folders further up may be sticky, like /tmp). On success *out_path is the
// file's real path, from `allocator`. *out_is_file is true if it is a regular file that can be read, also after a
// failure.
byoc_status_t byoc_plugin_check_trust(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag, char **out_path,
                                      bool *out_is_file);

#endif // BYOC_CORE_PLUGIN_TRUST_H_

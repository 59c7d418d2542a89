// SPDX-License-Identifier: Apache-2.0
// Decides whether code may be loaded from a file: only if nobody but root and this user could have put it there.
#ifndef BYOC_CORE_PLUGIN_TRUST_H_
#define BYOC_CORE_PLUGIN_TRUST_H_

#include "core/base/allocator.h"
#include "core/base/diag.h"

// Refuses whatever is not a regular file once links are followed, files and folders owned by somebody else, and files
// and folders that group or world may write to (folders further up may be sticky, like /tmp). On success *out_path is
// the file's real path, from `allocator`. *out_is_file says, also after a failure, whether it is a regular file that
// can be read.
byoc_status_t byoc_plugin_check_trust(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag, char **out_path,
                                      bool *out_is_file);

#endif // BYOC_CORE_PLUGIN_TRUST_H_

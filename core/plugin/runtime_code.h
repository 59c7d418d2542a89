// SPDX-License-Identifier: Apache-2.0
// Runtime code for other machines that a backend announces (byoc_runtime_code_t), read once when its plugin is loaded.
#ifndef BYOC_CORE_PLUGIN_RUNTIME_CODE_H_
#define BYOC_CORE_PLUGIN_RUNTIME_CODE_H_

#include <stdbool.h>

#include "byoc/plugin.h"
#include "core/base/arena.h"
#include "core/base/diag.h"

// Checks the code that a backend announces, and replaces it by a copy in `arena`, in which strides are the sizes of our
// structs and paths are whole. `folder` is that of the plugin's file. The files themselves are not read.
byoc_status_t byoc_runtime_code_read(byoc_backend_t *backend, const char *folder, byoc_arena_t *arena,
                                     byoc_diag_t *diag);

// Is the name that of a file in some folder: without "..", and of characters that no tool reads in another way?
bool byoc_runtime_code_is_file_name(const char *name);

#endif // BYOC_CORE_PLUGIN_RUNTIME_CODE_H_

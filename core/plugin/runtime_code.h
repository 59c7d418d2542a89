// SPDX-License-Identifier: Apache-2.0
// Runtime code for other machines (byoc_runtime_code_t): read once when a plugin is loaded, and put into a module of a
// generate hook when the build needs it.
#ifndef BYOC_CORE_PLUGIN_RUNTIME_CODE_H_
#define BYOC_CORE_PLUGIN_RUNTIME_CODE_H_

#include "core/base/arena.h"
#include "core/plugin/session.h"
#include "core/targets/runtime_code.h"

// Checks the code that a backend announces, and replaces it by a copy in `arena`, in which strides are the sizes of our
// structs and paths are whole. `folder` is that of the plugin's file. The files themselves are not read.
byoc_status_t byoc_runtime_code_read(byoc_backend_t *backend, const char *folder, byoc_arena_t *arena,
                                     byoc_diag_t *diag);

// Puts the announced code of the engine, driver or static library `name` into the module, if this build needs it: for
// another machine, for C source, or if the module has no files of its own. *out_is_filled tells whether it did; the
// module's own files are then not used. `what` is "engine", "driver" or "static library".
byoc_status_t byoc_session_fill_code(byoc_codegen_t *session, byoc_runtime_module_t *module, const char *what,
                                     const char *name, bool has_files, byoc_diag_t *diag, bool *out_is_filled);

#endif // BYOC_CORE_PLUGIN_RUNTIME_CODE_H_

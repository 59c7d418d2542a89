// SPDX-License-Identifier: Apache-2.0
// The last steps: checking the linked file's exports and libraries, and moving it to its name. Internal to
// core/compose.
#ifndef BYOC_CORE_COMPOSE_ARTIFACT_INSTALL_H_
#define BYOC_CORE_COMPOSE_ARTIFACT_INSTALL_H_

#include "core/base/diag.h"
#include "core/base/file_set.h"
#include "core/base/string.h"

// The artifact must export the entry and nothing else, and need only libc, libm, the loader and `needed`.
byoc_status_t byoc_compose_verify_linked(const char *path, const char *const *needed, size_t needed_count,
                                         byoc_diag_t *diag);
// Moves `linked` to `output` and writes the header (may be NULL) beside it, together with the files in `files`: all or
// none, the artifact last. If that fails, older files stay as they were.
byoc_status_t byoc_compose_install(const char *linked, const char *output, const byoc_string_t *header,
                                   byoc_file_set_t *files, byoc_allocator_t allocator, byoc_diag_t *diag);

#endif // BYOC_CORE_COMPOSE_ARTIFACT_INSTALL_H_

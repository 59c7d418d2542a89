// SPDX-License-Identifier: Apache-2.0
// Finds the plugins and the table reader of an installation.
#ifndef BYOC_CORE_PLUGIN_INSTALLATION_H_
#define BYOC_CORE_PLUGIN_INSTALLATION_H_

#include "core/base/allocator.h"
#include "core/base/diag.h"

// The real path of "plugins", a folder, or "table_reader.so": in an installation (prefix/bin/byoc and
// prefix/lib/libbyoc.so → prefix/lib/byoc/NAME) or a build tree (build/bin/byoc and build/lib/libbyoc.so → build/NAME).
// *out_path is NULL if there is none.
byoc_status_t byoc_installation_find(const char *name, byoc_allocator_t allocator, byoc_diag_t *diag, char **out_path);

#endif // BYOC_CORE_PLUGIN_INSTALLATION_H_

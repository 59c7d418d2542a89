// SPDX-License-Identifier: Apache-2.0
// What an installation of byoc has beside its programs and its library.
#ifndef BYOC_CORE_PLUGIN_INSTALLATION_H_
#define BYOC_CORE_PLUGIN_INSTALLATION_H_

#include "core/base/allocator.h"
#include "core/base/diag.h"

// The real path of "plugins", a folder, or "table_reader.so": in an installation (prefix/bin/byoc and
// prefix/lib/libbyoc.so → prefix/lib/byoc/NAME) or a build tree (build/bin/byoc and build/lib/libbyoc.so → build/NAME).
// *out_path is NULL if it is not there.
byoc_status_t byoc_installation_find(const char *name, byoc_allocator_t allocator, byoc_diag_t *diag, char **out_path);

#endif // BYOC_CORE_PLUGIN_INSTALLATION_H_

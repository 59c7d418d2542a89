// SPDX-License-Identifier: Apache-2.0
// A plugin's cache on disk: one file per entry, <folder>/<plugin>-<version>/<hash of the key>. The file holds the key
// and a hash of its content; one that is damaged, or has another key, counts as missing.
#ifndef BYOC_CORE_PLUGIN_CACHE_H_
#define BYOC_CORE_PLUGIN_CACHE_H_

#include "core/base/arena.h"
#include "core/base/diag.h"

// BYOC_NOT_FOUND, without a diagnostic, if there is no valid entry.
byoc_status_t byoc_plugin_cache_get(const char *folder, const char *plugin, const char *version, const char *key,
                                    byoc_arena_t *arena, byoc_diag_t *diag, const void **out_data,
                                    size_t *out_size_bytes);
byoc_status_t byoc_plugin_cache_put(const char *folder, const char *plugin, const char *version, const char *key,
                                    const void *data, size_t size_bytes, byoc_diag_t *diag);

#endif // BYOC_CORE_PLUGIN_CACHE_H_

// SPDX-License-Identifier: Apache-2.0
// A plugin's cache on disk: one file per entry, <folder>/<plugin>-<version>/<hash of content and key>. The file holds
// the key and a hash of what it keeps; one that is damaged, or has another key, counts as missing. A plugin that was
// built anew has other content, and finds nothing of what an earlier build of the same version kept.
#ifndef BYOC_CORE_PLUGIN_CACHE_H_
#define BYOC_CORE_PLUGIN_CACHE_H_

#include "core/base/arena.h"
#include "core/base/diag.h"

typedef struct byoc_plugin_cache_t {
  const char *folder;
  const char *plugin, *version; // checked names
  const char *content;          // hash of the plugin's files; NULL: not known
} byoc_plugin_cache_t;

// BYOC_NOT_FOUND, without a diagnostic, if there is no valid entry.
byoc_status_t byoc_plugin_cache_get(const byoc_plugin_cache_t *cache, const char *key, byoc_arena_t *arena,
                                    byoc_diag_t *diag, const void **out_data, size_t *out_size_bytes);
byoc_status_t byoc_plugin_cache_put(const byoc_plugin_cache_t *cache, const char *key, const void *data,
                                    size_t size_bytes, byoc_diag_t *diag);
// Removes the entries of this plugin that were not used for longest, until the others are within the limit.
void byoc_plugin_cache_prune(const byoc_plugin_cache_t *cache, uint64_t limit_bytes);

#endif // BYOC_CORE_PLUGIN_CACHE_H_

// SPDX-License-Identifier: Apache-2.0
// Compiled objects on disk, by the hash of all inputs; verdicts on code lie among them (core/measure/verdict.h).
// Internal to core/compose and core/measure.
#ifndef BYOC_CORE_COMPOSE_CC_OBJECT_CACHE_H_
#define BYOC_CORE_COMPOSE_CC_OBJECT_CACHE_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/allocator.h"
#include "core/base/sha256.h"

// The cache is spread over 256 folders. A folder that grows beyond this loses the objects that were not used for
// longest, so that the whole stays below about one gibibyte; the object stored last always stays.
#define BYOC_OBJECT_CACHE_FOLDER_LIMIT_BYTES (4u << 20)

// The object, in memory from `allocator`; false if it is not there. An entry that is damaged, that was stored under
// another key, or that somebody else could have written counts as missing and is removed, with a warning.
bool byoc_object_cache_get(const byoc_digest_t *key, byoc_allocator_t allocator, void **out_object,
                           size_t *out_size_bytes);
// Stores an object. If the cache cannot be written, this is only logged: later builds take longer.
void byoc_object_cache_put(const byoc_digest_t *key, const void *object, size_t size_bytes);

#endif // BYOC_CORE_COMPOSE_CC_OBJECT_CACHE_H_

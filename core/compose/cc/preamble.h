// SPDX-License-Identifier: Apache-2.0
// Headers that many sources begin with, compiled once for a compiler and its flags. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_CC_PREAMBLE_H_
#define BYOC_CORE_COMPOSE_CC_PREAMBLE_H_

#include "core/base/sha256.h"
#include "core/compose/cc/compiler.h"

// One for immintrin.h takes gcc some 24 MiB; beyond this the ones that were not used for longest are removed.
#define BYOC_PREAMBLE_LIMIT_BYTES (UINT64_C(160) << 20)

// The path of a header that holds job->preamble, for -include, with its precompiled form beside it, where gcc and clang
// look for it. `key`: the hash of all that it depends on. It is made if it is not there yet; NULL if it cannot be made
// (no cache, a compiler of another kind), which only makes compiling slower. One that was changed, or that another user
// could have written, is made again, with a warning. From `allocator`. Thread-safe.
char *byoc_preamble_get(const byoc_compile_job_t *job, const char *compiler, const byoc_digest_t *key,
                        byoc_allocator_t allocator);
// Removes the precompiled form: it did not work.
void byoc_preamble_drop(const char *path);

#endif // BYOC_CORE_COMPOSE_CC_PREAMBLE_H_

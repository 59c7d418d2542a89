// Headers that many sources begin with, compiled once for a compiler and its flags. Internal to core/compose.
#ifndef BYOC_CORE_COMPOSE_PREAMBLE_H_
#define BYOC_CORE_COMPOSE_PREAMBLE_H_

#include "core/base/sha256.h"
#include "core/compose/compiler.h"

// One for immintrin.h takes gcc some 24 MiB; those that were not used for longest go.
#define BYOC_PREAMBLE_LIMIT_BYTES (UINT64_C(160) << 20)

// The path of a header that holds job->preamble, for -include, with its precompiled form beside it where gcc and clang
// look for that. `key`: the hash of all that it depends on. Made where it is not there yet; NULL where it cannot be
// made (no cache, a compiler of another kind): compiling takes longer, nothing else. One that is not as it was made, or
// that somebody else could have written, is made again, with a warning. From `allocator`. Thread-safe.
char *byoc_preamble_get(const byoc_compile_job_t *job, const char *compiler, const byoc_digest_t *key,
                        byoc_allocator_t allocator);
// Takes the precompiled form away: it did not work.
void byoc_preamble_drop(const char *path);

#endif // BYOC_CORE_COMPOSE_PREAMBLE_H_

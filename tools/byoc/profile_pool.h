// SPDX-License-Identifier: Apache-2.0
// The threads of a profile: the pool of artifacts (core/runtime/pool.h), with a clock around each share.
#ifndef BYOC_TOOLS_BYOC_PROFILE_POOL_H_
#define BYOC_TOOLS_BYOC_PROFILE_POOL_H_

#include "byoc/artifact.h"
#include "core/base/diag.h"

// Loops with several shares. One thread may run all of them where the others have no processor or come too late.
typedef struct byoc_profile_loops_t {
  uint64_t count;
  double wall_ns;    // from the beginning of each to its end
  double busy_ns;    // in shares, all threads together
  double longest_ns; // in the shares of the slowest thread of each
} byoc_profile_loops_t;

typedef struct byoc_profile_pool_t byoc_profile_pool_t;

// `thread_count` threads, the calling one included, or fewer if the system refuses more. Destroy it after the contexts
// that use it.
byoc_status_t byoc_profile_pool_create(int32_t thread_count, byoc_diag_t *diag, byoc_profile_pool_t **out_pool);
void byoc_profile_pool_destroy(byoc_profile_pool_t *pool);
// The pool that contexts get.
const byoc_thread_pool_t *byoc_profile_pool_table(const byoc_profile_pool_t *pool);
// The loops since the last call, summed.
byoc_profile_loops_t byoc_profile_pool_take(byoc_profile_pool_t *pool);

#endif // BYOC_TOOLS_BYOC_PROFILE_POOL_H_

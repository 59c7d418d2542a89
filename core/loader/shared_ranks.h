// SPDX-License-Identifier: Apache-2.0
// A communicator (byoc/communicator.h) over processes of one machine, in shared memory without a name: nothing is left
// behind, even if the processes crash.
//
// Example:
//   byoc_shared_ranks_t *ranks = NULL;
//   BYOC_RETURN_IF_ERROR(byoc_shared_ranks_create(2, allocator, diag, &ranks));
//   for (int32_t r = 0; r < 2; ++r) {
//     children[r] = fork();
//     if (children[r] == 0) run_rank(byoc_shared_ranks_join(ranks, r)); // ends with byoc_shared_ranks_leave
//   }
//   for (int32_t r = 0; r < 2; ++r) {
//     waitpid(children[r], NULL, 0);
//     byoc_shared_ranks_ended(ranks, r);
//   }
//   byoc_shared_ranks_destroy(ranks);
#ifndef BYOC_CORE_LOADER_SHARED_RANKS_H_
#define BYOC_CORE_LOADER_SHARED_RANKS_H_

#include "byoc/communicator.h"
#include "core/base/allocator.h"
#include "core/base/diag.h"

enum { BYOC_SHARED_RANKS_MOST = 64 };

typedef struct byoc_shared_ranks_t byoc_shared_ranks_t;

// Makes the memory, before the processes of the ranks are forked. BYOC_INVALID_ARGUMENT for a number of ranks that is
// not in [1, BYOC_SHARED_RANKS_MOST].
byoc_status_t byoc_shared_ranks_create(int32_t count, byoc_allocator_t allocator, byoc_diag_t *diag,
                                       byoc_shared_ranks_t **out_ranks);
// In a rank's process: from now on the others see whether it is alive. The result belongs to `ranks`.
const byoc_communicator_t *byoc_shared_ranks_join(byoc_shared_ranks_t *ranks, int32_t rank);
// In a rank's process, when it needs the others no more, or after another failure. Ranks that wait for it from now on
// fail.
void byoc_shared_ranks_leave(byoc_shared_ranks_t *ranks, bool has_failed);
// In the process that forked the ranks: the rank's process has ended, maybe before it joined.
void byoc_shared_ranks_ended(byoc_shared_ranks_t *ranks, int32_t rank);
// In each process, which may also simply end.
void byoc_shared_ranks_destroy(byoc_shared_ranks_t *ranks); // accepts NULL

#endif // BYOC_CORE_LOADER_SHARED_RANKS_H_

// SPDX-License-Identifier: Apache-2.0
// Work that several ranks do: in processes of this machine, or in this process, which something else (mpirun) started
// together with the others.
#ifndef BYOC_TOOLS_BYOC_RANKS_H_
#define BYOC_TOOLS_BYOC_RANKS_H_

#include "byoc/communicator.h"
#include "core/base/diag.h"

// Runs one rank.
typedef byoc_status_t (*byoc_rank_body_t)(void *self, const byoc_communicator_t *communicator, byoc_diag_t *diag);

// Forks a process for each rank and waits for all. The first one writes to standard output, the others only tell their
// failures, each with its rank. *out_exit_code is 0 if all ranks succeeded, else that of one that failed on its own.
// Fails itself if the ranks cannot be started, or if one was killed.
byoc_status_t byoc_ranks_fork(int32_t count, byoc_rank_body_t body, void *self, byoc_diag_t *diag, int *out_exit_code);
// The same in this process, with the communicator that a shared object brings (BYOC_COMMUNICATOR_ENTRY).
byoc_status_t byoc_ranks_join(const char *path, byoc_rank_body_t body, void *self, byoc_diag_t *diag);

#endif // BYOC_TOOLS_BYOC_RANKS_H_

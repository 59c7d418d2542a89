// SPDX-License-Identifier: Apache-2.0
// Runs a test's body in several processes that talk by the communicator of core/loader/shared_ranks.h.
#include "tests/support/ranks.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/support.h"

static int run_rank(byoc_shared_ranks_t *ranks, int32_t rank, byoc_test_rank_t body, void *self) {
  const int code = body(self, byoc_shared_ranks_join(ranks, rank));
  if (code < 0) (void)raise(-code);
  byoc_shared_ranks_leave(ranks, code != 0);
  return code;
}

void byoc_test_run_ranks(int32_t count, byoc_test_rank_t body, void *self, const int *expected) {
  byoc_diag_t diag = {0};
  byoc_shared_ranks_t *ranks = NULL;
  pid_t processes[BYOC_SHARED_RANKS_MOST];
  byoc_test_ok(byoc_shared_ranks_create(count, byoc_allocator_system(), &diag, &ranks), &diag);
  for (int32_t r = 0; r < count; ++r) {
    processes[r] = fork();
    assert_true(processes[r] >= 0);
    if (processes[r] == 0) _exit(run_rank(ranks, r, body, self));
  }
  for (int32_t r = 0; r < count; ++r) {
    int status = 0;
    assert_int_equal(waitpid(processes[r], &status, 0), processes[r]);
    const int ended = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    if (ended != (expected ? expected[r] : 0)) fail_msg("rank %d of %d ended with %d", r, count, ended);
  }
  byoc_shared_ranks_destroy(ranks);
}

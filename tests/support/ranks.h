// SPDX-License-Identifier: Apache-2.0
// Runs a test's body in several processes that talk by the communicator of core/loader/shared_ranks.h.
#ifndef BYOC_TESTS_SUPPORT_RANKS_H_
#define BYOC_TESTS_SUPPORT_RANKS_H_

#include "core/loader/shared_ranks.h"

// Returns the exit code of the rank's process, or a negative number: the signal that is to kill it.
typedef int (*byoc_test_rank_t)(void *self, const byoc_communicator_t *communicator);

// Fails the test unless each rank ended with its expected code (negative: killed by that signal). NULL: with 0.
void byoc_test_run_ranks(int32_t count, byoc_test_rank_t body, void *self, const int *expected);

// In a rank, which must not use cmocka: says what is wrong and ends the body with code 1.
#define BYOC_RANK_CHECK(communicator, condition)                                                                       \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      (void)fprintf(stderr, "rank %d, %s:%d: %s (%s)\n", (communicator)->rank, __FILE__, __LINE__, #condition,         \
                    (communicator)->last_error((communicator)->self));                                                 \
      return 1;                                                                                                        \
    }                                                                                                                  \
  } while (0)

#endif // BYOC_TESTS_SUPPORT_RANKS_H_

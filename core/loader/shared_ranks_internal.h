// SPDX-License-Identifier: Apache-2.0
// Shared by the files shared_ranks*.c. Internal to core/loader.
#ifndef BYOC_CORE_LOADER_SHARED_RANKS_INTERNAL_H_
#define BYOC_CORE_LOADER_SHARED_RANKS_INTERNAL_H_

#include <stdatomic.h>
#include <stdbool.h>

#include "core/loader/helper.h"
#include "core/loader/shared_ranks.h"

enum {
  MOST = BYOC_SHARED_RANKS_MOST,
  OUTBOX_BYTES = 1 << 20,
};

// The state of a rank, as the others see it.
enum { ABSENT, JOINED, LEFT, FAILED, ENDED };

typedef struct description_t {
  uint32_t kind, dtype, reduction;
  uint64_t count, piece;
  int32_t first, stride, members, root, targets[MOST];
} description_t;

// The wait of a rank: until `rank` - 1 posts (or reads); 0: it does not wait.
typedef struct waiting_t {
  _Atomic uint32_t epoch; // counts the waits
  _Atomic int32_t for_post, for_reading;
} waiting_t;

typedef struct memory_t {
  _Atomic uint32_t posted[MOST][MOST]; // by sender, receiver
  _Atomic uint32_t read[MOST][MOST];   // by reader, sender
  _Atomic uint32_t state[MOST];
  _Atomic int32_t culprit[MOST]; // FAILED: the rank that is to blame, from 1; 0: the rank itself
  waiting_t waiting[MOST];
  description_t descriptions[MOST];
} memory_t;

struct byoc_shared_ranks_t {
  byoc_allocator_t allocator;
  byoc_communicator_t communicator;
  memory_t *memory;
  uint8_t *outboxes;
  size_t size_bytes;
  int file;
  bool has_begun;
  byoc_helper_t *helper;   // does the rest of a collective that has begun; NULL: not made yet
  byoc_collective_t begun; // the collective that the helper continues
  bool is_helped;          // the helper has it
  int32_t status;          // the status of the helper's work
  _Atomic int32_t failure; // the first one's status, which stays
  _Atomic bool is_abandoned;
  int32_t (*is_ending)(void *waiter); // of the collective that runs; NULL: it has no limit
  void *waiter;
  char error[512];
};

// Notes why this rank can do nothing more, for its caller and for the others. Returns `status`.
__attribute__((format(printf, 3, 4))) int32_t byoc_shared_ranks_fail(byoc_shared_ranks_t *ranks, int32_t status,
                                                                     const char *format, ...);
// Notes that this rank's run was ended early.
int32_t byoc_shared_ranks_give_up(byoc_shared_ranks_t *ranks);
// Waits until `rank` has set `word` to `value` (or, if `is` is false, to another value). The others see the wait in
// `slot`. Fails if that rank has ended, or if ranks wait for each other in a circle.
int32_t byoc_shared_ranks_wait(byoc_shared_ranks_t *ranks, int32_t rank, _Atomic int32_t *slot, _Atomic uint32_t *word,
                               bool is, uint32_t value);

#endif // BYOC_CORE_LOADER_SHARED_RANKS_INTERNAL_H_

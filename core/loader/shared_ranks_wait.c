// SPDX-License-Identifier: Apache-2.0
// Waits of ranks for each other in shared memory; a wait fails if it can never end.
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "core/loader/shared_ranks_internal.h"

enum {
  LOOK_AROUND_MS = 100, // the period in which a waiting rank checks that the other one is alive
};

// ---- failures ----

int32_t byoc_shared_ranks_fail(byoc_shared_ranks_t *ranks, int32_t status, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(ranks->error, sizeof(ranks->error), format, arguments);
  va_end(arguments);
  ranks->failure = status;
  atomic_store(&ranks->memory->state[ranks->communicator.rank], FAILED);
  return status;
}

int32_t byoc_shared_ranks_give_up(byoc_shared_ranks_t *ranks) {
  if (ranks->failure != BYOC_OK) return ranks->failure;
  return byoc_shared_ranks_fail(ranks, BYOC_CANCELLED, "the run of rank %d was ended early", ranks->communicator.rank);
}

// Does the process of the rank hold its lock?
static bool is_alive(const byoc_shared_ranks_t *ranks, int32_t rank) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = rank, .l_len = 1};
  return fcntl(ranks->file, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

// The reason why a rank does nothing more, and the rank that is to blame.
typedef struct verdict_t {
  uint32_t state; // LEFT, FAILED or ENDED; ABSENT: it may still do something
  int32_t rank;
} verdict_t;

static verdict_t judge(const byoc_shared_ranks_t *ranks, int32_t rank) {
  const memory_t *memory = ranks->memory;
  const verdict_t none = {ABSENT, rank};
  for (int32_t steps = 0; steps < ranks->communicator.size; ++steps) {
    const uint32_t state = atomic_load(&memory->state[rank]);
    if (state == ABSENT) return none;
    if (state == LEFT || state == ENDED) return (verdict_t){state, rank};
    if (state == JOINED)
      return is_alive(ranks, rank) || atomic_load(&memory->state[rank]) != JOINED
                 ? none // it is alive, or it has just left: the next check shows that
                 : (verdict_t){ENDED, rank};
    const int32_t culprit = atomic_load(&memory->culprit[rank]);
    if (culprit == 0) break;
    rank = culprit - 1; // it failed because of that one
  }
  return (verdict_t){FAILED, rank};
}

static int32_t give_up_on(byoc_shared_ranks_t *ranks, verdict_t verdict) {
  const int32_t own = ranks->communicator.rank;
  if (verdict.rank != own) atomic_store(&ranks->memory->culprit[own], verdict.rank + 1);
  if (verdict.state == ENDED)
    return byoc_shared_ranks_fail(ranks, BYOC_IO, "rank %d has died, and rank %d needs it", verdict.rank, own);
  if (verdict.state == FAILED)
    return byoc_shared_ranks_fail(ranks, BYOC_IO, "rank %d has failed, and rank %d needs it", verdict.rank, own);
  return byoc_shared_ranks_fail(
      ranks, BYOC_IO,
      "rank %d has come to its end, and rank %d still needs it: all ranks must run the same collectives in the "
      "same order",
      verdict.rank, own);
}

// ---- waiting ----

// The rank that this one waits for while the other has not done it yet; -1: it waits for none.
static int32_t awaited(const memory_t *memory, int32_t rank) {
  const int32_t post = atomic_load(&memory->waiting[rank].for_post) - 1;
  const int32_t reading = atomic_load(&memory->waiting[rank].for_reading) - 1;
  if (post >= 0 && atomic_load(&memory->posted[post][rank]) == atomic_load(&memory->read[rank][post])) return post;
  if (reading >= 0 && atomic_load(&memory->read[reading][rank]) != atomic_load(&memory->posted[rank][reading])) {
    return reading;
  }
  return -1;
}

// Do ranks wait for each other in a circle with this one? Each of them was in the same wait at two checks, and that
// wait was not over at the second check: so all of them waited in between.
static bool waits_in_circle(const byoc_shared_ranks_t *ranks) {
  const memory_t *memory = ranks->memory;
  const int32_t own = ranks->communicator.rank;
  uint32_t epochs[MOST];
  for (int look = 0; look < 2; ++look) {
    int32_t rank = own, steps = 0;
    do {
      const uint32_t epoch = atomic_load(&memory->waiting[rank].epoch);
      if (look == 0) epochs[rank] = epoch;
      if (epochs[rank] != epoch) return false;
      rank = awaited(memory, rank);
      if (rank < 0 || ++steps > ranks->communicator.size) return false;
    } while (rank != own);
  }
  return true;
}

static void sleep_on(_Atomic uint32_t *word, uint32_t value) {
  const struct timespec most = {.tv_nsec = LOOK_AROUND_MS * 1000000L};
  (void)syscall(SYS_futex, word, FUTEX_WAIT, value, &most, NULL, 0);
}

int32_t byoc_shared_ranks_wait(byoc_shared_ranks_t *ranks, int32_t rank, _Atomic int32_t *slot, _Atomic uint32_t *word,
                               bool is, uint32_t value) {
  waiting_t *waiting = &ranks->memory->waiting[ranks->communicator.rank];
  uint32_t now = atomic_load(word);
  if ((now == value) == is) return BYOC_OK;
  atomic_fetch_add(&waiting->epoch, 1);
  atomic_store(slot, rank + 1);
  int32_t status = BYOC_OK;
  for (; (now == value) != is && status == BYOC_OK; now = atomic_load(word)) {
    sleep_on(word, now);
    const bool is_ending = ranks->is_ending != NULL && ranks->is_ending(ranks->waiter) != 0;
    if ((is_ending || atomic_load(&ranks->is_abandoned)) && (atomic_load(word) == value) != is) {
      status = byoc_shared_ranks_give_up(ranks);
      break;
    }
    const verdict_t verdict = judge(ranks, rank);
    // The data that the other rank sent before it ended is there.
    if (verdict.state != ABSENT && (atomic_load(word) == value) != is) status = give_up_on(ranks, verdict);
    if (status == BYOC_OK && waits_in_circle(ranks)) {
      status = byoc_shared_ranks_fail(
          ranks, BYOC_INVALID_DATA,
          "rank %d and rank %d wait for each other: all ranks must run the same collectives in the same order",
          ranks->communicator.rank, rank);
    }
  }
  atomic_store(slot, 0);
  return status;
}

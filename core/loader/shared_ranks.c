// SPDX-License-Identifier: Apache-2.0
// The communicator over processes of one machine: each rank has an outbox in shared memory, from which the others read.
//
// A collective is done in pieces that fit an outbox. For each piece a rank waits until all members have read its last
// piece. It puts its data and a description of the collective into its outbox, and counts the piece as posted for each
// other member of the group. Then it reads the outbox of each member, in the order of the ranks, and counts the piece
// as read. Each pair of ranks has its own counters, so that collectives of different groups do not disturb each other.
// The counters are also the futexes.
//
// If a collective has a begin and an end, `begin` posts the first piece, and a helper does the rest meanwhile. `end`
// waits for the helper, or does the work that the helper has not begun.
//
// A rank shows that it is alive by a lock on its own byte of the memory's file. The kernel releases the lock when the
// process ends, even by a crash.
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "byoc/communicator_reduce.h"
#include "core/loader/shared_ranks_internal.h"

// ---- one collective ----

// A collective as this rank runs it.
typedef struct exchange_t {
  const byoc_collective_t *c;
  int32_t position; // of this rank in the group
  uint64_t element_bytes, blocks, piece_count;
} exchange_t;

enum {
  // To copy less takes no longer than to wake a thread.
  LEAST_HELPED_BYTES = 1 << 16,
};

static void count_up(_Atomic uint32_t *word) {
  atomic_fetch_add(word, 1);
  (void)syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static uint64_t minimum(uint64_t a, uint64_t b) {
  return a < b ? a : b;
}

static bool is_between_two(const byoc_collective_t *c) {
  return c->kind == BYOC_SEND || c->kind == BYOC_RECEIVE;
}

static bool reduces(const byoc_collective_t *c) {
  return c->kind == BYOC_REDUCE || c->kind == BYOC_ALL_REDUCE || c->kind == BYOC_REDUCE_SCATTER;
}

// Blocks that a sender puts into its outbox.
static uint64_t sent_blocks(const byoc_collective_t *c) {
  const bool one_for_each = c->kind == BYOC_SCATTER || c->kind == BYOC_REDUCE_SCATTER || c->kind == BYOC_ALL_TO_ALL;
  return one_for_each ? (uint64_t)c->members : 1;
}

static bool sends(const exchange_t *x) {
  const bool by_root = x->c->kind == BYOC_BROADCAST || x->c->kind == BYOC_SCATTER;
  return x->c->kind != BYOC_RECEIVE && (!by_root || x->position == x->c->root);
}

static bool receives(const exchange_t *x) {
  const bool by_root = x->c->kind == BYOC_GATHER || x->c->kind == BYOC_REDUCE;
  return x->c->kind != BYOC_SEND && (!by_root || x->position == x->c->root);
}

static int32_t rank_of(const byoc_collective_t *c, int32_t position) {
  return c->first + position * c->stride;
}

// Does this rank exchange data with that member, another one?
static bool is_partner(const exchange_t *x, int32_t position) {
  return position != x->position && (!is_between_two(x->c) || position == x->c->root);
}

static int32_t prepare(byoc_shared_ranks_t *ranks, const byoc_collective_t *c, exchange_t *x) {
  const byoc_communicator_t *communicator = &ranks->communicator;
  const int32_t offset = communicator->rank - c->first;
  const bool may_end = c->struct_size >= offsetof(byoc_collective_t, waiter) + sizeof(c->waiter);
  *x = (exchange_t){.c = c, .element_bytes = byoc_dtype_bits(c->dtype) / 8};
  ranks->is_ending = may_end ? c->is_ending : NULL;
  ranks->waiter = may_end ? c->waiter : NULL;
  if (ranks->failure != BYOC_OK) return ranks->failure; // the message of the failure is set
  if (c->kind >= BYOC_COLLECTIVE_COUNT)
    return byoc_shared_ranks_fail(ranks, BYOC_UNSUPPORTED, "there is no collective %u", c->kind);
  if (x->element_bytes == 0 || byoc_dtype_bits(c->dtype) % 8 != 0 || c->dtype == BYOC_DTYPE_STRING) {
    return byoc_shared_ranks_fail(ranks, BYOC_UNSUPPORTED, "elements of type %s cannot be sent",
                                  byoc_dtype_name(c->dtype));
  }
  if (c->members < 1 || c->stride < 1 || c->first < 0 || offset < 0 || offset % c->stride != 0 ||
      offset / c->stride >= c->members || c->first + (int64_t)(c->members - 1) * c->stride >= communicator->size) {
    return byoc_shared_ranks_fail(
        ranks, BYOC_INVALID_ARGUMENT, "%s: rank %d of %d is not in the group of %d ranks from rank %d in steps of %d",
        byoc_collective_name(c->kind), communicator->rank, communicator->size, c->members, c->first, c->stride);
  }
  x->position = offset / c->stride;
  if (c->root < 0 || c->root >= c->members || (is_between_two(c) && c->root == x->position)) {
    return byoc_shared_ranks_fail(ranks, BYOC_INVALID_ARGUMENT, "%s: member %d cannot be its other end",
                                  byoc_collective_name(c->kind), c->root);
  }
  if (reduces(c) && !byoc_can_reduce(c->dtype, c->reduction)) {
    return byoc_shared_ranks_fail(ranks, BYOC_UNSUPPORTED, "%s: there is no %s of %s", byoc_collective_name(c->kind),
                                  byoc_reduction_name(c->reduction), byoc_dtype_name(c->dtype));
  }
  x->blocks = sent_blocks(c);
  x->piece_count = OUTBOX_BYTES / x->element_bytes / x->blocks;
  return BYOC_OK;
}

static void describe(const exchange_t *x, uint64_t piece, description_t *out) {
  const byoc_collective_t *c = x->c;
  memset(out, 0, sizeof(*out)); // they are compared as bytes
  out->kind = c->kind;
  out->dtype = c->dtype;
  out->reduction = reduces(c) ? c->reduction : 0;
  out->count = c->count;
  out->piece = piece;
  out->first = c->first;
  out->stride = c->stride;
  out->members = c->members;
  out->root = c->root;
  if (c->kind == BYOC_PERMUTE) memcpy(out->targets, c->targets, (size_t)c->members * sizeof(*c->targets));
}

static int32_t post(byoc_shared_ranks_t *ranks, const exchange_t *x, uint64_t piece) {
  const byoc_collective_t *c = x->c;
  const int32_t own = ranks->communicator.rank;
  memory_t *memory = ranks->memory;
  if (c->kind == BYOC_RECEIVE) return BYOC_OK;
  for (int32_t r = 0; r < ranks->communicator.size; ++r) { // all readers of the last piece, of any group
    const int32_t status = byoc_shared_ranks_wait(ranks, r, &memory->waiting[own].for_reading, &memory->read[r][own],
                                                  true, atomic_load(&memory->posted[own][r]));
    if (status != BYOC_OK) return status;
  }
  describe(x, piece, &memory->descriptions[own]);
  const uint64_t count = minimum(c->count - piece, x->piece_count);
  uint8_t *outbox = ranks->outboxes + (size_t)own * OUTBOX_BYTES;
  for (uint64_t b = 0; sends(x) && count > 0 && b < x->blocks; ++b) {
    memcpy(outbox + b * count * x->element_bytes, (const uint8_t *)c->send + (b * c->count + piece) * x->element_bytes,
           count * x->element_bytes);
  }
  for (int32_t p = 0; p < c->members; ++p) {
    if (is_partner(x, p)) count_up(&memory->posted[own][rank_of(c, p)]);
  }
  return BYOC_OK;
}

static int32_t refuse(byoc_shared_ranks_t *ranks, const exchange_t *x, int32_t rank) {
  const byoc_collective_t *c = x->c;
  const description_t *theirs = &ranks->memory->descriptions[rank];
  return byoc_shared_ranks_fail(
      ranks, BYOC_INVALID_DATA,
      "rank %d runs %s of %llu %s among %d ranks (root %d, %s) where rank %d runs %s of %llu %s among %d (root "
      "%d, %s): all ranks must run the same collectives in the same order",
      rank, byoc_collective_name(theirs->kind), (unsigned long long)theirs->count, byoc_dtype_name(theirs->dtype),
      theirs->members, theirs->root, byoc_reduction_name(theirs->reduction), ranks->communicator.rank,
      byoc_collective_name(c->kind), (unsigned long long)c->count, byoc_dtype_name(c->dtype), c->members, c->root,
      byoc_reduction_name(c->reduction));
}

static bool is_same(const byoc_shared_ranks_t *ranks, const exchange_t *x, uint64_t piece, int32_t rank) {
  const description_t *theirs = &ranks->memory->descriptions[rank];
  description_t own;
  describe(x, piece, &own);
  if (x->c->kind != BYOC_RECEIVE) return memcmp(&own, theirs, sizeof(own)) == 0;
  return theirs->kind == BYOC_SEND && theirs->count == own.count && theirs->dtype == own.dtype &&
         theirs->piece == piece;
}

// Takes the data of the member at that position for this rank.
static void take(byoc_shared_ranks_t *ranks, const exchange_t *x, uint64_t piece, int32_t position) {
  const byoc_collective_t *c = x->c;
  const uint64_t count = minimum(c->count - piece, x->piece_count), bytes = count * x->element_bytes;
  const uint8_t *from = ranks->outboxes + (size_t)rank_of(c, position) * OUTBOX_BYTES;
  if (x->blocks > 1) from += (uint64_t)x->position * bytes;
  uint8_t *into = (uint8_t *)c->receive + piece * x->element_bytes;
  const bool from_root = c->kind == BYOC_BROADCAST || c->kind == BYOC_SCATTER || c->kind == BYOC_RECEIVE;
  if (bytes == 0 || !receives(x) || (from_root && position != c->root)) return;
  if (c->kind == BYOC_PERMUTE && c->targets[position] != x->position) return;
  if (reduces(c) && position > 0) {
    (void)byoc_reduce(c->dtype, c->reduction, into, from, count);
    return;
  }
  const bool keeps_all = c->kind == BYOC_GATHER || c->kind == BYOC_ALL_GATHER || c->kind == BYOC_ALL_TO_ALL;
  if (keeps_all) into += (uint64_t)position * c->count * x->element_bytes;
  memcpy(into, from, bytes);
}

static int32_t take_all(byoc_shared_ranks_t *ranks, const exchange_t *x, uint64_t piece) {
  const byoc_collective_t *c = x->c;
  const int32_t own = ranks->communicator.rank;
  memory_t *memory = ranks->memory;
  if (c->kind == BYOC_SEND) return BYOC_OK;
  for (int32_t p = 0; p < c->members; ++p) {
    const int32_t rank = rank_of(c, p);
    if (p == x->position) {
      if (!is_between_two(c)) take(ranks, x, piece, p);
      continue;
    }
    if (!is_partner(x, p)) continue;
    const int32_t status =
        byoc_shared_ranks_wait(ranks, rank, &memory->waiting[own].for_post, &memory->posted[rank][own], false,
                               atomic_load(&memory->read[own][rank]));
    if (status != BYOC_OK) return status;
    if (!is_same(ranks, x, piece, rank)) return refuse(ranks, x, rank);
    take(ranks, x, piece, p);
    count_up(&memory->read[own][rank]);
  }
  return BYOC_OK;
}

// ---- the table ----

// Does the rest of a collective after the first piece is posted.
static int32_t take_and_go_on(byoc_shared_ranks_t *ranks, const exchange_t *x) {
  int32_t status = take_all(ranks, x, 0);
  for (uint64_t piece = x->piece_count; status == BYOC_OK && piece < x->c->count; piece += x->piece_count) {
    status = post(ranks, x, piece);
    if (status == BYOC_OK) status = take_all(ranks, x, piece);
  }
  return status;
}

static void help(void *self) {
  byoc_shared_ranks_t *ranks = self;
  exchange_t x;
  ranks->status = prepare(ranks, &ranks->begun, &x);
  if (ranks->status == BYOC_OK) ranks->status = take_and_go_on(ranks, &x);
}

static int32_t post_first(byoc_shared_ranks_t *ranks, const byoc_collective_t *collective, exchange_t *x) {
  int32_t status = prepare(ranks, collective, x);
  if (status == BYOC_OK && ranks->has_begun) {
    status = byoc_shared_ranks_fail(ranks, BYOC_INVALID_ARGUMENT, "%s begins before the previous collective has ended",
                                    byoc_collective_name(collective->kind));
  }
  return status == BYOC_OK ? post(ranks, x, 0) : status;
}

static int32_t begin(void *self, const byoc_collective_t *collective) {
  byoc_shared_ranks_t *ranks = self;
  exchange_t x;
  const int32_t status = post_first(ranks, collective, &x);
  ranks->has_begun = status == BYOC_OK;
  if (status != BYOC_OK || collective->count < LEAST_HELPED_BYTES / x.element_bytes) return status;
  if (ranks->helper == NULL) ranks->helper = byoc_helper_create(ranks->allocator);
  ranks->is_helped = ranks->helper != NULL;
  ranks->begun = *collective;
  if (ranks->is_helped) byoc_helper_start(ranks->helper, help, ranks);
  return BYOC_OK;
}

static int32_t end(void *self, const byoc_collective_t *collective) {
  byoc_shared_ranks_t *ranks = self;
  exchange_t x;
  const bool is_helped = ranks->is_helped;
  if (is_helped) byoc_helper_finish(ranks->helper);
  ranks->is_helped = false;
  int32_t status = is_helped ? ranks->status : prepare(ranks, collective, &x);
  if (status == BYOC_OK && !ranks->has_begun) {
    status = byoc_shared_ranks_fail(ranks, BYOC_INVALID_ARGUMENT, "%s ends without a begin",
                                    byoc_collective_name(collective->kind));
  }
  ranks->has_begun = false;
  if (status == BYOC_OK && !is_helped) status = take_and_go_on(ranks, &x);
  if (atomic_load(&ranks->is_abandoned)) (void)byoc_shared_ranks_give_up(ranks); // from now on
  return status;
}

static int32_t run(void *self, const byoc_collective_t *collective) {
  byoc_shared_ranks_t *ranks = self;
  exchange_t x;
  const int32_t status = post_first(ranks, collective, &x);
  return status == BYOC_OK ? take_and_go_on(ranks, &x) : status;
}

// The helper may still wait: it sees the flag, and says so.
static void abandon(void *self) {
  byoc_shared_ranks_t *ranks = self;
  atomic_store(&ranks->is_abandoned, true);
  if (!ranks->is_helped) (void)byoc_shared_ranks_give_up(ranks);
}

static const char *last_error(void *self) {
  const byoc_shared_ranks_t *ranks = self;
  return ranks->error;
}

// ---- making and joining ----

static byoc_status_t map(byoc_shared_ranks_t *ranks, byoc_diag_t *diag) {
  const size_t head = (sizeof(memory_t) + 4095) / 4096 * 4096;
  ranks->size_bytes = head + (size_t)ranks->communicator.size * OUTBOX_BYTES;
  ranks->file = memfd_create("byoc-ranks", MFD_CLOEXEC);
  if (ranks->file < 0 || ftruncate(ranks->file, (off_t)ranks->size_bytes) != 0) {
    return byoc_diag_error(diag, BYOC_OUT_OF_MEMORY, "cannot make the memory that %d ranks share: %s",
                           ranks->communicator.size, strerror(errno));
  }
  void *memory = mmap(NULL, ranks->size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ranks->file, 0);
  if (memory == MAP_FAILED) return byoc_diag_out_of_memory(diag);
  ranks->memory = memory;
  ranks->outboxes = (uint8_t *)memory + head;
  return BYOC_OK;
}

byoc_status_t byoc_shared_ranks_create(int32_t count, byoc_allocator_t allocator, byoc_diag_t *diag,
                                       byoc_shared_ranks_t **out_ranks) {
  *out_ranks = NULL;
  if (count < 1 || count > MOST) {
    return byoc_diag_error(diag, BYOC_INVALID_ARGUMENT, "%d ranks are not between 1 and %d", count, MOST);
  }
  byoc_shared_ranks_t *ranks = byoc_allocate(allocator, 1, sizeof(*ranks));
  if (ranks == NULL) return byoc_diag_out_of_memory(diag);
  *ranks = (byoc_shared_ranks_t){.allocator = allocator, .file = -1};
  ranks->communicator = (byoc_communicator_t){.struct_size = sizeof(ranks->communicator),
                                              .abi_version = BYOC_COMMUNICATOR_ABI,
                                              .size = count,
                                              .self = ranks,
                                              .run = run,
                                              .last_error = last_error,
                                              .begin = begin,
                                              .end = end,
                                              .abandon = abandon};
  const byoc_status_t status = map(ranks, diag);
  if (status != BYOC_OK) byoc_shared_ranks_destroy(ranks);
  if (status == BYOC_OK) *out_ranks = ranks;
  return status;
}

const byoc_communicator_t *byoc_shared_ranks_join(byoc_shared_ranks_t *ranks, int32_t rank) {
  struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = rank, .l_len = 1};
  while (fcntl(ranks->file, F_SETLKW, &lock) != 0 && errno == EINTR) continue;
  ranks->communicator.rank = rank;
  atomic_store(&ranks->memory->state[rank], JOINED);
  return &ranks->communicator;
}

void byoc_shared_ranks_leave(byoc_shared_ranks_t *ranks, bool has_failed) {
  // The others see the rank's failure, if it has one. A helper that still works ends when the others see the end of
  // this rank.
  if (ranks->failure == BYOC_OK) {
    atomic_store(&ranks->memory->state[ranks->communicator.rank], has_failed ? FAILED : LEFT);
  }
  byoc_helper_destroy(ranks->helper);
  ranks->helper = NULL;
}

void byoc_shared_ranks_ended(byoc_shared_ranks_t *ranks, int32_t rank) {
  const uint32_t state = atomic_load(&ranks->memory->state[rank]);
  if (state == ABSENT || state == JOINED) atomic_store(&ranks->memory->state[rank], ENDED);
}

void byoc_shared_ranks_destroy(byoc_shared_ranks_t *ranks) {
  if (ranks == NULL) return;
  if (ranks->memory != NULL) (void)munmap(ranks->memory, ranks->size_bytes);
  if (ranks->file >= 0) (void)close(ranks->file);
  byoc_free(ranks->allocator, ranks);
}

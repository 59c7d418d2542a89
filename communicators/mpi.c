// SPDX-License-Identifier: Apache-2.0
// A communicator of byoc (byoc/communicator.h) over MPI: a source file that is compiled against the MPI at hand,
// because the ABIs of MPI libraries differ.
//
//   mpicc -shared -fPIC -O2 -I PREFIX/include -o byoc_mpi.so PREFIX/share/byoc/communicators/mpi.c
//   mpirun -n 2 byoc run --communicator byoc_mpi.so rank0.so rank1.so --random
//
// A program of one's own calls byoc_communicator_open after or instead of MPI_Init, and gives what it gets to its
// contexts (byoc_context_options_t.communicator).
//
// Sums of MPI may be taken in any order. So elements travel, in the blocks that each rank combines, and are combined in
// the order of the ranks (byoc/communicator_reduce.h): the same bits on all ranks, and in each run. An error of MPI,
// such as the death of a rank, ends the job, as is MPI's custom; mpirun says which rank it was. A rank that gives
// up, because its run is ended early or its context cannot be made, lets the others go when its process ends. One whose
// time is over while it waits for others ends the job: MPI cannot take back what has begun.
//
// A collective that begins and ends apart is one of MPI's that do not block. Whether it goes on in between depends on
// the MPI: many do so only inside of calls, unless they are told to use a thread (MPICH_ASYNC_PROGRESS=1).
#include <limits.h>
#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "byoc/communicator.h"
#include "byoc/communicator_reduce.h"

// MPI's communicators of groups, made at their first use.
typedef struct group_t {
  int32_t first, stride, members;
  MPI_Comm comm;
} group_t;

// What has begun.
typedef struct pending_t {
  MPI_Request requests[2];
  uint8_t *blocks; // of a reduction: what each rank has sent of this rank's part
  int *numbers;    // of a reduction: see reduction_t
} pending_t;

typedef struct state_t {
  byoc_communicator_t communicator;
  pending_t pending;
  group_t *groups;
  int group_count;
  bool is_abandoned;
  char error[512];
} state_t;

static int32_t fail(state_t *state, int32_t status, const char *what, const char *why) {
  (void)snprintf(state->error, sizeof(state->error), "%s: %s", what, why);
  return status;
}

static int32_t find_group(state_t *state, const byoc_collective_t *c, MPI_Comm *out_comm) {
  for (int g = 0; g < state->group_count; g++) {
    const group_t *known = &state->groups[g];
    if (known->first != c->first || known->stride != c->stride || known->members != c->members) continue;
    *out_comm = known->comm;
    return BYOC_OK;
  }
  group_t *groups = realloc(state->groups, ((size_t)state->group_count + 1) * sizeof(*groups));
  if (groups == NULL) return fail(state, BYOC_OUT_OF_MEMORY, byoc_collective_name(c->kind), "out of memory");
  state->groups = groups;
  int range[1][3] = {{c->first, c->first + (c->members - 1) * c->stride, c->stride}};
  MPI_Group world, group;
  group_t made = {c->first, c->stride, c->members, MPI_COMM_NULL};
  const int ok = MPI_Comm_group(MPI_COMM_WORLD, &world) == MPI_SUCCESS &&
                 MPI_Group_range_incl(world, 1, range, &group) == MPI_SUCCESS &&
                 MPI_Comm_create_group(MPI_COMM_WORLD, group, c->first, &made.comm) == MPI_SUCCESS;
  if (!ok) return fail(state, BYOC_IO, byoc_collective_name(c->kind), "MPI cannot make a group of these ranks");
  (void)MPI_Group_free(&group);
  (void)MPI_Group_free(&world);
  groups[state->group_count++] = made;
  *out_comm = made.comm;
  return BYOC_OK;
}

// Each rank's part of [0, count), and where it begins.
static uint64_t share(uint64_t count, int32_t members, int32_t member, uint64_t *out_begin) {
  const uint64_t least = count / (uint64_t)members, more = count % (uint64_t)members, m = (uint64_t)member;
  *out_begin = m * least + (m < more ? m : more);
  return least + (m < more);
}

static int32_t combine(state_t *state, const byoc_collective_t *c, uint8_t *blocks, uint64_t count, uint8_t *into) {
  const uint64_t size = count * (byoc_dtype_bits(c->dtype) / 8);
  for (int32_t m = 1; m < c->members; m++) {
    if (byoc_reduce(c->dtype, c->reduction, blocks, blocks + (uint64_t)m * size, count)) continue;
    return fail(state, BYOC_UNSUPPORTED, byoc_collective_name(c->kind), "these elements have no such reduction");
  }
  if (into != NULL && size > 0) memcpy(into, blocks, size);
  return BYOC_OK;
}

// ---- reductions: every rank gets its part of all blocks, combines it, and the parts are gathered ----

// By member: bytes and where they begin.
typedef struct reduction_t {
  int *sent, *sent_at; // of the block that this rank sends: the members' parts
  int *got, *got_at;   // of what this rank gets
  uint64_t count;      // elements of its own part
} reduction_t;

static reduction_t parts_of(const byoc_collective_t *c, int *numbers, int32_t own, uint64_t size) {
  reduction_t r = {.sent = numbers, .sent_at = numbers + c->members, .got = numbers + 2 * c->members};
  uint64_t at = 0;
  r.got_at = numbers + 3 * c->members;
  r.count = share(c->count, c->members, own, &at);
  for (int32_t m = 0; m < c->members; m++) {
    r.sent[m] = (int)(share(c->count, c->members, m, &at) * size);
    r.sent_at[m] = (int)(at * size);
    r.got[m] = (int)(r.count * size);
    r.got_at[m] = (int)(r.count * size) * m;
  }
  return r;
}

static int32_t begin_reduction(state_t *state, const byoc_collective_t *c, MPI_Comm comm, int32_t own, uint64_t size) {
  pending_t *p = &state->pending;
  const int whole = (int)(c->count * size);
  uint64_t at = 0;
  const uint64_t count = c->kind == BYOC_REDUCE_SCATTER ? c->count : share(c->count, c->members, own, &at);
  p->blocks = malloc(count * size * (uint64_t)c->members + 1);
  p->numbers = malloc(4 * (size_t)c->members * sizeof(*p->numbers));
  if (p->blocks == NULL || p->numbers == NULL) {
    return fail(state, BYOC_OUT_OF_MEMORY, byoc_collective_name(c->kind), "out of memory");
  }
  if (c->kind == BYOC_REDUCE_SCATTER) {
    (void)MPI_Ialltoall(c->send, whole, MPI_BYTE, p->blocks, whole, MPI_BYTE, comm, &p->requests[0]);
    return BYOC_OK;
  }
  const reduction_t r = parts_of(c, p->numbers, own, size);
  (void)MPI_Ialltoallv(c->send, r.sent, r.sent_at, MPI_BYTE, p->blocks, r.got, r.got_at, MPI_BYTE, comm,
                       &p->requests[0]);
  return BYOC_OK;
}

static int32_t end_reduction(state_t *state, const byoc_collective_t *c, MPI_Comm comm, int32_t own, uint64_t size) {
  const pending_t *p = &state->pending;
  if (c->kind == BYOC_REDUCE_SCATTER) return combine(state, c, p->blocks, c->count, c->receive);
  const reduction_t r = parts_of(c, p->numbers, own, size);
  const int32_t status = combine(state, c, p->blocks, r.count, NULL);
  const int mine = (int)(r.count * size);
  if (c->kind == BYOC_ALL_REDUCE) {
    (void)MPI_Allgatherv(p->blocks, mine, MPI_BYTE, c->receive, r.sent, r.sent_at, MPI_BYTE, comm);
  } else {
    (void)MPI_Gatherv(p->blocks, mine, MPI_BYTE, c->receive, r.sent, r.sent_at, MPI_BYTE, c->root, comm);
  }
  return status;
}

// ---- the others ----

static void begin_permutation(const byoc_collective_t *c, MPI_Comm comm, int32_t own, int bytes,
                              MPI_Request *requests) {
  for (int32_t m = 0; m < c->members; m++) {
    if (c->targets[m] == own) (void)MPI_Irecv(c->receive, bytes, MPI_BYTE, m, 0, comm, &requests[0]);
  }
  if (c->targets[own] >= 0) (void)MPI_Isend(c->send, bytes, MPI_BYTE, c->targets[own], 0, comm, &requests[1]);
}

// Not over a communicator of the group: all its members would have to make that, and only two of them are here.
static bool begin_pair(const byoc_collective_t *c, int bytes, MPI_Request *request) {
  const int other = c->first + c->root * c->stride;
  if (c->kind == BYOC_SEND) (void)MPI_Isend(c->send, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, request);
  if (c->kind == BYOC_RECEIVE) (void)MPI_Irecv(c->receive, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, request);
  return c->kind == BYOC_SEND || c->kind == BYOC_RECEIVE;
}

static bool reduces(const byoc_collective_t *c) {
  return c->kind == BYOC_REDUCE || c->kind == BYOC_ALL_REDUCE || c->kind == BYOC_REDUCE_SCATTER;
}

static int32_t position_of(const state_t *state, const byoc_collective_t *c) {
  return c->stride > 0 ? (state->communicator.rank - c->first) / c->stride : 0;
}

static int32_t begin_in_group(state_t *state, const byoc_collective_t *c, MPI_Comm comm, uint64_t size) {
  const int bytes = (int)(c->count * size);
  const int32_t own = position_of(state, c);
  MPI_Request *requests = state->pending.requests;
  switch (c->kind) {
  case BYOC_BROADCAST:
    if (own == c->root && bytes > 0) memcpy(c->receive, c->send, (size_t)bytes);
    (void)MPI_Ibcast(c->receive, bytes, MPI_BYTE, c->root, comm, requests);
    return BYOC_OK;
  case BYOC_GATHER:
    (void)MPI_Igather(c->send, bytes, MPI_BYTE, c->receive, bytes, MPI_BYTE, c->root, comm, requests);
    return BYOC_OK;
  case BYOC_ALL_GATHER:
    (void)MPI_Iallgather(c->send, bytes, MPI_BYTE, c->receive, bytes, MPI_BYTE, comm, requests);
    return BYOC_OK;
  case BYOC_SCATTER:
    (void)MPI_Iscatter(c->send, bytes, MPI_BYTE, c->receive, bytes, MPI_BYTE, c->root, comm, requests);
    return BYOC_OK;
  case BYOC_REDUCE:
  case BYOC_ALL_REDUCE:
  case BYOC_REDUCE_SCATTER:
    return begin_reduction(state, c, comm, own, size);
  case BYOC_ALL_TO_ALL:
    (void)MPI_Ialltoall(c->send, bytes, MPI_BYTE, c->receive, bytes, MPI_BYTE, comm, requests);
    return BYOC_OK;
  case BYOC_PERMUTE:
    begin_permutation(c, comm, own, bytes, requests);
    return BYOC_OK;
  default:
    return fail(state, BYOC_UNSUPPORTED, byoc_collective_name(c->kind), "this communicator does not know it");
  }
}

// ---- the table ----

static void forget(state_t *state) {
  free(state->pending.numbers);
  free(state->pending.blocks);
  state->pending = (pending_t){.requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL}};
}

static int32_t begin(void *self, const byoc_collective_t *c) {
  state_t *state = self;
  const uint64_t size = byoc_dtype_bits(c->dtype) / 8;
  MPI_Comm comm = MPI_COMM_NULL;
  forget(state);
  if (state->is_abandoned) return fail(state, BYOC_CANCELLED, byoc_collective_name(c->kind), "this rank has given up");
  if (c->count * size * (uint64_t)c->members > INT_MAX) {
    return fail(state, BYOC_UNSUPPORTED, byoc_collective_name(c->kind),
                "MPI counts bytes in an int, and these are more than 2 GiB");
  }
  if (begin_pair(c, (int)(c->count * size), state->pending.requests)) return BYOC_OK;
  int32_t status = find_group(state, c, &comm);
  if (status == BYOC_OK) status = begin_in_group(state, c, comm, size);
  if (status != BYOC_OK) forget(state);
  return status;
}

static void abandon(void *self) {
  ((state_t *)self)->is_abandoned = true;
}

// Waits for what has begun, or until the run is to end.
static void wait_for(state_t *state, const byoc_collective_t *c) {
  MPI_Status statuses[2];
  const bool may_end =
      c->struct_size >= offsetof(byoc_collective_t, waiter) + sizeof(c->waiter) && c->is_ending != NULL;
  int is_there = 0;
  if (!may_end) (void)MPI_Waitall(2, state->pending.requests, statuses);
  while (may_end && !is_there) {
    (void)MPI_Testall(2, state->pending.requests, &is_there, statuses);
    if (is_there || c->is_ending(c->waiter) == 0) continue;
    (void)fprintf(stderr, "byoc: the run of rank %d is to end while it waits for others, which ends all ranks\n",
                  (int)state->communicator.rank);
    (void)MPI_Abort(MPI_COMM_WORLD, 1);
  }
}

static int32_t end(void *self, const byoc_collective_t *c) {
  state_t *state = self;
  MPI_Comm comm = MPI_COMM_NULL;
  int32_t status = BYOC_OK;
  wait_for(state, c);
  if (reduces(c)) status = find_group(state, c, &comm);
  if (reduces(c) && status == BYOC_OK) {
    status = end_reduction(state, c, comm, position_of(state, c), byoc_dtype_bits(c->dtype) / 8);
  }
  forget(state);
  return status;
}

static int32_t run(void *self, const byoc_collective_t *c) {
  const int32_t status = begin(self, c);
  return status == BYOC_OK ? end(self, c) : status;
}

static const char *last_error(void *self) {
  const state_t *state = self;
  return state->error;
}

int32_t byoc_communicator_open(const byoc_communicator_t **out_communicator, char *message, uint64_t size);
void byoc_communicator_close(const byoc_communicator_t *communicator);

int32_t byoc_communicator_open(const byoc_communicator_t **out_communicator, char *message, uint64_t size) {
  static state_t state;
  int is_there = 0, rank = 0, count = 1;
  *out_communicator = NULL;
  (void)MPI_Initialized(&is_there);
  if (!is_there && MPI_Init(NULL, NULL) != MPI_SUCCESS) {
    (void)snprintf(message, size, "MPI cannot start");
    return BYOC_IO;
  }
  (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  (void)MPI_Comm_size(MPI_COMM_WORLD, &count);
  state.communicator = (byoc_communicator_t){.struct_size = sizeof(byoc_communicator_t),
                                             .abi_version = BYOC_COMMUNICATOR_ABI,
                                             .rank = rank,
                                             .size = count,
                                             .self = &state,
                                             .run = run,
                                             .last_error = last_error,
                                             .begin = begin,
                                             .end = end,
                                             .abandon = abandon};
  state.pending.requests[0] = state.pending.requests[1] = MPI_REQUEST_NULL;
  *out_communicator = &state.communicator;
  return BYOC_OK;
}

void byoc_communicator_close(const byoc_communicator_t *communicator) {
  state_t *state = communicator->self;
  for (int g = 0; g < state->group_count; g++) (void)MPI_Comm_free(&state->groups[g].comm);
  free(state->groups);
  state->groups = NULL;
  state->group_count = 0;
  (void)MPI_Finalize();
}

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
// such as the death of a rank, ends the job, as is MPI's custom; mpirun says which rank it was.
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include "byoc/communicator.h"
#include "byoc/communicator_reduce.h"

// MPI's communicators of groups, made at their first use.
typedef struct group_t {
  int32_t first, stride, members;
  MPI_Comm comm;
} group_t;

typedef struct state_t {
  byoc_communicator_t communicator;
  group_t *groups;
  int group_count;
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

// Every rank gets its part of all blocks, combines it, and the parts are gathered.
static int32_t reduce(state_t *state, const byoc_collective_t *c, MPI_Comm comm, int32_t own, uint64_t size) {
  uint64_t begin = 0;
  const uint64_t count = share(c->count, c->members, own, &begin);
  uint8_t *blocks = malloc(count * size * (uint64_t)c->members + 1);
  int *numbers = malloc(4 * (size_t)c->members * sizeof(*numbers));
  int32_t status = BYOC_OUT_OF_MEMORY;
  if (blocks != NULL && numbers != NULL) {
    int *sent = numbers, *sent_at = sent + c->members, *got = sent_at + c->members, *got_at = got + c->members;
    for (int32_t m = 0; m < c->members; m++) {
      uint64_t at = 0;
      sent[m] = (int)(share(c->count, c->members, m, &at) * size);
      sent_at[m] = (int)(at * size);
      got[m] = (int)(count * size);
      got_at[m] = (int)(count * size) * m;
    }
    (void)MPI_Alltoallv(c->send, sent, sent_at, MPI_BYTE, blocks, got, got_at, MPI_BYTE, comm);
    status = combine(state, c, blocks, count, NULL);
    const int mine = (int)(count * size);
    if (c->kind == BYOC_ALL_REDUCE) {
      (void)MPI_Allgatherv(blocks, mine, MPI_BYTE, c->receive, sent, sent_at, MPI_BYTE, comm);
    } else {
      (void)MPI_Gatherv(blocks, mine, MPI_BYTE, c->receive, sent, sent_at, MPI_BYTE, c->root, comm);
    }
  }
  if (status == BYOC_OUT_OF_MEMORY) (void)fail(state, status, byoc_collective_name(c->kind), "out of memory");
  free(numbers);
  free(blocks);
  return status;
}

static int32_t reduce_scatter(state_t *state, const byoc_collective_t *c, MPI_Comm comm, int bytes) {
  uint8_t *blocks = malloc((uint64_t)bytes * (uint64_t)c->members + 1);
  if (blocks == NULL) return fail(state, BYOC_OUT_OF_MEMORY, "reduce_scatter", "out of memory");
  (void)MPI_Alltoall(c->send, bytes, MPI_BYTE, blocks, bytes, MPI_BYTE, comm);
  const int32_t status = combine(state, c, blocks, c->count, c->receive);
  free(blocks);
  return status;
}

static void permute(const byoc_collective_t *c, MPI_Comm comm, int32_t own, int bytes) {
  MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  MPI_Status statuses[2];
  for (int32_t m = 0; m < c->members; m++) {
    if (c->targets[m] == own) (void)MPI_Irecv(c->receive, bytes, MPI_BYTE, m, 0, comm, &requests[0]);
  }
  if (c->targets[own] >= 0) (void)MPI_Isend(c->send, bytes, MPI_BYTE, c->targets[own], 0, comm, &requests[1]);
  (void)MPI_Waitall(2, requests, statuses);
}

// Not over a communicator of the group: all its members would have to make that, and only two of them are here.
static void send_or_receive(const byoc_collective_t *c, int bytes) {
  const int other = c->first + c->root * c->stride;
  if (c->kind == BYOC_SEND) (void)MPI_Send(c->send, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD);
  if (c->kind == BYOC_RECEIVE) {
    (void)MPI_Recv(c->receive, bytes, MPI_BYTE, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

static int32_t run(void *self, const byoc_collective_t *c) {
  state_t *state = self;
  const char *name = byoc_collective_name(c->kind);
  const uint64_t size = byoc_dtype_bits(c->dtype) / 8;
  const int32_t own = c->stride > 0 ? (state->communicator.rank - c->first) / c->stride : 0;
  MPI_Comm comm = MPI_COMM_NULL;
  if (c->count * size * (uint64_t)c->members > INT_MAX) {
    return fail(state, BYOC_UNSUPPORTED, name, "MPI counts bytes in an int, and these are more than 2 GiB");
  }
  const int bytes = (int)(c->count * size);
  if (c->kind == BYOC_SEND || c->kind == BYOC_RECEIVE) {
    send_or_receive(c, bytes);
    return BYOC_OK;
  }
  const int32_t status = find_group(state, c, &comm);
  if (status != BYOC_OK) return status;
  switch (c->kind) {
  case BYOC_BROADCAST:
    if (own == c->root && bytes > 0) memcpy(c->receive, c->send, (size_t)bytes);
    (void)MPI_Bcast(c->receive, bytes, MPI_BYTE, c->root, comm);
    return BYOC_OK;
  case BYOC_GATHER:
    (void)MPI_Gather(c->send, bytes, MPI_BYTE, c->receive, bytes, MPI_BYTE, c->root, comm);
    return BYOC_OK;
  case BYOC_ALL_GATHER:
    (void)MPI_Allgather(c->send, bytes, MPI_BYTE, c->receive, bytes, MPI_BYTE, comm);
    return BYOC_OK;
  case BYOC_SCATTER:
    (void)MPI_Scatter(c->send, bytes, MPI_BYTE, c->receive, bytes, MPI_BYTE, c->root, comm);
    return BYOC_OK;
  case BYOC_REDUCE:
  case BYOC_ALL_REDUCE:
    return reduce(state, c, comm, own, size);
  case BYOC_REDUCE_SCATTER:
    return reduce_scatter(state, c, comm, bytes);
  case BYOC_ALL_TO_ALL:
    (void)MPI_Alltoall(c->send, bytes, MPI_BYTE, c->receive, bytes, MPI_BYTE, comm);
    return BYOC_OK;
  case BYOC_PERMUTE:
    permute(c, comm, own, bytes);
    return BYOC_OK;
  default:
    return fail(state, BYOC_UNSUPPORTED, name, "this communicator does not know it");
  }
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
                                             .last_error = last_error};
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

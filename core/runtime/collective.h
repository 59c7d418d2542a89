// SPDX-License-Identifier: Apache-2.0
// Collectives of a host program: finds the group of this rank and the size of a block, and calls the communicator of
// the context (byoc/communicator.h).
#ifndef BYOC_CORE_RUNTIME_COLLECTIVE_H_
#define BYOC_CORE_RUNTIME_COLLECTIVE_H_

#include <stdint.h>

#include "byoc/call.h"
#include "byoc/communicator.h"

// A collective may begin in one instruction and end in another one, which has the same tensors.
typedef enum byoc_collective_phase_t {
  BYOC_COLLECTIVE_WHOLE,
  BYOC_COLLECTIVE_BEGINS,
  BYOC_COLLECTIVE_ENDS,
} byoc_collective_phase_t;

// The collective of an instruction. Ranks are numbered along the axes of a mesh, the last axis fastest; the groups of
// an axis are the ranks that differ in it only: `members` of them, `stride` apart.
typedef struct byoc_collective_call_t {
  uint32_t kind, reduction; // byoc_collective_kind_t, byoc_reduction_t
  int32_t members, stride;  // members 0: all ranks
  int32_t root;             // where the kind has one: a member
  uint32_t phase;           // byoc_collective_phase_t
  const int32_t *targets;   // PERMUTE: one for each member
} byoc_collective_call_t;

// Does the kind name one member, or combine elements?
static inline int byoc_collective_has_root(uint32_t kind) {
  return kind == BYOC_BROADCAST || kind == BYOC_GATHER || kind == BYOC_SCATTER || kind == BYOC_REDUCE ||
         kind == BYOC_SEND || kind == BYOC_RECEIVE;
}
static inline int byoc_collective_reduces(uint32_t kind) {
  return kind == BYOC_REDUCE || kind == BYOC_ALL_REDUCE || kind == BYOC_REDUCE_SCATTER;
}
// The number of blocks in an operand and in a result: 1, or `members`.
static inline int32_t byoc_collective_sent_blocks(uint32_t kind, int32_t members) {
  return kind == BYOC_SCATTER || kind == BYOC_REDUCE_SCATTER || kind == BYOC_ALL_TO_ALL ? members : 1;
}
static inline int32_t byoc_collective_received_blocks(uint32_t kind, int32_t members) {
  return kind == BYOC_GATHER || kind == BYOC_ALL_GATHER || kind == BYOC_ALL_TO_ALL ? members : 1;
}

// Runs the collective on the call's tensors: an operand (none for RECEIVE) and a result (none for SEND). A result that
// this rank does not receive becomes zeros. Without a communicator the program has one rank. BYOC_INVALID_ARGUMENT if
// the mesh does not fit the ranks or the tensors do not fit each other; otherwise the communicator's status with its
// message.
int32_t byoc_collective_call(const byoc_collective_call_t *what, const byoc_call_t *call);

// The collectives of a context. It must not move in memory.
typedef struct byoc_collectives_t {
  byoc_communicator_t communicator;     // for byoc_runtime_t; it forwards requests to `transport`
  const byoc_communicator_t *transport; // the caller's
  byoc_collective_t begun;              // the collective that the transport has begun and not ended
  int32_t has_begun;
} byoc_collectives_t;

// Does the communicator fit a program for that many ranks (0: any number), of which this is `rank`? BYOC_OK, or
// BYOC_INVALID_ARGUMENT with the reason, cut at `size`. *out_communicator is for calls; NULL where there is none.
int32_t byoc_collectives_init(byoc_collectives_t *collectives, const byoc_communicator_t *transport,
                              uint32_t rank_count, int32_t rank, const byoc_communicator_t **out_communicator,
                              char *message, size_t size);
// After a run that has failed: waits for the collective that has begun, because the transport may use its tensors.
void byoc_collectives_settle(byoc_collectives_t *collectives);
// Informs the other ranks that this one takes part in no more collectives, if the transport can do that.
void byoc_collectives_abandon(byoc_collectives_t *collectives);
// If there are several ranks, compares their hashes of the inputs of the build, by one collective. BYOC_OK;
// BYOC_INVALID_ARGUMENT if they differ, with the same message on all ranks; BYOC_OUT_OF_MEMORY; or the status of the
// transport.
int32_t byoc_collectives_compare_builds(byoc_collectives_t *collectives, uint64_t build, char *message, size_t size);

#endif // BYOC_CORE_RUNTIME_COLLECTIVE_H_

// SPDX-License-Identifier: Apache-2.0
// byoc/communicator.h - the transport between the ranks of one model, which the caller of an artifact provides.
//
// Example:
//   const byoc_communicator_t *communicator = my_communicator();           // one for each rank, with rank and size
//   byoc_context_options_t options = {.struct_size = sizeof(options), .communicator = communicator};
//   if (model->create(&options, &context) != BYOC_OK) fprintf(stderr, "%s\n", model->last_error(NULL));
//
// A rank is one process of several that run one program on shards of its tensors. An artifact that was built for
// several ranks (byoc build --shard) exchanges data by collectives: its contexts need a communicator. Transports and
// their libraries (MPI, NCCL) are the caller's choice, as thread pools are. Two come with byoc: one over processes of
// one machine, which `byoc run --ranks` uses, and one over MPI, as a source file that is compiled against the MPI at
// hand (share/byoc/communicators/mpi.c).
//
// Order: all ranks of a group run the same collectives in the same order. A communicator that finds a difference fails
// with a message that names the rank and both collectives.
//
// Reductions combine the ranks' elements in the order of the ranks, ((x0 + x1) + x2) + ..., so that the result is the
// same, bit for bit, on all ranks and in each run (byoc/communicator_reduce.h). f16 and bf16 are rounded at each step.
//
// A send may return before or after the other has received: two ranks that send to each other first, and receive then,
// may wait for each other. A permutation does not.
//
// Builds: `create` runs an all_gather of one number from each rank, the hash of its build, and refuses ranks of
// different builds. So contexts are part of the common order of collectives, too.
//
// Failures: when a rank has ended, or has left its communicator, every collective of the others that waits for it
// fails within five seconds, with BYOC_IO and a message that names the rank; or the transport ends all ranks, as MPI
// does. After any failure a communicator stays failed, because the state of the other ranks is not known.
//
// Threads: one thread at a time uses a communicator; which one may change from call to call. Contexts of one process
// that share a communicator must therefore run one after the other, in the same order on all ranks.
#ifndef BYOC_COMMUNICATOR_H_
#define BYOC_COMMUNICATOR_H_

#include <stdint.h>

#include "byoc/dtype.h"
#include "byoc/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define BYOC_COMMUNICATOR_ABI 1

// X(NAME, number, "text"): n is the number of ranks in the group, a block `count` elements. Blocks lie in the order of
// the group's members.
#define BYOC_COLLECTIVE_LIST(X)                                                                                        \
  X(BROADCAST, 0, "broadcast")           /* root sends a block; all receive it */                                      \
  X(GATHER, 1, "gather")                 /* all send a block; root receives n blocks */                                \
  X(ALL_GATHER, 2, "all_gather")         /* all send a block; all receive n blocks */                                  \
  X(SCATTER, 3, "scatter")               /* root sends n blocks; all receive their own one */                          \
  X(REDUCE, 4, "reduce")                 /* all send a block; root receives their reduction */                         \
  X(ALL_REDUCE, 5, "all_reduce")         /* all send a block; all receive their reduction */                           \
  X(REDUCE_SCATTER, 6, "reduce_scatter") /* all send n blocks; all receive the reduction of their own one */           \
  X(ALL_TO_ALL, 7, "all_to_all")         /* all send n blocks, one for each member, and receive one from each */       \
  X(SEND, 8, "send")        /* a block goes to the member `root`, which receives it; no other takes part */            \
  X(RECEIVE, 9, "receive")  /* the same, seen from the one that receives: `root` is the sender */                      \
  X(PERMUTE, 10, "permute") /* the block of member i goes to member targets[i], or nowhere if that is -1 */

#define BYOC_COLLECTIVE_ENUM(NAME, number, text) BYOC_##NAME = number,
typedef enum byoc_collective_kind_t {
  BYOC_COLLECTIVE_LIST(BYOC_COLLECTIVE_ENUM) BYOC_COLLECTIVE_COUNT
} byoc_collective_kind_t;
#undef BYOC_COLLECTIVE_ENUM

// X(NAME, number, "text"): of numbers; bools are combined by MIN and MAX.
#define BYOC_REDUCTION_LIST(X)                                                                                         \
  X(SUM, 0, "sum")                                                                                                     \
  X(PRODUCT, 1, "product")                                                                                             \
  X(MIN, 2, "min")                                                                                                     \
  X(MAX, 3, "max")

#define BYOC_REDUCTION_ENUM(NAME, number, text) BYOC_REDUCE_##NAME = number,
typedef enum byoc_reduction_t { BYOC_REDUCTION_LIST(BYOC_REDUCTION_ENUM) BYOC_REDUCTION_COUNT } byoc_reduction_t;
#undef BYOC_REDUCTION_ENUM

static inline const char *byoc_collective_name(uint32_t kind) {
  switch (kind) {
#define BYOC_COLLECTIVE_CASE(NAME, number, text)                                                                       \
  case number:                                                                                                         \
    return text;
    BYOC_COLLECTIVE_LIST(BYOC_COLLECTIVE_CASE)
#undef BYOC_COLLECTIVE_CASE
  default:
    return "none";
  }
}

static inline const char *byoc_reduction_name(uint32_t reduction) {
  switch (reduction) {
#define BYOC_REDUCTION_CASE(NAME, number, text)                                                                        \
  case number:                                                                                                         \
    return text;
    BYOC_REDUCTION_LIST(BYOC_REDUCTION_CASE)
#undef BYOC_REDUCTION_CASE
  default:
    return "none";
  }
}

// One collective, as one rank sees it. `send` and `receive` share no bytes.
typedef struct byoc_collective_t {
  uint32_t struct_size; // sizeof(byoc_collective_t) of the artifact
  uint32_t kind;        // byoc_collective_kind_t
  uint32_t dtype;       // BYOC_DTYPE_*, of whole bytes; no strings
  uint32_t reduction;   // byoc_reduction_t; 0 where nothing is reduced
  uint64_t count;       // elements of a block; may be 0
  // The group: ranks first, first + stride, ..., `members` of them. The calling rank is one of them.
  int32_t first, stride, members;
  int32_t root;           // a member, from 0; 0 where there is none
  const int32_t *targets; // PERMUTE: one for each member; no member is the target of two
  const void *send;       // the data that this rank sends; NULL if it sends nothing
  // Memory for the data that this rank receives; NULL if it receives nothing. PERMUTE does not change it on a member
  // that is no target.
  void *receive;
  // Called while the communicator waits, on any thread: returns 1 if the run must end (byoc_runtime_t.is_ending); the
  // collective then fails with BYOC_CANCELLED. `waiter` is its argument. NULL: the run has no limit. Since minor 5.
  int32_t (*is_ending)(void *waiter);
  void *waiter;
} byoc_collective_t;

typedef struct byoc_communicator_t {
  uint32_t struct_size; // sizeof(byoc_communicator_t) of its provider
  uint32_t abi_version; // BYOC_COMMUNICATOR_ABI
  int32_t rank, size;   // this rank, from 0, and the number of ranks
  void *self;           // first argument of the functions below
  // Runs a collective and returns when this rank has received its data. BYOC_OK; BYOC_IO if a rank has ended or the
  // transport fails; BYOC_INVALID_DATA if the ranks run different collectives; BYOC_UNSUPPORTED.
  int32_t (*run)(void *self, const byoc_collective_t *collective);
  // The message of the last failure. Never NULL; lives until the next call.
  const char *(*last_error)(void *self);
  // A collective in two steps: `begin` sends as much as possible without a wait for the others' data, `end` waits until
  // all data has arrived. In between the communicator may continue, by a thread of its own or by its transport. `send`,
  // `receive` and `targets` must not change, and nothing else runs on the communicator. An artifact ends each
  // collective that has begun, even if its run fails. Both may be NULL: then the artifact calls `run` instead of `end`.
  int32_t (*begin)(void *self, const byoc_collective_t *collective);
  int32_t (*end)(void *self, const byoc_collective_t *collective);
  // Ends the part of this rank: its run was ended early (byoc_context_options_t.timeout_ms), or its context cannot be
  // made. The communicator fails from now on, and collectives of others that wait for this rank fail as if it had
  // ended. A collective that has begun may still be ended. NULL: the others wait until this rank's process ends. Since
  // minor 5.
  void (*abandon)(void *self);
} byoc_communicator_t;

// `byoc run --communicator FILE.so` calls this function of a user's shared object once in every rank: *out_communicator
// lives until the process ends. `message` gets the reason of a failure, cut at `size`.
#define BYOC_COMMUNICATOR_ENTRY "byoc_communicator_open"
typedef int32_t (*byoc_communicator_entry_t)(const byoc_communicator_t **out_communicator, char *message,
                                             uint64_t size);
// The same file may export this function, which is called before a rank ends, unless it has failed.
#define BYOC_COMMUNICATOR_EXIT "byoc_communicator_close"
typedef void (*byoc_communicator_exit_t)(const byoc_communicator_t *communicator);

#ifdef __cplusplus
}
#endif
#endif // BYOC_COMMUNICATOR_H_

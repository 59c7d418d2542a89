// SPDX-License-Identifier: Apache-2.0
// Which instructions of a host program have ended when another one runs: the happens-before of queues and events.
//
// Example:
//   static byoc_status_t meet(void *self, byoc_host_order_t *order, const byoc_host_run_t *run) {
//     size_t at = 0;
//     for (const byoc_host_run_t *open; (open = byoc_host_order_next(order, &at)) != NULL;) {
//       if (conflict(open, run)) return BYOC_INVALID_DATA; // `open` may still be running
//     }
//     return BYOC_OK;
//   }
//
//   byoc_status_t find_races(const byoc_host_program_t *program, byoc_diag_t *diag) {
//     const byoc_host_watch_t watch = {.meet = meet};
//     return byoc_host_walk_order(program, &watch, diag);
//   }
//
// The host does its own instructions one by one. Commands of one queue run one by one, in the order in which the host
// handed them over, and begin behind all that the host has done until then. An event stands for the last command that
// signalled it: waiting for it is waiting for that command and for all that ended before it. All other instructions may
// run at the same time.
//
// The walk takes the instructions in the order of the host. Loops whose iterations can be counted are walked iteration
// by iteration, as long as that is not too much. Of other loops all iterations are taken together, so that the result
// holds for any number of iterations, and for both cases of a branch.
#ifndef BYOC_CORE_HOSTIR_VERIFY_HAPPENS_BEFORE_H_
#define BYOC_CORE_HOSTIR_VERIFY_HAPPENS_BEFORE_H_

#include "core/hostir/program/program.h"
#include "core/hostir/verify/verify_bytes.h"

typedef struct byoc_host_order_t byoc_host_order_t;

// Bytes that an instruction reads or writes.
typedef struct byoc_host_access_t {
  // Equal for accesses that may share bytes: the memory if it is planned, else a buffer and all that it may share with.
  uint32_t place;
  byoc_byte_range_t bytes;    // in that place. A value counts as one byte, and so does an allocation of a memory apart
  byoc_host_buffer_t *buffer; // as the instruction names it
  bool is_write;
} byoc_host_access_t;

// An instruction that has run, or is about to: once, or in any iteration of loops that are not walked iteration by
// iteration.
typedef struct byoc_host_run_t {
  byoc_host_instruction_t *instruction;
  size_t number;                            // of the instruction in the order of the text, from 1 on
  uint32_t element;                         // of its queue, if that is a set
  BYOC_VECTOR(byoc_host_access_t) accesses; // each in one entry, however often it ran
} byoc_host_run_t;

typedef struct byoc_host_watch_t {
  void *self;
  // Optional. An instruction is about to touch memory that commands touch, too.
  byoc_status_t (*meet)(void *self, byoc_host_order_t *order, const byoc_host_run_t *run);
  bool meets_all; // also of instructions that touch other memory
  bool assumes;   // `meet` calls byoc_host_order_assume
  // Optional. An instruction is about to wait for waits.data[index]; `adds` is false if all that it waits for has ended
  // before anyway, or will have by its other waits.
  byoc_status_t (*wait)(void *self, byoc_host_instruction_t *instruction, size_t index, bool adds);
} byoc_host_watch_t;

// Returns the status of the watch; BYOC_INTERNAL if an element of a set is named by a value that only the run knows. A
// program without queues is not walked: all its instructions are in order.
byoc_status_t byoc_host_walk_order(const byoc_host_program_t *program, const byoc_host_watch_t *watch,
                                   byoc_diag_t *diag);

// ---- for `meet` ----

// The earlier ones that may still be running, in no particular order; NULL behind the last one. `*position` begins
// with 0.
const byoc_host_run_t *byoc_host_order_next(const byoc_host_order_t *order, size_t *position);
// Assumes that an earlier one, and those that ended before it, have ended when the instruction runs.
void byoc_host_order_assume(byoc_host_order_t *order, const byoc_host_run_t *earlier);
// Is the value of the dimension known here? For the element of a set, modulo `count`; 0: its value itself.
bool byoc_host_order_value(byoc_host_order_t *order, byoc_dim_t dim, uint32_t count, int64_t *out_value);
// Two accesses of the same bytes of which at least one writes: *out_first is of `a`, *out_second of `b`. False: none.
bool byoc_host_runs_conflict(const byoc_host_run_t *a, const byoc_host_run_t *b, const byoc_host_access_t **out_first,
                             const byoc_host_access_t **out_second);

#endif // BYOC_CORE_HOSTIR_VERIFY_HAPPENS_BEFORE_H_

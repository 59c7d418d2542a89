// SPDX-License-Identifier: Apache-2.0
// The state of the walk of happens_before.h, for its files. Internal to core/hostir.
#ifndef BYOC_CORE_HOSTIR_VERIFY_HAPPENS_BEFORE_INTERNAL_H_
#define BYOC_CORE_HOSTIR_VERIFY_HAPPENS_BEFORE_INTERNAL_H_

#include "core/hostir/program/ranges.h"
#include "core/hostir/verify/happens_before.h"

typedef struct byoc_host_order_site_t {
  byoc_host_run_t run;
  size_t index;        // of its bit in all rows
  const uint64_t *end; // its bits when it had ended, with those of all that came later; if the watch may assume that
  size_t end_words;
  struct byoc_host_order_site_t *next; // of the same instruction, on other elements of its queue
} byoc_host_order_site_t;

// The known part of a symbol's value: nothing, the value itself, or the value modulo the period.
typedef enum byoc_host_order_known_t {
  BYOC_HOST_ORDER_UNKNOWN,
  BYOC_HOST_ORDER_VALUE,
  BYOC_HOST_ORDER_RESIDUE,
} byoc_host_order_known_t;

// Rows behind those of the host, the queues and the events: the instructions that may run beside the present one, and
// scratch.
enum { BYOC_HOST_ORDER_OPEN, BYOC_HOST_ORDER_OTHERS, BYOC_HOST_ORDER_EXTRA_ROWS };

struct byoc_host_order_t {
  const byoc_host_program_t *program;
  const byoc_host_watch_t *watch;
  byoc_diag_t *diag;
  byoc_allocator_t allocator;
  byoc_arena_t arena;
  const byoc_host_instruction_t *at; // and its number
  size_t number;
  // The rows, each of `words` words: the host, the elements of queues, those of events, and the extra rows.
  uint64_t *rows;
  size_t row_count, words;         // without the extra rows
  size_t *queue_rows, *event_rows; // by index: the first element's row
  BYOC_VECTOR(byoc_host_order_site_t *) sites;
  size_t run_count;
  bool is_exact;                            // iterations are counted
  uint64_t budget;                          // of instructions in iterations that are counted
  byoc_host_order_site_t **repeated;        // by number of an instruction: its sites where iterations are not counted
  BYOC_VECTOR(byoc_host_access_t) accesses; // of the present instruction
  const uint32_t *shared;                   // shared.h
  bool *is_commanded;                       // by place: commands touch it
  byoc_host_ranges_t ranges;
  byoc_host_order_known_t *known; // by symbol
  int64_t *values;
  uint32_t period; // a multiple of the counts of all sets, or 1
};

// Prepares the walk. False if out of memory.
bool byoc_host_order_start(byoc_host_order_t *order);
// Stores in `accesses` the instruction's accesses to memory that commands touch. False if out of memory.
bool byoc_host_order_find_accesses(byoc_host_order_t *order, const byoc_host_instruction_t *instruction);

#endif // BYOC_CORE_HOSTIR_VERIFY_HAPPENS_BEFORE_INTERNAL_H_

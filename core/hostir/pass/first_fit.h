// SPDX-License-Identifier: Apache-2.0
// First fit over lifetimes: the lowest offset where a buffer overlaps none of those placed before it that live at the
// same time. Internal to core/hostir.
//
// Example:
//   byoc_first_fit_t fit;
//   bool ok = byoc_first_fit_init(&fit, instruction_count, buffer_count, arena); // false: out of memory
//   if (ok) byoc_first_fit_clear(&fit);
//   ok = ok && byoc_first_fit_place(&fit, &(byoc_lifetime_t){begin, end, size_bytes}, &offset_bytes);
//
// Work grows with the number of buffers that live at the same time, not with the number of all buffers.
#ifndef BYOC_CORE_HOSTIR_PASS_FIRST_FIT_H_
#define BYOC_CORE_HOSTIR_PASS_FIRST_FIT_H_

#include "core/base/arena.h"
#include "core/base/vector.h"

typedef struct byoc_lifetime_t {
  uint32_t begin, end; // instruction numbers: alive in [begin, end); no two lifetimes begin at the same one
  uint64_t size_bytes;
} byoc_lifetime_t;

typedef struct byoc_first_fit_placed_t {
  byoc_lifetime_t life;
  uint64_t offset_bytes;
} byoc_first_fit_placed_t;

// One entry of a list of placed buffers.
typedef struct byoc_first_fit_link_t {
  uint32_t placed, next; // index into `placed`; index into `links` plus 1, 0 at the end
} byoc_first_fit_link_t;

typedef struct byoc_first_fit_t {
  byoc_allocator_t arena_allocator;
  byoc_first_fit_placed_t *placed;
  uint32_t placed_count;
  // By time: which buffer begins at each instruction (plus 1), and a segment tree of the lifetimes, whose node `t`
  // lists those that cover all of its range.
  uint32_t time_count; // a power of two
  uint32_t *begins, *heads;
  BYOC_VECTOR(byoc_first_fit_link_t) links;
  // By offset: the first `ordered_count` of the placed buffers, for buffers that meet very many others.
  uint32_t *order, ordered_count;
  uint32_t *conflicts; // scratch
  uint64_t work;       // placed buffers that were looked at, since init
} byoc_first_fit_t;

// Room for `buffer_count` lifetimes over instructions numbered below `time_count`. False if out of memory.
bool byoc_first_fit_init(byoc_first_fit_t *fit, uint32_t time_count, uint32_t buffer_count, byoc_arena_t *arena);
// Forgets all placed buffers.
void byoc_first_fit_clear(byoc_first_fit_t *fit);
// Places one more. False if out of memory.
bool byoc_first_fit_place(byoc_first_fit_t *fit, const byoc_lifetime_t *life, uint64_t *out_offset_bytes);

#endif // BYOC_CORE_HOSTIR_PASS_FIRST_FIT_H_

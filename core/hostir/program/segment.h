// SPDX-License-Identifier: Apache-2.0
// Splits host programs into segments: groups of instructions that a caller wants to treat as one, such as the commands
// of one queue.
//
// Example:
//   byoc_host_segments_t segments;
//   byoc_status_t status = byoc_host_segment(program, &options, allocator, diag, &segments);
//   for (size_t k = 0; k < segments.count; ++k) run(&segments.data[k]); // once those of its `needs` are done
//   byoc_host_segments_deinit(&segments);
//
// Each region is split on its own: an instruction with regions stands in one segment of the region that it is in, and
// those nested in it form segments of their regions. The segments of a region
//   - hold each of its instructions once,
//   - depend on each other without a cycle (core/hostir/program/dependence.h), so that in the given order they have the
//     results of the program,
//   - are maximal: two neighbours that the caller would merge are apart only if a third segment depends on the one and
//     the other depends on it.
// Equal programs and answers give equal segments.
#ifndef BYOC_CORE_HOSTIR_PROGRAM_SEGMENT_H_
#define BYOC_CORE_HOSTIR_PROGRAM_SEGMENT_H_

#include "core/hostir/program/program.h"

typedef struct byoc_host_segment_t {
  byoc_host_instruction_t **instructions; // of one region, in the order of the program
  size_t count;
} byoc_host_segment_t;

typedef struct byoc_host_segment_options_t {
  // May two segments become one? `a` can run before `b`. It is asked again whenever one of them has grown, must not
  // change the program, and should take constant time: with k segments left and d dependences, it is asked some 2 * d
  // times, and k * k / 2 times more where `apart` is set.
  bool (*should_merge)(void *self, const byoc_host_segment_t *a, const byoc_host_segment_t *b);
  void *self;
  // Neighbours are segments one of which directly depends on the other. If this is set, all pairs are.
  bool apart;
} byoc_host_segment_options_t;

// Segments of one region follow each other in an order that runs; regions are in the order of the text.
typedef struct byoc_host_segments_t {
  byoc_arena_t arena;
  byoc_host_segment_t *data;
  size_t count;
} byoc_host_segments_t;

// Takes nearly linear time in the instructions and their dependences. The instructions stay the program's.
byoc_status_t byoc_host_segment(const byoc_host_program_t *program, const byoc_host_segment_options_t *options,
                                byoc_allocator_t allocator, byoc_diag_t *diag, byoc_host_segments_t *out_segments);
void byoc_host_segments_deinit(byoc_host_segments_t *segments);

// Moves the instructions so that each segment stands together, one segment after the other. Returns how many have
// another one in front of them than before. The program must be as it was when the segments were made.
size_t byoc_host_segments_gather(const byoc_host_segments_t *segments);

#endif // BYOC_CORE_HOSTIR_PROGRAM_SEGMENT_H_

// SPDX-License-Identifier: Apache-2.0
// Outputs that a run may write over an input: a state or a cache is changed in place, and only new bytes are written.
//
//   input  %x : f32[1,12,1024,64]
//   output %y : f32[1,12,1024,64] over %x
//
// The caller gives %y either the bytes of %x, all of them, or bytes of its own; the program is right both ways. So each
// read of a byte of %x comes before the write of that byte of %y. A copy of a byte of %x to its place in %y changes
// nothing, and is left out if the bytes are the same.
#ifndef BYOC_CORE_HOSTIR_VERIFY_IN_PLACE_H_
#define BYOC_CORE_HOSTIR_VERIFY_IN_PLACE_H_

#include "core/hostir/program/program.h"

// An output and the input whose bytes it may get, by their names. A star in both stands for any string, the same in
// both: all outputs whose names fit are paired.
typedef struct byoc_host_pair_t {
  const char *output, *input;
} byoc_host_pair_t;

// Declares pairs and makes the program right for them. Kernels that can work in place do so, and instructions change
// their order. If that is not enough, the output is made elsewhere and copied at the end. The program has no lifetimes
// yet. BYOC_INVALID_ARGUMENT, with the nearest names, if there are no such ports, their types differ, or one of them is
// paired already.
byoc_status_t byoc_host_write_over(byoc_host_program_t *program, const byoc_host_pair_t *pairs, size_t count,
                                   byoc_diag_t *diag);

// The same checks before there is a program, as far as they are possible then.
byoc_status_t byoc_host_check_pairs(const byoc_graph_module_t *module, const byoc_host_pair_t *pairs, size_t count,
                                    byoc_allocator_t allocator, byoc_diag_t *diag);

// An instruction that writes bytes of an output too early, and one that reads them in its input; they may be the same.
typedef struct byoc_host_conflict_t {
  const byoc_host_instruction_t *writer, *reader;
} byoc_host_conflict_t;
// Finds the first one of a pair; out_conflict->reader is NULL if there is none. `as_output` is a local buffer that is
// to be replaced by the output, or NULL.
byoc_status_t byoc_host_find_conflict(const byoc_host_program_t *program, const byoc_host_buffer_t *output,
                                      const byoc_host_buffer_t *as_output, byoc_diag_t *diag,
                                      byoc_host_conflict_t *out_conflict);

// Does the instruction copy bytes of an input to their places in the output that may be written over it?
bool byoc_host_is_kept_copy(const byoc_host_instruction_t *instruction);

// How many bytes a run moves unchanged: by COPY instructions, and in kernels from operands to the same positions of
// results. Copies to, from and on devices do not count. Both cases of a branch count, and all iterations of a loop if
// their number is constant, else one. `in_place`: if every pair is given the same bytes.
uint64_t byoc_host_copied_bytes(const byoc_host_program_t *program, bool in_place);

// How many bytes a run copies from the host to a device, and back; iterations and cases count in the same way.
typedef struct byoc_host_moved_t {
  uint64_t in, out;    // bytes
  uint64_t open_count; // copies of values whose sizes only the run knows, which are not among the bytes
} byoc_host_moved_t;
byoc_host_moved_t byoc_host_moved_bytes(const byoc_host_program_t *program, const byoc_host_device_t *device);

#endif // BYOC_CORE_HOSTIR_VERIFY_IN_PLACE_H_

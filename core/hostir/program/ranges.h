// SPDX-License-Identifier: Apache-2.0
// Bounds that are known before a run: of the symbols of a host program, and of the offsets of moving views.
//
// Example:
//   byoc_host_ranges_t ranges;
//   if (!byoc_host_ranges_init(&ranges, program, arena)) return byoc_diag_out_of_memory(diag);
//   byoc_host_range_t range = byoc_host_range_of(&ranges, view->offset);
#ifndef BYOC_CORE_HOSTIR_PROGRAM_RANGES_H_
#define BYOC_CORE_HOSTIR_PROGRAM_RANGES_H_

#include "core/hostir/program/program.h"

// All values are from `least` to `most`, and multiples of `divisor`.
typedef struct byoc_host_range_t {
  int64_t least, most;
  uint64_t divisor;  // 0: the value is 0. It does not hold where the value saturates
  bool may_saturate; // on the way to the value; then it may be less than the arithmetic says
} byoc_host_range_t;

// A sum of symbols times numbers, and of a number.
#define BYOC_HOST_MOST_TERMS 8
typedef struct byoc_host_linear_t {
  struct {
    uint32_t symbol;
    int64_t factor;              // not 0
  } terms[BYOC_HOST_MOST_TERMS]; // by symbol
  uint32_t term_count;
  int64_t constant;
} byoc_host_linear_t;

typedef struct byoc_host_ranges_t {
  const byoc_host_program_t *program;
  byoc_host_range_t *symbols;
  uint32_t *definition_counts;     // by symbol
  const byoc_host_linear_t **lets; // by symbol: the sum that a LET computes; NULL: no LET, or another expression
} byoc_host_ranges_t;

bool byoc_host_ranges_init(byoc_host_ranges_t *ranges, const byoc_host_program_t *program, byoc_arena_t *arena);
byoc_host_range_t byoc_host_range_of(const byoc_host_ranges_t *ranges, byoc_dim_t dim);
// The offset of a buffer in its base.
byoc_host_range_t byoc_host_range_of_offset(const byoc_host_ranges_t *ranges, const byoc_host_buffer_t *buffer);
// Does it stay in its base, whatever the symbols are?
bool byoc_host_stays_inside(const byoc_host_ranges_t *ranges, const byoc_host_buffer_t *view);
// How often an instruction runs at most, if it does: the iterations of the loops around it. Those that are not constant
// count as one.
uint64_t byoc_host_constant_iterations_of(const byoc_host_instruction_t *instruction);
// The number of iterations of a loop that counts; -1 if it is not known.
int64_t byoc_host_iterations_of(const byoc_host_ranges_t *ranges, const byoc_host_count_t *count);

// False if the dimension is no such sum, may saturate, or needs a symbol that gets its value in several places. The
// symbols of LETs are replaced by their sums, where a LET computes one.
bool byoc_host_linear_of(const byoc_host_ranges_t *ranges, byoc_dim_t dim, byoc_host_linear_t *out_linear);
bool byoc_host_linear_of_offset(const byoc_host_ranges_t *ranges, const byoc_host_buffer_t *buffer,
                                byoc_host_linear_t *out_linear);
// Do both move alike, whatever their constants are?
bool byoc_host_linear_same_terms(const byoc_host_linear_t *a, const byoc_host_linear_t *b);
// Takes the term of a symbol out; 0 if there is none.
int64_t byoc_host_linear_take(byoc_host_linear_t *linear, uint32_t symbol);

#endif // BYOC_CORE_HOSTIR_PROGRAM_RANGES_H_

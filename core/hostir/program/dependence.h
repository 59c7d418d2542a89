// SPDX-License-Identifier: Apache-2.0
// The dependences between the instructions of a region: pairs whose order must stay.
//
// Example:
//   byoc_host_dependences_t d;
//   if (!byoc_host_find_dependences(program, &program->body, arena, &d)) return byoc_diag_out_of_memory(diag);
//   // d.instructions[k] comes behind those with the numbers d.before[k], for each k < d.count
//
// One comes before another if it writes bytes, a value or a symbol that the other reads or writes, or reads one that
// the other writes. Bytes are those of the workspace if memory is planned, and may be named by views; a view that moves
// may be anywhere in its base. An output that may be written over an input (in_place.h) has the bytes of that input,
// and a value may have the bytes of the values that it is shared with. To begin and to end a life is to write the
// buffer, to check the shape of a value is to write it, too, and a REQUIRE comes before all that follows it. An
// instruction has the accesses of those nested in it. A call is assumed to access its operands, results and workspace
// only.
//
// Every order that keeps these pairs has the same results as the order of the program.
#ifndef BYOC_CORE_HOSTIR_PROGRAM_DEPENDENCE_H_
#define BYOC_CORE_HOSTIR_PROGRAM_DEPENDENCE_H_

#include "core/hostir/program/program.h"

typedef BYOC_VECTOR(uint32_t) byoc_host_numbers_t;

typedef struct byoc_host_dependences_t {
  byoc_host_instruction_t **instructions; // in the order of the region; an index here is an instruction's number
  byoc_host_numbers_t *before;            // for each, those that it directly depends on, ascending
  size_t count;
} byoc_host_dependences_t;

// The result lives in the arena. False if out of memory.
bool byoc_host_find_dependences(const byoc_host_program_t *program, const byoc_host_region_t *region,
                                byoc_arena_t *arena, byoc_host_dependences_t *out_dependences);

#endif // BYOC_CORE_HOSTIR_PROGRAM_DEPENDENCE_H_

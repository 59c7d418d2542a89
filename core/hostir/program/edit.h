// SPDX-License-Identifier: Apache-2.0
// Edits of host programs. All code that makes or changes instructions uses these functions, so that each buffer lists
// its uses, regions stay linked, and counts are right.
//
// Example:
//   byoc_host_instruction_t *copy = byoc_host_instruction_create(program, before, BYOC_HOST_COPY);
//   bool ok = copy != NULL && byoc_host_add_operand(program, copy, from) && byoc_host_add_result(program, copy, to);
//   byoc_host_instruction_erase(program, old); // with everything nested in it
//
// Functions that allocate return NULL or false if out of memory, and then leave the program as it was.
#ifndef BYOC_CORE_HOSTIR_PROGRAM_EDIT_H_
#define BYOC_CORE_HOSTIR_PROGRAM_EDIT_H_

#include "core/hostir/program/program.h"

// ---- instructions ----

// Appends to a region: the program's body, one of an instruction's regions, or one that is not part of the program yet.
byoc_host_instruction_t *byoc_host_instruction_append(byoc_host_program_t *program, byoc_host_region_t *region,
                                                      byoc_host_op_t op);
// Puts a new instruction in front of another one; `before` NULL: at the end of the program's body.
byoc_host_instruction_t *byoc_host_instruction_create(byoc_host_program_t *program, byoc_host_instruction_t *before,
                                                      byoc_host_op_t op);
// Gives an instruction its regions.
bool byoc_host_instruction_add_regions(byoc_host_program_t *program, byoc_host_instruction_t *instruction,
                                       uint32_t count);
// Moves an instruction in front of another one, or to the end of `region` if `before` is NULL. Neither may be inside
// the instruction.
void byoc_host_instruction_move(byoc_host_instruction_t *instruction, byoc_host_region_t *region,
                                byoc_host_instruction_t *before);
// Removes an instruction and all that are nested in it. Buffers stay; those that were parameters of
// erased regions stop being parameters.
void byoc_host_instruction_erase(byoc_host_program_t *program, byoc_host_instruction_t *instruction);
// Puts the instructions of `with`, a region that is not part of the program, in the place of those from `first` to
// `last`, which are erased. `with` is empty then. BYOC_INVALID_ARGUMENT, and nothing happens, unless `last` is `first`
// or stands behind it in the same region.
byoc_status_t byoc_host_replace_range(byoc_host_program_t *program, byoc_host_instruction_t *first,
                                      byoc_host_instruction_t *last, byoc_host_region_t *with, byoc_diag_t *diag);

// ---- operands, results and waits ----

// The buffer of an operand may be NULL.
bool byoc_host_add_operand(byoc_host_program_t *program, byoc_host_instruction_t *instruction,
                           byoc_host_buffer_t *buffer);
bool byoc_host_add_result(byoc_host_program_t *program, byoc_host_instruction_t *instruction,
                          byoc_host_buffer_t *buffer);
bool byoc_host_set_operand(byoc_host_program_t *program, byoc_host_instruction_t *instruction, uint32_t index,
                           byoc_host_buffer_t *buffer);
bool byoc_host_set_result(byoc_host_program_t *program, byoc_host_instruction_t *instruction, uint32_t index,
                          byoc_host_buffer_t *buffer);
bool byoc_host_set_workspace(byoc_host_program_t *program, byoc_host_instruction_t *instruction,
                             byoc_host_buffer_t *buffer);
bool byoc_host_add_parameter(byoc_host_program_t *program, byoc_host_region_t *region, byoc_host_buffer_t *buffer);
// The instruction waits for one more event; `place` says which one of a set.
bool byoc_host_add_wait(byoc_host_program_t *program, byoc_host_instruction_t *instruction,
                        const byoc_host_event_t *event, byoc_dim_t place);
// Every instruction that uses `buffer` uses `by` instead. Views of the buffer are not touched.
bool byoc_host_replace_uses(byoc_host_program_t *program, byoc_host_buffer_t *buffer, byoc_host_buffer_t *by);

// Takes buffers out of the program, those whose index is marked. They have no uses and no views, and are no parameters.
void byoc_host_drop_buffers(byoc_host_program_t *program, const bool *is_dropped);

// Makes a local buffer, or an output, an alias: the bytes of `of` from an offset on, under its own type. Marks may come
// in any order: an alias of `buffer`, made before or after, is one of `of`. All writes to the buffer go there. An
// output, whose memory belongs to the caller, gets a copy at the end; a value shares all of another one, in front of
// its first use. Lifetimes of both are forgotten (core/hostir/lower/lower_program.h places them).
// BYOC_INVALID_ARGUMENT, and nothing happens, for an input, a constant, an alias of itself, one that reaches beyond
// `of` or is on another device, and one that is written where `of` is an input or a constant.
byoc_status_t byoc_host_mark_alias(byoc_host_program_t *program, byoc_host_buffer_t *buffer, byoc_host_buffer_t *of,
                                   uint64_t offset_bytes, byoc_diag_t *diag);

// BYOC_INTERNAL if a use list, a link or a count is wrong; the message names the buffer or instruction.
byoc_status_t byoc_host_check_edits(const byoc_host_program_t *program, byoc_diag_t *diag);

#endif // BYOC_CORE_HOSTIR_PROGRAM_EDIT_H_

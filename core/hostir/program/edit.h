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

// BYOC_INTERNAL if a use list, a link or a count is wrong; the message names the buffer or instruction.
byoc_status_t byoc_host_check_edits(const byoc_host_program_t *program, byoc_diag_t *diag);

#endif // BYOC_CORE_HOSTIR_PROGRAM_EDIT_H_

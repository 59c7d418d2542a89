// SPDX-License-Identifier: Apache-2.0
// The devices, tensors and commands of a host program, as the tables that a context opens (core/runtime/device.h), and
// patches for the parts of commands that change from run to run. The evaluator uses these tables, compose prints them.
#ifndef BYOC_CORE_HOSTIR_PROGRAM_DEVICE_TABLES_H_
#define BYOC_CORE_HOSTIR_PROGRAM_DEVICE_TABLES_H_

#include "core/hostir/program/program.h"
#include "core/runtime/device.h"

typedef enum byoc_host_patch_kind_t {
  BYOC_HOST_PATCH_SOURCE,            // the host's side of a copy is at `buffer`
  BYOC_HOST_PATCH_DESTINATION,       // the same
  BYOC_HOST_PATCH_SOURCE_PLACE,      // the device's side is at offset_bytes + value of `tensor`
  BYOC_HOST_PATCH_DESTINATION_PLACE, // of a copy or a fill
  BYOC_HOST_PATCH_ARGUMENT_PLACE,    // argument `index` is at offset_bytes + value of `tensor`
  BYOC_HOST_PATCH_SOURCE_CELL,       // the device's side is the value `buffer`
  BYOC_HOST_PATCH_DESTINATION_CELL,  // of a copy or a fill
  BYOC_HOST_PATCH_ARGUMENT_CELL,     // argument `index` is at offset_bytes of the value `buffer`
  BYOC_HOST_PATCH_SIZE,              // a copy or a fill is as large as the value `buffer`
  BYOC_HOST_PATCH_LENT_CELL,         // the value `buffer` may be the host's memory instead of a copy of it
  BYOC_HOST_PATCH_ARGUMENT,          // argument `index` is `value`
  BYOC_HOST_PATCH_GRID,              // axis `index` is `value`
  BYOC_HOST_PATCH_BLOCK,
  BYOC_HOST_PATCH_QUEUE, // the one with the number `value`
  BYOC_HOST_PATCH_SIGNAL,
  BYOC_HOST_PATCH_WAIT, // of wait `index`
} byoc_host_patch_kind_t;

// A number or an address that is put into a command before it is handed over.
typedef struct byoc_host_patch_t {
  byoc_host_patch_kind_t kind;
  uint32_t index; // among all arguments or all waits of the program; GRID, BLOCK: the axis
  uint32_t tensor;
  uint64_t offset_bytes;
  byoc_dim_t value; // over the program's symbols
  byoc_host_buffer_t *buffer;
} byoc_host_patch_t;

// The instruction behind a row of tables.commands.
typedef struct byoc_host_command_t {
  const byoc_host_instruction_t *instruction;
  uint32_t first_patch, patch_count;
} byoc_host_command_t;

// The parts of `tables` lie in the vectors.
typedef struct byoc_host_device_tables_t {
  const byoc_host_program_t *program;
  byoc_arena_t *arena;
  byoc_allocator_t allocator; // of the arena
  byoc_device_tables_t tables;
  BYOC_VECTOR(const byoc_runtime_module_t *) drivers; // by device of the tables
  BYOC_VECTOR(byoc_host_command_t) commands;          // by command of the tables
  BYOC_VECTOR(byoc_host_patch_t) patches;
  BYOC_VECTOR(byoc_device_row_t) device_rows;
  BYOC_VECTOR(byoc_device_queue_row_t) queue_rows;
  BYOC_VECTOR(byoc_device_memory_row_t) memory_rows;
  BYOC_VECTOR(byoc_device_tensor_row_t) tensor_rows;
  BYOC_VECTOR(byoc_device_module_row_t) module_rows;
  BYOC_VECTOR(byoc_device_entry_row_t) entry_rows;
  BYOC_VECTOR(byoc_device_argument_row_t) argument_rows;
  BYOC_VECTOR(byoc_device_choice_t) wait_rows;
  BYOC_VECTOR(byoc_device_command_row_t) command_rows;
  BYOC_VECTOR(byoc_device_port_row_t) port_rows;
  BYOC_VECTOR(const char *) steps;
  uint32_t *devices, *queues, *events; // by index in the program: the row, the first of its rows
  byoc_map_t command_indices;          // instruction → row + 1
  byoc_map_t tensor_indices;           // buffer → row + 1
  byoc_map_t lent;                     // values with a patch LENT_CELL
  byoc_map_t handed_out;               // value → the copy that byoc_host_device_tables_handed_out returns
} byoc_host_device_tables_t;

// All tables lie in the arena. A program without devices gets tables without devices. BYOC_NOT_FOUND for a driver, a
// device module or an entry that the program's graph module does not have.
byoc_status_t byoc_host_device_tables_create(const byoc_host_program_t *program, byoc_arena_t *arena, byoc_diag_t *diag,
                                             byoc_host_device_tables_t **out_device_tables);
// The row of an instruction; BYOC_DEVICE_NO_ROW: it is no command.
uint32_t byoc_host_device_tables_command(const byoc_host_device_tables_t *device_tables,
                                         const byoc_host_instruction_t *instruction);
// The row of the memory that a buffer on a device is in; BYOC_DEVICE_NO_ROW: no command uses it.
uint32_t byoc_host_device_tables_memory(const byoc_host_device_tables_t *device_tables,
                                        const byoc_host_buffer_t *buffer);
// May an input lend its bytes to the value? If a run does not lend them, the value gets memory of its own.
bool byoc_host_device_tables_is_lent(const byoc_host_device_tables_t *device_tables, const byoc_host_buffer_t *buffer);
// The copy of a value on a device to one of the host, an output, which may be the same bytes: those of the host's
// value, which is then allocated when the other one is. `buffer` is either of the two; NULL: it is none of such.
const byoc_host_instruction_t *byoc_host_device_tables_handed_out(const byoc_host_device_tables_t *device_tables,
                                                                  const byoc_host_buffer_t *buffer);
// The row of the tensor that a buffer is a view of; BYOC_DEVICE_NO_ROW: no command uses it.
uint32_t byoc_host_device_tables_tensor(const byoc_host_device_tables_t *device_tables,
                                        const byoc_host_buffer_t *buffer);

#endif // BYOC_CORE_HOSTIR_PROGRAM_DEVICE_TABLES_H_

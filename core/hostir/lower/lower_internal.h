// SPDX-License-Identifier: Apache-2.0
// State and functions that the files of lowering share. Internal to core/hostir.
#ifndef BYOC_CORE_HOSTIR_LOWER_LOWER_INTERNAL_H_
#define BYOC_CORE_HOSTIR_LOWER_LOWER_INTERNAL_H_

#include "core/hostir/lower/lower_program.h"
#include "core/hostir/program/edit.h"

typedef struct byoc_host_lowering_t {
  byoc_host_program_t *program;
  byoc_function_t *main;
  byoc_host_region_t *region;         // where instructions are appended
  byoc_map_t buffers;                 // pointer map: value, constant or bound constant → byoc_host_buffer_t *
  byoc_map_t destinations;            // pointer map: value whose bytes lie in an output or a Join → its buffer
  byoc_map_t iterations;              // pointer map: iteration of a Loop → its symbol, plus 1
  byoc_map_t cells;                   // pointer map: storage root whose bytes are in a cell → itself
  byoc_host_instruction_t *of_inputs; // requirements on the inputs' shapes; NULL: none yet
  BYOC_VECTOR(uint32_t) bound;        // symbols that have a value here, the innermost block's last
  byoc_diag_t *diag;
} byoc_host_lowering_t;

// ---- lower_storage.c: where bytes are ----
bool byoc_host_is_c_call(const byoc_node_t *node);
bool byoc_host_is_view(const byoc_node_t *node);
bool byoc_host_is_container(const byoc_node_t *node); // an operator of core/runtime/container.h
bool byoc_host_is_join(const byoc_node_t *node);      // byoc::Join
// The operand whose bytes a call's first result may use; -1: none.
int64_t byoc_host_overwritten_operand(const byoc_node_t *node);
// The operand whose bytes a result shares; NULL if it has its own.
byoc_value_t *byoc_host_aliased_operand(const byoc_value_t *value);
const byoc_value_t *byoc_host_storage_root(const byoc_value_t *value);
// Decides whether the program is dynamic and, if so, which bytes are in cells.
byoc_status_t byoc_host_find_cells(byoc_host_lowering_t *l);
byoc_status_t byoc_host_set_buffer(byoc_host_lowering_t *l, const byoc_value_t *value, byoc_host_buffer_t *buffer);
// The buffer that an operand is read from.
byoc_status_t byoc_host_buffer_of(byoc_host_lowering_t *l, byoc_value_t *value, byoc_host_buffer_t **out_buffer);
// The same as a value: for a constant, the cell that stands for it.
byoc_status_t byoc_host_cell_of(byoc_host_lowering_t *l, byoc_value_t *value, byoc_host_buffer_t **out_buffer);
// A buffer for a node's result: its destination if it has one, else a local buffer.
byoc_status_t byoc_host_make_result(byoc_host_lowering_t *l, byoc_value_t *value, byoc_host_buffer_t **out_buffer);
// The buffer, which is the value's, becomes a cell, where the value lives.
byoc_status_t byoc_host_make_cell(byoc_host_lowering_t *l, byoc_host_buffer_t *buffer, const byoc_value_t *value);
// Lowers a value that shares its operand's bytes: the same buffer under its own type.
byoc_status_t byoc_host_lower_alias(byoc_host_lowering_t *l, byoc_value_t *value, byoc_value_t *operand);
// The constant that a backend bound to one of its functions.
byoc_status_t byoc_host_bound_constant(byoc_host_lowering_t *l, const byoc_runtime_module_t *binding, size_t index,
                                       byoc_host_buffer_t **out_buffer);

// ---- lower_append.c: instructions ----
// Appends to the current region.
byoc_status_t byoc_host_append(byoc_host_lowering_t *l, byoc_host_op_t op, const byoc_node_t *node,
                               byoc_host_instruction_t **out_instruction);
byoc_status_t byoc_host_push(byoc_host_lowering_t *l, byoc_host_instruction_t *i, bool is_result,
                             byoc_host_buffer_t *buffer);
byoc_status_t byoc_host_append_copy(byoc_host_lowering_t *l, byoc_host_op_t op, byoc_host_buffer_t *from,
                                    byoc_host_buffer_t *to);
// The queue that takes the program's commands on the device.
const byoc_host_queue_t *byoc_host_queue_of(const byoc_host_lowering_t *l, const byoc_host_device_t *device);
// Makes the copy a command if one of its buffers is on a device.
void byoc_host_set_queue(const byoc_host_lowering_t *l, byoc_host_instruction_t *copy);

// ---- lower_program.c ----
byoc_status_t byoc_host_lower_block(byoc_host_lowering_t *l, const byoc_block_t *block);

// ---- lower_call.c ----
byoc_status_t byoc_host_lower_kernel_call(byoc_host_lowering_t *l, const byoc_node_t *node);
byoc_status_t byoc_host_lower_extern_call(byoc_host_lowering_t *l, const byoc_node_t *node);
byoc_status_t byoc_host_lower_c_call(byoc_host_lowering_t *l, const byoc_node_t *node);
byoc_status_t byoc_host_lower_check(byoc_host_lowering_t *l, const byoc_node_t *node, const char *symbol);
byoc_status_t byoc_host_lower_question(byoc_host_lowering_t *l, const byoc_node_t *node, const char *symbol);
byoc_status_t byoc_host_lower_text(byoc_host_lowering_t *l, const byoc_node_t *node);

// ---- lower_device.c: nodes on devices ----
bool byoc_host_is_on_device(const byoc_value_t *value);
bool byoc_host_is_at(const byoc_host_buffer_t *buffer, const byoc_virtual_device_t *device);
byoc_status_t byoc_host_put_on_device(byoc_host_lowering_t *l, byoc_host_buffer_t *buffer,
                                      const byoc_virtual_device_t *device);
byoc_status_t byoc_host_lower_launches(byoc_host_lowering_t *l, const byoc_node_t *node,
                                       const byoc_runtime_module_t *binding);
byoc_status_t byoc_host_lower_device_copy(byoc_host_lowering_t *l, const byoc_node_t *node);

// ---- lower_collective.c ----
bool byoc_host_is_collective(const byoc_node_t *node);
byoc_status_t byoc_host_lower_collective(byoc_host_lowering_t *l, const byoc_node_t *node);

// ---- lower_join.c ----
// Gives each Join of a block its buffer, and its operands their parts of it, before the block is lowered.
byoc_status_t byoc_host_place_joins(byoc_host_lowering_t *l, const byoc_block_t *block);
// Copies the operands that are stored elsewhere.
byoc_status_t byoc_host_lower_join(byoc_host_lowering_t *l, const byoc_node_t *node);

// ---- lower_symbol.c: run-time dimensions ----
// Every symbol of a type or dimension must have a value here; `name` is the value's name, for the message.
byoc_status_t byoc_host_check_bound(byoc_host_lowering_t *l, const byoc_type_t *type, const char *name);
byoc_status_t byoc_host_check_dim_bound(byoc_host_lowering_t *l, byoc_dim_t dim, const char *name);
bool byoc_host_dim_is_bound(const byoc_host_lowering_t *l, byoc_dim_t dim);
// Matches a value whose type holds symbols: those that have no value here are bound, everything else is checked.
byoc_status_t byoc_host_match_value(byoc_host_lowering_t *l, byoc_host_buffer_t *buffer, bool binds, bool checks);
byoc_status_t byoc_host_lower_require(byoc_host_lowering_t *l, const byoc_node_t *node);
byoc_status_t byoc_host_lower_bind(byoc_host_lowering_t *l, const byoc_node_t *node);
// The values of a kernel's symbols at a call of it.
byoc_status_t byoc_host_kernel_dims(byoc_host_lowering_t *l, const byoc_node_t *node, byoc_dim_t **out_dims);

// ---- lower_control.c ----
byoc_status_t byoc_host_lower_if(byoc_host_lowering_t *l, const byoc_node_t *node);
byoc_status_t byoc_host_lower_loop(byoc_host_lowering_t *l, const byoc_node_t *node);
byoc_status_t byoc_host_lower_container(byoc_host_lowering_t *l, const byoc_node_t *node);

// ---- lower_static.c, lower_static_loop.c: control flow of static programs ----
// Gives the results of the block their destinations, if a node of this block makes all of their bytes.
byoc_status_t byoc_host_give_destination(byoc_host_lowering_t *l, const byoc_block_t *block, const byoc_value_t *value,
                                         byoc_host_buffer_t *destination);
// Copies the value unless it is there already.
byoc_status_t byoc_host_copy_to(byoc_host_lowering_t *l, byoc_value_t *value, byoc_host_buffer_t *target);
// Buffers for a node's results, in the program's arena.
byoc_status_t byoc_host_make_targets(byoc_host_lowering_t *l, const byoc_node_t *node,
                                     byoc_host_buffer_t ***out_targets);
// Fills the regions of the branch `i` with the two cases, which write the node's results into its targets.
byoc_status_t byoc_host_lower_static_if(byoc_host_lowering_t *l, const byoc_node_t *node, byoc_host_instruction_t *i,
                                        const byoc_block_t *const cases[2]);
byoc_status_t byoc_host_lower_static_loop(byoc_host_lowering_t *l, const byoc_node_t *node);

#endif // BYOC_CORE_HOSTIR_LOWER_LOWER_INTERNAL_H_

// SPDX-License-Identifier: Apache-2.0
// The compiler from loop statements to register code, as its files share it. Internal to core/kernel.
#ifndef BYOC_CORE_KERNEL_BYTECODE_COMPILER_H_
#define BYOC_CORE_KERNEL_BYTECODE_COMPILER_H_

#include "core/base/map.h"
#include "core/kernel/bytecode.h"

// The place of a variable's value. A vector variable that grows evenly over the lanes (value = base + step * lane) is
// stored as its base, a single number.
typedef struct byoc_code_location_t {
  uint32_t reg;
  bool is_vector;
  bool is_even;
  uint32_t base;
  int64_t step;
} byoc_code_location_t;

typedef struct byoc_code_known_t {
  const byoc_loop_expr_t *expr;
  uint32_t mask, reg;
} byoc_code_known_t;

typedef struct byoc_bytecode_compiler_t {
  byoc_program_t *program;
  byoc_diag_t *diag;
  byoc_arena_t arena;
  byoc_map_t variables;                 // pointer map: variable → byoc_code_location_t
  byoc_map_t buffers;                   // pointer map: buffer → index + 1
  byoc_map_t symbols;                   // text map: symbol → register + 1
  BYOC_VECTOR(byoc_code_known_t) known; // sub-expressions of the current statement
  uint32_t next_register;
  bool in_lanes; // inside a strip
  bool failed;
  bool no_dimension; // reported already
} byoc_bytecode_compiler_t;

typedef struct byoc_code_operand_t {
  uint32_t reg;
  bool is_vector;
} byoc_code_operand_t;

// Makes a register for the current statement; appends an instruction and returns its index.
uint32_t byoc_code_new_register(byoc_bytecode_compiler_t *compiler);
uint32_t byoc_code_emit(byoc_bytecode_compiler_t *compiler, byoc_code_t code);
// A variable's place; made if it has none.
byoc_code_location_t *byoc_code_location(byoc_bytecode_compiler_t *compiler, const byoc_loop_variable_t *variable);
uint32_t byoc_code_find_buffer(byoc_bytecode_compiler_t *compiler, const byoc_loop_buffer_t *buffer);
byoc_code_buffer_t *byoc_code_buffer_entry(byoc_bytecode_compiler_t *compiler, const byoc_loop_buffer_t *buffer);
void byoc_code_add_buffer(byoc_bytecode_compiler_t *compiler, const byoc_loop_buffer_t *buffer, bool is_vector);

// ---- lanes (core/kernel/bytecode_lanes.c) ----

// Does the value differ from lane to lane?
bool byoc_code_varies(byoc_bytecode_compiler_t *compiler, const byoc_loop_expr_t *expr);
// expr = (a single number) + step * lane, with i64 arithmetic?
bool byoc_code_is_even(byoc_bytecode_compiler_t *compiler, const byoc_loop_expr_t *expr, int64_t *out_step);
bool byoc_code_has_vector_loop(const byoc_loop_stmt_t *stmt);
// Walks the body as if it ran in lanes; false if control flow would have to differ from lane to lane. Local buffers are
// added as vectors, so that byoc_code_varies can be asked about them, and stay vectors if the answer is yes.
bool byoc_code_fits_lanes(byoc_bytecode_compiler_t *compiler, const byoc_loop_stmt_t *stmt, int64_t *local_bytes);
// Is it a body of names and of reductions into scalars which do not read one another? Stores are allowed if the loop's
// iterations are independent.
bool byoc_code_is_reduction(const byoc_loop_stmt_t *loop);

// ---- expressions (core/kernel/bytecode_expr.c) ----

// The single number from which an even expression starts.
uint32_t byoc_code_compile_base(byoc_bytecode_compiler_t *compiler, const byoc_loop_expr_t *expr);
// The register of a value; `mask` marks the lanes that need it.
byoc_code_operand_t byoc_code_compile_expr(byoc_bytecode_compiler_t *compiler, const byoc_loop_expr_t *expr,
                                           uint32_t mask);

#endif // BYOC_CORE_KERNEL_BYTECODE_COMPILER_H_

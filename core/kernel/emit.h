// SPDX-License-Identifier: Apache-2.0
// Emits kernels as C: state and functions that the files of the emitter share. Internal to core/kernel.
#ifndef BYOC_CORE_KERNEL_EMIT_H_
#define BYOC_CORE_KERNEL_EMIT_H_

#include "core/base/arena.h"
#include "core/base/map.h"
#include "core/base/string.h"
#include "core/ir/loop.h"

// Binding strength of C operators, for parentheses.
typedef enum byoc_c_precedence_t {
  BYOC_C_CONDITIONAL,
  BYOC_C_LOGICAL,
  BYOC_C_COMPARISON,
  BYOC_C_SUM,
  BYOC_C_PRODUCT,
  BYOC_C_UNARY,
  BYOC_C_PRIMARY,
} byoc_c_precedence_t;

typedef struct byoc_emitter_t {
  byoc_allocator_t allocator;
  const byoc_loop_kernel_t *kernel;
  byoc_string_t functions; // bodies of parallel loops, in front of the kernel they belong to
  byoc_string_t *out;      // where statements are appended
  byoc_map_t helpers;      // text map: names of helpers in use
  byoc_map_t shared;       // pointer map: expression → name of the local that holds it, in the current statement
  byoc_map_t invariant;    // the same for expressions that are invariant in the current vector loop
  byoc_arena_t names;      // of these
  byoc_map_t held;         // pointer map: local buffers of narrow floats that hold numbers (emit_bits.c)
  const byoc_map_t *read;  // pointer map: variables and local buffers that matter (work.h)
  uint32_t next_shared, next_loop;
  uint32_t vector_depth; // how many of the loops around are to become vectors
  bool in_share;         // in the body of a parallel loop, where `call` is not in scope
  bool is_packed;        // results hold two elements per byte, so that neighbouring iterations write one byte
  bool uses_vector, uses_unroll, uses_reduce, uses_dot, uses_copy, uses_look_up, uses_lanes, uses_steps, uses_f16,
      uses_bf16, failed;
} byoc_emitter_t;

const char *byoc_c_value_type(byoc_dtype_t dtype);   // of a variable: f16 and narrower are held as float
const char *byoc_c_storage_type(byoc_dtype_t dtype); // of a buffer's elements
// Finds the local buffers that hold bits, for the whole kernel.
void byoc_emit_find_bits(byoc_emitter_t *emitter);
// Are the buffer's elements those of a tensor: bits in the form of byoc_c_storage_type? Local buffers hold numbers, but
// for narrow floats that are only moved.
bool byoc_emit_holds_bits(const byoc_emitter_t *emitter, const byoc_loop_buffer_t *buffer);
const char *byoc_emit_element_type(const byoc_emitter_t *emitter, const byoc_loop_buffer_t *buffer); // as a C type
// "restrict ", except for an operand that may be overwritten and the result that is written over it.
const char *byoc_emit_restrict(const byoc_loop_kernel_t *kernel, const byoc_loop_buffer_t *buffer);
// The name of a run-time dimension's variable: dim_0 and so on.
void byoc_emit_dim_name(byoc_emitter_t *emitter, const char *symbol, byoc_string_t *out);
// Emits an expression so that it binds at least as strongly as `least`.
void byoc_emit_expr(byoc_emitter_t *emitter, const byoc_loop_expr_t *expr, byoc_c_precedence_t least);
// Emits a value in the form that a buffer of this type stores.
void byoc_emit_stored(byoc_emitter_t *emitter, byoc_dtype_t dtype, const byoc_loop_expr_t *value);
// Is the target of this LET, ASSIGN or STORE never read? Then the statement is left out.
bool byoc_emit_is_unread(const byoc_emitter_t *emitter, const byoc_loop_stmt_t *stmt);
// Emits statements at this depth of indentation.
void byoc_emit_stmt(byoc_emitter_t *emitter, const byoc_loop_stmt_t *stmt, int indent);
// These emit the clauses of a reducing loop with the flags of its folds, its assignments, and the statements behind it.
void byoc_emit_reduce_begin(byoc_emitter_t *emitter, const byoc_loop_stmt_t *loop, int indent);
bool byoc_emit_reduce_fold(byoc_emitter_t *emitter, const byoc_loop_stmt_t *assign, int indent);
void byoc_emit_reduce_end(byoc_emitter_t *emitter, const byoc_loop_stmt_t *loop, int indent);
// In front of a vector loop, emits locals for invariant expressions that are slow to compute. Until they are cleared
// from emitter->invariant, they are emitted in the place of their expressions.
void byoc_emit_invariants(byoc_emitter_t *emitter, const byoc_loop_stmt_t *loop, int indent);
// If the loop copies a run of elements of known length, emits it as one copy and returns true. The prelude has the
// function for such copies.
bool byoc_emit_copy_loop(byoc_emitter_t *emitter, const byoc_loop_stmt_t *loop, int indent);
void byoc_emit_copy_prelude(byoc_string_t *out);
// If the loop looks bytes up in a table, emits it as a call of the prelude's function and returns true.
bool byoc_emit_look_up_loop(byoc_emitter_t *emitter, const byoc_loop_stmt_t *loop, int indent);
void byoc_emit_look_up_prelude(byoc_string_t *out);
// If the loop runs over the elements of small local arrays, emits it in vectors and returns true. Emits the types that
// such loops need.
bool byoc_emit_lane_loop(byoc_emitter_t *emitter, const byoc_loop_stmt_t *loop, int indent);
void byoc_emit_lanes_prelude(byoc_string_t *out);
// If the loop runs over lanes of sums[i] += dot4(word, words[i]), for which the processor may have an instruction,
// emits it and returns true. Emits the definitions that such loops need.
bool byoc_emit_dot_loop(byoc_emitter_t *emitter, const byoc_loop_stmt_t *loop, int indent);
// If the expression is byte | next byte << 8 | ... of four neighbours in a buffer, emits it as a read from one address,
// which compilers turn into one load, and returns true.
bool byoc_emit_word(byoc_emitter_t *emitter, const byoc_loop_expr_t *expr);
void byoc_emit_dot_prelude(byoc_string_t *out);
// If the loop converts elements from or to f16 or bf16, emits it in blocks, with conversions of whole runs, and returns
// true. `begin` and `end` are C text, NULL for the loop's own. The prelude has the conversions; it follows the helpers.
bool byoc_emit_half_loop(byoc_emitter_t *emitter, const byoc_loop_stmt_t *loop, const char *begin, const char *end,
                         int indent);
void byoc_emit_half_prelude(const byoc_emitter_t *emitter, byoc_string_t *out);
// Marks a helper as used and appends its name.
void byoc_emit_helper(byoc_emitter_t *emitter, const char *name);

#endif // BYOC_CORE_KERNEL_EMIT_H_

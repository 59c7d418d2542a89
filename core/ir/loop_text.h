// SPDX-License-Identifier: Apache-2.0
// The text form of loop kernels. Equal kernels print equal text, which parses to an equal kernel.
//
//   {
//     name "byoc_k0_relu"
//     description "Relu 'r'"
//     symbols "N"
//     input in0 : f32[N,4]
//     output out0 : f32[N,4]
//     parallel i0 in 0 .. dim("N") * 4 {
//       let v1 : f32 = in0[i0]
//       out0[i0] = select(lt(v1, 0.0), 0.0, v1)
//     }
//   }
//
// Statements: parallel, vector, unroll and serial loops `v in a .. b`; `while c {}`; `if c {} else {}`; `let`, `var`
// (mutable) and `name = value`; `name[i] = value`; `local name : f32[16]`; `comment "text"`; `{}`. Expressions: + - *
// of equal types, every operator by its name, select(c, a, b), cast(u8, x), dim("N"), buffer[i]. Literals: 5 is i64,
// 5.0 is f32, true and false are bool; others have their type: u8(5), f64(0.5). An expression that occurs several times
// in a statement is written the first time, as #1(in0[i0] + 1.0), and is #1 afterwards.
#ifndef BYOC_CORE_IR_LOOP_TEXT_H_
#define BYOC_CORE_IR_LOOP_TEXT_H_

#include "core/base/map.h"
#include "core/ir/lexer.h"
#include "core/ir/loop.h"

// Appends the text without a line break at its end, indented as if `indent` spaces preceded the first brace.
void byoc_loop_kernel_print_at(const byoc_loop_kernel_t *kernel, int indent, byoc_string_t *out);
// Prints it as it appears inside a module.
void byoc_loop_kernel_print(const byoc_loop_kernel_t *kernel, byoc_string_t *out);
// Reads one kernel at the lexer's position into `arena` and verifies it.
byoc_status_t byoc_loop_kernel_parse(byoc_lexer_t *lexer, byoc_arena_t *arena, byoc_loop_kernel_t **out_kernel);

// The meaning of names in a part of a kernel. The caller adds the names that the text may use; the parser adds the
// variables and local buffers of the text.
typedef struct byoc_loop_scope_t {
  byoc_map_t values;    // text map: name → const byoc_loop_expr_t *, its value
  byoc_map_t dtypes;    // text map: name → byoc_dtype_t, cast to a pointer
  byoc_map_t variables; // text map: name → byoc_loop_variable_info_t *
  byoc_map_t buffers;   // text map: name → byoc_loop_buffer_t *
} byoc_loop_scope_t;
void byoc_loop_scope_init(byoc_loop_scope_t *scope, byoc_allocator_t allocator);
void byoc_loop_scope_deinit(byoc_loop_scope_t *scope);

// Reads statements up to the end of the text into a block in `arena`. The caller sets missing types and verifies: a
// number with a point, and the variable of a `let` or `var`, may have no type (BYOC_DTYPE_NONE). dim() is not known.
// The scope must outlive the block.
byoc_status_t byoc_loop_statements_parse(byoc_lexer_t *lexer, byoc_arena_t *arena, byoc_loop_scope_t *scope,
                                         byoc_loop_stmt_t **out_block);

#endif // BYOC_CORE_IR_LOOP_TEXT_H_

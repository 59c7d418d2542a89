// The text form of loop kernels: prints stably, parses back to the same kernel.
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
// of equal types, every operator by its name, select(c, a, b), cast(u8, x), dim("N"), buffer[i]. Literals: 5 is
// i64, 5.0 is f32, true and false are bool, others say their type: u8(5), f64(0.5). An expression that stands at
// several places of a statement is written at the first one, as #1(in0[i0] + 1.0), and is #1 at the others.
#ifndef BYOC_CORE_IR_LOOP_TEXT_H_
#define BYOC_CORE_IR_LOOP_TEXT_H_

#include "core/ir/lexer.h"
#include "core/ir/loop.h"

// Appends the text without a line break at its end, indented as if `indent` spaces preceded the first brace.
void byoc_loop_kernel_print_at(const byoc_loop_kernel_t *kernel, int indent, byoc_string_t *out);
// Prints it as it appears inside a module.
void byoc_loop_kernel_print(const byoc_loop_kernel_t *kernel, byoc_string_t *out);
// Reads one kernel at the lexer's position into `arena` and verifies it.
byoc_status_t byoc_loop_kernel_parse(byoc_lexer_t *lexer, byoc_arena_t *arena, byoc_loop_kernel_t **out_kernel);

#endif // BYOC_CORE_IR_LOOP_TEXT_H_

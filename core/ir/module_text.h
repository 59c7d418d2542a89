// SPDX-License-Identifier: Apache-2.0
// The text form of modules. It is the same for equal modules, and parses to a structurally equal module.
//
//   module {model = "mlp", opset_import. = 17} {
//     constant @w : f32[4,2] = [0.5, -1.0, 0.0, 2.0, 1.0, 1.0, 0.25, 3.0]
//     constant @big : f32[1000,1000] = splat 0.0
//     constant @blob : f32[64] = base64 "…"
//
//     func @main(%x : f32[N,4]) -> (%y : f32[N,2]) {
//       %0 = MatMul@13(%x, @w) : f32[N,2]
//       %y = Relu@14(%0) : f32[N,2]
//       return %y
//     }
//     func @part(%a : f32[N,4]) -> (%b : f32[N,2]) attributes {Compiler = "cutlass", Primitive = 1} { … }
//     extern func @fast(%a : f32[4]) -> (%b : f32[4]) attributes {Extern = 1} { …retained body… }
//     kernel func @k(%a : f32[4]) -> (%b : f32[4]) attributes {…} loops { …core/ir/loop_text.h… }
//   }
//
// Node:  %a, %b = com.domain::Op@since "node name" (%x, _, @c) {axis = 1} [then_branch (%p : f32[4]) -> … { … }] : T, T
// Calls: %a = call @part(%x) : f32[N,2].  `_` is an omitted operand. A type may be followed by "on {device = 1, id = 0,
// target = "cutlass", scope = "global", ranks = "tp: 1"}", without free fields. Before the body of a function, the
// devices of its constants: constants {@w on {scope = "shared"}}. `//` starts a comment. Names that are not identifiers
// print quoted: %"gpu_0/data_0", %"12"; a bare %12 is the number of a value without a name. A result that is declared
// only by its type has no name. Whole floats always print with a point or exponent. A number that is exact in f32, but
// not as its shortest decimal, carries an f: 0.1f. Dimensions: N * 2 + 1, floordiv(N, 2), "odd name", ?7 for the
// unknown with that number. Base64 encodes the dense little-endian data. An extern or kernel function without a body in
// the text gets the opaque body of byoc_function_set_opaque_body. core/ir/loop_text.h prints and parses loops, with
// their braces.
// Runtime modules are not part of the text.
#ifndef BYOC_CORE_IR_MODULE_TEXT_H_
#define BYOC_CORE_IR_MODULE_TEXT_H_

#include "core/ir/graph.h"

typedef struct byoc_print_options_t {
  // Larger constants (in bytes) print as `elided`, which does not parse, unless they consist of one repeated value. 0:
  // no limit.
  size_t elide_bytes;
} byoc_print_options_t;

void byoc_graph_print(const byoc_graph_module_t *module, const byoc_print_options_t *options, byoc_string_t *out);
// `file` is for messages, which show line, column and the line itself. The module is verified.
byoc_status_t byoc_graph_parse(const char *text, const char *file, byoc_allocator_t allocator, byoc_diag_t *diag,
                               byoc_graph_module_t **out_module);

#endif // BYOC_CORE_IR_MODULE_TEXT_H_

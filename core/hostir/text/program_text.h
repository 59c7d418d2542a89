// SPDX-License-Identifier: Apache-2.0
// The text form of host programs. It is stable, parses back, and holds all data that composing a program needs.
//
//   host program "mlp" workspace 64 bound 64 {
//     symbol   N of inputs
//     input    %x : f32[1,4]
//     constant %w : f32[4,2] = @w
//     constant %b : f32[2] = "packed_0" 1
//     local    %t : f32[1,2] at 0
//     view     %v : f32[2] = %t + 0
//     output   %y : f32[1,2]
//
//     allocate %t
//     kernel byoc_k0_matmul(%x, %w) -> (%t) "MatMul 'head'"
//     packed fast_0(%t, %b) -> (%y) of @fast
//     free %t
//   }
//   kernel { ...core/ir/loop_text.h... }
//   constant @w : f32[4,2] = base64 "..."
//   function @fast(f32[1,2], f32[2]) -> (f32[1,2])
//   module packed "packed_0" of "demo" { ... }
//
// The program. "dynamic" stands behind its name if inputs and outputs are values, then requires "avx2 fma" for the
// processor features that backends' code needs. Once memory is planned, a dynamic program has the bound of the bytes in
// use behind that of its workspace: live max(N * 16, M * 4 + 8). Declarations come first:
//
//   symbol N [of inputs]        those that the inputs' shapes give their values come first
//   device %d = "driver" ORDINAL type TYPE             see core/hostir/program/device.h for this and the next three
//   memory of %d scope "global" [apart] SIZE                   once planned
//   queue %q on %d [default | current]    event %e on %d       a set of four: %q[4], %e[4]
//   KIND %name : [value] TYPE [on %d] [scope "shared"], KIND being input, output, constant, local or view; behind that
//     local: [at OFFSET]        view: = %base + OFFSET, in any order; a view of a view is one of its base. The offset
//                               may be an expression over symbols: %base + I * 64
//     output: [over %input]     an input whose bytes the caller may give it (core/hostir/verify/in_place.h)
//     constant: = @w, data of the graph module; = "module" 1, a constant that a backend bound; or data in place
//
// Instructions. Each may end with the text of its origin, a string; lists of buffers may hold `none`:
//
//   allocate %t [zeroed | cached]       free %t       copy %a -> %b       share %a -> %b       yield (%go, %next)
//   kernel NAME(%x) [N * 2, 4] -> (%y) [over 0]        the values of the kernel's symbols in brackets; the operand
//     whose bytes the first result may take
//   packed SYMBOL(%x) -> (%y)
//   engine FUNCTION(%x) -> (%y) by "engine" "json"     names of modules
//   container SequenceAt(%s, %i) -> (%e) [axis 1] [flag 1]
//   c_call status sgemm(%a, %b) -> (%y) with (i32 101, operand 0 + 4 step 8, result 0, f32 0.5, null, runtime)
//     [times 3] [start operand 1]                      return type; arguments; byoc_c_call_t has the rest
//   match %x [binds N at 0, is 4 at 1]
//   bind %x to N, M "operator"
//   require [of inputs] (N is M, K is_multiple_of 2 by "Conv 'c'" left "..." right "...")
//   branch (%c) then { ... } else { ... }              the cases write buffers in place
//   branch (%c) -> (%y) then { ... } else { ... }      and yield values; `-> ()` may be left out
//   loop (%trips, %go, %x) -> (%y, %all) [scanned [N, 4]] body (%i, %c, %state) { ... }
//   loop I from 0 to N [step 2] body { ... }           the symbol I counts; static buffers are written in place
//   loop I from 0 to N step 2 carrying (%x) -> (%y) body (%state) { ... }
//   let K = I * 4 + 1                                  the symbol K, where it stands
//   store [I, K] -> (%t)                               the elements of a tensor of type i64
//   any call: [workspace %s] [of @function] [flops 8192.0 [int8]]
//   launch "module" "entry" grid [N, 1, 1] block [64, 1, 1] (%t) -> (%u)
//     with (operand 0 + 16, result 0, scratch, i32 N * 2, i64 7, f32 0.5, f64 -inf, local 256) on %q
//   fill %t with 0 on %q                               the bits of each element, as a number
//   barrier on %q                                      await (%e, %f[I])
//   any of these, a copy, and a call on the processor's queue: [on %q[I] [after (%e, %f[I])] [signals %e]], where one
//     of a set is named by a number, which is taken modulo the set's count
//
// Parts that the program refers to, in any order behind it:
//
//   kernel [over 0, 2] [over 3 by 1] { ... }
//       loops (core/ir/loop_text.h), and the operands that the first result, or another one, may overwrite
//   constant @w : TYPE = DATA
//       as in modules (core/ir/module_text.h)
//   function @f(TYPE, TYPE) -> (TYPE)
//       the signature of a backend's function
//   module KIND "name" of "target" { FIELD ... }
//       a module of a backend (core/module/runtime_module.h), with these fields:
//     given_name "n"   source "text"   compiler "cc"   setup "symbol"   engine_symbol "symbol"   function "f"
//     packed_symbol "symbol"   engine "name"   json "text"   user "target"   symbol "s"   flag "-O3"   needed "libm"
//     import "module"   file "a.o" BYTES   blob "weights" BYTES   constant : TYPE = DATA   workspace 64
//
// BYTES is base64 "...", or file OFFSET SIZE "hash": that part of the data file, whose path is the text's path and
// ".data". DATA and strings of modules may be such parts, too. `elided` stands for data that the printer was asked to
// leave out; it does not parse back. The code of engines and libraries that run inside this process is not part of the
// text: a program that was read can be composed, and evaluated as far as its modules can be linked.
#ifndef BYOC_CORE_HOSTIR_TEXT_PROGRAM_TEXT_H_
#define BYOC_CORE_HOSTIR_TEXT_PROGRAM_TEXT_H_

#include "core/base/file_set.h"
#include "core/base/string.h"
#include "core/hostir/program/program.h"

// The content of a data file that is being made: pieces of memory, each content once.
typedef struct byoc_host_data_t {
  byoc_allocator_t allocator;
  BYOC_VECTOR(byoc_bytes_t) parts; // with zeros between them; the pieces belong to the program
  byoc_map_t offsets;              // text map: hash and size → offset + 1
  uint64_t size_bytes;
  bool failed; // out of memory
} byoc_host_data_t;
void byoc_host_data_init(byoc_host_data_t *data, byoc_allocator_t allocator);
void byoc_host_data_deinit(byoc_host_data_t *data);

// Pieces of up to this size stand in the text even if there is a data file.
#define BYOC_HOST_INLINE_BYTES 256

typedef struct byoc_host_print_options_t {
  size_t elide_bytes;     // larger data prints as `elided`; 0: none
  byoc_host_data_t *data; // where larger pieces go; NULL: everything is in the text
  bool program_only;      // leave out kernels, constants, signatures and modules; that does not parse back
} byoc_host_print_options_t;

// `options` may be NULL: everything is printed.
void byoc_host_program_print(const byoc_host_program_t *program, const byoc_host_print_options_t *options,
                             byoc_string_t *out);

// `file` is for messages, which quote line, column and the line itself; `data` is the content of the data file (NULL:
// there is none). The module holds the constants, the runtime modules and the signatures, and must be destroyed after
// the program. The program is not verified: a text may stand for any step of the host passes.
byoc_status_t byoc_host_program_parse(const char *text, const char *file, const byoc_bytes_t *data,
                                      byoc_allocator_t allocator, byoc_diag_t *diag, byoc_graph_module_t **out_module,
                                      byoc_host_program_t **out_program);

// Adds the text and, if it has large pieces, its data file to the files that appear when `files` is committed.
byoc_status_t byoc_host_program_add_files(const byoc_host_program_t *program, const char *path, byoc_file_set_t *files,
                                          byoc_diag_t *diag);
// The path of the data file beside a text, to be freed by the caller; NULL if out of memory.
char *byoc_host_data_path(const char *path, byoc_allocator_t allocator);
// Reads the files of byoc_host_program_add_files. BYOC_INVALID_DATA if the program has lifetimes that break a rule of
// the verifier.
byoc_status_t byoc_host_program_read(const char *path, byoc_allocator_t allocator, byoc_diag_t *diag,
                                     byoc_graph_module_t **out_module, byoc_host_program_t **out_program);

// BYOC_INTERNAL unless the program's text parses back to a program with the same text. The second function does this
// only if $BYOC_CHECK_HOST_TEXT is set, as it is in the tests, for every program whose memory is planned.
byoc_status_t byoc_host_text_check(const byoc_host_program_t *program, byoc_diag_t *diag);
byoc_status_t byoc_host_text_check_if_asked(const byoc_host_program_t *program, byoc_diag_t *diag);

#endif // BYOC_CORE_HOSTIR_TEXT_PROGRAM_TEXT_H_

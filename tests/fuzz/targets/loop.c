// SPDX-License-Identifier: Apache-2.0
// Loop kernels as text (core/ir/loop_text.h): what parses prints stably, parses again, becomes C and code for the
// interpreter.
#include <stdlib.h>

#include "core/ir/loop_text.h"
#include "core/kernel/emit_c.h"
#include "core/kernel/interpret.h"
#include "tests/fuzz/fuzz.h"

static byoc_status_t parse(const char *text, byoc_arena_t *arena, byoc_diag_t *diag, byoc_loop_kernel_t **out_kernel) {
  byoc_lexer_t lexer;
  byoc_lexer_init(&lexer, text, "fuzz", arena, diag);
  return byoc_loop_kernel_parse(&lexer, arena, out_kernel);
}

static void check_again(const byoc_loop_kernel_t *kernel, byoc_arena_t *arena) {
  byoc_diag_t diag = {0};
  byoc_loop_kernel_t *again = NULL;
  byoc_string_t first, second;
  byoc_string_init(&first, fuzz_allocator());
  byoc_string_init(&second, fuzz_allocator());
  byoc_loop_kernel_print(kernel, &first);
  if (!first.failed) {
    byoc_status_t status = parse(first.data, arena, &diag, &again);
    fuzz_check_ok(status, &diag, first.data);
    if (status == BYOC_OK) byoc_loop_kernel_print(again, &second);
    if (status == BYOC_OK) fuzz_check_same(&first, &second, "the printed kernel");
  }
  byoc_string_deinit(&second);
  byoc_string_deinit(&first);
}

static void compile(const byoc_loop_kernel_t *kernel) {
  byoc_diag_t diag = {0};
  byoc_string_t code;
  byoc_string_init(&code, fuzz_allocator());
  byoc_status_t status = byoc_kernel_emit_c(&kernel, 1, &code);
  if (status != BYOC_OK && status != BYOC_OUT_OF_MEMORY) fuzz_fail("a kernel that verifies becomes no C");
  byoc_string_deinit(&code);
  byoc_interpreter_t *interpreter = NULL;
  status = byoc_interpreter_create(kernel, fuzz_allocator(), &diag, &interpreter);
  fuzz_check(status, &diag);
  byoc_interpreter_destroy(interpreter);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  byoc_diag_t diag = {0};
  byoc_loop_kernel_t *kernel = NULL;
  byoc_arena_t arena;
  byoc_arena_init(&arena, fuzz_allocator());
  char *text = fuzz_text(data, size);
  byoc_status_t status = parse(text, &arena, &diag, &kernel);
  fuzz_check(status, &diag);
  if (status == BYOC_OK) check_again(kernel, &arena);
  if (status == BYOC_OK) compile(kernel);
  free(text);
  byoc_arena_deinit(&arena);
  return 0;
}

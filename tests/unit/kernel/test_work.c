// SPDX-License-Identifier: Apache-2.0
// How much work the statements of a kernel count as, by which loops are shared between threads.
#include "core/ir/loop_text.h"
#include "core/kernel/work.h"
#include "tests/support/support.h"

// The work of a kernel's body, which follows its buffers.
static int64_t work_of(const char *body) {
  char text[512];
  snprintf(text, sizeof(text), "{ name \"k\" input x : f32[64] input n : i64[1] output y : f32[64] %s }", body);
  byoc_diag_t diag = {0};
  byoc_arena_t arena;
  byoc_lexer_t lexer;
  byoc_loop_kernel_t *kernel = NULL;
  byoc_arena_init(&arena, byoc_allocator_system());
  byoc_lexer_init(&lexer, text, "k.ir", &arena, &diag);
  byoc_test_ok(byoc_loop_kernel_parse(&lexer, &arena, &kernel), &diag);
  const int64_t work = byoc_work_of(kernel->body);
  byoc_arena_deinit(&arena);
  return work;
}

static void each_statement_has_its_work(void **state) {
  (void)state;
  static const struct {
    const char *body;
    int64_t work;
  } cases[] = {
      {"y[0] = 1.0", 1},
      {"y[0] = x[0]", 2},
      {"y[0] = x[0] + x[1]", 4},
      {"y[0] = neg(x[0])", 3},
      {"y[0] = exp(x[0])", 12},
      {"y[0] = tanh(x[0])", 12},
      {"y[0] = pow(x[0], x[1])", 13},
      {"y[0] = cast(f32, n[0])", 3},
      {"y[0] = select(lt(x[0], x[1]), x[2], x[3])", 7},
      {"let a : f32 = x[0] y[0] = a", 3},
      {"var a : f32 = x[0] a = a * a y[0] = a", 5},
      {"serial i in 0 .. 10 { y[i] = x[i] }", 20},
      {"parallel i in 3 .. 10 { y[i] = x[i] }", 14},
      {"vector i in 0 .. 10 { y[i] = x[i] }", 5},
      {"var s : f32 = 0.0 reduce i in 0 .. 10 { s = s + x[i] } y[0] = s", 9},
      {"vector i in 0 .. 1 { y[i] = x[i] }", 1},
      {"serial i in 4 .. 4 { y[i] = x[i] }", 1},
      {"serial i in 0 .. 10 { serial j in 0 .. 5 { y[i] = x[j] } }", 100},
      {"serial i in 0 .. n[0] { y[i] = x[i] }", 128},
      {"if lt(n[0], 3) { y[0] = x[0] }", 2},
      {"if lt(n[0], 3) { y[0] = x[0] } else { y[0] = x[0] + x[1] }", 6},
      {"var a : i64 = 0 while lt(a, n[0]) { a = a + 1 y[a] = x[a] }", 1 + 64 * 4},
      {"serial i in 0 .. 4611686018427387904 { serial j in 0 .. 8 { y[0] = x[0] } }", INT64_MAX / 4},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    const int64_t work = work_of(cases[i].body);
    if (work != cases[i].work) fail_msg("%s: %lld, not %lld", cases[i].body, (long long)work, (long long)cases[i].work);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_statement_has_its_work),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

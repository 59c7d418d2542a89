// SPDX-License-Identifier: Apache-2.0
// Kernels that keep elements of an operand in their places: which copies can be left out.
#include "core/ir/loop_keep.h"
#include "core/ir/loop_text.h"
#include "core/ir/text_parts.h"
#include "tests/support/support.h"

static byoc_loop_kernel_t *parse(const char *body, byoc_arena_t *arena) {
  char text[1024];
  byoc_diag_t diag = {0};
  byoc_lexer_t lexer;
  byoc_loop_kernel_t *kernel = NULL;
  snprintf(text, sizeof(text),
           "{ name \"k\" description \"k\" input x : f32[8] input at : i64[1] output y : f32[8] %s }", body);
  byoc_lexer_init(&lexer, text, "test", arena, &diag);
  byoc_test_ok(byoc_loop_kernel_parse(&lexer, arena, &kernel), &diag);
  return kernel;
}

static void copies_come_first_or_touch_nothing_else(void **state) {
  (void)state;
  static const struct {
    const char *body;
    bool keeps;
    int64_t count;
  } cases[] = {
      {"parallel i in 0 .. 8 { y[i] = x[i] } y[at[0]] = 1.0", true, 8},
      // The copy would bring back what was overwritten.
      {"y[at[0]] = 1.0 parallel i in 0 .. 8 { y[i] = x[i] }", false, 8},
      {"serial i in 0 .. 8 { y[i] = x[i] y[at[0]] = 1.0 }", false, 8},
      // Each element is written once, wherever the new ones are.
      {"serial i in 0 .. 3 { y[i] = x[i] } y[3] = 1.0 serial j in 0 .. 4 { y[j + 4] = x[j + 4] }", true, 7},
      // The operand is read elsewhere, too.
      {"parallel i in 0 .. 8 { y[i] = x[i] } y[at[0]] = x[0] + 1.0", false, 0},
      // Not to their places.
      {"parallel i in 0 .. 7 { y[i + 1] = x[i] } y[0] = 1.0", false, 0},
      {"parallel i in 0 .. 8 { y[i] = x[i] * 2.0 }", false, 0},
      {"serial i in 0 .. 8 { if lt(i, at[0]) { y[i] = x[i] } } serial j in 0 .. 8 { if lt(at[0], j) { y[j] = 0.0 } }",
       true, -1},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    byoc_arena_t arena;
    byoc_arena_init(&arena, byoc_allocator_system());
    const byoc_loop_kernel_t *kernel = parse(cases[i].body, &arena);
    if (byoc_loop_keeps(kernel, 0, 0) != cases[i].keeps) fail_msg("case %zu keeps %d", i, !cases[i].keeps);
    if (byoc_loop_kept_count(kernel, 0, 0) != cases[i].count) fail_msg("case %zu: the count", i);
    byoc_arena_deinit(&arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(copies_come_first_or_touch_nothing_else)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// Artifacts in their caller's process: forks, threads that share what must not be shared, memory that runs out.
#include <stdio.h>

#include "core/base/file.h"
#include "tests/support/command.h"

static const char model[] = "module {\n  func @main(%x : f32[256,256]) -> (%y : f32[256,256]) {\n"
                            "    %0 = MatMul@13(%x, %x) : f32[256,256]\n    %1 = Add@14(%0, %x) : f32[256,256]\n"
                            "    %y = Relu@14(%1) : f32[256,256]\n    return %y\n  }\n}\n";

static int setup(void **state) {
  if (byoc_test_enter_folder(state) != 0) return -1;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write("model.byoc", model, sizeof(model) - 1, &diag), &diag);
  byoc_test_shell(0, "cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -I" BYOC_TEST_SOURCE_DIR
                     "/include " BYOC_TEST_SOURCE_DIR "/tests/cli/user_process.c -o user_process -ldl");
  return 0;
}

static void build(const char *targets) {
  byoc_test_shell(0, "byoc build model.byoc --plan greedy -t '%s'", targets);
}

// Threads stay with the parent. The child's own contexts start others; an inherited context works without, or says why
// it cannot if a library in it has threads of its own.
static void test_fork(void **state) {
  (void)state;
  static const char refusal[] = "the context was made before this process was forked, and a library in it has threads "
                                "that stayed behind: make a context in the child";
  static const struct {
    const char *targets, *inherited;
  } rows[] = {{"c", "right"}, {"cutlass; c", "right"}, {"cblas; c", refusal}, {"dnnl; c", refusal}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    build(rows[i].targets);
    byoc_test_shell(0, "./user_process ./model.so fork");
    char expected[512];
    snprintf(expected, sizeof(expected), "parent: right\ninherited: %s\nown: right\nparent again: right\n",
             rows[i].inherited);
    assert_string_equal(byoc_test_output(), expected);
  }
}

static void test_one_context_twice(void **state) {
  (void)state;
  build("c");
  byoc_test_shell(0, "./user_process ./model.so share");
  assert_string_equal(byoc_test_output(),
                      "second: the context is used by two threads at once: give each thread a context of its own\n"
                      "first: right\nlater: right\n");
}

// The dynamic linker ends the process if a thread's first use of such a variable finds no memory.
static void test_no_thread_local_variables(void **state) {
  (void)state;
  static const char *const targets[] = {"c", "cutlass; c", "dnnl; c"};
  for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); ++i) {
    build(targets[i]);
    byoc_test_shell(0, "readelf -lW model.so");
    byoc_test_no_line("\\bTLS\\b");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_fork),
      cmocka_unit_test(test_one_context_twice),
      cmocka_unit_test(test_no_thread_local_variables),
  };
  return cmocka_run_group_tests(tests, setup, byoc_test_leave_folder);
}

// The machine that byoc runs on: closed descriptors, full disks, read-only caches, a sudden end.
#include <stdio.h>
#include <unistd.h>

#include "core/base/file.h"
#include "tests/cli/models.h"
#include "tests/support/command.h"

static int setup(void **state) {
  if (byoc_test_enter_folder(state) != 0) return -1;
  write_tiny("tiny.onnx", "2");
  return 0;
}

// ---- closed descriptors ----

static void test_closed_descriptors(void **state) {
  (void)state;
  static const char *const rows[] = {"<&-", ">&-", "2>&-", "<&- >&-", "<&- 2>&-", ">&- 2>&-", "<&- >&- 2>&-"};
  byoc_test_shell(0, "byoc build tiny.onnx -o open.so --name tiny --plan greedy -t 'cutlass; c'");
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    byoc_test_shell(0, "byoc build tiny.onnx -o closed.so --name tiny --plan greedy -t 'cutlass; c' %s", rows[i]);
    byoc_test_shell(0, "cmp open.so closed.so && cmp open.h closed.h && rm closed.*");
  }
  byoc_test_shell(0, "byoc-modelgen lenet -o open.onnx && byoc-modelgen lenet -o closed.onnx <&- >&- 2>&-"
                     " && cmp open.onnx closed.onnx && rm open.* closed.*");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_closed_descriptors),
  };
  return cmocka_run_group_tests(tests, setup, byoc_test_leave_folder);
}

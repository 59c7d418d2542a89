// SPDX-License-Identifier: Apache-2.0
// A program for test_group.sh: two tests are skipped, one passes, one fails.
#include <stdlib.h>

#include "tests/support/support.h"

static void test_skipped(void **state) {
  (void)state;
  byoc_test_skip("there is no %s", "unicorn");
}

static void test_skipped_as_well(void **state) {
  (void)state;
  byoc_test_skip("there is no unicorn");
}

static void test_passed(void **state) {
  (void)state;
  byoc_test_leave_out("nobody has a griffin");
}

static void test_failed(void **state) {
  (void)state;
  if (getenv("SPECIMEN_FAILS") != NULL) fail_msg("as it was asked to");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_skipped),
      cmocka_unit_test(test_skipped_as_well),
      cmocka_unit_test(test_passed),
      cmocka_unit_test(test_failed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

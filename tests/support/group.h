// SPDX-License-Identifier: Apache-2.0
// Runs the cmocka tests of a program, and says what was not tried. tests/support/support.h includes this.
#ifndef BYOC_TESTS_SUPPORT_GROUP_H_
#define BYOC_TESTS_SUPPORT_GROUP_H_

#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

// ctest shows a test that ends with this code as skipped (SKIP_RETURN_CODE).
#define BYOC_TEST_SKIPPED 77

// Skips the running test for a reason: a sentence without its full stop. tools/test lists the reasons at the end.
void byoc_test_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));
// Notes a part that the running test does not try, and goes on; tools/test lists these, too.
void byoc_test_leave_out(const char *format, ...) __attribute__((format(printf, 1, 2)));
#undef skip // it gives no reason

// Whether this is the long version of a test (byoc_add_long_version of tests/CMakeLists.txt), which tries all that
// there is to try; the short one tries a sample.
bool byoc_test_is_long(void);
// An entry of a group that only the long version has.
#define byoc_test_long_only(test)                                                                                      \
  { #test, byoc_test_is_long() ? (test) : NULL, NULL, NULL, NULL }

// Returns 0, BYOC_TEST_SKIPPED if every test was skipped, or else 1.
//
// BYOC_TEST_FILTER=PATTERN runs the tests whose names match (with * and ?); it is an error if there is none.
// BYOC_TEST_RESULTS=FOLDER keeps the results of a program whose tests all passed or were skipped. Where ctest runs the
// program with a filter after that, in the same run of ctest, the result is taken from there.
int byoc_test_run_group(const char *name, const struct CMUnitTest *tests, size_t count, CMFixtureFunction setup,
                        CMFixtureFunction teardown);

#undef cmocka_run_group_tests
#undef cmocka_run_group_tests_name
#define cmocka_run_group_tests(tests, setup, teardown) cmocka_run_group_tests_name(#tests, tests, setup, teardown)
#define cmocka_run_group_tests_name(name, tests, setup, teardown)                                                      \
  byoc_test_run_group((name), (tests), sizeof(tests) / sizeof((tests)[0]), (setup), (teardown))

#endif // BYOC_TESTS_SUPPORT_GROUP_H_

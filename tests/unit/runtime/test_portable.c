// SPDX-License-Identifier: Apache-2.0
// Arithmetic for compilers that have nothing but C11, against the compiler's own.
#define BYOC_ONLY_C11
#include "core/runtime/portable.h"
#include "tests/support/support.h"

static const int64_t edges[] = {0,
                                1,
                                -1,
                                2,
                                -2,
                                3,
                                7,
                                -7,
                                INT64_MAX,
                                INT64_MIN,
                                INT64_MAX - 1,
                                INT64_MIN + 1,
                                INT64_MAX / 2,
                                INT64_MIN / 2,
                                INT64_MAX / 2 + 1,
                                INT64_MIN / 2 - 1,
                                (int64_t)1 << 31,
                                -((int64_t)1 << 31),
                                (int64_t)1 << 32,
                                -((int64_t)1 << 32),
                                3037000499,
                                3037000500,
                                -3037000500};
enum { EDGES = sizeof(edges) / sizeof(edges[0]) };

static void check(bool overflows, int64_t result, bool expected_overflows, int64_t expected) {
  assert_int_equal(overflows, expected_overflows);
  if (!overflows) assert_int_equal(result, expected);
}

static void check_pair(int64_t a, int64_t b) {
  int64_t result = 0, expected = 0;
  bool overflows = byoc_add_overflows(a, b, &result), expected_overflows = __builtin_add_overflow(a, b, &expected);
  check(overflows, result, expected_overflows, expected);
  overflows = byoc_sub_overflows(a, b, &result);
  expected_overflows = __builtin_sub_overflow(a, b, &expected);
  check(overflows, result, expected_overflows, expected);
  overflows = byoc_mul_overflows(a, b, &result);
  expected_overflows = __builtin_mul_overflow(a, b, &expected);
  check(overflows, result, expected_overflows, expected);
}

static void test_portable_arithmetic_is_that_of_the_compiler(void **state) {
  (void)state;
  for (size_t i = 0; i < EDGES; i++) {
    for (size_t k = 0; k < EDGES; k++) check_pair(edges[i], edges[k]);
  }
}

static void test_the_highest_bit_is_found(void **state) {
  (void)state;
  for (uint32_t bit = 0; bit < 64; bit++) {
    assert_int_equal(byoc_highest_bit(UINT64_C(1) << bit), bit);
    assert_int_equal(byoc_highest_bit(UINT64_MAX >> (63 - bit)), bit);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_portable_arithmetic_is_that_of_the_compiler),
      cmocka_unit_test(test_the_highest_bit_is_found),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// Numbers in the C text of a host program.
#include <math.h>

#include "core/compose/c/host_c.h"
#include "tests/support/support.h"

static void reals_keep_their_type(void **state) {
  (void)state;
  static const struct {
    uint32_t type;
    double value;
    const char *expected;
  } rows[] = {{BYOC_C_F32, 1.5, "1.5f"},
              {BYOC_C_F32, 3, "3.0f"},
              {BYOC_C_F32, -0.0, "-0.0f"},
              {BYOC_C_F32, (double)INFINITY, "INFINITY"},
              {BYOC_C_F32, -(double)INFINITY, "-INFINITY"},
              {BYOC_C_F32, (double)NAN, "NAN"},
              {BYOC_C_F64, 3, "3.0"},
              {BYOC_C_F64, 0.1, "0.1"},
              {BYOC_C_F64, (double)INFINITY, "(double)INFINITY"},
              {BYOC_C_F64, -(double)INFINITY, "-(double)INFINITY"},
              {BYOC_C_F64, (double)NAN, "(double)NAN"}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    byoc_string_t text;
    byoc_string_init(&text, byoc_allocator_system());
    byoc_host_c_emit_real(rows[i].type, rows[i].value, &text);
    assert_string_equal(text.data, rows[i].expected);
    byoc_string_deinit(&text);
  }
}

static void integers_fit_their_literals(void **state) {
  (void)state;
  static const struct {
    int64_t value;
    const char *expected;
  } rows[] = {{0, "0"}, {-7, "-7"}, {INT64_MAX, "9223372036854775807"}, {INT64_MIN, "(-INT64_MAX - 1)"}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    byoc_string_t text;
    byoc_string_init(&text, byoc_allocator_system());
    byoc_host_c_emit_integer(rows[i].value, &text);
    assert_string_equal(text.data, rows[i].expected);
    byoc_string_deinit(&text);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reals_keep_their_type),
      cmocka_unit_test(integers_fit_their_literals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

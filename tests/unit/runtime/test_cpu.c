// SPDX-License-Identifier: Apache-2.0
// The processor check that artifacts carry, against the host's own.
#include "tests/support/support.h"

#include <stdio.h>

#include "core/runtime/cpu.h"
#include "core/runtime/cpu_check.h"
#include "core/targets/cpu.h"

static void test_agrees_with_the_host(void **state) {
  (void)state;
  uint64_t here = byoc_cpu_detect();
  for (int i = 0; i < BYOC_CPU_FEATURE_COUNT; i++) {
    const char *name = byoc_cpu_feature_name((byoc_cpu_feature_t)i);
    char message[256];
    int32_t status = byoc_model_check_cpu("m", name, message, sizeof(message));
    assert_int_equal(status, here >> i & 1 ? BYOC_OK : BYOC_UNSUPPORTED);
    if (status != BYOC_OK) assert_non_null(strstr(message, name));
  }
}

static void test_sentence(void **state) {
  (void)state;
  char message[256];
  assert_int_equal(byoc_model_check_cpu("mnist", "", message, sizeof(message)), BYOC_OK);
  assert_string_equal(message, "");
  assert_int_equal(byoc_model_check_cpu("mnist", " warp  photon ", message, sizeof(message)), BYOC_UNSUPPORTED);
  assert_string_equal(message, "the model 'mnist' was built for a processor with warp, photon, which this one lacks; "
                               "build it with -mcpu=x86-64 or on a machine of this kind");
  char small[8];
  assert_int_equal(byoc_model_check_cpu("mnist", "warp", small, sizeof(small)), BYOC_UNSUPPORTED);
  assert_string_equal(small, "the mod");
  assert_int_equal(byoc_model_check_cpu("mnist", "warp", NULL, 0), BYOC_UNSUPPORTED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_agrees_with_the_host),
      cmocka_unit_test(test_sentence),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

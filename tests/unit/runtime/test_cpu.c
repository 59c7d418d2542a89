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

// Only code that uses tiles asks for them. Here the system gives them or refuses them; nobody else is refused anything.
static void test_registers_that_a_process_asks_for(void **state) {
  (void)state;
  const uint64_t tiles =
      UINT64_C(1) << BYOC_CPU_AMXTILE | UINT64_C(1) << BYOC_CPU_AMXINT8 | UINT64_C(1) << BYOC_CPU_AMXBF16;
  assert_int_equal(byoc_cpu_features_to_ask_for(), tiles);
  assert_int_equal(byoc_cpu_ask(~tiles), 0);
  const uint64_t refused = byoc_cpu_ask(~UINT64_C(0));
  assert_true(refused == 0 || refused == tiles);
  if (!(byoc_cpu_detect() >> BYOC_CPU_AMXTILE & 1)) assert_int_equal(refused, tiles);
  assert_int_equal(byoc_cpu_ask(~UINT64_C(0)), refused);
  char names[64];
  byoc_cpu_list_refused("avx2 fma", names, sizeof(names));
  assert_string_equal(names, "");
  byoc_cpu_list_refused("avx2 amx_tile fma amx_int8", names, sizeof(names));
  assert_string_equal(names, refused != 0 ? "amx_tile, amx_int8" : "");
  char message[512];
  byoc_cpu_describe_refusal("mnist", "amx_tile", message, sizeof(message));
  assert_string_equal(message, "the model 'mnist' uses the registers of amx_tile, and the system refuses them to this "
                               "process (arch_prctl, ARCH_REQ_XCOMP_PERM); allow that call, or build the model for one "
                               "more processor, -mcpu=...,x86-64");
  byoc_cpu_describe_refusal("mnist", "amx_tile", NULL, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_agrees_with_the_host),
      cmocka_unit_test(test_sentence),
      cmocka_unit_test(test_registers_that_a_process_asks_for),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// What a device costs, measured on the driver sim.
#include "core/device/cost.h"
#include "tests/devices/sim.h"
#include "tests/support/support.h"

static void test_c9_the_device_is_measured(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_device_costs_t costs;
  char identity[BYOC_DEVICE_IDENTITY_SIZE];
  byoc_test_ok(byoc_device_calibrate(&sim_driver, &diag, &costs, identity), &diag);
  assert_non_null(strstr(identity, "sim_1")); // the architecture
  assert_true(costs.command_ns > 0 && costs.command_ns < 1e9);
  for (int direction = 0; direction < BYOC_DEVICE_DIRECTION_COUNT; ++direction) {
    assert_true(costs.base_ns[direction] > 0 && costs.base_ns[direction] < 1e9);
    assert_true(costs.ns_per_byte[direction] >= 0);
    assert_true(byoc_device_copy_ns(&costs, direction, 1e6) >= costs.base_ns[direction]);
  }
}

static void test_c9_unified_memory_needs_no_copies(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_device_costs_t costs;
  char identity[BYOC_DEVICE_IDENTITY_SIZE];
  sim_configure("unified");
  byoc_test_ok(byoc_device_calibrate(&sim_driver, &diag, &costs, identity), &diag);
  assert_true(costs.command_ns > 0);
  for (int direction = 0; direction < BYOC_DEVICE_DIRECTION_COUNT; ++direction) {
    assert_true(byoc_device_copy_ns(&costs, direction, 1e6) == 0);
  }
  sim_configure(NULL);
}

static void test_c9_a_device_that_fails_says_why(void **state) {
  (void)state;
  static const char *const failures[] = {"devices=0",   "fail=queue:1", "fail=allocate:1",
                                         "fail=fill:9", "fail=copy:3",  "fail=late-copy:2"};
  for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); ++i) {
    byoc_diag_t diag = {0};
    byoc_device_costs_t costs;
    char identity[BYOC_DEVICE_IDENTITY_SIZE];
    sim_counts_t counts;
    sim_configure(failures[i]);
    assert_int_not_equal(byoc_device_calibrate(&sim_driver, &diag, &costs, identity), BYOC_OK);
    assert_non_null(strstr(diag.message, "measuring the device of driver 'sim': "));
    assert_true(strlen(diag.message) > strlen("measuring the device of driver 'sim': "));
    sim_count(&counts); // nothing is left behind
    assert_int_equal(counts.devices + counts.buffers + counts.queues + counts.events + counts.modules, 0);
  }
  sim_configure(NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_c9_the_device_is_measured),
      cmocka_unit_test(test_c9_unified_memory_needs_no_copies),
      cmocka_unit_test(test_c9_a_device_that_fails_says_why),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

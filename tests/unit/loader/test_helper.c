// SPDX-License-Identifier: Apache-2.0
// A thread that does one job at a time beside its owner.
#include <stdatomic.h>

#include "core/loader/helper.h"
#include "tests/support/support.h"

static void count(void *self) {
  *(int *)self += 1;
}

// Each job is done once, whether the thread or its owner has done it, and its owner sees what it did.
static void test_each_job_is_done_once(void **state) {
  (void)state;
  byoc_helper_t *helper = byoc_helper_create(byoc_allocator_system());
  int done = 0;
  assert_non_null(helper);
  byoc_helper_finish(helper); // there is none
  for (int turn = 1; turn <= 20000; ++turn) {
    byoc_helper_start(helper, count, &done);
    byoc_helper_finish(helper);
    assert_int_equal(done, turn);
  }
  byoc_helper_start(helper, count, &done);
  byoc_helper_destroy(helper);
  assert_int_equal(done, 20001);
  byoc_helper_destroy(NULL);
}

typedef struct gate_t {
  _Atomic bool has_begun, is_open;
} gate_t;

static void pass(void *self) {
  gate_t *gate = self;
  atomic_store(&gate->has_begun, true);
  while (!atomic_load(&gate->is_open)) continue;
}

// The owner goes on while the job is under way: here the job waits for it.
static void test_a_job_runs_beside_its_owner(void **state) {
  (void)state;
  byoc_helper_t *helper = byoc_helper_create(byoc_allocator_system());
  gate_t gate = {false, false};
  byoc_helper_start(helper, pass, &gate);
  while (!atomic_load(&gate.has_begun)) continue;
  atomic_store(&gate.is_open, true);
  byoc_helper_finish(helper);
  byoc_helper_destroy(helper);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_job_is_done_once),
      cmocka_unit_test(test_a_job_runs_beside_its_owner),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

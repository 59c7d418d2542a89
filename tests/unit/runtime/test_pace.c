// SPDX-License-Identifier: Apache-2.0
// Whether short runs use one thread or all, by what each way takes.
#include "tests/support/support.h"

#include "core/runtime/pace.h"

typedef struct model_t {
  byoc_pace_t pace;
  uint64_t now_ns, shared_ns, alone_ns;
  int alone_runs;
} model_t;

static void run(model_t *model, int count) {
  for (int i = 0; i < count; i++) {
    byoc_pace_begin(&model->pace, model->now_ns);
    model->alone_runs += model->pace.is_alone;
    model->now_ns += model->pace.is_alone ? model->alone_ns : model->shared_ns;
    byoc_pace_end(&model->pace, model->now_ns);
    model->now_ns += 1000;
  }
}

// How many of the last 100 runs of a thousand used one thread.
static int settle(uint64_t shared_ns, uint64_t alone_ns) {
  model_t model = {.now_ns = 5, .shared_ns = shared_ns, .alone_ns = alone_ns};
  run(&model, 900);
  model.alone_runs = 0;
  run(&model, 100);
  return model.alone_runs;
}

static void test_short_runs_take_the_faster_way(void **state) {
  (void)state;
  assert_int_equal(settle(20000, 16000), 100);
  assert_int_equal(settle(28000, 50000), 0);
  assert_int_equal(settle(16000, 16000), 0);
}

// A run of milliseconds is never tried on one thread.
static void test_long_runs_keep_their_threads(void **state) {
  (void)state;
  model_t model = {.shared_ns = 2000000, .alone_ns = 1000};
  run(&model, 10000);
  assert_int_equal(model.alone_runs, 0);
  model = (model_t){.shared_ns = BYOC_PACE_SHORT_NS, .alone_ns = 1000};
  run(&model, 10000);
  assert_int_equal(model.alone_runs, 0);
}

// One run that was interrupted changes the next one only; later the question is asked anew.
static void test_the_choice_follows_the_machine(void **state) {
  (void)state;
  model_t model = {.shared_ns = 20000, .alone_ns = 16000};
  run(&model, 100);
  model.alone_ns = 4000000;
  run(&model, 1);
  model.alone_ns = 16000;
  run(&model, 1);
  assert_false(model.pace.is_alone);
  run(&model, 1);
  assert_true(model.pace.is_alone);
  model.shared_ns = 10000;
  run(&model, 5000);
  model.alone_runs = 0;
  run(&model, 100);
  assert_int_equal(model.alone_runs, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_short_runs_take_the_faster_way),
      cmocka_unit_test(test_long_runs_keep_their_threads),
      cmocka_unit_test(test_the_choice_follows_the_machine),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

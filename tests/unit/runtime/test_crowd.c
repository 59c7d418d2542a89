// SPDX-License-Identifier: Apache-2.0
// How many threads loops use beside other programs, on a machine that is arithmetic.
#include "tests/support/support.h"

#include "core/runtime/crowd.h"

// Another program has the processor of the last thread for `busy_ns` of each PERIOD_NS, if that thread is used.
enum { COUNT = 5040, ITERATION_NS = 20, PERIOD_NS = 6000000 };

typedef struct machine_t {
  byoc_crowd_t crowd;
  int32_t threads;
  int64_t now_ns, busy_ns;
  int fewest, full; // threads used by a loop; the number of loops on all
} machine_t;

static int64_t share_ns(int32_t threads) {
  return ((COUNT - 1) / threads + 1) * (int64_t)ITERATION_NS;
}

// The last thread begins at once or is not there, in which case another one does its share too.
static void run_loop(machine_t *m) {
  const int32_t used = byoc_crowd_threads(&m->crowd, m->threads, m->now_ns);
  int64_t taken_ns = share_ns(used);
  if (used == m->threads) {
    const int64_t phase_ns = m->now_ns % PERIOD_NS, gone_at_ns = PERIOD_NS - m->busy_ns;
    if (phase_ns >= gone_at_ns) {
      taken_ns *= 2;
    } else if (phase_ns + taken_ns > gone_at_ns) {
      taken_ns += m->busy_ns;
    }
  }
  m->now_ns += taken_ns;
  if (used < m->fewest) m->fewest = used;
  m->full += used == m->threads;
  if (used == 1) return;
  const byoc_crowd_loop_t loop = {.count = COUNT, .shares = used, .quickest_ns = ITERATION_NS, .taken_ns = taken_ns};
  byoc_crowd_note(&m->crowd, &loop, m->now_ns);
}

static int64_t run_loops(machine_t *m, int count) {
  const int64_t start_ns = m->now_ns;
  m->fewest = m->threads;
  m->full = 0;
  for (int i = 0; i < count; i++) run_loop(m);
  return m->now_ns - start_ns;
}

static void test_a_quiet_machine_keeps_its_threads(void **state) {
  (void)state;
  for (int32_t threads = 2; threads <= 16; threads++) {
    machine_t m = {.threads = threads};
    assert_int_equal(run_loops(&m, 10000), 10000 * share_ns(threads));
    assert_int_equal(m.fewest, threads);
  }
}

// Two threads are not slower than one by more than a twentieth, though they would be twice as slow.
static void test_a_lost_processor_costs_its_share(void **state) {
  (void)state;
  machine_t m = {.threads = 2, .busy_ns = 5500000};
  const int64_t taken_ns = run_loops(&m, 50000);
  assert_int_equal(m.fewest, 1);
  assert_in_range(taken_ns, 1, 50000 * share_ns(1) / 100 * 105);
  assert_true(m.full > 0);
}

// Nor does a program that runs now and then try its threads again in each run: pauses hardly count.
static void test_pauses_are_no_tries(void **state) {
  (void)state;
  machine_t m = {.threads = 2, .busy_ns = 5500000};
  int64_t taken_ns = 0;
  for (int run = 0; run < 100; run++) {
    taken_ns += run_loops(&m, 500);
    m.now_ns += 500000000;
  }
  assert_in_range(taken_ns, 1, 50000 * share_ns(1) / 100 * 105);
}

// When the other program ends, all threads are used again, soon.
static void test_threads_come_back(void **state) {
  (void)state;
  machine_t m = {.threads = 2, .busy_ns = 5500000};
  (void)run_loops(&m, 50000);
  m.busy_ns = 0;
  while (byoc_crowd_threads(&m.crowd, 2, m.now_ns) < 2) (void)run_loops(&m, 1);
  assert_true(m.crowd.left_out_ns <= BYOC_CROWD_LONGEST_NS);
  assert_int_equal(run_loops(&m, 1000), 1000 * share_ns(2));
  assert_int_equal(m.crowd.left_out_ns, 0); // the next time begins with a short while again
}

// Of many threads, one is left out, not all.
static void test_one_of_sixteen_threads_is_left_out(void **state) {
  (void)state;
  machine_t m = {.threads = 16, .busy_ns = 5500000};
  (void)run_loops(&m, 10000);
  assert_int_equal(m.fewest, 15);
}

// Something that happens once, and iterations that differ, cost no thread.
static void test_a_single_delay_costs_no_thread(void **state) {
  (void)state;
  byoc_crowd_t crowd = {0};
  byoc_crowd_loop_t loop = {.count = 2, .shares = 2, .quickest_ns = 50000, .taken_ns = 900000};
  byoc_crowd_note(&crowd, &loop, 1000000);
  assert_int_equal(byoc_crowd_threads(&crowd, 2, 1000000), 2);
  loop.taken_ns = 125000;
  for (int i = 0; i < 1000; i++) byoc_crowd_note(&crowd, &loop, 1000000);
  assert_int_equal(byoc_crowd_threads(&crowd, 2, 1000000), 2);
  loop.has_lost = true; // the iterations do not differ: one of them waited
  for (int i = 0; i < 10; i++) byoc_crowd_note(&crowd, &loop, 1000000);
  assert_int_equal(byoc_crowd_threads(&crowd, 2, 1000000), 1);
  assert_int_equal(byoc_crowd_threads(&crowd, 2, 1000000 + BYOC_CROWD_FIRST_NS), 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_quiet_machine_keeps_its_threads),
      cmocka_unit_test(test_a_lost_processor_costs_its_share),
      cmocka_unit_test(test_pauses_are_no_tries),
      cmocka_unit_test(test_threads_come_back),
      cmocka_unit_test(test_one_of_sixteen_threads_is_left_out),
      cmocka_unit_test(test_a_single_delay_costs_no_thread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

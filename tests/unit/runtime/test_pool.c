// SPDX-License-Identifier: Apache-2.0
// The thread pool of artifacts.
#include "tests/support/support.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

// This test compiles the pool itself: the one in the archive is never instrumented, so the thread sanitizer would not
// see its locks; nor could its threads be held.
enum { TO_SLEEP, TO_WAKE, TO_TAKE, PLACES };
struct worker_t;
typedef void (*holder_t)(struct worker_t *worker);
static _Atomic(holder_t) holders[PLACES];
static void between(int place, struct worker_t *worker) {
  const holder_t holder = atomic_load(&holders[place]);
  if (holder != NULL) holder(worker);
}
#define BETWEEN(place, worker) between(place, worker)
#include "core/runtime/pool.c" // NOLINT(bugprone-suspicious-include)

typedef struct loop_t {
  atomic_int hits[1000];
  atomic_int shares, workers; // number of shares; bit mask of workers
  bool slow;
  int64_t partial[BYOC_MODEL_MAX_THREADS];
} loop_t;

static void body(void *argument, int64_t begin, int64_t end, int32_t worker) {
  loop_t *loop = argument;
  atomic_fetch_add(&loop->shares, 1);
  if (worker < 31) atomic_fetch_or(&loop->workers, 1 << worker);
  for (int64_t i = begin; i < end; i++) {
    atomic_fetch_add(&loop->hits[i], 1);
    loop->partial[worker] += i;
  }
  if (loop->slow) usleep(20000);
}

static void check(loop_t *loop, int64_t count) {
  int64_t sum = 0;
  for (int64_t i = 0; i < 1000; i++) assert_int_equal(atomic_load(&loop->hits[i]), i < count ? 1 : 0);
  for (int i = 0; i < BYOC_MODEL_MAX_THREADS; i++) sum += loop->partial[i];
  assert_int_equal(sum, count * (count - 1) / 2);
}

static void test_covers_every_iteration(void **state) {
  (void)state;
  assert_int_equal(byoc_model_pool_acquire(4), 4);
  static const int64_t counts[] = {0, 1, 2, 3, 4, 5, 7, 100, 999, 1000};
  for (int threads = 1; threads <= 4; threads++) {
    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
      for (int64_t grain = 0; grain < 300; grain = grain * 3 + 1) {
        loop_t loop = {0};
        byoc_model_pool_run(threads, body, &loop, counts[c], grain);
        check(&loop, counts[c]);
        int64_t expected = counts[c] / (grain > 1 ? grain : 1);
        if (expected > threads) expected = threads;
        if (expected < 1) expected = counts[c] > 0;
        assert_int_equal(loop.shares, expected);
        assert_int_equal(loop.workers, (1 << expected) - 1);
      }
    }
  }
  byoc_model_pool_release();
}

static void test_sleeping_workers_wake(void **state) {
  (void)state;
  assert_int_equal(byoc_model_pool_acquire(3), 3);
  for (int i = 0; i < 20; i++) {
    loop_t loop = {.slow = i % 2 == 0}; // the caller sleeps too
    usleep(3000);
    byoc_model_pool_run(3, body, &loop, 3, 1);
    check(&loop, 3);
    assert_int_equal(loop.workers, 7);
  }
  byoc_model_pool_release();
}

// Workers that would poll for hours sleep when they are told that others need the processors, and wake for a loop.
static void test_waiting_workers_rest(void **state) {
  (void)state;
  byoc_model_pool_set_spin(UINT32_MAX - 1);
  assert_int_equal(byoc_model_pool_acquire(2), 2);
  for (int i = 0; i < 20; i++) {
    loop_t loop = {.slow = true};
    byoc_model_pool_run(2, body, &loop, 2, 1);
    check(&loop, 2);
    assert_int_equal(loop.workers, 3);
    assert_int_equal(atomic_load(&pool.resting), 0);
    byoc_model_pool_rest();
    while (atomic_load(&pool.workers[0].sleeping) == 0) usleep(100);
  }
  byoc_model_pool_release();
  byoc_model_pool_set_spin(USUAL_TURNS);
}

// A worker that sleeps looks for work again when a run begins, and goes back to sleep when none comes.
static void test_a_run_wakes_those_that_sleep(void **state) {
  (void)state;
  assert_int_equal(byoc_model_pool_acquire(2), 2);
  worker_t *worker = &pool.workers[0];
  atomic_store(&pool.spin_turns, 1); // it sleeps soon
  loop_t loop = {0};
  byoc_model_pool_run(2, body, &loop, 2, 1);
  for (int wait = 0; wait < 20000 && atomic_load(&worker->sleeping) == 0; wait++) usleep(1000);
  assert_int_equal(atomic_load(&worker->sleeping), 1);
  atomic_store(&pool.spin_turns, 0); // more threads than processors: it is left alone
  byoc_model_pool_wake(2);
  usleep(20000);
  assert_int_equal(atomic_load(&worker->sleeping), 1);
  atomic_store(&pool.spin_turns, UINT32_MAX);
  byoc_model_pool_rest(); // others need the processors: so is it then
  byoc_model_pool_wake(2);
  usleep(20000);
  assert_int_equal(atomic_load(&worker->sleeping), 1);
  atomic_store(&pool.resting, 0);
  bool is_awake = false;
  for (int wait = 0; wait < 20000 && !is_awake; wait++) { // it may not have begun to wait the first time
    byoc_model_pool_wake(2);
    usleep(1000);
    is_awake = atomic_load(&worker->sleeping) == 0;
  }
  assert_true(is_awake);
  loop_t again = {0};
  byoc_model_pool_run(2, body, &again, 100, 1);
  check(&again, 100);
  byoc_model_pool_release();
}

static atomic_int held, woken; // how often the worker was held; the caller has come past the wake-up

static void await_value(atomic_int *value, int least) {
  while (atomic_load(value) < least) usleep(100);
}

// The worker has seen a share. It goes on when that is gone and the pool ends.
static void hold_until_the_end(worker_t *worker) {
  if (atomic_fetch_add(&held, 1) > 0) return;
  while (!atomic_load(&pool.stopping) || atomic_load(&worker->ticket) % 2 == 0) usleep(100);
}

typedef struct counted_t {
  atomic_int shares;
  int await_held; // the caller begins its share when the worker has been held so often
  pthread_t ran[2];
} counted_t;

static void count_share(void *argument, int64_t begin, int64_t end, int32_t worker) {
  (void)begin;
  (void)end;
  counted_t *counted = argument;
  if (worker == 0) await_value(&held, counted->await_held);
  counted->ran[worker] = pthread_self();
  atomic_fetch_add(&counted->shares, 1);
}

// The caller ran the share that the worker had seen. Then the pool ends: the worker does, too, and runs nothing.
static void test_a_share_is_not_run_after_its_loop(void **state) {
  (void)state;
  atomic_store(&held, 0);
  atomic_store(&holders[TO_TAKE], hold_until_the_end);
  assert_int_equal(byoc_model_pool_acquire(2), 2);
  counted_t counted = {.await_held = 1};
  byoc_model_pool_run(2, count_share, &counted, 2, 1);
  assert_int_equal(atomic_load(&counted.shares), 2);
  assert_true(pthread_equal(counted.ran[1], pthread_self()));
  byoc_model_pool_release();
  atomic_store(&holders[TO_TAKE], NULL);
  assert_int_equal(atomic_load(&counted.shares), 2);
}

// The worker is about to sleep twice: until the caller has seen that it sleeps, and until the caller has woken it.
static void hold_asleep(worker_t *worker) {
  (void)worker;
  const int times = atomic_fetch_add(&held, 1) + 1;
  if (times == 1) {
    await_value(&woken, 1);
  } else if (times == 2) {
    await_value(&woken, 2);
  }
}

// The caller has seen that the worker sleeps, and wakes it when that has run its share and is about to sleep again.
static void hold_waking(worker_t *worker) {
  (void)worker;
  if (atomic_load(&woken) != 0) return;
  atomic_store(&woken, 1);
  await_value(&held, 2);
}

static void await_second(void *argument, int64_t begin, int64_t end, int32_t worker) {
  (void)begin;
  (void)end;
  counted_t *counted = argument;
  counted->ran[worker] = pthread_self();
  atomic_fetch_add(&counted->shares, 1);
  for (int wait = 0; wait < 50000 && worker == 0 && atomic_load(&counted->shares) < 2; wait++) usleep(1000);
}

// A caller that wakes the worker too late, when it is about to sleep once more: the next share finds it all the same.
static void test_a_late_wake_up_is_not_lost(void **state) {
  (void)state;
  atomic_store(&held, 0);
  atomic_store(&woken, 0);
  atomic_store(&holders[TO_SLEEP], hold_asleep);
  atomic_store(&holders[TO_WAKE], hold_waking);
  assert_int_equal(byoc_model_pool_acquire(2), 2);
  atomic_store(&pool.spin_turns, 1);
  await_value(&held, 1);
  counted_t counted = {0};
  byoc_model_pool_run(2, count_share, &counted, 2, 1);
  assert_int_equal(atomic_load(&counted.shares), 2);
  atomic_store(&woken, 2);
  usleep(20000); // it sleeps
  counted_t again = {0};
  byoc_model_pool_run(2, await_second, &again, 2, 1);
  assert_int_equal(atomic_load(&again.shares), 2);
  assert_false(pthread_equal(again.ran[1], pthread_self()));
  atomic_store(&holders[TO_SLEEP], NULL);
  atomic_store(&holders[TO_WAKE], NULL);
  byoc_model_pool_release();
}

static void *run_loops(void *self) {
  int *wrong = self;
  for (int i = 0; i < 300; i++) {
    loop_t loop = {0};
    if (i % 50 == 0 && byoc_model_pool_acquire(2 + i % 3) < 1) ++*wrong;
    byoc_model_pool_run(3, body, &loop, 100, 1);
    for (int k = 0; k < 100; k++) *wrong += atomic_load(&loop.hits[k]) != 1;
    if (i % 50 == 49) byoc_model_pool_release();
  }
  return NULL;
}

// A context that finds the pool busy runs its loop alone; users come and go.
static void test_callers_at_once(void **state) {
  (void)state;
  int32_t first = byoc_model_pool_acquire(3);
  assert_int_equal(first, 3);
  pthread_t threads[4];
  int wrong[4] = {0};
  for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, run_loops, &wrong[i]), 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < 4; i++) assert_int_equal(wrong[i], 0);
  byoc_model_pool_release();
}

static void test_threads_end_with_the_last_user(void **state) {
  (void)state;
  size_t before = byoc_test_count_entries("/proc/self/task");
  for (int i = 0; i < 20; i++) {
    byoc_model_pool_acquire(3);
    byoc_model_pool_acquire(5);
    assert_int_equal(byoc_test_count_entries("/proc/self/task"), before + 4);
    byoc_model_pool_release();
    loop_t loop = {0};
    byoc_model_pool_run(3, body, &loop, 50, 1);
    check(&loop, 50);
    byoc_model_pool_release();
    for (int wait = 0; wait < 20000 && byoc_test_count_entries("/proc/self/task") != before; wait++) usleep(1000);
    assert_int_equal(byoc_test_count_entries("/proc/self/task"), before);
  }
}

static void *set_up_again_and_again(void *ended) {
  while (!atomic_load((atomic_bool *)ended)) {
    byoc_model_set_up_begin();
    (void)sched_yield(); // most forks come here
    byoc_model_set_up_end();
  }
  return NULL;
}

// A lock that the other thread held would be held there for ever.
static void test_children_set_up(void **state) {
  (void)state;
  atomic_bool ended = false;
  pthread_t thread;
  byoc_model_set_up_begin();
  byoc_model_set_up_end();
  assert_int_equal(pthread_create(&thread, NULL, set_up_again_and_again, &ended), 0);
  int hung = 0;
  for (int i = 0; i < 50; i++) {
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      (void)alarm(20); // ends one that hangs
      byoc_model_set_up_begin();
      byoc_model_set_up_end();
      byoc_model_pool_acquire(2);
      byoc_model_pool_release();
      _exit(0);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    hung += status != 0;
    if (hung > 0) break;
  }
  atomic_store(&ended, true);
  (void)pthread_join(thread, NULL);
  assert_int_equal(hung, 0);
}

static void nested_body(void *argument, int64_t begin, int64_t end, int32_t worker) {
  (void)worker;
  for (int64_t i = begin; i < end; i++) byoc_model_pool_run(3, body, (loop_t *)argument + i, 30, 1);
}

// The contract does not allow this, but it does no harm.
static void test_nesting_does_not_hang(void **state) {
  (void)state;
  byoc_model_pool_acquire(3);
  loop_t loops[3] = {0};
  byoc_model_pool_run(3, nested_body, loops, 3, 1);
  for (int i = 0; i < 3; i++) check(&loops[i], 30);
  byoc_model_pool_release();
}

// A thread that never gets a processor: the others run its share, under its number.
static void test_shares_of_absent_threads_are_run(void **state) {
  (void)state;
  assert_int_equal(byoc_model_pool_acquire(3), 3);
  for (int i = 2; i < 4; i++) atomic_store(&pool.workers[i].ticket, 0); // two more that are never started
  atomic_store(&pool.worker_count, 4);
  for (int i = 0; i < 20; i++) {
    loop_t loop = {0};
    byoc_model_pool_run(5, body, &loop, 100, 1);
    check(&loop, 100);
    assert_int_equal(loop.shares, 5);
    assert_int_equal(loop.workers, 31);
  }
  atomic_store(&pool.worker_count, 2);
  byoc_model_pool_release();
}

// Loops beside other programs use the threads that repay themselves, and say what they took.
static void test_loops_beside_other_programs_use_fewer_threads(void **state) {
  (void)state;
  assert_int_equal(byoc_model_pool_acquire(3), 3);
  byoc_crowd_t crowd = {0};
  for (int i = 0; i < 100; i++) {
    loop_t loop = {0};
    byoc_model_pool_run_in_crowd(&crowd, 3, body, &loop, 100, 1);
    check(&loop, 100);
  }
  assert_true(crowd.held_ns > 0 || crowd.left_out_ns > 0);
  for (int32_t left_out = 1; left_out < 4; left_out++) {
    crowd = (byoc_crowd_t){.left_out = left_out, .left_ns = INT64_MAX};
    loop_t loop = {0};
    byoc_model_pool_run_in_crowd(&crowd, 3, body, &loop, 100, 1);
    check(&loop, 100);
    assert_int_equal(loop.shares, left_out == 1 ? 2 : 1);
  }
  byoc_model_pool_release();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_covers_every_iteration),
      cmocka_unit_test(test_sleeping_workers_wake),
      cmocka_unit_test(test_waiting_workers_rest),
      cmocka_unit_test(test_a_run_wakes_those_that_sleep),
      cmocka_unit_test(test_a_share_is_not_run_after_its_loop),
      cmocka_unit_test(test_a_late_wake_up_is_not_lost),
      cmocka_unit_test(test_callers_at_once),
      cmocka_unit_test(test_threads_end_with_the_last_user),
      cmocka_unit_test(test_children_set_up),
      cmocka_unit_test(test_nesting_does_not_hang),
      cmocka_unit_test(test_shares_of_absent_threads_are_run),
      cmocka_unit_test(test_loops_beside_other_programs_use_fewer_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

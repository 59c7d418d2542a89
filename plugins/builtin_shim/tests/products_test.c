// SPDX-License-Identifier: Apache-2.0
// Tests OpenBLAS' products under a pool of the caller's: they are right, run on its workers alone, allocate nothing,
// and several contexts run at once.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "openblas_products.h"

int32_t byoc_openblas_setup_auto(const byoc_runtime_t *runtime);

enum { WORKERS = 3 };

// ---- allocations of the library ----

static atomic_int allocations;
static atomic_bool memory_ends;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size) {
  ++allocations;
  return memory_ends ? NULL : __real_malloc(size);
}

// ---- a context ----

typedef struct context_t {
  byoc_runtime_t runtime;
  void *kept;
  int spread; // runs of parallel_for
  char error[160];
} context_t;

typedef struct share_t {
  byoc_parallel_body_t body;
  void *argument;
  int64_t begin, end;
  int32_t worker;
} share_t;

static void *run_share(void *argument) {
  const share_t *share = argument;
  share->body(share->argument, share->begin, share->end, share->worker);
  return NULL;
}

static void spread(void *self, byoc_parallel_body_t body, void *argument, int64_t count, int64_t grain) {
  ++((context_t *)self)->spread;
  const int64_t most = count / grain > 0 ? count / grain : 1, shares = most < WORKERS ? most : WORKERS;
  share_t of[WORKERS];
  pthread_t threads[WORKERS];
  for (int64_t i = 0; i < shares; ++i) {
    of[i] = (share_t){body, argument, count * i / shares, count * (i + 1) / shares, (int32_t)i};
    assert_int_equal(pthread_create(&threads[i], NULL, run_share, &of[i]), 0);
  }
  for (int64_t i = 0; i < shares; ++i) (void)pthread_join(threads[i], NULL);
}

static void *keep(void *self, const void *key, uint64_t size_bytes) {
  context_t *context = self;
  assert_non_null(key);
  if (context->kept == NULL) context->kept = aligned_alloc(64, (size_bytes + 63) / 64 * 64);
  return context->kept;
}

static void *keep_nothing(void *self, const void *key, uint64_t size_bytes) {
  (void)self, (void)key, (void)size_bytes;
  return NULL;
}

static void set_error(void *self, const char *message) {
  context_t *context = self;
  snprintf(context->error, sizeof(context->error), "%s", message);
}

static void open_context(context_t *context) {
  *context = (context_t){.runtime = {.struct_size = sizeof(byoc_runtime_t),
                                     .thread_count = WORKERS,
                                     .self = context,
                                     .parallel_for = spread,
                                     .set_error = set_error,
                                     .keep = keep}};
  assert_int_equal(byoc_openblas_setup_auto(&context->runtime), BYOC_OK);
}

static int count_threads(void) {
  DIR *folder = opendir("/proc/self/task");
  int count = 0;
  while (folder != NULL && readdir(folder) != NULL) ++count;
  if (folder != NULL) closedir(folder);
  return count - 2;
}

// ---- products ----

typedef struct case_t {
  int32_t m, n, k, count;
} case_t;

static const case_t cases[] = {{1, 1, 1, 1},       {3, 5, 7, 1},     {64, 64, 64, 1},
                               {200, 300, 100, 1}, {7, 2500, 33, 1}, {700, 9, 1000, 1},
                               {128, 128, 128, 5}, {12, 14, 16, 40}, {33, 1100, 129, 2}};

static double *make(int64_t count, int seed) {
  double *x = calloc((size_t)count, sizeof(*x));
  for (int64_t i = 0; i < count; ++i) x[i] = (double)((i * 7 + seed) % 13 - 6); // sums are exact
  return x;
}

static float *narrow(const double *x, int64_t count) {
  float *y = calloc((size_t)count, sizeof(*y));
  for (int64_t i = 0; i < count; ++i) y[i] = (float)x[i];
  return y;
}

static int multiply(const byoc_runtime_t *runtime, const case_t *c, int turn_a, int turn_b) {
  const int64_t m = c->m, n = c->n, k = c->k, a_count = m * k * c->count, b_count = k * n * c->count;
  const int64_t c_count = m * n * c->count;
  double *a = make(a_count, 1), *b = make(b_count, 2), *y = make(c_count, 3);
  float *a32 = narrow(a, a_count), *b32 = narrow(b, b_count), *y32 = narrow(y, c_count);
  int status =
      byoc_openblas_dgemm(runtime, c->count, turn_a, turn_b, c->m, c->n, c->k, 2, a, m * k, b, k * n, y, m * n);
  if (status == BYOC_OK) {
    status =
        byoc_openblas_sgemm(runtime, c->count, turn_a, turn_b, c->m, c->n, c->k, 2, a32, m * k, b32, k * n, y32, m * n);
  }
  int wrong = status;
  for (int64_t at = 0; at < c_count && status == BYOC_OK; ++at) {
    const int64_t turn = at / (m * n), row = at / n % m, column = at % n;
    double sum = 0;
    for (int64_t i = 0; i < k; ++i) {
      sum += a[turn * m * k + (turn_a ? i * m + row : row * k + i)] *
             b[turn * k * n + (turn_b ? column * k + i : i * n + column)];
    }
    if (y[at] != 2 * sum || (double)y32[at] != 2 * sum) wrong = 1;
  }
  free(a), free(b), free(y), free(a32), free(b32), free(y32);
  return wrong;
}

static void products_are_right(void **state) {
  (void)state;
  context_t context;
  open_context(&context);
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    for (int turns = 0; turns < 4; ++turns) {
      if (multiply(&context.runtime, &cases[i], turns & 1, turns >> 1) != 0) fail_msg("case %zu turned %d", i, turns);
    }
  }
  assert_true(context.spread > 0);
  free(context.kept);
}

static void vectors_are_right(void **state) {
  (void)state;
  context_t context;
  open_context(&context);
  static const int32_t sizes[][2] = {{1, 1}, {5, 9}, {300, 4000}, {4000, 300}, {3, 200000}, {200000, 3}};
  for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); ++s) {
    for (int turned = 0; turned < 2; ++turned) {
      const int64_t rows = sizes[s][0], columns = sizes[s][1];
      const int64_t results = turned ? columns : rows, terms = turned ? rows : columns;
      double *a = make(rows * columns, 1), *x = make(terms, 2), *y = make(results, 3);
      float *a32 = narrow(a, rows * columns), *x32 = narrow(x, terms), *y32 = narrow(y, results);
      assert_int_equal(byoc_openblas_dgemv(&context.runtime, turned, sizes[s][0], sizes[s][1], 3, a, x, y), BYOC_OK);
      assert_int_equal(byoc_openblas_sgemv(&context.runtime, turned, sizes[s][0], sizes[s][1], 3, a32, x32, y32),
                       BYOC_OK);
      for (int64_t r = 0; r < results; ++r) {
        double sum = 0;
        for (int64_t t = 0; t < terms; ++t) sum += a[turned ? t * columns + r : r * columns + t] * x[t];
        assert_true(y[r] == 3 * sum);
        assert_true((double)y32[r] == 3 * sum);
      }
      free(a), free(x), free(y), free(a32), free(x32), free(y32);
    }
  }
  free(context.kept);
}

// Contexts of several threads do not wait for a common lock, and a run allocates nothing.
static void runs_allocate_nothing_and_start_no_thread(void **state) {
  (void)state;
  context_t context;
  open_context(&context);
  context.runtime.thread_count = 1;
  const int threads = count_threads();
  static float a[256 * 256], b[256 * 256], y[256 * 256];
  static double a64[100 * 100], b64[100 * 100], y64[100 * 100];
  allocations = 0;
  for (int i = 0; i < 10; ++i) {
    assert_int_equal(byoc_openblas_sgemm(&context.runtime, 1, 0, 0, 256, 256, 256, 1, a, 0, b, 0, y, 0), BYOC_OK);
    assert_int_equal(byoc_openblas_sgemv(&context.runtime, 0, 256, 256, 1, a, b, y), BYOC_OK);
  }
  // Kernels of their own for small products.
  static const int32_t sizes[] = {1, 5, 8, 40, 64, 100};
  enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };
  for (int i = 0; i < SIZES * SIZES * SIZES * 4; ++i) {
    const int32_t m = sizes[i / 4 % SIZES], n = sizes[i / 4 / SIZES % SIZES], k = sizes[i / 4 / SIZES / SIZES];
    assert_int_equal(byoc_openblas_sgemm(&context.runtime, 1, i & 1, i >> 1 & 1, m, n, k, 1, a, 0, b, 0, y, 0),
                     BYOC_OK);
    assert_int_equal(byoc_openblas_dgemm(&context.runtime, 1, i & 1, i >> 1 & 1, m, n, k, 1, a64, 0, b64, 0, y64, 0),
                     BYOC_OK);
  }
  assert_int_equal(allocations, 0);
  assert_int_equal(count_threads(), threads);
  free(context.kept);
}

static void memory_that_ends_is_a_status(void **state) {
  (void)state;
  context_t context;
  open_context(&context);
  float a[4] = {1, 2, 3, 4}, y[4];
  context.runtime.keep = keep_nothing;
  memory_ends = true;
  const int32_t product = byoc_openblas_sgemm(&context.runtime, 1, 0, 0, 2, 2, 2, 1, a, 0, a, 0, y, 0);
  const int32_t vector = byoc_openblas_sgemv(&context.runtime, 0, 2, 2, 1, a, a, y);
  const int32_t setup = byoc_openblas_setup_auto(&context.runtime);
  memory_ends = false;
  assert_int_equal(product, BYOC_OUT_OF_MEMORY);
  assert_int_equal(vector, BYOC_OUT_OF_MEMORY);
  assert_int_equal(setup, BYOC_OUT_OF_MEMORY);
  assert_non_null(strstr(context.error, "out of memory"));
  free(context.kept);
}

static void *run_beside(void *argument) {
  context_t context;
  open_context(&context);
  context.runtime.thread_count = 1;
  for (int i = 0; i < 5; ++i) {
    if (multiply(&context.runtime, &cases[3], 0, i % 2) != 0) ++*(atomic_int *)argument;
  }
  free(context.kept);
  return NULL;
}

static void contexts_run_side_by_side(void **state) {
  (void)state;
  pthread_t threads[8];
  atomic_int wrong = 0;
  for (int i = 0; i < 8; ++i) assert_int_equal(pthread_create(&threads[i], NULL, run_beside, &wrong), 0);
  for (int i = 0; i < 8; ++i) (void)pthread_join(threads[i], NULL);
  assert_int_equal(wrong, 0);
}

// ---- as fast as alone ----

enum { CROWD = 8, ROUNDS = 20, PRODUCTS = 20 };

typedef struct pace_t {
  pthread_barrier_t *barrier; // NULL: alone
  int64_t fastest_ns;         // of a round
  int64_t sleeps;             // of all rounds
} pace_t;

static int64_t processor_time_ns(void) {
  struct timespec time;
  assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time), 0);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static int64_t count_sleeps(void) {
  struct rusage usage;
  assert_int_equal(getrusage(RUSAGE_THREAD, &usage), 0);
  return usage.ru_nvcsw;
}

static void *measure(void *argument) {
  enum { N = 96 };
  pace_t *pace = argument;
  context_t context;
  float *a = calloc((size_t)3 * N * N, sizeof(*a));
  assert_non_null(a);
  open_context(&context);
  context.runtime.thread_count = 1;
  if (pace->barrier != NULL) (void)pthread_barrier_wait(pace->barrier);
  const int64_t slept = count_sleeps();
  pace->fastest_ns = INT64_MAX;
  for (int round = 0; round < ROUNDS; ++round) {
    const int64_t began_ns = processor_time_ns();
    for (int i = 0; i < PRODUCTS; ++i) {
      assert_int_equal(byoc_openblas_sgemm(&context.runtime, 1, 0, 0, N, N, N, 1, a, 0, a + N * N, 0, a + 2 * N * N, 0),
                       BYOC_OK);
    }
    const int64_t took_ns = processor_time_ns() - began_ns;
    if (took_ns < pace->fastest_ns) pace->fastest_ns = took_ns;
  }
  pace->sleeps = count_sleeps() - slept;
  free(a);
  free(context.kept);
  return NULL;
}

// A lock that they shared would show as sleeps, or as processor time if they turn in front of it; neither depends on
// what else the machine does. Threads of one core share its units, so that processor time may double.
static void contexts_do_not_wait_for_each_other(void **state) {
  (void)state;
  pace_t alone = {0}, crowd[CROWD] = {0};
  pthread_barrier_t barrier;
  pthread_t threads[CROWD];
  measure(&alone);
  assert_int_equal(pthread_barrier_init(&barrier, NULL, CROWD), 0);
  for (int i = 0; i < CROWD; ++i) {
    crowd[i].barrier = &barrier;
    assert_int_equal(pthread_create(&threads[i], NULL, measure, &crowd[i]), 0);
  }
  int64_t most_ns = 0, sleeps = 0;
  for (int i = 0; i < CROWD; ++i) {
    (void)pthread_join(threads[i], NULL);
    if (crowd[i].fastest_ns > most_ns) most_ns = crowd[i].fastest_ns;
    sleeps += crowd[i].sleeps;
  }
  assert_int_equal(pthread_barrier_destroy(&barrier), 0);
  print_message("%d contexts: %.2f of one's processor time, %lld sleeps in %d products\n", CROWD,
                (double)most_ns / (double)alone.fastest_ns, (long long)sleeps, CROWD * ROUNDS * PRODUCTS);
  assert_true(most_ns < 3 * alone.fastest_ns);
  assert_true(sleeps < 2 * CROWD); // a lock around each product: 80 to 180
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_are_right),
      cmocka_unit_test(vectors_are_right),
      cmocka_unit_test(runs_allocate_nothing_and_start_no_thread),
      cmocka_unit_test(memory_that_ends_is_a_status),
      cmocka_unit_test(contexts_run_side_by_side),
      cmocka_unit_test(contexts_do_not_wait_for_each_other),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

// SPDX-License-Identifier: Apache-2.0
// Runs that end early, by their time or by the caller's flag, compiled and evaluated; and the context runs again.
#include <pthread.h>
#include <time.h>

#include "both_ways.h"

enum { SIDE = 64, ELEMENTS = SIDE * SIDE };

static const char product[] = "module {\n  func @main(%x : f32[64,64]) -> (%y : f32[64,64]) {\n"
                              "    %y = MatMul@13(%x, %x) : f32[64,64]\n    return %y\n  }\n}\n";

// As long as %go is true, it goes on.
static const char endless[] =
    "module {\n  func @main(%go : bool[], %x : f32[2]) -> (%y : f32[2]) {\n"
    "    %y = Loop@16(_, %go, %x) [body (%i : i64[], %k : bool[], %v : f32[2]) -> (%k : bool[], %w : f32[2]) {\n"
    "      %w = Neg@13(%v) : f32[2]\n      return %k, %w\n    }] : f32[2]\n    return %y\n  }\n}\n";

static byoc_context_t *create(const model_t *m, byoc_context_options_t options) {
  byoc_context_t *context = NULL;
  options.struct_size = sizeof(options);
  if (m->artifact.table->create(&options, &context) != BYOC_OK) fail_msg("%s", m->artifact.table->last_error(NULL));
  return context;
}

static void expect(const model_t *m, const byoc_context_t *context, int32_t status, int32_t wanted, const char *text) {
  if (status != wanted || strstr(m->artifact.table->last_error(context), text) == NULL) {
    fail_msg("%d, %s", (int)status, m->artifact.table->last_error(context));
  }
}

static void fill(float *x) {
  for (int i = 0; i < ELEMENTS; ++i) x[i] = (float)(i % 17 - 8);
}

static bool is_product(const float *x, const float *y) {
  for (int i = 0; i < ELEMENTS; ++i) {
    float sum = 0;
    for (int k = 0; k < SIDE; ++k) sum += x[i / SIDE * SIDE + k] * x[k * SIDE + i % SIDE];
    if (y[i] != sum) return false;
  }
  return true;
}

// One that is short does not begin, either.
static void a_short_run_that_is_cancelled(void **state) {
  (void)state;
  const volatile int32_t cancel = 1;
  const float x[2] = {1, 2};
  float y[2] = {7, 7};
  model_t m;
  open_model(
      "module {\n  func @main(%x : f32[2]) -> (%y : f32[2]) {\n    %y = Neg@13(%x) : f32[2]\n    return %y\n  }\n}\n",
      &m);
  byoc_context_t *context = create(&m, (byoc_context_options_t){.cancel = &cancel});
  const void *inputs[1] = {x};
  void *outputs[1] = {y};
  for (int k = 0; k < 2; ++k) {
    expect(&m, context, m.artifact.table->run(context, inputs, outputs), BYOC_CANCELLED,
           "the caller cancelled the run");
    assert_true(y[0] == 7);
  }
  m.artifact.table->destroy(context);
  close_model(&m);
}

static void a_flag_that_is_set_before(void **state) {
  (void)state;
  static float x[ELEMENTS], y[ELEMENTS];
  volatile int32_t cancel = 1;
  model_t m;
  open_model(product, &m);
  fill(x);
  byoc_context_t *context = create(&m, (byoc_context_options_t){.cancel = &cancel});
  const void *inputs[1] = {x};
  void *outputs[1] = {y};
  expect(&m, context, m.artifact.table->run(context, inputs, outputs), BYOC_CANCELLED, "the caller cancelled the run");
  cancel = 0;
  assert_int_equal(m.artifact.table->run(context, inputs, outputs), BYOC_OK);
  assert_true(is_product(x, y));
  m.artifact.table->destroy(context);
  close_model(&m);
}

// A pool whose first loop sets the flag, if it is armed.
typedef struct {
  volatile int32_t cancel;
  bool is_armed;
} setter_t;

static void run_and_set(void *self, void (*body)(void *, int64_t, int64_t, int32_t), void *argument, int64_t count,
                        int64_t grain) {
  setter_t *setter = self;
  (void)grain;
  if (setter->is_armed) setter->cancel = 1;
  body(argument, 0, count / 2, 0);
  body(argument, count / 2, count, 1);
}

// The flag is seen inside of a kernel: what it would have computed from then on is left out.
static void a_flag_that_is_set_in_a_kernel(void **state) {
  (void)state;
  static float x[ELEMENTS], y[ELEMENTS];
  setter_t setter = {.is_armed = true};
  const byoc_thread_pool_t pool = {
      .struct_size = sizeof(pool), .thread_count = 2, .self = &setter, .parallel_for = run_and_set};
  model_t m;
  open_model(product, &m);
  fill(x);
  byoc_context_t *context = create(&m, (byoc_context_options_t){.cancel = &setter.cancel, .pool = &pool});
  const void *inputs[1] = {x};
  void *outputs[1] = {y};
  for (int i = 0; i < ELEMENTS; ++i) y[i] = 7;
  expect(&m, context, m.artifact.table->run(context, inputs, outputs), BYOC_CANCELLED, "MatMul");
  for (int i = 0; i < ELEMENTS; ++i) assert_true(y[i] == 7);
  setter = (setter_t){0};
  assert_int_equal(m.artifact.table->run(context, inputs, outputs), BYOC_OK);
  assert_true(is_product(x, y));
  m.artifact.table->destroy(context);
  close_model(&m);
}

// Parts of a share make what the share would have.
static void a_limit_that_is_not_reached(void **state) {
  (void)state;
  static float x[ELEMENTS], y[ELEMENTS];
  model_t m;
  open_model(product, &m);
  fill(x);
  for (int32_t threads = 1; threads < 4; ++threads) {
    byoc_context_t *context = create(&m, (byoc_context_options_t){.thread_count = threads, .timeout_ms = UINT64_MAX});
    const void *inputs[1] = {x};
    void *outputs[1] = {y};
    memset(y, 0, sizeof(y));
    assert_int_equal(m.artifact.table->run(context, inputs, outputs), BYOC_OK);
    assert_true(is_product(x, y));
    m.artifact.table->destroy(context);
  }
  close_model(&m);
}

static void run_endless(const model_t *m, byoc_context_t *context, int32_t wanted, const char *text) {
  const int64_t dims[1] = {2};
  const float x[2] = {1, 2};
  bool goes_on = true;
  const byoc_argument_t inputs[2] = {tensor(BYOC_DTYPE_BOOL, 0, NULL, &goes_on), floats(1, dims, x)};
  byoc_argument_t results[1];
  expect(m, context, m->artifact.table->run_arguments(context, inputs, results), wanted, text);
  goes_on = false;
  byoc_argument_t again[1];
  if (wanted == BYOC_CANCELLED) return; // the flag is still set
  assert_int_equal(m->artifact.table->run_arguments(context, inputs, again), BYOC_OK);
  assert_true(at(&again[0], 0) == 1 && at(&again[0], 1) == 2);
}

static void *set_soon(void *flag) {
  const struct timespec wait = {.tv_nsec = 20000000};
  (void)nanosleep(&wait, NULL);
  __atomic_store_n((volatile int32_t *)flag, 1, __ATOMIC_RELAXED);
  return NULL;
}

static void endless_loops(void **state) {
  (void)state;
  model_t m;
  open_model(endless, &m);
  byoc_context_t *context = create(&m, (byoc_context_options_t){.timeout_ms = 20});
  run_endless(&m, context, BYOC_TIMED_OUT, "the run took longer than 20 ms, the limit that the caller set");
  run_endless(&m, context, BYOC_TIMED_OUT, "20 ms"); // each run has its own time
  m.artifact.table->destroy(context);

  volatile int32_t cancel = 0;
  pthread_t thread;
  context = create(&m, (byoc_context_options_t){.cancel = &cancel});
  assert_int_equal(pthread_create(&thread, NULL, set_soon, (void *)&cancel), 0);
  run_endless(&m, context, BYOC_CANCELLED, "the caller cancelled the run");
  assert_int_equal(pthread_join(thread, NULL), 0);
  m.artifact.table->destroy(context);
  close_model(&m);
}

static void evaluated_runs(void **state) {
  (void)state;
  const int64_t dims[1] = {2};
  const float x[2] = {1, 2};
  bool goes_on = true;
  byoc_argument_t results[1];
  const byoc_argument_t inputs[2] = {tensor(BYOC_DTYPE_BOOL, 0, NULL, &goes_on), floats(1, dims, x)};
  model_t m;
  open_model(endless, &m);
  byoc_diag_t diag = {0};
  byoc_evaluator_set_stop(m.evaluator, 20, NULL);
  assert_int_equal(byoc_evaluator_run_arguments(m.evaluator, inputs, results, &diag), BYOC_TIMED_OUT);
  assert_non_null(strstr(diag.message, "the run took longer than 20 ms"));
  const volatile int32_t cancel = 1;
  diag = (byoc_diag_t){0};
  byoc_evaluator_set_stop(m.evaluator, 0, &cancel);
  assert_int_equal(byoc_evaluator_run_arguments(m.evaluator, inputs, results, &diag), BYOC_CANCELLED);
  byoc_evaluator_set_stop(m.evaluator, 0, NULL);
  goes_on = false;
  byoc_test_ok(byoc_evaluator_run_arguments(m.evaluator, inputs, results, &diag), &diag);
  close_model(&m);
}

// Arrays and fields of arguments that are NULL.
static void what_is_missing(void **state) {
  (void)state;
  model_t m;
  open_model(endless, &m);
  const byoc_artifact_t *table = m.artifact.table;
  const int64_t dims[1] = {2};
  const float x[2] = {1, 2};
  const bool goes_on = false;
  byoc_argument_t inputs[2] = {tensor(BYOC_DTYPE_BOOL, 0, NULL, &goes_on), floats(1, dims, x)}, results[1];
  expect(&m, m.context, table->run_arguments(m.context, NULL, results), BYOC_INVALID_ARGUMENT, "`inputs` is NULL");
  expect(&m, m.context, table->run_arguments(m.context, inputs, NULL), BYOC_INVALID_ARGUMENT, "`outputs` is NULL");
  expect(&m, m.context, table->run_with(m.context, NULL, results, NULL), BYOC_INVALID_ARGUMENT, "`inputs` is NULL");
  inputs[1].dims = NULL;
  expect(&m, m.context, table->run_arguments(m.context, inputs, results), BYOC_INVALID_ARGUMENT,
         "the dimensions of the input 'x' are NULL");
  inputs[1].dims = dims;
  assert_int_equal(table->run_arguments(m.context, inputs, results), BYOC_OK);
  close_model(&m);
  open_model(product, &m);
  void *outputs[1] = {&m};
  expect(&m, m.context, m.artifact.table->run(m.context, NULL, outputs), BYOC_INVALID_ARGUMENT, "`inputs` is NULL");
  close_model(&m);
}

// One limit, wherever the number comes from.
static void numbers_of_threads(void **state) {
  (void)state;
  model_t m;
  open_model(product, &m);
  setter_t setter = {0};
  byoc_thread_pool_t pool = {
      .struct_size = sizeof(pool), .thread_count = 257, .self = &setter, .parallel_for = run_and_set};
  byoc_context_options_t options = {.struct_size = sizeof(options), .pool = &pool};
  byoc_context_t *context = NULL;
  assert_int_equal(m.artifact.table->create(&options, &context), BYOC_INVALID_ARGUMENT);
  assert_non_null(strstr(m.artifact.table->last_error(NULL), "1 to 256 threads; it has 257"));
  options = (byoc_context_options_t){.struct_size = sizeof(options), .thread_count = 257};
  assert_int_equal(m.artifact.table->create(&options, &context), BYOC_INVALID_ARGUMENT);
  assert_non_null(strstr(m.artifact.table->last_error(NULL), "the thread count 257 is not between 0 and 256"));
  close_model(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_short_run_that_is_cancelled),
      cmocka_unit_test(a_flag_that_is_set_before),
      cmocka_unit_test(a_flag_that_is_set_in_a_kernel),
      cmocka_unit_test(a_limit_that_is_not_reached),
      cmocka_unit_test(endless_loops),
      cmocka_unit_test(evaluated_runs),
      cmocka_unit_test(what_is_missing),
      cmocka_unit_test(numbers_of_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

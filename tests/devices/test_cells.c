// SPDX-License-Identifier: Apache-2.0
// Values of open sizes in programs on the driver `sim`: what runs do when the device's memory is short, and what is
// left of those that fail.
#include "tests/devices/program.h"
#include "tests/support/command.h"

enum { MOST = 1200 };

// y = 8 x; at most two values are alive at a time.
#define PROGRAM(queues)                                                                                                \
  "host program \"p\" dynamic workspace 0 bound 0 live 0 {\n symbol N of inputs\n"                                     \
  " device %d = \"sim\" 0 type 12\n queue %q on %d\n " queues " event %e on %d\n"                                      \
  " input %x : value f32[N]\n output %y : value f32[N]\n local %h : value f32[N]\n"                                    \
  " local %t : value f32[N] on %d\n local %u : value f32[N] on %d\n local %v : value f32[N] on %d\n"                   \
  " local %w : value f32[N] on %d\n match %x binds N at 0\n allocate %t\n copy %x -> %t on %q\n" DOUBLE("%t", "%u")    \
      DOUBLE("%u", "%v") DOUBLE(                                                                                       \
          "%v",                                                                                                        \
          "%w") " allocate %h\n copy %w -> %h on %q signals %e\n free %w\n await (%e)\n share %h -> %y\n free %h\n}\n"
#define DOUBLE(from, to)                                                                                               \
  " allocate " to "\n launch \"kernels\" \"scale\" grid [N, 1, 1] block [1, 1, 1] (" from ") -> (" to ") with "        \
  "(operand 0, result 0, f32 2.0, i64 N) on %q\n free " from "\n"
static const char one_queue[] = PROGRAM(""), two_queues[] = PROGRAM("queue %other on %d\n");

static float x[MOST];

static void check(const byoc_argument_t *y, int64_t count, float factor) {
  assert_int_equal(y->dims[0], count);
  for (int64_t k = 0; k < count; ++k) assert_true(((const float *)y->data)[k] == factor * x[k]);
}

static int32_t evaluate(const program_t *p, int64_t count, float factor, byoc_diag_t *diag) {
  const byoc_argument_t input = {.dtype = BYOC_DTYPE_F32, .rank = 1, .dims = &count, .data = x};
  byoc_argument_t output = {0};
  *diag = (byoc_diag_t){0};
  const byoc_status_t status = byoc_evaluator_run_arguments(p->evaluator, &input, &output, diag);
  if (status == BYOC_OK) check(&output, count, factor);
  return status;
}

static int32_t run(const program_t *p, int64_t count, float factor) {
  const byoc_argument_t input = {.dtype = BYOC_DTYPE_F32, .rank = 1, .dims = &count, .data = x};
  byoc_argument_t output = {0};
  const int32_t status = p->artifact.table->run_arguments(p->context, &input, &output);
  if (status == BYOC_OK) check(&output, count, factor);
  return status;
}

static void run_both(const program_t *p, int64_t count, float factor) {
  byoc_diag_t diag;
  byoc_test_ok(evaluate(p, count, factor, &diag), &diag);
  if (run(p, count, factor) != BYOC_OK) fail_msg("%s", p->artifact.table->last_error(p->context));
}

// Each value gets 4096 bytes. With two queues, what a run is done with is taken again before the run ends.
static void test_queues_wait_where_memory_is_short(void **state) {
  (void)state;
  static const char *const options[] = {"memory=9000", "memory=9000,delay=100", "memory=9000,order=2"};
  for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); ++k) {
    program_t p;
    setenv("BYOC_SIM", options[k], 1);
    program_open(&p, two_queues, "plan-memory");
    for (int turn = 0; turn < 3; ++turn) run_both(&p, 1000, 8);
    program_close(&p);
  }
  unsetenv("BYOC_SIM");
}

// 4100 bytes get 5120, of which there is room for one.
static void test_blocks_are_as_large_as_there_is_room(void **state) {
  (void)state;
  static const char *const texts[] = {one_queue, two_queues};
  for (size_t k = 0; k < 2; ++k) {
    program_t p;
    setenv("BYOC_SIM", "memory=9300", 1);
    program_open(&p, texts[k], "plan-memory");
    run_both(&p, 1025, 8);
    run_both(&p, 1000, 8);
    run_both(&p, 1025, 8);
    byoc_diag_t diag;
    assert_int_equal(evaluate(&p, MOST, 8, &diag), BYOC_OUT_OF_MEMORY);
    assert_non_null(strstr(diag.message, "the device 'sim' has no 4800 bytes for a value: "));
    assert_int_equal(run(&p, MOST, 8), BYOC_OUT_OF_MEMORY);
    run_both(&p, 1025, 8);
    program_close(&p);
  }
  unsetenv("BYOC_SIM");
}

static byoc_device_scope_t limited_scope;

static int32_t describe_limited(byoc_device_t *device, byoc_device_info_t *out_info) {
  const int32_t status = sim_driver.describe(device, out_info);
  limited_scope = out_info->scopes[0];
  limited_scope.allocation_size = 4500;
  out_info->scopes = &limited_scope;
  out_info->scope_count = 1;
  return status;
}

// What a device gives at once is compared with what the value needs.
static void test_a_value_may_be_as_large_as_an_allocation(void **state) {
  (void)state;
  byoc_driver_t limited = sim_driver;
  limited.describe = describe_limited;
  program_t p;
  byoc_diag_t diag = {0};
  program_parse(&p, one_queue, "plan-memory");
  byoc_graph_module_find_runtime_module(p.module, "sim")->driver = &limited;
  byoc_test_ok(program_evaluate(&p, &diag), &diag);
  byoc_test_ok(evaluate(&p, 1025, 8, &diag), &diag);
  byoc_test_ok(evaluate(&p, 1125, 8, &diag), &diag);
  assert_int_equal(evaluate(&p, 1126, 8, &diag), BYOC_OUT_OF_MEMORY);
  assert_non_null(strstr(diag.message, "gives 4500 bytes at once, and 4504 are needed for a value"));
  program_close(&p);
}

// program_close sees what is left on the device.
static void test_failed_runs_leave_nothing(void **state) {
  (void)state;
  static const char *const texts[] = {one_queue, two_queues};
  for (int number = 1; number <= 6; ++number) {
    char option[64];
    byoc_diag_t diag;
    program_t p;
    snprintf(option, sizeof(option), "fail=launch:%d", (number + 1) / 2);
    setenv("BYOC_SIM", option, 1);
    program_open(&p, texts[number % 2], "plan-memory");
    assert_int_not_equal(evaluate(&p, 1000, 8, &diag), BYOC_OK);
    assert_int_not_equal(run(&p, 1000, 8), BYOC_OK);
    program_close(&p);
  }
  unsetenv("BYOC_SIM");
}

static void count_event(void *argument, const byoc_trace_event_t *event) {
  (void)event;
  *(int *)argument += 1;
}

// The second copy is the one that reads back what the first one has made.
static void test_h16_a_trace_that_cannot_be_read_back_fails(void **state) {
  (void)state;
  program_t p;
  byoc_diag_t diag = {0};
  int64_t count = 1000;
  int events = 0;
  const byoc_argument_t input = {.dtype = BYOC_DTYPE_F32, .rank = 1, .dims = &count, .data = x};
  byoc_argument_t output = {0};
  setenv("BYOC_SIM", "fail=copy:2", 1);
  program_open(&p, one_queue, "plan-memory");
  assert_int_not_equal(p.artifact.table->trace(p.context, &input, &output, count_event, &events), BYOC_OK);
  assert_non_null(strstr(p.artifact.table->last_error(p.context), "the device 'sim'"));
  byoc_test_ok(byoc_evaluator_trace(p.evaluator, count_event, &events, &diag), &diag);
  assert_int_not_equal(byoc_evaluator_run_arguments(p.evaluator, &input, &output, &diag), BYOC_OK);
  assert_non_null(strstr(diag.message, "the device 'sim'"));
  assert_int_equal(events, 0); // nothing went on behind it
  program_close(&p);
  unsetenv("BYOC_SIM");
}

// A value that no command uses is in memory all the same.
static void test_values_need_no_command(void **state) {
  (void)state;
  static const char text[] =
      "host program \"p\" dynamic workspace 0 bound 0 live 0 {\n symbol N of inputs\n"
      " device %d = \"sim\" 0 type 12\n queue %q on %d\n input %x : value f32[N]\n output %y : value f32[N]\n"
      " local %t : value f32[N] on %d\n local %u : value f32[N] on %d scope \"constant\"\n"
      " match %x binds N at 0\n allocate %t\n allocate %u\n free %u\n free %t\n share %x -> %y\n}\n";
  program_t p;
  program_open(&p, text, "plan-memory");
  run_both(&p, 1000, 1);
  program_close(&p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_queues_wait_where_memory_is_short),
      cmocka_unit_test(test_blocks_are_as_large_as_there_is_room),
      cmocka_unit_test(test_a_value_may_be_as_large_as_an_allocation),
      cmocka_unit_test(test_failed_runs_leave_nothing),
      cmocka_unit_test(test_h16_a_trace_that_cannot_be_read_back_fails),
      cmocka_unit_test(test_values_need_no_command),
  };
  for (int k = 0; k < MOST; ++k) x[k] = (float)(k % 251) - 100;
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}

// SPDX-License-Identifier: Apache-2.0
// A model of open sizes on the driver `sim`: its values live on the device, through a loop and a branch, in memory that
// later runs take again; what happens when any call to the driver fails; queues that run in any order.
#include <math.h>
#include <stdlib.h>

#include "core/base/file.h"
#include "core/loader/loader.h"
#include "tests/devices/log.h"
#include "tests/support/command.h"

enum { COLUMNS = 4, MOST_ROWS = 70, TURNS = 3, INPUTS = 5, OUTPUTS = 3 };

typedef struct open_model_t {
  byoc_loaded_artifact_t device, plain;
  float x[MOST_ROWS * COLUMNS], w[COLUMNS * COLUMNS];
} open_model_t;

static open_model_t model;

static const char text[] = "module {\n"
                           "  func @main(%x : f32[N,4], %w : f32[4,4], %n : i64[], %go : bool[], %c : bool[]) -> "
                           "(%y : f32[N,4], %all : f32[T,N,4], %z : f32[N,4]) {\n"
                           "    %a = Relu@14(%x) : f32[N,4]\n"
                           "    %l, %all = Loop@16(%n, %go, %a) [body (%i : i64[], %k : bool[], %v : f32[N,4]) -> "
                           "(bool[], f32[N,4], f32[N,4]) {\n"
                           "      %k1 = Identity@16(%k) : bool[]\n"
                           "      %m = MatMul@13(%v, %w) : f32[N,4]\n"
                           "      %t = Tanh@13(%m) : f32[N,4]\n"
                           "      %s = Neg@13(%t) : f32[N,4]\n"
                           "      return %k1, %t, %s\n"
                           "    }] : f32[N,4], f32[T,N,4]\n"
                           "    %y = Sigmoid@13(%l) : f32[N,4]\n"
                           "    %b = If@16(%c) [then_branch () -> (f32[N,4]) {\n"
                           "      %b1 = Add@14(%l, %a) : f32[N,4]\n"
                           "      return %b1\n"
                           "    }, else_branch () -> (f32[N,4]) {\n"
                           "      %b2 = Neg@13(%a) : f32[N,4]\n"
                           "      return %b2\n"
                           "    }] : f32[N,4]\n"
                           "    %z = Tanh@13(%b) : f32[N,4]\n"
                           "    return %y, %all, %z\n"
                           "  }\n"
                           "}\n";

static void set_option(const char *option) {
  setenv("BYOC_SIM", option, 1);
}

static int open_model(void **state) {
  byoc_diag_t diag = {0};
  if (byoc_test_enter_folder(state) != 0) return 1;
  setenv("BYOC_PLUGIN_PATH", BYOC_TEST_BUILD_DIR "/tests/plugins/good", 1);
  byoc_test_ok(byoc_file_write("open.byoc", text, sizeof(text) - 1, &diag), &diag);
  byoc_test_shell(0, "byoc build open.byoc --target 'simdev; c' --plan greedy --threads 1 -o device.so && "
                     "byoc build open.byoc --target c --threads 1 -o plain.so");
  byoc_test_ok(byoc_artifact_load("./device.so", &diag, &model.device), &diag);
  byoc_test_ok(byoc_artifact_load("./plain.so", &diag, &model.plain), &diag);
  for (int k = 0; k < MOST_ROWS * COLUMNS; ++k) model.x[k] = (float)(k * 7919 % 255) / 255 - 0.25F;
  for (int k = 0; k < COLUMNS * COLUMNS; ++k) model.w[k] = (float)(k * 31 % 17) / 17 - 0.5F;
  return 0;
}

static int close_model(void **state) {
  byoc_artifact_unload(&model.device);
  byoc_artifact_unload(&model.plain);
  return byoc_test_leave_folder(state);
}

static int32_t run(const byoc_artifact_t *table, byoc_context_t *context, int64_t rows, bool takes_then,
                   byoc_argument_t *outputs) {
  static const int64_t turns = TURNS;
  static const uint8_t yes = 1;
  const uint8_t condition = takes_then;
  const int64_t x_dims[] = {rows, COLUMNS}, w_dims[] = {COLUMNS, COLUMNS};
  const byoc_argument_t inputs[INPUTS] = {
      {.dtype = BYOC_DTYPE_F32, .rank = 2, .dims = x_dims, .data = model.x},
      {.dtype = BYOC_DTYPE_F32, .rank = 2, .dims = w_dims, .data = model.w},
      {.dtype = BYOC_DTYPE_I64, .data = (void *)(uintptr_t)&turns},
      {.dtype = BYOC_DTYPE_BOOL, .data = (void *)(uintptr_t)&yes},
      {.dtype = BYOC_DTYPE_BOOL, .data = (void *)(uintptr_t)&condition},
  };
  return table->run_arguments(context, inputs, outputs);
}

// A run that succeeded gave what the processor gives.
static void compare(int64_t rows, bool takes_then, const byoc_argument_t *outputs) {
  const byoc_artifact_t *table = model.plain.table;
  byoc_argument_t expected[OUTPUTS] = {{0}};
  byoc_context_t *context = NULL;
  assert_int_equal(table->create(NULL, &context), BYOC_OK);
  assert_int_equal(run(table, context, rows, takes_then, expected), BYOC_OK);
  for (int i = 0; i < OUTPUTS; ++i) {
    int64_t count = 1;
    assert_int_equal(outputs[i].rank, expected[i].rank);
    for (uint32_t d = 0; d < outputs[i].rank; ++d) {
      assert_int_equal(outputs[i].dims[d], expected[i].dims[d]);
      count *= outputs[i].dims[d];
    }
    const float *a = outputs[i].data, *b = expected[i].data;
    for (int64_t k = 0; k < count; ++k) assert_true(fabsf(a[k] - b[k]) < 1e-5F);
  }
  table->destroy(context);
}

static void run_and_compare(byoc_context_t *context, int64_t rows, bool takes_then) {
  byoc_argument_t outputs[OUTPUTS] = {{0}};
  const byoc_artifact_t *table = model.device.table;
  if (run(table, context, rows, takes_then, outputs) != BYOC_OK) fail_msg("%s", table->last_error(context));
  compare(rows, takes_then, outputs);
}

static void test_sizes_are_those_of_the_run(void **state) {
  (void)state;
  static const char *const options[] = {"", "delay=20", "order=1", "order=2", "unified", "order=3,delay=20"};
  static const int64_t rows[] = {3, 5, 1, 0, MOST_ROWS, 3, 64, 65};
  for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); ++k) {
    byoc_context_t *context = NULL;
    set_option(options[k]);
    if (model.device.table->create(NULL, &context) != BYOC_OK) fail_msg("%s", model.device.table->last_error(NULL));
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); ++r) run_and_compare(context, rows[r], r % 2 == 0);
    model.device.table->destroy(context);
  }
  set_option("");
}

// What goes in and out of blocks stays on the device: only inputs, outputs and what is stacked are copied.
static void test_blocks_carry_values_on_the_device(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build open.byoc --target 'simdev; c' --plan greedy --emit host > open.host && "
                     "grep -c 'copy %%' open.host");
  assert_string_equal(byoc_test_output(), "5\n"); // x, w; what a turn stacks; y, z
  byoc_test_shell(0, "sed -n '/^  loop/,/^  }/p' open.host | grep -c 'copy %%'");
  assert_string_equal(byoc_test_output(), "1\n");
}

// The second run of a size finds its memory, and so does one of nearly that size.
static void test_memory_is_taken_again(void **state) {
  (void)state;
  byoc_context_t *context = NULL;
  remove("sim.log");
  set_option("log=sim.log");
  if (model.device.table->create(NULL, &context) != BYOC_OK) fail_msg("%s", model.device.table->last_error(NULL));
  run_and_compare(context, 64, true);
  const int after_one = count_in_log("allocate ");
  assert_true(after_one > 2);
  run_and_compare(context, 64, true);
  run_and_compare(context, 63, true);
  assert_int_equal(count_in_log("allocate "), after_one);
  for (int turn = 0; turn < 70; ++turn) run_and_compare(context, 2, false); // idle memory goes
  run_and_compare(context, 64, true);
  assert_true(count_in_log("allocate ") > after_one + 2);
  model.device.table->destroy(context);
  set_option("");
}

// Where the device has the host's memory, the input and both outputs of open size are used in place.
static void test_values_of_open_size_are_not_copied(void **state) {
  (void)state;
  byoc_context_t *context = NULL;
  remove("sim.log");
  set_option("unified,log=sim.log");
  if (model.device.table->create(NULL, &context) != BYOC_OK) fail_msg("%s", model.device.table->last_error(NULL));
  run_and_compare(context, 5, true);
  run_and_compare(context, 7, false);
  assert_int_equal(count_in_log("import 80"), 3);
  assert_int_equal(count_in_log("import 112"), 3);
  assert_int_equal(count_in_log("copy host>device"), 2);         // w, whose size is known
  assert_int_equal(count_in_log("copy device>host"), 2 * TURNS); // what a turn stacks
  run_and_compare(context, 0, true);                             // nothing to import
  model.device.table->destroy(context);
  set_option("");
}

// ---- failures ----

static void expect_sentence(const char *option, int32_t status, const char *said) {
  assert_int_not_equal(status, BYOC_OK);
  if (strstr(said, "the device 'sim'") != NULL || strstr(said, "the kernel '") != NULL) return;
  fail_msg("%s: '%s' does not say what failed", option, said);
}

// Runs while the n-th call of a kind fails; false if there is none. A run that fails says why, and the next one is
// right.
static bool fails_and_recovers(const char *way, const char *kind, int number, bool *out_failed) {
  const byoc_artifact_t *table = model.device.table;
  byoc_context_t *context = NULL;
  char option[64];
  *out_failed = false;
  snprintf(option, sizeof(option), "%slog=sim.log,fail=%s:%d", way, kind, number);
  remove("sim.log");
  set_option(option);
  int32_t status = table->create(NULL, &context);
  if (status != BYOC_OK) {
    expect_sentence(option, status, table->last_error(NULL));
    assert_null(context);
    *out_failed = true;
  }
  for (int64_t rows = 4; rows <= 64 && context != NULL;
       rows += 60) { // as large as their blocks: no smaller one would do
    byoc_argument_t outputs[OUTPUTS] = {{0}};
    status = run(table, context, rows, true, outputs);
    if (status == BYOC_OK) {
      compare(rows, true, outputs);
      continue;
    }
    expect_sentence(option, status, table->last_error(context));
    *out_failed = true;
    run_and_compare(context, rows, true);
  }
  table->destroy(context);
  return count_in_log("fail ") > 0;
}

// Whatever is met fails its run, but for allocations: where there is a block that no value has, it is released, and the
// allocation succeeds.
static void test_every_call_fails_once(void **state) {
  (void)state;
  static const struct {
    const char *way, *kind;
    int least; // so many calls are met
    bool may_recover;
  } kinds[] = {
      {"", "allocate", 8, true},        {"", "copy", 14, false},           {"", "late-copy", 14, false},
      {"", "launch", 26, false},        {"", "late-launch", 26, false},    {"", "wait", 12, false},
      {"unified,", "import", 2, false}, {"unified,", "barrier", 2, false}, {"unified,", "late-barrier", 2, false},
  };
  for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); ++k) {
    int met = 0, failures = 0;
    for (bool failed = false; fails_and_recovers(kinds[k].way, kinds[k].kind, met + 1, &failed); ++met) {
      failures += failed;
    }
    print_message("%s: %d met, %d failures\n", kinds[k].kind, met, failures);
    assert_true(met >= kinds[k].least);
    if (kinds[k].may_recover) assert_in_range(failures, 1, met - 1);
    if (!kinds[k].may_recover) assert_int_equal(failures, met);
  }
  set_option("");
}

// Once memory is short, blocks that no value has are released first.
static void test_idle_memory_makes_room(void **state) {
  (void)state;
  byoc_context_t *context = NULL;
  set_option("memory=7000"); // enough for one run of either size
  if (model.device.table->create(NULL, &context) != BYOC_OK) fail_msg("%s", model.device.table->last_error(NULL));
  run_and_compare(context, 40, true);
  run_and_compare(context, MOST_ROWS, true);
  run_and_compare(context, 40, true);
  model.device.table->destroy(context);
  set_option("");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sizes_are_those_of_the_run), cmocka_unit_test(test_blocks_carry_values_on_the_device),
      cmocka_unit_test(test_memory_is_taken_again),      cmocka_unit_test(test_every_call_fails_once),
      cmocka_unit_test(test_idle_memory_makes_room),     cmocka_unit_test(test_values_of_open_size_are_not_copied),
  };
  return cmocka_run_group_tests(tests, open_model, close_model);
}

// SPDX-License-Identifier: Apache-2.0
// Programs on the driver `sim` where its memory is the host's: constants, inputs and outputs are used in place, and
// what may not be is copied.
#include <math.h>

#include "tests/devices/log.h"
#include "tests/devices/program.h"
#include "tests/support/command.h"

enum { COUNT = 4 };

// y = 3 x + w
static const char in_place[] =
    "host program \"p\" {\n"
    "  device %d = \"sim\" 0 type 12\n"
    "  queue %q on %d\n"
    "  input %x : f32[4]\n  output %y : f32[4]\n"
    "  constant %w : f32[4] on %d = [1, -2, 3, -40]\n"
    "  local %t : f32[4] on %d\n  local %u : f32[4] on %d\n  local %v : f32[4] on %d\n"
    "  allocate %t\n  allocate %u\n  allocate %v\n"
    "  copy %x -> %t on %q\n"
    "  launch \"kernels\" \"scale\" grid [1, 1, 1] block [4, 1, 1] (%t) -> (%u) with (operand 0, result 0, f32 3.0, "
    "i64 4) on %q\n"
    "  launch \"kernels\" \"add\" grid [1, 1, 1] block [4, 1, 1] (%u, %w) -> (%v) with (operand 0, operand 1, result "
    "0, i32 4) on %q\n"
    "  copy %v -> %y on %q\n"
    "  free %v\n  free %u\n  free %t\n"
    "}\n";

// y = 3 (3 x), where the kernel writes what the copy filled, and the output has the input's memory.
static const char copied[] =
    "host program \"p\" {\n"
    "  device %d = \"sim\" 0 type 12\n"
    "  queue %q on %d\n"
    "  input %x : f32[4]\n  output %y : f32[4] over %x\n"
    "  local %t : f32[4] on %d\n  local %u : f32[4] on %d\n"
    "  allocate %t\n  allocate %u\n"
    "  copy %x -> %t on %q\n"
    "  launch \"kernels\" \"scale\" grid [1, 1, 1] block [4, 1, 1] (%t) -> (%u) with (operand 0, result 0, f32 3.0, "
    "i64 4) on %q\n"
    "  launch \"kernels\" \"scale\" grid [1, 1, 1] block [4, 1, 1] (%u) -> (%t) with (operand 0, result 0, f32 3.0, "
    "i64 4) on %q\n"
    "  copy %t -> %y on %q\n"
    "  free %u\n  free %t\n"
    "}\n";

// The tensor of the output is written again behind the copy.
static const char written_behind[] =
    "host program \"p\" {\n"
    "  device %d = \"sim\" 0 type 12\n"
    "  queue %q on %d\n"
    "  input %x : f32[4]\n  output %y : f32[4]\n"
    "  local %t : f32[4] on %d\n  local %u : f32[4] on %d\n"
    "  allocate %t\n  allocate %u\n"
    "  copy %x -> %u on %q\n"
    "  launch \"kernels\" \"scale\" grid [1, 1, 1] block [4, 1, 1] (%u) -> (%t) with (operand 0, result 0, f32 3.0, "
    "i64 4) on %q\n"
    "  copy %t -> %y on %q\n"
    "  launch \"kernels\" \"scale\" grid [1, 1, 1] block [4, 1, 1] (%u) -> (%t) with (operand 0, result 0, f32 5.0, "
    "i64 4) on %q\n"
    "  free %u\n  free %t\n"
    "}\n";

// y = 3 x, of open size. `behind`: what stands behind the copy to the host.
#define OPEN_SIZE(behind)                                                                                              \
  "host program \"p\" dynamic workspace 0 bound 0 live 0 {\n symbol N of inputs\n"                                     \
  " device %d = \"sim\" 0 type 12\n memory of %d scope \"global\" 0\n queue %q on %d\n event %e on %d\n"               \
  " input %x : value f32[N]\n output %y : value f32[N]\n local %h : value f32[N]\n"                                    \
  " local %t : value f32[N] on %d\n local %u : value f32[N] on %d\n match %x binds N at 0\n"                           \
  " allocate %t\n copy %x -> %t on %q\n allocate %u\n" SCALE(                                                          \
      "3.0") " allocate %h\n"                                                                                          \
             " copy %u -> %h on %q signals %e\n" behind                                                                \
             " free %t\n free %u\n await (%e)\n share %h -> %y\n free %h\n}\n"
#define SCALE(factor)                                                                                                  \
  " launch \"kernels\" \"scale\" grid [N, 1, 1] block [1, 1, 1] (%t) -> (%u) with (operand 0, result 0, f32 " factor   \
  ", i64 N) on %q\n"
static const char open_size[] = OPEN_SIZE(""), open_written_behind[] = OPEN_SIZE(SCALE("5.0"));

static void check(program_t *p, const float *w, float factor, float scale) {
  float buffer[COUNT + 1] = {0}, x[COUNT], y[COUNT] = {0};
  float *moved = scale > 1 ? buffer + 1 : buffer; // the caller's buffers need no alignment, and move
  for (int i = 0; i < COUNT; ++i) x[i] = moved[i] = scale * (float)(i + 1);
  const void *const inputs[] = {moved};
  void *const outputs[] = {y};
  program_run(p, inputs, outputs);
  for (int i = 0; i < COUNT; ++i) {
    assert_float_equal(y[i], factor * x[i] + w[i], 0);
    assert_float_equal(moved[i], x[i], 0);
  }
}

static void test_nothing_is_copied(void **state) {
  (void)state;
  static const float w[COUNT] = {1, -2, 3, -40};
  static const char *const options[] = {"unified,log=sim.log", "unified,log=sim.log,order=2",
                                        "unified,log=sim.log,delay=100"};
  for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); ++k) {
    program_t p;
    remove("sim.log");
    setenv("BYOC_SIM", options[k], 1);
    program_open(&p, in_place, "plan-memory");
    assert_int_equal(count_in_log("import "), 2); // the constant: of the evaluator, and of the context
    for (int run = 1; run < 4; ++run) check(&p, w, 3, (float)run);
    assert_int_equal(count_in_log("import "), 2 + 3 * 2 * 2);
    assert_int_equal(count_in_log("copy "), 0);
    program_close(&p);
  }
  unsetenv("BYOC_SIM");
}

static void test_values_written_twice_are_copied(void **state) {
  (void)state;
  static const float w[COUNT] = {0};
  program_t p;
  remove("sim.log");
  setenv("BYOC_SIM", "unified,log=sim.log", 1);
  program_open(&p, copied, "plan-memory");
  check(&p, w, 9, 1);
  assert_int_equal(count_in_log("import "), 0);
  assert_int_equal(count_in_log("copy "), 2 * 2);
  program_close(&p);
  unsetenv("BYOC_SIM");
}

// An output that may be written over the input, before or behind another one: the input is read once more after it.
static void test_an_input_that_is_written_over_is_copied(void **state) {
  (void)state;
  static const char *const outputs[] = {"  output %y : f32[4] over %x\n  output %z : f32[4]\n",
                                        "  output %z : f32[4]\n  output %y : f32[4] over %x\n"};
  for (int k = 0; k < 2; ++k) {
    char text[2048];
    program_t p;
    (void)snprintf(text, sizeof(text),
                   "host program \"p\" {\n  device %%d = \"sim\" 0 type 12\n  queue %%q on %%d\n"
                   "  input %%x : f32[4]\n%s"
                   "  local %%t : f32[4] on %%d\n  local %%u : f32[4] on %%d\n  local %%v : f32[4] on %%d\n"
                   "  allocate %%t\n  allocate %%u\n  allocate %%v\n  copy %%x -> %%t on %%q\n"
                   "  launch \"kernels\" \"scale\" grid [1, 1, 1] block [4, 1, 1] (%%t) -> (%%u) with (operand 0, "
                   "result 0, f32 3.0, i64 4) on %%q\n"
                   "  copy %%u -> %%y on %%q\n"
                   "  launch \"kernels\" \"scale\" grid [1, 1, 1] block [4, 1, 1] (%%t) -> (%%v) with (operand 0, "
                   "result 0, f32 5.0, i64 4) on %%q\n"
                   "  copy %%v -> %%z on %%q\n  free %%v\n  free %%u\n  free %%t\n}\n",
                   outputs[k]);
    remove("sim.log");
    setenv("BYOC_SIM", "unified,log=sim.log", 1);
    program_open(&p, text, "plan-memory");
    const float x[COUNT] = {1, 2, 3, 4};
    float y[COUNT] = {0}, z[COUNT] = {0};
    program_run(&p, (const void *const[]){x}, (void *const[]){k == 0 ? y : z, k == 0 ? z : y});
    for (int i = 0; i < COUNT; ++i) {
      assert_float_equal(y[i], 3 * x[i], 0);
      assert_float_equal(z[i], 5 * x[i], 0);
    }
    assert_int_equal(count_in_log("import "), 2); // %z, in both executors
    program_close(&p);
  }
  unsetenv("BYOC_SIM");
}

static void test_an_output_is_not_written_behind_its_copy(void **state) {
  (void)state;
  static const float w[COUNT] = {0};
  program_t p;
  remove("sim.log");
  setenv("BYOC_SIM", "unified,log=sim.log", 1);
  program_open(&p, written_behind, "plan-memory");
  check(&p, w, 3, 1);
  assert_int_equal(count_in_log("import "), 2); // the input, of the evaluator and of the context
  assert_int_equal(count_in_log("copy "), 2);
  program_close(&p);
  unsetenv("BYOC_SIM");
}

enum { MOST = 1000 };

// Both ways; the status and the sentence of the evaluator.
static byoc_status_t run_open_size(program_t *p, int64_t count, byoc_diag_t *diag) {
  float x[MOST];
  for (int64_t i = 0; i < count; ++i) x[i] = (float)(i % 97 - 40);
  const byoc_argument_t input = {.dtype = BYOC_DTYPE_F32, .rank = 1, .dims = &count, .data = x};
  byoc_argument_t outputs[2] = {0};
  *diag = (byoc_diag_t){0};
  const byoc_status_t status = byoc_evaluator_run_arguments(p->evaluator, &input, &outputs[0], diag);
  assert_int_equal(p->artifact.table->run_arguments(p->context, &input, &outputs[1]), status);
  for (int k = 0; k < 2 && status == BYOC_OK; ++k) {
    assert_int_equal(outputs[k].dims[0], count);
    for (int64_t i = 0; i < count; ++i) assert_float_equal(((const float *)outputs[k].data)[i], 3 * x[i], 0);
  }
  return status;
}

// Values that are an input's and an output's own bytes take none of the device, where one of 4096 bytes has no room.
static void test_lent_memory_is_not_allocated(void **state) {
  (void)state;
  static const char *const options[] = {"unified,memory=100,log=sim.log", "unified,memory=100,log=sim.log,order=2",
                                        "unified,memory=100,log=sim.log,delay=100"};
  program_t p;
  byoc_diag_t diag;
  for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); ++k) {
    remove("sim.log");
    setenv("BYOC_SIM", options[k], 1);
    program_open(&p, open_size, "plan-memory");
    for (int run = 0; run < 3; ++run) byoc_test_ok(run_open_size(&p, MOST - run, &diag), &diag);
    assert_int_equal(count_in_log("import "), 3 * 2 * 2);
    assert_int_equal(count_in_log("copy "), 0);
    byoc_test_ok(run_open_size(&p, 0, &diag), &diag);
    program_close(&p);
  }
  setenv("BYOC_SIM", "memory=5000", 1);
  program_open(&p, open_size, "plan-memory");
  assert_int_equal(run_open_size(&p, MOST, &diag), BYOC_OUT_OF_MEMORY);
  assert_non_null(strstr(diag.message, "the device 'sim' has no 4000 bytes for a value: "));
  byoc_test_ok(run_open_size(&p, MOST / 2, &diag), &diag);
  program_close(&p);
  unsetenv("BYOC_SIM");
}

// The value is written again behind the copy: it is not the output.
static void test_an_open_output_is_not_written_behind_its_copy(void **state) {
  (void)state;
  program_t p;
  byoc_diag_t diag;
  remove("sim.log");
  setenv("BYOC_SIM", "unified,memory=5000,log=sim.log", 1);
  program_open(&p, open_written_behind, "plan-memory");
  byoc_test_ok(run_open_size(&p, MOST, &diag), &diag);
  assert_int_equal(count_in_log("import "), 2);
  assert_int_equal(count_in_log("copy device>host 4000 "), 2);
  program_close(&p);
  unsetenv("BYOC_SIM");
}

static void test_an_open_import_may_fail(void **state) {
  (void)state;
  static const char *const sentences[] = {"the device 'sim' cannot use the memory of an input: ",
                                          "the device 'sim' cannot use the memory of an output: "};
  for (int k = 0; k < 2; ++k) {
    program_t p;
    byoc_diag_t diag;
    char option[64];
    snprintf(option, sizeof(option), "unified,fail=import:%d", k + 1);
    setenv("BYOC_SIM", option, 1);
    program_open(&p, open_size, "plan-memory");
    assert_int_not_equal(run_open_size(&p, MOST, &diag), BYOC_OK);
    assert_non_null(strstr(diag.message, sentences[k]));
    assert_non_null(strstr(p.artifact.table->last_error(p.context), sentences[k]));
    byoc_test_ok(run_open_size(&p, MOST, &diag), &diag);
    program_close(&p);
  }
  unsetenv("BYOC_SIM");
}

enum { SQUARE = 16 };

static void run_loop_model(const char *path, const void *const *inputs, float a[SQUARE], float l[SQUARE]) {
  byoc_loaded_artifact_t artifact = {0};
  byoc_diag_t diag = {0};
  byoc_context_t *context = NULL;
  void *const outputs[] = {a, l};
  byoc_test_ok(byoc_artifact_load(path, &diag, &artifact), &diag);
  if (artifact.table->create(NULL, &context) != BYOC_OK) fail_msg("%s", artifact.table->last_error(NULL));
  if (artifact.table->run(context, inputs, outputs) != BYOC_OK) fail_msg("%s", artifact.table->last_error(context));
  artifact.table->destroy(context);
  byoc_artifact_unload(&artifact);
}

// What is an output, and what a loop begins with, are one tensor on the device.
static void test_an_output_is_a_loops_first_state(void **state) {
  (void)state;
  static const char text[] =
      "module {\n  constant @turns : i64[] = [3]\n"
      "  func @main(%x : f32[4,4], %w : f32[4,4]) -> (%a : f32[4,4], %l : f32[4,4]) {\n"
      "    %a = Relu@14(%x) : f32[4,4]\n"
      "    %l = Loop@16(@turns, _, %a) [body (%i : i64[], %k : bool[], %v : f32[4,4]) -> (bool[], f32[4,4]) {\n"
      "      %k1 = Identity@16(%k) : bool[]\n      %m = MatMul@13(%v, %w) : f32[4,4]\n"
      "      %s = Tanh@13(%m) : f32[4,4]\n      return %k1, %s\n"
      "    }] : f32[4,4]\n    return %a, %l\n  }\n}\n";
  float x[SQUARE], w[SQUARE], a[SQUARE], l[SQUARE], expected_a[SQUARE], expected_l[SQUARE];
  const void *const inputs[] = {x, w};
  byoc_diag_t diag = {0};
  for (int i = 0; i < SQUARE; ++i) {
    x[i] = (float)(i * 7 % 5) - 1;
    w[i] = (float)(i * 3 % 7) / 7 - 0.5F;
  }
  setenv("BYOC_PLUGIN_PATH", BYOC_TEST_BUILD_DIR "/tests/plugins/good", 1);
  byoc_test_ok(byoc_file_write("loop.byoc", text, sizeof(text) - 1, &diag), &diag);
  byoc_test_shell(0, "byoc build loop.byoc --target 'simdev -single; c' --plan greedy --threads 1 -o device.so && "
                     "byoc build loop.byoc --target c --threads 1 -o plain.so");
  setenv("BYOC_SIM", "unified", 1);
  run_loop_model("./device.so", inputs, a, l);
  run_loop_model("./plain.so", inputs, expected_a, expected_l);
  for (int i = 0; i < SQUARE; ++i) {
    assert_true(fabsf(a[i] - expected_a[i]) < 1e-5F);
    assert_true(fabsf(l[i] - expected_l[i]) < 1e-5F);
  }
  unsetenv("BYOC_SIM");
}

// A device that says nothing of its memory gets copies.
static void test_devices_without_unified_memory_get_copies(void **state) {
  (void)state;
  static const float w[COUNT] = {1, -2, 3, -40};
  program_t p;
  remove("sim.log");
  setenv("BYOC_SIM", "log=sim.log", 1);
  program_open(&p, in_place, "plan-memory");
  check(&p, w, 3, 1);
  assert_int_equal(count_in_log("import "), 0);
  assert_int_equal(count_in_log("copy "), 2 * 3);
  program_close(&p);
  unsetenv("BYOC_SIM");
}

static void test_an_import_may_fail(void **state) {
  (void)state;
  static const float w[COUNT] = {1, -2, 3, -40};
  const float x[COUNT] = {1, 2, 3, 4};
  float y[COUNT] = {0};
  const void *const inputs[] = {x};
  void *const outputs[] = {y};
  program_t p;
  byoc_diag_t diag = {0};
  program_parse(&p, in_place, "plan-memory");
  setenv("BYOC_SIM", "unified,fail=import:1", 1);
  assert_int_not_equal(program_evaluate(&p, &diag), BYOC_OK);
  assert_string_equal(diag.message,
                      "the device 'sim' cannot use the memory of 'w': the device 'sim' was told to fail at "
                      "this import");
  for (int number = 2; number < 4; ++number) {
    char option[64];
    snprintf(option, sizeof(option), "unified,fail=import:%d", number);
    setenv("BYOC_SIM", option, 1);
    diag = (byoc_diag_t){0};
    program_close(&p);
    program_open(&p, in_place, "plan-memory");
    assert_int_not_equal(byoc_evaluator_run(p.evaluator, inputs, outputs, &diag), BYOC_OK);
    assert_non_null(strstr(diag.message, "the device 'sim' cannot use the memory of '"));
    assert_int_not_equal(p.artifact.table->run(p.context, inputs, outputs), BYOC_OK);
    assert_non_null(strstr(p.artifact.table->last_error(p.context), "the device 'sim' cannot use the memory of '"));
    check(&p, w, 3, 1);
  }
  program_close(&p);
  unsetenv("BYOC_SIM");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_nothing_is_copied),
      cmocka_unit_test(test_values_written_twice_are_copied),
      cmocka_unit_test(test_an_input_that_is_written_over_is_copied),
      cmocka_unit_test(test_an_output_is_not_written_behind_its_copy),
      cmocka_unit_test(test_lent_memory_is_not_allocated),
      cmocka_unit_test(test_an_open_output_is_not_written_behind_its_copy),
      cmocka_unit_test(test_an_open_import_may_fail),
      cmocka_unit_test(test_an_output_is_a_loops_first_state),
      cmocka_unit_test(test_devices_without_unified_memory_get_copies),
      cmocka_unit_test(test_an_import_may_fail),
  };
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}

// SPDX-License-Identifier: Apache-2.0
// A model on the driver `sim`: what its artifact needs and tells, and what happens when any call to the driver fails: a
// status and a sentence, and the next run is right.
//
// The model is UltraFace of ../shared/models, or LeNet where that folder is missing. What its operators on the target
// simdev leave is computed by "c", so that values go to the device and back in every part of it.
#include <stdlib.h>

#include "core/base/file.h"
#include "core/loader/loader.h"
#include "tests/devices/log.h"
#include "tests/support/command.h"

#define ULTRAFACE BYOC_TEST_SOURCE_DIR "/../shared/models/ultraface/ultraface_rfb_320.onnx"

enum { MAX_PORTS = 4 };

typedef struct model_t {
  byoc_loaded_artifact_t artifact;
  const byoc_artifact_t *table;
  void *inputs[MAX_PORTS], *outputs[MAX_PORTS], *expected[MAX_PORTS];
} model_t;

static model_t model;

static void set_option(const char *option) {
  setenv("BYOC_SIM", option, 1);
}

static int32_t run(byoc_context_t *context) {
  const byoc_artifact_t *table = model.table;
  for (uint32_t i = 0; i < table->output_count; ++i) memset(model.outputs[i], 0xAA, table->outputs[i].size_bytes);
  return table->run(context, (const void *const *)model.inputs, model.outputs);
}

static int open_model(void **state) {
  byoc_diag_t diag = {0};
  if (byoc_test_enter_folder(state) != 0) return 1;
  setenv("BYOC_PLUGIN_PATH", BYOC_TEST_BUILD_DIR "/tests/plugins/good", 1);
  if (byoc_file_exists(ULTRAFACE)) {
    byoc_test_shell(0, "cp " ULTRAFACE " model.onnx");
  } else {
    byoc_test_shell(0, "byoc-modelgen lenet -o model.onnx");
  }
  byoc_test_shell(0, "byoc build model.onnx --target 'simdev; c' --plan greedy --threads 1 -o model.so");
  byoc_test_ok(byoc_artifact_load("./model.so", &diag, &model.artifact), &diag);
  const byoc_artifact_t *table = model.table = model.artifact.table;
  for (uint32_t i = 0; i < table->input_count; ++i) {
    float *input = model.inputs[i] = malloc(table->inputs[i].size_bytes);
    for (uint64_t k = 0; k < table->inputs[i].size_bytes / sizeof(float); ++k) input[k] = (float)(k * 7919 % 255) / 255;
  }
  for (uint32_t i = 0; i < table->output_count; ++i) {
    model.outputs[i] = malloc(table->outputs[i].size_bytes);
    model.expected[i] = malloc(table->outputs[i].size_bytes);
  }
  byoc_context_t *context = NULL;
  if (table->create(NULL, &context) != BYOC_OK) fail_msg("%s", table->last_error(NULL));
  if (run(context) != BYOC_OK) fail_msg("%s", table->last_error(context));
  for (uint32_t i = 0; i < table->output_count; ++i) {
    memcpy(model.expected[i], model.outputs[i], table->outputs[i].size_bytes);
  }
  table->destroy(context);
  return 0;
}

static int close_model(void **state) {
  for (int i = 0; i < MAX_PORTS; ++i) {
    free(model.inputs[i]);
    free(model.outputs[i]);
    free(model.expected[i]);
  }
  byoc_artifact_unload(&model.artifact);
  return byoc_test_leave_folder(state);
}

static void expect_sentence(const char *option, int32_t status, const char *text) {
  assert_int_not_equal(status, BYOC_OK);
  // "the device 'sim' ...: ...", perhaps behind what was to be done
  if (strstr(text, "the device 'sim'") != NULL || strstr(text, "the kernel '") != NULL) return;
  fail_msg("%s: '%s' does not say what failed", option, text);
}

static const char *way = ""; // options besides the failure

// False if there is no call of this number. A call that is met fails its run.
static bool fails_and_recovers(const char *kind, int number) {
  const byoc_artifact_t *table = model.table;
  byoc_context_t *context = NULL;
  char option[64];
  bool failed = false;
  snprintf(option, sizeof(option), "%slog=sim.log,fail=%s:%d", way, kind, number);
  remove("sim.log");
  set_option(option);
  int32_t status = table->create(NULL, &context);
  if (status != BYOC_OK) {
    expect_sentence(option, status, table->last_error(NULL));
    assert_null(context);
    return true;
  }
  status = run(context);
  if (status != BYOC_OK) {
    expect_sentence(option, status, table->last_error(context));
    failed = true;
    status = run(context);
    if (status != BYOC_OK) fail_msg("%s: the next run fails, too: %s", option, table->last_error(context));
  }
  for (uint32_t i = 0; i < table->output_count; ++i) {
    assert_memory_equal(model.outputs[i], model.expected[i], table->outputs[i].size_bytes);
  }
  table->destroy(context);
  assert_int_equal(count_in_log("fail "), failed);
  return failed;
}

static int count_failures(const char *kind) {
  int number = 0;
  while (fails_and_recovers(kind, number + 1)) ++number;
  print_message("%s: %d\n", kind, number);
  set_option("");
  return number;
}

static void test_h10_each_copy_fails(void **state) {
  (void)state;
  const int put = count_failures("copy");
  assert_true(put > 2);
  assert_int_equal(count_failures("late-copy"), put);
}

static void test_h10_each_launch_fails(void **state) {
  (void)state;
  const int put = count_failures("launch");
  assert_true(put > 2);
  assert_int_equal(count_failures("late-launch"), put);
}

static void test_h10_each_wait_fails(void **state) {
  (void)state;
  assert_true(count_failures("wait") > 2);
}

static void test_h10_each_other_call_of_the_driver_fails(void **state) {
  (void)state;
  static const char *const kinds[] = {"allocate", "open", "queue", "event", "module", "entry"};
  for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); ++k) assert_true(count_failures(kinds[k]) >= 1);
}

// Where the device's memory is the host's, what may be used in place is imported. Of LeNet the device has no constant
// and no port; devices_unified has a program of its own for it.
static void test_each_import_fails(void **state) {
  (void)state;
  way = "unified,";
  const int imports = count_failures("import");
  if (byoc_file_exists(ULTRAFACE)) assert_true(imports > 2);
  assert_true(count_failures("copy") > 0);
  way = "";
}

// The same model while commands take their time, and in orders that are drawn by lot.
static void test_h10_any_order_gives_the_same(void **state) {
  (void)state;
  static const char *const options[] = {"delay=20",         "order=1", "order=2",
                                        "order=3,delay=20", "unified", "unified,order=4,delay=20"};
  for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); ++k) {
    byoc_context_t *context = NULL;
    set_option(options[k]);
    if (model.table->create(NULL, &context) != BYOC_OK) fail_msg("%s", model.table->last_error(NULL));
    for (int turn = 0; turn < 2; ++turn) {
      if (run(context) != BYOC_OK) fail_msg("%s", model.table->last_error(context));
      for (uint32_t i = 0; i < model.table->output_count; ++i) {
        assert_memory_equal(model.outputs[i], model.expected[i], model.table->outputs[i].size_bytes);
      }
    }
    model.table->destroy(context);
  }
  set_option("");
}

// ---- the artifact ----

static void test_b31_an_artifact_with_a_device_needs_libc_and_libm_only(void **state) {
  (void)state;
  byoc_test_shell(
      0, "readelf -d model.so | grep NEEDED | sed 's/.*\\[//; s/\\].*//' | grep -vE '^lib(dl|pthread)' | sort");
  assert_string_equal(byoc_test_output(), "libc.so.6\nlibm.so.6\n"); // the other two are parts of libc
}

static void test_it_loads_where_no_device_can_start_and_says_so(void **state) {
  (void)state;
  byoc_loaded_artifact_t loaded;
  byoc_diag_t diag = {0};
  byoc_context_t *context = NULL;
  set_option("devices=0");
  byoc_test_ok(byoc_artifact_load("./model.so", &diag, &loaded), &diag);
  assert_int_equal(loaded.table->check(NULL, 0), BYOC_OK);
  assert_int_equal(loaded.table->create(NULL, &context), BYOC_NOT_FOUND);
  assert_null(context);
  assert_string_equal(loaded.table->last_error(NULL),
                      "the device 'sim' cannot start: there is none; set devices=1 in BYOC_SIM");
  byoc_artifact_unload(&loaded);
  assert_int_not_equal(byoc_test_try_shell("byoc run ./model.so"), 0);
  byoc_test_printed("the device 'sim' cannot start: there is none; set devices=1 in BYOC_SIM");
  set_option("");
}

static void test_h16_inspect_and_profile_tell_of_the_device(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc inspect model.so");
  byoc_test_printed("\ndevice sim 0: ");
  byoc_test_printed(" of constants in scope global; a run copies ");
  byoc_test_shell(0, "byoc build model.onnx --target 'simdev; c' --plan greedy --profile --trace -o told.so");
  byoc_test_shell(0, "byoc profile told.so --runs 2");
  byoc_test_printed(" simdev ");
  byoc_test_printed("\nawait ");
  byoc_test_shell(0, "byoc run told.so --random --trace=trace && byoc run told.so --random --trace=again && byoc debug "
                     "diff trace again");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_b31_an_artifact_with_a_device_needs_libc_and_libm_only),
      cmocka_unit_test(test_it_loads_where_no_device_can_start_and_says_so),
      cmocka_unit_test(test_h16_inspect_and_profile_tell_of_the_device),
      cmocka_unit_test(test_h10_each_copy_fails),
      cmocka_unit_test(test_h10_each_launch_fails),
      cmocka_unit_test(test_h10_each_wait_fails),
      cmocka_unit_test(test_h10_each_other_call_of_the_driver_fails),
      cmocka_unit_test(test_each_import_fails),
      cmocka_unit_test(test_h10_any_order_gives_the_same),
  };
  return cmocka_run_group_tests(tests, open_model, close_model);
}

// SPDX-License-Identifier: Apache-2.0
// Models with examples/plugins/json_engine, the target around XNNPACK, against the outputs of ONNX Runtime; skipped
// where the example could not be built.
//
//   models_xnnpack FOLDER    of xnnpack.so
//
// onnxruntime/*.npy is what ONNX Runtime 1.32 makes of byoc-modelgen's models (--seed 3) and inputs (--seed 9).
#include <stdio.h>
#include <stdlib.h>

#include "core/base/file.h"
#include "tests/support/command.h"

#define SHARED BYOC_TEST_SOURCE_DIR "/../shared/models"

static void generate(const char *model, char *values, size_t size) {
  byoc_test_shell(0, "byoc-modelgen %s -o model.onnx --seed 3", model);
  snprintf(values, size, "--random --seed 9 --rtol 1e-3 --atol 1e-4 --expect output=%s/tests/models/onnxruntime/%s.npy",
           BYOC_TEST_SOURCE_DIR, model);
}

// All of a model in one region, which either way to deploy, any number of threads and the evaluator compute alike.
static void check_whole(const char *model, const char *placed) {
  static const char *const deploy[] = {"bundle", "system"};
  char values[1024];
  generate(model, values, sizeof(values));
  for (int i = 0; i < 2; ++i) {
    byoc_test_shell(0, "byoc build model.onnx -o model.so --target 'xnnpack -deploy=%s; c' --plan greedy", deploy[i]);
    byoc_test_printed(placed);
    // With 0, it needs other libraries.
    byoc_test_shell(1 - i, "readelf -d model.so > needs.txt || exit 9; grep NEEDED needs.txt | grep -vE "
                           "'lib(c|m|dl|pthread)\\.so'");
    byoc_test_shell(0, "byoc run model.so --threads 1 %s", values);
    byoc_test_printed("as expected");
    byoc_test_shell(0, "byoc run model.so --threads 2 %s", values);
  }
  byoc_test_shell(0, "byoc run model.onnx --evaluate --target 'xnnpack; c' --plan greedy %s", values);
}

static void test_resnet50(void **state) {
  (void)state;
  check_whole("resnet50", "xnnpack 122 operators in 1 region, c 0 operators");
}

static void test_mobilenet(void **state) {
  (void)state;
  check_whole("mobilenet_v2", "xnnpack 100 operators in 1 region, c 0 operators");
}

// Trained models, some of whose operators XNNPACK does not take.
static void test_trained(void **state) {
  (void)state;
  static const char *const plans[] = {"greedy", "collage"};
  if (!byoc_is_directory(SHARED)) {
    byoc_test_skip("there is no folder ../shared/models");
  }
  for (int i = 0; i < 2; ++i) {
    byoc_test_shell(0, "byoc build " SHARED "/mnist/mnist.onnx -o model.so --target 'xnnpack; c' --plan %s", plans[i]);
    byoc_test_shell(0, "byoc run model.so --input Input3=" SHARED "/mnist/Input3.npy --rtol 1e-3 --atol 1e-3 "
                       "--expect Plus214_Output_0=" SHARED "/mnist/expected_Plus214_Output_0.npy");
  }
  // Two engines with libraries of their own in one artifact, and OpenBLAS in a third.
  static const char *const targets[] = {"xnnpack; c", "xnnpack; dnnl; c", "cblas; xnnpack; dnnl; c"};
  for (int i = byoc_test_is_long() ? 0 : 2; i < 3; ++i) {
    byoc_test_shell(0, "byoc build " SHARED "/ultraface/ultraface_rfb_320.onnx -o model.so --target '%s' --plan greedy",
                    targets[i]);
    byoc_test_shell(0, "byoc run model.so --input input=" SHARED "/ultraface/input.npy --rtol 1e-3 --atol 1e-4 "
                       "--expect scores=" SHARED "/ultraface/expected_scores.npy "
                       "--expect boxes=" SHARED "/ultraface/expected_boxes.npy");
  }
}

int main(int argc, char **argv) {
  char plugin[4096];
  if (argc != 2) return 2;
  snprintf(plugin, sizeof(plugin), "%s/xnnpack.so", argv[1]);
  if (!byoc_file_exists(plugin)) {
    printf("skipped: there is no %s; run example_json_engine first\n", plugin);
    return 77;
  }
  if (setenv("BYOC_PLUGIN_PATH", argv[1], 1) != 0) return 1;
  const struct CMUnitTest tests[] = {byoc_test_long_only(test_resnet50), cmocka_unit_test(test_mobilenet),
                                     cmocka_unit_test(test_trained)};
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}

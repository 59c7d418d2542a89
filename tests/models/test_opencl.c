// SPDX-License-Identifier: Apache-2.0
// Models on an OpenCL device: whole, and with other targets between, or, by the argument "open", of open sizes; skipped
// where no device is.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/loader/loader.h"
#include "tests/support/command.h"

#define SHARED BYOC_TEST_SOURCE_DIR "/../shared/models"

#define OPEN   BYOC_TEST_SOURCE_DIR "/tests/models/open"

#define MNIST  SHARED "/mnist/mnist.onnx"
#define MNIST_VALUES                                                                                                   \
  "-i Input3=" SHARED "/mnist/Input3.npy -e Plus214_Output_0=" SHARED "/mnist/expected_Plus214_Output_0.npy"
#define FACES SHARED "/ultraface/ultraface_rfb_320.onnx"
#define FACES_VALUES                                                                                                   \
  "-i input=" SHARED "/ultraface/input.npy -e scores=" SHARED "/ultraface/expected_scores.npy -e boxes=" SHARED        \
  "/ultraface/expected_boxes.npy"

static void need_shared(void) {
  if (byoc_is_directory(SHARED)) return;
  byoc_test_skip("there is no folder ../shared/models");
}

// All operators on the device, as the artifact and evaluated, and `copies` of tensors to it and from it.
static void check_whole(const char *model, const char *values, int copies) {
  byoc_test_shell(0, "byoc build '%s' -o model.so --target 'opencl; c' --plan greedy --require opencl", model);
  byoc_test_shell(0, "byoc run model.so %s", values);
  byoc_test_printed("as expected");
  byoc_test_shell(0, "byoc run '%s' --evaluate --target 'opencl; c' --plan greedy %s", model, values);
  byoc_test_shell(0, "byoc build '%s' --emit=host -o host --target 'opencl; c' --plan greedy", model);
  byoc_test_shell(0, "grep -c '^ *copy ' host");
  assert_int_equal(atoi(byoc_test_output()), copies);
}

static void check_mixed(const char *model, const char *values, const char *targets) {
  byoc_test_shell(0, "byoc build '%s' -o model.so --target '%s' --plan greedy", model, targets);
  byoc_test_shell(0, "byoc run model.so %s", values);
  byoc_test_printed("as expected");
  byoc_test_shell(0, "byoc run '%s' --evaluate --target '%s' --plan greedy %s", model, targets, values);
}

static void test_mnist(void **state) {
  (void)state;
  need_shared();
  check_whole(MNIST, MNIST_VALUES, 2);
  check_mixed(MNIST, MNIST_VALUES, "cutlass; opencl; c");
}

static void test_ultraface(void **state) {
  (void)state;
  need_shared();
  check_whole(FACES, FACES_VALUES, 3);
  check_mixed(FACES, FACES_VALUES, "cutlass; opencl; c");
}

static void test_resnet50(void **state) {
  (void)state;
  static const char values[] = "--random --seed 9 --expect output=reference/output.npy";
  byoc_test_shell(0, "byoc-modelgen resnet50 -o resnet50.onnx --seed 3");
  byoc_test_shell(0, "byoc run resnet50.onnx --target c --plan greedy --random --seed 9 --output-dir reference");
  check_whole("resnet50.onnx", values, 2);
  check_mixed("resnet50.onnx", values, "cutlass; opencl; c");
}

// ---- open sizes ----

// What the artifact gives for these sizes is what `c` gives. `dims`: options of byoc run.
static void compare_with_c(const char *dims) {
  byoc_test_shell(0, "rm -rf reference && byoc run plain.so --random --seed 4 %s --output-dir reference", dims);
  byoc_test_shell(0,
                  "byoc run device.so --random --seed 4 %s $(for f in reference/*.npy; do n=${f##*/}; "
                  "echo --expect ${n%%.npy}=$f; done)",
                  dims);
  byoc_test_printed("as expected");
}

static void build_both(const char *model, const char *required) {
  byoc_test_shell(0, "byoc build '%s' -o device.so --target 'opencl; c' --plan greedy --require %s", model, required);
  byoc_test_shell(0, "byoc build '%s' -o plain.so --target c --threads 1", model);
}

// `count` kernels of the host, and `copies` of tensors to the device and from it.
static void expect_program(const char *model, int count, int copies) {
  byoc_test_shell(0, "byoc build '%s' --emit=host -o host --target 'opencl; c' --plan greedy", model);
  byoc_test_shell(0, "grep -c '^  kernel ' host || true");
  assert_int_equal(atoi(byoc_test_output()), count);
  byoc_test_shell(0, "grep -c '^ *copy ' host");
  assert_int_equal(atoi(byoc_test_output()), copies);
}

static void test_a_device_takes_models_of_open_batch(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen lenet --batch 0 -o lenet.onnx");
  build_both("lenet.onnx", "opencl");
  compare_with_c("--dim batch=1");
  compare_with_c("--dim batch=5");
  compare_with_c("--dim batch=0");
  expect_program("lenet.onnx", 0, 2);
  byoc_test_shell(0, "byoc run lenet.onnx --evaluate --target 'opencl; c' --plan greedy --random --dim batch=2");
}

// Look-ups stay with the host; all between the embeddings and the outputs is the device's.
static void test_a_device_takes_models_of_open_sequence(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen bert_base --layers 2 --batch 0 --sequence 0 -o bert.onnx");
  build_both("bert.onnx", "opencl,c");
  compare_with_c("--dim batch=1 --dim sequence=7");
  compare_with_c("--dim batch=2 --dim sequence=16");
  expect_program("bert.onnx", 7, 9);
}

static void test_a_device_takes_pictures_of_open_size(void **state) {
  (void)state;
  build_both(OPEN "/pictures.byoc", "opencl");
  compare_with_c("--dim N=1 --dim H=5 --dim W=7");
  compare_with_c("--dim N=2 --dim H=8 --dim W=3");
  compare_with_c("--dim N=3 --dim H=2 --dim W=2");
  compare_with_c("--dim N=0 --dim H=4 --dim W=4");
  expect_program(OPEN "/pictures.byoc", 0, 12);
}

static void test_a_device_takes_matrices_of_open_size(void **state) {
  (void)state;
  build_both(OPEN "/matrices.byoc", "opencl");
  compare_with_c("--dim N=1 --dim M=5 --dim K=7 --dim P=1 --dim Q=4");
  compare_with_c("--dim N=2 --dim M=3 --dim K=33 --dim P=4 --dim Q=1");
  compare_with_c("--dim N=2 --dim M=1 --dim K=2 --dim P=3 --dim Q=3");
  compare_with_c("--dim N=0 --dim M=2 --dim K=3 --dim P=2 --dim Q=2");
  compare_with_c("--dim N=2 --dim M=2 --dim K=0 --dim P=2 --dim Q=1");
  expect_program(OPEN "/matrices.byoc", 0, 20);
}

enum { LONG = 30000 };

// m = max (x + y), of N and M numbers; the sentence of a run that is refused.
static const char *run_long(const byoc_artifact_t *table, byoc_context_t *context, int64_t rows, int64_t columns) {
  static float x[LONG], y[LONG];
  for (int k = 0; k < LONG; ++k) {
    x[k] = (float)(k % 30);
    y[k] = (float)(k % 70);
  }
  const int64_t x_dims[] = {rows, 1}, y_dims[] = {1, columns};
  const byoc_argument_t inputs[] = {{.dtype = BYOC_DTYPE_F32, .rank = 2, .dims = x_dims, .data = x},
                                    {.dtype = BYOC_DTYPE_F32, .rank = 2, .dims = y_dims, .data = y}};
  byoc_argument_t output = {0};
  if (table->run_arguments(context, inputs, &output) != BYOC_OK) return table->last_error(context);
  assert_int_equal(output.rank, 0);
  assert_float_equal(*(const float *)output.data, (float)(rows - 1 + columns - 1), 0);
  return "";
}

// A run that an int of a kernel cannot count is refused, and the next one of the same context is right.
static void test_sizes_too_large_for_a_kernel_are_refused(void **state) {
  (void)state;
  build_both(OPEN "/long.byoc", "opencl");
  compare_with_c("--dim N=30 --dim M=70");
  byoc_test_shell(2, "byoc run device.so --random --dim N=30000 --dim M=30000");
  byoc_test_printed("the sizes of this run are too large for the device's kernels");
  byoc_loaded_artifact_t artifact = {0};
  byoc_diag_t diag = {0};
  byoc_context_t *context = NULL;
  byoc_test_ok(byoc_artifact_load("./device.so", &diag, &artifact), &diag);
  assert_int_equal(artifact.table->create(NULL, &context), BYOC_OK);
  for (int turn = 0; turn < 2; ++turn) {
    assert_string_equal(run_long(artifact.table, context, 30, 70), "");
    assert_non_null(strstr(run_long(artifact.table, context, LONG, LONG), "the sizes of this run are too large"));
    assert_string_equal(run_long(artifact.table, context, 29, 64), "");
  }
  artifact.table->destroy(context);
  byoc_artifact_unload(&artifact);
}

// As many tensors as a function may have, each of a size of its own: an expression over all of them is not deep.
static void test_a_function_may_have_many_open_tensors(void **state) {
  (void)state;
  enum { COUNT = 62 };
  FILE *model = fopen("many.byoc", "w");
  assert_non_null(model);
  fprintf(model, "module {\n  func @main(%%s : f32[1]");
  for (int i = 0; i < COUNT; ++i) fprintf(model, ", %%x%d : f32[N,D%d]", i, i);
  fprintf(model, ") -> (%%y : f32[N,D]) {\n    %%c = Concat@13(%%x0");
  for (int i = 1; i < COUNT; ++i) fprintf(model, ", %%x%d", i);
  fprintf(model, ") {axis = 1} : f32[N,D]\n    %%y = Mul@14(%%c, %%s) : f32[N,D]\n    return %%y\n  }\n}\n");
  assert_int_equal(fclose(model), 0);
  build_both("many.byoc", "opencl");
  char sizes[COUNT * 16] = "--dim N=3";
  for (int i = 0; i < COUNT; ++i) snprintf(sizes + strlen(sizes), 16, " --dim D%d=%d", i, i % 4);
  compare_with_c(sizes);
}

// What a run computes stays with the host, and the reason is told.
static void test_shapes_that_depend_on_data_stay_with_the_host(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc explain " OPEN "/empty.byoc --target 'opencl; c' --plan greedy");
  byoc_test_printed("an empty tensor");
  byoc_test_shell(0, "byoc explain " OPEN "/shaped.byoc --target 'opencl; c' --plan greedy");
  byoc_test_printed("a shape or an index that a run computes");
}

// Kernels that were compiled for this device while the model was built, once, and those of the source give the same.
static void test_binaries(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc run mlp.so --random --seed 5 --output-dir reference");
  byoc_test_shell(0, "ls reference | sed 's/.npy//'");
  char name[64], values[256];
  snprintf(name, sizeof(name), "%.*s", (int)strcspn(byoc_test_output(), "\n"), byoc_test_output());
  snprintf(values, sizeof(values), "--random --seed 5 --expect %s=reference/%s.npy --rtol 0 --atol 0", name, name);
  byoc_test_shell(
      0, "BYOC_CACHE_DIR=$PWD/cache byoc build -v mlp.onnx -o binary.so --target 'opencl -binary' --plan greedy");
  byoc_test_printed("the kernels were compiled");
  byoc_test_shell(
      0, "BYOC_CACHE_DIR=$PWD/cache byoc build -v mlp.onnx -o binary.so --target 'opencl -binary' --plan greedy");
  byoc_test_printed("the compiled kernels come from the cache");
  byoc_test_shell(0, "byoc run binary.so %s", values);
  byoc_test_printed("as expected");
  byoc_test_shell(0, "byoc run mlp.onnx --evaluate --target 'opencl -binary' --plan greedy %s", values);
  byoc_test_shell(
      1, "OCL_ICD_VENDORS=/nonexistent byoc build mlp.onnx -o none.so --target 'opencl -binary' --plan greedy");
  byoc_test_printed("the kernels cannot be compiled on this machine: OpenCL has no platform; install");
}

// The artifact needs the C library only, and says what is missing where there is no OpenCL.
static void test_without_a_device(void **state) {
  (void)state;
  byoc_test_shell(0, "readelf -d mlp.so > needs.txt && grep NEEDED needs.txt > needed.txt && "
                     "! grep -vE 'lib(c|m|dl|pthread)\\.so' needed.txt");
  byoc_test_shell(0, "byoc inspect mlp.so");
  byoc_test_printed(" and 40 from it (0 and 0 if it uses the host's memory)\n");
  byoc_test_shell(1, "OCL_ICD_VENDORS=/nonexistent byoc run mlp.so --random");
  byoc_test_printed("the device 'opencl' cannot start: OpenCL has no platform; install");
}

int main(int argc, char **argv) {
  const struct CMUnitTest whole[] = {cmocka_unit_test(test_without_a_device), cmocka_unit_test(test_binaries),
                                     cmocka_unit_test(test_mnist), byoc_test_long_only(test_ultraface),
                                     byoc_test_long_only(test_resnet50)};
  const struct CMUnitTest open[] = {cmocka_unit_test(test_a_device_takes_models_of_open_batch),
                                    byoc_test_long_only(test_a_device_takes_models_of_open_sequence),
                                    byoc_test_long_only(test_a_device_takes_pictures_of_open_size),
                                    cmocka_unit_test(test_a_device_takes_matrices_of_open_size),
                                    cmocka_unit_test(test_sizes_too_large_for_a_kernel_are_refused),
                                    cmocka_unit_test(test_shapes_that_depend_on_data_stay_with_the_host),
                                    byoc_test_long_only(test_a_function_may_have_many_open_tensors)};
  int status = byoc_test_enter_folder(NULL);
  if (status != 0) return status;
  byoc_test_shell(0, "byoc-modelgen mlp -o mlp.onnx");
  byoc_test_shell(0, "byoc build mlp.onnx -o mlp.so --target 'opencl; c' --plan greedy");
  if (byoc_test_try_shell("byoc run mlp.so --random") != 0 && strstr(byoc_test_output(), "cannot start") != NULL) {
    printf("skipped: %s\n", byoc_test_output());
    (void)byoc_test_leave_folder(NULL);
    return 77;
  }
  const bool is_open = argc > 1 && strcmp(argv[1], "open") == 0;
  status = is_open ? cmocka_run_group_tests(open, NULL, NULL) : cmocka_run_group_tests(whole, NULL, NULL);
  (void)byoc_test_leave_folder(NULL);
  return status;
}

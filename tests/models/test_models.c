// SPDX-License-Identifier: Apache-2.0
// Real models and generated ones, with every list of targets, compiled and evaluated.
//
//   models_check shared      trained models with ONNX Runtime's outputs, from ../shared/models; skipped where it is
//                            absent
//   models_check NAME        a model of byoc-modelgen: all targets agree with "c"
//   models_check precision   models in less than f32 stay near their f32 results
//   models_check memory      workspaces against their lower bound, and no copies for Concat
//   models_check sizes       its models of run-time shapes: one artifact a list of targets, many sizes
//   models_check threads     results of 1, 2 and 7 threads are the same bits
#include <stdio.h>
#include <stdlib.h>

#include "core/base/file.h"
#include "tests/support/command.h"

#define SHARED BYOC_TEST_SOURCE_DIR "/../shared/models"

static const char *const target_lists[] = {"c", "cutlass; c", "cblas; c", "dnnl; c", "cutlass; dnnl; cblas; c"};
enum { TARGET_LIST_COUNT = sizeof(target_lists) / sizeof(target_lists[0]) };

static const char *model_name;

// `values` are --input and --expect of byoc run. Evaluating takes longer than all the rest where loops are interpreted.
static void check_both_ways(const char *model, const char *targets, const char *values, bool evaluate) {
  byoc_test_shell(0, "byoc build '%s' -o model.so --target '%s'", model, targets);
  byoc_test_shell(0, "byoc run model.so %s", values);
  byoc_test_printed("as expected");
  byoc_test_shell(0, "byoc run model.so --threads 1 %s", values);
  if (evaluate) byoc_test_shell(0, "byoc run '%s' --evaluate --target '%s' %s", model, targets, values);
}

static void need_shared(void) {
  if (!byoc_is_directory(SHARED)) byoc_test_skip("there is no folder ../shared/models");
}

static void test_mnist(void **state) {
  (void)state;
  need_shared();
  for (size_t i = 0; i < TARGET_LIST_COUNT; ++i) {
    check_both_ways(SHARED "/mnist/mnist.onnx", target_lists[i],
                    "--input Input3=" SHARED "/mnist/Input3.npy --expect Plus214_Output_0=" SHARED
                    "/mnist/expected_Plus214_Output_0.npy --rtol 1e-3 --atol 1e-4",
                    true);
  }
}

static void test_ultraface(void **state) {
  (void)state;
  need_shared();
  for (size_t i = 0; i < TARGET_LIST_COUNT; ++i) {
    check_both_ways(SHARED "/ultraface/ultraface_rfb_320.onnx", target_lists[i],
                    "--input input=" SHARED "/ultraface/input.npy --expect scores=" SHARED
                    "/ultraface/expected_scores.npy --expect boxes=" SHARED
                    "/ultraface/expected_boxes.npy --rtol 1e-3 --atol 1e-4",
                    true);
  }
}

// --expect for every file in the folder `reference`, behind what `values` holds.
static void expect_reference(char *values, size_t size) {
  char names[512];
  byoc_test_shell(0, "ls reference");
  snprintf(names, sizeof(names), "%s", byoc_test_output());
  for (char *line = strtok(names, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    size_t used = strlen(values), length = strlen(line);
    snprintf(values + used, size - used, " --expect %.*s=reference/%s", (int)length - 4, line, line);
  }
}

// What `c` computes is the reference; the evaluator interprets the same loops.
static void test_generated(void **state) {
  (void)state;
  const bool is_bert = strcmp(model_name, "bert_base") == 0, is_large = strcmp(model_name, "resnet50") == 0;
  const char *size = !is_bert ? "" : byoc_test_is_long() ? "--layers 2 --sequence 16" : "--layers 1 --sequence 8";
  byoc_test_shell(0, "byoc-modelgen %s -o model.onnx --seed 3 %s", model_name, size);
  byoc_test_shell(0, "byoc run model.onnx --target c --random --seed 9 --output-dir reference > log");
  char values[1024] = "--random --seed 9 --rtol 1e-3 --atol 1e-4";
  expect_reference(values, sizeof(values));
  // The short test of a large model: all backends together.
  const bool takes_all = byoc_test_is_long() || (!is_large && !is_bert && strcmp(model_name, "mobilenet_v2") != 0);
  for (size_t i = takes_all ? 0 : TARGET_LIST_COUNT - 1; i < TARGET_LIST_COUNT; ++i) {
    const bool interprets_all = i == 0;
    check_both_ways("model.onnx", target_lists[i], values, !(interprets_all && is_large));
  }
}

// One artifact for all sizes: each list of targets, and the evaluator, agree with `c`.
static void test_sizes(void **state) {
  (void)state;
  static const struct {
    const char *model, *sizes[4];
  } cases[] = {
      {"greedy_decoder", {"prompt_length=1", "prompt_length=2", "prompt_length=17", "prompt_length=40"}},
      {"detector",
       {"height=16 --dim width=16", "height=57 --dim width=131", "height=96 --dim width=33",
        "height=40 --dim width=8"}},
      {"lstm", {"time=10 --dim batch=1", "time=12 --dim batch=5", "time=31 --dim batch=2", "time=11 --dim batch=8"}},
  };
  for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); ++c) {
    byoc_test_shell(0, "byoc-modelgen %s -o model.onnx --seed 3", cases[c].model);
    byoc_test_shell(0, "byoc build model.onnx -o c.so --target c");
    byoc_test_shell(0, "byoc build model.onnx -o all.so --target 'cutlass; dnnl; cblas; c'");
    for (int k = 0; k < 4; ++k) {
      char values[1024];
      snprintf(values, sizeof(values), "--random --seed %d --dim %s --rtol 1e-3 --atol 1e-4", k, cases[c].sizes[k]);
      byoc_test_shell(0, "rm -rf reference && byoc run c.so %s --output-dir reference", values);
      expect_reference(values, sizeof(values));
      byoc_test_shell(0, "byoc run all.so %s", values);
      byoc_test_printed("as expected");
      byoc_test_shell(0, "byoc run model.onnx --evaluate %s", values);
    }
  }
}

// An output may be off by `bf16` or `int8` at most, and the latter is not the f32 result.
static void check_precision(const char *model, const char *values, double bf16, double int8) {
  static const char *const names[] = {"bf16", "int8"};
  const double bounds[] = {bf16, int8};
  for (int i = 0; i < 2; ++i) {
    byoc_test_shell(0, "byoc build '%s' -o model.so --plan greedy --target 'cutlass -precision=%s; c'", model,
                    names[i]);
    byoc_test_shell(0, "byoc run model.so %s --rtol 0 --atol %g", values, bounds[i]);
    byoc_test_printed("as expected");
  }
  byoc_test_shell(1, "byoc run model.so %s --rtol 1e-5 --atol %g", values, bounds[1] * 1e-3);
}

static const char *size_of_models(void) {
  return byoc_test_is_long() ? "--layers 2" : "--layers 1 --vocabulary 2000";
}

static void test_precision(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen gpt2_step -o gpt2.onnx --seed 3 %s", size_of_models());
  byoc_test_shell(0, "byoc run gpt2.onnx --target c --random --seed 9 --output-dir reference > log");
  check_precision("gpt2.onnx", "--random --seed 9 --expect logits=reference/logits.npy", 0.0125, 0.075); // of 2.5
}

static void test_precision_of_shared(void **state) {
  (void)state;
  need_shared();
  check_precision(SHARED "/mnist/mnist.onnx",
                  "--input Input3=" SHARED "/mnist/Input3.npy --expect Plus214_Output_0=" SHARED
                  "/mnist/expected_Plus214_Output_0.npy",
                  26, 264); // of 5274
  if (!byoc_test_is_long()) return;
  check_precision(SHARED "/ultraface/ultraface_rfb_320.onnx",
                  "--input input=" SHARED "/ultraface/input.npy --expect scores=" SHARED
                  "/ultraface/expected_scores.npy",
                  0.01, 0.1); // of 1: of anchors that may be a face or not
}

// The workspace is at most a twentieth larger than what lives at once.
static void check_memory(const char *model, bool joins) {
  static const char *const lists[] = {"c", "cutlass; c", "cblas; c"};
  for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); ++i) {
    byoc_test_shell(0, "byoc build '%s' --target '%s' --plan greedy --emit=host -o host", model, lists[i]);
    byoc_test_shell(0, "head -n 1 host");
    unsigned long long size = 0, bound = 0;
    const char *sizes = strstr(byoc_test_output(), " workspace ");
    assert_non_null(sizes);
    assert_int_equal(sscanf(sizes, " workspace %llu bound %llu", &size, &bound), 2);
    if (size < bound || (double)size > 1.05 * (double)bound) {
      fail_msg("%s on '%s': a workspace of %llu bytes, the bound is %llu", model, lists[i], size, bound);
    }
    // Behind cblas, biases are added on the way.
    if (joins && strstr(lists[i], "cblas") == NULL) byoc_test_shell(1, "grep -e 'kernel .*_concat' -e ' copy ' host");
  }
}

static void test_memory(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen gpt2_step -o gpt2.onnx %s", size_of_models());
  check_memory("gpt2.onnx", false);
  if (!byoc_test_is_long()) return;
  byoc_test_shell(0, "byoc-modelgen bert_base -o bert.onnx %s", size_of_models());
  check_memory("bert.onnx", false);
  byoc_test_shell(0, "byoc-modelgen mobilenet_v2 -o mobilenet.onnx");
  check_memory("mobilenet.onnx", false);
}

static void test_memory_of_shared(void **state) {
  (void)state;
  need_shared();
  check_memory(SHARED "/light/light_squeezenet.onnx", true);
  if (!byoc_test_is_long()) return;
  check_memory(SHARED "/light/light_inception_v1.onnx", true);
  check_memory(SHARED "/light/light_resnet50.onnx", true);
  check_memory(SHARED "/light/light_bvlc_alexnet.onnx", true);
  check_memory(SHARED "/ultraface/ultraface_rfb_320.onnx", false);
}

// A decoder's cache is written in place: a program in C steps through it beside one with two buffers.
static void test_cache(void **state) {
  (void)state;
  static const char *const lists[] = {"c", "cutlass; c"};
  byoc_test_shell(0, "byoc-modelgen gpt2_cached -o gpt2.onnx --layers 1 --sequence 16 --vocabulary 2000 --seed 3");
  byoc_test_shell(0, "byoc build gpt2.onnx -o reference.so --target c --plan greedy");
  for (size_t i = 0; i < (byoc_test_is_long() ? sizeof(lists) / sizeof(lists[0]) : 1); ++i) {
    byoc_test_shell(0, "byoc build gpt2.onnx -o in_place.so --target '%s' --plan greedy --alias 'present_*=past_*'",
                    lists[i]);
    byoc_test_shell(0, "byoc inspect in_place.so");
    byoc_test_printed("present_value_0 : f32[1,12,16,64]  49152 bytes, may be written over past_value_0");
    // 49152 bytes of each cache, and 3072 bytes by each of four transposes that leave all elements in their places.
    byoc_test_printed("a run copies 110592 bytes unchanged, and 12288 if outputs are written over their inputs");
    byoc_test_shell(0, BYOC_TEST_BUILD_DIR "/tests/cache_steps ./in_place.so ./reference.so 40");
    byoc_test_printed("bytes copied per step: 110592 with two buffers, 12288 in place");
  }
}

// One artifact of two targets, run on 1, 2 and 7 threads.
static void check_threads(const char *model, const char *sizes) {
  static const char *const lists[] = {"c", "cutlass; c"};
  for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); ++i) {
    byoc_test_shell(0, "byoc build '%s' -o model.so --target '%s'", model, lists[i]);
    for (int threads = 1; threads <= 7; threads += threads == 1 ? 1 : 5) {
      byoc_test_shell(0, "byoc run model.so --random --seed 9 %s --threads %d --output-dir results_%d > log", sizes,
                      threads, threads);
      byoc_test_shell(0, "diff -r results_1 results_%d", threads);
    }
    byoc_test_shell(0, "ls results_1 | grep -q npy && rm -r results_1 results_2 results_7");
  }
}

static void test_results_are_the_same_on_any_number_of_threads(void **state) {
  (void)state;
  static const struct {
    const char *model, *sizes;
  } cases[] = {
      {"lenet", ""},
      {"lstm", "--dim time=13 --dim batch=5"}, // the short test ends here
      {"resnet50", ""},
      {"shufflenet_v2", ""},
      {"bert_base --layers 2 --sequence 19", ""},
      {"gpt2_bytes --layers 1 --sequence 33", ""},
      {"detector", "--dim height=57 --dim width=131"},
  };
  for (size_t i = 0; i < (byoc_test_is_long() ? sizeof(cases) / sizeof(cases[0]) : 2); ++i) {
    byoc_test_shell(0, "byoc-modelgen %s -o model.onnx --seed 3", cases[i].model);
    check_threads("model.onnx", cases[i].sizes);
  }
}

static void test_shared_models_are_the_same_on_any_number_of_threads(void **state) {
  (void)state;
  need_shared();
  check_threads(SHARED "/mnist/mnist.onnx", "");
  if (byoc_test_is_long()) check_threads(SHARED "/ultraface/ultraface_rfb_320.onnx", "");
}

static const struct {
  const char *name;
  struct CMUnitTest tests[2]; // cmocka passes over what has no function
} groups[] = {
    {"shared", {cmocka_unit_test(test_mnist), cmocka_unit_test(test_ultraface)}},
    {"memory", {cmocka_unit_test(test_memory), cmocka_unit_test(test_memory_of_shared)}},
    {"precision", {cmocka_unit_test(test_precision), cmocka_unit_test(test_precision_of_shared)}},
    {"threads",
     {cmocka_unit_test(test_results_are_the_same_on_any_number_of_threads),
      cmocka_unit_test(test_shared_models_are_the_same_on_any_number_of_threads)}},
    {"cache", {cmocka_unit_test(test_cache)}},
    {"sizes", {cmocka_unit_test(test_sizes)}},
};

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: models_check shared|sizes|memory|precision|cache|threads|MODEL\n");
    return 2;
  }
  model_name = argv[1];
  for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); ++i) {
    if (strcmp(model_name, groups[i].name) != 0) continue;
    return cmocka_run_group_tests(groups[i].tests, byoc_test_enter_folder, byoc_test_leave_folder);
  }
  const struct CMUnitTest generated[] = {cmocka_unit_test(test_generated)};
  return cmocka_run_group_tests(generated, byoc_test_enter_folder, byoc_test_leave_folder);
}

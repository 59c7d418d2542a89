// SPDX-License-Identifier: Apache-2.0
// Variants: a model compiled for given sizes of its open dimensions gives, at these sizes and at all others, what the
// open model gives; commands say which variants there are, and which one ran.
#include "tests/support/command.h"

#include <stdio.h>
#include <string.h>

#include <jansson.h>

// Sizes that several inputs have, an expression over them, an output that is an input, and a size that the data decide.
static const char model[] = "module {\n"
                            "  constant @w : f32[8,16] = splat 0.125\n"
                            "  constant @minus : i64[1] = [-1]\n"
                            "  func @main(%x : f32[B,S,8], %r : f32[B,S,16], %q : f32[S]) -> (%y : f32[B,S,16], "
                            "%z : f32[B * S * 16], %n : i64[1,?0], %same : f32[S], %s : i64[3]) {\n"
                            "    %0 = MatMul@13(%x, @w) : f32[B,S,16]\n"
                            "    %1 = Add@14(%0, %r) : f32[B,S,16]\n"
                            "    %y = Relu@14(%1) : f32[B,S,16]\n"
                            "    %z = Reshape@13(%y, @minus) : f32[B * S * 16]\n"
                            "    %n = NonZero@13(%q) : i64[1,?0]\n"
                            "    %s = Shape@13(%y) : i64[3]\n"
                            "    return %y, %z, %n, %q, %s\n"
                            "  }\n"
                            "}\n";

// Both cases of an If, and a Loop, read an input of open size.
static const char control[] = "module {\n"
                              "  constant @m : i64[] = splat 3\n"
                              "  func @main(%x : f32[N,4], %c : bool[]) -> (%y : f32[N,4]) {\n"
                              "    %0 = If@16(%c) [then_branch () -> (f32[N,4]) {\n"
                              "      %a = Neg@13(%x) : f32[N,4]\n"
                              "      return %a\n"
                              "    }, else_branch () -> (f32[N,4]) {\n"
                              "      %b = Exp@13(%x) : f32[N,4]\n"
                              "      return %b\n"
                              "    }] : f32[N,4]\n"
                              "    %y = Loop@16(@m, %c, %0) [body (%i : i64[], %go : bool[], %v : f32[N,4]) -> "
                              "(%more : bool[], %w : f32[N,4]) {\n"
                              "      %more = Identity@16(%go) : bool[]\n"
                              "      %w = Add@14(%v, %x) : f32[N,4]\n"
                              "      return %more, %w\n"
                              "    }] : f32[N,4]\n"
                              "    return %y\n"
                              "  }\n"
                              "}\n";

// The rank of %y depends on C: it is that of the model for 1 only. Squeeze leaves out S where it is 1.
static const char ranks[] = "module {\n"
                            "  constant @one : i64[1] = [1]\n"
                            "  constant @shape : i64[2] = [-1, 4]\n"
                            "  func @main(%x : f32[R,C,4]) -> (%y : f32[R,4]) {\n"
                            "    %c = Shape@15(%x) {start = 1, end = 2} : i64[1]\n"
                            "    %is = Equal@13(%c, @one) : bool[1]\n"
                            "    %q = If@16(%is) [then_branch () -> (f32[?0,4]) {\n"
                            "      %s = Reshape@14(%x, @shape) : f32[?0,4]\n"
                            "      return %s\n"
                            "    }, else_branch () -> (f32[R,C,4]) {\n"
                            "      %e = Abs@13(%x) : f32[R,C,4]\n"
                            "      return %e\n"
                            "    }] : f32[*]\n"
                            "    %y = Relu@14(%q) : f32[R,4]\n"
                            "    return %y\n"
                            "  }\n"
                            "}\n";
static const char squeezed[] = "module {\n"
                               "  func @main(%x : f32[S,4]) -> (%y : f32[S,4]) {\n"
                               "    %0 = Squeeze@13(%x) : f32[S,4]\n"
                               "    %y = Neg@13(%0) : f32[S,4]\n"
                               "    return %y\n"
                               "  }\n"
                               "}\n";

static const char halves[] = "module {\n"
                             "  constant @shape : i64[2] = [-1, 2]\n"
                             "  func @main(%x : f32[N]) -> (%y : f32[floordiv(N, 2),2]) {\n"
                             "    %y = Reshape@13(%x, @shape) : f32[floordiv(N, 2),2]\n"
                             "    return %y\n"
                             "  }\n"
                             "}\n";

static void write_model(const char *text) {
  FILE *file = fopen("model.byoc", "w");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  assert_int_equal(fclose(file), 0);
}

static void compare(const char *arguments, const char *expected) {
  byoc_test_shell(0, "rm -rf reference && byoc run reference.so --random --seed 5 %s --output-dir reference",
                  arguments);
  byoc_test_shell(0, "byoc run model.so --random --seed 5 %s %s", arguments, expected);
}

static void test_every_size_gives_what_the_open_model_gives(void **state) {
  (void)state;
  static const char *const dims[] = {"--dim B=1 --dim S=1", "--dim B=1 --dim S=7", "--dim B=4 --dim S=1",
                                     "--dim B=4 --dim S=7", "--dim B=4 --dim S=6", "--dim B=2 --dim S=7",
                                     "--dim B=3 --dim S=0", "--dim B=1 --dim S=13"};
  write_model(model);
  byoc_test_shell(0, "byoc build model.byoc -t c -o reference.so");
  byoc_test_shell(0, "byoc build model.byoc -t c --dim B=1,4 --dim S=1,7,open -o model.so");
  for (size_t i = 0; i < sizeof(dims) / sizeof(*dims); ++i) {
    compare(dims[i], "--expect y=reference/y.npy --expect z=reference/z.npy --expect n=reference/n.npy "
                     "--expect same=reference/same.npy --expect s=reference/s.npy");
  }
  byoc_test_shell(0, "byoc inspect model.so");
  byoc_test_printed("variants: B=1,S=1; B=1,S=7; B=4,S=1; B=4,S=7; any other size\n");
  byoc_test_printed("output y : f32[B,S,16]\n");
  byoc_test_printed("output z : f32[B * S * 16]\n");
}

static void test_control_flow_is_in_each_variant(void **state) {
  (void)state;
  static const char *const dims[] = {"--dim N=1", "--dim N=5", "--dim N=3"};
  write_model(control);
  byoc_test_shell(0, "byoc build model.byoc -t c -o reference.so");
  byoc_test_shell(0, "byoc build model.byoc -t c --dim N=1,5 -o model.so");
  for (size_t i = 0; i < sizeof(dims) / sizeof(*dims); ++i) compare(dims[i], "--expect y=reference/y.npy");
}

static void test_ranks_may_differ_between_variants(void **state) {
  (void)state;
  static const char *const dims[] = {"--dim R=4 --dim C=2", "--dim R=4 --dim C=1", "--dim R=5 --dim C=2",
                                     "--dim R=5 --dim C=1"};
  write_model(ranks);
  byoc_test_shell(0, "byoc build model.byoc -t c -o reference.so");
  byoc_test_shell(0, "byoc build model.byoc -t c --dim R=4,3 --dim C=1,2 -o model.so");
  for (size_t i = 0; i < sizeof(dims) / sizeof(*dims); ++i) compare(dims[i], "--expect y=reference/y.npy");
  write_model(squeezed);
  byoc_test_shell(0, "byoc build model.byoc -t c --dim S=1,3 -o model.so");
  byoc_test_shell(0, "byoc run model.so --random --dim S=1");
  byoc_test_printed("y : f32[4] = ");
  byoc_test_shell(0, "byoc run model.so --random --dim S=3");
  byoc_test_printed("y : f32[3,4] = ");
  byoc_test_shell(0, "byoc run model.so --random --dim S=2");
  byoc_test_printed("y : f32[2,4] = ");
}

static json_int_t constants_of(const char *file) {
  const char *text = byoc_test_shell(0, "byoc inspect --json %s", file);
  json_t *root = json_loads(text, 0, NULL);
  assert_non_null(root);
  const json_int_t size = json_integer_value(json_object_get(root, "constants_size_bytes"));
  json_decref(root);
  return size;
}

// Layouts of weights follow from the kernels, and these are the same for 32, 64 and 96 rows.
static void test_weights_are_shared(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen mlp --batch 0 -o mlp.onnx");
  byoc_test_shell(0, "byoc build mlp.onnx --plan greedy -t 'cutlass; c' --dim batch=64 -o fixed.so");
  byoc_test_shell(0, "byoc build mlp.onnx --plan greedy -t 'cutlass; c' --dim batch=32,64,96 --profile -o model.so");
  const json_int_t fixed = constants_of("fixed.so"), all = constants_of("model.so");
  assert_true(fixed > 1000 * 1000);
  assert_true(all < fixed + fixed / 100);
  byoc_test_shell(0, "byoc build mlp.onnx --plan greedy -t 'cutlass; c' -o reference.so");
  static const char *const dims[] = {"--dim batch=64", "--dim batch=7"};
  for (size_t i = 0; i < sizeof(dims) / sizeof(*dims); ++i) compare(dims[i], "--expect output=reference/output.npy");
  byoc_test_shell(0, "byoc profile model.so --dim batch=64 --runs 3");
  byoc_test_printed("Gemm+Relu 'fc1' [batch=64]");
  byoc_test_printed("Gemm+Relu 'fc1' [open]");
}

static void test_explain_names_the_variants(void **state) {
  (void)state;
  write_model(model);
  byoc_test_shell(0, "byoc explain model.byoc --plan greedy -t 'cutlass; c' --dim S=1,7");
  byoc_test_printed("main: 3 nodes");
  byoc_test_printed("main/S=1: ");
  byoc_test_printed("main/S=7: ");
  byoc_test_printed("main/open: ");
  // What chooses is not a part of the model, and need not be on any target.
  byoc_test_shell(0, "byoc-modelgen mlp --batch 0 -o mlp.onnx");
  assert_int_equal(byoc_test_try_shell("byoc build mlp.onnx -t 'cutlass; c' --plan greedy --require cutlass "
                                       "--dim batch=1,8 -o model.so"),
                   1);
  byoc_test_printed("3 of 18 operators are not on cutlass");
}

static void test_refusals(void **state) {
  (void)state;
  write_model(halves);
  byoc_test_shell(0, "byoc build model.byoc -t c --dim N=2,4 -o model.so");
  static const struct {
    const char *dims, *message;
  } cases[] = {
      {"--dim N=2,3", "the variant N=3: "},
      {"--dim M=2,3", "no input of the model has an open dimension 'M'"},
      {"--dim N=2,2", "--dim gives 'N' the size 2 twice"},
      {"--dim N=2, ", "--dim takes NAME=VALUE"},
      {"--dim N=open", "--dim takes NAME=VALUE"},
      {"--dim N=2,open,4", "--dim takes NAME=VALUE"},
      {"--dim N=2,4 --dim N=3", "--dim gives 'N' twice"},
  };
  for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); ++i) {
    assert_int_not_equal(byoc_test_try_shell("byoc build model.byoc -t c %s -o model.so", cases[i].dims), 0);
    byoc_test_printed(cases[i].message);
  }
  assert_int_not_equal(byoc_test_try_shell("byoc run model.so --random --dim N=2,4"), 0);
  byoc_test_printed("--dim gives 'N' a list of sizes; a run has one");
  write_model(model);
  assert_int_not_equal(
      byoc_test_try_shell("byoc build model.byoc -t c --dim B=1,2,3,4,5,6,7 --dim S=1,2,3,4,5 -o model.so"), 0);
  byoc_test_printed("the sizes of dimensions make more than 32 combinations");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_every_size_gives_what_the_open_model_gives),
                                     cmocka_unit_test(test_control_flow_is_in_each_variant),
                                     cmocka_unit_test(test_ranks_may_differ_between_variants),
                                     cmocka_unit_test(test_weights_are_shared),
                                     cmocka_unit_test(test_explain_names_the_variants),
                                     cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}

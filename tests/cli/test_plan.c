// SPDX-License-Identifier: Apache-2.0
// Plans that are measured: --plan, --cost, --cost-budget; backends that go wrong; builds that are stopped.
#include <stdio.h>

#include "models.h"
#include "tests/support/command.h"

#define FAULTY "BYOC_PLUGIN_PATH=" BYOC_TEST_BUILD_DIR "/tests/plugins/good "

static const char relu_text[] = "module {\\n"
                                "  func @main(%%x : f32[4096]) -> (%%y : f32[4096]) {\\n"
                                "    %%0 = Relu@14(%%x) : f32[4096]\\n"
                                "    %%y = Exp@13(%%0) : f32[4096]\\n"
                                "    return %%y\\n  }\\n}\\n";

static int enter(void **state) {
  int result = byoc_test_enter_folder(state);
  return result != 0 ? result : byoc_test_try_shell("printf '%s' > relu.byoc", relu_text);
}

static void test_c4_c5_a_second_build_measures_nothing(void **state) {
  (void)state;
  write_vision("vision.onnx");
  const char *build = "BYOC_CACHE_DIR=$PWD/costs byoc build vision.onnx --plan=collage --target 'cblas; c' -v -o";
  byoc_test_shell(0, "%s cold.so 2>&1 | grep -v ' declined '", build);
  byoc_test_printed(" candidates measured on the way");
  byoc_test_shell(0, "%s cold.so 2>&1 | grep '^costs:'", build);
  byoc_test_printed("costs: 0 measured in 0.0 s");
  byoc_test_shell(0, "%s warm.so > /dev/null 2>&1 && cmp cold.so warm.so", build);
  byoc_test_shell(0, "BYOC_CACHE_DIR=$PWD/costs byoc build vision.onnx --plan=collage --target 'cblas; c' "
                     "--save-plan plan.json && byoc build vision.onnx --plan=plan.json --target 'cblas; c' -o saved.so "
                     "&& grep -c '\"source\": \"database\"' plan.json");
}

// Costs of a device are the device's: those of another one, or of another driver, are measured anew. A copy is dear
// enough for the plan to keep a little work at home.
static void test_c5_c9_costs_of_a_device(void **state) {
  (void)state;
  const char *build = FAULTY "BYOC_CACHE_DIR=$PWD/devices byoc build relu.byoc --plan=collage --target 'simdev; c' "
                             "-v -o device.so 2>&1";
  byoc_test_shell(0, "%s | grep '^costs:\\|runs on\\|^placed'", build);
  byoc_test_printed("simdev runs on ");
  byoc_test_printed(" for a command, copies ");
  byoc_test_printed("placed simdev 0 operators in 0 regions, c 2 operators");
  byoc_test_shell(0, "%s | grep '^costs:'", build);
  byoc_test_printed("costs: 0 measured");
  byoc_test_shell(0, "BYOC_SIM=version=2 %s | grep '^costs:' | grep -v ' 0 measured'", build);
  byoc_test_shell(0, "%s | grep '^costs:'", build);
  byoc_test_printed("costs: 0 measured");
  byoc_test_shell(0, "BYOC_SIM=devices=0 %s | grep 'typical one'", build);
  byoc_test_printed("the device of simdev counts as a typical one: ");
}

static void test_c4_estimated_costs_need_no_compiler(void **state) {
  (void)state;
  write_vision("vision.onnx");
  byoc_test_shell(0, "BYOC_CACHE_DIR=$PWD/guess byoc build vision.onnx --emit=ir --plan=collage --cost=estimate "
                     "--target 'cblas; c' -v 2>&1");
  byoc_test_printed("proven least");
  byoc_test_shell(0, "BYOC_CACHE_DIR=$PWD/guess byoc build vision.onnx --emit=ir --plan=collage "
                     "--target 'cblas; c -cc=no-such-compiler' 2>&1");
  byoc_test_printed("costs are estimated, as with --cost=estimate");
  byoc_test_shell(2, "byoc build vision.onnx --plan=dearest --target 'cblas; c'");
  byoc_test_printed("--plan takes collage, greedy or a FILE.json, not 'dearest'");
  byoc_test_shell(2, "byoc build vision.onnx --cost=guess --target 'cblas; c'");
  byoc_test_shell(1, "byoc build vision.onnx --plan=no-such.json --target 'cblas; c'");
  byoc_test_printed("no-such.json");
}

// What was placed before the build counts too; a mark that its target gives back is told.
static void test_marked_functions_are_counted(void **state) {
  (void)state;
  static const char product[] = "module {\\n"
                                "  func @main(%%a : f32[64,64], %%b : f32[64,64]) -> (%%y : f32[64,64]) {\\n"
                                "    %%0 = MatMul@13(%%a, %%b) : f32[64,64]\\n"
                                "    %%y = Sin@7(%%0) : f32[64,64]\\n"
                                "    return %%y\\n  }\\n}\\n";
  static const char marked[] = "module {\\n"
                               "  func @main(%%a : f32[64,64], %%b : f32[64,64]) -> (%%y : f32[64,64]) {\\n"
                               "    %%y = byoc::Function@1(%%a, %%b) {Compiler = \"cblas\"} "
                               "[body (%%p : f32[64,64], %%q : f32[64,64]) -> (f32[64,64]) {\\n"
                               "      %%c = MatMul@13(%%p, %%q) : f32[64,64]\\n      return %%c\\n    }] : "
                               "f32[64,64]\\n    return %%y\\n  }\\n}\\n";
  byoc_test_shell(0,
                  "printf '%s' > product.byoc && byoc opt product.byoc --target cblas -o placed.byoc "
                  "--passes=merge-composites,annotate-targets,merge-regions,partition",
                  product);
  for (int i = 0; i < 2; ++i) {
    byoc_test_shell(0, "byoc build %s.byoc --plan=greedy --target cblas", i == 0 ? "product" : "placed");
    byoc_test_printed("cblas 1 operator in 1 region, c 1 operator\n");
  }
  byoc_test_shell(0, "printf '%s' > marked.byoc && byoc build marked.byoc --plan=greedy --target cblas 2>&1", marked);
  byoc_test_printed("warning: function 'cblas_0' is marked Compiler = \"cblas\", but cblas declined it: ");
  byoc_test_printed("cblas 0 operators in 0 regions, c 1 operator\n");
}

// A backend that crashes, hangs, is wrong or cannot be built only loses the candidate: the build goes on without it.
static void test_c4_faulty_backends_are_left_out(void **state) {
  (void)state;
  static const struct {
    const char *fault, *reason;
  } rows[] = {{"crash", "it crashed (signal 11"},
              {"wrong", "wrong result: element"},
              {"hang", "it took longer than"},
              {"generate_crash", "cannot be built: the plugin demo_faulty 1.0 crashed in its hook generate for"}};
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    byoc_test_shell(0,
                    FAULTY "BYOC_RUN_TIMEOUT=2 BYOC_CACHE_DIR=$PWD/faults byoc build relu.byoc --plan=collage --target "
                           "'faulty -fault=%s; c' -o relu.so",
                    rows[i].fault);
    byoc_test_printed("faulty 0 operators in 0 regions, c 2 operators");
    byoc_test_printed("left out: faulty.node at Relu: ");
    byoc_test_printed(rows[i].reason);
    byoc_test_shell(0, "byoc run relu.so --random");
  }
}

// A build whose compilers were killed fails, and leaves nothing behind that spoils the next one.
static void test_killed_compilers_spoil_no_later_build(void **state) {
  (void)state;
  write_vision("vision.onnx");
  byoc_test_shell(0, "mkdir -p fake && printf '%%s\\n' '#!/bin/sh' 'case \" $* \" in *\" -c \"*) echo \"Killed signal "
                     "terminated program cc1\" >&2; exit 1;; esac' 'PATH=$HEALTHY exec cc \"$@\"' > fake/cc && "
                     "chmod +x fake/cc");
  byoc_test_shell(1, "export BYOC_CACHE_DIR=$PWD/poisoned; HEALTHY=$PATH PATH=$PWD/fake:$PATH byoc build vision.onnx "
                     "--plan=collage --target 'cutlass; c' --cost-budget 5 -o poisoned.so");
  byoc_test_printed("Killed signal");
  byoc_test_shell(0, "BYOC_CACHE_DIR=$PWD/poisoned byoc costs list");
  byoc_test_no_line("unusable");
  byoc_test_shell(0, "export BYOC_CACHE_DIR=$PWD/poisoned; byoc build -v "
                     "vision.onnx --plan=collage --target 'cutlass; c' --cost-budget 5 -o poisoned.so 2>&1 | "
                     "grep -E '^costs: [1-9][0-9]* measured'");
}

// What is measured stays; nothing half-written appears; nothing is left in the temporary folder.
static void test_c5_an_interrupted_build_keeps_what_was_measured(void **state) {
  (void)state;
  write_vision("vision.onnx");
  byoc_test_shell(0, "mkdir -p tmp");
  byoc_test_shell(130,
                  "BYOC_CACHE_DIR=$PWD/stopped TMPDIR=$PWD/tmp timeout --foreground --preserve-status -s INT 4 byoc "
                  "build vision.onnx --plan=collage --target 'cutlass; dnnl; cblas; c' --cost-budget 600 -o never.so");
  byoc_test_shell(0, "! ls never.so* never.h 2>/dev/null && ls -AR tmp && test -z \"$(ls -A tmp)\" && "
                     "BYOC_CACHE_DIR=$PWD/stopped byoc costs list");
}

static void test_c5_a_killed_build_leaves_a_usable_database(void **state) {
  (void)state;
  write_vision("vision.onnx");
  for (int i = 0; i < 5; ++i) {
    int code =
        byoc_test_try_shell("BYOC_CACHE_DIR=$PWD/killed timeout --foreground --preserve-status -s KILL %d.%d byoc "
                            "build vision.onnx --plan=collage --target 'cblas; c' -o killed.so",
                            i / 2, 1 + i * 37 % 9);
    assert_true(code == 0 || code == 137);
    byoc_test_shell(0, "BYOC_CACHE_DIR=$PWD/killed byoc costs list > /dev/null && ! ls killed/*.damaged 2>/dev/null");
    byoc_test_shell(0, "test ! -e killed.so || byoc run killed.so --random > /dev/null; rm -f killed.so killed.h");
  }
  byoc_test_shell(
      0, "BYOC_CACHE_DIR=$PWD/killed byoc build vision.onnx --plan=collage --target 'cblas; c' -o killed.so && "
         "byoc run killed.so --random > /dev/null");
}

// Without --target a build takes the default targets that are installed, in seconds, and says what more there is.
static void test_builds_without_targets_take_the_default_ones(void **state) {
  (void)state;
  const char *build = "unset BYOC_TARGET BYOC_PLAN; byoc build vision.onnx";
  write_vision("vision.onnx");
  byoc_test_shell(0, "%s -o default.so", build);
  byoc_test_printed("default.so: ");
  byoc_test_printed("cutlass ");
  byoc_test_printed("partitioned in order of preference");
  byoc_test_shell(0, "byoc build vision.onnx --plan=greedy -t 'cutlass; c' -o named.so && byoc inspect named.so | grep "
                     "^module > named; "
                     "byoc inspect default.so | grep ^module | cmp - named");
  byoc_test_shell(0, "%s --emit=ir > /dev/null && BYOC_PLUGIN_PATH= && export BYOC_PLUGIN_PATH && %s -o none.so", build,
                  build);
  byoc_test_shell(
      0, "byoc run default.so --random && (unset BYOC_TARGET; byoc run vision.onnx --random -v 2>&1 | grep placed)");
  byoc_test_printed("cutlass ");
  byoc_test_shell(0, "(unset BYOC_TARGET; byoc run vision.onnx --random --evaluate -v 2>&1 | grep placed)");
  byoc_test_printed("placed c ");
  byoc_test_shell(0, "BYOC_TARGET=cblas byoc build vision.onnx -o named.so");
  byoc_test_printed("cblas ");
  byoc_test_shell(2, "BYOC_TARGET=cblass byoc build vision.onnx -o named.so");
  byoc_test_printed("BYOC_TARGET: unknown target 'cblass'");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_c4_c5_a_second_build_measures_nothing),
      cmocka_unit_test(test_builds_without_targets_take_the_default_ones),
      cmocka_unit_test(test_c5_c9_costs_of_a_device),
      cmocka_unit_test(test_c4_estimated_costs_need_no_compiler),
      cmocka_unit_test(test_marked_functions_are_counted),
      cmocka_unit_test(test_c4_faulty_backends_are_left_out),
      cmocka_unit_test(test_killed_compilers_spoil_no_later_build),
      cmocka_unit_test(test_c5_an_interrupted_build_keeps_what_was_measured),
      cmocka_unit_test(test_c5_a_killed_build_leaves_a_usable_database),
  };
  return cmocka_run_group_tests(tests, enter, byoc_test_leave_folder);
}

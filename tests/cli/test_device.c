// SPDX-License-Identifier: Apache-2.0
// Models on a device, by the target simdev (tests/plugins) and the driver sim (tests/devices): the whole pipeline, what
// is cached, and the plan without devices.
#include <stdio.h>

#include "core/base/file.h"
#include "tests/cli/models.h"
#include "tests/support/command.h"

#define SIMDEV "BYOC_PLUGIN_PATH=" BYOC_TEST_BUILD_DIR "/tests/plugins/good "

// A product, a bias and an activation, which simdev takes, between a Softmax and another one, which it does not.
static void write_mlp(void) {
  static const char text[] = "module {\n"
                             "  constant @w : f32[8,3] = splat 0.5\n"
                             "  constant @b : f32[3] = [1.0, -2.0, 3.0]\n"
                             "  func @main(%x : f32[4,8]) -> (%y : f32[4,3], %z : f32[4,1]) {\n"
                             "    %s = Softmax@13(%x) : f32[4,8]\n"
                             "    %a = MatMul@13(%s, @w) : f32[4,3]\n"
                             "    %b1 = Add@14(%a, @b) : f32[4,3]\n"
                             "    %c = Relu@14(%b1) : f32[4,3]\n"
                             "    %y = Softmax@13(%c) : f32[4,3]\n"
                             "    %z = ReduceMean@13(%c) {axes = [1]} : f32[4,1]\n"
                             "    return %y, %z\n"
                             "  }\n"
                             "}\n";
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write("mlp.byoc", text, sizeof(text) - 1, &diag), &diag);
}

// Compiled and evaluated, with the device and without: the same numbers.
static void test_pipeline_agrees(void **state) {
  (void)state;
  write_mlp();
  byoc_test_shell(0, "byoc run mlp.byoc --target c --random > expected.txt");
  static const char *const targets[] = {"simdev", "simdev -single", "simdev -texture"};
  static const char *const ways[] = {"", "--evaluate"};
  for (size_t t = 0; t < sizeof(targets) / sizeof(targets[0]); ++t) {
    for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); ++w) {
      byoc_test_shell(0,
                      SIMDEV "byoc run mlp.byoc --target '%s' --plan greedy --random %s > got.txt && "
                             "diff expected.txt got.txt",
                      targets[t], ways[w]);
    }
  }
  byoc_test_shell(0, SIMDEV "byoc build mlp.byoc --target simdev --plan greedy --emit host | grep -c launch");
  byoc_test_printed("4\n"); // three operators of the group, and the mean
}

// The artifact needs no plugin, and loads where no device is; its context says what is missing.
static void test_no_device(void **state) {
  (void)state;
  write_mlp();
  byoc_test_shell(0, SIMDEV "byoc build mlp.byoc --target simdev --plan greedy -o mlp.so");
  byoc_test_shell(0, "byoc inspect mlp.so");
  byoc_test_shell(0, "byoc run mlp.so --random");
  byoc_test_shell(1, "BYOC_SIM=devices=0 byoc run mlp.so --random");
  byoc_test_printed("cannot make a context: the device 'sim' cannot start: ");
}

// Kernels are priced by the time stamps of the device, whatever the host's processor did meanwhile, and by the clock
// where there are none. A plan whose parts are measured wrongly is told of.
static void test_costs_by_time_stamps(void **state) {
  (void)state;
  write_mlp();
  byoc_test_shell(0, SIMDEV
                  "BYOC_SIM=stamps=12000000 byoc explain mlp.byoc --target 'simdev; c' --plan collage "
                  "--cost-budget 10 | grep -E '^  greedy +4[89]\\.[0-9]+ ms'"); // four kernels of 12 ms, and copies
  // Functions that take `c` far longer than it takes to copy x and y.
  static const char text[] = "module {\n"
                             "  func @main(%x : f32[1000000]) -> (%y : f32[1000000]) {\n"
                             "    %a = Tanh@13(%x) : f32[1000000]\n"
                             "    %b = Sigmoid@13(%a) : f32[1000000]\n"
                             "    %c = Exp@13(%b) : f32[1000000]\n"
                             "    %y = Tanh@13(%c) : f32[1000000]\n"
                             "    return %y\n"
                             "  }\n"
                             "}\n";
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write("large.byoc", text, sizeof(text) - 1, &diag), &diag);
  byoc_test_shell(
      0, SIMDEV "BYOC_SIM=stamps=1 byoc explain large.byoc --target 'simdev; c' --plan collage --cost-budget 10 2>&1");
  byoc_test_printed("us as a whole, and ");
  byoc_test_printed("a backend or a device of it is measured wrongly");
  // Not all parts of a choice are in the time of the whole.
  static const char choice[] = "module {\n"
                               "  func @main(%x : f32[1000000], %q : bool[]) -> (%y : f32[1000000]) {\n"
                               "    %y = If@16(%q) [then_branch () -> (f32[1000000]) {\n"
                               "      %a = Tanh@13(%x) : f32[1000000]\n"
                               "      %b = Sigmoid@13(%a) : f32[1000000]\n"
                               "      return %b\n"
                               "    }, else_branch () -> (f32[1000000]) {\n"
                               "      %e = Exp@13(%x) : f32[1000000]\n"
                               "      return %e\n"
                               "    }] : f32[1000000]\n"
                               "    return %y\n"
                               "  }\n"
                               "}\n";
  byoc_test_ok(byoc_file_write("choice.byoc", choice, sizeof(choice) - 1, &diag), &diag);
  byoc_test_shell(0, SIMDEV "BYOC_SIM=stamps=12000000 byoc explain choice.byoc --target 'simdev' --plan collage "
                            "--cost-budget 10 > /dev/null 2> said.txt && ! test -s said.txt");
}

static void test_fallback(void **state) {
  (void)state;
  write_mlp();
  byoc_test_shell(0, "byoc run mlp.byoc --target c --random > expected.txt");
  byoc_test_shell(0, SIMDEV "byoc build mlp.byoc --target simdev --plan greedy --fallback -o both.so");
  byoc_test_shell(0,
                  "byoc run both.so --random > got.txt 2> said.txt && diff expected.txt got.txt && ! test -s said.txt");
  byoc_test_shell(0, "BYOC_SIM=devices=0 byoc run both.so --random > got.txt 2> said.txt; cat said.txt; "
                     "diff expected.txt got.txt");
  byoc_test_printed("warning: the device 'sim' cannot start: ");
  byoc_test_printed("; the plan without devices runs\n");
  // What fails behind the opening ends in the other plan, too, and so does the evaluator.
  byoc_test_shell(0, "BYOC_SIM=fail=module:1 byoc run both.so --random > got.txt && diff expected.txt got.txt");
  byoc_test_shell(0, SIMDEV "BYOC_SIM=devices=0 byoc run mlp.byoc --target simdev --plan greedy --fallback --evaluate "
                            "--random > got.txt && diff expected.txt got.txt");
  byoc_test_printed("; the plan without devices runs\n");
  // Without a target that has a device there is nothing to add.
  byoc_test_shell(0, "byoc build mlp.byoc --target c --emit host > plain.txt && "
                     "byoc build mlp.byoc --target c --emit host --fallback | diff plain.txt -");
  byoc_test_shell(2, "byoc run both.so --fallback --random");
  byoc_test_printed("--fallback is for models; this is an artifact");
}

// --require is about the plan with devices: the alternative to it is not asked for.
static void test_fallback_of_what_is_required(void **state) {
  (void)state;
  static const char text[] = "module {\n"
                             "  constant @w : f32[8,3] = splat 0.5\n"
                             "  func @main(%x : f32[4,8]) -> (%y : f32[4,3]) {\n"
                             "    %a = Relu@14(%x) : f32[4,8]\n"
                             "    %y = MatMul@13(%a, @w) : f32[4,3]\n"
                             "    return %y\n"
                             "  }\n"
                             "}\n";
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write("whole.byoc", text, sizeof(text) - 1, &diag), &diag);
  byoc_test_shell(0, SIMDEV "byoc build whole.byoc --target 'simdev; c' --plan greedy --require simdev --fallback -o "
                            "whole.so");
  byoc_test_shell(0, "byoc run whole.so --random > there.txt");
  byoc_test_shell(0, "BYOC_SIM=devices=0 byoc run whole.so --random > instead.txt && diff there.txt instead.txt");
  write_mlp();
  byoc_test_shell(1,
                  SIMDEV "byoc build mlp.byoc --target 'simdev; c' --plan greedy --require simdev --fallback -o m.so");
  byoc_test_printed("2 of 6 operators are not on simdev, which --require asks for:");
  byoc_test_printed("Softmax");
}

// Code that says what it is for is not loaded on another device, and the plan without devices runs if there is one.
static void test_code_for_another_device(void **state) {
  (void)state;
  write_mlp();
  byoc_test_shell(0, "byoc run mlp.byoc --target c --random > expected.txt");
  byoc_test_shell(0, SIMDEV "BYOC_TEST_FITS=sim-2 byoc build mlp.byoc --target simdev --plan greedy --fallback "
                            "--check-budget 0 -o fits.so");
  byoc_test_shell(0, "byoc inspect fits.so | grep '^module simdev_kernels: device .* bytes, for .sim-2.$'");
  byoc_test_shell(0,
                  "BYOC_SIM=architecture=sim-2 byoc run fits.so --random 2>&1 > got.txt && diff expected.txt got.txt");
  byoc_test_printed("");
  byoc_test_shell(0, "byoc run fits.so --random > got.txt && diff expected.txt got.txt");
  byoc_test_printed(
      "the code 'simdev_kernels' is for 'sim-2', which the device 'sim' does not fit: it is of architecture '");
  byoc_test_printed("; the plan without devices runs\n");
}

// A value may live on another device of the driver than the first: its operator runs there.
static void test_further_devices(void **state) {
  (void)state;
  static const char text[] =
      "module {\n"
      "  constant @w : f32[8,3] = splat 0.5\n"
      "  func @main(%x : f32[4,8], %z : f32[4,8]) -> (%y : f32[4,3], %v : f32[4,3], %u : f32[4,8]) {\n"
      "    %y = MatMul@13(%x, @w) : f32[4,3] on {device = 12, id = 1}\n"
      "    %v = MatMul@13(%z, @w) : f32[4,3] on {device = 12, id = 0}\n"
      "    %a = Relu@14(%x) : f32[4,8] on {device = 12, id = 1}\n"
      "    %b = byoc::OnDevice@1(%a) {device = 12, id = 1, constrain_body = 1, constrain_result = 0} : f32[4,8]\n"
      "    %u = Neg@13(%b) : f32[4,8] on {device = 12, id = 0}\n"
      "    return %y, %v, %u\n"
      "  }\n"
      "}\n";
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write("further.byoc", text, sizeof(text) - 1, &diag), &diag);
  byoc_test_shell(
      0, "sed 's/ on {[^}]*}//; s/byoc::OnDevice@1(%%a) {[^}]*}/Identity@14(%%a)/' further.byoc > plain.byoc && "
         "byoc run plain.byoc --target c --random > expected.txt");
  static const char *const ways[] = {"--plan greedy", "--plan greedy --evaluate", "--plan greedy --fallback",
                                     "--plan collage --cost estimate", "--plan collage"};
  for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); ++w) {
    byoc_test_shell(
        0, SIMDEV "byoc run further.byoc --target 'simdev; c' %s --random > got.txt && diff expected.txt got.txt",
        ways[w]);
  }
  byoc_test_shell(0, SIMDEV "byoc build further.byoc --target 'simdev; c' --plan greedy --emit host");
  byoc_test_printed("device   %sim = \"sim\" 1 type 12");
  byoc_test_printed("device   %sim_1 = \"sim\" 0 type 12");
  byoc_test_printed("constant %simdev_0_c0 : f32[8,3] on %sim = ");
  byoc_test_printed("constant %simdev_1_c0 : f32[8,3] on %sim_1 = ");
  // One that is not there is missed when a context is made.
  byoc_test_shell(0, SIMDEV "byoc build further.byoc --target 'simdev; c' --plan greedy -o further.so");
  byoc_test_shell(1, "BYOC_SIM=devices=1 byoc run further.so --random");
  byoc_test_printed("the device 'sim' 1 cannot start: the driver 'sim' has devices 0 to 0, none of number 1");
}

// A place names the type of a device, so that one type has one driver in a program.
static void test_two_drivers_for_one_type(void **state) {
  (void)state;
  static const char text[] = "module {\n"
                             "  func @main(%x : f32[4,8]) -> (%y : f32[4,8], %z : f32[4,8]) {\n"
                             "    %y = Relu@14(%x) : f32[4,8] on {target = \"simdev\"}\n"
                             "    %z = Neg@13(%x) : f32[4,8] on {target = \"simother\"}\n"
                             "    return %y, %z\n"
                             "  }\n"
                             "}\n";
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write("drivers.byoc", text, sizeof(text) - 1, &diag), &diag);
  byoc_test_shell(1,
                  SIMDEV "byoc build drivers.byoc --plugin " BYOC_TEST_BUILD_DIR
                         "/tests/plugins/other/simother.so --target 'simdev; simother; c' --plan greedy -o drivers.so");
  byoc_test_printed("needs the driver 'other', and devices of type 12 have the driver 'sim' already");
  assert_false(byoc_file_exists("drivers.so"));
}

// Functions that the model marks for a device have their alternative, too, and so have places that it names.
static void test_fallback_of_marks(void **state) {
  (void)state;
  static const char text[] =
      "module {\n"
      "  func @main(%x : f32[4]) -> (%y : f32[4]) {\n"
      "    %a = call @f(%x) : f32[4]\n"
      "    %b = byoc::OnDevice@1(%a) {device = 12, id = 0, constrain_result = 1} : f32[4]\n"
      "    %y = Exp@13(%b) : f32[4]\n"
      "    return %y\n"
      "  }\n"
      "  func @f(%x : f32[4]) -> (%r : f32[4]) attributes {Compiler = \"simdev\", global_symbol = \"f\"} {\n"
      "    %r = Neg@13(%x) : f32[4]\n"
      "    return %r\n"
      "  }\n"
      "}\n";
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write("marked.byoc", text, sizeof(text) - 1, &diag), &diag);
  byoc_test_shell(0, SIMDEV "byoc build marked.byoc --target simdev --plan greedy --fallback -o marked.so");
  byoc_test_shell(0, "byoc run marked.so --random > there.txt");
  byoc_test_shell(0, "BYOC_SIM=devices=0 byoc run marked.so --random > instead.txt && diff there.txt instead.txt");
}

// Binaries are built in a child process, once for each version of the driver and each architecture.
static void test_binaries_are_cached(void **state) {
  (void)state;
  write_mlp();
  static const struct {
    const char *sim, *said;
  } builds[] = {{"version=1", "simdev: the binary was built\n"},
                {"version=1", "simdev: the binary comes from the cache\n"},
                {"version=2", "simdev: the binary was built\n"},
                {"architecture=sim_7", "simdev: the binary was built\n"},
                {"version=2", "simdev: the binary comes from the cache\n"}};
  for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); ++i) {
    byoc_test_shell(0,
                    SIMDEV "BYOC_CACHE_DIR=$PWD/cache BYOC_SIM=%s byoc build mlp.byoc --target simdev --plan greedy "
                           "-v -o mlp.so",
                    builds[i].sim);
    byoc_test_printed(builds[i].said);
  }
  // A device of another architecture takes the portable form; without a device at build time there is only that.
  byoc_test_shell(0, "BYOC_SIM=architecture=sim_9 byoc run mlp.so --random");
  byoc_test_shell(0, SIMDEV "BYOC_SIM=devices=0 byoc build mlp.byoc --target simdev --plan greedy --emit host | "
                            "grep -c 'code portable' && byoc run mlp.so --random");
}

// The host program's text has all that an artifact or the evaluator needs.
static void test_text(void **state) {
  (void)state;
  write_mlp();
  byoc_test_shell(0, "byoc run mlp.byoc --target c --random > expected.txt");
  byoc_test_shell(0, SIMDEV "byoc build mlp.byoc --target simdev --plan greedy --emit host --constants -o mlp.host");
  byoc_test_shell(0, "byoc run mlp.host --random > got.txt && diff expected.txt got.txt");
  byoc_test_shell(0, "byoc run mlp.host --random --evaluate > got.txt && diff expected.txt got.txt");
}

// What has an open shape goes to the device, too, and so does what stands in a Loop whose turns are counted by the run.
// If its target takes known sizes only, it stays on the host, and says so if it is asked to run elsewhere.
#define OTHER(what, more)                                                                                              \
  "byoc " what " --plugin " BYOC_TEST_BUILD_DIR "/tests/plugins/other/simother.so --target 'simother; c' "             \
  "--plan greedy " more
static void test_open_shapes(void **state) {
  (void)state;
  static const char text[] =
      "module {\n"
      "  constant @w : f32[8,3] = splat 0.5\n"
      "  constant @lo : i64[1] = [0]\n"
      "  constant @hi : i64[1] = [4]\n"
      "  constant @ax : i64[1] = [1]\n"
      "  func @main(%x : f32[N,4], %z : f32[4,8], %n : i64[], %go : bool[]) -> (%y : f32[N,4], %p : f32[4,3], %l : "
      "f32[4,4]) {\n"
      "    %y = Relu@14(%x) : f32[N,4]\n"
      "    %a = MatMul@13(%z, @w) : f32[4,3]\n"
      "    %p = Relu@14(%a) : f32[4,3]\n"
      "    %s = Slice@13(%z, @lo, @hi, @ax) : f32[4,4]\n"
      "    %l = Loop@16(%n, %go, %s) [body (%i : i64[], %c : bool[], %v : f32[4,4]) -> (bool[], f32[4,4]) {\n"
      "      %c1 = Identity@16(%c) : bool[]\n"
      "      %m = MatMul@13(%v, %s) : f32[4,4]\n"
      "      %t = Tanh@13(%m) : f32[4,4]\n"
      "      return %c1, %t\n"
      "    }] : f32[4,4]\n"
      "    return %y, %p, %l\n"
      "  }\n"
      "}\n";
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write("open.byoc", text, sizeof(text) - 1, &diag), &diag);
  const int64_t turns = 3;
  const uint8_t goes_on = 1;
  write_npy_of("n.npy", "<i8", 0, NULL, &turns, sizeof(turns));
  write_npy_of("go.npy", "|b1", 0, NULL, &goes_on, sizeof(goes_on));
  write_npy("x.npy", 2, (const int64_t[]){2, 4}, (const float[8]){-1, 1, -2, 2, -3, 3, -4, 4});
#define WITH "--plan greedy --input n=n.npy --input go=go.npy --input x=x.npy --random"
  byoc_test_shell(0, "byoc run open.byoc --target c " WITH " > expected.txt");
  static const char *const ways[] = {"'simdev; c'", "'simdev -single; c' --evaluate", "'simdev; c' --fallback",
                                     "'simdev -texture; c'"};
  for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); ++w) {
    byoc_test_shell(0, SIMDEV "byoc run open.byoc --target %s " WITH " > got.txt && diff expected.txt got.txt",
                    ways[w]);
  }
  byoc_test_shell(0, SIMDEV "BYOC_SIM=devices=0 byoc run open.byoc --target 'simdev; c' --fallback " WITH
                            " > got.txt && diff expected.txt got.txt");
  byoc_test_shell(0, SIMDEV "byoc build open.byoc --target 'simdev; c' --plan greedy -o open.so");
  byoc_test_printed("simdev 5 operators in 3 regions");
  byoc_test_shell(0, "byoc inspect open.so");
  byoc_test_printed("; a run copies ");
  byoc_test_printed(" tensors of open size\n");
  byoc_test_shell(0, OTHER("build open.byoc", "-o open.so"));
  byoc_test_printed("simother 4 operators in 2 regions");
  byoc_test_shell(0, "sed 's/: f32\\[N,4\\]$/& on {target = \"simother\"}/' open.byoc > bound.byoc");
  byoc_test_shell(1, OTHER("build bound.byoc", "-o open.so"));
  byoc_test_printed("its target takes only tensors of known sizes to a device");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pipeline_agrees),
      cmocka_unit_test(test_no_device),
      cmocka_unit_test(test_costs_by_time_stamps),
      cmocka_unit_test(test_fallback),
      cmocka_unit_test(test_fallback_of_marks),
      cmocka_unit_test(test_fallback_of_what_is_required),
      cmocka_unit_test(test_code_for_another_device),
      cmocka_unit_test(test_further_devices),
      cmocka_unit_test(test_two_drivers_for_one_type),
      cmocka_unit_test(test_binaries_are_cached),
      cmocka_unit_test(test_open_shapes),
      cmocka_unit_test(test_text),
  };
  return cmocka_run_group_tests(tests, byoc_test_enter_folder, byoc_test_leave_folder);
}

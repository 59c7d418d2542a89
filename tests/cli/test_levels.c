// SPDX-License-Identifier: Apache-2.0
// Artifacts for several processors (-mcpu=x86-64-v2,x86-64-v4), of which one is picked at load.
#include "core/base/file.h"
#include "core/base/machine.h"
#include "core/targets/cpu.h"
#include "tests/support/command.h"

#define SOURCE   BYOC_TEST_SOURCE_DIR
#define CC_FLAGS "-std=gnu11 -Wall -Wextra -Werror -O1 -I" SOURCE "/include"
#define LEVELS   "x86-64,x86-64-v4,x86-64-v3"

// Two products with large weights, of so many rows.
static void write_model(const char *path, const char *rows) {
  char text[1024];
  const int size = snprintf(text, sizeof(text),
                            "module {opset_import. = 17} {\n"
                            "  constant @w : f32[512,512] = splat 0.01\n"
                            "  constant @b : f32[512] = splat 0.25\n"
                            "  func @main(%%x : f32[%s,512]) -> (%%y : f32[%s,512]) {\n"
                            "    %%0 = MatMul@13(%%x, @w) : f32[%s,512]\n"
                            "    %%1 = Add@14(%%0, @b) : f32[%s,512]\n"
                            "    %%2 = Tanh@13(%%1) : f32[%s,512]\n"
                            "    %%y = MatMul@13(%%2, @w) : f32[%s,512]\n"
                            "    return %%y\n"
                            "  }\n"
                            "}\n",
                            rows, rows, rows, rows, rows, rows);
  byoc_diag_t diag = {0};
  assert_true(size > 0 && (size_t)size < sizeof(text));
  byoc_test_ok(byoc_file_write(path, text, (size_t)size, &diag), &diag);
}

static int enter(void **state) {
  int result = byoc_test_enter_folder(state);
  if (result != 0) return result;
  write_model("m.byoc", "3");
  write_model("n.byoc", "1");
  write_model("open.byoc", "N");
  return byoc_test_try_shell("cc " CC_FLAGS " " SOURCE "/tests/cli/user_level.c -ldl -o level");
}

static void need_x86_64(void) {
  if (byoc_machine_host() == BYOC_MACHINE_X86_64) return;
  byoc_test_skip("the levels are those of x86-64");
}

static bool runs_here(const char *level) {
  byoc_diag_t diag = {0};
  uint64_t features = 0;
  byoc_test_ok(byoc_cpu_parse(level, BYOC_MACHINE_X86_64, &diag, &features), &diag);
  return (features & ~byoc_cpu_detect()) == 0;
}

// On each level an artifact computes what one for that processor alone does, bit for bit.
static void expect_levels(const char *targets, const char *options, const char *run) {
  static const char *const levels[] = {"x86-64", "x86-64-v3", "x86-64-v4"};
  byoc_test_shell(0, "rm -rf one several; byoc build m.byoc -t '%s -mcpu=" LEVELS "' %s -o several.so", targets,
                  options);
  byoc_test_printed("MiB, 3 ISA levels\nx86-64-v4: ");
  for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); ++i) {
    if (!runs_here(levels[i])) continue;
    byoc_test_shell(0,
                    "rm -rf one several && byoc build m.byoc -t '%s -mcpu=%s' %s -o one.so && "
                    "byoc run one.so --random %s --output-dir one && "
                    "BYOC_LEVEL=%s byoc run several.so --random %s --output-dir several && diff -r one several && "
                    "BYOC_LEVEL=%s ./level ./several.so",
                    targets, levels[i], options, run, levels[i], run, levels[i]);
    byoc_test_printed(levels[i]);
  }
}

static void test_levels_compute_what_their_processor_does(void **state) {
  (void)state;
  need_x86_64();
  expect_levels("cutlass; c", "", "");
  if (!byoc_test_is_long()) return;
  expect_levels("c", "", "");
  expect_levels("dnnl; c", "", "");
}

// Each level takes plans for numbers of threads, and variants for sizes, along.
static void test_levels_take_plans_and_variants_along(void **state) {
  (void)state;
  need_x86_64();
  expect_levels("cutlass; c", "--threads 1,2 --cost estimate --plan collage", "--threads 2");
  byoc_test_shell(0, "cp open.byoc m.byoc");
  expect_levels("cutlass; c", "--dim N=1,4", "--dim N=4");
  if (byoc_test_is_long()) expect_levels("c", "", "--dim N=5");
  write_model("m.byoc", "3");
}

// The best level that a processor can run; the first line of what the program says under an emulator of it.
static void test_levels_are_picked_at_load(void **state) {
  (void)state;
  static const struct {
    const char *processor, *said;
  } cases[] = {{"max", "x86-64-v3"}, // the emulator has no AVX-512
               {"Nehalem", "x86-64-v2"},
               {"qemu64", "the model 'm' has code for x86-64-v4, x86-64-v3, x86-64-v2, and this processor lacks "
                          "ssse3, sse4_1, sse4_2, popcnt of x86-64-v2; build it with one more level, "
                          "-mcpu=...,x86-64"}};
  need_x86_64();
  byoc_test_shell(0, "byoc build m.byoc -t 'c -mcpu=x86-64-v2,x86-64-v3,x86-64-v4' -o m.so");
  byoc_test_shell(2, "BYOC_LEVEL=x86-64 byoc run m.so --random");
  byoc_test_printed("BYOC_LEVEL is 'x86-64'; the model 'm' has code for x86-64-v4, x86-64-v3, x86-64-v2");
  if (byoc_test_try_shell("command -v qemu-x86_64") != 0) {
    byoc_test_skip("there is no qemu-x86_64");
  }
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    byoc_test_shell(i == 2, "qemu-x86_64 -cpu %s ./level ./m.so", cases[i].processor);
    byoc_test_printed(cases[i].said);
  }
}

static void test_levels_share_constants(void **state) {
  (void)state;
  need_x86_64();
  byoc_test_shell(0, "byoc build m.byoc -t 'c -mcpu=x86-64-v2' -o one.so && "
                     "byoc build m.byoc -t 'c -mcpu=x86-64-v2,x86-64-v3' -o two.so && "
                     "test $(($(stat -c %%s two.so) - $(stat -c %%s one.so))) -lt 131072");
  byoc_test_shell(0, "mkdir -p again && cd again && cp ../m.byoc . && "
                     "byoc build m.byoc -t 'c -mcpu=x86-64-v2,x86-64-v3' -o two.so && cmp two.so ../two.so");
  byoc_test_shell(0, "byoc build m.byoc -t 'c -mcpu=x86-64-v2,x86-64-v3' -o two.so --weights external && "
                     "BYOC_VERIFY=1 byoc run two.so --random && BYOC_LEVEL=x86-64-v2 byoc run two.so --random");
}

static void test_each_entry_has_its_levels(void **state) {
  (void)state;
  need_x86_64();
  byoc_test_shell(0, "byoc build --entry a=m.byoc --entry b=n.byoc -t 'c -mcpu=x86-64,x86-64-v2' -o two.so");
  byoc_test_printed("2 entries, 2 ISA levels\na, x86-64-v2: ");
  byoc_test_shell(0, "rm -rf one all; byoc build n.byoc -t 'c -mcpu=x86-64' -o one.so && "
                     "byoc run one.so --random --output-dir one && "
                     "BYOC_LEVEL=x86-64 byoc run two.so --entry b --random --output-dir all && diff -r one all");
  byoc_test_shell(0, "byoc inspect two.so --entry b --level x86-64");
  byoc_test_printed("entry b of a, b\nlevel x86-64 of x86-64-v2, x86-64\n");
  byoc_test_printed("input  x : f32[1,512]");
  byoc_test_shell(2, "byoc inspect two.so --level x86-64-v3");
  byoc_test_printed("the artifact has no level 'x86-64-v3'; it has x86-64-v2, x86-64");
}

static void test_a_static_library_has_levels(void **state) {
  (void)state;
  need_x86_64();
  byoc_test_shell(0, "byoc build n.byoc --name model -t 'cutlass -mcpu=x86-64,x86-64-v2' -o model.a && "
                     "byoc build n.byoc --name model -t 'cutlass -mcpu=x86-64' -o one.so && "
                     "cc " CC_FLAGS " -DLOADS " SOURCE "/tests/cli/user_machine.c -ldl -o loads && "
                     "cc " CC_FLAGS " -static " SOURCE "/tests/cli/user_machine.c model.a -lm -lpthread -o program && "
                     "./loads ./one.so > one.txt && BYOC_LEVEL=x86-64 ./program | cmp - one.txt");
  byoc_test_shell(0, "nm model.a | grep ' [A-TV-Z] ' | grep -v ' w ' | grep -vc ' model_' | grep -x 0");
}

static void test_levels_of_another_machine_are_picked_at_load(void **state) {
  (void)state;
  if (byoc_test_try_shell("command -v aarch64-linux-gnu-gcc && command -v qemu-aarch64") != 0) {
    byoc_test_skip("aarch64-linux-gnu-gcc or qemu-aarch64 is not installed");
  }
  byoc_test_shell(0, "byoc build m.byoc --triple aarch64-linux-gnu -t 'cutlass -mcpu=armv8-a,neoverse-n1' -o m.so && "
                     "aarch64-linux-gnu-gcc " CC_FLAGS " " SOURCE "/tests/cli/user_level.c -ldl -o other");
  byoc_test_shell(0, "qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu max ./other ./m.so");
  byoc_test_printed("neoverse-n1");
  byoc_test_shell(0, "qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu cortex-a53 ./other ./m.so");
  byoc_test_printed("armv8-a");
}

static void test_wrong_levels_are_refused(void **state) {
  (void)state;
  static const struct {
    const char *words, *message;
  } cases[] = {
      {"-t 'c -mcpu=x86-64-v2,native' -o m.so", "'native' does not say which of several processors it is"},
      {"-t 'c -mcpu=x86-64-v3,avx2+f16c+bmi1+bmi2+fma' -o m.so", "have the same features: one of them is enough"},
      {"-t 'c -mcpu=x86-64-v2,' -o m.so", "unknown processor or extension ''"},
      {"-t 'cutlass -mcpu=x86-64-v2,x86-64-v3; c -mcpu=x86-64,x86-64-v2' -o m.so", "and not the same ones"},
      {"-t 'c -mcpu=x86-64,x86-64-v2' -o m.c", "C source cannot pick among several processors"},
      {"-t 'c -mcpu=x86-64,x86-64-v2' --emit host", "--emit is for one processor: name one with -mcpu"},
      {"-t 'c -mcpu=x86-64,x86-64-v2' --save-plan p.json -o m.so", "--save-plan is for one processor"},
  };
  need_x86_64();
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
    byoc_test_shell(2,
                    "rm -rf m.so m.c; byoc build m.byoc %s; code=$?; ! ls m.so m.c p.json 2> /dev/null && exit $code",
                    cases[i].words);
    byoc_test_printed(cases[i].message);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_levels_compute_what_their_processor_does),
      cmocka_unit_test(test_levels_take_plans_and_variants_along),
      cmocka_unit_test(test_levels_are_picked_at_load),
      cmocka_unit_test(test_levels_share_constants),
      cmocka_unit_test(test_each_entry_has_its_levels),
      cmocka_unit_test(test_a_static_library_has_levels),
      cmocka_unit_test(test_levels_of_another_machine_are_picked_at_load),
      cmocka_unit_test(test_wrong_levels_are_refused),
  };
  return cmocka_run_group_tests(tests, enter, byoc_test_leave_folder);
}

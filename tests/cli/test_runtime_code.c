// SPDX-License-Identifier: Apache-2.0
// Row A28: engines, drivers and static libraries of backends can be built for the target's processor, from archives by
// triple or from sources; and each mistake in what a plugin announces has a sentence.
#include "tests/support/command.h"

#define SOURCE   BYOC_TEST_SOURCE_DIR
#define PLUGINS  PORTABLE_PLUGINS
#define CC_FLAGS "-std=gnu11 -Wall -Wextra -Werror -O1 -I" SOURCE "/include"
#define PROGRAM  SOURCE "/tests/cli/user_machine.c"
#define BUILD    "byoc build m.byoc --plugin ./portable.so --plugin ./slab.so --plan greedy --name model "
#define ALL      "-t 'port; shim; slab; c' "

// An engine, a static library and a device, one behind the other.
static const char model[] = "module {\\n  func @main(%%x : f32[3,4]) -> (%%y : f32[3,4]) {\\n"
                            "    %%0 = Neg@13(%%x) : f32[3,4]\\n    %%1 = Add@14(%%0, %%x) : f32[3,4]\\n"
                            "    %%2 = Sub@14(%%1, %%0) : f32[3,4]\\n    %%3 = Abs@13(%%0) : f32[3,4]\\n"
                            "    %%4 = Relu@14(%%2) : f32[3,4]\\n    %%y = Sub@14(%%4, %%3) : f32[3,4]\\n"
                            "    return %%y\\n  }\\n}\\n";

// aarch64/engine.a is the engine for AArch64, if there is a compiler for it; wrong/engine.o is for this machine.
static int make_archives(void) {
  static const char flags[] = "-O1 -fPIC -DPORT_SIGN=-1 -Iinclude -I" SOURCE "/include";
  return byoc_test_try_shell("mkdir aarch64 wrong && cc %s -c engine/engine.c -o wrong/engine.o && "
                             "cc=$(command -v aarch64-linux-gnu-gcc || echo cc) && cd aarch64 && "
                             "for file in engine negate; do (cd .. && $cc %s -c engine/$file.c -o aarch64/$file.o) || "
                             "exit 1; done && ar rcs engine.a engine.o negate.o && rm ./*.o",
                             flags, flags);
}

static int enter(void **state) {
  int result = byoc_test_enter_folder(state);
  if (result != 0) return result;
  result = byoc_test_try_shell(
      "printf '%s' > m.byoc && cp " PLUGINS "/portable.so " PLUGINS "/slab.so . && cp -r " SOURCE
      "/tests/plugins/portable/engine " SOURCE "/tests/plugins/portable/include " SOURCE
      "/tests/plugins/portable/shim.c . && chmod -R go-w . && " BUILD ALL "-o host.a && cc " CC_FLAGS " " PROGRAM
      " host.a -lm -lpthread -o host && ./host > host.txt && grep -c . host.txt",
      model);
  return result == 0 ? make_archives() : result;
}

static int has(const char *programs) {
  return byoc_test_try_shell("for program in %s; do command -v $program > /dev/null || exit 1; done", programs) == 0;
}

// All three flavours on another processor, bit for bit.
static void build_and_run(const char *machine) {
  byoc_test_shell(0, BUILD ALL "--triple %s-linux-gnu -o other.a", machine);
  byoc_test_printed("port 1 operator in 1 region, shim 1 operator in 1 region, slab 2 operators in");
  byoc_test_shell(0,
                  "%s-linux-gnu-gcc " CC_FLAGS " -static " PROGRAM " other.a -lm -lpthread -o program && "
                  "BYOC_VERIFY=1 qemu-%s ./program | cmp - host.txt",
                  machine, machine);
}

static void test_row_A28_all_flavours_run_on_the_targets_processor(void **state) {
  (void)state;
  static const char *const machines[] = {"aarch64", "riscv64"};
  int tried = 0;
  for (size_t i = 0; i < (byoc_test_is_long() || !has("aarch64-linux-gnu-gcc qemu-aarch64") ? 2 : 1); i++) {
    char programs[64];
    snprintf(programs, sizeof(programs), "%s-linux-gnu-gcc qemu-%s", machines[i], machines[i]);
    if (!has(programs)) {
      byoc_test_leave_out("one of these is not installed: %s", programs);
    } else {
      build_and_run(machines[i]);
      tried++;
    }
  }
  if (tried == 0) byoc_test_skip("there is no cross compiler with an emulator");
  byoc_test_shell(0, BUILD ALL "--triple %s-linux-gnu -o other.so && byoc inspect other.so",
                  has("aarch64-linux-gnu-gcc") ? "aarch64" : "riscv64");
  byoc_test_printed("port: engine by 'port', of source engine/engine.c and 1 more compiled for ");
  byoc_test_printed("slab: driver by 'slab -clock_mhz=0', of source driver.c compiled for ");
}

// The sources of all three become part of it; the names of each stay apart.
static void test_row_A28_c_source_holds_all_flavours(void **state) {
  (void)state;
  byoc_test_shell(0, BUILD ALL "-o source.c && make -s -C source.c CC=gcc && gcc " CC_FLAGS " " PROGRAM
                               " source.c/libmodel.a -lm -o program && ./program | cmp - host.txt");
  byoc_test_shell(0, "nm -g --defined-only source.c/libmodel.a");
  byoc_test_no_line(" [A-Z] [^m]");            // every name begins with model_
  byoc_test_shell(0, BUILD ALL "-o source.c"); // the folder is replaced
  byoc_test_shell(0, "byoc build m.byoc --plugin ./portable.so --plan greedy --name model -t port_archive -o source.c");
  byoc_test_shell(0, "cat source.c/Makefile; ls source.c/code/port_archive_0/aarch64-linux-gnu+arm-X");
  byoc_test_printed("code/port_archive_0/aarch64-linux-gnu+arm-X/aarch64/engine.a");
  byoc_test_shell(0, "byoc build m.byoc --plugin ./portable.so --plan greedy --name model -t port_array -o source.c && "
                     "cat source.c/code/port_array_0/aarch64-X/engine.a source.c/code/port_array_0/aarch64-X_2/*");
  byoc_test_printed("firstsecond");
}

static void test_archives_go_before_sources_and_are_for_their_machine(void **state) {
  (void)state;
  if (!has("aarch64-linux-gnu-gcc qemu-aarch64 riscv64-linux-gnu-gcc")) {
    byoc_test_skip("there is no cross compiler with an emulator");
  }
#define ARCHIVE "byoc build m.byoc --plugin ./portable.so --plan greedy --name model -t port_archive "
  byoc_test_shell(0, ARCHIVE "--triple aarch64-linux-gnu -o other.a && byoc inspect other.a > /dev/null; "
                             "aarch64-linux-gnu-gcc " CC_FLAGS " -static " PROGRAM
                             " other.a -lm -lpthread -o program && qemu-aarch64 ./program | cmp - host.txt");
  byoc_test_shell(0, ARCHIVE "--triple riscv64-linux-gnu --emit=host");
  byoc_test_printed(
      "the target 'port_archive' is left out, because of its runtime code 'port_archive': it is there for "
      "aarch64-linux-gnu, arm-*, and not for riscv64-linux-gnu; its plugin can add an archive for this "
      "triple, or sources for all");
  byoc_test_shell(0, "byoc build m.byoc --plugin ./portable.so --triple riscv64-linux-gnu -t port_none --emit=host");
  byoc_test_printed("the target 'port_none' is left out: it makes code for this machine only");
  byoc_test_shell(1, "byoc build m.byoc --plugin ./portable.so --plan greedy -t port_archive -o other.a");
  byoc_test_printed("adding the engine 'port_archive': there is no code of this engine: it is there for "
                    "aarch64-linux-gnu, arm-*, and not for ");
}

static void expect_failure(const char *target, const char *triple, const char *sentence) {
  byoc_test_shell(1,
                  "byoc build m.byoc --plugin ./portable.so --plan greedy -t %s %s -o failed.a; status=$?; "
                  "test ! -e failed.a && exit $status",
                  target, triple);
  byoc_test_printed(sentence);
}

static void test_each_mistake_has_a_sentence(void **state) {
  (void)state;
  byoc_test_shell(0, "echo 'int broken(void) { return nothing; }' > broken.c && "
                     "echo '#include \"npu_registers.h\"' > header.c");
  expect_failure("port_gone", "", "adding the engine 'port_gone': the source 'gone.c'");
  expect_failure("port_broken", "", "compiling 'broken.c' with ");
  byoc_test_printed("'nothing' undeclared");
  expect_failure("port_header", "", "npu_registers.h: No such file or directory");
  byoc_test_printed("hint: the plugin can hand the header over");
  expect_failure("port_symbol", "", "lists the symbol 'port_engine', but none of its objects defines it");
  byoc_test_shell(0, "touch 'include/a b.h'");
  expect_failure("port", "", "include' has the file 'a b.h', whose name is not one of letters, digits and ._+-");
  // engine/sign.h is announced, too.
  byoc_test_shell(0, "rm 'include/a b.h' && mkdir include/engine && echo > include/engine/sign.h");
  expect_failure("port", "", "there is another file with the name 'engine/sign.h' and other content");
  byoc_test_shell(0, "rm -r include/engine");
  expect_failure("port_none", "", "adding the engine 'port_none': it has no files");
  if (!has("aarch64-linux-gnu-gcc")) byoc_test_skip("there is no cross compiler");
  byoc_test_shell(0, "byoc build m.byoc --plugin ./portable.so -t port_lost --triple aarch64-linux-gnu --emit=host");
  byoc_test_printed("the target 'port_lost' is left out, because of its runtime code 'port_lost': '");
  byoc_test_printed("/lost/engine.a', its archive for aarch64-linux-gnu, is not there");
  expect_failure("port_wrong", "--triple aarch64-linux-gnu",
                 "wrong/engine.o of target 'port_wrong' is code for x86_64, and the artifact is for aarch64");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_row_A28_all_flavours_run_on_the_targets_processor),
      cmocka_unit_test(test_row_A28_c_source_holds_all_flavours),
      cmocka_unit_test(test_archives_go_before_sources_and_are_for_their_machine),
      cmocka_unit_test(test_each_mistake_has_a_sentence),
  };
  return cmocka_run_group_tests(tests, enter, byoc_test_leave_folder);
}

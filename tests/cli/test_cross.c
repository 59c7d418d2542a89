// SPDX-License-Identifier: Apache-2.0
// The same model and inputs give the same numbers from programs in C, C++, Python and Rust, and on other machines:
// under qemu-user or, for another libc, on this one. What is not installed is skipped.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "models.h"
#include "tests/support/command.h"

#define SOURCE   BYOC_TEST_SOURCE_DIR
#define CC_FLAGS "-std=gnu11 -Wall -Wextra -Werror -O1 -I" SOURCE "/include"
#define PROGRAM  SOURCE "/tests/cli/user_machine.c"

#define ROUNDING 1e-5 // what the order of sums may change

static int enter(void **state) {
  int result = byoc_test_enter_folder(state);
  if (result != 0) return result;
  write_vision("vision.onnx");
  return byoc_test_try_shell("byoc build vision.onnx --name model -o host.a && cc " CC_FLAGS " " PROGRAM
                             " host.a -lm -lpthread -o host && ./host > host.txt && wc -l < host.txt | grep -x 10");
}

static void need(const char *programs) {
  if (byoc_test_try_shell("for program in %s; do command -v $program > /dev/null || exit 1; done", programs) == 0)
    return;
  byoc_test_skip("one of these is not installed: %s", programs);
}

// The numbers of one line each must be those of `reference`, but for sums that were taken in another order.
static void expect_numbers_of(const char *reference, const char *path, double tolerance) {
  byoc_diag_t diag = {0};
  char *texts[2] = {NULL, NULL}, *at[2];
  const char *const paths[2] = {reference, path};
  for (int i = 0; i < 2; ++i) {
    size_t size = 0;
    byoc_test_ok(byoc_file_read(paths[i], byoc_allocator_system(), &diag, &texts[i], &size), &diag);
    at[i] = texts[i];
  }
  for (int count = 0; count < 10; ++count) {
    const float expected = strtof(at[0], &at[0]), got = strtof(at[1], &at[1]);
    if (!(fabs((double)expected - (double)got) <= tolerance))
      fail_msg("%s: number %d is %.9g, on the host %.9g", path, count, (double)got, (double)expected);
  }
  free(texts[0]);
  free(texts[1]);
}

static void expect_numbers(const char *path, double tolerance) {
  expect_numbers_of("host.txt", path, tolerance);
}

// Builds for a triple by some targets, links a static program, and runs it.
static void run_static(const char *triple, const char *targets, const char *emulator, double tolerance) {
  byoc_test_shell(0, "byoc build vision.onnx --name model --triple %s %s -o model.a", triple, targets);
  byoc_test_shell(0, "%s-gcc " CC_FLAGS " -static " PROGRAM " model.a -lm -lpthread -o program", triple);
  byoc_test_shell(0, "BYOC_VERIFY=1 %s ./program > other.txt", emulator);
  expect_numbers("other.txt", tolerance);
}

static void test_a_program_in_cpp_gets_the_same_numbers(void **state) {
  (void)state;
  need("c++");
  byoc_test_shell(0, "byoc build vision.onnx --name model -o host.so && "
                     "c++ -std=c++17 -Wall -Wextra -Werror -I" SOURCE "/include -I. " SOURCE
                     "/tests/cli/user_machine.cpp -ldl -lpthread -o program && ./program ./host.so > other.txt");
  expect_numbers("other.txt", 0);
}

static void test_a_program_in_python_gets_the_same_numbers(void **state) {
  (void)state;
  if (byoc_test_try_shell("python3 -c 'import numpy'") != 0) {
    byoc_test_skip("python3 has no numpy");
  }
  byoc_test_shell(0, "byoc build vision.onnx --name model -o host.so && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" SOURCE
                     "/python python3 " SOURCE "/tests/cli/user_machine.py host.so > other.txt");
  expect_numbers("other.txt", 0);
}

static void test_a_program_in_rust_gets_the_same_numbers(void **state) {
  (void)state;
  need("rustc");
  if (byoc_test_try_shell("rustc --version") != 0) byoc_test_skip("rustc has no toolchain here"); // rustup's proxy
  byoc_test_shell(0, "rustc -O --edition 2021 -C link-arg=host.a -C link-arg=-lm -C link-arg=-lc " SOURCE
                     "/tests/cli/user_machine.rs -o program && ./program > other.txt");
  expect_numbers("other.txt", 0);
}

static void test_static_programs_run_on_aarch64(void **state) {
  (void)state;
  need("aarch64-linux-gnu-gcc qemu-aarch64");
  run_static("aarch64-linux-gnu", "", "qemu-aarch64", ROUNDING);
  if (!byoc_test_is_long()) return;
  run_static("aarch64-linux-gnu", "-t c", "qemu-aarch64", ROUNDING);
  run_static("aarch64-linux-gnu", "-t 'cutlass -mcpu=cortex-a76'", "qemu-aarch64", ROUNDING);
  run_static("aarch64-linux-gnu", "-t 'cutlass -mcpu=portable; c -mcpu=armv8-a'", "qemu-aarch64", ROUNDING);
}

// The instructions of AArch64 that multiply bytes and bf16.
static void test_aarch64_has_products_of_bytes_and_bf16(void **state) {
  (void)state;
  need("aarch64-linux-gnu-gcc aarch64-linux-gnu-objdump qemu-aarch64");
  run_static("aarch64-linux-gnu", "-t 'cutlass -mcpu=neoverse-v1 -precision=int8'", "qemu-aarch64", 0.05);
  byoc_test_shell(0, "aarch64-linux-gnu-objdump -d program | grep -c usdot");
  run_static("aarch64-linux-gnu", "-t 'cutlass -mcpu=neoverse-v1 -precision=bf16'", "qemu-aarch64", 0.01);
  byoc_test_shell(0, "aarch64-linux-gnu-objdump -d program | grep -c bfdot");
}

static void write_weights(FILE *file, const char *name, const char *type, int count) {
  uint32_t random = 7;
  fprintf(file, "  constant @%s : %s = [", name, type);
  for (int i = 0; i < count; ++i) {
    random = random * 1664525u + 1013904223u;
    fprintf(file, "%s%.4f", i > 0 ? ", " : "", (double)(int32_t)random / 4e9);
  }
  fprintf(file, "]\n");
}

// A network in f16 or bf16 between casts: a convolution, a depthwise one, a product with few rows and one with many.
static void write_half(const char *path, const char *type) {
  FILE *file = fopen(path, "w");
  char weights[4][40];
  static const char *const shapes[] = {"24,4,3,3", "24,1,3,3", "24,20", "20,10"};
  static const int counts[] = {24 * 4 * 9, 24 * 9, 24 * 20, 20 * 10};
  assert_non_null(file);
  fprintf(file, "module {\n");
  for (int i = 0; i < 4; ++i) {
    char name[8];
    snprintf(name, sizeof(name), "w%d", i);
    snprintf(weights[i], sizeof(weights[i]), "%s[%s]", type, shapes[i]);
    write_weights(file, name, weights[i], counts[i]);
  }
  fprintf(file,
          "  func @main(%%x : f32[1,4,7,5]) -> (%%y : f32[1,10]) {\n"
          "    %%0 = Cast@13(%%x) {to = %d} : %s[1,4,7,5]\n"
          "    %%1 = Conv@11(%%0, @w0) {pads = [1, 1, 1, 1]} : %s[1,24,7,5]\n"
          "    %%2 = Relu@14(%%1) : %s[1,24,7,5]\n"
          "    %%3 = Conv@11(%%2, @w1) {group = 24, pads = [1, 1, 1, 1]} : %s[1,24,7,5]\n"
          "    %%4 = Transpose@13(%%3) {perm = [0, 2, 3, 1]} : %s[1,7,5,24]\n"
          "    %%5 = MatMul@13(%%4, @w2) : %s[1,7,5,20]\n"
          "    %%6 = ReduceMean@13(%%5) {axes = [1, 2], keepdims = 0} : %s[1,20]\n"
          "    %%7 = MatMul@13(%%6, @w3) : %s[1,10]\n"
          "    %%y = Cast@13(%%7) {to = 1} : f32[1,10]\n"
          "    return %%y\n  }\n}\n",
          strcmp(type, "f16") == 0 ? BYOC_DTYPE_F16 : BYOC_DTYPE_BF16, type, type, type, type, type, type, type, type);
  assert_int_equal(fclose(file), 0);
}

// The last digit of the results, which each target rounds once.
static void expect_half(const char *type) {
  expect_numbers_of("half.txt", "other.txt", strcmp(type, "f16") == 0 ? 2e-3 : 2e-2);
}

static void test_f16_and_bf16_are_taken_on_each_machine(void **state) {
  (void)state;
  static const char *const types[] = {"f16", "bf16"};
  for (size_t i = 0; i < 2; ++i) {
    write_half("half.byoc", types[i]);
    byoc_test_shell(0, "byoc build half.byoc --name model -t c -o c.a && cc " CC_FLAGS " " PROGRAM
                       " c.a -lm -lpthread -o c_program && ./c_program > half.txt");
    byoc_test_shell(0, "byoc build half.byoc --name model -t 'cutlass; c' -o half.a && cc " CC_FLAGS " " PROGRAM
                       " half.a -lm -lpthread -o program && BYOC_VERIFY=1 ./program > other.txt");
    byoc_test_printed("cutlass 5 operators in 4 regions");
    expect_half(types[i]);
    if (byoc_test_try_shell("command -v aarch64-linux-gnu-gcc && command -v qemu-aarch64") != 0) continue;
    for (int portable = 0; portable < 2; ++portable) {
      if (!byoc_test_is_long() && portable != (i == 1)) continue;
      byoc_test_shell(0,
                      "byoc build half.byoc --name model --triple aarch64-linux-gnu -t 'cutlass -mcpu=%s; c' -o half.a "
                      "&& aarch64-linux-gnu-gcc " CC_FLAGS " -static " PROGRAM " half.a -lm -lpthread -o program && "
                      "BYOC_VERIFY=1 qemu-aarch64 ./program > other.txt",
                      portable ? "portable" : "cortex-a72");
      expect_half(types[i]);
    }
  }
}

static void test_static_programs_run_on_riscv64(void **state) {
  (void)state;
  need("riscv64-linux-gnu-gcc qemu-riscv64");
  run_static("riscv64-linux-gnu", "", "qemu-riscv64", ROUNDING);
}

static void test_static_programs_run_on_arm(void **state) {
  (void)state;
  need("arm-linux-gnueabihf-gcc qemu-arm");
  run_static("arm-linux-gnueabihf", "", "qemu-arm", ROUNDING);
  if (byoc_test_is_long()) run_static("arm-linux-gnueabihf", "-t c", "qemu-arm", ROUNDING);
}

// ELF files of 32 bits are linked, sealed, checked and read like others.
static void test_shared_objects_run_on_arm(void **state) {
  (void)state;
  need("arm-linux-gnueabihf-gcc arm-linux-gnueabihf-nm qemu-arm");
  byoc_test_shell(0, "byoc build vision.onnx --name model --triple arm-linux-gnueabihf -t c -o model.so && "
                     "arm-linux-gnueabihf-gcc " CC_FLAGS " -DLOADS " PROGRAM " -ldl -o program");
  byoc_test_shell(0, "BYOC_VERIFY=1 qemu-arm -L /usr/arm-linux-gnueabihf ./program ./model.so > other.txt");
  expect_numbers("other.txt", ROUNDING);
  byoc_test_shell(0, "byoc inspect model.so");
  byoc_test_printed("machine arm-linux-gnueabihf");
  byoc_test_shell(1, "byoc run model.so --random");
  byoc_test_printed("'model.so' was made for arm, and this machine is");
  byoc_test_shell(1, "head -c -1000 model.so > cut.so; byoc inspect cut.so");
  byoc_test_printed("is cut off: it has");
  byoc_test_shell(1, "cat model.so program > longer.so; byoc inspect longer.so");
  byoc_test_printed("more bytes than byoc wrote");
  byoc_test_shell(0, "byoc build vision.onnx --name model --triple arm-linux-gnueabihf -t c --weights external "
                     "-o outside.so && "
                     "BYOC_VERIFY=1 qemu-arm -L /usr/arm-linux-gnueabihf ./program ./outside.so > other.txt");
  expect_numbers("other.txt", ROUNDING);
  byoc_test_shell(0, "byoc build --entry a=vision.onnx --entry b=vision.onnx --triple arm-linux-gnueabihf -t c "
                     "-o model.a && arm-linux-gnueabihf-nm model.a | grep ' [A-TV-Z] ' | grep -v ' w ' | "
                     "grep -vc ' model_' | grep -x 0");
}

static void test_triples_with_pointers_of_another_size_are_refused(void **state) {
  (void)state;
  byoc_test_shell(2, "byoc build vision.onnx --triple x86_64-linux-gnux32 -o other.so");
  byoc_test_printed("'x86_64-linux-gnux32' has pointers of 32 bits, and byoc makes code for x86_64 with 64 only");
  byoc_test_shell(2, "byoc build vision.onnx --triple aarch64-linux-gnu_ilp32 -o other.so");
  byoc_test_printed("the triple of the usual ABI is aarch64-linux-gnu");
}

static void test_artifacts_for_musl_run(void **state) {
  (void)state;
  need("x86_64-linux-musl-gcc");
  run_static("x86_64-linux-musl", "", "", ROUNDING);
  byoc_test_shell(0, "byoc build vision.onnx --name model --triple x86_64-linux-musl -o model.so");
  byoc_test_shell(0, "x86_64-linux-musl-gcc " CC_FLAGS " -DLOADS " PROGRAM
                     " -o program && ./program ./model.so > other.txt");
  expect_numbers("other.txt", ROUNDING);
}

// A shared object runs there, says what it is, and is refused here.
static void test_shared_objects_run_on_aarch64(void **state) {
  (void)state;
  need("aarch64-linux-gnu-gcc qemu-aarch64");
  byoc_test_shell(0, "byoc build vision.onnx --name model --triple aarch64-linux-gnu -o model.so");
  byoc_test_shell(0, "aarch64-linux-gnu-gcc " CC_FLAGS " -DLOADS " PROGRAM " -o program && "
                     "qemu-aarch64 -L /usr/aarch64-linux-gnu ./program ./model.so > other.txt");
  expect_numbers("other.txt", ROUNDING);
  byoc_test_shell(0, "byoc inspect model.so");
  byoc_test_printed("machine aarch64-linux-gnu");
  byoc_test_shell(1, "byoc run model.so --random");
  byoc_test_printed("'model.so' was made for aarch64, and this machine is");
  byoc_test_shell(0, "printf '#include \"model.h\"\nint main(int argc, char **argv) {\n  model_model_t model;\n"
                     "  if (argc < 2 || model_load(argv[1], &model) == BYOC_OK) return 1;\n  puts(model.message);\n"
                     "  return 0;\n}\n' > here.c && cc " CC_FLAGS " here.c -ldl -o here && ./here ./model.so");
  byoc_test_printed("./model.so was made for another kind of processor than this one");
  byoc_test_shell(0, "./here ./absent.so");
  byoc_test_printed("cannot be loaded: ./absent.so: ");
  byoc_test_shell(
      0, "mkdir -p again && byoc build vision.onnx --name model --triple aarch64-linux-gnu -o again/model.so && "
         "cmp model.so again/model.so");
}

// Artifacts run with a C library that is older than the one at hand, in which most symbols are the
// same functions as before and have new versions only.
static void test_artifacts_need_an_old_libc_only(void **state) {
  (void)state;
  if (byoc_test_try_shell("objdump -T $(cc -print-file-name=libc.so.6) | grep GLIBC_2.34") != 0) {
    byoc_test_skip("the C library is not a glibc from 2.34 on");
  }
  byoc_test_shell(0, "byoc build vision.onnx -t 'cutlass; cblas; c -fuse=0' -o old.so && objdump -T old.so | grep -o "
                     "'GLIBC_2\\.[0-9]*' | sort -Vu | tee versions.txt && ! grep -E '2\\.(3[0-9]|2[89])' versions.txt");
  byoc_test_shell(0, "readelf -d old.so | grep NEEDED");
  byoc_test_printed("[libpthread.so.0]"); // where a library of before 2.34 has these functions
  byoc_test_printed("[libdl.so.2]");
  byoc_test_shell(0, "BYOC_VERIFY=1 byoc run old.so --random");
  // A compiler that is killed when it is asked for its library ends the build: the artifact would be another one.
  byoc_test_shell(0, "printf '#!/bin/sh\\ncase \"$*\" in *-print-file-name=*) kill -9 $$ ;; esac\\nexec cc \"$@\"\\n' "
                     "> killed-cc && chmod +x killed-cc");
  byoc_test_shell(1, "byoc build vision.onnx -t \"c -cc=$PWD/killed-cc\" -o killed.so");
  byoc_test_printed("killed-cc -print-file-name=libc.so.6' was ended by Killed");
  byoc_test_shell(1, "test -e killed.so");
}

// A processor that the emulated one is not.
static void test_a_missing_feature_is_named_at_load(void **state) {
  (void)state;
  need("aarch64-linux-gnu-gcc qemu-aarch64");
  byoc_test_shell(
      0, "byoc build vision.onnx --name model --triple aarch64-linux-gnu -t 'c -mcpu=neoverse-v1' -o model.a && "
         "aarch64-linux-gnu-gcc " CC_FLAGS " -static " PROGRAM " model.a -lm -lpthread -o program");
  byoc_test_shell(1, "qemu-aarch64 -cpu cortex-a53 ./program");
  byoc_test_printed(
      "a processor with asimdhp, asimddp, i8mm, bf16, sve, which this one lacks; build it with -mcpu=armv8-a");
}

static void test_targets_of_this_machine_are_left_out_for_another(void **state) {
  (void)state;
  need("aarch64-linux-gnu-gcc");
  byoc_test_shell(0, "byoc build vision.onnx --triple aarch64-linux-gnu -t 'cblas; cutlass' -o model.so");
  byoc_test_printed(
      "the target 'cblas' is left out: it makes code for this machine only, and not for aarch64-linux-gnu");
  byoc_test_shell(0, "byoc build vision.onnx --triple aarch64-linux-gnu -t 'cutlass' --plan=collage -o model.so");
  byoc_test_printed("costs are estimated: this machine cannot measure code for aarch64-linux-gnu");
  byoc_test_shell(2, "byoc build vision.onnx --triple aarch64-linux-gnu --plan=collage --cost=measure -o model.so");
  byoc_test_printed("--cost=measure needs a machine that runs the code");
  byoc_test_shell(2, "byoc build vision.onnx --triple aarch64-linux-gnu -t 'c -mcpu=avx2' -o model.so");
  byoc_test_printed("unknown processor or extension 'avx2' of aarch64; there are armv8-a,");
  byoc_test_shell(1, "byoc build vision.onnx --triple aarch64-linux-gnu -t 'c -cc=cc' -o model.so");
  byoc_test_printed("is code for x86_64, and the artifact is for aarch64");
}

// clang compiles for another machine, whose linker is not installed.
static void test_a_missing_linker_has_a_hint(void **state) {
  (void)state;
  need("aarch64-linux-gnu-gcc");
  byoc_test_shell(0, "mkdir -p fake && printf '#!/bin/sh\nshift\ncase \" $* \" in *\" -shared \"* | *\" -r \"*)\n"
                     "  echo \"ld: unrecognised emulation mode\" >&2\n  exit 1\nesac\n"
                     "exec aarch64-linux-gnu-gcc \"$@\"\n' > fake/clang && chmod +x fake/clang");
  static const char *const forms[] = {"so", "o"};
  for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); ++i) {
    byoc_test_shell(1, "PATH=$PWD/fake:$PATH byoc build vision.onnx -t c --triple aarch64-linux-uclibc -o model.%s",
                    forms[i]);
    byoc_test_printed("linking failed");
    byoc_test_printed("hint: clang needs the linker and the C library of that machine: install the Debian package "
                      "gcc-aarch64-linux-uclibc");
  }
}

static void test_unknown_triples_are_refused(void **state) {
  (void)state;
  byoc_test_shell(2, "byoc build vision.onnx --triple sparc-linux-gnu -o model.so");
  byoc_test_printed("'sparc-linux-gnu' is not the triple of a machine that byoc knows");
  byoc_test_shell(
      1, "mkdir -p empty && ln -sf $(command -v byoc) empty && PATH=$PWD/empty byoc build vision.onnx --triple "
         "riscv64-linux-uclibc -o model.so");
  byoc_test_printed(
      "no C compiler for riscv64-linux-uclibc was found (riscv64-linux-uclibc-gcc and clang were looked for");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_program_in_cpp_gets_the_same_numbers),
      cmocka_unit_test(test_a_program_in_python_gets_the_same_numbers),
      cmocka_unit_test(test_a_program_in_rust_gets_the_same_numbers),
      byoc_test_long_only(test_static_programs_run_on_aarch64),
      byoc_test_long_only(test_aarch64_has_products_of_bytes_and_bf16),
      cmocka_unit_test(test_f16_and_bf16_are_taken_on_each_machine),
      cmocka_unit_test(test_static_programs_run_on_riscv64),
      byoc_test_long_only(test_static_programs_run_on_arm),
      cmocka_unit_test(test_shared_objects_run_on_arm),
      cmocka_unit_test(test_triples_with_pointers_of_another_size_are_refused),
      cmocka_unit_test(test_artifacts_for_musl_run),
      cmocka_unit_test(test_shared_objects_run_on_aarch64),
      cmocka_unit_test(test_artifacts_need_an_old_libc_only),
      cmocka_unit_test(test_a_missing_feature_is_named_at_load),
      cmocka_unit_test(test_targets_of_this_machine_are_left_out_for_another),
      cmocka_unit_test(test_a_missing_linker_has_a_hint),
      cmocka_unit_test(test_unknown_triples_are_refused),
  };
  return cmocka_run_group_tests(tests, enter, byoc_test_leave_folder);
}

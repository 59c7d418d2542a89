// SPDX-License-Identifier: Apache-2.0
// Artifacts that are C source: folders that any C11 compiler builds.
#include "models.h"
#include "tests/support/command.h"

// As strict as compilers are asked to be; a program's own files and the model's.
#define STRICT "-std=c11 -pedantic -Wall -Wextra -Wshadow -Werror"

static const char twice[] = "module {opset_import. = 17} {\\n"
                            "  func @main(%%x : f32[N,4]) -> (%%y : f32[N,4]) {\\n"
                            "    %%y = Add@14(%%x, %%x) : f32[N,4]\\n    return %%y\\n  }\\n}\\n";

// Prints what the model 'twice' makes of four numbers.
static const char twice_program[] =
    "#include \"twice.h\"\n"
    "int main(void) {\n  const float x[] = {1, 2, 3, 4};\n  const int64_t dims[] = {1, 4};\n  byoc_argument_t y;\n"
    "  twice_model_t model;\n  twice_context_t context;\n"
    "  if (twice_load(NULL, &model) != 0 || twice_create(&model, NULL, &context) != 0) return 1;\n"
    "  if (twice_run(&context, x, dims, &y) != 0) return 2;\n"
    "  printf(\"%g\\n\", (double)((const float *)y.data)[3]);\n"
    "  twice_destroy(&context);\n  return 0;\n}\n";

static int enter(void **state) {
  int result = byoc_test_enter_folder(state);
  if (result != 0) return result;
  write_tiny("tiny.onnx", "2");
  return byoc_test_try_shell("cp " BYOC_TEST_SOURCE_DIR
                             "/tests/cli/user_static.c both.c && printf '%s' > twice.byoc && "
                             "printf '%%s' '%s' > twice_program.c && "
                             "byoc build tiny.onnx -t c -o tiny.a && byoc build twice.byoc -t c -o twice.a && "
                             "cc both.c tiny.a twice.a -lm -lpthread -o linked && ./linked > expected.txt && "
                             "rm tiny.h twice.h && byoc build tiny.onnx -o tiny.c && byoc build twice.byoc -o twice.c",
                             twice, twice_program);
}

// Two models in one program; the numbers are those of the static libraries.
static void test_sources_of_two_models_make_one_program(void **state) {
  (void)state;
  byoc_test_shell(0,
                  "for model in tiny twice; do make -s -C $model.c CC=gcc CFLAGS='-O1 " STRICT "' || exit 1; done && "
                  "gcc -std=c99 -pedantic -Wall -Wextra -Werror -Itiny.c -Itwice.c both.c tiny.c/libtiny.a "
                  "twice.c/libtwice.a -lm -o built && ./built > built.txt && cmp built.txt expected.txt");
  // No threads and no loader: what the program needs is the C library.
  byoc_test_shell(0, "nm -u tiny.c/libtiny.a");
  byoc_test_no_line("pthread|dlopen|mmap|syscall");
}

#define build_and_run(make, cc, libraries)                                                                             \
  byoc_test_shell(0, "make -s -C twice.c clean && make -s -C twice.c " make " && " cc " -Itwice.c twice_program.c "    \
                     "twice.c/libtwice.a -lm " libraries " -o built && ./built | grep -x 8")

static void test_clang_builds_source_with_threads(void **state) {
  (void)state;
  if (byoc_test_try_shell("command -v clang") != 0) {
    byoc_test_skip("clang is not installed");
  }
  build_and_run("THREADS=1 CC=clang CFLAGS='-O1 " STRICT "'", "clang", "-lpthread");
  byoc_test_shell(0, "nm -u twice.c/libtwice.a | grep -q pthread_create");
}

// A machine of 32 bits, and a compiler that knows neither attributes of gcc nor atomic operations.
static void test_compilers_without_extensions_build_source(void **state) {
  (void)state;
  const char probe[] = "echo 'int main(void) { return 0; }' > probe.c && %s probe.c -lm -o probe && ./probe";
  if (byoc_test_try_shell(probe, "gcc -m32") != 0) {
    byoc_test_leave_out("gcc has no libraries for -m32");
  } else {
    build_and_run("CC=gcc CFLAGS='-O0 -m32 -idirafter /usr/include/x86_64-linux-gnu'",
                  "gcc -m32 -idirafter /usr/include/x86_64-linux-gnu", "");
  }
  if (byoc_test_try_shell(probe, "tcc") != 0) {
    byoc_test_leave_out("tcc is not installed");
  } else {
    build_and_run("CC=tcc CFLAGS=", "tcc", "");
    byoc_test_shell(0, "test -c /dev/null"); // tcc unlinks the file that it writes
  }
}

// Make tried flags with -o /dev/null, which tcc removes and writes anew; for root, /dev/null was a file then.
static void test_make_writes_into_its_folder_only(void **state) {
  (void)state;
  byoc_test_shell(0,
                  "printf '#!/bin/sh\\nfor word; do case $word in /dev/null) [ \"$before\" = -c ] || exit 9;; esac; "
                  "before=$word; done\\necho \"$@\" >> asked.txt\\nexec cc \"$@\"\\n' > careful && chmod +x careful && "
                  "make -s -C twice.c clean && make -s -C twice.c CC=$PWD/careful CFLAGS=-O0");
  byoc_test_shell(0, "grep -c -- '-fno-math-errno.* -c host.c' twice.c/asked.txt && ! ls twice.c/known* && "
                     "rm twice.c/asked.txt");
}

// A backend's kernels as C: those of cutlass are vectors of gcc and clang, for any processor or for one that -mcpu
// names.
static void test_source_holds_the_kernels_of_cutlass(void **state) {
  (void)state;
  static const char *const targets[] = {"cutlass; c", "cutlass -mcpu=avx2; c -mcpu=avx2"};
  write_vision("vision.onnx");
  byoc_test_shell(0, "byoc build vision.onnx -t c --name model -o plain.a && cc -std=gnu11 -I" BYOC_TEST_SOURCE_DIR
                     "/include " BYOC_TEST_SOURCE_DIR "/tests/cli/user_machine.c plain.a -lm -lpthread -o plain && "
                     "./plain > plain.txt");
  for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
    if (i > 0 && !byoc_test_is_long()) continue;
    if (i > 0 && byoc_test_try_shell("grep -qw avx2 /proc/cpuinfo") != 0) {
      byoc_test_leave_out("this processor has no AVX2");
      continue;
    }
    byoc_test_shell(0,
                    "rm -rf vision.c && byoc build vision.onnx -t '%s' --name model -o vision.c && "
                    "ls vision.c/cutlass_kernel_*.c && grep 'KNOWN += -.*-ffp-contract=fast' vision.c/Makefile && make "
                    "-s -C vision.c CFLAGS='-O1 -Wall -Wextra -Wshadow -Werror' && "
                    "cc -std=gnu11 -Ivision.c/include " BYOC_TEST_SOURCE_DIR
                    "/tests/cli/user_machine.c vision.c/libmodel.a -lm -o vision && ./vision > vision.txt && "
                    "paste plain.txt vision.txt | awk '{ d = $1 - $2; if (d > 1e-5 || d < -1e-5) n += 99; ++n } "
                    "END { exit n != 10 }'",
                    targets[i]);
  }
  byoc_test_shell(1, "byoc build vision.onnx -t 'dnnl; c' -o engine.c");
  byoc_test_printed("which C source cannot hold");
}

// Machines of other kinds, whose programs qemu runs.
static void test_source_runs_on_other_machines(void **state) {
  (void)state;
  static const char *const machines[][2] = {{"aarch64-linux-gnu-gcc", "qemu-aarch64"},
                                            {"riscv64-linux-gnu-gcc", "qemu-riscv64"}};
  for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++) {
    const char *cc = machines[i][0], *run = machines[i][1];
    if (byoc_test_try_shell("command -v %s && command -v %s", cc, run) != 0) {
      byoc_test_leave_out("%s or %s is not installed", cc, run);
      continue;
    }
    byoc_test_shell(0,
                    "make -s -C twice.c clean && make -s -C twice.c CC=%s CFLAGS=-O0 && %s -static -Itwice.c "
                    "twice_program.c twice.c/libtwice.a -lm -o built && %s ./built | grep -x 8",
                    cc, cc, run);
  }
}

// Texts need more than C11: POSIX, which the files ask for themselves.
static void test_source_asks_for_posix_where_texts_need_it(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build " BYOC_TEST_SOURCE_DIR "/tests/conform/ml/label_encoder/model.onnx -o texts.c && "
                     "make -s -C texts.c CFLAGS='-O0 " STRICT "' host.o runtime/text.o runtime/text_tokens.o");
  byoc_test_shell(0, "test ! -e tiny.c/runtime/text.c"); // only where the model works on texts
}

// Names that the folder defines begin with its prefix, and the same model gives the same bytes.
static void test_source_has_prefixed_names_and_the_same_bytes(void **state) {
  (void)state;
  byoc_test_shell(0, "mkdir -p again && byoc build tiny.onnx -o again/tiny.c --name other && ls again/tiny.c/other.h");
  byoc_test_shell(0, "make -s -C again/tiny.c CFLAGS=-O0 && nm again/tiny.c/libother.a | grep ' [A-TV-Z] ' | "
                     "grep -v ' w ' | grep -vc ' other_' | grep -x 0");
  byoc_test_shell(0, "nm again/tiny.c/libother.a | grep -x '[0-9a-f]* T other_artifact_entry'");
  byoc_test_shell(
      0, "byoc build twice.byoc -o again/twice.c && make -s -C twice.c clean && diff -r twice.c again/twice.c");
}

// Constants that are too many for a compiler to read are taken in by the assembler, or become C by make.
static void test_many_constants_are_taken_in_by_the_assembler(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc-modelgen mlp --layers 5 -o mlp.onnx && byoc build mlp.onnx -o mlp.c && "
                     "test -f mlp.c/data.bin -a ! -f mlp.c/data.c");
  byoc_test_shell(0, "printf '%%s' '%s' > mlp_program.c",
                  "#include \"mlp.h\"\n"
                  "int main(void) {\n  static float x[MLP_INPUT_COUNT], y[MLP_OUTPUT_COUNT];\n"
                  "  mlp_model_t model;\n  mlp_context_t context;\n  x[3] = 1;\n"
                  "  if (mlp_load(NULL, &model) != 0 || mlp_create(&model, NULL, &context) != 0) return 1;\n"
                  "  if (mlp_run(&context, x, y) != 0) return 2;\n"
                  "  for (int i = 0; i < MLP_OUTPUT_COUNT; i++) printf(\"%a\\n\", (double)y[i]);\n"
                  "  mlp_destroy(&context);\n  return 0;\n}\n");
  byoc_test_shell(0, "for data in S c; do rm -f mlp.c/data.o && make -s -C mlp.c DATA=$data CFLAGS=-O0 && "
                     "cc -Imlp.c mlp_program.c mlp.c/libmlp.a -lm -o mlp && ./mlp > $data.txt || exit 1; done; "
                     "cmp S.txt c.txt && wc -l < c.txt | grep -x 10");
}

static void test_builds_that_would_lose_files_are_refused(void **state) {
  (void)state;
  // What lies in the folder is gone when it is replaced.
  byoc_test_shell(2, "byoc build tiny.onnx -o tiny.c --html tiny.c/report.html");
  byoc_test_printed("--html 'tiny.c/report.html' lies in 'tiny.c', a folder that is replaced as a whole");
  byoc_test_shell(2, "cp tiny.onnx tiny.c/runtime/ && byoc build tiny.c/runtime/tiny.onnx -o tiny.c");
  byoc_test_printed("the model 'tiny.c/runtime/tiny.onnx' lies in 'tiny.c'");
  byoc_test_shell(0, "rm tiny.c/runtime/tiny.onnx && byoc build tiny.onnx -o tiny.c --html tiny.html");
  byoc_test_shell(1, "byoc build tiny.onnx -t 'cblas; c' -o refused.c; code=$?; ls -d refused*; exit $code");
  byoc_test_printed("added machine code, 'openblas', which C source cannot hold");
  byoc_test_printed("leave that target out (-t c)");
  byoc_test_printed("cannot access 'refused*'");
  byoc_test_shell(1, "byoc build tiny.onnx -t 'dnnl; c' -o refused.c");
  byoc_test_printed("added an engine, 'dnnl'");
  // Nothing is replaced but what byoc wrote.
  byoc_test_shell(1, "echo 'int mine;' > mine.c && byoc build tiny.onnx -o mine.c; code=$?; cat mine.c; exit $code");
  byoc_test_printed("'mine.c' is there, and is no folder of C source that byoc wrote");
  byoc_test_printed("int mine;");
  byoc_test_shell(1, "mkdir -p yours.c && byoc build tiny.onnx -o yours.c");
  byoc_test_printed("'yours.c' is there");
  byoc_test_shell(0, "make -s -C tiny.c CFLAGS=-O0 && echo stale.c >> tiny.c/files.txt && touch tiny.c/stale.c && byoc "
                     "build tiny.onnx -o tiny.c && test ! -f tiny.c/stale.c && ls | grep -c byoc-tmp | grep -x 0");
  // Nor a file of the user's in a folder that byoc wrote.
  byoc_test_shell(1, "mkdir tiny.c/own && echo 'int mine;' > tiny.c/own/mine.c && byoc build tiny.onnx -o tiny.c");
  byoc_test_printed("'tiny.c/own/mine.c' would be lost");
  byoc_test_shell(0, "grep mine tiny.c/own/mine.c && rm -r tiny.c/own");
  byoc_test_shell(1, "touch tiny.c/libvendor.a && byoc build tiny.onnx -o tiny.c");
  byoc_test_printed("'tiny.c/libvendor.a' would be lost");
  byoc_test_shell(1, "rm tiny.c/libvendor.a && touch tiny.c/startup.o && byoc build tiny.onnx -o tiny.c");
  byoc_test_printed("'tiny.c/startup.o' would be lost");
  byoc_test_shell(1, "rm tiny.c/startup.o && mv tiny.c/files.txt list && byoc build tiny.onnx -o tiny.c");
  byoc_test_printed(
      "'tiny.c' is a folder of C source by byoc, but 'files.txt', the list of files that byoc wrote there, is "
      "missing: it was removed, or an earlier byoc wrote none");
  byoc_test_printed("cannot tell which files are yours");
  byoc_test_shell(0, "mv list tiny.c/files.txt && make -s -C tiny.c CFLAGS=-O0 && byoc build tiny.onnx -o tiny.c");
  byoc_test_shell(1, "byoc run tiny.c --random");
  byoc_test_printed("'tiny.c' is a folder of C source, which cannot be loaded");
  byoc_test_shell(2, "byoc build tiny.onnx -o other.c --weights external");
  byoc_test_printed("C source holds its weights");
  byoc_test_shell(2, "byoc build tiny.onnx -o other.c --triple aarch64-linux-gnu");
  byoc_test_printed("C source is for any machine: leave out --triple");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sources_of_two_models_make_one_program),
      cmocka_unit_test(test_clang_builds_source_with_threads),
      cmocka_unit_test(test_compilers_without_extensions_build_source),
      cmocka_unit_test(test_make_writes_into_its_folder_only),
      cmocka_unit_test(test_source_holds_the_kernels_of_cutlass),
      cmocka_unit_test(test_source_runs_on_other_machines),
      cmocka_unit_test(test_source_asks_for_posix_where_texts_need_it),
      cmocka_unit_test(test_source_has_prefixed_names_and_the_same_bytes),
      cmocka_unit_test(test_many_constants_are_taken_in_by_the_assembler),
      cmocka_unit_test(test_builds_that_would_lose_files_are_refused),
  };
  return cmocka_run_group_tests(tests, enter, byoc_test_leave_folder);
}

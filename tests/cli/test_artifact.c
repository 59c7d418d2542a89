// SPDX-License-Identifier: Apache-2.0
// What an artifact promises: the same bytes for the same inputs, nothing but libc and libm, a header that is all a C
// program needs, and a run where nothing else is.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"
#include "tests/cli/models.h"
#include "tests/support/command.h"

// What user.c prints for the inputs in it; models.c has the arithmetic.
static const char *const expected_numbers = "0 0 3 0 8.5 2.25 ";

static int setup(void **state) {
  if (byoc_test_enter_folder(state) != 0) return -1;
  write_tiny("tiny.onnx", "2");
  write_vision("vision.onnx");
  return 0;
}

// ---- the same bytes ----

static void test_same_bytes(void **state) {
  (void)state;
  static const char *const targets[] = {"c", "cutlass; c", "cblas; c", "dnnl; c", "cutlass; dnnl; cblas; c"};
  byoc_test_shell(0, "mkdir -p one two/deeper && cp vision.onnx one && cp vision.onnx two/deeper");
  for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i += byoc_test_is_long() ? 1 : 4) {
    // Each build has a cache of its own, so that what is compared was compiled twice.
    byoc_test_shell(0, "(cd one && BYOC_CACHE_DIR=$PWD/cache%zu TMPDIR=$PWD byoc build vision.onnx --target '%s')", i,
                    targets[i]);
    byoc_test_shell(0,
                    "BYOC_CACHE_DIR=$PWD/two/cache%zu byoc build two/deeper/vision.onnx -o two/deeper/vision.so "
                    "--target '%s'",
                    i, targets[i]);
    byoc_test_shell(0, "cmp one/vision.so two/deeper/vision.so && cmp one/vision.h two/deeper/vision.h");
    byoc_test_shell(0, "byoc build one/vision.onnx -o two/warm.so --target '%s' && cmp one/vision.so two/warm.so",
                    targets[i]); // the model's name is in it, that of the file is not
  }
  byoc_test_shell(1, "grep -c \"$PWD\" one/vision.so");
}

// ---- what it needs ----

static void test_needs_libc_only(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build vision.onnx -o v.so --target 'cutlass; cblas; c' && readelf -d v.so | grep NEEDED");
  byoc_test_shell(0, "readelf -d v.so > needs.txt && grep NEEDED needs.txt > needed.txt && "
                     "! grep -vE '\\[(libc|libm|libdl|libpthread|ld-linux[^]]*)\\.so\\.[0-9]+\\]' needed.txt");
  // Only one symbol is exported.
  byoc_test_shell(0, "nm -D --defined-only v.so");
  byoc_test_shell(0, "nm -D --defined-only v.so | awk '{print $3}' | sed 's/@.*//'");
  assert_string_equal(byoc_test_output(), "byoc_artifact_entry\n");
  byoc_test_shell(0, "readelf -lW v.so | grep GNU_STACK");
  assert_null(strstr(byoc_test_output(), "RWE"));
  byoc_test_shell(0, "byoc build vision.onnx -o s.so --target 'dnnl -deploy=system; c' && readelf -d s.so");
  byoc_test_printed("libdnnl");
  byoc_test_shell(0, "byoc run s.so --random");
}

// ---- libraries of one name ----

// Defect 11: OpenBLAS twice, with other kernels in each copy.
static void test_one_library_twice(void **state) {
  (void)state;
  static const char product[] = "[body (%p : f32[8,8], %q : f32[8,8]) -> (f32[8,8]) {\n"
                                "      %c = MatMul@13(%p, %q) : f32[8,8]\n      return %c\n    }] : f32[8,8]\n";
  FILE *file = fopen("twice.byoc", "w");
  assert_non_null(file);
  fprintf(file,
          "module {\n  func @main(%%a : f32[8,8], %%b : f32[8,8]) -> (%%y : f32[8,8]) {\n"
          "    %%0 = byoc::Function@1(%%a, %%b) {Compiler = \"cblas\", Target = 0} %s"
          "    %%1 = Sin@7(%%0) : f32[8,8]\n"
          "    %%y = byoc::Function@1(%%1, %%b) {Compiler = \"cblas\", Target = 1} %s"
          "    return %%y\n  }\n}\n",
          product, product);
  assert_int_equal(fclose(file), 0);
  const char *targets = "-t 'cblas -core=haswell' -t 'cblas -core=prescott' -t c";
  byoc_test_shell(0, "byoc build twice.byoc %s -o twice.so && byoc run twice.so --random --output-dir compiled",
                  targets);
  byoc_test_shell(0, "byoc run twice.byoc --evaluate %s --random --output-dir evaluated", targets);
  file = fopen("plain.byoc", "w");
  assert_non_null(file);
  fputs("module {\n  func @main(%a : f32[8,8], %b : f32[8,8]) -> (%y : f32[8,8]) {\n"
        "    %0 = MatMul@13(%a, %b) : f32[8,8]\n    %1 = Sin@7(%0) : f32[8,8]\n"
        "    %y = MatMul@13(%1, %b) : f32[8,8]\n    return %y\n  }\n}\n",
        file);
  assert_int_equal(fclose(file), 0);
  byoc_test_shell(0, "byoc build plain.byoc -o plain.so && byoc run plain.so --random --output-dir plain");
  byoc_test_shell(0, "byoc run twice.so --random --expect y=plain/y.npy && "
                     "byoc run twice.so --random --expect y=evaluated/y.npy && cmp compiled/y.npy evaluated/y.npy");
}

// ---- a user's program ----

static void test_user_program(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build tiny.onnx");
  byoc_test_shell(0, "cp " BYOC_TEST_SOURCE_DIR "/tests/cli/user.c . && cp user.c user.cc");
  const char *const warnings = "-Wall -Wextra -Wpedantic -Wconversion -Werror";
  byoc_test_shell(0, "cc -std=c11 %s user.c -o user -ldl && ./user", warnings);
  assert_string_equal(byoc_test_output(), expected_numbers);
  byoc_test_shell(0, "cc -std=c99 %s user.c -o user -ldl && ./user", warnings);
  if (byoc_test_try_shell("command -v c++") == 0) {
    byoc_test_shell(0, "c++ -std=c++17 %s user.cc -o user++ -ldl && ./user++", warnings);
    assert_string_equal(byoc_test_output(), expected_numbers);
  } else {
    byoc_test_leave_out("c++ is not installed");
  }
  // A file that is not this model's artifact gets a sentence.
  byoc_test_shell(0, "byoc build vision.onnx");
  byoc_test_shell(1, "./user ./vision.so");
  byoc_test_printed("another model");
  byoc_test_shell(1, "./user ./missing.so");
  byoc_test_printed("missing.so");
}

// ---- backends side by side ----

// Seven operators in a row, each of which another target computes. The hooks of `negate` and `first` see the module,
// that of `second` one function; cblas hands back a library, dnnl JSON for an engine, cutlass C source.
static void write_mixed(const char *path) {
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs("module {\n"
        "  func @main(%a : f32[8,16], %b : f32[16,8], %c : f32[8,8], %d : f32[8,8]) -> (%y : f32[8,8]) {\n"
        "    %0 = MatMul@13(%a, %b) : f32[8,8] on {target = \"cblas\"}\n"
        "    %1 = Relu@14(%0) : f32[8,8] on {target = \"negate\"}\n"
        "    %2 = MatMul@13(%1, %c) : f32[8,8] on {target = \"dnnl\"}\n"
        "    %3 = Tanh@13(%2) : f32[8,8] on {target = \"first\"}\n"
        "    %4 = MatMul@13(%3, %d) : f32[8,8] on {target = \"cutlass\"}\n"
        "    %5 = Abs@13(%4) : f32[8,8] on {target = \"second\"}\n"
        "    %y = Sin@7(%5) : f32[8,8]\n"
        "    return %y\n  }\n}\n",
        file);
  assert_int_equal(fclose(file), 0);
}

// After the hooks, nothing is left to do: a program that knows the artifact's table alone gets the right numbers, where
// neither the plugins nor the cache are, and whichever target stands first.
static void test_mixed_backends(void **state) {
  (void)state;
  static const char *const orders[] = {"cblas; negate; dnnl; first; cutlass; second; c",
                                       "second; cutlass; first; dnnl; negate; cblas; c"};
  static const char plugins[] = "BYOC_PLUGIN_PATH=$BYOC_PLUGIN_PATH:" BYOC_TEST_BUILD_DIR "/tests/plugins/good "
                                "BYOC_TEST_RULES=\"$(printf 'first.tanh := Tanh(%%x)\\nsecond.abs := Abs(%%x)')\"";
  write_mixed("mixed.byoc");
  byoc_test_shell(0, "sed 's/ on {[^}]*}//' mixed.byoc > plain.byoc && byoc build plain.byoc -t c -o plain.so && "
                     "cc -DLOADS -std=gnu11 -I" BYOC_TEST_SOURCE_DIR "/include " BYOC_TEST_SOURCE_DIR
                     "/tests/cli/user_machine.c -o machine -ldl && ./machine ./plain.so > plain.txt");
  for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); ++i) {
    char line[1024];
    snprintf(line, sizeof(line), "%s byoc build mixed.byoc -v -t '%s' -o mixed.so", plugins, orders[i]);
    byoc_test_shell(0, "export BYOC_CACHE_DIR=$PWD/cache; %s; code=$?; rm -rf cache; exit $code", line);
    byoc_test_printed("first: hook of 'first ");
    byoc_test_printed("second: hook of 'second ");
    static const char *const placed[] = {"cblas 1 operator in 1 region",   "negate 1 operator in 1 region",
                                         "dnnl 1 operator in 1 region",    "first 1 operator in 1 region",
                                         "cutlass 1 operator in 1 region", "second 1 operator in 1 region"};
    for (size_t k = 0; k < sizeof(placed) / sizeof(placed[0]); ++k) byoc_test_printed(placed[k]);
    byoc_test_shell(0,
                    "rm -rf alone && mkdir alone && mv mixed.so machine alone && (cd alone && env -i ./machine "
                    "./mixed.so) > mixed.txt; code=$?; mv alone/machine .; test $code = 0 && paste plain.txt "
                    "mixed.txt | awk '{ d = $1 - $2; if (d > 1e-5 || d < -1e-5) n += 999; ++n } END { exit n != 64 }'");
  }
}

// What one call has made, the next one finds: none asks for memory, opens a file or starts a thread again. oneDNN takes
// a little memory for the arguments of each primitive that it runs, and gives it back.
static void test_later_calls_make_nothing(void **state) {
  (void)state;
#ifdef BYOC_SANITIZED
  byoc_test_skip("a sanitizer has an allocator of its own");
#endif
  static const char *const targets[] = {"c", "cutlass; c", "cblas; c", "cutlass; cblas; c", "dnnl; c"};
  byoc_test_shell(0, "cc -rdynamic -std=gnu11 -I" BYOC_TEST_SOURCE_DIR "/include " BYOC_TEST_SOURCE_DIR
                     "/tests/cli/user_repeated.c -o repeated -ldl -lpthread");
  for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); ++i) {
    byoc_test_shell(0, "byoc build vision.onnx -o again.so -t '%s' && ./repeated ./again.so", targets[i]);
    byoc_test_no_line("^created: memory 0 "); // it does count
    if (strcmp(targets[i], "dnnl; c") != 0) byoc_test_printed("later: memory 0 ");
    byoc_test_no_line("^later: .*(mappings|files|libraries|threads) [1-9]");
  }
}

// ---- headers ----

// Defect 14: two models of one file name in one program. Their tensors have as many bytes.
static void test_two_models_of_one_name(void **state) {
  (void)state;
  byoc_test_shell(0,
                  "mkdir -p a b && for d in a b; do [ $d = a ] && t=f32[2,3] || t=f32[3,2]; printf 'module {\\n  func "
                  "@main(%%%%x : %%s) -> (%%%%y : %%s) {\\n    %%%%y = Relu@14(%%%%x) : %%s\\n    return "
                  "%%%%y\\n  }\\n}\\n' $t $t $t > $d/model.byoc; done");
  byoc_test_shell(0, "byoc build a/model.byoc -o first.so && byoc build b/model.byoc -o second.so");
  byoc_test_shell(0,
                  "printf '#include \"first.h\"\\n#include \"second.h\"\\nint main(int n, char **paths) {\\n"
                  "  first_model_t one; second_model_t two;\\n  (void)n;\\n"
                  "  if (first_load(paths[1], &one) != 0) return puts(one.message), 1;\\n"
                  "  if (second_load(paths[2], &two) != 0) return puts(two.message), 1;\\n"
                  "  return first_unload(&one), second_unload(&two), 0;\\n}\\n' > both.c && "
                  "cc -Wall -Wextra -Wno-unused-function -Werror both.c -o both -ldl && ./both ./first.so ./second.so");
  byoc_test_shell(1, "./both ./second.so ./second.so");
  byoc_test_printed("./second.so is another model, or another version of it, than this header is for");
  byoc_test_shell(1, "./both ./first.so ./first.so");
  byoc_test_printed("./first.so is another model");
  byoc_test_shell(0, "byoc build a/model.byoc --name chosen && grep -q chosen_load chosen.h && byoc inspect chosen.so");
  byoc_test_printed("artifact of chosen");
  byoc_test_shell(0, "byoc build a/model.byoc --name chosen -o a/other.so && grep chosen_load a/other.h | head -1");
  byoc_test_printed("if (chosen_load(\"./other.so\", &model) != BYOC_OK)");
  byoc_test_shell(2, "byoc build a/model.byoc --name 'not one'");
}

// Two models whose functions have the same names cannot be told apart; one model's header may be met twice.
static void test_headers_of_one_prefix(void **state) {
  (void)state;
  byoc_test_shell(0, "mkdir -p c && byoc build tiny.onnx --name m -o c/one.so && byoc build vision.onnx --name m -o "
                     "c/two.so && cp c/one.h c/again.h && byoc build vision.onnx -o c/own.so");
  byoc_test_shell(0, "printf '#include \"one.h\"\n#include \"again.h\"\n#include \"own.h\"\n' > c/same.c && "
                     "cc -std=c99 -Wall -Wextra -Wundef -Wpedantic -Werror -fsyntax-only c/same.c");
  byoc_test_shell(0, "printf '#include \"one.h\"\n#include \"two.h\"\n' > c/other.c; ! cc -fsyntax-only c/other.c");
  byoc_test_printed("two models have functions that begin with m_: build one with another --name");
}

// ---- where nothing else is ----

static void test_in_a_chroot(void **state) {
  (void)state;
  static const struct {
    const char *targets;
    bool needs_proc;
  } rows[] = {{"cutlass; cblas; c", false}, {"dnnl; c", true}};
  if (geteuid() != 0 || byoc_test_try_shell("unshare -mpf chroot / true") != 0) {
    byoc_test_skip("chroot takes root and a mount namespace");
  }
  byoc_test_shell(0,
                  "byoc build tiny.onnx && cp " BYOC_TEST_SOURCE_DIR "/tests/cli/user.c . && cc user.c -o user -ldl");
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); ++i) {
    byoc_test_shell(0,
                    "rm -rf root && mkdir -p root/proc && byoc build tiny.onnx -o root/tiny.so --target '%s' && cp "
                    "user root && rm root/tiny.h",
                    rows[i].targets);
    // libc, libm and the loader, where the program looks for them.
    byoc_test_shell(0, "for f in $(ldd user root/tiny.so | grep -oE '/lib[^ ]+') $(dirname $(ldd user | grep -oE '/[^ "
                       "]*libc\\.so\\.6'))"
                       "/libm.so.6; do mkdir -p root/$(dirname $f) && cp -L $f root/$f; done");
    byoc_test_shell(0, "unshare -mpf sh -c '%s exec chroot root /user /tiny.so'",
                    rows[i].needs_proc ? "mount -t proc proc root/proc &&" : "");
    assert_string_equal(byoc_test_output(), expected_numbers);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_bytes),
      cmocka_unit_test(test_one_library_twice),
      cmocka_unit_test(test_needs_libc_only),
      cmocka_unit_test(test_user_program),
      cmocka_unit_test(test_mixed_backends),
      cmocka_unit_test(test_later_calls_make_nothing),
      cmocka_unit_test(test_in_a_chroot),
      cmocka_unit_test(test_two_models_of_one_name),
      cmocka_unit_test(test_headers_of_one_prefix),
  };
  return cmocka_run_group_tests(tests, setup, byoc_test_leave_folder);
}

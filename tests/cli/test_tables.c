// SPDX-License-Identifier: Apache-2.0
// Tables as plugins: a JSON file in a folder of plugins, or given by --plugin, is a backend. Nothing is compiled for it
// but the C sources that it names.
#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"
#include "tests/support/command.h"

static void write_file(const char *path, const char *text) {
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write(path, text, strlen(text), &diag), &diag);
}

// y = relu(-a), b: f32[2,3].
static const char relu_model[] = "module {\n"
                                 "  func @main(%a : f32[2,3]) -> (%y : f32[2,3]) {\n"
                                 "    %0 = Neg@13(%a) : f32[2,3]\n"
                                 "    %y = Relu@14(%0) : f32[2,3]\n"
                                 "    return %y\n"
                                 "  }\n"
                                 "}\n";

// A function that differs from relu: a test sees who computed. y = max(x, 0) + 1000.
static const char marked_relu[] = "#include <stdint.h>\n"
                                  "#include \"mark.h\"\n"
                                  "void FUNCTION(const float *x, float *y, int64_t count);\n"
                                  "void FUNCTION(const float *x, float *y, int64_t count) {\n"
                                  "  for (int64_t i = 0; i < count; ++i) y[i] = (x[i] > 0 ? x[i] : 0) + MARK;\n"
                                  "}\n";

// A table for Relu whose `library` and symbol are given.
static void write_table(const char *path, const char *target, const char *library, const char *symbol) {
  char text[2048];
  snprintf(text, sizeof(text),
           "{\"target\": \"%s\", \"description\": \"one C function\", \"library\": %s,\n"
           " \"rules\": [{\"name\": \"%s.relu\", \"pattern\": \"relu:Relu(%%x)\",\n"
           "   \"where\": [[\"dtype(x) == 'f32'\", \"its elements are not f32\"]],\n"
           "   \"steps\": [{\"call\": \"%s\", \"arguments\": [\"&x\", \"&result\", \"i64 count(x)\"]}]}]}\n",
           target, library, target, symbol);
  write_file(path, text);
}

static int enter(void **state) {
  if (byoc_test_enter_folder(state) != 0) return -1;
  return setenv("BYOC_PLUGIN_PATH", "", 1);
}

static void write_library(void) {
  write_file("relu.byoc", relu_model);
  write_file("relu.c", marked_relu);
  write_file("mark.h", "#define MARK 1000\n#ifndef FUNCTION\n#define FUNCTION mine_relu\n#endif\n");
}

// Builds and runs the model, compiled and evaluated; all elements are marked.
static void expect_marked(const char *options, int mark) {
  char expected[64];
  snprintf(expected, sizeof(expected), "(from %d to %d, mean %d)", mark, mark, mark);
  for (int i = 0; i < 2; ++i) {
    byoc_test_shell(0, "byoc run relu.byoc %s --random %s", options, i == 0 ? "" : "--evaluate");
    byoc_test_printed(expected);
  }
}

// ---- what a table may name ----

static void test_a_source(void **state) {
  (void)state;
  write_library();
  write_table("mine.json", "mine", "{\"sources\": [\"relu.c\"]}", "mine_relu");
  expect_marked("--plugin mine.json --target 'mine; c'", 1000);
  byoc_test_shell(0, "byoc plugins --plugin mine.json");
  byoc_test_printed("loaded   mine 1: targets mine - one C function\n         mine.json  (--plugin)");
  // With flags of its own, in a folder of plugins, with a version.
  byoc_test_shell(0, "mkdir -p dropped && cp relu.c mark.h dropped/");
  write_table("dropped/other.json", "other", "{\"sources\": [\"relu.c\"], \"flags\": [\"-DFUNCTION=by_flag\"]}",
              "by_flag");
  byoc_test_shell(0, "BYOC_PLUGIN_PATH=$PWD/dropped byoc plugins");
  byoc_test_printed("loaded   other 1: targets other");
  byoc_test_shell(0, "BYOC_PLUGIN_PATH=$PWD/dropped byoc run relu.byoc --target 'other; c' --random");
  byoc_test_printed("mean 1000)");
  byoc_test_shell(0, "byoc build relu.byoc --plugin mine.json --target 'mine; c' -o relu.so && readelf -d relu.so | "
                     "grep -vE 'lib(c|m|dl|pthread)\\.so' > dynamic; ! grep 'NEEDED\\|PATH' dynamic");
  byoc_test_shell(0, "byoc inspect relu.so --json");
  byoc_test_printed("\"mine\"");
}

static void test_an_archive(void **state) {
  (void)state;
  write_library();
  byoc_test_shell(0, "mkdir -p lib && cc -O1 -fPIC -c relu.c -o lib/relu.o && ar crs lib/librelu.a lib/relu.o");
  write_table("archive.json", "archive", "{\"files\": [\"lib/librelu.a\"]}", "mine_relu");
  write_table("object.json", "object", "{\"files\": [\"./lib/relu.o\"]}", "mine_relu");
  expect_marked("--plugin archive.json --target 'archive; c'", 1000);
  expect_marked("--plugin object.json --target 'object; c'", 1000);
  // The evaluator may be given a shared object, which needs no linker.
  byoc_test_shell(0, "mkdir -p seven && cp relu.c seven/ && sed 's/1000/7/' mark.h > seven/mark.h && "
                     "cc -shared -fPIC seven/relu.c -o lib/relu.so");
  write_table("both.json", "both", "{\"files\": [\"lib/relu.o\"], \"shared\": \"lib/relu.so\"}", "mine_relu");
  byoc_test_shell(0, "byoc run relu.byoc --plugin both.json --target 'both; c' --random --evaluate");
  byoc_test_printed("mean 7)");
}

// Libraries that stay outside: nothing of them is in the artifact but their name and where they lie.
static void test_shared_libraries(void **state) {
  (void)state;
  write_library();
  byoc_test_shell(0, "mkdir -p outside && cc -shared -fPIC relu.c -Wl,-soname,librelu.so.1 -o outside/librelu.so.1 && "
                     "ln -sf librelu.so.1 outside/librelu.so");
  write_table("outside.json", "outside", "{\"needed\": [\"librelu.so.1\"], \"search\": [\"outside\"]}", "mine_relu");
  expect_marked("--plugin outside.json --target 'outside; c'", 1000);
  byoc_test_shell(0,
                  "byoc build relu.byoc --plugin outside.json --target 'outside; c' -o relu.so && readelf -d relu.so");
  byoc_test_printed("[librelu.so.1]");
  byoc_test_printed("/outside]");
  byoc_test_shell(0, "cd / && byoc run $OLDPWD/relu.so --random");
  // Beside the artifact.
  write_table("origin.json", "origin", "{\"needed\": [\"librelu.so.1\"], \"search\": [\"outside\", \"$ORIGIN\"]}",
              "mine_relu");
  byoc_test_shell(0,
                  "byoc build relu.byoc --plugin origin.json --target 'origin; c' -o relu.so && mkdir -p moved && "
                  "cp relu.so outside/librelu.so.1 moved/ && mv outside elsewhere && byoc run moved/relu.so --random; "
                  "code=$?; mv elsewhere outside; exit $code");
  byoc_test_printed("mean 1000)");

  // While a model is built, $ORIGIN is no folder, and least of all one of that name under the working folder.
  byoc_test_shell(0, "mkdir -p '$ORIGIN' && cp outside/librelu.so.1 '$ORIGIN/'");
  write_table("only.json", "only", "{\"needed\": [\"librelu.so.1\"], \"search\": [\"$ORIGIN\"]}", "mine_relu");
  byoc_test_shell(1, "byoc plugins --plugin only.json");
  byoc_test_printed(
      "needs the shared library 'librelu.so.1', which is neither in '$ORIGIN' nor in the system's folders");

  // One that is not there, has another name, or lacks the function.
  write_table("missing.json", "missing", "{\"needed\": [\"librelu.so.2\"], \"search\": [\"outside\"]}", "mine_relu");
  byoc_test_shell(1, "byoc plugins --plugin missing.json");
  byoc_test_printed("needs the shared library 'librelu.so.2', which is neither in '");
  byoc_test_printed(
      "/outside' nor in the system's folders (install it, or name its folder in the module's search list)");
  write_table("link.json", "link", "{\"needed\": [\"librelu.so\"], \"search\": [\"outside\"]}", "mine_relu");
  byoc_test_shell(1, "byoc plugins --plugin link.json");
  byoc_test_printed("outside/librelu.so' calls itself 'librelu.so.1' (an artifact finds it by that name: need "
                    "'librelu.so.1')");
  write_table("lacks.json", "lacks", "{\"needed\": [\"librelu.so.1\"], \"search\": [\"outside\"]}", "yours_relu");
  byoc_test_shell(1, "byoc plugins --plugin lacks.json");
  byoc_test_printed("lists the symbol 'yours_relu', but 'librelu.so.1' does not define it");
}

// y = relu(relu(a)), where each target computes one.
static void write_two(const char *first, const char *second) {
  char text[1024];
  snprintf(text, sizeof(text),
           "module {\n"
           "  func @main(%%a : f32[2,3]) -> (%%x : f32[2,3], %%y : f32[2,3]) {\n"
           "    %%x = Relu@14(%%a) : f32[2,3] on {target = \"%s\"}\n"
           "    %%y = Relu@14(%%a) : f32[2,3] on {target = \"%s\"}\n"
           "    return %%x, %%y\n"
           "  }\n"
           "}\n",
           first, second);
  write_file("two.byoc", text);
}

// The same name from a shared library and from an archive are two functions. The same name from two shared libraries
// cannot be: a process has one of them.
static void test_one_name_from_two_libraries(void **state) {
  (void)state;
  write_library();
  byoc_test_shell(0, "mkdir -p one two && cc -shared -fPIC relu.c -Wl,-soname,librelu.so.1 -o one/librelu.so.1 && "
                     "sed 's/1000/2000/' mark.h > two/mark.h && cp relu.c two/ && "
                     "cc -fPIC -c two/relu.c -o two/relu.o && "
                     "cc -shared -fPIC two/relu.c -Wl,-soname,librelu2.so.1 -o two/librelu2.so.1");
  write_table("one.json", "one", "{\"needed\": [\"librelu.so.1\"], \"search\": [\"one\"]}", "mine_relu");
  write_table("two.json", "two", "{\"files\": [\"two/relu.o\"]}", "mine_relu");
  write_table("three.json", "three", "{\"needed\": [\"librelu2.so.1\"], \"search\": [\"two\"]}", "mine_relu");
  static const char *const orders[][2] = {{"one", "two"}, {"two", "one"}};
  for (size_t i = 0; i < 2; ++i) {
    write_two(orders[i][0], orders[i][1]);
    for (size_t e = 0; e < 2; ++e) {
      byoc_test_shell(0, "byoc run two.byoc --plugin one.json --plugin two.json --target '%s; %s; c' --random %s",
                      orders[i][0], orders[i][1], e == 0 ? "" : "--evaluate");
      byoc_test_printed(i == 0 ? "x : f32[2,3] = 1000" : "x : f32[2,3] = 2000");
      byoc_test_printed(i == 0 ? "y : f32[2,3] = 2000" : "y : f32[2,3] = 1000");
    }
  }
  // An archive that keeps a function of that name to itself does not lend it to the others.
  byoc_test_shell(0,
                  "mkdir -p inner && cp two/mark.h relu.c inner/ && "
                  "printf '%s' > inner/four.c && cc -fPIC -c inner/relu.c -o inner/relu.o && "
                  "cc -fPIC -c inner/four.c -o inner/four.o",
                  "void mine_relu(const float *x, float *y, long n);\n"
                  "void four_relu(const float *x, float *y, long n) { mine_relu(x, y, n); }\n");
  write_table("four.json", "four", "{\"files\": [\"inner/relu.o\", \"inner/four.o\"]}", "four_relu");
  write_two("one", "four");
  byoc_test_shell(0, "byoc run two.byoc --plugin one.json --plugin four.json --target 'four; one; c' --random");
  byoc_test_printed("x : f32[2,3] = 1000");
  byoc_test_printed("y : f32[2,3] = 2000");
  write_two("one", "three");
  byoc_test_shell(1, "byoc build two.byoc --plugin one.json --plugin three.json --target 'one; three; c' -o two.so");
  byoc_test_printed("the symbol 'mine_relu' comes from 'librelu.so.1' for target 'one' and from 'librelu2.so.1' for "
                    "target 'three'");
}

// A changed file of the library is another backend: its costs are measured again.
static void test_a_changed_library_is_measured_again(void **state) {
  (void)state;
  write_library();
  write_table("changing.json", "changing", "{\"sources\": [\"relu.c\"]}", "mine_relu");
  const char *build = "BYOC_CACHE_DIR=$PWD/cache byoc build relu.byoc --plugin changing.json --target 'changing; c' "
                      "--plan collage -o r.so -v 2>&1 | "
                      "grep 'of them known'";
  (void)byoc_test_try_shell("%s", build);
  char known[256], changed[256];
  byoc_test_shell(0, "%s", build);
  snprintf(known, sizeof(known), "%s", byoc_test_output());
  byoc_test_shell(0, "%s", build);
  assert_string_equal(byoc_test_output(), known);
  byoc_test_shell(0, "echo '// changed' >> relu.c");
  byoc_test_shell(0, "%s", build);
  snprintf(changed, sizeof(changed), "%s", byoc_test_output());
  assert_string_not_equal(changed, known);
}

// ---- a library that is not ours ----

static void need_blis(void) {
  if (byoc_test_try_shell("echo 'int main(void) { return 0; }' > m.c && cc m.c -l:libblis.so.4 -o m") == 0) return;
  byoc_test_skip("there is no libblis.so.4 (Debian package libblis-dev)");
}

// One matrix product by BLIS, outside of the artifact or linked into it, and one by OpenBLAS.
static void test_blis_beside_openblas(void **state) {
  (void)state;
  static const char model[] = "module {\n"
                              "  func @main(%a : f32[30,40], %b : f32[40,50], %c : f32[50,60]) -> (%y : f32[30,60]) {\n"
                              "    %0 = MatMul@13(%a, %b) : f32[30,50] on {target = \"blis\"}\n"
                              "    %y = MatMul@13(%0, %c) : f32[30,60] on {target = \"cblas\"}\n"
                              "    return %y\n"
                              "  }\n"
                              "}\n";
  const char *table = BYOC_TEST_SOURCE_DIR "/plugins/builtin_shim/tables/blis.json";
  need_blis();
  write_file("blis.byoc", model);
  byoc_test_shell(0, "sed 's/ on {[^}]*}//' blis.byoc > plain.byoc && byoc run plain.byoc --random --output-dir r");
  byoc_test_shell(
      0,
      "archive=$(cc -print-file-name=libblis.a) && "
      "sed \"s#\\\"needed\\\": .*#\\\"files\\\": [\\\"$archive\\\"], \\\"needed\\\": [\\\"libgomp.so.1\\\"]},#\" %s > "
      "linked.json",
      table);
  for (int i = 0; i < 2; ++i) {
    const char *plugin = i == 0 ? table : "linked.json";
    byoc_test_shell(0, "byoc build blis.byoc --plugin %s --target 'blis; cblas; c' -o blis.so", plugin);
    byoc_test_printed("blis 1 operator in 1 region, cblas 1 operator in 1 region, c 0 operators");
    // BLIS keeps memory to the end.
    byoc_test_shell(
        0, "export ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\"; byoc run blis.so --random --expect y=r/y.npy");
    byoc_test_shell(0,
                    "export ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\"; byoc run blis.byoc --plugin %s --target "
                    "'blis; cblas; c' --random --evaluate --expect y=r/y.npy",
                    plugin);
    byoc_test_shell(0, "readelf -d blis.so | grep NEEDED");
    byoc_test_printed(i == 0 ? "[libblis.so.4]" : "[libgomp.so.1]");
    if (strstr(byoc_test_output(), "openblas") != NULL) fail_msg("%s", byoc_test_output());
  }
}

// Its other rule: Gemm, with and without a summand, turned operands and a scale.
static void test_blis_gemm(void **state) {
  (void)state;
  static const char *const gemms[] = {"Gemm@13(%a, %b)", "Gemm@13(%a, %b, %c)",
                                      "Gemm@13(%a, %b, %c) {alpha = 0.5, transA = 1, transB = 1}",
                                      "Gemm@13(%a, %b) {transB = 1}"};
  need_blis();
  for (size_t i = 0; i < sizeof(gemms) / sizeof(gemms[0]); ++i) {
    const bool a_turned = strstr(gemms[i], "transA") != NULL, b_turned = strstr(gemms[i], "transB") != NULL;
    char text[512];
    snprintf(text, sizeof(text),
             "module {\n  func @main(%%a : f32[%s], %%b : f32[%s], %%c : f32[5]) -> (%%y : f32[3,5]) {\n"
             "    %%y = %s : f32[3,5]\n    return %%y\n  }\n}\n",
             a_turned ? "4,3" : "3,4", b_turned ? "5,4" : "4,5", gemms[i]);
    write_file("gemm.byoc", text);
    byoc_test_shell(0, "byoc run gemm.byoc --random --output-dir r");
    byoc_test_shell(0,
                    "byoc run gemm.byoc --plugin " BYOC_TEST_SOURCE_DIR
                    "/plugins/builtin_shim/tables/blis.json --target 'blis; c' --random --expect y=r/y.npy -v 2>&1 | "
                    "grep 'placed blis 1'");
  }
}

// byoc targets shows the element types that patterns name, and explain whom a list of an attribute keeps out.
static void test_b35_element_types_and_b36_lists_are_shown(void **state) {
  (void)state;
  write_file("typed.c", "#include <byoc/call.h>\nint32_t typed(const byoc_call_t *call);\n"
                        "int32_t typed(const byoc_call_t *call) { return call == 0; }\n");
  write_file(
      "typed.json",
      "{\"target\": \"typed\", \"description\": \"halves\", \"library\": {\"sources\": [\"typed.c\"]},\n"
      " \"rules\": [{\"name\": \"typed.turn\", \"pattern\": \"turn:Transpose<f32|f16>[perm=[1,0]](%x)\", "
      "\"packed\": \"typed\", \"operands\": [\"x\"]},\n"
      "  {\"name\": \"typed.neg\", \"pattern\": \"neg:Neg(%x)\", \"packed\": \"typed\", \"operands\": [\"x\"]}]}\n");
  byoc_test_shell(0, "byoc targets --plugin typed.json");
  byoc_test_printed("  typed.turn                   takes f32|f16\n  typed.neg                    takes any that");
  byoc_test_shell(0, "byoc targets --json --plugin typed.json");
  byoc_test_printed("\"typed.turn\": \"f32|f16\"");
  write_file("turn.byoc", "module {\n  func @main(%x : f32[3,4], %d : f64[3,4], %z : f32[2,3,4]) -> (%a : f32[4,3], "
                          "%b : f64[4,3], %c : f32[4,3,2]) {\n"
                          "    %a = Transpose@13(%x) : f32[4,3]\n    %b = Transpose@13(%d) : f64[4,3]\n"
                          "    %c = Transpose@13(%z) : f32[4,3,2]\n    return %a, %b, %c\n  }\n}\n");
  byoc_test_shell(0,
                  "byoc explain turn.byoc --plugin typed.json --target 'typed; c' --plan=greedy | grep ' Transpose '");
  byoc_test_printed("0 Transpose      f32[4,3]        0 typed  typed.turn");
  byoc_test_printed("1 Transpose      f64[4,3]        - c");
  byoc_test_printed("2 Transpose      f32[4,3,2]      - c");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_source),
      cmocka_unit_test(test_b35_element_types_and_b36_lists_are_shown),
      cmocka_unit_test(test_an_archive),
      cmocka_unit_test(test_shared_libraries),
      cmocka_unit_test(test_one_name_from_two_libraries),
      cmocka_unit_test(test_a_changed_library_is_measured_again),
      cmocka_unit_test(test_blis_beside_openblas),
      cmocka_unit_test(test_blis_gemm),
  };
  return cmocka_run_group_tests(tests, enter, byoc_test_leave_folder);
}

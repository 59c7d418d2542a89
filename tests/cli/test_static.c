// SPDX-License-Identifier: Apache-2.0
// Static artifacts: models that are linked into a program.
#include <string.h>

#include "models.h"
#include "tests/support/command.h"

#define CC_FLAGS "-std=c99 -Wall -Wextra -Werror -O1"

static const char twice[] = "module {opset_import. = 17} {\\n"
                            "  func @main(%%x : f32[N,4]) -> (%%y : f32[N,4]) {\\n"
                            "    %%y = Add@14(%%x, %%x) : f32[N,4]\\n    return %%y\\n  }\\n}\\n";

static int enter(void **state) {
  int result = byoc_test_enter_folder(state);
  if (result != 0) return result;
  write_tiny("tiny.onnx", "2");
  return byoc_test_try_shell(
      "cp " BYOC_TEST_SOURCE_DIR "/tests/cli/user_static.c program.c && printf '%s' > twice.byoc", twice);
}

// A static library and an object of two models in one program that is linked statically.
static void test_two_models_run_in_a_static_program(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build tiny.onnx -t 'cblas; c' -o tiny.a && byoc build twice.byoc -o twice.o");
  byoc_test_shell(0,
                  "cc " CC_FLAGS " program.c tiny.a twice.o -lm -lpthread -o program && ./program > shared.txt && "
                  "cc " CC_FLAGS
                  " -static program.c tiny.a twice.o -lm -lpthread -o static && BYOC_VERIFY=1 ./static > static.txt && "
                  "cmp shared.txt static.txt && ! ldd static > /dev/null 2>&1 && cat static.txt");
  byoc_test_printed(" 16\n");
}

// Names that the models define begin with their prefix, and the same inputs give the same bytes.
static void test_static_libraries_have_prefixed_names_and_the_same_bytes(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build tiny.onnx -o tiny.a --name other && nm tiny.a | grep ' [A-TV-Z] ' | grep -v ' w ' | "
                     "grep -vc ' other_' | grep -x 0");
  byoc_test_shell(0, "nm tiny.a | grep -x '[0-9a-f]* T other_artifact_entry'");
  byoc_test_shell(0, "mkdir -p again && byoc build tiny.onnx -o again/tiny.a --name other && cmp tiny.a again/tiny.a");
  byoc_test_shell(0, "printf '#include \"again/tiny.h\"\\nint main(void) { return 0; }\\n' > header.cc && "
                     "c++ -std=c++17 -Wall -Wextra -Werror -c header.cc");
}

// A header beside a .so loads it, one beside a .a or .o does not: a build that replaces one by the other says so, and a
// program with the wrong one gets a sentence.
static void test_a_header_of_the_other_form_is_warned_of(void **state) {
  (void)state;
  static const char warned[] = "warning: 'form.h' was the header of ";
  byoc_test_shell(0, "byoc build tiny.onnx -o form.a && grep 'form_load(NULL, &model)' form.h");
  byoc_test_shell(0, "byoc build tiny.onnx -o form.o");
  assert_null(strstr(byoc_test_output(), warned));
  byoc_test_shell(0, "byoc build tiny.onnx -o form.so");
  byoc_test_printed(warned);
  byoc_test_printed("a static library or object and becomes that of 'form.so'");
  byoc_test_shell(0, "byoc build tiny.onnx -o form.so");
  assert_null(strstr(byoc_test_output(), warned));
  byoc_test_shell(
      0, "printf '#include \"form.h\"\nint main(void) {\n  form_model_t model;\n"
         "  if (form_load(NULL, &model) == BYOC_OK) return 1;\n  puts(model.message);\n  return 0;\n}\n' > form.c && "
         "cc " CC_FLAGS " form.c form.a -lm -lpthread -ldl -o form && ./form");
  byoc_test_printed("this header is that of a shared object, which has to be named");
  byoc_test_shell(0, "byoc build tiny.onnx -o form.a");
  byoc_test_printed(warned);
  byoc_test_printed("a shared object and becomes that of 'form.a'");
}

static void test_what_no_static_library_can_do_is_refused(void **state) {
  (void)state;
  byoc_test_shell(1, "byoc build tiny.onnx -t dnnl -o refused.a; code=$?; ls refused*; exit $code");
  byoc_test_printed("opens libraries when it runs");
  byoc_test_printed("leave out the target");
  byoc_test_shell(1, "byoc build tiny.onnx -o tiny.a && byoc run tiny.a --random");
  byoc_test_printed("'tiny.a' is a static library, which cannot be loaded");
  byoc_test_shell(1, "byoc build tiny.onnx -o tiny.o && byoc inspect tiny.o");
  byoc_test_printed("'tiny.o' is an object, which cannot be loaded");
  byoc_test_shell(2, "byoc build tiny.onnx -o tiny.lib");
  byoc_test_printed("static libraries (.a), objects (.o) and folders of C source (.c)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_two_models_run_in_a_static_program),
      cmocka_unit_test(test_static_libraries_have_prefixed_names_and_the_same_bytes),
      cmocka_unit_test(test_a_header_of_the_other_form_is_warned_of),
      cmocka_unit_test(test_what_no_static_library_can_do_is_refused),
  };
  return cmocka_run_group_tests(tests, enter, byoc_test_leave_folder);
}

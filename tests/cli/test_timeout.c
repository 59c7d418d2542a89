// SPDX-License-Identifier: Apache-2.0
// Runs that take longer than they may: by the command, and by a program with the model's C source.
#include "tests/support/command.h"

// As long as %go is true, it goes on.
static const char endless[] =
    "module {opset_import. = 17} {\\n  func @main(%%go : bool[], %%x : f32[2]) -> (%%y : f32[2]) {\\n"
    "    %%y = Loop@16(_, %%go, %%x) [body (%%i : i64[], %%k : bool[], %%v : f32[2]) -> (%%k : bool[], %%w : f32[2]) "
    "{\\n"
    "      %%w = Neg@13(%%v) : f32[2]\\n      return %%k, %%w\\n    }] : f32[2]\\n    return %%y\\n  }\\n}\\n";

static int enter(void **state) {
  const int result = byoc_test_enter_folder(state);
  if (result != 0) return result;
  return byoc_test_try_shell("printf '%s' > endless.byoc && printf '\\001' > yes.raw && printf '\\000' > no.raw && "
                             "printf '\\000\\000\\200\\077\\000\\000\\000\\100' > x.raw",
                             endless);
}

static void test_by_the_command(void **state) {
  (void)state;
  static const char *const ways[] = {"-t c", "--evaluate"};
  for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); ++i) {
    byoc_test_shell(1, "byoc run endless.byoc %s -i go=yes.raw -i x=x.raw --timeout 0.02", ways[i]);
    byoc_test_printed("the run took longer than 20 ms, the limit that the caller set");
    byoc_test_shell(0, "byoc run endless.byoc %s -i go=no.raw -i x=x.raw --timeout 60", ways[i]);
    byoc_test_printed("y : f32[2] = 1 2");
  }
  byoc_test_shell(2, "byoc run endless.byoc --random --timeout 0");
  byoc_test_printed("--timeout takes a number above 0, not '0'");
}

// The plain runtime of C source has no clock but C's.
static void test_c_source(void **state) {
  (void)state;
  byoc_test_shell(0,
                  "byoc build endless.byoc -o endless.c && make -s -C endless.c && cat > program.c <<'END'\n"
                  "#include <stdio.h>\n"
                  "#include \"endless.h\"\n"
                  "int main(void) {\n"
                  "  const byoc_context_options_t options = {.struct_size = sizeof(options), .timeout_ms = 20};\n"
                  "  const float x[2] = {1, 2};\n"
                  "  uint8_t goes_on = 1;\n"
                  "  const int64_t dims[1] = {2};\n"
                  "  byoc_argument_t in[2] = {{.dtype = BYOC_DTYPE_BOOL, .data = &goes_on},\n"
                  "                           {.dtype = BYOC_DTYPE_F32, .rank = 1, .dims = dims, .data = (void *)x}};\n"
                  "  byoc_argument_t out[1];\n"
                  "  endless_model_t model;\n"
                  "  byoc_context_t *context;\n"
                  "  if (endless_load(NULL, &model) != BYOC_OK) return 1;\n"
                  "  if (model.artifact->create(&options, &context) != BYOC_OK) return 2;\n"
                  "  if (model.artifact->run_arguments(context, in, out) != BYOC_TIMED_OUT) return 3;\n"
                  "  puts(model.artifact->last_error(context));\n"
                  "  goes_on = 0;\n"
                  "  if (model.artifact->run_arguments(context, in, out) != BYOC_OK) return 4;\n"
                  "  model.artifact->destroy(context);\n"
                  "  return ((const float *)out[0].data)[1] == 2 ? 0 : 5;\n"
                  "}\n"
                  "END\n"
                  "cc -std=c11 -Wall -Wextra -Werror program.c -Iendless.c endless.c/libendless.a -lm -o program && "
                  "timeout 60 ./program");
  byoc_test_printed("the run took longer than 20 ms");
}

// A program that loads an artifact is not kept waiting by a pipe.
static void test_loading_a_pipe(void **state) {
  (void)state;
  byoc_test_shell(0, "byoc build endless.byoc -t c -o endless.so && mkfifo pipe.so && cat > load.c <<'END'\n"
                     "#include <stdio.h>\n"
                     "#include \"endless.h\"\n"
                     "int main(int count, char **words) {\n"
                     "  endless_model_t model;\n"
                     "  if (endless_load(words[count - 1], &model) == BYOC_OK) return 1;\n"
                     "  puts(model.message);\n"
                     "  return 0;\n"
                     "}\n"
                     "END\n"
                     "cc -std=c99 -Wall -Wextra -Werror load.c -ldl -o load && timeout 20 ./load ./pipe.so && "
                     "timeout 20 ./load . && timeout 20 ./load ./. && ! timeout 20 ./load ./endless.so");
  byoc_test_printed("./pipe.so is not a regular file");
  byoc_test_printed("./. is not a regular file");
  byoc_test_shell(1, "timeout 20 byoc run ./pipe.so --random");
  byoc_test_printed("cannot read './pipe.so': it is a named pipe");
  byoc_test_shell(1, "timeout 20 byoc run --communicator pipe.so endless.so --random");
  byoc_test_printed("cannot load the communicator: 'pipe.so' is not a regular file");
  byoc_test_shell(1, "mkfifo x.npy; timeout 20 byoc run endless.so -i go=no.raw -i x=x.npy");
  byoc_test_printed("cannot read 'x.npy': it is a named pipe");
  byoc_test_shell(0,
                  "byoc run endless.so -i go=no.raw -i x=x.raw --output-dir out && cat out/y.npy | byoc run endless.so "
                  "-i go=no.raw -i x=/dev/stdin");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_by_the_command),
      cmocka_unit_test(test_c_source),
      cmocka_unit_test(test_loading_a_pipe),
  };
  return cmocka_run_group_tests(tests, enter, byoc_test_leave_folder);
}

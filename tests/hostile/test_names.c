// SPDX-License-Identifier: Apache-2.0
// Models whose names and sizes are made to do harm: nothing that byoc prints or writes holds an escape sequence, a
// change of direction or a line of its own, no file appears elsewhere, headers compile, and sizes end in a sentence.
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/visible.h"
#include "core/frontend/onnx_write.h"
#include "tests/support/command.h"

static const char *const names[] = {
    "new\nline",
    "new\r\nerror: nothing is wrong",
    "colour\x1b[31;1m",
    "title\x1b]0;owned\a",
    "second\xc2\x9bm",
    "deleted\x7f",
    "turned\u202Exnno.ledom",
    "isolated\u2066x\u2069",
    "hidden\u200b\u00ad\ufeff",
    "tagged\U000E0041",
    "separated\u2028x",
    "../../up",
    "/absolute",
    "..",
    "quote\"s and 'apostrophes'",
    "%s%n%d%99999d",
    "*/ int owned; /*",
    "// x",
    "back\\slash\\",
    "trigraph?\?/",
    "$(touch owned)`touch owned`;touch owned",
    "<script>alert(1)</script><!--&amp;",
    "</script>",
    "a.b",
    "a_b",
    "a b",
    "a:b",
    "int",
    "STATUS",
    "-o",
    " ",
    "\u4f60\u597d gr\u00fc\u00dfe",
};
enum { NAMES = sizeof(names) / sizeof(names[0]), LONG_BYTES = 65536 };

static void finish(byoc_onnx_model_t *model, const char *path) {
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_onnx_model_write(model, path, &diag), &diag);
  byoc_onnx_model_destroy(model);
}

// For each name an input, an output, and a node of that name between them; the dimensions are numbers or such names
// too.
static void write_model(const char *path, bool is_open) {
  byoc_onnx_model_t *model = byoc_onnx_model_create(byoc_allocator_system(), names[2], 17);
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  for (size_t i = 0; i < NAMES; ++i) {
    char output[256], shape[256];
    snprintf(output, sizeof(output), "%s'", names[i]);
    snprintf(shape, sizeof(shape), "2,%s", is_open && i < 10 ? names[i] : "3");
    byoc_onnx_graph_input(graph, names[i], BYOC_DTYPE_F32, shape);
    byoc_onnx_graph_node(graph, "Exp", names[i], names[i], output);
    byoc_onnx_graph_output(graph, output, BYOC_DTYPE_F32, shape);
  }
  finish(model, path);
}

static int setup(void **state) {
  if (byoc_test_enter_folder(state) != 0) return -1;
  write_model("hostile.onnx", false);
  write_model("open.onnx", true);
  return 0;
}

// Tabs and ends of lines are byoc's own here: those of names are escaped.
static void expect_safe(const char *what, const char *text, size_t size) {
  for (size_t at = 0; at < size;) {
    uint32_t code = 0;
    size_t length = byoc_utf8_decode(text + at, size - at, &code);
    bool is_layout = code == '\n' || code == '\t';
    if (length == 0 || (byoc_is_unsafe_character(code) && !is_layout)) {
      size_t begin = at < 60 ? 0 : at - 60;
      fail_msg("%s: byte %zu (U+%04X) is not safe to show: ...%.*s", what, at, (unsigned)code, (int)(at - begin),
               text + begin);
    }
    at += length;
  }
}

// A line that a name began would be one of these.
static void expect_no_forged_line(const char *what, const char *text) {
  static const char *const forged[] = {"\nline", "\nerror: nothing is wrong"};
  for (size_t i = 0; i < sizeof(forged) / sizeof(forged[0]); ++i) {
    if (strstr(text, forged[i]) != NULL) fail_msg("%s: a name began a line\n%s", what, text);
  }
}

static void expect_safe_output(int expected, const char *command) {
  const char *text = byoc_test_shell(expected, "%s", command);
  expect_safe(command, text, strlen(text));
  expect_no_forged_line(command, text);
}

static void expect_safe_file(const char *path) {
  byoc_diag_t diag = {0};
  char *text = NULL;
  size_t size = 0;
  byoc_test_ok(byoc_file_read(path, byoc_allocator_system(), &diag, &text, &size), &diag);
  expect_safe(path, text, size);
  expect_no_forged_line(path, text);
  byoc_free(byoc_allocator_system(), text);
}

static void expect_nothing_owned(void) {
  byoc_test_shell(0, "[ ! -e owned ] && [ ! -e ../up.npy ] && [ ! -e ../../up.npy ]");
}

static void test_names_of_a_model(void **state) {
  (void)state;
  static const char *const commands[] = {
      "byoc inspect hostile.onnx",
      "byoc inspect --json hostile.onnx",
      "byoc inspect open.onnx",
      "byoc explain hostile.onnx --plan greedy -t 'cutlass; c' --all",
      "byoc explain hostile.onnx --plan greedy -t 'cutlass; c' --json",
      "byoc explain hostile.onnx --plan greedy -t 'cutlass; c' --node 2",
      "byoc opt hostile.onnx",
      "byoc opt open.onnx",
      "byoc opt hostile.onnx --passes=simplify --print-after all",
      "byoc build hostile.onnx --plan greedy --emit=ir",
      "byoc build hostile.onnx --plan greedy --emit=host",
      "byoc build open.onnx --plan greedy --emit=host",
      "byoc build hostile.onnx --plan greedy --emit=c",
      "byoc build open.onnx --plan greedy --emit=c",
      "byoc build -v hostile.onnx --plan greedy --profile -o hostile.so --html plan.html --save-plan plan.json",
      "byoc build -v open.onnx --plan greedy -o open.so",
      "byoc inspect hostile.so",
      "byoc inspect --json hostile.so",
      "byoc inspect open.so",
      "byoc run hostile.so --random --output-dir out",
      "byoc run hostile.onnx --random --evaluate",
      "byoc bench hostile.so --runs 2",
      "byoc profile hostile.so --runs 2 --html profile.html --trace trace.json --json profile.json",
  };
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); ++i) expect_safe_output(0, commands[i]);
  static const char *const files[] = {"hostile.h",    "open.h",     "plan.html",   "plan.json",
                                      "profile.html", "trace.json", "profile.json"};
  for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); ++i) expect_safe_file(files[i]);
  // Each output has a file of its own, in that folder.
  byoc_diag_t diag = {0};
  char **outputs = NULL;
  size_t count = 0;
  byoc_test_ok(byoc_list_directory("out", byoc_allocator_system(), &diag, &outputs, &count), &diag);
  assert_int_equal(count, NAMES);
  for (size_t i = 0; i < count; ++i) expect_safe(outputs[i], outputs[i], strlen(outputs[i]));
  byoc_free_names(byoc_allocator_system(), outputs, count);
  expect_nothing_owned();
}

// The typed functions' names differ, and no name ends a comment or a text.
static void test_headers_compile(void **state) {
  (void)state;
  static const char program[] = "#include \"hostile.h\"\n#include \"open.h\"\nint main(void) { return 0; }\n";
  byoc_diag_t diag = {0};
  byoc_test_shell(0, "[ -e hostile.h ] || byoc build hostile.onnx --plan greedy -o hostile.so");
  byoc_test_shell(0, "[ -e open.h ] || byoc build open.onnx --plan greedy -o open.so");
  byoc_test_ok(byoc_file_write("user.c", program, sizeof(program) - 1, &diag), &diag);
  byoc_test_shell(0, "cc -std=c11 -trigraphs -Wall -Wextra -Wcomment -Wtrigraphs -Werror -fsyntax-only user.c");
  byoc_test_shell(0, "cc -x c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only user.c");
}

// Names of outputs that would be no file in the folder, or one that another output has, and one that removes and
// replaces what lies beside the folder, as a sequence or an empty optional.
static const char special_outputs[] =
    "module {\n"
    "  func @main(%x : f32[2]) -> (%\"..\" : seq<f32[2]>, %\".\" : f32[2], %\".hidden\" : f32[2], "
    "%\"a/b\" : f32[2], %\"a:b\" : f32[2], %a_b : f32[2], %A_b : f32[2], %a_b_2 : f32[2], %y : f32[2], "
    "%\"y.npy\" : seq<f32[2]>, %\"LONG\" : f32[2], %\"LONGo\" : f32[2]) {\n"
    "    %\"..\" = SequenceConstruct@11(%x, %x) : seq<f32[2]>\n"
    "    %\".\" = Exp@13(%x) : f32[2]\n"
    "    %\".hidden\" = Neg@13(%x) : f32[2]\n"
    "    %\"a/b\" = Abs@13(%x) : f32[2]\n"
    "    %\"a:b\" = Sin@7(%x) : f32[2]\n"
    "    %a_b = Cos@7(%x) : f32[2]\n"
    "    %A_b = Tan@7(%x) : f32[2]\n"
    "    %a_b_2 = Tanh@13(%x) : f32[2]\n"
    "    %y = Relu@14(%x) : f32[2]\n"
    "    %\"y.npy\" = SequenceConstruct@11(%x) : seq<f32[2]>\n"
    "    %\"LONG\" = Floor@13(%x) : f32[2]\n"
    "    %\"LONGo\" = Ceil@13(%x) : f32[2]\n"
    "    return %\"..\", %\".\", %\".hidden\", %\"a/b\", %\"a:b\", %a_b, %A_b, %a_b_2, %y, %\"y.npy\", %\"LONG\", "
    "%\"LONGo\"\n"
    "  }\n"
    "}\n";

static void test_outputs_stay_in_their_folder(void **state) {
  (void)state;
  byoc_diag_t diag = {0};
  byoc_test_ok(byoc_file_write("wild.byoc", special_outputs, sizeof(special_outputs) - 1, &diag), &diag);
  // Those with LONG in them become ones of 300 bytes that differ in the last one only.
  byoc_test_shell(0,
                  "n=$(printf '%%0300d' 0 | tr 0 n) && sed -i \"s/LONG/$n/g\" wild.byoc && byoc build wild.byoc --plan "
                  "greedy --trace -o wild.so && mkdir -p mine/results/__/3 && echo precious | tee mine/0.npy "
                  "mine/1.npy mine/2.npy mine/results/mine.txt > mine/results/__/note");
  byoc_test_shell(0, "byoc run wild.so --random --output-dir mine/results && (cd mine && find . -type f -size -10c | "
                     "sort)");
  byoc_test_printed("./0.npy\n./1.npy\n./2.npy\n./results/__/note\n./results/mine.txt\n");
  byoc_test_shell(0, "cat mine/0.npy mine/1.npy mine/2.npy mine/results/mine.txt mine/results/__/note");
  assert_string_equal(byoc_test_output(), "precious\nprecious\nprecious\nprecious\nprecious\n");
  byoc_test_shell(0, "cd mine/results && ls -A | sed 's/n*~[0-9a-f]*/long/' && ls -A | tr A-Z a-z | sort | uniq -d");
  assert_string_equal(byoc_test_output(), "A_b_4.npy\n_.npy\n__\n_hidden.npy\na_b.npy\na_b_2.npy\na_b_2_2.npy\n"
                                          "a_b_3.npy\nmine.txt\nlong.npy\nlong.npy\ny.npy\ny.npy_2\n");
  // The same names as those of files that --dump makes.
  byoc_test_shell(0, "byoc run wild.so --random --dump all=mine/dumped && ls -A mine/dumped | wc -l && ls -A mine");
  byoc_test_printed("0.npy\n1.npy\n2.npy\ndumped\nresults\n");
  expect_nothing_owned();
}

// What the message of a refused model says about each name.
static void test_names_in_messages(void **state) {
  (void)state;
  for (size_t i = 0; i < NAMES; ++i) {
    byoc_onnx_model_t *model = byoc_onnx_model_create(byoc_allocator_system(), names[i], 17);
    byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
    byoc_onnx_graph_input(graph, names[i], BYOC_DTYPE_F32, "2,3");
    byoc_onnx_graph_node(graph, i % 2 ? names[i] : "MatMul", names[i], i % 4 == 0 ? "x,x" : names[i], "y");
    byoc_onnx_graph_output(graph, "y", BYOC_DTYPE_F32, "2,2");
    finish(model, "refused.onnx");
    expect_safe_output(1, "byoc build refused.onnx --plan greedy");
    byoc_test_printed("error: ");
  }
  expect_nothing_owned();
}

// Names of 64 KB, and files with odd names.
static void test_long_names(void **state) {
  (void)state;
  char *name = malloc(LONG_BYTES + 1);
  assert_non_null(name);
  memset(name, 'n', LONG_BYTES);
  name[LONG_BYTES] = '\0';
  memcpy(name + 200, "\x1b[2J", 4);
  byoc_onnx_model_t *model = byoc_onnx_model_create(byoc_allocator_system(), name, 17);
  byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
  byoc_onnx_graph_input(graph, name, BYOC_DTYPE_F32, "2,3");
  byoc_onnx_graph_node(graph, "Exp", name, name, "y");
  byoc_onnx_graph_output(graph, "y", BYOC_DTYPE_F32, "2,3");
  finish(model, "long.onnx");
  free(name);
  static const char *const commands[] = {
      "byoc inspect long.onnx",
      "byoc explain long.onnx --plan greedy",
      "byoc build long.onnx --plan greedy -o long.so --profile --html long.html",
      "byoc inspect long.so",
      "byoc run long.so --random",
      "byoc profile long.so --runs 1",
  };
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); ++i) expect_safe_output(0, commands[i]);
  expect_safe_file("long.h");
  byoc_test_shell(0, "echo '#include \"long.h\"' > long.c && cc -Wall -Wextra -Werror -fsyntax-only long.c");
  static const char escape[] = "turned\u202E\x1b[31m.onnx";
  assert_int_equal(rename("long.onnx", escape), 0);
  char command[256];
  snprintf(command, sizeof(command), "byoc build '%s' --plan greedy", escape);
  expect_safe_output(0, command);
  assert_int_equal(unlink(escape), 0);
  expect_safe_output(1, command);
}

// Sizes that are 0, negative or larger than any memory: built, or refused with a sentence; never a crash.
static void test_sizes(void **state) {
  (void)state;
  static const char *const shapes[] = {
      "0",
      "0,0,0",
      "-1",
      "-9223372036854775808",
      "9223372036854775807",
      "4611686018427387904,2",
      "4294967296,4294967296",
      "3037000500,3037000500",
      "65536,65536,65536,65536",
      "0,9223372036854775807,9223372036854775807",
      "1152921504606846976",
      "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1",
  };
  static const char *const operators[] = {"Exp", "Softmax", "Flatten", "MatMul", "Concat", "Expand"};
  for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); ++i) {
    for (size_t k = 0; k < sizeof(operators) / sizeof(operators[0]); ++k) {
      bool is_binary = k >= 3;
      byoc_onnx_model_t *model = byoc_onnx_model_create(byoc_allocator_system(), "sizes", 17);
      byoc_onnx_graph_t *graph = byoc_onnx_model_graph(model);
      byoc_onnx_graph_input(graph, "x", BYOC_DTYPE_F32, shapes[i]);
      byoc_onnx_graph_initialiser_data(graph, "s", BYOC_DTYPE_I64, 1, (const int64_t[]){2},
                                       (const int64_t[]){INT64_MAX, -1});
      byoc_onnx_node_t *node = byoc_onnx_graph_node(graph, operators[k], "node",
                                                    !is_binary ? "x"
                                                    : k == 5   ? "x,s"
                                                               : "x,x",
                                                    "y");
      if (k == 4) byoc_onnx_node_int(node, "axis", 0);
      byoc_onnx_graph_output(graph, "y", BYOC_DTYPE_F32, NULL);
      finish(model, "sizes.onnx");
      int code = byoc_test_try_shell("timeout 60 byoc build sizes.onnx --plan greedy -o sizes.so");
      if (code != 0 && code != 1) fail_msg("%s of [%s]: %d\n%s", operators[k], shapes[i], code, byoc_test_output());
      if (code == 1) byoc_test_printed("error: ");
      bool is_small = strncmp(shapes[i], "0", 1) == 0 || strncmp(shapes[i], "1,1", 3) == 0;
      if (code == 0 && is_small) byoc_test_shell(0, "byoc run sizes.so --random");
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names_of_a_model),
      cmocka_unit_test(test_headers_compile),
      cmocka_unit_test(test_outputs_stay_in_their_folder),
      cmocka_unit_test(test_names_in_messages),
      cmocka_unit_test(test_long_names),
      cmocka_unit_test(test_sizes),
  };
  return cmocka_run_group_tests(tests, setup, byoc_test_leave_folder);
}
